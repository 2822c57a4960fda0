//! The shell around the pure core: look, decide, perform one effect, look again.
//!
//! It names doors, never what is behind them, and it decides nothing: what to do is `decide`'s.

mod base;
pub mod claims;
pub mod cycle;
mod explain;
pub mod leases;
mod listing;
mod money;
mod observe;
mod perform;
pub mod probe;
pub mod renew;
pub mod settings;
pub mod step;
pub mod supervise;
mod trouble;
mod waiting;

pub use cycle::{CycleReport, IssueReport};
pub use explain::Explained;
pub use observe::{keep_repository, kept_repository, last_seen_repository};
pub use settings::{AgentSettings, GithubAccess, RepoEngine, Settings, Target, World};
pub use step::StepOutcome;
pub use trouble::Remembered;
