//! The gate before a claim, and the claim itself (protocol.md, sections 4 and 5).

use crate::model::comment::{LockBy, lock_markers};
use crate::model::ids::{Login, RefName, Timestamp};
use crate::model::labels::Status;
use crate::model::lease::{
    LeaseCommit, LeaseMessage, LeaseReading, StolenFrom, next_epoch, read_lease,
};

use super::effect::{ClaimPlan, Effect, Reclaim};
use super::view::{ClaimView, View};
use super::{Decision, Why};

impl View<'_> {
    /// `effect` if our claim holds, else the claim that it needs.
    pub(super) fn under_claim(&self, effect: Effect, why: Why) -> Decision {
        match self.claim {
            _ if self.as_if_claimed => Decision::act(effect, why),
            ClaimView::Ours(_) => match self.refused_once_won() {
                Some(why) => Decision::act(Effect::Release, why),
                None => Decision::act(effect, why),
            },
            ClaimView::None | ClaimView::WithoutLease | ClaimView::Lost => {
                self.claim_now(Slot::NotNeeded)
            }
        }
    }

    /// `None` if a run may be started under our claim, else what has to happen first.
    pub(super) fn before_run(&self) -> Option<Decision> {
        match &self.claim {
            ClaimView::Ours(_) if self.slot().is_some() => self
                .refused_once_won()
                .map(|why| Decision::act(Effect::Release, why)),
            // A claim taken for a single write carries no slot; it is given back and taken with one.
            ClaimView::Ours(_) => Some(Decision::act(Effect::Release, Why::SlotNeeded)),
            ClaimView::None | ClaimView::WithoutLease | ClaimView::Lost => {
                Some(self.claim_now(Slot::Needed))
            }
        }
    }

    /// A won lease passes the gate once more, on what was read after it was won: somebody may have
    /// taken the issue by hand in between. Once our claim is shown, others see it and keep away.
    fn refused_once_won(&self) -> Option<Why> {
        let shown = self
            .proof()
            .is_some_and(|proof| self.checkpoint_shows(proof.claim()));
        if shown {
            return None;
        }
        self.assignee_in_the_way()
            .or_else(|| self.pull_request_in_the_way())
            .or_else(|| self.marker_in_the_way())
    }

    fn claim_now(&self, slot: Slot) -> Decision {
        if let Some(why) = self.refused_by_gate() {
            let until = until_expired(&why);
            return Decision::Wait { until, why };
        }
        let slot = match slot {
            Slot::NotNeeded => self.slot_of_the_dead(),
            Slot::Needed => match self.free_slot() {
                Some(slot) => Some(slot),
                None => {
                    return Decision::wait(Why::NoSlot {
                        slots: self.policy.slots,
                    });
                }
            },
        };
        let Some(base) = &self.seen.look.base else {
            return Decision::wait(Why::RepositoryUnusable {
                reason: "base_missing".to_owned(),
            });
        };
        let from = self.lease_commit().cloned();
        let plan = ClaimPlan {
            stolen_from: self.displaced(from.as_ref()),
            epoch: next_epoch(from.as_ref(), self.now),
            from,
            slot,
            tree: base.tree.clone(),
        };
        let why = match &plan.stolen_from {
            Some(stolen) if plan.from.is_some() => Why::LeaseExpired {
                holder: stolen.holder.clone(),
            },
            Some(_) | None => Why::FreeToClaim,
        };
        Decision::act(Effect::Claim(plan), why)
    }

    /// Whose expired lease, or stale label, a claim would take over.
    fn displaced(&self, lease: Option<&LeaseCommit>) -> Option<StolenFrom> {
        let holder = match &self.lease {
            LeaseReading::Free | LeaseReading::Tombstone => {
                let (label, since) = self.busy_label_of_another_tool()?;
                let holder = format!("`{}`", label.replace('`', "'"));
                return Some(StolenFrom { holder, since });
            }
            LeaseReading::Held { message, .. } => holder(message),
            LeaseReading::Odd { .. } => "an unknown tool".to_owned(),
        };
        let since = lease?.date;
        Some(StolenFrom { holder, since })
    }

    /// The first thing that forbids a claim.
    pub(super) fn refused_by_gate(&self) -> Option<Why> {
        self.lease_in_the_way()
            .or_else(|| self.busy_label_in_the_way())
            .or_else(|| self.assignee_in_the_way())
            .or_else(|| self.pull_request_in_the_way())
            .or_else(|| self.marker_in_the_way())
    }

    fn lease_in_the_way(&self) -> Option<Why> {
        match &self.lease {
            LeaseReading::Free | LeaseReading::Tombstone => None,
            LeaseReading::Held { expired: true, .. } | LeaseReading::Odd { expired: true, .. } => {
                None
            }
            LeaseReading::Held {
                message, expires, ..
            } => Some(Why::ClaimedElsewhere {
                holder: holder(message),
                expires: *expires,
            }),
            LeaseReading::Odd { expires, .. } => Some(Why::OddLease { expires: *expires }),
        }
    }

    fn busy_label_in_the_way(&self) -> Option<Why> {
        let (label, since) = self.busy_label_of_another_tool()?;
        (self.now < since + self.policy.lock_ttl).then_some(Why::BusyLabel { label })
    }

    /// A busy label without any lease ref was written by a tool that has no leases, and since when it
    /// stands: that tool's own word, or else the hour of the label.
    fn busy_label_of_another_tool(&self) -> Option<(String, Timestamp)> {
        let (Some(Status::Busy(_)), None) = (self.status(), self.lease_commit()) else {
            return None;
        };
        // Our own label of an interrupted release: the state carries the claim it was written under.
        if self.state.claim.is_some() {
            return None;
        }
        let (_, event) = self.last_status()?;
        Some((
            event.label.clone(),
            self.state.busy_since.unwrap_or(event.at),
        ))
    }

    fn assignee_in_the_way(&self) -> Option<Why> {
        let stale = self.stale_assignees();
        self.foreign_assignees()
            .into_iter()
            .find(|login| !stale.contains(login))
            .map(|login| Why::AssignedTo { login })
    }

    fn foreign_assignees(&self) -> Vec<Login> {
        let ours = |login: &Login| {
            login == self.operator() || Some(login) == self.policy.target_assignee.as_ref()
        };
        self.issue
            .assignees
            .iter()
            .filter(|login| !ours(login))
            .cloned()
            .collect()
    }

    /// Assignees of loop claims that have no live lease any more: they come off with the reclaim.
    pub(super) fn stale_assignees(&self) -> Vec<Login> {
        let markers: Vec<_> = self
            .seen
            .look
            .comments
            .iter()
            .filter(|comment| self.counts(comment))
            .flat_map(|comment| lock_markers(&comment.body, &self.policy.marker))
            .collect();
        self.foreign_assignees()
            .into_iter()
            .filter(|login| {
                markers
                    .iter()
                    .any(|m| m.by == LockBy::Loop && m.operator.as_ref() == Some(login))
            })
            .collect()
    }

    fn pull_request_in_the_way(&self) -> Option<Why> {
        self.issue
            .linked_prs
            .iter()
            .find(|pr| pr.head_repo != Some(self.seen.repo.id) || pr.head_ref != self.branch)
            // A stranger's pull request that merely says "closes" must not stop the work, else
            // anybody could: only those from this repository count.
            .filter(|pr| pr.head_repo == Some(self.seen.repo.id))
            .map(|pr| Why::OtherPullRequest {
                pr: pr.number,
                url: pr.url.clone(),
            })
    }

    /// Markers of people and other tools. One of a loop is as live as its lease, which was looked at.
    fn marker_in_the_way(&self) -> Option<Why> {
        let ours = self
            .seen
            .local
            .claim
            .as_ref()
            .map(|record| record.claim.clone());
        self.seen.look.comments.iter().rev().find_map(|comment| {
            if !self.counts(comment) {
                return None;
            }
            let finished =
                crate::model::comment::parse_checkpoint(&comment.body, &self.policy.marker)
                    .is_some_and(|checkpoint| checkpoint.finished);
            let marker = lock_markers(&comment.body, &self.policy.marker)
                .into_iter()
                .next_back()?;
            // A marker that names no claim is nobody's here, also while we have none.
            let own = marker.claim.is_some() && marker.claim == ours;
            let foreign = marker.by != LockBy::Loop && !own;
            let young = marker
                .at
                .is_none_or(|at| self.now < at + self.policy.stale_window);
            let released = self.released_since(&comment.created_at);
            (foreign && young && !finished && !released).then(|| Why::ClaimedByComment {
                operator: marker
                    .operator
                    .map_or_else(|| "somebody".to_owned(), |l| l.to_string()),
                url: comment.url.clone(),
            })
        })
    }

    fn released_since(&self, at: &crate::model::ids::Timestamp) -> bool {
        self.seen.look.comments.iter().any(|comment| {
            comment.created_at > *at
                && self.counts(comment)
                && comment.body.contains("Session lock released")
        })
    }

    /// The slot that the claim which is taken over still holds: taken along, it is given back with it.
    fn slot_of_the_dead(&self) -> Option<(RefName, Option<LeaseCommit>)> {
        let claim_of = |commit: &LeaseCommit| LeaseMessage::parse(&commit.message)?.claim;
        let dead = claim_of(self.lease_commit()?)?;
        self.policy.slot_refs().into_iter().find_map(|slot| {
            let commit = self.seen.look.leases.get(&slot)?;
            let same = claim_of(commit).as_ref() == Some(&dead);
            same.then(|| (slot, Some(commit.clone())))
        })
    }

    /// The lowest slot nobody holds.
    fn free_slot(&self) -> Option<(RefName, Option<LeaseCommit>)> {
        self.policy.slot_refs().into_iter().find_map(|slot| {
            let commit = self.seen.look.leases.get(&slot).cloned();
            self.slot_is_free(commit.as_ref()).then_some((slot, commit))
        })
    }

    fn slot_is_free(&self, commit: Option<&LeaseCommit>) -> bool {
        let first_seen = self.now;
        match read_lease(commit, first_seen, self.now, &self.policy.lease_margins) {
            LeaseReading::Free
            | LeaseReading::Tombstone
            | LeaseReading::Held { expired: true, .. } => true,
            LeaseReading::Odd { expired, .. } => expired,
            LeaseReading::Held { message, .. } => self.slot_is_orphan(&message),
        }
    }

    /// A slot whose issue lease does not carry the same claim was left by a crash.
    fn slot_is_orphan(&self, slot: &LeaseMessage) -> bool {
        if !self.seen.slot_owners_known {
            return false;
        }
        let Some(owner) = self.policy.issue_ref(slot.issue) else {
            return false;
        };
        let holder = self
            .seen
            .slot_owners
            .get(&owner)
            .or(self.seen.look.leases.get(&owner));
        let carried = holder.and_then(|commit| LeaseMessage::parse(&commit.message));
        carried.is_none_or(|message| message.claim != slot.claim)
    }

    /// Are all slots taken as far as the look alone can tell? Then their owners are worth a look.
    pub fn wants_slot_owners(&self) -> bool {
        !self.seen.slot_owners_known && self.free_slot().is_none()
    }

    /// What has to be said about a take-over, if our lease says that it was one. The comment's key is
    /// our epoch, so it is said once.
    pub(super) fn reclaim_notice(&self) -> Option<Reclaim> {
        let proof = self.proof()?;
        let key = format!("{}/{}/reclaim", self.issue.number, proof.epoch());
        let stolen = match &self.lease {
            LeaseReading::Held { message, .. } => message.stolen_from.clone(),
            LeaseReading::Free | LeaseReading::Tombstone | LeaseReading::Odd { .. } => None,
        };
        let unassign = self.stale_assignees();
        if self.said(&key) || (stolen.is_none() && unassign.is_empty()) {
            return None;
        }
        let (from, since, because) = if let Some(stolen) = stolen {
            let label = stolen.holder.trim_matches('`');
            let because = if matches!(self.policy.labels.status_of(label), Some(Status::Busy(_))) {
                "the label stood without a lease for longer than `lock_ttl`"
            } else {
                "its lease had run out"
            };
            (stolen.holder, Some(stolen.since), because)
        } else {
            let from = unassign
                .first()
                .map_or_else(String::new, |login| format!("@{login}"));
            (from, None, "its session had ended without a lease")
        };
        Some(Reclaim {
            key,
            from,
            since,
            because: because.to_owned(),
            unassign,
        })
    }
}

/// Does the claim need a slot?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// A run is to start.
    Needed,
    /// A single effect out of a waiting phase.
    NotNeeded,
}

/// When a lease in the way may be taken over.
fn until_expired(why: &Why) -> Option<Timestamp> {
    if let Why::ClaimedElsewhere { expires, .. } | Why::OddLease { expires } = why {
        Some(*expires)
    } else {
        None
    }
}

/// Who a lease says it is, for people.
pub(super) fn holder(message: &LeaseMessage) -> String {
    let owner = message.owner.as_deref().unwrap_or("nobody");
    match &message.host {
        Some(host) => format!("`{owner}` on `{host}`"),
        None => format!("`{owner}`"),
    }
}
