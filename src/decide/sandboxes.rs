//! Waiting for containers that cannot be had: nobody's work failed, so no attempt is charged and
//! nobody else is kept waiting.

use crate::model::ids::Timestamp;
use crate::model::labels::Status;
use crate::model::limits::SANDBOX_RETRY_AFTER;
use crate::model::run::{RunEnd, RunExit, RunStatus};

use super::signals::ClaimLabel;
use super::view::View;
use super::{Decision, Why};

/// Waits while the containers of this steps cannot be had: what an agent does could not be
/// verified. What is known now counts, and for a while what the last run of them met: an image that was
/// missing comes without anybody telling us.
pub(super) fn missing(view: &View<'_>) -> Option<Decision> {
    let known = view.seen.local.sandbox_trouble.clone();
    let (until, trouble) = known.map(|trouble| (None, trouble)).or_else(|| met(view))?;
    let why = Why::SandboxUnavailable { trouble };
    // Nobody needs the lease, or the slot, for a wait.
    Some(view.rest(
        Status::Idle,
        ClaimLabel::Keep,
        Decision::Wait { until, why },
    ))
}

/// Did the run end before anything of it ran?
pub(super) fn never_began(exit: &RunExit) -> bool {
    exit.end == RunEnd::SandboxUnavailable
}

/// What a run met that found no container a short while ago, and until when that counts. Under whatever
/// claim: a new one would meet the same.
fn met(view: &View<'_>) -> Option<(Option<Timestamp>, String)> {
    let runs = view.seen.local.runs.iter();
    let exit = runs
        .filter_map(|run| match &run.status {
            RunStatus::Ended(exit) if never_began(exit) => Some(exit),
            RunStatus::Ended(_) | RunStatus::Reserved | RunStatus::Running { .. } => None,
        })
        .max_by_key(|exit| exit.ended_at)?;
    let until = exit.ended_at + SANDBOX_RETRY_AFTER;
    let waiting = view.now < until && !view.seen.order.now;
    waiting.then(|| (Some(until), exit.note.clone().unwrap_or_default()))
}
