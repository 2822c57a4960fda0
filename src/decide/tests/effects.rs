//! Each effect, in the plainest world that asks for it.

use super::check;
use super::given::*;
use crate::model::checks::CheckOutcome;
use crate::model::ids::RefName;
use crate::model::phase::Phase;
use crate::model::pr::PrState;
use crate::model::run::{RunKind, RunStatus};
use crate::model::state::BlockedReason;

fn implementing(status: Option<RunStatus>) -> Given {
    in_phase(Phase::Implement)
        .open_run(RunKind::Implement, status)
        .worktree()
        .working()
}

fn merged(given: Given) -> Given {
    let mut given = given.pr(|pr| {
        pr.state = PrState::Merged {
            commit: sha('e'),
            at: start_time(),
        };
    });
    given.seen.look.merge_checks = Some(checks('e', &[CheckOutcome::Success]));
    given.state(|state| state.merge_commit_sha = Some(sha('e')))
}

#[test]
fn claim() {
    check(&snapshot(), "claim: free");
}

#[test]
fn renew() {
    let given = implementing(Some(succeeded())).lease(OUR_CLAIM, 200, 11);
    check(&given, "renew: the lease gets old");
    check(
        &implementing(Some(running())).lease(OUR_CLAIM, 200, 11),
        "wait: implement runs since 2026-01-02 12:00:00 UTC",
    );
}

#[test]
fn drop_claim() {
    let given = in_phase(Phase::Implement)
        .recorded()
        .lease(OTHER_CLAIM, 300, 1);
    check(&given, "drop claim: another claim holds the lease");
}

#[test]
fn release() {
    let given = in_phase(Phase::WaitCi).pr(|pr| pr.draft = true).claimed();
    check(&given, "release: nothing to do under the claim");
}

#[test]
fn place_signals() {
    let given = in_phase(Phase::Implement).slot();
    check(&given, "place signals: the claim is to be seen");
}

#[test]
fn write_state() {
    let given = in_phase(Phase::Implement).worktree().working();
    check(&given, "write state: reserve a run");
}

#[test]
fn mirror_state() {
    let mut given = implementing(None);
    given.checkpoint.as_mut().unwrap().state.rev -= 1;
    given.brought_by = Some("op");
    check(&given, "update checkpoint: the checkpoint is behind");
}

#[test]
fn set_status() {
    let given = in_phase(Phase::WaitCi)
        .pr(|pr| pr.draft = true)
        .claimed()
        .labels(&["status: busy-claude"]);
    check(&given, "set status label: the labels say something else");
}

#[test]
fn comment() {
    let mut given = in_phase(Phase::Implement)
        .blocked(BlockedReason::NoChanges)
        .claimed();
    given.seen.look.comments.clear();
    check(&given, "comment: it has to be said");
}

#[test]
fn make_worktree() {
    let given = in_phase(Phase::Implement).working();
    check(&given, "make worktree: make the worktree");
}

#[test]
fn mark_set_up() {
    let given = in_phase(Phase::Implement)
        .state(|state| state.attempt = 1)
        .worktree()
        .working()
        .run(RunKind::Setup, succeeded())
        .with(|given| {
            given.policy.setup = true;
            given.seen.local.worktree.as_mut().unwrap().set_up = false;
        });
    check(&given, "mark worktree set up: the worktree is set up");
}

#[test]
fn start_run() {
    check(&implementing(None), "start run: start the agent");
    let verify = implementing(Some(succeeded())).pushed();
    check(&verify, "start run: start the verify steps");
    let set_up = implementing(None).with(|given| {
        given.policy.setup = true;
        given.seen.local.worktree.as_mut().unwrap().set_up = false;
    });
    check(&set_up, "start run: set the worktree up");
}

#[test]
fn take_box() {
    let mut given = implementing(Some(succeeded()));
    for run in &mut given.seen.local.runs {
        run.agent_box = Some("/runs/box".into());
    }
    check(
        &given,
        "take over the box: bring the agent's work out of its box",
    );
}

#[test]
fn stop_run() {
    let given = implementing(Some(running())).labelled("do-not-dispatch", "ann");
    check(&given, "stop run: the hold label stands");
}

#[test]
fn sweep_runs() {
    let mut status = failed();
    if let RunStatus::Ended(exit) = &mut status {
        exit.quarantined = true;
    }
    check(
        &implementing(Some(status)),
        "sweep strays: something of run 42/200-1-implement is still alive",
    );
}

#[test]
fn commit_work() {
    let given = implementing(Some(succeeded()))
        .with(|given| given.seen.local.worktree.as_mut().unwrap().dirty = true);
    check(
        &given,
        "commit work: commit what the agent left uncommitted",
    );
}

#[test]
fn save_work() {
    check(&implementing(Some(succeeded())), "save work: save the work");
}

#[test]
fn push_branch() {
    let given = in_phase(Phase::CreatePr).worktree().verified().claimed();
    check(&given, "push branch: push the branch");
}

#[test]
fn open_pr() {
    let given = in_phase(Phase::CreatePr)
        .worktree()
        .pushed()
        .verified()
        .claimed();
    check(&given, "open pull request: open the pull request");
}

#[test]
fn assign_pr() {
    let given = in_phase(Phase::CreatePr)
        .worktree()
        .pushed()
        .pr(|pr| pr.assignees.clear())
        .claimed()
        .with(|given| given.issue().assignees = vec![login("op")]);
    check(&given, "assign pull request: the claim is to be seen");
    // What people change later is theirs.
    let later = in_phase(Phase::WaitCi)
        .pr(|pr| pr.assignees.clear())
        .claimed()
        .with(|given| given.issue().assignees = vec![login("op")]);
    check(&later, "merge: green and approved");
}

#[test]
fn merge() {
    let given = in_phase(Phase::WaitCi).pr(|_| {}).claimed();
    check(&given, "merge: green and approved");
}

#[test]
fn enqueue() {
    let given = in_phase(Phase::WaitCi)
        .pr(|pr| {
            pr.merge_queue = true;
            pr.behind = true;
        })
        .claimed();
    check(&given, "enqueue: green and approved");
}

#[test]
fn update_branch() {
    let given = in_phase(Phase::WaitCi).pr(|pr| pr.behind = true).claimed();
    check(&given, "update branch: its branch is behind the base");
}

#[test]
fn rerun_jobs() {
    let given = in_phase(Phase::WaitCi).pr(|pr| fail(pr, 9)).claimed();
    check(&given, "rerun failed jobs: jobs failed at aaaaaaa");
}

#[test]
fn follow_branch() {
    let given = in_phase(Phase::WaitCi)
        .pr(|pr| fail(pr, 9))
        .state(|state| {
            state.rerun_sha = Some(sha(HEAD));
            state.rerun_at = Some(start_time());
        })
        .worktree()
        .pushed()
        .working()
        .with(|given| {
            given.seen.look.at += std::time::Duration::from_secs(3600);
            given.seen.local.worktree.as_mut().unwrap().head = sha('d');
            given.seen.remote_contained = Some(false);
        })
        .lease(OUR_CLAIM, 200, 1);
    check(&given, "follow branch: the branch moved to aaaaaaa");
}

#[test]
fn delete_refs() {
    let given = merged(in_phase(Phase::Done))
        .pushed()
        .claimed()
        .labels(&["status: completed"]);
    check(
        &given,
        "delete refs: delete the merged branch and the saved work",
    );
    let moved = given.with(|given| {
        let refs = &mut given.seen.look.refs;
        refs.insert(RefName::of_branch(&branch()), sha('d'));
        refs.remove(&wip_ref());
    });
    check(&moved, "close issue: close the issue");
}

#[test]
fn remove_worktree() {
    let given = merged(in_phase(Phase::Done))
        .worktree()
        .state(|state| state.closed = true)
        .with(|given| given.issue().open = false);
    check(&given, "remove worktree: remove the worktree");
}

#[test]
fn close_issue() {
    let given = merged(in_phase(Phase::Done))
        .claimed()
        .labels(&["status: completed"]);
    check(&given, "close issue: close the issue");
}
