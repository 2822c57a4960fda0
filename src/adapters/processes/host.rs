//! One run from the side of its supervisor: the folder's lock, the command's processes, the log, the
//! files a run leaves. When what is done is the business of `engine::supervise`.

mod boxed;
mod left;
mod listening;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write, pipe};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::model::agent::CommandReport;
use crate::model::agent_stream::{AgentReport, Channel, StreamReader};
use crate::model::ids::Timestamp;
use crate::model::limits::RUN_LOG_BYTES_MAX;
use crate::model::run::{RunCommand, RunExit, RunSpec};
use crate::model::secrets::Secrets;
use crate::ports::containers::Container;
use crate::ports::processes::{
    Asked, ChildEnd, ChildFacts, Force, Frozen, LeftFiles, Processes, Success,
};
use crate::ports::{PortError, PortResult};

use super::exec::SHELL;
use super::facts;
use super::folder::{RunFolder, Started, local, mark, read_json, remove, unwritten, write_whole};
use super::log::{self, CappedLog, Listener, Output, Progress, SharedLog};
use super::table::{self, Roots, Row, TAG_FOLDER, TAG_KEY, Tag};

/// A probe of the lock holds it for microseconds; this often a supervisor tries again.
const LOCK_TRIES: u32 = 200;

/// Why a supervisor cannot have the run.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Another supervisor has or had it.
    #[error("the run in `{0}` has a supervisor already")]
    Taken(PathBuf),
    /// The folder cannot be used.
    #[error("cannot use the run folder `{folder}`")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The run of this process.
pub struct RunHost {
    folder: RunFolder,
    spec: RunSpec,
    tag: Tag,
    /// This program, which starts the commands so that they die with it; `None`: a plain shell.
    exe: Option<PathBuf>,
    log: SharedLog,
    /// What does not get into it.
    secrets: Arc<Secrets>,
    stop: Arc<AtomicBool>,
    running: Mutex<Running>,
    containers: boxed::Door,
    /// Is it the successor of a supervisor that died?
    follows: bool,
    /// Held until the host is dropped.
    lock: File,
}

/// Every so many looks zombies are taken away that an agent's own children left behind: a run of
/// hours must not fill the process table.
const REAP_EVERY_LOOKS: u32 = 100;

/// The command that was started last.
#[derive(Default)]
struct Running {
    looks: u32,
    child: Option<Child>,
    end: Option<ChildEnd>,
    group: Option<i32>,
    progress: Option<Arc<Progress>>,
    /// Who reads what an agent says.
    listener: Option<Listener>,
    /// What the command runs in, if not on the host.
    container: Option<Box<dyn Container>>,
    /// Its output on the way into the log.
    scrubber: boxed::Output,
}

impl RunHost {
    /// Takes the run in `folder`, for good: exactly one supervisor ever gets it. `now` is written as
    /// the time of the start.
    pub fn take(folder: &Path, exe: Option<PathBuf>, now: Timestamp) -> Result<Self, HostError> {
        let wrong = |source| HostError::Folder {
            folder: folder.to_owned(),
            source,
        };
        let run = RunFolder::new(folder.canonicalize().map_err(wrong)?);
        let spec: RunSpec = read_json(&run.spec()).map_err(wrong)?;
        let taken = || HostError::Taken(folder.to_owned());
        let lock = lock(&run).map_err(wrong)?.ok_or_else(taken)?;
        // Before the mark: without room for its result a run is not begun.
        run.reserve_exit().map_err(wrong)?;
        if !write_started(&run, now).map_err(wrong)? {
            return Err(taken());
        }
        let follows = run.predecessors().map_err(wrong)? > 0;
        let log = CappedLog::open(&run.log(), RUN_LOG_BYTES_MAX).map_err(wrong)?;
        Ok(Self {
            tag: Tag::of(&spec.key, run.path()),
            folder: run,
            spec,
            exe,
            log: Arc::new(Mutex::new(log)),
            secrets: Arc::new(Secrets::new([])),
            stop: Arc::default(),
            running: Mutex::default(),
            containers: None,
            follows,
            lock,
        })
    }

    /// The same with secrets that are known by value; those that are known by shape are known anyway.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = Arc::new(secrets);
        self
    }

    /// What is to be done.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// Setting it asks the run to end, as the `stop` file does: for the signals of this process.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Is this the command that the supervisor before this one was at?
    fn goes_on_with(&self, index: usize) -> bool {
        self.follows && self.folder.current().exists() && facts::current(&self.folder) == index
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn roots(&self) -> Roots {
        let supervisor = i32::try_from(std::process::id()).ok();
        // In a test's own process the descendants are not all ours.
        Roots {
            group: self.running().group,
            supervisor: supervisor.filter(|_| self.exe.is_some()),
        }
    }

    fn members(&self) -> io::Result<(Vec<Row>, Roots)> {
        let roots = self.roots();
        Ok((table::members(&self.tag, &roots)?, roots))
    }

    fn command(&self, command: &RunCommand) -> Command {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the adapter that owns child processes"
        )]
        let mut child = Command::new(self.exe.as_deref().unwrap_or_else(|| Path::new(SHELL)));
        if self.exe.is_some() {
            child.args(["supervise", "--exec", &std::process::id().to_string()]);
        } else {
            child.arg("-c");
        }
        child.arg(&command.shell);
        if let Some(allowed) = &self.spec.env_clear {
            // The child's environment is this process's but for the names that are not allowed.
            let kept = std::env::vars_os().filter(|(name, _)| {
                name.to_str()
                    .is_some_and(|name| allowed.iter().any(|one| one == name))
            });
            let kept: Vec<_> = kept.collect();
            child.env_clear().envs(kept);
        }
        for name in &self.spec.env_remove {
            child.env_remove(name);
        }
        child
            .envs(&self.spec.env)
            .env(TAG_KEY, &self.tag.key)
            .env(TAG_FOLDER, &self.tag.folder)
            .env("GHSWARM_PROMPT_FILE", self.folder.prompt())
            .current_dir(self.spec.worktree.join(&command.dir))
            .process_group(0);
        child
    }

    fn spawn(&self, index: usize, command: &RunCommand) -> io::Result<Running> {
        write_whole(&self.folder.current(), index.to_string().as_bytes())?;
        let listener = command.agent.as_deref().map(listening::listen);
        let (out, writer) = pipe()?;
        // What a program says of itself must not be cut by what it complains about.
        let (aside, aside_writer) = if listener.is_some() {
            let (aside, writer) = pipe()?;
            (Some(aside), writer)
        } else {
            (None, writer.try_clone()?)
        };
        let mut child = self.command(command);
        // A file and not a pipe: it has no size that a command must have read before it may exit.
        let stdin = if command.prompt_on_stdin && self.folder.prompt().exists() {
            Stdio::from(File::open(self.folder.prompt())?)
        } else {
            Stdio::null()
        };
        child.stdin(stdin).stdout(writer).stderr(aside_writer);
        let spawned = child.spawn();
        // It holds the pipe's ends for writing, which would stay open for ever.
        drop(child);
        let spawned = spawned?;
        let progress = Arc::new(Progress::default());
        let pipes = [(Channel::Out, Some(out)), (Channel::Err, aside)];
        for (channel, pipe) in pipes {
            let Some(pipe) = pipe else { continue };
            let listener = listener.clone().map(|listener| (channel, listener));
            let output = Output { pipe, listener };
            let into = (Arc::clone(&self.log), Arc::clone(&self.secrets));
            log::follow(output, into, &progress)?;
        }
        Ok(Running {
            group: i32::try_from(spawned.id()).ok(),
            child: Some(spawned),
            end: None,
            looks: 0,
            scrubber: None,
            progress: Some(progress),
            listener,
            container: None,
        })
    }

    /// Starts the command where it belongs.
    fn begin(&self, index: usize, command: &RunCommand) -> PortResult<Running> {
        let what = || format!("start `{}`", command.label);
        let Some(boxed) = &command.sandbox else {
            return self
                .spawn(index, command)
                .map_err(|error| local(what(), error));
        };
        write_whole(&self.folder.current(), index.to_string().as_bytes())
            .map_err(|error| local(what(), error))?;
        let listener = command.agent.as_deref().map(listening::listen);
        let begun = self.begin_boxed(index, command, (boxed, listener.clone()));
        let (container, scrubber) = begun.ok_or_else(|| {
            PortError::unavailable(what(), "this supervisor has no Docker engine", None)
        })?;
        Ok(Running {
            container: Some(container),
            scrubber: Some(scrubber),
            listener,
            ..Running::default()
        })
    }
}

impl Drop for RunHost {
    /// By hand: a child that another thread forks right now has a copy of the descriptor until its
    /// exec, and closing ours would leave the lock with it.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

impl Processes for RunHost {
    fn start(&self, index: usize, command: &RunCommand) -> PortResult<()> {
        // What a container wrote that goes on from an earlier supervisor is its own; that one cleared.
        if !self.goes_on_with(index) {
            left::clear(&self.spec.ground(), &self.spec.fresh_files);
        }
        self.note(&format!("── $ {}", command.label));
        let started = self.begin(index, command).inspect_err(|error| {
            self.note(&format!("── cannot be started: {error}"));
        })?;
        let earlier = std::mem::replace(&mut *self.running(), started);
        // Only now that `current` says that its result was used: else the next supervisor would take
        // the command for one that never ran.
        if let Some(container) = earlier.container {
            container.remove();
        }
        Ok(())
    }

    fn begin_at(&self) -> usize {
        if self.follows {
            facts::current(&self.folder)
        } else {
            0
        }
    }

    fn child(&self) -> PortResult<ChildFacts> {
        let mut running = self.running();
        if let Some(container) = &running.container {
            let facts = container.facts()?;
            if !facts.output_open {
                self.write_rest(running.scrubber.as_ref());
            }
            return Ok(facts);
        }
        if running.end.is_none()
            && let Some(child) = running.child.as_mut()
            && let Some(status) = child
                .try_wait()
                .map_err(|error| local("wait for the command", error))?
        {
            running.end = Some(child_end(status));
        }
        running.looks += 1;
        if self.exe.is_some() && running.looks.is_multiple_of(REAP_EVERY_LOOKS) {
            table::reap_adopted(running.group.filter(|_| running.end.is_none()));
        }
        let progress = running.progress.as_deref();
        Ok(ChildFacts {
            end: running.end,
            output_bytes: progress.map_or(0, |seen| seen.bytes.load(Ordering::Acquire)),
            output_open: progress.is_some_and(|seen| seen.open.load(Ordering::Acquire) > 0),
            preparing: false,
        })
    }

    fn report(&self) -> Option<AgentReport> {
        self.heard(StreamReader::report)
    }

    fn report_of_end(&self, success: Success) -> Option<AgentReport> {
        self.heard(|reader| reader.report_of_end(success == Success::Yes))
    }

    fn keep_reports(&self, reports: &[CommandReport]) -> PortResult<()> {
        let what = || format!("write `{}`", self.folder.reports().display());
        let text = serde_json::to_vec_pretty(reports).map_err(|error| local(what(), error))?;
        write_whole(&self.folder.reports(), &text).map_err(|error| unwritten(what(), &error))
    }

    fn alive(&self) -> PortResult<usize> {
        // The command's own end is taken here too, so that it is no zombie that somebody waits for.
        if let Some(container) = &self.running().container {
            return Ok(usize::from(container.alive()));
        }
        let facts = self.child()?;
        if self.exe.is_some() {
            let leader = self.running().group.filter(|_| facts.end.is_none());
            table::reap_adopted(leader);
        }
        let (members, _) = self
            .members()
            .map_err(|error| local("list processes", error))?;
        Ok(members.len())
    }

    fn force(&self, force: Force) -> PortResult<()> {
        if let Some(container) = &self.running().container {
            return container.force(force);
        }
        let (members, roots) = self
            .members()
            .map_err(|error| local("list processes", error))?;
        table::signal(&members, &roots, force);
        Ok(())
    }

    fn asked(&self) -> Asked {
        Asked {
            stop: self.stop.load(Ordering::Acquire) || self.folder.stop().exists(),
            // Where the whole folder is gone, nobody will ever collect anything.
            collected: self.folder.collected().exists() || !self.folder.spec().exists(),
        }
    }

    fn show_frozen(&self, shown: Frozen) {
        let path = self.folder.frozen();
        let done = match shown {
            Frozen::Yes => mark(&path, ""),
            Frozen::No => remove(&path),
        };
        if let Err(error) = done {
            tracing::warn!("cannot change `{}`: {error}", path.display());
        }
    }

    fn take_left_files(&self, taken: LeftFiles) -> PortResult<()> {
        let targets = [self.folder.question(), self.folder.review()];
        let files = (self.spec.fresh_files.as_slice(), targets.as_slice());
        left::take(&self.spec.ground(), files, taken, &self.secrets)
            .map_err(|error| unwritten("take the question and review files", &error))
    }

    fn note(&self, line: &str) {
        let line = self.secrets.redact(line);
        log::append(&self.log, format!("{line}\n").as_bytes());
    }

    fn finish(&self, exit: &RunExit) -> PortResult<()> {
        self.write_rest(self.running().scrubber.as_ref());
        let what = || format!("write `{}`", self.folder.exit().display());
        let text = serde_json::to_vec_pretty(exit).map_err(|error| local(what(), error))?;
        let written = self.folder.write_exit(&text);
        written.map_err(|error| unwritten(what(), &error))?;
        // After the last word: until then it is the only witness of its result.
        if let Some(container) = self.running().container.take() {
            container.remove();
        }
        if let Some(containers) = &self.containers {
            containers.clear();
        }
        Ok(())
    }
}

fn child_end(status: ExitStatus) -> ChildEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ChildEnd::Code(code),
        (None, signal) => ChildEnd::Signal(signal.unwrap_or_default()),
    }
}

/// The folder's lock; `None` if another supervisor has it.
fn lock(run: &RunFolder) -> io::Result<Option<File>> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(run.lock())?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "nothing else runs in this process yet"
        )]
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(None)
}

/// Creates `started.json`; `false` if it is there. It appears with its text, by a hard link, so that
/// nobody reads half of it.
fn write_started(run: &RunFolder, now: Timestamp) -> io::Result<bool> {
    let started = Started {
        pid: std::process::id(),
        boot: table::boot_id(),
        at: now,
    };
    let new = run.path().join(format!("started.json.{}", started.pid));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(&serde_json::to_vec(&started).map_err(io::Error::from)?)?;
    file.sync_all()?;
    let linked = std::fs::hard_link(&new, run.started());
    remove(&new)?;
    match linked {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
