use super::*;
use crate::model::comment::answer_in;

#[test]
fn a_checkpoint_parses_back_with_claim_and_state() {
    let repo: RepoSlug = "acme/widgets".parse().unwrap();
    let claimant = Claimant {
        operator: Login::new("ann").unwrap(),
        worktree: "/home/ann/my trees/issue-7".to_owned(),
        branch: BranchName::new("issue-7").unwrap(),
        at: "2026-01-02T03:04:05Z".parse().unwrap(),
        claim: ClaimId::new("c-1").unwrap(),
        ttl_minutes: 30,
        marker: "claude-lock".to_owned(),
    };
    let state = IssueState {
        rev: 4,
        total_agent_runs: 2,
        ..IssueState::default()
    };
    let text = checkpoint(&repo, IssueNumber(7), &state, Some(&claimant));
    let read = crate::model::comment::parse_checkpoint(&text, "claude-lock").unwrap();
    assert_eq!(read.state, Some(state));
    let lock = read.lock.unwrap();
    assert_eq!(lock.claim, Some(claimant.claim));
    assert_eq!(lock.worktree.as_deref(), Some("/home/ann/my trees/issue-7"));
    assert!(!read.finished);
}

#[test]
fn only_a_closed_issue_has_a_finished_checkpoint() {
    let repo: RepoSlug = "acme/widgets".parse().unwrap();
    let mut state = IssueState {
        next_action: Phase::Done,
        ..IssueState::default()
    };
    let text = checkpoint(&repo, IssueNumber(7), &state, None);
    assert!(!crate::model::comment::is_finished(&text));
    state.closed = true;
    let text = checkpoint(&repo, IssueNumber(7), &state, None);
    assert!(crate::model::comment::is_finished(&text));
}

#[test]
fn every_reason_has_a_remedy_that_names_a_next_step() {
    for reason in [
        BlockedReason::SpecMissing,
        BlockedReason::VerifyFailed,
        BlockedReason::PrClosed,
    ] {
        assert!(remedy(reason, IssueNumber(3)).len() > 20);
    }
}

#[test]
fn an_answer_of_the_command_line_is_read_back_without_its_marker() {
    let text = answer(
        "7/1-2/clarification-9/answer-0123456789ab",
        "Use <b>two</b> lines.\n\nAnd tests.",
    );
    assert_eq!(
        answer_in(&text),
        Some("Use <b>two</b> lines.\n\nAnd tests.")
    );
    let other = blocked(
        "7/1-2/agent_failed-3",
        IssueNumber(7),
        &IssueState::default(),
        None,
    );
    assert_eq!(answer_in(&other), None);
    assert_eq!(answer_in("**Answer:**\n\nyes"), None);
}
