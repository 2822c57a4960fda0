//! What holds an issue back before work on it has begun: issues that have to be closed first. They say
//! when it is its turn, never whether: a person may skip them (`run N --force`).

use crate::model::blockers::WaitsOn;
use crate::model::phase::Phase;
use crate::model::trust::TextTrust;

use super::view::View;
use super::{Decision, Why, guards};

impl View<'_> {
    /// Does it matter for this issue what it depends on? What has been begun is brought to its end, and
    /// a text that nobody trusts says nothing.
    pub fn may_be_held_back(&self) -> bool {
        let begun = self.phase() != Phase::Start
            || self.state.total_agent_runs > 0
            || !self.seen.local.runs.is_empty()
            || self.pr().is_some();
        let trusted = !matches!(self.trust, TextTrust::Untrusted { .. });
        self.policy.depends && !self.seen.order.now && self.issue.open && trusted && !begun
    }
}

/// What is said of these; `None`: they hold nothing back.
pub fn held_back(waits_on: &WaitsOn) -> Option<Why> {
    if !waits_on.circle.is_empty() {
        let issues = waits_on.circle.clone();
        return Some(Why::DependencyCycle { issues });
    }
    let blockers = waits_on.blockers.clone();
    (!blockers.is_empty()).then_some(Why::WaitsOn { blockers })
}

/// Work that is begun on top of what is not there yet is paid twice.
pub(super) fn guard(view: &View<'_>) -> Option<Decision> {
    if !view.may_be_held_back() {
        return None;
    }
    let why = held_back(&view.seen.waits_on)?;
    Some(guards::leave(view, why))
}
