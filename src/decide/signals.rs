//! What people see of our claim: status label, claim label, assignee, checkpoint. Says what is missing;
//! whether a claim may be taken is the gate's question.

use crate::model::ids::ClaimId;
use crate::model::labels::Status;

use super::effect::{Effect, Mirror, Signals, StatusChange};
use super::view::{ClaimView, View};
use super::{Decision, Why};

/// What becomes of the claim label when the lease is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimLabel {
    /// The work goes on after a wait.
    Keep,
    /// It is over, or a person's turn.
    TakeOff,
}

impl View<'_> {
    /// The status label that counts: of two, the one put on last; where that is not known, `blocked`. A busy
    /// label is ghswarm's own and takes no order back: a person may have given one just before it.
    pub fn status(&self) -> Option<Status> {
        let ordered = |status: &Status| matches!(status, Status::Blocked | Status::Completed);
        let given = self.statuses.iter().any(ordered);
        let busy = |status: &Status| matches!(status, Status::Busy(_));
        let counts = |status: &&Status| !(given && busy(status));
        let count: Vec<Status> = self.statuses.iter().filter(counts).cloned().collect();
        match count.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => match self.last_of(several) {
                Some((status, _)) => Some(status),
                None => Some(Status::Blocked),
            },
        }
    }

    /// The change that makes `to` the only status label; `None` if it is.
    pub(super) fn status_change(&self, to: Status) -> Option<StatusChange> {
        let present = self.statuses.contains(&to);
        let remove: Vec<String> = self
            .issue
            .labels
            .iter()
            .filter(|label| self.policy.labels.status_of(label).is_some_and(|s| s != to))
            .cloned()
            .collect();
        (!present || !remove.is_empty()).then_some(StatusChange {
            to,
            remove,
            present,
        })
    }

    /// The same, and the claim label comes off.
    pub(super) fn status_change_unclaimed(&self, to: Status) -> Option<StatusChange> {
        let claim = self
            .issue
            .labels
            .iter()
            .find(|label| label.eq_ignore_ascii_case(&self.policy.labels.claim))
            .cloned();
        match (self.status_change(to.clone()), claim) {
            (change, None) => change,
            (Some(mut change), Some(label)) => {
                change.remove.push(label);
                Some(change)
            }
            (None, Some(label)) => Some(StatusChange {
                to,
                remove: vec![label],
                present: true,
            }),
        }
    }

    /// The signals of a working claim that are missing; `None`: all stand.
    pub(super) fn missing_signals(&self, agent: &str) -> Option<Signals> {
        let proof = self.proof()?;
        let shown = self.checkpoint_shows(proof.claim());
        let signals = Signals {
            reclaim: self.reclaim_notice(),
            assign: !self.issue.assignees.contains(self.operator()),
            label: !self.policy.labels.claimed(&self.issue.labels),
            status: self.status_change(Status::Busy(agent.to_owned())),
            checkpoint: (!shown).then(|| Mirror {
                comment: self.own_checkpoint,
                state: self.state.clone(),
            }),
        };
        (signals != Signals::default()).then_some(signals)
    }

    pub(super) fn checkpoint_shows(&self, claim: &ClaimId) -> bool {
        self.own_checkpoint.is_some()
            && self.checkpoint.as_ref().is_some_and(|checkpoint| {
                !checkpoint.finished
                    && checkpoint
                        .lock
                        .as_ref()
                        .is_some_and(|lock| lock.claim.as_ref() == Some(claim))
            })
    }

    /// Nothing to do for now: show the status, give the lease back, then `otherwise`.
    pub(super) fn rest(&self, status: Status, label: ClaimLabel, otherwise: Decision) -> Decision {
        match self.claim {
            ClaimView::WithoutLease => Decision::act(Effect::DropClaim, Why::ClaimWithoutLease),
            ClaimView::None | ClaimView::Lost => match self.status_change(status) {
                // Only an interrupted change leaves the label behind; it takes a claim to mend it.
                Some(change) => self.under_claim(Effect::SetStatus(change), Why::LabelsDiffer),
                None => otherwise,
            },
            ClaimView::Ours(_) => {
                let change = match label {
                    ClaimLabel::Keep => self.status_change(status),
                    ClaimLabel::TakeOff => self.status_change_unclaimed(status),
                };
                match change {
                    Some(change) => Decision::act(Effect::SetStatus(change), Why::LabelsDiffer),
                    None => Decision::act(Effect::Release, Why::NothingUnderClaim),
                }
            }
        }
    }
}
