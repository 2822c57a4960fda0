//! Trying the ways to move refs, one by one, on throwaway refs of the real repository (protocol.md,
//! section 4). It writes only under `refs/<namespace>/probe-`, asks nobody, and tidies up after itself;
//! what it could not tidy up, a later probe does.

mod trial;

use std::time::Duration;

use serde::Serialize;

use crate::model::ids::{RefName, Timestamp};
use crate::model::lease::Way;
use crate::model::limits::PROBE_LEFTOVER_AFTER;
use crate::ports::backlog::Backlog;
use crate::ports::clock::Clock;
use crate::ports::github::GitHub;
use crate::ports::memory::Memory;
use crate::ports::ref_ways::RefWays;
use crate::ports::{PortError, PortResult, Refusal};

use trial::Trial;

/// Under which name the best way is remembered.
const MEMORY: &str = "ref_way";

/// The doors that a probe goes through, all to one repository.
pub struct ProbeParts<'a> {
    /// Each way by itself.
    pub ways: &'a dyn RefWays,
    /// What the refs are afterwards.
    pub github: &'a dyn GitHub,
    /// What earlier probes left.
    pub backlog: &'a dyn Backlog,
    /// For the wait until GitHub shows what it did.
    pub clock: &'a dyn Clock,
    /// A text that no other probe has.
    pub random: &'a (dyn Fn() -> String + Send + Sync),
}

/// What a way has to be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A ref is made where none is: a claim.
    Create,
    /// It is refused where one is.
    CreateAgain,
    /// A ref is moved from where it was read: a renewal, a steal.
    Swap,
    /// It is refused where the ref has moved on.
    StaleSwap,
    /// Two refs move together: an issue's lease and a slot.
    Pair,
    /// Where one of two has moved on, neither moves.
    StalePair,
    /// A release is refused where the ref has moved on.
    StaleRelease,
    /// A ref is released from where it was read.
    Release,
}

impl Check {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::CreateAgain,
        Self::Swap,
        Self::StaleSwap,
        Self::Pair,
        Self::StalePair,
        Self::StaleRelease,
        Self::Release,
    ];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::CreateAgain => "create again is refused",
            Self::Swap => "swap",
            Self::StaleSwap => "stale swap is refused",
            Self::Pair => "two refs together",
            Self::StalePair => "one stale of two moves none",
            Self::StaleRelease => "stale delete is refused",
            Self::Release => "delete",
        }
    }
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As it should.
    Good,
    /// Otherwise than it should.
    Wrong(String),
    /// Refused.
    Refused(PortError),
    /// GitHub did not say; it may be so or otherwise.
    Unanswered(PortError),
    /// An earlier check had failed.
    NotTried,
}

/// What came out for one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayReport {
    /// The way.
    pub way: Way,
    /// Each check, in their order.
    pub checks: Vec<(Check, Verdict)>,
}

impl WayReport {
    /// Did everything go as it should?
    pub fn works(&self) -> bool {
        self.checks
            .iter()
            .all(|(_, verdict)| *verdict == Verdict::Good)
    }

    /// Is it open whether it works?
    pub fn is_unanswered(&self) -> bool {
        self.checks
            .iter()
            .any(|(_, verdict)| matches!(verdict, Verdict::Unanswered(_)))
    }
}

/// What came out for a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// Every way, the best first.
    pub ways: Vec<WayReport>,
    /// Refs of earlier probes that were removed.
    pub removed: Vec<RefName>,
    /// Refs of probes that could not be removed.
    pub left: Vec<RefName>,
}

impl ProbeReport {
    /// The best way that works.
    pub fn best(&self) -> Option<Way> {
        let works = self.ways.iter().find(|report| report.works());
        works.map(|report| report.way)
    }

    /// The way to remember: the best that works, unless it is open whether a better one does.
    pub fn to_remember(&self) -> Option<Way> {
        let settled = self.ways.iter().take_while(|way| !way.is_unanswered());
        settled
            .filter(|report| report.works())
            .map(|report| report.way)
            .next()
    }

    /// Why nothing works, by the name that refusals of repositories have; `None` if something works, or
    /// the refusal has no such name.
    pub fn refusal(&self) -> Option<&'static str> {
        if self.best().is_some() {
            return None;
        }
        let verdicts = self.ways.iter().flat_map(|report| &report.checks);
        let refused: Vec<Refusal> = verdicts
            .filter_map(|(_, verdict)| match verdict {
                Verdict::Refused(error) => error.refusal(),
                Verdict::Good | Verdict::Wrong(_) | Verdict::Unanswered(_) | Verdict::NotTried => {
                    None
                }
            })
            .collect();
        let names = [
            (Refusal::RepositoryArchived, "repository_archived"),
            (Refusal::RepositoryEmpty, "repository_empty"),
            (Refusal::NoContentsWrite, "no_contents_write"),
            (Refusal::RefsRestricted, "refs_restricted"),
        ];
        let found = names.into_iter().find(|(kind, _)| refused.contains(kind));
        found.map(|(_, name)| name)
    }
}

/// The way that an earlier probe found best.
pub fn remembered_way(memory: &dyn Memory) -> Option<Way> {
    let text = memory.load(MEMORY)?;
    serde_json::from_str(&text).ok()
}

/// Has the next start begin with this way. Losing it costs requests, never safety: each way compares
/// with what was read.
pub fn remember_way(memory: &dyn Memory, way: Way) {
    if let Ok(text) = serde_json::to_string(&way) {
        memory.save(MEMORY, &text);
    }
}

/// Tries every way. An error says that the repository could not even be looked at, or has no commit.
pub async fn probe(parts: &ProbeParts<'_>, namespace: &str) -> PortResult<ProbeReport> {
    let found = parts.backlog.leases(namespace).await?;
    let Some(base) = found.base else {
        let words = "the repository has no commit";
        return Err(PortError::refused("probe", Refusal::RepositoryEmpty, words));
    };
    let prefix = format!("refs/{namespace}/probe-");
    let is_left = |name: &RefName, date: Timestamp| is_left_over(name, &prefix, found.at - date);
    let old: Vec<RefName> = found
        .leases
        .into_iter()
        .filter(|commit| is_left(&commit.name, commit.date))
        .map(|commit| commit.name)
        .collect();
    let mut report = ProbeReport {
        ways: Vec::new(),
        removed: Vec::new(),
        left: Vec::new(),
    };
    for way in Way::ALL {
        let mut trial = Trial::new(parts, way, &prefix, base.tree.clone())?;
        let checks = trial.run().await;
        report.left.extend(trial.tidy().await);
        report.ways.push(WayReport { way, checks });
    }
    for name in old {
        let way = report.best().unwrap_or(Way::Rest);
        match trial::remove(parts, way, &name).await {
            Ok(()) => report.removed.push(name),
            Err(error) => {
                tracing::warn!(%error, "`{name}` of an earlier probe stays");
                report.left.push(name);
            }
        }
    }
    Ok(report)
}

/// Is it a ref of a probe that nobody can be at any more?
fn is_left_over(name: &RefName, prefix: &str, age: chrono::TimeDelta) -> bool {
    let old = chrono::TimeDelta::from_std(PROBE_LEFTOVER_AFTER).unwrap_or_default();
    name.as_str().starts_with(prefix) && age > old
}

/// How often a ref is read again until it shows what was done.
const READS_MAX: u32 = 6;

/// What lies between; GitHub's replicas need less.
const READ_EVERY: Duration = Duration::from_millis(500);
