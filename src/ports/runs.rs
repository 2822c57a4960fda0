//! Runs: child processes under a supervisor of their own, seen through their folders.

use std::path::PathBuf;

use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::money::Spent;
use crate::model::run::{RunFacts, RunKey, RunSpec};
use crate::model::sandbox::Sandbox;

use super::PortResult;

/// What became of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartOutcome {
    /// The supervisor runs and holds the folder's lock.
    Started,
    /// The folder was there already: somebody started it before. Look again.
    AlreadyThere,
}

/// The run folders of one repository.
pub trait Runs: Send + Sync {
    /// All run folders of an issue, oldest first.
    fn facts(&self, issue: IssueNumber) -> PortResult<Vec<RunFacts>>;

    /// What the agents of all issues cost in runs that went on after this time, as far as they said.
    fn spent_since(&self, _since: Timestamp) -> PortResult<Spent> {
        Ok(Spent::default())
    }

    /// Creates the folder exclusively and starts the supervisor; returns when that holds its lock. A
    /// folder that was reserved by a start that was cut off (no supervisor ever wrote) is used.
    fn start(&self, spec: &RunSpec) -> PortResult<StartOutcome>;

    /// Where the box of a run is, or would be; `None`: these runs have no boxes.
    fn box_folder(&self, _key: &RunKey) -> Option<PathBuf> {
        None
    }

    /// Gives each run of the issue a new supervisor whose own one died while a container worked for it:
    /// the container goes on, and its result is used. Before the runs of the issue are looked at.
    fn adopt(&self, _issue: IssueNumber) -> PortResult<()> {
        Ok(())
    }

    /// Why commands cannot run in these containers now, with what to do about it.
    fn sandbox_trouble(&self, _sandboxes: &[&Sandbox]) -> Option<String> {
        None
    }

    /// Removes containers of this home that nobody waits for, and volumes of worktrees that are gone.
    fn tidy(&self) -> PortResult<()> {
        Ok(())
    }

    /// Removes what containers keep for an issue's worktree.
    fn forget(&self, _issue: IssueNumber) -> PortResult<()> {
        Ok(())
    }

    /// Asks the run's supervisor to end it; returns at once.
    fn stop(&self, key: &RunKey) -> PortResult<()>;

    /// Tells the supervisors of all ended runs of the issue that their results were seen: they stop
    /// renewing the lease and go. Idempotent.
    fn relieve(&self, issue: IssueNumber) -> PortResult<()>;

    /// Kills what is left of runs whose supervisor died: processes that carry the run's tag.
    fn sweep(&self, issue: IssueNumber) -> PortResult<()>;
}
