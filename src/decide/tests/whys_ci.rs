//! The reasons of the merge gate and of red checks, each in the plainest world that gives it.

use super::check;
use super::given::*;
use crate::model::checks::CheckOutcome;
use crate::model::phase::Phase;
use crate::model::pr::PullRequest;

fn waiting(change: impl FnOnce(&mut PullRequest)) -> Given {
    in_phase(Phase::WaitCi).pr(change)
}

#[test]
fn checks_missing() {
    let given = waiting(|_| {}).requiring(&["other"]);
    check(
        &given,
        "wait: required checks have not begun at aaaaaaa: other",
    );
}

#[test]
fn rules_unknown() {
    let given = waiting(|_| {}).with(|given| given.seen.rules = None);
    check(&given, "wait: the base's rules have to be read");
}

#[test]
fn base_unknown() {
    let given = waiting(|_| {}).with(|given| given.seen.base_checks = None);
    check(&given, "wait: the base's checks have to be read");
    // Who does not want the base to be looked at after a merge does not want it before either.
    let unasked = given.with(|given| given.policy.post_merge_ci = false);
    check(&unasked, "claim: free");
}

#[test]
fn base_red() {
    let red = checks('b', &[CheckOutcome::Failure]);
    let given = waiting(|_| {}).with(|given| given.seen.base_checks = Some(red));
    check(&given, "wait: the base is red at bbbbbbb: check 0");
    let ordered = given.comment("ann", "/ghswarm merge aaaaaaa");
    check(&ordered, "claim: free");
}

#[test]
fn branch_behind() {
    let given = waiting(|pr| pr.behind = true).claimed();
    check(&given, "update branch: its branch is behind the base");
}

/// Its job failed, and what became of the second try is known.
fn red(change: impl FnOnce(&mut Given)) -> Given {
    waiting(|pr| fail(pr, 9))
        .state(|state| {
            state.rerun_sha = Some(sha(HEAD));
            state.rerun_at = Some(start_time());
        })
        .with(|given| given.seen.look.at += std::time::Duration::from_secs(120))
        .with(change)
}

#[test]
fn jobs_failed() {
    let given = waiting(|pr| fail(pr, 9)).claimed();
    check(&given, "rerun failed jobs: jobs failed at aaaaaaa");
    // Of another head.
    let again = given.state(|state| state.rerun_sha = Some(sha('d')));
    check(&again, "rerun failed jobs: jobs failed at aaaaaaa");
}

#[test]
fn rerun_asked() {
    let given = red(|given| {
        let asked = given.now();
        given.state.as_mut().unwrap().rerun_at = Some(asked);
    });
    check(&given, "wait: the failed jobs run again at aaaaaaa");
    // Nothing came of it.
    let later = given.with(|given| given.seen.look.at += std::time::Duration::from_secs(121));
    check(&later, "claim: free");
}

#[test]
fn checks_red() {
    let given = red(|_| {}).worktree().pushed().working();
    check(&given, "write state: red at aaaaaaa: test");
    let state = written(&given);
    assert_eq!(state.next_action, Phase::Implement);
    assert_eq!(state.ci_fix_sha, Some(sha(HEAD)));
    assert_eq!((state.ci_fix_retries, state.total_agent_runs), (1, 2));
    let enough = given.clone().state(|state| state.ci_fix_retries = 2);
    check(&enough, "write state: ci_failed");
    let none = given.with(|given| given.policy.ci_fixes_max = 0);
    check(&none, "write state: ci_failed");
}

fn written(given: &Given) -> crate::model::state::IssueState {
    let decision = given.decide();
    let crate::decide::Decision::Do(effect, _) = decision else {
        panic!("{decision:?}");
    };
    let crate::decide::Effect::WriteState(write) = *effect else {
        panic!("{effect:?}");
    };
    write.state
}

#[test]
fn base_mended() {
    let red_base = |given: &mut Given| {
        let mut red = checks('b', &[CheckOutcome::Failure]);
        "test".clone_into(&mut red.checks[0].name);
        given.seen.base_checks = Some(red);
    };
    // Noted first, then waited for.
    let given = red(red_base).claimed();
    check(&given, "write state: the base is red at bbbbbbb: test");
    let noted = given.state(|state| state.base_red_sha = Some(sha(HEAD)));
    check(&noted, "release: nothing to do under the claim");
    let mended = noted.with(|given| given.seen.base_checks = Some(checks('f', &[])));
    check(&mended, "update branch: the base is mended");
}

#[test]
fn queued() {
    let given = waiting(|pr| {
        pr.merge_queue = true;
        pr.queued = Some(2);
        // What happens to its checks now is the queue's business.
        pr.checks = checks(HEAD, &[CheckOutcome::Failure]);
    });
    check(
        &given.clone().claimed(),
        "write state: in the merge queue, place 2",
    );
    let noted = given.state(|state| state.queued_sha = Some(sha(HEAD)));
    check(&noted, "wait: in the merge queue, place 2");
    let out = noted.with(|given| given.seen.look.prs[0].queued = None);
    check(&out.clone().claimed(), "write state: merge_queue");
    // At another head it is another pull request to the queue.
    let moved = out
        .state(|state| state.queued_sha = Some(sha('d')))
        .claimed();
    let green = moved.with(|given| {
        given.seen.look.prs[0].checks = checks(HEAD, &[CheckOutcome::Success]);
    });
    check(&green, "enqueue: green and approved");
}

#[test]
fn pr_lags() {
    let given = waiting(|_| {}).with(|given| {
        let refs = &mut given.seen.look.refs;
        refs.insert(crate::model::ids::RefName::of_branch(&branch()), sha('d'));
    });
    check(
        &given,
        "wait: GitHub still shows the pull request at aaaaaaa",
    );
}
