//! What each phase does besides the plain way that `effects` and `whys` show.

use super::check;
use super::given::*;
use crate::decide::policy::ApprovalRule;
use crate::decide::{Decision, Effect};
use crate::model::checks::CheckOutcome::{self, Cancelled, Failure, Neutral, Skipped, Success};
use crate::model::issue::{Actor, Association};
use crate::model::phase::Phase;
use crate::model::pr::{PrState, PullRequest, Review, ReviewDecision, ReviewState};
use crate::model::run::{RunEnd, RunKind};
use crate::model::state::BlockedReason;

fn implemented() -> Given {
    in_phase(Phase::Implement)
        .open_run(RunKind::Implement, Some(succeeded()))
        .worktree()
        .pushed()
        .working()
}

fn waiting(change: impl FnOnce(&mut PullRequest)) -> Given {
    in_phase(Phase::WaitCi).pr(change).claimed()
}

/// The phase that the decision's state write leads to.
#[track_caller]
fn leads_to(given: &Given, phase: Phase) {
    let Decision::Do(effect, _) = given.decide() else {
        panic!("{:?}", given.decide());
    };
    let Effect::WriteState(write) = *effect else {
        panic!("{effect:?}");
    };
    assert_eq!(write.state.next_action, phase);
}

#[test]
fn a_fresh_issue_is_claimed_with_a_slot() {
    let Decision::Do(effect, _) = snapshot().decide() else {
        panic!("it waits");
    };
    let Effect::Claim(plan) = *effect else {
        panic!("{effect:?}");
    };
    assert_eq!(plan.slot, Some((slot_ref(), None)));
}

#[test]
fn an_issue_without_open_tasks_is_not_started() {
    let mut given = in_phase(Phase::Start).claimed();
    given.text = given.text.replace("[ ]", "[x]");
    check(&given, "write state: no_tasks");
}

#[test]
fn a_verified_implementation_goes_on_to_the_review() {
    let given = implemented().run(RunKind::Verify, succeeded());
    leads_to(&given, Phase::AiReview);
    leads_to(
        &given.clone().with(|given| given.policy.simplify = true),
        Phase::Simplify,
    );
    let more = given.with(|given| given.text = given.text.replace("first\n", "first\n- [ ] new\n"));
    leads_to(&more, Phase::Implement);
}

#[test]
fn failed_verify_steps_send_back_until_the_retries_are_used_up() {
    let given = implemented().run(RunKind::Verify, failed());
    leads_to(&given, Phase::Implement);
    let last = given.state(|state| state.iteration = 3);
    check(&last, "write state: verify_failed");
}

#[test]
fn an_empty_diff_never_becomes_a_pull_request() {
    let unchanged = |given: &mut Given| {
        given
            .seen
            .local
            .worktree
            .as_mut()
            .unwrap()
            .differs_from_base = false;
    };
    check(&implemented().with(unchanged), "write state: no_changes");
    let given = in_phase(Phase::CreatePr).worktree().claimed();
    check(&given.with(unchanged), "write state: no_changes");
}

#[test]
fn a_question_waits_for_a_person() {
    let given = implemented()
        .with(|given| given.seen.local.runs[0].question = Some("Which colour?".to_owned()));
    check(&given, "write state: clarification");
    leads_to(&given, Phase::WaitForClarification);
}

#[test]
fn the_cap_of_runs_holds_before_anything_is_spent() {
    let given = in_phase(Phase::Implement)
        .worktree()
        .working()
        .state(|state| state.total_agent_runs = 10);
    check(&given, "write state: budget_exhausted");
    let more = given.state(|state| state.extra_agent_runs = 1);
    check(&more, "write state: reserve a run");
}

#[test]
fn a_reviewer_who_asks_for_changes_sends_back_to_implement() {
    let given = in_phase(Phase::AiReview)
        .open_run(RunKind::Review, Some(succeeded()))
        .worktree()
        .pushed()
        .state(|state| state.head_sha = Some(sha(HEAD)))
        .working();
    leads_to(&given, Phase::CreatePr);
    let asks = given.with(|given| given.seen.local.runs[0].review = Some("No.".to_owned()));
    leads_to(
        &asks.with(|given| {
            let issue = given.issue();
            issue.labels = vec!["agent-claimed".to_owned(), "status: busy-gemini".to_owned()];
        }),
        Phase::Implement,
    );
}

#[test]
fn commits_that_the_worktree_lacks_are_never_pushed_over() {
    let given = in_phase(Phase::CreatePr).worktree().pushed().claimed();
    let behind = given.with(|given| {
        given
            .seen
            .look
            .refs
            .values_mut()
            .for_each(|at| *at = sha('d'));
        given.seen.remote_contained = Some(false);
    });
    check(&behind, "write state: push_refused");
}

#[test]
fn only_green_checks_at_the_very_head_are_merged() {
    let table: [(&[CheckOutcome], &str); 5] = [
        (&[Success, Skipped, Neutral], "merge: green and approved"),
        (&[Success, Failure], "write state: ci_failed"),
        (&[Success, Cancelled], "write state: ci_unclear"),
        (&[Skipped], "release: nothing to do under the claim"),
        (&[Success, CheckOutcome::Unknown], "write state: ci_unclear"),
    ];
    for (outcomes, expect) in table {
        let given = waiting(|pr| pr.checks = checks(HEAD, outcomes));
        check(&given.with(|given| given.policy.ci_fixes_max = 0), expect);
    }
    let of_another_head = waiting(|pr| pr.checks = checks('d', &[Success]));
    check(&of_another_head, "release: nothing to do under the claim");
}

#[test]
fn no_checks_at_all_pass_after_the_grace_only_by_a_verify_step() {
    let given = waiting(|pr| pr.checks = checks(HEAD, &[]))
        .with(|given| given.seen.look.at += std::time::Duration::from_secs(240));
    check(&given, "write state: no_checks");
    let verified = given.state(|state| state.verified_sha = Some(sha(HEAD)));
    check(&verified, "merge: green and approved");
}

fn review(by: &str, state: ReviewState) -> Review {
    Review {
        author: Some(Actor {
            login: login(by),
            is_bot: by.ends_with("[bot]"),
        }),
        association: Association::Member,
        state,
        commit: Some(sha(HEAD)),
        submitted_at: Some(start_time()),
        body: String::new(),
    }
}

#[test]
fn approval_is_asked_for_as_configured() {
    let wait = "release: nothing to do under the claim";
    let (merge, objected) = ("merge: green and approved", "write state: review_feedback");
    let by = |who, state| vec![review(who, state)];
    let table = [
        (ApprovalRule::None, vec![], merge),
        (ApprovalRule::GitHub, vec![], wait),
        (
            ApprovalRule::GitHub,
            by("ann", ReviewState::Approved),
            merge,
        ),
        // Nobody approves their own pull request.
        (ApprovalRule::GitHub, by("op", ReviewState::Approved), wait),
        (
            ApprovalRule::GitHub,
            by("x[bot]", ReviewState::Approved),
            merge,
        ),
        (
            ApprovalRule::Human,
            by("x[bot]", ReviewState::Approved),
            wait,
        ),
        (ApprovalRule::Human, by("ann", ReviewState::Approved), merge),
        (
            ApprovalRule::None,
            by("ann", ReviewState::ChangesRequested),
            objected,
        ),
    ];
    for (rule, reviews, expect) in table {
        let given = waiting(|pr| pr.reviews = reviews).with(|given| given.policy.approval = rule);
        check(&given, expect);
    }
    let required = waiting(|pr| pr.review_decision = Some(ReviewDecision::ReviewRequired));
    check(&required, wait);
}

#[test]
fn a_closed_pull_request_is_an_answer_and_a_forks_is_a_strangers() {
    check(
        &waiting(|pr| pr.state = PrState::Closed),
        "write state: pr_closed",
    );
    let forks = waiting(|pr| pr.head_repo = None);
    check(&forks, "write state: there is no pull request");
    let elsewhere = waiting(|pr| pr.base_ref = "release".parse().unwrap());
    check(&elsewhere, "write state: there is no pull request");
}

#[test]
fn a_pull_request_that_was_closed_during_a_run_is_not_replaced_by_another() {
    let closed = in_phase(Phase::CreatePr)
        .worktree()
        .pushed()
        .pr(|pr| pr.state = PrState::Closed)
        .verified()
        .claimed();
    check(&closed, "write state: pr_closed");
    // Until a person says so.
    let resumed = closed.state(|state| state.pr_number = None);
    check(&resumed, "open pull request: open the pull request");
}

#[test]
fn an_open_pull_request_against_another_base_is_no_state() {
    let given = snapshot()
        .pr(|pr| pr.base_ref = "release".parse().unwrap())
        .with(|given| given.state = None);
    check(&given, "claim: free");
    assert_eq!(given.resolved().unwrap().1, Phase::Start);
}

#[test]
fn the_merge_commits_checks_decide_whether_it_is_done() {
    let merged = |outcomes: &[CheckOutcome]| {
        let mut given = in_phase(Phase::VerifyMerge).pr(|pr| {
            pr.state = PrState::Merged {
                commit: sha('e'),
                at: start_time(),
            };
        });
        given.seen.look.merge_checks = Some(checks('e', outcomes));
        given
            .state(|state| state.merge_commit_sha = Some(sha('e')))
            .claimed()
    };
    leads_to(&merged(&[Success]), Phase::Done);
    check(&merged(&[Failure]), "write state: merge_ci_failed");
    check(&merged(&[]), "release: nothing to do under the claim");
}

#[test]
fn a_wait_needs_no_lease_and_a_reopened_issue_no_claim() {
    let later = |given: Given| {
        given.state(|s| s.wait_until = Some("2026-01-03T00:00:00Z".parse().unwrap()))
    };
    check(
        &later(in_phase(Phase::Implement).claimed()),
        "release: nothing to do under the claim",
    );
    let reopened = in_phase(Phase::Done).state(|state| state.closed = true);
    check(&reopened, "finished: done");
    check(&reopened.claimed(), "release: done");
}

#[test]
fn what_happens_after_the_merge_needs_nobodys_trust_in_the_text() {
    let given = in_phase(Phase::WaitCi).pr(|pr| {
        pr.state = PrState::Merged {
            commit: sha('e'),
            at: start_time(),
        };
    });
    let stranger = given.claimed().with(|given| {
        given.checkpoint = Some(Checkpoint {
            state: given.state.clone().unwrap(),
            claim: None,
        });
        given.issue().association = Association::None;
    });
    check(&stranger, "write state: merged as eeeeeee");
}

#[test]
fn a_blocked_issue_goes_on_when_a_trusted_person_says_so() {
    let given = in_phase(Phase::Implement)
        .blocked(BlockedReason::NoChanges)
        .labels(&[])
        .claimed();
    check(
        &given.clone().labelled("status: idle", "ann"),
        "write state: resumed",
    );
    check(
        &given.labelled("status: idle", "mallory"),
        "set status label: the labels say something else",
    );
}

#[test]
fn a_run_under_an_earlier_claim_is_reserved_anew() {
    let given = in_phase(Phase::Implement)
        .open_run(RunKind::Implement, None)
        .state(|state| state.open_run.as_mut().unwrap().epoch.0 = 100)
        .worktree()
        .working();
    check(&given, "write state: reserve a run");
}

#[test]
fn a_dead_supervisors_run_is_tried_again() {
    let given = in_phase(Phase::Implement)
        .open_run(
            RunKind::Implement,
            Some(ended(RunEnd::SupervisorDied, None)),
        )
        .worktree()
        .working();
    check(
        &given,
        "write state: implement failed (its supervisor died)",
    );
}
