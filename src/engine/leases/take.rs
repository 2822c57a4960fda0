//! Taking a lease: `claim`, `renew`, and the half of `next` that wins.

use super::{Leases, lease_in};
use crate::decide::leases::{Holder, Intent, Take, Write, render, take};
use crate::model::ids::{ClaimId, IssueNumber, Sha, Timestamp};
use crate::model::lease::{LeaseCommit, RefSwap, StolenFrom, SwapOutcome};
use crate::ports::github::NewCommit;
use crate::ports::{PortError, PortResult, Refusal};

/// A ref that moved between reading and swapping is read again so often; each round has another winner.
const ROUNDS_MAX: u32 = 8;

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
    pub at: Timestamp,
    pub commit: Option<LeaseCommit>,
    pub tree: Sha,
}

impl Leases {
    /// Takes the lease, if nobody else holds it.
    pub async fn claim(&self, issue: IssueNumber) -> PortResult<Taken> {
        let claim = self.claim_id()?;
        let start = self.start(issue).await?;
        self.take(issue, (Intent::Claim, &claim), start).await
    }

    /// Stamps the lease's clock again; takes it where nobody holds it.
    pub async fn renew(&self, issue: IssueNumber) -> PortResult<Taken> {
        let claim = self.claim_id()?;
        let start = self.start(issue).await?;
        self.take(issue, (Intent::Renew, &claim), start).await
    }

    /// One request for all that a first round needs: the ref, GitHub's clock and a tree.
    async fn start(&self, issue: IssueNumber) -> PortResult<Start> {
        let name = self.ref_of(issue)?;
        let all = self.doors.backlog.leases(&self.namespace).await?;
        Ok(Start {
            at: all.at,
            commit: lease_in(&all, &name).cloned(),
            tree: all.base.map(|base| base.tree).ok_or_else(empty)?,
        })
    }

    pub(super) async fn take(
        &self,
        issue: IssueNumber,
        (intent, claim): (Intent<'_>, &ClaimId),
        start: Start,
    ) -> PortResult<Taken> {
        let name = self.ref_of(issue)?;
        let Start {
            mut at,
            mut commit,
            tree,
        } = start;
        let mut unanswered: Option<Won> = None;
        for _ in 0..ROUNDS_MAX {
            let asker = self.asker(at);
            let write = match take(self.seen(commit.as_ref(), at), &asker, intent) {
                // After a write whose answer was lost this says that it happened.
                Take::Mine => return Ok(Taken::Won(unanswered.unwrap_or(Won::Already))),
                Take::Held(holder) => return Ok(Taken::Held(holder)),
                Take::Write(write) => write,
            };
            let won = match &write {
                Write::Again(_) => Won::Again,
                Write::Fresh { stolen_from, .. } => Won::Fresh(stolen_from.clone()),
            };
            let new = NewCommit {
                message: render(&write, issue, &asker, &self.marks(claim)),
                tree: tree.clone(),
                parents: commit.iter().map(|commit| commit.oid.clone()).collect(),
            };
            let before = commit.map(|commit| commit.oid);
            match self.write(&new, &name, before).await {
                Ok(SwapOutcome::Swapped) => return Ok(Taken::Won(won)),
                Ok(SwapOutcome::Stale) => {}
                Err(PortError::Unknown { .. }) => unanswered = Some(won),
                Err(error) => return Err(error),
            }
            (at, commit) = self.read(&name).await?;
        }
        let message = "the ref moved again and again";
        Err(PortError::unavailable("take the lease", message, None))
    }

    async fn write(
        &self,
        new: &NewCommit,
        name: &crate::model::ids::RefName,
        before: Option<Sha>,
    ) -> PortResult<SwapOutcome> {
        let (oid, _) = self.doors.github.create_commit(new).await?;
        let swap = RefSwap {
            name: name.clone(),
            before,
            after: Some(oid),
        };
        self.doors.github.swap_refs(&[swap]).await
    }
}

pub(super) fn empty() -> PortError {
    PortError::refused(
        "take the lease",
        Refusal::RepositoryEmpty,
        "the repository has no commit yet, and a lease needs one",
    )
}
