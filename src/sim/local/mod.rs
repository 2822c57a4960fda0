//! The local half of the simulated world: a home on a machine, in memory, for tests that take
//! thousands of steps. The other half is the simulated GitHub; both meet in its bare repository.
//!
//! A [`SimHome`] is everything that survives the death of an engine: issue folders, run folders,
//! worktrees, local branches, the cache, the events. The doors an engine is given
//! ([`SimHome::git`], [`SimHome::runs`], …) are views of it and can be made again for the next one.
//!
//! ```text
//! let clock = SimClock::at(start);
//! let home = SimHome::new("a", bare_repository, clock.clone(), FaultPoints::none());
//! home.script(|stage| match stage.spec().key.kind {
//!     RunKind::Implement => Performance::success().file("a.txt", "a").commit("Add a"),
//!     RunKind::Review => Performance::success().review("APPROVED"),
//!     _ => Performance::success(),
//! });
//! // … an engine with home.git(), home.runs(), home.folders(), … takes steps …
//! ```
//!
//! **Commits** are real and lie in the bare repository's object store from the start, where the
//! remote could not see unpushed ones: no ref of it points at them before the push. Worktrees are
//! values: a branch, a head, and the files that differ from it.
//!
//! **Runs** do what the [script](SimHome::script) says: some acts when they start, some when they end,
//! at once, after some time of the clock, after some looks, or never. They live on when the engine
//! dies. Their supervisors renew no lease by themselves, since this half knows no GitHub:
//! [`SimHome::kept_leases`] says which ones they would.
//!
//! **Faults.** Every local write is a point, numbered over all homes that share a [`FaultPoints`]. At a
//! point the plan may say:
//! - `CrashBefore`, `CrashAfter`: the engine dies there, without or with the write's effect. The door
//!   answers an error for which [`is_crash`] is true, and so does every later question, until
//!   [`SimHome::restart`]: an engine that swallows the error gets no further. Test harnesses stop at it,
//!   let the simulated GitHub refuse while [`SimHome::is_dead`], and start a new engine.
//! - `Refuse`: nothing is done, and the door says so (`Refusal::Local`).
//! - `LostBefore`, `LostAfter`: the answer is lost (`PortError::Unknown`), and the engine lives.
//!
//! A run's start is two points: its folder (`ReserveRun`), then its supervisor (`StartRun`).

mod clock;
mod faults;
mod folders;
mod git;
mod home;
mod objects;
mod runs;
mod script;
mod stores;

pub use clock::SimClock;
pub use faults::{FaultPoints, LocalFault, LocalOp, is_crash};
pub use folders::SimFolders;
pub use git::SimGit;
pub use home::SimHome;
pub use runs::SimRuns;
pub use script::{Act, Performance, Stage, Takes};
pub use stores::{MemEvents, MemMemory};

#[cfg(test)]
mod tests;
