//! Runs as real processes: run folders on disk, a supervisor process for each run.
//!
//! `ProcessRuns` is the side of the engine: it starts supervisors and reads folders. `RunHost` is the
//! side of the supervisor. The two only meet in the folder, so either may die at any moment.

mod adopt;
mod exec;
mod facts;
mod folder;
mod host;
mod log;
mod scrub;
mod start;
mod table;

use std::path::PathBuf;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process};

use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::limits::KILL_WAIT_MAX;
use crate::model::money::Spent;
use crate::model::run::{RunFacts, RunKey, RunSpec, RunStatus};
use crate::model::sandbox::{Sandbox, SandboxOwner};
use crate::ports::containers::Containers;
use crate::ports::processes::Force;
use crate::ports::runs::{Runs, StartOutcome};
use crate::ports::{PortError, PortResult, Refusal};

pub use exec::{become_command, become_supervisor};
pub use host::{HostError, RunHost};

use folder::{Holder, RunFolder, local, mark};
use table::{Roots, Tag};

/// The run folders of one repository in this home.
pub struct ProcessRuns {
    /// `<home>/runs/<repository id>`.
    root: PathBuf,
    /// The program that has the `supervise` command: this one.
    exe: PathBuf,
    /// What a supervisor needs to reach GitHub; it goes through a pipe and is never on disk.
    handoff: Vec<u8>,
    /// Supervisors that this process started, so that they do not stay as zombies.
    children: Mutex<Vec<Child>>,
    /// The engine that has the containers of runs, and whose they are here.
    containers: Option<(Arc<dyn Containers>, SandboxOwner)>,
}

impl ProcessRuns {
    /// `root` is the repository's folder under `runs`, `exe` the program that has `supervise`
    /// (`std::env::current_exe()`), `handoff` one line of JSON for it.
    pub fn new(root: PathBuf, exe: PathBuf, handoff: Vec<u8>) -> Self {
        Self {
            root,
            exe,
            handoff,
            children: Mutex::default(),
            containers: None,
        }
    }

    /// The same with the engine that has the containers of runs.
    #[must_use]
    pub fn with_containers(mut self, engine: Arc<dyn Containers>, owner: SandboxOwner) -> Self {
        self.containers = Some((engine, owner));
        self
    }

    /// The folder of an issue.
    pub fn issue_folder(&self, issue: IssueNumber) -> PathBuf {
        self.root.join(format!("issue-{issue}"))
    }

    /// The folder a run has or will have; `prompt.md` in it is the prompt.
    pub fn run_folder(&self, key: &RunKey) -> PathBuf {
        self.issue_folder(key.issue).join(key.folder())
    }

    fn remember(&self, child: Option<Child>) {
        self.children
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(child);
    }

    fn reap(&self) {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}

impl Runs for ProcessRuns {
    fn facts(&self, issue: IssueNumber) -> PortResult<Vec<RunFacts>> {
        self.reap();
        let folders = facts::folders(&self.issue_folder(issue), issue)?;
        folders
            .into_iter()
            .map(|(key, folder)| facts::facts(key, &folder))
            .collect()
    }

    fn spent_since(&self, since: Timestamp) -> PortResult<Spent> {
        facts::spent_since(&self.root, since)
    }

    fn start(&self, spec: &RunSpec) -> PortResult<StartOutcome> {
        self.reap();
        // An agent whose supervisor died may still be writing to the worktree.
        self.sweep(spec.key.issue)?;
        let folder = RunFolder::new(self.run_folder(&spec.key));
        let starter = start::Starter {
            exe: &self.exe,
            handoff: &self.handoff,
        };
        let (outcome, child) = start::start(&starter, &folder, spec)?;
        self.remember(child);
        Ok(outcome)
    }

    fn box_folder(&self, key: &RunKey) -> Option<PathBuf> {
        Some(RunFolder::new(self.run_folder(key)).agent_box())
    }

    fn adopt(&self, issue: IssueNumber) -> PortResult<()> {
        self.reap();
        let starter = start::Starter {
            exe: &self.exe,
            handoff: &self.handoff,
        };
        for (_, folder) in facts::folders(&self.issue_folder(issue), issue)? {
            self.remember(adopt::adopt(&starter, &folder)?);
        }
        Ok(())
    }

    fn stop(&self, key: &RunKey) -> PortResult<()> {
        let what = || format!("stop the run `{key}`");
        let folder = RunFolder::new(self.run_folder(key));
        if !folder.path().is_dir() {
            return Ok(());
        }
        mark(&folder.stop(), "").map_err(|error| local(what(), error))?;
        // The file alone is enough; the signal only saves the supervisor's next tick. The number is
        // believed only while the lock is held: else it may be somebody else's by now.
        if folder.holder().map_err(|error| local(what(), error))? == Holder::Alive
            && let Ok(Some(started)) = folder.read_started()
            && started.boot == table::boot_id()
            // A supervisor inside this process (a test's) reads the file.
            && started.pid != std::process::id()
            && let Some(pid) = i32::try_from(started.pid).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process(pid, Signal::TERM);
        }
        Ok(())
    }

    fn relieve(&self, issue: IssueNumber) -> PortResult<()> {
        for (key, folder) in facts::folders(&self.issue_folder(issue), issue)? {
            let what = || format!("relieve the supervisor of `{key}`");
            let waits = folder
                .exit()
                .try_exists()
                .map_err(|error| local(what(), error))?
                && !folder.collected().exists();
            if waits {
                mark(&folder.collected(), "").map_err(|error| local(what(), error))?;
            }
        }
        Ok(())
    }

    fn tidy(&self) -> PortResult<()> {
        let Some((engine, owner)) = &self.containers else {
            return Ok(());
        };
        engine.tidy(owner, &|folder| is_wanted(&RunFolder::new(folder)))
    }

    fn sandbox_trouble(&self, sandboxes: &[&Sandbox]) -> Option<String> {
        let (engine, _) = self.containers.as_ref().filter(|_| !sandboxes.is_empty())?;
        match engine.standing(sandboxes) {
            Ok(()) => None,
            Err(PortError::Unavailable { message, .. }) => Some(message),
            Err(other) => Some(other.to_string()),
        }
    }

    fn forget(&self, issue: IssueNumber) -> PortResult<()> {
        match &self.containers {
            Some((engine, owner)) => engine.forget(owner, issue),
            None => Ok(()),
        }
    }

    fn sweep(&self, issue: IssueNumber) -> PortResult<()> {
        for (key, folder) in facts::folders(&self.issue_folder(issue), issue)? {
            let what = || format!("sweep the run `{key}`");
            match facts::status(&folder).map_err(|error| local(what(), error))? {
                RunStatus::Ended(exit) if facts::may_have_strays(&exit) => {
                    sweep_run(&key, &folder)?;
                    if let Some((engine, owner)) = &self.containers {
                        engine.tidy(owner, &|of| of != folder.path())?;
                    }
                }
                RunStatus::Ended(_) | RunStatus::Reserved | RunStatus::Running { .. } => {}
            }
        }
        Ok(())
    }
}

/// Does somebody still wait for what its containers do?
fn is_wanted(folder: &RunFolder) -> bool {
    let open = folder.path().is_dir() && !folder.exit().exists();
    // What cannot be read proves nothing.
    let held = || {
        folder
            .holder()
            .map_or(true, |holder| holder == Holder::Alive)
    };
    open && (held() || adopt::goes_on(folder).unwrap_or(true))
}

/// Kills what carries the run's tag. Its supervisor is dead, so nobody waits for a clean end of it.
fn sweep_run(key: &RunKey, folder: &RunFolder) -> PortResult<()> {
    let tag = Tag::of(key, folder.path());
    let what = || format!("sweep the run `{key}`");
    let pause = std::time::Duration::from_millis(5);
    let mut left = Vec::new();
    for _ in 0..KILL_WAIT_MAX.as_millis() / pause.as_millis() {
        left = table::members(&tag, &Roots::default()).map_err(|error| local(what(), error))?;
        if left.is_empty() {
            return Ok(());
        }
        table::signal(&left, &Roots::default(), Force::Kill);
        #[expect(
            clippy::disallowed_methods,
            reason = "the port is synchronous and the wait is for other processes, not for time"
        )]
        std::thread::sleep(pause);
    }
    let pids: Vec<String> = left.iter().map(|row| row.pid.to_string()).collect();
    let message = format!("processes survive SIGKILL: {}", pids.join(", "));
    Err(PortError::refused(what(), Refusal::Local, message))
}
