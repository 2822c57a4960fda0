//! Waiting for containers that cannot be had: nobody's work failed, so no attempt is charged and
//! nobody else is kept waiting.

use crate::model::labels::Status;
use crate::model::limits::SANDBOX_RETRY_AFTER;
use crate::model::run::{RunEnd, RunExit};

use super::signals::ClaimLabel;
use super::view::View;
use super::{Decision, Why};

/// Waits while the containers of this steps cannot be had: what an agent does could not be
/// verified.
pub(super) fn missing(view: &View<'_>) -> Option<Decision> {
    let trouble = view.seen.local.sandbox_trouble.clone()?;
    let wait = Decision::wait(Why::SandboxUnavailable { trouble });
    Some(view.rest(Status::Idle, ClaimLabel::Keep, wait))
}

/// Did the run end before anything of it ran?
pub(super) fn never_began(exit: &RunExit) -> bool {
    exit.end == RunEnd::SandboxUnavailable
}

/// The run is started anew after a while: what was missing comes without anybody telling us. `None`: it
/// is time.
pub(super) fn wait_to_retry(view: &View<'_>, exit: &RunExit) -> Option<Decision> {
    if let Some(decision) = missing(view) {
        return Some(decision);
    }
    let until = exit.ended_at + SANDBOX_RETRY_AFTER;
    let waiting = view.now < until && !view.seen.order.now;
    let trouble = exit.note.clone().unwrap_or_default();
    let wait = Decision::wait_until(until, Why::SandboxUnavailable { trouble });
    waiting.then(|| view.rest(Status::Idle, ClaimLabel::Keep, wait))
}
