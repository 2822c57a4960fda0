//! Checks of a commit: every conclusion is its own answer, and nothing but success is green.

use serde::{Deserialize, Serialize};

use super::ids::Sha;

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
}

/// All checks of one commit; every page was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitChecks {
    /// The commit.
    pub sha: Sha,
    /// The checks; empty is "none yet", not "green".
    pub checks: Vec<Check>,
}
