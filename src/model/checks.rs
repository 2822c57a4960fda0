//! Checks of a commit: every conclusion is its own answer, and nothing but success is green.

use serde::{Deserialize, Serialize};

use super::ids::{Sha, Timestamp};

/// How one check stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Queued, in progress, waiting, requested; a commit status that is `pending` or `expected`.
    Pending,
    /// Succeeded.
    Success,
    /// `neutral`: says neither yes nor no.
    Neutral,
    /// Was skipped.
    Skipped,
    /// Failed, also `startup_failure` and a commit status's `error`.
    Failure,
    /// Ran out of time.
    TimedOut,
    /// Was cancelled.
    Cancelled,
    /// Waits for a person's approval.
    ActionRequired,
    /// GitHub gave up on it after 14 days.
    Stale,
    /// A word we do not know: never taken for green.
    Unknown,
}

/// The job of GitHub Actions behind a check run: what can be run again, and has a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its id, which is the check run's.
    pub id: u64,
    /// The workflow run it belongs to.
    pub run: u64,
}

/// A check run or a commit status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Name of the check run or context of the status.
    pub name: String,
    /// How it stands.
    pub outcome: CheckOutcome,
    /// Where to read more.
    pub url: Option<String>,
    /// For commit statuses: their description.
    pub description: Option<String>,
    /// The App that reports it; `None` for commit statuses.
    pub app: Option<u64>,
    /// The job, where GitHub Actions ran it.
    pub job: Option<Job>,
    /// When it was finished; commit statuses do not tell.
    pub ended_at: Option<Timestamp>,
}

impl Check {
    /// A check of which no more is known.
    pub fn new(name: impl Into<String>, outcome: CheckOutcome) -> Self {
        Self {
            name: name.into(),
            outcome,
            url: None,
            description: None,
            app: None,
            job: None,
            ended_at: None,
        }
    }
}

/// All checks of one commit; every page was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitChecks {
    /// The commit.
    pub sha: Sha,
    /// The checks; empty is "none yet", not "green".
    pub checks: Vec<Check>,
}
