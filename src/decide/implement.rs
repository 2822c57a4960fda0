//! `start` and `implement`: the agent works on the open tasks, the verify steps judge.

use crate::model::ids::Sha;
use crate::model::phase::Phase;
use crate::model::run::{RunFacts, RunKind};
use crate::model::state::BlockedReason;

use super::runs::{self, Progress};
use super::steps::{self, Verified};
use super::view::View;
use super::{Decision, Why, ci_red};

pub(super) fn decide(view: &View<'_>) -> Decision {
    if view.phase() == Phase::Start && !view.body.tasks.is_empty() && view.open_tasks().is_empty() {
        return view.block(
            BlockedReason::NoTasks,
            "every task in the body is ticked: there is nothing left to implement",
        );
    }
    match runs::drive(view, RunKind::Implement) {
        Progress::Not(decision) => decision,
        Progress::Succeeded(run) => collect(view, run),
    }
}

fn collect(view: &View<'_>, run: &RunFacts) -> Decision {
    if let Some(decision) = runs::harvest(view, run) {
        return decision;
    }
    let Some(tree) = view.worktree() else {
        return Decision::wait(Why::ClaimWithoutLease);
    };
    if !tree.differs_from_base {
        return view.block(
            BlockedReason::NoChanges,
            format!(
                "the agent `{}` succeeded without changing anything",
                run.label
            ),
        );
    }
    if let Some(decision) = ci_red::unchanged(view, &tree.head) {
        return decision;
    }
    match steps::verify(view, run) {
        Verified::Yes => {}
        Verified::NotYet(decision) => return decision,
        Verified::No(failed) => return runs::verify_failed(view, &failed),
    }
    if let Some(decision) = view.before_run() {
        return decision;
    }
    advance(view, run, &tree.head)
}

/// The tasks that were handed over are ticked; what was added during the run is worked on next.
fn advance(view: &View<'_>, run: &RunFacts, head: &Sha) -> Decision {
    let mut state = view.next_state();
    state.iteration = 0;
    state.transient_retries = 0;
    state.last_failure = None;
    state.pending_questions = None;
    state.failed_verify = None;
    state.head_sha = Some(head.clone());
    if view.has_verify_steps() {
        state.verified_sha = Some(head.clone());
    }
    let open = view.open_tasks();
    let next = if open.iter().any(|task| !run.tasks.contains(task)) {
        RunKind::Implement
    } else if view.policy.simplify {
        RunKind::Simplify
    } else {
        RunKind::Review
    };
    let state = runs::advance_to(view, state, next);
    let why = Why::RunEnded {
        kind: RunKind::Implement,
        ok: true,
        end: view.run_end(),
    };
    view.write_ticking(state, run.tasks.clone(), why)
}
