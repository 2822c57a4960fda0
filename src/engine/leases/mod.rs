//! The verbs of `ghswarm lease` over the doors: read, ask `decide::leases` what may be done, swap exactly what
//! was read, read again where the swap was refused or its answer lost. Prints nothing and knows no exit status.

mod next;
mod release;
mod rounds;
mod take;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use next::{Filter, Popped};
pub use release::{Reaped, ReleaseOutcome};
pub use take::{Taken, Won};

use crate::decide::leases::{Asker, Marks, Seen, Standing, issue_of, standing};
use crate::model::ids::{ClaimId, IssueNumber, RefName, Timestamp};
use crate::model::lease::{LeaseCommit, LeaseMargins, LeaseReading, read_lease};
use crate::ports::backlog::{AllLeases, Backlog};
use crate::ports::clock::Clock;
use crate::ports::github::GitHub;
use crate::ports::memory::Memory;
use crate::ports::{PortError, PortResult, Refusal};

/// Where it is kept when leases that cannot be read were seen first.
const FIRST_SEEN: &str = "odd-leases";

/// So many of them are remembered, the newest: each is a mistake of somebody's, and few are made.
const FIRST_SEEN_MAX: usize = 200;

/// The doors of the verbs.
#[derive(Clone)]
pub struct Doors {
    /// Refs and commits.
    pub github: Arc<dyn GitHub>,
    /// Lists of all issues and all leases.
    pub backlog: Arc<dyn Backlog>,
    /// To wait.
    pub clock: Arc<dyn Clock>,
    /// When leases that cannot be read were seen first.
    pub memory: Arc<dyn Memory>,
    /// A text nobody else makes.
    pub random: Arc<dyn Fn() -> String + Send + Sync>,
}

/// The leases of one repository, as one agent works with them.
#[derive(Clone)]
pub struct Leases {
    /// The doors.
    pub doors: Doors,
    /// Leases are refs under `refs/<namespace>/`.
    pub namespace: String,
    /// The margins of the lease arithmetic.
    pub margins: LeaseMargins,
    /// `AGENT_ID`; empty for those that only look.
    pub owner: String,
    /// Minutes a lease of theirs lives.
    pub ttl_min: u64,
    /// This machine, for people.
    pub host: String,
    /// This process, for people.
    pub pid: u32,
}

/// Leases as they stand, and GitHub's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standings {
    /// GitHub's clock.
    pub at: Timestamp,
    /// By issue; free ones are left out.
    pub leases: BTreeMap<IssueNumber, Standing>,
}

impl Leases {
    /// All leases of issues: one request a hundred.
    pub async fn standings(&self) -> PortResult<Standings> {
        let all = self.doors.backlog.leases(&self.namespace).await?;
        let stands = |commit: &LeaseCommit| {
            let issue = issue_of(&commit.name, &self.namespace)?;
            let stands = standing(self.seen(Some(commit), all.at), (all.at, &self.margins))?;
            Some((issue, stands))
        };
        Ok(Standings {
            at: all.at,
            leases: all.leases.iter().filter_map(stands).collect(),
        })
    }

    /// One lease: one request.
    pub async fn standing_of(&self, issue: IssueNumber) -> PortResult<Option<Standing>> {
        let name = self.ref_of(issue)?;
        let (at, commit) = self.read(&name).await?;
        let seen = self.seen(commit.as_ref(), at);
        Ok(standing(seen, (at, &self.margins)))
    }

    fn ref_of(&self, issue: IssueNumber) -> PortResult<RefName> {
        RefName::new(format!("refs/{}/issue-{issue}", self.namespace)).map_err(|error| {
            PortError::refused("name the lease", Refusal::Invalid, error.to_string())
        })
    }

    async fn read(&self, name: &RefName) -> PortResult<(Timestamp, Option<LeaseCommit>)> {
        let (at, mut found) = self
            .doors
            .github
            .read_leases(std::slice::from_ref(name))
            .await?;
        Ok((at, found.remove(name)))
    }

    fn asker(&self, now: Timestamp) -> Asker<'_> {
        Asker {
            owner: &self.owner,
            ttl_min: self.ttl_min,
            now,
            margins: &self.margins,
        }
    }

    fn claim_id(&self) -> PortResult<ClaimId> {
        ClaimId::new(format!("c-{}", (self.doors.random)()))
            .map_err(|error| PortError::refused("name a claim", Refusal::Local, error.to_string()))
    }

    fn marks(&self, claim: &ClaimId) -> Marks {
        Marks {
            claim: claim.clone(),
            nonce: (self.doors.random)(),
            host: self.host.clone(),
            pid: self.pid,
        }
    }

    /// With the time it was seen first, which matters only where its own time cannot be believed.
    fn seen<'a>(&self, commit: Option<&'a LeaseCommit>, now: Timestamp) -> Seen<'a> {
        let odd = commit.filter(|_| {
            matches!(
                read_lease(commit, now, now, &self.margins),
                LeaseReading::Odd { .. }
            )
        });
        Seen {
            commit,
            first_seen: odd.map_or(now, |commit| self.first_seen(commit, now)),
        }
    }

    fn first_seen(&self, commit: &LeaseCommit, now: Timestamp) -> Timestamp {
        let text = self.doors.memory.load(FIRST_SEEN).unwrap_or_default();
        let mut known: Vec<(String, Timestamp)> = serde_json::from_str(&text).unwrap_or_default();
        let oid = commit.oid.as_str();
        if let Some((_, first)) = known.iter().find(|(known, _)| known == oid) {
            return *first;
        }
        known.push((oid.to_owned(), now));
        let extra = known.len().saturating_sub(FIRST_SEEN_MAX);
        known.drain(..extra);
        if let Ok(text) = serde_json::to_string(&known) {
            self.doors.memory.save(FIRST_SEEN, &text);
        }
        now
    }
}

fn lease_in<'a>(all: &'a AllLeases, name: &RefName) -> Option<&'a LeaseCommit> {
    all.leases.iter().find(|commit| commit.name == *name)
}
