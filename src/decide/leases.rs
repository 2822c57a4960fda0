//! What a verb of `ghswarm lease` may do with a lease ref, given what was read of it, who asks and GitHub's
//! clock. A lease is the asker's iff its owner is: children of an agent inherit `AGENT_ID` and share what it
//! holds. Nobody else's lease is ever moved before its time is over.

use chrono::TimeDelta;
use serde_json::{Map, Value, json};

use crate::model::ids::{ClaimId, Epoch, IssueNumber, RefName, Timestamp};
use crate::model::lease::{
    LeaseCommit, LeaseMargins, LeaseMessage, LeaseReading, StolenFrom, next_epoch, read_lease,
};

/// Who asks, and when.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// `AGENT_ID`.
    pub owner: &'a str,
    /// Minutes a lease of theirs lives.
    pub ttl_min: u64,
    /// GitHub's clock.
    pub now: Timestamp,
    /// The margins of the lease arithmetic.
    pub margins: &'a LeaseMargins,
}

/// What was read of one lease ref.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// What it points at; `None`: there is no ref.
    pub commit: Option<&'a LeaseCommit>,
    /// When this home saw that very commit first.
    pub first_seen: Timestamp,
}

/// Why the lease is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent<'a> {
    /// To work on this issue: what the asker's siblings hold will do.
    Claim,
    /// To keep it: the clock is stamped again in any case.
    Renew,
    /// To have an issue nobody works on, siblings neither: only this very claim will do.
    Pop(&'a ClaimId),
}

/// What is to be done to hold the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Take {
    /// Nothing: it is held already.
    Mine,
    /// Nothing may be done.
    Held(Holder),
    /// A commit with this message is to replace what was read.
    Write(Write),
}

/// What the new commit is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// A claim of our own.
    Fresh {
        /// Its epoch.
        epoch: Epoch,
        /// Whose time was over.
        stolen_from: Option<StolenFrom>,
    },
    /// The same claim with a new date. Everything in it stays but the nonce and, unless the loop wrote it, the
    /// time to live: fields of a later version are not ours to drop.
    Again(Map<String, Value>),
}

/// Who holds a lease, in words and numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its owner; `None` where the message cannot be read.
    pub owner: Option<String>,
    /// `loop` or `manual`; other tools say nothing.
    pub by: Option<String>,
    /// On which machine, where that is said.
    pub host: Option<String>,
    /// When it was stamped.
    pub since: Timestamp,
    /// When others may have it.
    pub expires: Timestamp,
}

impl Holder {
    /// For people.
    pub fn name(&self) -> &str {
        self.owner.as_deref().unwrap_or("an unreadable lease")
    }
}

/// What a new commit carries that nobody can foresee, and where it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    /// The claim's name, if it is a fresh one.
    pub claim: ClaimId,
    /// Random per commit.
    pub nonce: String,
    /// This machine.
    pub host: String,
    /// This process.
    pub pid: u32,
}

/// May the asker have the lease, and by writing what?
pub fn take(seen: Seen<'_>, asker: &Asker<'_>, intent: Intent<'_>) -> Take {
    let reading = read_lease(seen.commit, seen.first_seen, asker.now, asker.margins);
    let expired = is_over(&reading);
    let Some(commit) = seen.commit else {
        return fresh(None, None, asker);
    };
    if reading == LeaseReading::Tombstone {
        return fresh(Some(commit), None, asker);
    }
    let message = LeaseMessage::parse(&commit.message);
    let ours = message.as_ref().filter(|one| owns(one, asker.owner));
    match (ours, intent) {
        (Some(message), Intent::Pop(claim)) if message.claim.as_ref() == Some(claim) => Take::Mine,
        (Some(message), Intent::Claim) if is_young(commit, message, asker.now) => Take::Mine,
        (Some(message), Intent::Claim | Intent::Renew) => again(commit, message, asker),
        _ if expired => fresh(Some(commit), Some(commit), asker),
        _ => Take::Held(holder(commit, &reading)),
    }
}

fn fresh(parent: Option<&LeaseCommit>, stolen: Option<&LeaseCommit>, asker: &Asker<'_>) -> Take {
    let from = |commit: &LeaseCommit| StolenFrom {
        holder: LeaseMessage::parse(&commit.message)
            .and_then(|message| message.owner)
            .unwrap_or_else(|| "somebody unnamed".to_owned()),
        since: commit.date,
    };
    Take::Write(Write::Fresh {
        epoch: next_epoch(parent, asker.now),
        stolen_from: stolen.map(from),
    })
}

fn again(commit: &LeaseCommit, message: &LeaseMessage, asker: &Asker<'_>) -> Take {
    let mut fields: Map<String, Value> =
        serde_json::from_str(commit.message.trim()).unwrap_or_default();
    if !by_loop(message) {
        fields.insert("ttlMin".to_owned(), json!(asker.ttl_min));
        fields.shift_remove("ttlMs");
    }
    Take::Write(Write::Again(fields))
}

/// Less than half of its time is over: stamping it again would only make requests.
fn is_young(commit: &LeaseCommit, message: &LeaseMessage, now: Timestamp) -> bool {
    let age = (now - commit.date).max(TimeDelta::zero());
    let ttl = TimeDelta::from_std(message.ttl()).unwrap_or(TimeDelta::MAX);
    age < ttl / 2
}

/// The message of the commit that is to be made.
pub fn render(write: &Write, issue: IssueNumber, asker: &Asker<'_>, marks: &Marks) -> String {
    match write {
        Write::Again(fields) => {
            let mut fields = fields.clone();
            fields.insert("n".to_owned(), json!(marks.nonce));
            Value::Object(fields).to_string()
        }
        Write::Fresh { epoch, stolen_from } => LeaseMessage {
            v: 1,
            issue,
            owner: Some(asker.owner.to_owned()),
            ttl_min: asker.ttl_min,
            ttl_ms: None,
            claim: Some(marks.claim.clone()),
            n: Some(marks.nonce.clone()),
            epoch: Some(*epoch),
            by: Some("manual".to_owned()),
            host: Some(marks.host.clone()),
            pid: Some(marks.pid),
            agent: None,
            stolen_from: stolen_from.clone(),
        }
        .render(),
    }
}

/// What a release may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Release {
    /// Delete exactly what was read.
    Delete,
    /// There is none.
    Nothing,
    /// The loop holds it for a run of its own, which ends it.
    Loops,
    /// Another's.
    Theirs(Holder),
}

/// May the asker delete the lease?
pub fn release(seen: Seen<'_>, asker: &Asker<'_>) -> Release {
    let reading = read_lease(seen.commit, seen.first_seen, asker.now, asker.margins);
    let Some(commit) = seen.commit.filter(|_| reading != LeaseReading::Tombstone) else {
        return Release::Nothing;
    };
    match LeaseMessage::parse(&commit.message).filter(|one| owns(one, asker.owner)) {
        None => Release::Theirs(holder(commit, &reading)),
        // The run goes on without it: whoever came next would work beside it.
        Some(message) if by_loop(&message) && !is_over(&reading) => Release::Loops,
        Some(_) => Release::Delete,
    }
}

/// Why a lease is to be reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reap {
    /// Its time is over.
    Expired,
    /// Its issue is closed, and no loop works on it: a loop sees that itself, ends the run and releases.
    Closed,
}

/// Whether a lease is to be reaped; `open` says whether its issue is.
pub fn reap(
    seen: Seen<'_>,
    (now, margins): (Timestamp, &LeaseMargins),
    open: Option<bool>,
) -> Option<Reap> {
    let reading = read_lease(seen.commit, seen.first_seen, now, margins);
    match &reading {
        LeaseReading::Held { .. } | LeaseReading::Odd { .. } if is_over(&reading) => {
            Some(Reap::Expired)
        }
        LeaseReading::Free | LeaseReading::Tombstone | LeaseReading::Odd { .. } => None,
        LeaseReading::Held { message, .. } => {
            (open == Some(false) && !by_loop(message)).then_some(Reap::Closed)
        }
    }
}

/// A lease as it stands, for people; `None` where there is none.
pub fn standing(seen: Seen<'_>, (now, margins): (Timestamp, &LeaseMargins)) -> Option<Standing> {
    let reading = read_lease(seen.commit, seen.first_seen, now, margins);
    let commit = seen.commit?;
    match &reading {
        LeaseReading::Free | LeaseReading::Tombstone => None,
        LeaseReading::Held { .. } | LeaseReading::Odd { .. } => Some(Standing {
            holder: holder(commit, &reading),
            age: (now - commit.date).max(TimeDelta::zero()),
            ttl_min: LeaseMessage::parse(&commit.message).map(|message| message.ttl_min),
            expired: is_over(&reading),
        }),
    }
}

/// How a lease stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Whose it is.
    pub holder: Holder,
    /// How long ago it was stamped.
    pub age: TimeDelta,
    /// Its time to live in minutes, where the message tells one.
    pub ttl_min: Option<u64>,
    /// May anybody have it?
    pub expired: bool,
}

/// The issue whose lease a ref of the namespace is; slots and others are none.
pub fn issue_of(name: &RefName, namespace: &str) -> Option<IssueNumber> {
    let rest = name
        .as_str()
        .strip_prefix("refs/")?
        .strip_prefix(namespace)?;
    let number = rest.strip_prefix("/issue-")?;
    number
        .parse()
        .ok()
        .filter(|issue: &IssueNumber| issue.to_string() == number)
}

fn owns(message: &LeaseMessage, owner: &str) -> bool {
    message.owner.as_deref() == Some(owner)
}

fn by_loop(message: &LeaseMessage) -> bool {
    message.by.as_deref() == Some("loop")
}

fn is_over(reading: &LeaseReading) -> bool {
    match reading {
        LeaseReading::Free | LeaseReading::Tombstone => false,
        LeaseReading::Held { expired, .. } | LeaseReading::Odd { expired, .. } => *expired,
    }
}

fn holder(commit: &LeaseCommit, reading: &LeaseReading) -> Holder {
    let message = LeaseMessage::parse(&commit.message);
    let expires = match reading {
        LeaseReading::Free | LeaseReading::Tombstone => commit.date,
        LeaseReading::Held { expires, .. } | LeaseReading::Odd { expires, .. } => *expires,
    };
    let said = |field: fn(LeaseMessage) -> Option<String>| message.clone().and_then(field);
    Holder {
        owner: said(|message| message.owner),
        by: said(|message| message.by),
        host: said(|message| message.host),
        since: commit.date,
        expires,
    }
}

#[cfg(test)]
mod tests;
