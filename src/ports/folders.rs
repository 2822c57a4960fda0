//! Issue folders of this home: the local half of a claim, and the lock of a step.

use std::path::PathBuf;

use crate::model::claim::ClaimRecord;
use crate::model::ids::{IssueNumber, Timestamp};

use super::PortResult;

/// Holds the issue's `flock` until dropped.
pub trait StepGuard: Send {}

/// The issue folders of one repository.
pub trait Folders: Send + Sync {
    /// Takes the issue's lock without waiting; `None` if another process of this home has it.
    fn lock(&self, issue: IssueNumber) -> PortResult<Option<Box<dyn StepGuard>>>;

    /// This home's claim on the issue, from `run.json`. A damaged file is an error, not an absence.
    fn claim(&self, issue: IssueNumber) -> PortResult<Option<ClaimRecord>>;

    /// Creates `run.json` exclusively. `false`: it is there already.
    fn create_claim(&self, record: &ClaimRecord) -> PortResult<bool>;

    /// Replaces `run.json` (under the issue's lock).
    fn replace_claim(&self, record: &ClaimRecord) -> PortResult<()>;

    /// Removes `run.json` (under the issue's lock); absent is fine.
    fn remove_claim(&self, issue: IssueNumber) -> PortResult<()>;

    /// Moves everything of the issue but its lock into `superseded/<time>/` in its folder, with a copy of
    /// `run.json`, which stays until it is replaced or removed: so a move that was cut off goes on at the next
    /// call (under the issue's lock). Answers where.
    fn supersede(&self, issue: IssueNumber, now: Timestamp) -> PortResult<PathBuf>;

    /// When this home saw the lease commit `oid` for the first time: remembered at the first call.
    /// Only for leases whose own time is not believable.
    fn first_seen(&self, issue: IssueNumber, oid: &str, now: Timestamp) -> PortResult<Timestamp>;

    /// The issues that have a folder with a `run.json`.
    fn claimed_issues(&self) -> PortResult<Vec<IssueNumber>>;
}
