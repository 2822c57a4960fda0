//! Renewing a lease (protocol.md, section 4): one compare-and-swap, and how its answers read. It
//! keeps no time and decides nothing about the run; `engine::supervise` does.
//!
//! A refused renewal is a question, not an answer: the refs are read again. *Lost* means another
//! claim with an epoch that is not lower. A commit of ours, a lower epoch or a missing ref is lag or
//! somebody's deletion, and is written over.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::ids::{RefName, Sha, Timestamp};
use crate::model::lease::{LeaseCommit, LeaseMessage, RefSwap, SwapOutcome, epoch_of};
use crate::model::run::RunLease;
use crate::ports::github::{GitHub, NewCommit};
use crate::ports::{PortError, Refusal};

/// So often a renewal reads again after a refusal, before it is called unanswered.
const ROUNDS_MAX: u32 = 4;

/// What is done about a ref of the lease that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMissing {
    /// The run lives: nobody may have it, so it is created again.
    Create,
    /// The run has ended: the engine may have released the lease, which must not come back.
    LetGo,
}

/// How a renewal went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenewOutcome {
    /// The refs carry a new commit of our claim. The lease counts from when this call was made.
    Renewed {
        /// The commit.
        oid: Sha,
    },
    /// Somebody else holds the lease.
    Lost {
        /// Who, for people.
        holder: String,
    },
    /// The lease was released (only with `IfMissing::LetGo`).
    Released,
    /// GitHub did not say.
    Unanswered(PortError),
}

/// What a look at the refs says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseLook {
    /// All refs carry our claim; the oldest commit is this old by GitHub's clock.
    Ours {
        /// Age, zero if GitHub's clocks disagree.
        age: Duration,
    },
    /// Something is missing or older than our claim: renew at once.
    Shaken,
    /// Somebody else holds the lease.
    Lost {
        /// Who, for people.
        holder: String,
    },
    /// GitHub did not say.
    Unanswered(PortError),
}

/// How one ref reads to the holder of `lease`.
enum RefReading {
    Ours,
    Missing,
    /// May be written over.
    Old,
    Foreign(String),
}

/// How old a lease commit is at `now`, GitHub's clock both; zero if that is before its date.
fn age_of(commit: &LeaseCommit, now: Timestamp) -> Duration {
    (now - commit.date).to_std().unwrap_or_default()
}

/// Since when, on the boot clock, a lease counts that was seen in an answer to a request which was
/// sent at `sent`: what a `RunLease` says as `good_since`.
pub fn good_since(
    sent: Duration,
    commit: &LeaseCommit,
    answered_at: Timestamp,
) -> Option<Duration> {
    sent.checked_sub(age_of(commit, answered_at))
}

/// Looks at the refs without changing anything.
pub async fn look(github: &dyn GitHub, lease: &RunLease) -> LeaseLook {
    let (at, commits) = match github.read_leases(&lease.refs).await {
        Ok(answer) => answer,
        Err(error) => return LeaseLook::Unanswered(error),
    };
    let mut age = Duration::ZERO;
    let mut shaken = false;
    for name in &lease.refs {
        let commit = commits.get(name);
        match read_ref(commit, lease) {
            RefReading::Ours => {
                age = age.max(commit.map(|commit| age_of(commit, at)).unwrap_or_default());
            }
            RefReading::Missing | RefReading::Old => shaken = true,
            RefReading::Foreign(holder) => return LeaseLook::Lost { holder },
        }
    }
    if shaken {
        LeaseLook::Shaken
    } else {
        LeaseLook::Ours { age }
    }
}

/// Moves all refs of the lease to a new commit of the same claim. `nonce` makes a text that no other
/// commit carries. `missing` is asked anew each time it matters: this process, or its machine, may have
/// stood still between two requests, for longer than the lease was good.
pub async fn renew(
    github: &dyn GitHub,
    lease: &RunLease,
    nonce: &(dyn Fn() -> String + Send + Sync),
    missing: &(dyn Fn() -> IfMissing + Send + Sync),
) -> RenewOutcome {
    for _ in 0..ROUNDS_MAX {
        let commits = match github.read_leases(&lease.refs).await {
            Ok((_, commits)) => commits,
            Err(error) => return RenewOutcome::Unanswered(error),
        };
        let absent = match missing_refs(&commits, lease) {
            Ok(absent) => absent,
            Err(holder) => return RenewOutcome::Lost { holder },
        };
        if !absent.is_empty() && missing() == IfMissing::LetGo {
            return RenewOutcome::Released;
        }
        match swap(github, lease, nonce, &commits).await {
            Ok((oid, SwapOutcome::Swapped)) => {
                if absent.is_empty() || missing() == IfMissing::Create {
                    return RenewOutcome::Renewed { oid };
                }
                return take_back(github, &lease.refs, oid).await;
            }
            Ok((_, SwapOutcome::Stale)) => {}
            Err(error) if error.refusal() == Some(Refusal::Stale) => {}
            Err(error) => return RenewOutcome::Unanswered(error),
        }
    }
    let message = "the refs moved again and again";
    RenewOutcome::Unanswered(PortError::refused(
        "renew the lease",
        Refusal::Stale,
        message,
    ))
}

/// The refs of the lease that are not there, or who holds one of them.
fn missing_refs(
    commits: &BTreeMap<RefName, LeaseCommit>,
    lease: &RunLease,
) -> Result<Vec<RefName>, String> {
    let mut absent = Vec::new();
    for name in &lease.refs {
        match read_ref(commits.get(name), lease) {
            RefReading::Foreign(holder) => return Err(holder),
            RefReading::Missing => absent.push(name.clone()),
            RefReading::Ours | RefReading::Old => {}
        }
    }
    Ok(absent)
}

/// Deletes what was created again too late.
async fn take_back(github: &dyn GitHub, refs: &[RefName], oid: Sha) -> RenewOutcome {
    let back = |name: &RefName| RefSwap {
        name: name.clone(),
        before: Some(oid.clone()),
        after: None,
    };
    let swaps: Vec<RefSwap> = refs.iter().map(back).collect();
    match github.swap_refs(&swaps).await {
        // Stale: somebody has taken them since.
        Ok(SwapOutcome::Swapped | SwapOutcome::Stale) => RenewOutcome::Released,
        Err(error) => RenewOutcome::Unanswered(error),
    }
}

async fn swap(
    github: &dyn GitHub,
    lease: &RunLease,
    nonce: &(dyn Fn() -> String + Send + Sync),
    commits: &BTreeMap<RefName, LeaseCommit>,
) -> Result<(Sha, SwapOutcome), PortError> {
    let message = LeaseMessage {
        n: Some(nonce()),
        ..lease.message.clone()
    };
    let read = |name: &RefName| commits.get(name).map(|commit| commit.oid.clone());
    // Every commit that is left is a parent, so that refs which only move forward (the REST way) move.
    let mut parents: Vec<Sha> = lease.refs.iter().filter_map(read).collect();
    parents.dedup();
    let commit = NewCommit {
        message: message.render(),
        tree: lease.tree.clone(),
        parents,
    };
    let (oid, _) = github.create_commit(&commit).await?;
    let to = |name: &RefName| RefSwap {
        name: name.clone(),
        before: read(name),
        after: Some(oid.clone()),
    };
    let swaps: Vec<RefSwap> = lease.refs.iter().map(to).collect();
    let outcome = github.swap_refs(&swaps).await?;
    Ok((oid, outcome))
}

fn read_ref(commit: Option<&LeaseCommit>, lease: &RunLease) -> RefReading {
    let Some(commit) = commit else {
        return RefReading::Missing;
    };
    let message = LeaseMessage::parse(&commit.message);
    let foreign = || {
        let named = message.as_ref().and_then(|message| message.owner.clone());
        let host = message.as_ref().and_then(|message| message.host.as_deref());
        let owner = named.unwrap_or_else(|| "somebody unnamed".to_owned());
        let on = host.map(|host| format!(" on {host}")).unwrap_or_default();
        RefReading::Foreign(format!(
            "{owner}{on}, {} at {}",
            commit.name,
            commit.oid.short()
        ))
    };
    if let Some(message) = &message {
        match (&message.claim, &message.owner) {
            (Some(claim), _) if *claim == lease.claim => return RefReading::Ours,
            // A tombstone is a deletion that leaves a parent behind.
            (None, None) => return RefReading::Missing,
            // Another tool's lease of our own owner: a clumsy renewal, not a rival.
            (None, owner) if *owner == lease.message.owner => return RefReading::Old,
            _ => {}
        }
    }
    let ours = lease.message.epoch.unwrap_or_default();
    if epoch_of(commit) < ours {
        RefReading::Old
    } else {
        foreign()
    }
}
