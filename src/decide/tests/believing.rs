//! Whoever may edit the issue may write a state block: what it leads to without the checkpoint's word.

use super::given::*;
use super::{check, told};
use crate::decide::view::StateSource;
use crate::decide::view::View;
use crate::model::ids::{BranchName, Epoch, PrNumber, RepoId};
use crate::model::issue::Actor;
use crate::model::phase::Phase;
use crate::model::pr::PrState;
use crate::model::state::{BlockedReason, IssueState};

/// Everything is there for a merge: all green, and a block that says so.
fn ready() -> Given {
    in_phase(Phase::WaitCi).worktree().pushed().pr(|_| {})
}

/// As Python ghswarm, or anybody, writes it.
fn anonymous(state: &mut IssueState) {
    state.repo_id = None;
    state.issue = None;
    state.rev = 0;
    state.epoch = None;
    state.claim = None;
}

fn alone(given: Given) -> Given {
    given.with(|given| given.alone = true)
}

fn source(given: &Given) -> StateSource {
    let seen = given.rendered();
    View::of(&seen, &given.policy, given.now()).unwrap().source
}

fn phase(given: &Given) -> Phase {
    given.resolved().unwrap().1
}

#[test]
fn a_block_that_its_checkpoint_mirrors_is_believed() {
    assert_eq!(source(&ready()), StateSource::Body);
    check(&ready().claimed(), "merge: green and approved");
}

#[test]
fn a_block_without_any_checkpoint_is_taken_over_to_our_own_review() {
    for given in [ready(), ready().state(anonymous)] {
        let given = alone(given);
        assert_eq!(source(&given), StateSource::Restored);
        assert_eq!(phase(&given), Phase::AiReview);
        assert_eq!(
            given.resolved().unwrap().0.head_sha,
            None,
            "not verified by us"
        );
        check(&given.slot(), "write state: the state is restored");
    }
}

#[test]
fn what_is_not_even_pushed_is_implemented() {
    for intended in [Phase::AiReview, Phase::CreatePr, Phase::WaitCi, Phase::Done] {
        let given = alone(in_phase(intended).state(anonymous));
        assert_eq!(phase(&given), Phase::Implement, "{intended}");
    }
}

#[test]
fn a_python_block_is_taken_over_with_its_counters() {
    let given = in_phase(Phase::Implement).state(|state| {
        anonymous(state);
        state.iteration = 2;
        state.total_agent_runs = 7;
        state.extra_agent_runs = 90;
    });
    let (state, phase) = alone(given).resolved().unwrap();
    assert_eq!(phase, Phase::Implement);
    assert_eq!((state.iteration, state.total_agent_runs), (2, 7));
    assert_eq!(state.extra_agent_runs, 0, "nobody of ours granted them");
}

#[test]
fn a_python_block_that_is_blocked_stays_blocked() {
    let given = in_phase(Phase::WaitCi).state(|state| {
        anonymous(state);
        "blocked".clone_into(&mut state.phase);
    });
    let (state, _) = alone(given).resolved().unwrap();
    assert!(state.is_blocked());
}

#[test]
fn a_python_block_whose_pull_request_is_merged_is_brought_to_its_end() {
    let commit = sha('e');
    let given = ready().state(anonymous).with(|given| {
        given.seen.look.prs[0].state = PrState::Merged {
            commit,
            at: start_time(),
        };
    });
    assert_eq!(phase(&alone(given)), Phase::VerifyMerge);
}

#[test]
fn another_copy_beats_a_block_that_is_changed() {
    type Change = fn(&mut IssueState);
    let changes: [(&str, Change); 6] = [
        ("next_action", |s| s.next_action = Phase::WaitCi),
        ("extra_agent_runs", |s| s.extra_agent_runs = 99),
        ("total_agent_runs", |s| s.total_agent_runs = 0),
        ("rev ahead", |s| {
            s.rev += 1;
            s.next_action = Phase::WaitCi;
        }),
        ("rev far ahead", |s| {
            s.rev = u64::MAX;
            s.next_action = Phase::WaitCi;
        }),
        ("no ids", |s| {
            s.repo_id = None;
            s.issue = None;
        }),
    ];
    for (what, change) in changes {
        let copy = in_phase(Phase::Implement).state.unwrap();
        let mut given = alone(ready().state(|state| *state = copy.clone()).state(change));
        given.brought_by = Some("ann");
        given.checkpoint = Some(Checkpoint {
            state: copy.clone(),
            claim: None,
        });
        assert_eq!(source(&given), StateSource::Restored, "{what}");
        assert_eq!(given.resolved().unwrap().0, copy, "{what}");
    }
}

/// The checkpoint is one write behind.
fn one_behind(by: &'static str) -> Given {
    let copy = in_phase(Phase::Implement).state.unwrap();
    let mut given = alone(in_phase(Phase::AiReview).state(|state| state.rev = copy.rev + 1));
    given.checkpoint = Some(Checkpoint {
        state: copy,
        claim: None,
    });
    given.brought_by = Some(by);
    given
}

#[test]
fn a_block_one_write_ahead_is_believed_if_we_wrote_it() {
    assert_eq!(source(&one_behind("op")), StateSource::Body);
    assert_eq!(phase(&one_behind("op")), Phase::AiReview);
    let forged = one_behind("ann");
    assert_eq!(source(&forged), StateSource::Restored);
    assert_eq!(phase(&forged), Phase::Implement);
}

#[test]
fn a_grant_one_write_ahead_is_not_believed() {
    let given = one_behind("op").state(|state| state.extra_agent_runs = 5);
    assert_eq!(source(&given), StateSource::Restored);
}

#[test]
fn a_checkpoint_that_somebody_edited_says_nothing() {
    let mut seen = ready().rendered();
    seen.look.comments[0].editor = Some(person("ann"));
    seen.people
        .insert(login("ann"), crate::model::repo::Permission::Write);
    let given = ready();
    let view = View::of(&seen, &given.policy, given.now()).unwrap();
    assert_eq!(view.source, StateSource::Restored);
    assert_eq!(view.phase(), Phase::AiReview);
    assert!(view.own_checkpoint.is_some(), "it is written over");
}

#[test]
fn a_checkpoint_of_another_bot_says_nothing() {
    let mut seen = ready().rendered();
    let bot = Actor {
        login: login("helper[bot]"),
        is_bot: true,
    };
    seen.look.comments[0].author = Some(bot.clone());
    seen.look.comments[0].editor = Some(bot);
    let given = ready();
    let view = View::of(&seen, &given.policy, given.now()).unwrap();
    assert_eq!(view.phase(), Phase::AiReview);
}

#[test]
fn another_operators_checkpoint_is_a_witness() {
    let mut seen = ready().rendered();
    seen.look.comments[0].author = Some(person("bob"));
    seen.look.comments[0].editor = Some(person("bob"));
    let given = ready();
    let view = View::of(&seen, &given.policy, given.now()).unwrap();
    assert_eq!(view.source, StateSource::Body);
}

#[test]
fn neither_block_nor_checkpoint_but_our_pull_request_is_reviewed_by_us() {
    let given = ready().with(|given| given.state = None);
    assert_eq!(phase(&given), Phase::AiReview);
}

#[test]
fn no_foreign_block_names_the_base_as_its_branch() {
    let named = |name: &str| {
        let branch = BranchName::new(name).unwrap();
        let given = alone(in_phase(Phase::Implement).state(|state| {
            anonymous(state);
            state.branch_name = Some(branch);
        }));
        let seen = given.rendered();
        let view = View::of(&seen, &given.policy, given.now()).unwrap();
        view.branch.to_string()
    };
    assert_eq!(named("main"), "issue-42");
    assert_eq!(named("bobs-work"), "issue-42");
    assert_eq!(named("issue-142"), "issue-42");
    assert_eq!(named("python/42"), "python/42");
}

#[test]
fn a_forged_answer_leads_to_no_later_phase() {
    let given = alone(ready().state(|state| {
        anonymous(state);
        "blocked".clone_into(&mut state.phase);
        state.next_action = Phase::WaitForClarification;
        state.asked_in = Some(Phase::WaitCi);
        state.blocked_reason = Some(BlockedReason::Clarification);
    }));
    assert_eq!(given.resolved().unwrap().0.asked_in, None);
}

#[test]
fn numbers_out_of_bounds_do_not_panic() {
    let given = in_phase(Phase::Implement).worktree().state(|state| {
        anonymous(state);
        state.rev = u64::MAX;
        state.epoch = Some(Epoch(i64::MAX));
        state.attempt = u32::MAX;
        state.iteration = u32::MAX;
        state.review_rounds = u32::MAX;
        state.total_agent_runs = u32::MAX;
        state.extra_agent_runs = u32::MAX;
        state.pr_number = Some(PrNumber(u64::MAX));
    });
    let given = alone(given).working();
    let _ = told(&given.decide());
}

#[test]
fn a_block_of_another_repository_is_no_state_at_all() {
    let given = alone(ready().state(|state| state.repo_id = Some(RepoId(2))));
    assert_eq!(
        phase(&given),
        Phase::AiReview,
        "from the pull request alone"
    );
    assert_eq!(given.resolved().unwrap().0.total_agent_runs, 0);
}

#[test]
fn what_we_blocked_before_any_work_needs_no_checkpoint() {
    let given = alone(
        in_phase(Phase::Start)
            .blocked(BlockedReason::SpecMissing)
            .state(|state| {
                state.total_agent_runs = 0;
            }),
    );
    assert_eq!(source(&given), StateSource::Body);
}
