//! `simplify` and `ai_review`: a second and a third pair of eyes, each with a fresh context.

use crate::model::phase::Phase;
use crate::model::run::{RunFacts, RunKind, RunStatus};
use crate::model::state::{BlockedReason, IssueState};

use super::diff;
use super::runs::{self, Progress};
use super::steps::{self, FailedSteps, Verified};
use super::view::View;
use super::{Decision, Why};

pub(super) fn decide(view: &View<'_>) -> Decision {
    let kind = if view.phase() == Phase::Simplify {
        RunKind::Simplify
    } else {
        RunKind::Review
    };
    // A simplify phase outlives the configuration that asked for it.
    if kind == RunKind::Simplify && !view.policy.simplify {
        let mut state = view.next_state();
        state.open_run = None;
        state.next_action = Phase::AiReview;
        return view.write(
            state,
            Why::Next {
                what: "no simplify agent is configured",
            },
        );
    }
    // What a person has to take out of the commits is not read for money first, and read again afterwards.
    if let Some(decision) = not_begun(view, kind).then(|| diff::refuse(view)).flatten() {
        return decision;
    }
    match runs::drive(view, kind) {
        Progress::Not(decision) => decision,
        Progress::Succeeded(run) => collect(view, run, kind),
    }
}

/// Has nothing of the phase's run been paid yet?
fn not_begun(view: &View<'_>, kind: RunKind) -> bool {
    let open = view.state.open_run.as_ref().filter(|key| key.kind == kind);
    let run = open.and_then(|key| view.run(key));
    run.is_none_or(|run| run.status == RunStatus::Reserved)
}

fn collect(view: &View<'_>, run: &RunFacts, kind: RunKind) -> Decision {
    if let Some(decision) = runs::harvest(view, run) {
        return decision;
    }
    let Some(tree) = view.worktree() else {
        return Decision::wait(Why::ClaimWithoutLease);
    };
    // The reviewer may have mended things itself: what is pushed must be what was verified.
    let changed = view.state.head_sha.as_ref() != Some(&tree.head);
    if changed {
        match steps::verify(view, run) {
            Verified::Yes => {}
            Verified::NotYet(decision) => return decision,
            Verified::No(failed) => return verify_failed(view, &failed),
        }
    }
    let wants_changes = run
        .review
        .as_ref()
        .is_some_and(|text| !text.trim().is_empty());
    if kind == RunKind::Review && wants_changes {
        return send_back(
            view,
            view.next_state(),
            (BlockedReason::ReviewFailed, "the reviewer asks for changes"),
        );
    }
    let mut state = view.next_state();
    state.iteration = 0;
    state.transient_retries = 0;
    state.last_failure = None;
    state.pending_questions = None;
    state.head_sha = Some(tree.head.clone());
    if changed && view.has_verify_steps() {
        state.failed_verify = None;
        state.verified_sha = Some(tree.head.clone());
    }
    pass(view, state, kind)
}

/// On to the next pair of eyes, or to the pull request.
fn pass(view: &View<'_>, mut state: IssueState, kind: RunKind) -> Decision {
    let why = Why::RunEnded {
        kind,
        ok: true,
        end: view.run_end(),
    };
    if kind == RunKind::Simplify {
        if let Some(decision) = view.before_run() {
            return decision;
        }
        return view.write(runs::advance_to(view, state, RunKind::Review), why);
    }
    state.open_run = None;
    state.review_rounds = 0;
    state.next_action = Phase::CreatePr;
    view.write(state, why)
}

/// The reviewer broke something.
fn verify_failed(view: &View<'_>, failed: &FailedSteps) -> Decision {
    if let Some(decision) = runs::same_failure(view, failed) {
        return decision;
    }
    let mut state = view.next_state();
    state.failed_verify = Some(failed.fingerprint.clone());
    send_back(view, state, (BlockedReason::VerifyFailed, &failed.detail))
}

/// Back to implement, a limited number of times: the reviewer asks for changes, or broke something.
fn send_back(
    view: &View<'_>,
    mut state: IssueState,
    (reason, detail): (BlockedReason, &str),
) -> Decision {
    let rounds = view.state.review_rounds.saturating_add(1);
    state.review_rounds = rounds;
    if rounds > view.policy.max_retries {
        let detail = format!("after {rounds} rounds of review: {detail}");
        view.mark_blocked(&mut state, reason, detail);
        return view.write(state, Why::Blocking { reason });
    }
    if let Some(decision) = view.before_run() {
        return decision;
    }
    let state = runs::advance_to(view, state, RunKind::Implement);
    let end = view.run_end();
    view.write(
        state,
        Why::RunEnded {
            kind: RunKind::Review,
            ok: false,
            end,
        },
    )
}
