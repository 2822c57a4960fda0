//! A lease: a git ref that points at a commit whose message says who holds it (protocol.md, section 4).
//!
//! Everything about time here compares GitHub's clock (commit dates) with GitHub's clock (the `Date`
//! header): a laptop's clock changes nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ids::{ClaimId, Epoch, IssueNumber, RefName, Sha, Timestamp};

/// The JSON object in a lease commit's message. `v`, `issue`, `owner` and `ttlMin` are those of
/// gh-issue-lease, the rest is ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseMessage {
    /// Version.
    #[serde(default = "one")]
    pub v: u32,
    /// The issue, as a number.
    pub issue: IssueNumber,
    /// Who holds it; `None` is a tombstone.
    #[serde(default)]
    pub owner: Option<String>,
    /// Time to live in whole minutes, as gh-issue-lease reads it (rounded up).
    #[serde(default)]
    pub ttl_min: u64,
    /// Time to live in milliseconds where minutes are too coarse (tests shrink ttl and margins).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimId>,
    /// Random per commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<String>,
    /// The fencing token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// `loop` or `manual`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whose lease this claim took over, so that the take-over can be announced whatever happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_from: Option<StolenFrom>,
}

/// The holder that was taken for dead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StolenFrom {
    /// Who, in words.
    pub holder: String,
    /// When its lease was stamped last.
    pub since: Timestamp,
}

fn one() -> u32 {
    1
}

/// What a lease ref points at, as GitHub says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseCommit {
    /// The ref.
    pub name: RefName,
    /// The commit.
    pub oid: Sha,
    /// GitHub's date of it: the lease clock.
    pub date: Timestamp,
    /// Its message, verbatim.
    pub message: String,
}

/// The margins of the lease arithmetic; tests shrink them together with the ttl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseMargins {
    /// Past the ttl, before anybody may steal.
    pub grace: Duration,
    /// A date further ahead than this is not believed.
    pub max_ahead: Duration,
    /// What an unreadable or unbelievable lease is granted from when we first saw it.
    pub odd_ttl: Duration,
}

impl Default for LeaseMargins {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(60),
            max_ahead: Duration::from_secs(5 * 60),
            odd_ttl: Duration::from_secs(240 * 60),
        }
    }
}

/// How a lease ref reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "lease")]
pub enum LeaseReading {
    /// No ref: anybody may claim.
    Free,
    /// A tombstone: anybody may claim, by a child commit.
    Tombstone,
    /// Somebody holds it.
    Held {
        /// The message.
        message: Box<LeaseMessage>,
        /// When it may be stolen.
        expires: Timestamp,
        /// Is that time past?
        expired: bool,
    },
    /// The message is not one of a lease, or its time is not believable.
    Odd {
        /// When it may be stolen.
        expires: Timestamp,
        /// Is that time past?
        expired: bool,
    },
}

impl LeaseMessage {
    /// Parses a commit message.
    pub fn parse(message: &str) -> Option<Self> {
        serde_json::from_str(message.trim()).ok()
    }

    /// The commit message: one line of JSON.
    pub fn render(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Time to live.
    pub fn ttl(&self) -> Duration {
        self.ttl_ms.map_or_else(
            || Duration::from_secs(self.ttl_min * 60),
            Duration::from_millis,
        )
    }
}

/// Reads what a lease ref says at `now` (GitHub's). `first_seen` is when this home saw that very
/// commit for the first time; it matters only for leases whose own time is not believable.
pub fn read_lease(
    commit: Option<&LeaseCommit>,
    first_seen: Timestamp,
    now: Timestamp,
    margins: &LeaseMargins,
) -> LeaseReading {
    let Some(commit) = commit else {
        return LeaseReading::Free;
    };
    let odd = || {
        let expires = first_seen + margins.odd_ttl;
        LeaseReading::Odd {
            expires,
            expired: now > expires,
        }
    };
    let Some(message) = LeaseMessage::parse(&commit.message) else {
        return odd();
    };
    if message.owner.is_none() && message.claim.is_none() {
        return LeaseReading::Tombstone;
    }
    let believable_ttl = message.ttl_ms.is_some() || (1..=1440).contains(&message.ttl_min);
    if !believable_ttl || commit.date > now + margins.max_ahead {
        return odd();
    }
    let expires = commit.date + message.ttl() + margins.grace;
    LeaseReading::Held {
        message: Box::new(message),
        expires,
        expired: now > expires,
    }
}

/// The epoch of a new claim: larger than its parent's, and than GitHub's clock, so that it grows
/// even when a person has deleted the ref.
pub fn next_epoch(parent: Option<&LeaseCommit>, now: Timestamp) -> Epoch {
    let parent = parent.map(|commit| epoch_of(commit).0 + 1);
    Epoch(parent.unwrap_or(0).max(now.timestamp()))
}

/// The epoch a lease carries; leases of other tools count by their date.
pub fn epoch_of(commit: &LeaseCommit) -> Epoch {
    LeaseMessage::parse(&commit.message)
        .and_then(|message| message.epoch)
        .unwrap_or(Epoch(commit.date.timestamp()))
}

/// One move of a compare-and-swap: the ref must be at `before` (`None`: must not exist) and is then
/// at `after` (`None`: is gone).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefSwap {
    /// The ref.
    pub name: RefName,
    /// What was read.
    pub before: Option<Sha>,
    /// What it becomes.
    pub after: Option<Sha>,
}

/// How a compare-and-swap went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapOutcome {
    /// All refs moved.
    Swapped,
    /// At least one ref was not where it was read; none moved.
    Stale,
}

/// How refs are moved in a repository, the best first (protocol.md, section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// GraphQL `updateRefs`: atomic over several refs.
    #[serde(rename = "graphql")]
    GraphQl,
    /// `git push --atomic --force-with-lease`: atomic too; it needs the clone.
    GitPush,
    /// Single REST steps; a release leaves a tombstone.
    Rest,
}

impl Way {
    /// All of them, the best first.
    pub const ALL: [Self; 3] = [Self::GraphQl, Self::GitPush, Self::Rest];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GraphQl => "GraphQL",
            Self::GitPush => "git push",
            Self::Rest => "REST",
        }
    }
}

/// Proof that a lease was seen to carry our claim. Port methods that write to an issue, a branch or
/// a pull request take it, so that a write without a claim does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimProof {
    claim: ClaimId,
    epoch: Epoch,
    oid: Sha,
}

impl ClaimProof {
    /// The only maker: `commit` is what GitHub says the issue's lease ref points at, `ours` is the
    /// claim in this home's `run.json`.
    pub fn verify(commit: &LeaseCommit, ours: &ClaimId) -> Option<Self> {
        let message = LeaseMessage::parse(&commit.message)?;
        let claim = message.claim.filter(|claim| claim == ours)?;
        let epoch = message.epoch?;
        Some(Self {
            claim,
            epoch,
            oid: commit.oid.clone(),
        })
    }

    /// The claim.
    pub fn claim(&self) -> &ClaimId {
        &self.claim
    }

    /// Its epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The lease commit that was seen.
    pub fn oid(&self) -> &Sha {
        &self.oid
    }
}
