//! The processes of one run, as its supervisor sees them. It knows nothing of clocks, leases and
//! the order of commands: that is `engine::supervise`.

use crate::model::agent::CommandReport;
use crate::model::agent_stream::AgentReport;
use crate::model::run::{RunCommand, RunExit};

use super::PortResult;

/// How the command's own process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildEnd {
    /// It exited with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It, or something it started, was killed for the memory it took.
    OutOfMemory,
}

/// What is known of the command that was started last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildFacts {
    /// How its own process ended; `None` while it lives.
    pub end: Option<ChildEnd>,
    /// Bytes it and its children printed so far.
    pub output_bytes: u64,
    /// Does somebody still hold the output pipe?
    pub output_open: bool,
    /// Is what it runs in still being made (an image is pulled)? It has not begun, so its clocks stand.
    pub preparing: bool,
}

/// What is done to everything that belongs to the run: the command's group, the supervisor's
/// descendants, and whatever carries the run's tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// SIGSTOP.
    Freeze,
    /// SIGCONT.
    Thaw,
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
}

/// What others asked of the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    /// End the run.
    pub stop: bool,
    /// The result has been taken over.
    pub collected: bool,
}

/// What becomes of the files a command may leave for ghswarm (question, review).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftFiles {
    /// They go to the run folder and count.
    Keep,
    /// They go out of the worktree and do not count: the run failed.
    SetAside,
}

/// One run on this machine.
pub trait Processes: Send + Sync {
    /// Deletes files that an earlier command left, writes the header line of the log and starts
    /// command number `index` in a process group of its own. Nothing of an earlier one may be alive.
    fn start(&self, index: usize, command: &RunCommand) -> PortResult<()>;

    /// Index of the command to begin with: not the first where an earlier supervisor died and left a
    /// container that goes on. `start` of that command goes on with what is there.
    fn begin_at(&self) -> usize {
        0
    }

    /// What is known of the command that was started last. `Unavailable`: what it was to run in is not
    /// there, and it never began.
    fn child(&self) -> PortResult<ChildFacts>;

    /// What the agent said that was started last; `None`: it was a step, or a program nobody listens to.
    fn report(&self) -> Option<AgentReport> {
        None
    }

    /// The same, of one whose end has been seen.
    fn report_of_end(&self, _success: Success) -> Option<AgentReport> {
        None
    }

    /// Keeps what the agents of the run said so far, so that it is there whatever happens to us.
    fn keep_reports(&self, _reports: &[CommandReport]) -> PortResult<()> {
        Ok(())
    }

    /// How many processes of the run are alive.
    fn alive(&self) -> PortResult<usize>;

    /// Signals all of them.
    fn force(&self, force: Force) -> PortResult<()>;

    /// What others asked.
    fn asked(&self) -> Asked;

    /// Shows or hides that the run waits for its lease.
    fn show_frozen(&self, shown: Frozen);

    /// Moves the question and the review file out of the worktree.
    fn take_left_files(&self, left: LeftFiles) -> PortResult<()>;

    /// Writes a line of ours into the run's log.
    fn note(&self, line: &str);

    /// Writes `exit.json`, the last word about the run.
    fn finish(&self, exit: &RunExit) -> PortResult<()>;
}

/// Did a command succeed?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Success {
    /// It did.
    Yes,
    /// It failed, or was ended.
    No,
}

/// Does the run wait for its lease?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frozen {
    /// It does.
    Yes,
    /// It does not.
    No,
}
