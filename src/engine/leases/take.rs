//! Taking a lease: `claim`, `renew`, and the half of `next` that wins.

use super::rounds::{Next, Read};
use super::{Leases, lease_in};
use crate::decide::leases::{Holder, Intent, Take, Write, render, take};
use crate::model::ids::{ClaimId, IssueNumber, Sha};
use crate::model::lease::StolenFrom;
use crate::ports::github::NewCommit;
use crate::ports::{PortError, PortResult, Refusal};

/// Who has the lease now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// The asker.
    Won(Won),
    /// Somebody else.
    Held(Holder),
}

/// How it was won.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Won {
    /// Nobody had it, or somebody whose time was over.
    Fresh(Option<StolenFrom>),
    /// It was the asker's and is young.
    Already,
    /// It was the asker's and was stamped again.
    Again,
}

/// What a round starts from.
pub(super) struct Start {
    pub read: Read,
    pub tree: Sha,
}

impl Leases {
    /// Takes the lease, if nobody else holds it.
    pub async fn claim(&self, issue: IssueNumber) -> PortResult<Taken> {
        self.take_from_now(issue, Intent::Claim).await
    }

    /// Stamps the lease's clock again; takes it where nobody holds it.
    pub async fn renew(&self, issue: IssueNumber) -> PortResult<Taken> {
        self.take_from_now(issue, Intent::Renew).await
    }

    /// One request for all that a first round needs: the ref, GitHub's clock and a tree.
    async fn take_from_now(&self, issue: IssueNumber, intent: Intent<'_>) -> PortResult<Taken> {
        let claim = self.claim_id()?;
        let name = self.ref_of(issue)?;
        let all = self.doors.backlog.leases(&self.namespace).await?;
        let start = Start {
            read: (all.at, lease_in(&all, &name).cloned()),
            tree: all.base.map(|base| base.tree).ok_or_else(empty)?,
        };
        self.take(issue, (intent, &claim), start).await
    }

    pub(super) async fn take(
        &self,
        issue: IssueNumber,
        (intent, claim): (Intent<'_>, &ClaimId),
        start: Start,
    ) -> PortResult<Taken> {
        let name = self.ref_of(issue)?;
        let decide = |(at, commit): &Read, unanswered: Option<&Taken>| {
            let asker = self.asker(*at);
            let write = match take(self.seen(commit.as_ref(), *at), &asker, intent) {
                // After a write whose answer was lost this says that it happened.
                Take::Mine => {
                    let already = Taken::Won(Won::Already);
                    return Next::Answer(unanswered.cloned().unwrap_or(already));
                }
                Take::Held(holder) => return Next::Answer(Taken::Held(holder)),
                Take::Write(write) => write,
            };
            let won = match &write {
                Write::Again(_) => Won::Again,
                Write::Fresh { stolen_from, .. } => Won::Fresh(stolen_from.clone()),
            };
            let new = NewCommit {
                message: render(&write, issue, &asker, &self.marks(claim)),
                tree: start.tree.clone(),
                parents: commit.iter().map(|commit| commit.oid.clone()).collect(),
            };
            Next::Move(new, Taken::Won(won))
        };
        self.move_lease((&name, "take the lease"), start.read, decide)
            .await
    }
}

pub(super) fn empty() -> PortError {
    PortError::refused(
        "take the lease",
        Refusal::RepositoryEmpty,
        "the repository has no commit yet, and a lease needs one",
    )
}
