//! Containers on this machine: one for each command that runs in one. It knows nothing of clocks,
//! leases and the order of commands, as `processes` does not.
//!
//! A container outlives whoever started it. Its name says which command of which run it is, so the
//! next one who asks for the same command goes on with the same container.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::ids::IssueNumber;
use crate::model::run::RunKey;
use crate::model::sandbox::{Sandbox, SandboxOwner};

use super::PortResult;
use super::processes::{ChildFacts, Force};

/// One command and what it runs in.
#[derive(Debug, Clone)]
pub struct ContainerJob {
    /// The run.
    pub key: RunKey,
    /// Which of its commands.
    pub index: usize,
    /// The run's folder.
    pub folder: PathBuf,
    /// The worktree.
    pub worktree: PathBuf,
    /// What an agent has there besides; `None`: a step.
    pub agent: Option<AgentJob>,
    /// The working directory, relative to it.
    pub dir: PathBuf,
    /// For `sh -c`.
    pub shell: String,
    /// Variables of the run. Those of the sandbox win.
    pub env: BTreeMap<String, String>,
    /// The container.
    pub sandbox: Sandbox,
    /// Whose it is.
    pub owner: SandboxOwner,
}

/// An agent's own part of a job.
#[derive(Debug, Clone)]
pub struct AgentJob {
    /// The clone that it has instead of the worktree, with a `.git` that it may write to.
    pub tree: PathBuf,
    /// The file of its prompt.
    pub prompt: PathBuf,
    /// Is the prompt its standard input?
    pub on_stdin: bool,
}

impl ContainerJob {
    /// What the container has as its workspace.
    pub fn ground(&self) -> &Path {
        self.agent
            .as_ref()
            .map_or(&self.worktree, |agent| &agent.tree)
    }
}

/// Where output goes.
pub type Sink = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// One container at work.
pub trait Container: Send + Sync {
    /// What is known of its command. `Unavailable`: it never began, and why, with what to do about it.
    fn facts(&self) -> PortResult<ChildFacts>;

    /// Does anything of it run?
    fn alive(&self) -> bool;

    /// Signals its command, or stops and continues all of it.
    fn force(&self, force: Force) -> PortResult<()>;

    /// Removes it, whose result is on disk now; waits for that a moment.
    fn remove(&self);
}

/// The engine that has them.
pub trait Containers: Send + Sync {
    /// Starts the command's container, or goes on with the one that is there. Answers at once: what
    /// becomes of it is in the container's facts.
    fn start(&self, job: ContainerJob, output: Sink) -> Box<dyn Container>;

    /// Takes away what was made on the host for the containers that this process started. None of them
    /// may be there any more: a mount point that goes takes the mount along.
    fn clear(&self);

    /// Could these be used now? Does not pull. `Unavailable` says what is missing and what to do.
    fn standing(&self, sandboxes: &[&Sandbox]) -> PortResult<()>;

    /// Removes the containers of this owner whose run folder `keep` does not want kept, and the volumes
    /// whose worktree is gone.
    fn tidy(&self, owner: &SandboxOwner, keep: &dyn Fn(&Path) -> bool) -> PortResult<()>;

    /// Removes everything that is kept for an issue's worktree.
    fn forget(&self, owner: &SandboxOwner, issue: IssueNumber) -> PortResult<()>;
}
