//! How the next state is made from the one that counts (`believe`), and whether a write lost somebody's
//! words.

use crate::model::body::StateBlock;
use crate::model::issue::BodyEdit;
use crate::model::state::{BlockedReason, IssueState};
use crate::model::trust::{TextTrust, acted_text};

use super::effect::{Effect, StateWrite};
use super::view::{StateSource, View};
use super::{Decision, Why};

/// Edits of people that landed between our read and our write: what they wrote is not in the body
/// that we wrote (protocol.md, section 1).
pub(super) fn lost_edits<'a>(view: &View<'a>) -> Vec<&'a BodyEdit> {
    let edits = &view.seen.look.edits;
    if view.source != StateSource::Body || view.state.rev == 0 {
        return Vec::new();
    }
    // Without a remembered edit the body had never been edited: its creation is the first entry.
    let base = match &view.state.base_edit {
        None => Some(0),
        Some(id) => edits.iter().position(|edit| edit.id == *id),
    };
    let Some(base) = base else { return Vec::new() };
    let after = edits.iter().enumerate().skip(base + 1);
    let ours = after
        .clone()
        .find(|(_, edit)| is_our_write(view, edit))
        .map(|(index, _)| index);
    let Some(ours) = ours else { return Vec::new() };
    // Writes of ours in between belong to a row of effects that one look served for.
    let written = &edits[ours];
    edits[base + 1..ours]
        .iter()
        .filter(|edit| !is_kept(view, edit, written))
        .collect()
}

/// An edit by us that says, ticks aside, what our later write says: nothing of it is lost. The operator
/// also writes as a person, so who it was is not enough.
fn is_kept(view: &View<'_>, edit: &BodyEdit, ours: &BodyEdit) -> bool {
    let by_us = edit
        .editor
        .as_ref()
        .is_some_and(|e| e.login == *view.operator());
    let said = |edit: &BodyEdit| edit.text.as_deref().map(|text| acted_text("", text));
    by_us && said(edit) == said(ours)
}

fn is_our_write(view: &View<'_>, edit: &BodyEdit) -> bool {
    let by_us = edit
        .editor
        .as_ref()
        .is_some_and(|e| e.login == *view.operator());
    match &edit.text {
        _ if !by_us => false,
        // GitHub keeps no text: the operator's first edit after the remembered one is taken for ours.
        None => true,
        Some(text) => match crate::model::body::parse(text).state {
            StateBlock::Found { state, .. } => state.rev == view.state.rev,
            StateBlock::Absent | StateBlock::Newer { .. } | StateBlock::Invalid { .. } => false,
        },
    }
}

impl View<'_> {
    /// The next state to write: everything as it is, the book-keeping done.
    pub(super) fn next_state(&self) -> IssueState {
        let mut state = self.state.clone();
        super::spending::settle(self, &mut state);
        state.v = 1;
        state.rev = state.rev.saturating_add(1);
        state.repo_id = Some(self.seen.repo.id);
        state.issue = Some(self.issue.number);
        state.branch_name = Some(self.branch.clone());
        if let Some(proof) = self.proof() {
            state.epoch = Some(proof.epoch());
            state.claim = Some(proof.claim().clone());
        }
        state.base_edit = self.seen.look.edits.last().map(|edit| edit.id.clone());
        state
    }

    /// Writes `state` (made by `next_state`), or first takes the claim that a write needs.
    pub(super) fn write(&self, state: IssueState, why: Why) -> Decision {
        self.write_ticking(state, Vec::new(), why)
    }

    /// The same, and ticks tasks.
    pub(super) fn write_ticking(
        &self,
        state: IssueState,
        ticks: Vec<String>,
        why: Why,
    ) -> Decision {
        let write = self.state_write(state, ticks);
        self.under_claim(Effect::WriteState(Box::new(write)), why)
    }

    /// What is written for `state`.
    pub(super) fn state_write(&self, mut state: IssueState, ticks: Vec<String>) -> StateWrite {
        let phase = if state.is_blocked() {
            "blocked"
        } else {
            state.next_action.name()
        };
        phase.clone_into(&mut state.phase);
        StateWrite {
            pr_url: state.pr_url.clone(),
            ticks,
            // Of a body that cannot be written it is the body itself that has to be left alone.
            checkpoint_only: !matches!(self.trust, TextTrust::Trusted)
                || state.blocked_reason == Some(BlockedReason::BodyTooLarge),
            mirror: self.own_checkpoint,
            state,
        }
    }

    /// Blocks the issue.
    pub(super) fn block(&self, reason: BlockedReason, detail: impl Into<String>) -> Decision {
        let mut state = self.next_state();
        self.mark_blocked(&mut state, reason, detail.into());
        self.write(state, Why::Blocking { reason })
    }

    /// Notes in `state` that it is blocked.
    pub(super) fn mark_blocked(
        &self,
        state: &mut IssueState,
        reason: BlockedReason,
        detail: String,
    ) {
        state.blocked_reason = Some(reason);
        state.blocked_at = Some(self.now);
        state.blocked_detail = Some(detail);
        state.blocked_key = Some(format!(
            "{}/{}-{}/{}-{}",
            self.issue.number,
            state.epoch.unwrap_or_default(),
            state.attempt,
            reason.code(),
            state.rev
        ));
        if !super::blocked::still_wanted(self, reason) {
            state.open_run = None;
        }
        state.busy_owner = None;
        state.busy_since = None;
    }
}
