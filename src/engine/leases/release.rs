//! Giving leases back: one's own (`release`), and those that nobody needs (`reap`).

use std::collections::BTreeSet;

use super::Leases;
use super::rounds::{Next, Read};
use crate::decide::leases::{Holder, Reap, Release, issue_of, reap, release};
use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::lease::{LeaseCommit, LeaseMessage, SwapOutcome};
use crate::ports::backlog::AllLeases;
use crate::ports::{PortError, PortResult};

/// How a release went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseOutcome {
    /// It is gone.
    Released,
    /// There was none.
    Nothing,
    /// The loop holds it.
    Loops,
    /// Another's; untouched.
    Theirs(Holder),
}

/// A lease that was reaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaped {
    /// Its issue.
    pub issue: IssueNumber,
    /// Whose it was.
    pub owner: Option<String>,
    /// Why.
    pub why: Reap,
}

impl Leases {
    /// Deletes the asker's own lease.
    pub async fn release(&self, issue: IssueNumber) -> PortResult<ReleaseOutcome> {
        let name = self.ref_of(issue)?;
        let read = self.read(&name).await?;
        let decide = |(at, commit): &Read, unanswered: Option<&ReleaseOutcome>| {
            match release(self.seen(commit.as_ref(), *at), &self.asker(*at)) {
                Release::Delete => Next::Remove(ReleaseOutcome::Released),
                // Gone after a deletion whose answer was lost: that was ours.
                Release::Nothing => {
                    Next::Answer(unanswered.cloned().unwrap_or(ReleaseOutcome::Nothing))
                }
                Release::Loops => Next::Answer(ReleaseOutcome::Loops),
                Release::Theirs(holder) => Next::Answer(ReleaseOutcome::Theirs(holder)),
            }
        };
        self.move_lease((&name, "release the lease"), read, decide)
            .await
    }

    /// Deletes what is expired and what belongs to closed issues, each exactly as it was read.
    pub async fn reap(&self) -> PortResult<Vec<Reaped>> {
        let all = self.doors.backlog.leases(&self.namespace).await?;
        let listed = self.maybe_closed(&all).await?;
        let mut reaped = Vec::new();
        for commit in &all.leases {
            let Some(issue) = issue_of(&commit.name, &self.namespace) else {
                self.reap_slot(commit, &all).await?;
                continue;
            };
            let open = if listed.contains(&issue) {
                self.doors.backlog.is_open(issue).await?
            } else {
                Some(true)
            };
            let seen = self.seen(Some(commit), all.at);
            let Some(why) = reap(seen, (all.at, &self.margins), open) else {
                continue;
            };
            if self.delete_surely(commit).await? {
                let message = LeaseMessage::parse(&commit.message);
                let owner = message.and_then(|message| message.owner);
                reaped.push(Reaped { issue, owner, why });
            }
        }
        Ok(reaped)
    }

    /// Issues with a living lease that the list of open ones does not have. The list may lag, so each is asked
    /// about once more.
    async fn maybe_closed(&self, all: &AllLeases) -> PortResult<BTreeSet<IssueNumber>> {
        let lives = |commit: &&LeaseCommit| {
            let seen = self.seen(Some(commit), all.at);
            // Closed or not, does it make a difference?
            reap(seen, (all.at, &self.margins), Some(true)).is_none()
                && reap(seen, (all.at, &self.margins), Some(false)).is_some()
        };
        let issues: BTreeSet<IssueNumber> = all
            .leases
            .iter()
            .filter(lives)
            .filter_map(|commit| issue_of(&commit.name, &self.namespace))
            .collect();
        if issues.is_empty() {
            return Ok(issues);
        }
        let open = self.doors.backlog.open_issues().await?;
        let open: BTreeSet<IssueNumber> = open.iter().map(|one| one.listed.number).collect();
        Ok(issues.difference(&open).copied().collect())
    }

    /// A slot goes once its own time is over and no living lease of an issue carries its claim.
    async fn reap_slot(&self, slot: &LeaseCommit, all: &AllLeases) -> PortResult<()> {
        let over = |commit: &LeaseCommit, at: Timestamp| {
            reap(self.seen(Some(commit), at), (at, &self.margins), None) == Some(Reap::Expired)
        };
        let claim_of = |commit: &LeaseCommit| {
            LeaseMessage::parse(&commit.message).and_then(|message| message.claim)
        };
        let Some(claim) = claim_of(slot).filter(|_| is_slot(slot) && over(slot, all.at)) else {
            return Ok(());
        };
        let carried = all.leases.iter().any(|commit| {
            !is_slot(commit) && claim_of(commit).as_ref() == Some(&claim) && !over(commit, all.at)
        });
        if !carried {
            self.delete_surely(slot).await?;
        }
        Ok(())
    }

    /// Is it gone by this deletion? One that moved since is somebody's.
    async fn delete_surely(&self, commit: &LeaseCommit) -> PortResult<bool> {
        let swapped = self.swap((&commit.name, None), Some(commit.oid.clone()));
        match swapped.await {
            Ok(outcome) => Ok(outcome == SwapOutcome::Swapped),
            Err(PortError::Unknown { .. }) => {
                let (_, now) = self.read(&commit.name).await?;
                Ok(now.is_none_or(|now| now.oid != commit.oid))
            }
            Err(error) => Err(error),
        }
    }
}

/// `…/slot-1`; other refs of the namespace (work in progress, salvage) are no leases.
fn is_slot(commit: &LeaseCommit) -> bool {
    let name = commit.name.as_str().rsplit_once("/slot-");
    name.is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}
