//! Starting a run: the exclusive folder, the files of the run, and a supervisor of its own.
//!
//! What refuses a second start is `started.json`, which a supervisor creates exclusively. Everything
//! before that may be repeated by whoever comes next.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::model::limits::SUPERVISOR_START_MAX;
use crate::model::run::{RunEnd, RunExit, RunSpec};
use crate::ports::runs::StartOutcome;
use crate::ports::{PortError, PortResult};

use super::folder::{Holder, RunFolder, local, read_json, write_whole};

/// How often a start looks whether the supervisor is there.
const LOOK_EVERY: Duration = Duration::from_millis(3);

/// What a start needs besides the spec.
pub(super) struct Starter<'a> {
    pub exe: &'a Path,
    pub handoff: &'a [u8],
}

/// The folder of a run that may be started, locked against other starters.
pub(super) enum Reserved {
    /// Ours, until the file is dropped.
    Ours(File),
    /// A supervisor had it before.
    Taken,
}

/// Creates the folder, or takes one that no supervisor ever had.
pub(super) fn reserve(folder: &RunFolder) -> io::Result<Reserved> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    if let Some(issue) = folder.path().parent() {
        builder.recursive(true).create(issue)?;
    }
    match builder.recursive(false).create(folder.path()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Starters of the same run wait for one another here, so that the later one sees a supervisor
    // and not a folder that only looks abandoned.
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.start_lock())?;
    lock.lock()?;
    if never_began(folder) {
        // Its supervisor goes as soon as it sees that its result was seen.
        wait_for_nobody(folder)?;
        folder.forget()?;
    }
    let had = folder.read_started()?.is_some()
        || folder.exit().exists()
        || folder.holder()? == Holder::Alive;
    Ok(if had {
        Reserved::Taken
    } else {
        Reserved::Ours(lock)
    })
}

/// Did the run that is in the folder end before anything of it ran? Then it may be started anew.
fn never_began(folder: &RunFolder) -> bool {
    read_json::<RunExit>(&folder.exit()).is_ok_and(|exit| exit.end == RunEnd::SandboxUnavailable)
}

fn wait_for_nobody(folder: &RunFolder) -> io::Result<()> {
    let looks = SUPERVISOR_START_MAX.as_millis() / LOOK_EVERY.as_millis();
    for _ in 0..looks {
        if folder.holder()? == Holder::Nobody {
            return Ok(());
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the port is synchronous and the wait is for another process, not for time"
        )]
        std::thread::sleep(LOOK_EVERY);
    }
    Err(io::Error::other(
        "the supervisor of the run that ended does not go",
    ))
}

/// Writes what the supervisor reads.
pub(super) fn write_files(folder: &RunFolder, spec: &RunSpec) -> io::Result<()> {
    if let Some(prompt) = &spec.prompt {
        write_whole(&folder.prompt(), prompt.as_bytes())?;
    }
    for (name, text) in &spec.files {
        write_whole(&folder.path().join(name), text.as_bytes())?;
    }
    // The prompt stands in its own file; twice would only cost disk.
    let slim = RunSpec {
        prompt: None,
        ..spec.clone()
    };
    let text = serde_json::to_vec_pretty(&slim).map_err(io::Error::from)?;
    write_whole(&folder.spec(), &text)
}

/// Starts the supervisor and waits until it has the run.
pub(super) fn start(
    starter: &Starter<'_>,
    folder: &RunFolder,
    spec: &RunSpec,
) -> PortResult<(StartOutcome, Option<Child>)> {
    let what = || format!("start the run `{}`", spec.key);
    let guard = match reserve(folder).map_err(|error| local(what(), error))? {
        Reserved::Ours(guard) => guard,
        Reserved::Taken => return Ok((StartOutcome::AlreadyThere, None)),
    };
    write_files(folder, spec).map_err(|error| local(what(), error))?;
    let launched = launch(starter, folder, spec);
    // By hand, not by closing: a child forked by another thread has a copy until its exec.
    let _ = guard.unlock();
    Ok((StartOutcome::Started, Some(launched?)))
}

/// Starts a supervisor for a folder that is ready, and waits until it has the run.
pub(super) fn launch(
    starter: &Starter<'_>,
    folder: &RunFolder,
    spec: &RunSpec,
) -> PortResult<Child> {
    let what = || format!("start the run `{}`", spec.key);
    let mut child = spawn(starter, folder, spec).map_err(|error| local(what(), error))?;
    match wait_for(folder, &mut child).map_err(|error| local(what(), error))? {
        Seen::Supervisor => Ok(child),
        Seen::Failure(message) => Err(local(what(), message)),
        Seen::Nothing => Err(PortError::unknown(
            what(),
            "the supervisor did not report in time",
        )),
    }
}

fn spawn(starter: &Starter<'_>, folder: &RunFolder, spec: &RunSpec) -> io::Result<Child> {
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(folder.supervisor_log())?;
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the adapter that owns child processes"
    )]
    let mut command = Command::new(starter.exe);
    // Not a group of its own: the supervisor calls `setsid`, which a group's leader may not.
    command
        .arg("supervise")
        // Absolute, since the supervisor leaves this directory.
        .arg(folder.path().canonicalize()?)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(log.try_clone()?)
        .stderr(log);
    // The supervisor's environment can be read by its children; it gets the token by the pipe.
    for name in &spec.env_remove {
        command.env_remove(name);
    }
    let mut child = command.spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // The newline says that it is whole: a starter that is killed in between leaves a supervisor
        // which then knows to give up. One that has given up already shows in `wait_for`.
        let _ = pipe
            .write_all(starter.handoff)
            .and_then(|()| pipe.write_all(b"\n"));
    }
    Ok(child)
}

enum Seen {
    Supervisor,
    Failure(String),
    Nothing,
}

fn wait_for(folder: &RunFolder, child: &mut Child) -> io::Result<Seen> {
    let looks = SUPERVISOR_START_MAX.as_millis() / LOOK_EVERY.as_millis();
    for _ in 0..looks {
        // Seen before the mark is looked for, so that a run which is over already counts as started.
        let gone = child.try_wait()?;
        if folder.read_started()?.is_some() {
            return Ok(Seen::Supervisor);
        }
        if let Some(status) = gone {
            let log = fs::read_to_string(folder.supervisor_log()).unwrap_or_default();
            let last = log
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or_default();
            return Ok(Seen::Failure(format!(
                "the supervisor ended with {status}: {last}"
            )));
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the port is synchronous and the wait is for another process, not for time"
        )]
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(Seen::Nothing)
}
