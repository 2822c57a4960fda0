//! The history of what happened. Derived data: losing it changes nothing but `history`.

use serde::{Deserialize, Serialize};

use crate::model::ids::{IssueNumber, Timestamp};

/// One row: a step, a run's end, a restored state, a stolen lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// Alias of the repository in the configuration.
    pub repository: String,
    /// The issue, where it concerns one.
    pub issue: Option<IssueNumber>,
    /// `step`, `run`, `state_restored`, `lease_stolen`, …
    pub kind: String,
    /// The phase the issue was in.
    pub phase: Option<String>,
    /// What was done or why it waits, one line.
    pub what: String,
    /// More, as JSON: exit status, duration, agent, log path.
    pub detail: serde_json::Value,
}

/// Which events to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventQuery {
    /// Of this repository only.
    pub repository: Option<String>,
    /// Of this issue only.
    pub issue: Option<IssueNumber>,
    /// Since this time.
    pub since: Option<Timestamp>,
    /// At most so many, the newest.
    pub limit: Option<u32>,
}

/// The event store.
pub trait Events: Send + Sync {
    /// Records; a failure is a warning in the log, never an error.
    fn record(&self, event: &Event);

    /// Reads, oldest first. An unreadable store says so in words.
    fn read(&self, query: &EventQuery) -> Result<Vec<Event>, String>;
}
