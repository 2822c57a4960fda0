//! A home: everything local that outlives an engine, and the life and death of the engine on it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::claim::ClaimRecord;
use crate::model::ids::{BranchName, IssueNumber, Sha, Timestamp};
use crate::model::run::{RunKey, RunLease};
use crate::ports::clock::Clock as _;
use crate::ports::events::Event;
use crate::ports::{PortError, PortResult, Refusal};

use super::clock::SimClock;
use super::faults::{self, FaultPoints, LocalFault, LocalOp};
use super::folders::SimFolders;
use super::git::{SimGit, SimWorktree};
use super::objects::Objects;
use super::runs::{SimRun, SimRuns};
use super::script::{Performance, Script, Stage};
use super::stores::{MemEvents, MemMemory};

/// What lies on the disk of the home, and who is alive on its machine.
#[derive(Default)]
pub(super) struct State {
    pub(super) claims: BTreeMap<IssueNumber, ClaimRecord>,
    pub(super) damaged_claims: BTreeSet<IssueNumber>,
    pub(super) superseded: Vec<ClaimRecord>,
    pub(super) first_seen: BTreeMap<(IssueNumber, String), Timestamp>,
    /// Locked issues, each with the number of the lock: an old guard must not free a new lock.
    pub(super) locks: BTreeMap<IssueNumber, u64>,
    pub(super) locks_taken: u64,
    pub(super) worktrees: BTreeMap<PathBuf, SimWorktree>,
    pub(super) branches: BTreeMap<BranchName, Sha>,
    pub(super) salvaged: Vec<Sha>,
    /// In the order of their start.
    pub(super) runs: Vec<SimRun>,
    pub(super) script: Option<Script>,
    pub(super) memory: BTreeMap<String, String>,
    pub(super) events: Vec<Event>,
    pub(super) dead: bool,
    pub(super) offline: bool,
    /// Why nothing can be written here now.
    pub(super) full: Option<String>,
    pub(super) push_refusal: Option<String>,
    pub(super) broken_worktrees: Option<String>,
}

/// A simulated home; clones are the same home.
#[derive(Clone)]
pub struct SimHome {
    pub(super) name: String,
    pub(super) objects: Objects,
    pub(super) clock: SimClock,
    pub(super) faults: FaultPoints,
    state: Arc<Mutex<State>>,
}

impl SimHome {
    /// An empty home whose clone has the bare repository at `remote` as its remote.
    pub fn new(name: &str, remote: &Path, clock: SimClock, faults: FaultPoints) -> Self {
        Self {
            name: name.to_owned(),
            objects: Objects::at(remote),
            clock,
            faults,
            state: Arc::default(),
        }
    }

    /// The clone's door.
    pub fn git(&self) -> SimGit {
        SimGit { home: self.clone() }
    }

    /// The runs' door.
    pub fn runs(&self) -> SimRuns {
        SimRuns { home: self.clone() }
    }

    /// The issue folders' door.
    pub fn folders(&self) -> SimFolders {
        SimFolders { home: self.clone() }
    }

    /// The cache's door.
    pub fn memory(&self) -> MemMemory {
        MemMemory { home: self.clone() }
    }

    /// The event store's door.
    pub fn events(&self) -> MemEvents {
        MemEvents { home: self.clone() }
    }

    /// The clock's door.
    pub fn clock(&self) -> SimClock {
        self.clock.clone()
    }

    /// What runs do from now on. Without a script every run succeeds at once and does nothing. The
    /// script sees the home through its stage; it must not call the home, which is locked then.
    pub fn script(&self, script: impl Fn(&Stage<'_>) -> Performance + Send + Sync + 'static) {
        self.with(|state| state.script = Some(Arc::new(script)));
    }

    /// Did the engine of this home die?
    pub fn is_dead(&self) -> bool {
        self.with(|state| state.dead)
    }

    /// Kills the engine: the kernel frees its locks; runs live on.
    pub fn kill_engine(&self) {
        self.with(|state| {
            state.dead = true;
            state.locks.clear();
        });
    }

    /// A new engine may begin.
    pub fn restart(&self) {
        self.with(|state| state.dead = false);
    }

    /// The machine loses power and comes back: engine and supervisors are dead, files stay.
    pub fn power_cut(&self) {
        let now = self.clock.now();
        self.with(|state| {
            state.locks.clear();
            state
                .runs
                .iter_mut()
                .for_each(|run| run.supervisor_dies(now));
        });
    }

    /// The supervisor of a run dies and leaves no result.
    pub fn kill_supervisor(&self, key: &RunKey) {
        let now = self.clock.now();
        self.with(|state| {
            state
                .runs
                .iter_mut()
                .filter(|run| run.key() == key)
                .for_each(|run| run.supervisor_dies(now));
        });
    }

    /// Ends a run that would go on, with what its performance has prepared.
    pub fn finish_run(&self, key: &RunKey) -> PortResult<()> {
        self.with(|state| super::runs::finish(self, state, key))
    }

    /// Runs that live now.
    pub fn live_runs(&self) -> Vec<RunKey> {
        self.with(|state| {
            state
                .runs
                .iter()
                .filter(|run| run.is_running())
                .map(|run| run.key().clone())
                .collect()
        })
    }

    /// Somebody removes a worktree's folder by hand; its branch stays.
    pub fn lose_worktree(&self, path: &Path) {
        self.with(|state| state.worktrees.remove(path));
    }

    /// The claims that were moved aside.
    pub fn superseded(&self) -> Vec<ClaimRecord> {
        self.with(|state| state.superseded.clone())
    }

    /// How many runs were ever started here.
    pub fn runs_started(&self) -> usize {
        self.with(|state| state.runs.iter().filter(|run| !run.is_reserved()).count())
    }

    /// The leases that supervisors keep now: of running runs and of ended ones that nobody relieved.
    pub fn kept_leases(&self) -> Vec<RunLease> {
        self.with(|state| state.runs.iter().filter_map(SimRun::kept_lease).collect())
    }

    /// The remote cannot be reached from here until `go_online`.
    pub fn go_offline(&self) {
        self.with(|state| state.offline = true);
    }

    /// The remote can be reached again.
    pub fn go_online(&self) {
        self.with(|state| state.offline = false);
    }

    /// The remote refuses pushes with these words; `None`: no more.
    pub fn refuse_pushes(&self, words: Option<&str>) {
        self.with(|state| state.push_refusal = words.map(str::to_owned));
    }

    /// The disk is full, and these words say so; `None`: there is room again.
    pub fn fill_disk(&self, words: Option<&str>) {
        self.with(|state| state.full = words.map(str::to_owned));
    }

    /// Worktrees cannot be looked at, and git says these words about it; `None`: they can again.
    pub fn break_worktrees(&self, words: Option<&str>) {
        self.with(|state| state.broken_worktrees = words.map(str::to_owned));
    }

    /// Somebody scribbles over the issue's `run.json`.
    pub fn damage_claim(&self, issue: IssueNumber) {
        self.with(|state| state.damaged_claims.insert(issue));
    }

    /// Commits that were saved before their worktree was removed.
    pub fn salvaged(&self) -> Vec<Sha> {
        self.with(|state| state.salvaged.clone())
    }

    /// Writes a file into a worktree, uncommitted, as a person or an agent does. `None` deletes it.
    pub fn put_file(&self, worktree: &Path, file: &str, text: Option<&str>) -> PortResult<()> {
        self.with(|state| {
            let tree = super::git::known(state, worktree, "write a file")?;
            tree.dirty.insert(file.to_owned(), text.map(str::to_owned));
            Ok(())
        })
    }

    /// Makes one commit on `base` of all that a worktree's head holds, as a person does with `git reset
    /// --soft` and `git commit`.
    pub fn squash(&self, worktree: &Path, base: &Sha, message: &str) -> PortResult<()> {
        let what = "rewrite the branch";
        let at = self.clock.now();
        self.with(|state| {
            let tree = super::git::known(state, worktree, what)?;
            let made = self.objects.squash(base, &tree.head, (message, at));
            tree.head = made.map_err(|e| e.at(what))?;
            let (branch, head) = (tree.branch.clone(), tree.head.clone());
            state.branches.insert(branch, head);
            Ok(())
        })
    }

    /// Everything recorded so far, oldest first.
    pub fn recorded(&self) -> Vec<Event> {
        self.with(|state| state.events.clone())
    }

    pub(super) fn with<T>(&self, use_it: impl FnOnce(&mut State) -> T) -> T {
        use_it(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A read: answers only a living engine.
    pub(super) fn read<T>(
        &self,
        what: &str,
        read: impl FnOnce(&mut State) -> PortResult<T>,
    ) -> PortResult<T> {
        self.with(|state| {
            if state.dead {
                Err(faults::crash(what))
            } else {
                read(state)
            }
        })
    }

    /// A write: a point where a fault may strike.
    pub(super) fn write<T>(
        &self,
        op: LocalOp,
        what: &str,
        write: impl FnOnce(&mut State) -> PortResult<T>,
    ) -> PortResult<T> {
        self.read(what, |_| Ok(()))?;
        let fault = self.faults.meet(op);
        match fault {
            Some(LocalFault::CrashBefore) => return Err(self.die(what)),
            Some(LocalFault::Refuse) => {
                return Err(PortError::refused(
                    what,
                    Refusal::Local,
                    "simulated refusal",
                ));
            }
            Some(LocalFault::LostBefore) => {
                return Err(PortError::unknown(what, "simulated loss of the answer"));
            }
            Some(LocalFault::CrashAfter | LocalFault::LostAfter) | None => {}
        }
        let answer = self.with(write);
        match fault {
            Some(LocalFault::CrashAfter) => Err(self.die(what)),
            Some(LocalFault::LostAfter) => {
                Err(PortError::unknown(what, "simulated loss of the answer"))
            }
            Some(LocalFault::CrashBefore | LocalFault::Refuse | LocalFault::LostBefore) | None => {
                answer
            }
        }
    }

    fn die(&self, what: &str) -> PortError {
        self.kill_engine();
        faults::crash(what)
    }
}
