//! The gate before a claim, and the claim itself (protocol.md, sections 4 and 5).

use crate::model::claim::Displaced;
use crate::model::ids::{Login, RefName, Timestamp};
use crate::model::labels::Status;
use crate::model::lease::{
    LeaseCommit, LeaseMessage, LeaseReading, StolenFrom, next_epoch, read_lease,
};

use super::effect::{ClaimPlan, Effect, Reclaim};
use super::markers::Marker;
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
        self.marker_in_the_way()
            .or_else(|| self.assignee_in_the_way())
            .or_else(|| self.pull_request_in_the_way())
    }

    fn claim_now(&self, slot: Slot) -> Decision {
        if let Some(why) = self.refused_by_gate() {
            let until = until_expired(&why);
            return Decision::Wait { until, why };
        }
        match self.plan(slot) {
            Err(why) => Decision::wait(why),
            Ok(plan) => {
                let why = match &plan.stolen_from {
                    Some(stolen) if plan.from.is_some() => Why::LeaseExpired {
                        holder: stolen.holder.clone(),
                    },
                    Some(_) | None => Why::FreeToClaim,
                };
                Decision::act(Effect::Claim(plan), why)
            }
        }
    }

    /// How the lease is taken from what was read; the error is what is missing for it.
    fn plan(&self, slot: Slot) -> Result<ClaimPlan, Why> {
        let slot = match slot {
            Slot::NotNeeded => self.slot_of_the_dead(),
            Slot::Needed => Some(self.free_slot().ok_or(Why::NoSlot {
                slots: self.policy.slots,
            })?),
        };
        let base = self.seen.look.base.as_ref();
        let base = base.ok_or_else(|| Why::RepositoryUnusable {
            reason: "base_missing".to_owned(),
        })?;
        let from = self.lease_commit().cloned();
        Ok(ClaimPlan {
            stolen_from: self.displaced(from.as_ref()),
            epoch: next_epoch(from.as_ref(), self.now),
            from,
            slot,
            tree: base.tree.clone(),
        })
    }

    /// How a claim by hand takes the lease: no slot, since it starts no run.
    pub fn plan_by_hand(&self) -> Result<ClaimPlan, Why> {
        self.plan(Slot::NotNeeded)
    }

    /// What forbids a claim by hand before it has the lease: whatever nobody may order away first.
    pub fn refuses_hand(&self) -> Option<Why> {
        self.refuses_anybody()
            .or_else(|| self.refused_by_gate())
            .or_else(|| self.colleague_in_the_way())
    }

    /// The same once the lease is won, on what was read after that. Once our marker stands as well, others
    /// keep away, and of two that were placed at once the earlier one wins.
    pub fn refuses_hand_once_won(&self) -> Option<Why> {
        if let Some(ours) = self.own_marker() {
            return self
                .refuses_anybody()
                .or_else(|| self.earlier_rival(&ours).as_ref().map(claimed_by));
        }
        self.refuses_anybody()
            .or_else(|| self.marker_in_the_way())
            .or_else(|| self.assignee_in_the_way())
            .or_else(|| self.pull_request_in_the_way())
            .or_else(|| self.colleague_in_the_way())
    }

    /// What forbids every claim, ordered or not.
    pub fn refuses_anybody(&self) -> Option<Why> {
        if !self.issue.open {
            return Some(Why::IssueClosed);
        }
        if self.policy.labels.held(&self.issue.labels) {
            return Some(Why::OnHold);
        }
        super::guards::unusable(self)
    }

    /// An open pull request of our branch's name that somebody else opened. The loop hands its own over
    /// from home to home; a person who comes by hand would work on what another one has in flight.
    fn colleague_in_the_way(&self) -> Option<Why> {
        let ours = |author: &crate::model::issue::Actor| author.login == *self.operator();
        let pr = self.pr_of_branch()?;
        let foreign = !pr.author.as_ref().is_some_and(ours);
        foreign.then(|| Why::OtherPullRequest {
            pr: pr.number,
            url: pr.url.clone(),
        })
    }

    /// Whose claim goes away with ours. `None`: nobody's. `order`: a person said that it shall.
    pub fn displaces(&self, order: TakeOver) -> Option<Displaced> {
        let holding = self.holding();
        let dead = self
            .lease_commit()
            .and_then(|commit| self.displaced(Some(commit)));
        let unassign = match order {
            TakeOver::No => self.stale_assignees(),
            TakeOver::Ordered => self.foreign_assignees(),
        };
        let known = holding
            .as_ref()
            .map(|held| (held.who.clone(), held.since))
            .or_else(|| dead.map(|stolen| (stolen.holder, Some(stolen.since))))
            .or_else(|| unassign.first().map(|login| (format!("@{login}"), None)));
        let (who, since) = known?;
        let live = holding.as_ref().is_some_and(|held| !held.stale);
        let because = if order == TakeOver::Ordered && (live || holding.is_none()) {
            format!("@{} ordered it (`--take-over`)", self.operator())
        } else {
            "its session had ended".to_owned()
        };
        Some(Displaced {
            who,
            since,
            because,
            unassign,
            by_order: order == TakeOver::Ordered && live,
        })
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

    /// The first thing that forbids a claim. A marker says more about its session than the assignee does.
    pub(super) fn refused_by_gate(&self) -> Option<Why> {
        self.lease_in_the_way()
            .or_else(|| self.busy_label_in_the_way())
            .or_else(|| self.marker_in_the_way())
            .or_else(|| self.assignee_in_the_way())
            .or_else(|| self.pull_request_in_the_way())
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

    /// Assignees of claims that are dead: they come off with the reclaim.
    pub(super) fn stale_assignees(&self) -> Vec<Login> {
        let markers = self.markers();
        self.foreign_assignees()
            .into_iter()
            .filter(|login| markers.iter().any(|marker| marker.is_dead(login)))
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

    /// Markers of people and other tools. One of a loop is as live as its lease, which was looked at. A
    /// marker that names no claim is nobody's here, also while we have none.
    fn marker_in_the_way(&self) -> Option<Why> {
        let ours = self.seen.local.claim.as_ref().map(|record| &record.claim);
        self.rival(ours).as_ref().map(claimed_by)
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

    /// Why the holder of what a claim took over counted as dead.
    fn why_dead(&self, holder: &str) -> &'static str {
        let label = holder.trim_matches('`');
        if matches!(self.policy.labels.status_of(label), Some(Status::Busy(_))) {
            "the label stood without a lease for longer than `lock_ttl`"
        } else {
            "its lease had run out"
        }
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
        let said = self.said(&key);
        // Until it is said that a stale marker is over, an open pull request of ours would revive it.
        let stale = self.stale_marker();
        // Cut off after the comment, the assignees are still to come off.
        if unassign.is_empty() && (said || (stolen.is_none() && stale.is_none())) {
            return None;
        }
        let dead = "its session had ended";
        let (from, since, because) = match (stolen, stale) {
            (_, Some(marker)) => (named(&marker), Some(marker.at), dead),
            (Some(stolen), None) => {
                let because = self.why_dead(&stolen.holder);
                (stolen.holder, Some(stolen.since), because)
            }
            (None, None) => {
                let from = unassign
                    .first()
                    .map_or_else(String::new, |login| format!("@{login}"));
                (from, None, "its session had ended without a lease")
            }
        };
        Some(Reclaim {
            key,
            from,
            since,
            because: because.to_owned(),
            unassign,
            said,
        })
    }
}

fn named(marker: &Marker<'_>) -> String {
    let operator = marker.lock.operator.as_ref();
    operator.map_or_else(|| "somebody".to_owned(), |login| format!("@{login}"))
}

fn claimed_by(marker: &Marker<'_>) -> Why {
    let operator = marker.lock.operator.as_ref();
    Why::ClaimedByComment {
        operator: operator.map_or_else(|| "somebody".to_owned(), ToString::to_string),
        since: marker.at,
        url: marker.comment.url.clone(),
    }
}

/// May a claim that is live be displaced?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeOver {
    /// Never.
    No,
    /// A person at this terminal said so. The loop never does.
    Ordered,
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
