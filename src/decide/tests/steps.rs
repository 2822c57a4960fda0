//! Steps that were cut off are begun again and cost no agent; what an agent does to its own ground is not
//! paid for twice; what fails here for good is blocked.

use super::given::*;
use super::{check, told};
use crate::decide::{Decision, Effect, Trouble};
use crate::model::issue::Association;
use crate::model::limits::{STEP_REPEATS_MAX, UNTRUSTED_COMMENTS_MAX};
use crate::model::phase::Phase;
use crate::model::run::{RunEnd, RunKind, RunStatus};
use crate::model::state::BlockedReason;

/// The agent succeeded; its verify steps were begun and ended like this, one after the other.
fn verified(ends: &[RunStatus]) -> Given {
    let mut given = in_phase(Phase::Implement)
        .worktree()
        .pushed()
        .open_run(RunKind::Implement, Some(succeeded()))
        .working();
    for (again, status) in (0..).zip(ends) {
        given = given.run(RunKind::Verify, status.clone());
        given.seen.local.runs.last_mut().unwrap().key.again = again;
    }
    given
}

#[test]
fn verify_steps_that_were_cut_off_are_begun_again() {
    for end in [
        RunEnd::SupervisorDied,
        RunEnd::Stopped,
        RunEnd::LeaseLost,
        RunEnd::NotStarted,
    ] {
        let given = verified(&[ended(end, None)]);
        let Decision::Do(effect, _) = given.decide() else {
            panic!("{}", told(&given.decide()));
        };
        let Effect::StartRun(plan) = *effect else {
            panic!("{}", effect.name());
        };
        assert_eq!(plan.key.folder(), "200-1-verify-2");
    }
    check(
        &verified(&[ended(RunEnd::SupervisorDied, None), succeeded()]),
        "write state: implement succeeded",
    );
    check(
        &verified(&[ended(RunEnd::SupervisorDied, None), failed()]),
        "write state: verify failed",
    );
}

#[test]
fn verify_steps_that_are_always_cut_off_block_without_another_agent_run() {
    let died = ended(RunEnd::SupervisorDied, None);
    let given = verified(&vec![died; STEP_REPEATS_MAX as usize + 1]);
    check(&given, "write state: verify_failed");
}

#[test]
fn a_setup_that_was_cut_off_is_begun_again_and_blocks_at_last() {
    let setup = |times: u32| {
        let mut given = in_phase(Phase::Implement).worktree().with(|given| {
            given.policy.setup = true;
            given.seen.local.worktree.as_mut().unwrap().set_up = false;
        });
        given = given.working();
        for again in 0..times {
            given = given.run(RunKind::Setup, ended(RunEnd::SupervisorDied, None));
            given.seen.local.runs.last_mut().unwrap().key.again = again;
        }
        given
    };
    check(&setup(1), "start run: set the worktree up");
    check(&setup(STEP_REPEATS_MAX), "start run: set the worktree up");
    check(&setup(STEP_REPEATS_MAX + 1), "write state: setup_failed");
}

#[test]
fn an_agent_that_deletes_its_worktree_is_paid_once_more_at_most() {
    let gone = |iteration| {
        in_phase(Phase::Implement)
            .open_run(RunKind::Implement, Some(succeeded()))
            .state(|state| state.iteration = iteration)
            .working()
    };
    check(&gone(0), "write state: implement failed");
    check(&gone(1), "write state: worktree_failed");
}

#[test]
fn what_fails_here_for_good_blocks_and_ends_what_runs() {
    let trouble = |given: &mut Given| {
        given.seen.trouble = Some(Trouble::Lasts {
            reason: BlockedReason::WorktreeFailed,
            text: "look at the worktree: `.git` is gone (3 times in a row)".to_owned(),
        });
    };
    let given = in_phase(Phase::Implement).working().with(trouble);
    check(&given, "write state: worktree_failed");
    let unclaimed = in_phase(Phase::Implement).with(trouble);
    check(&unclaimed, "claim: free");
    let merged = in_phase(Phase::Done).claimed().with(trouble);
    assert!(!told(&merged.decide()).contains("worktree_failed"));
    let blocked = in_phase(Phase::Implement)
        .blocked(BlockedReason::WorktreeFailed)
        .labels(&["status: blocked"])
        .with(trouble);
    check(&blocked, "wait: blocked as worktree_failed: why");
}

#[test]
fn a_body_that_cannot_be_written_is_blocked_in_the_checkpoint() {
    let given = in_phase(Phase::Implement).working().with(|given| {
        given.seen.trouble = Some(Trouble::Lasts {
            reason: BlockedReason::BodyTooLarge,
            text: "the body reads back differently".to_owned(),
        });
    });
    let Decision::Do(effect, _) = given.decide() else {
        panic!();
    };
    assert!(matches!(*effect, Effect::WriteState(write) if write.checkpoint_only));
}

#[test]
fn text_that_changes_again_and_again_is_commented_a_limited_number_of_times() {
    let mut given = snapshot().claimed();
    given.issue().association = Association::None;
    let mut keys = std::collections::BTreeSet::new();
    let mut details = std::collections::BTreeSet::new();
    for change in 0..UNTRUSTED_COMMENTS_MAX + 3 {
        given.text = given.text.replace("Do it", &format!("Do it {change}"));
        for _ in 0..10 {
            let Decision::Do(effect, _) = given.decide() else {
                break;
            };
            if let Effect::Comment(comment) = &*effect {
                assert!(keys.insert(comment.key.clone()));
            }
            given.apply(&effect);
        }
        let (state, _) = given.resolved().unwrap();
        details.insert(state.blocked_detail.unwrap());
    }
    assert_eq!(keys.len(), UNTRUSTED_COMMENTS_MAX);
    assert_eq!(details.len(), UNTRUSTED_COMMENTS_MAX + 3, "each is told");
    assert!(told(&given.decide()).contains("only the checkpoint"));
}
