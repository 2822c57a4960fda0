//! What is pushed is what was reviewed and verified: a head that changed since goes back there first.
//! Verify steps cost no agent; a review does, so what a person changed is not reviewed again.

use crate::model::local::Worktree;
use crate::model::run::RunKind;

use super::runs;
use super::steps::{self, Verified};
use super::view::View;
use super::{Decision, Why};

/// What has to be done before this head is pushed, or a pull request opened from it; `None`: nothing.
pub(super) fn before_push(view: &View<'_>, tree: &Worktree) -> Option<Decision> {
    // What still runs here may change the head, and judges the one from which it was started.
    if let Some(run) = view.live_run() {
        return steps::wait_for(run);
    }
    // Only heads that were reviewed are verified in this phase; see below.
    if view.has_verify_steps() && view.state.verified_sha.as_ref() == Some(&tree.head) {
        return None;
    }
    // A review passes, and a person's resume accepts, one head: anything else came from nobody knows where.
    if view.state.head_sha.as_ref() != Some(&tree.head) {
        return Some(review(view));
    }
    view.has_verify_steps().then(|| verify(view, tree))
}

fn review(view: &View<'_>) -> Decision {
    if let Some(decision) = view.before_run() {
        return decision;
    }
    let state = runs::advance_to(view, view.next_state(), RunKind::Review);
    let what = "the branch changed after its review";
    view.write(state, Why::Next { what })
}

/// A verify run under an attempt of its own: that of the last agent run judged another head.
fn verify(view: &View<'_>, tree: &Worktree) -> Decision {
    let epoch = view.proof().map(crate::model::lease::ClaimProof::epoch);
    let open = view.state.open_run.as_ref().filter(|key| {
        let ours = view.run(key).is_some() || Some(key.epoch) == epoch;
        key.kind == RunKind::Verify && ours
    });
    let Some(key) = open else {
        return reserve(view);
    };
    match steps::verify_under(view, key) {
        Verified::NotYet(decision) => decision,
        Verified::Yes => {
            let mut state = view.next_state();
            state.verified_sha = Some(tree.head.clone());
            state.failed_verify = None;
            state.open_run = None;
            let (kind, end) = (RunKind::Verify, view.run_end());
            view.write(
                state,
                Why::RunEnded {
                    kind,
                    ok: true,
                    end,
                },
            )
        }
        Verified::No(failed) => runs::verify_failed(view, &failed),
    }
}

fn reserve(view: &View<'_>) -> Decision {
    if let Some(decision) = runs::prepare(view, RunKind::Verify) {
        return decision;
    }
    let mut state = view.next_state();
    runs::reserve_into(view, &mut state, RunKind::Verify);
    let what = "verify the head that is to be pushed";
    view.write(state, Why::Next { what })
}
