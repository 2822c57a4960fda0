//! The command that runs under a lock: started without the lock's descriptor, told every signal that
//! it did not get already, and waited for to its end.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, getpgid, getpgrp, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};

use super::ancestry::{HELD, Stat, noted};
use super::script::NestedCall;
use super::{CLI, HeldLock, LOCK_DIR, identity};

/// The shell of `--script`, that of the published `local-mutex`.
const SHELL: &str = "/bin/sh";

/// The signals that are handed on.
const FORWARDED: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// What runs under the lock.
#[derive(Debug, Clone)]
pub enum Work {
    /// A program and its arguments.
    Command(Vec<OsString>),
    /// The text of a shell script.
    Script(OsString),
}

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// Why the command did not run, or was lost.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such program.
    #[error("there is no command `{program}`")]
    NotFound {
        /// Which.
        program: String,
    },
    /// It is there, and does not start.
    #[error("cannot start the command `{program}`")]
    NotExecutable {
        /// Which.
        program: String,
        /// The kernel's words.
        source: io::Error,
    },
    /// Not the command's fault.
    #[error("cannot watch the command")]
    Watch(#[from] io::Error),
}

impl HeldLock {
    /// Runs a command to its end while the lock is held.
    pub fn run(&self, work: &Work, nested: &NestedCall) -> Result<Ending, StartError> {
        let own = Stat::of(None);
        let mut command = command(work);
        command.env(LOCK_DIR, &self.folder).env(CLI, nested.path());
        if let Some(held) = noted(identity(&self.file)?, own.as_ref()) {
            command.env(HELD, held);
        }
        // One thread and no timer: only its signal handlers are wanted, which without it would take
        // `unsafe`.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let status = runtime.block_on(async {
            // Before the start, so that no signal ends us and leaves the command behind.
            let mut listeners = Listeners::new(own.map_or(0, |own| own.ignored))?;
            let child = command.spawn().map_err(|error| not_started(work, error))?;
            listeners.forward_until_end(child).await
        })?;
        Ok(match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Exited(code),
            (None, signal) => Ending::Killed(signal.unwrap_or_default()),
        })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the adapter of the command under a lock"
)]
fn command(work: &Work) -> Command {
    match work {
        Work::Command(words) => {
            let mut words = words.iter();
            let mut command = Command::new(words.next().cloned().unwrap_or_default());
            command.args(words);
            command
        }
        Work::Script(text) => {
            let mut command = Command::new(SHELL);
            // `--`, so that a text that begins with `-` is no option of the shell.
            command.arg("-c").arg("--").arg(text);
            command
        }
    }
}

fn not_started(work: &Work, source: io::Error) -> StartError {
    let program = match work {
        Work::Command(words) => words.first().map(|word| word.display().to_string()),
        Work::Script(_) => Some(SHELL.to_owned()),
    };
    let program = program.unwrap_or_default();
    if source.kind() == io::ErrorKind::NotFound {
        StartError::NotFound { program }
    } else {
        StartError::NotExecutable { program, source }
    }
}

/// One listener for each of [`FORWARDED`].
struct Listeners([Option<Listener>; 4]);

impl Listeners {
    /// A signal that was ignored at our start (`nohup`, a shell's background jobs) stays so, for the
    /// command too: whoever started us did not want it to end anything.
    fn new(ignored: u64) -> io::Result<Self> {
        let mut listeners = [const { None }; 4];
        for (listener, wanted) in listeners.iter_mut().zip(FORWARDED) {
            let number = wanted.as_raw();
            if ignored & (1 << (number - 1)) == 0 {
                *listener = Some(signal(SignalKind::from_raw(number))?);
            }
        }
        Ok(Self(listeners))
    }

    async fn forward_until_end(&mut self, mut child: Child) -> Result<ExitStatus, StartError> {
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let [int, term, hup, quit] = &mut self.0;
        loop {
            let came = tokio::select! {
                biased;
                () = next(int) => Signal::INT,
                () = next(quit) => Signal::QUIT,
                () = next(hup) => Signal::HUP,
                () = next(term) => Signal::TERM,
                status = child.wait() => return Ok(status?),
            };
            // It is not waited for yet, so its number is still its own.
            if let Some(pid) = pid
                && !has_it_already(pid, came)
            {
                let _ = kill_process(pid, came);
            }
        }
    }
}

/// The next signal of a kind; never, if it is not listened for.
async fn next(listener: &mut Option<Listener>) {
    if let Some(listener) = listener
        && listener.recv().await.is_some()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// A terminal sends its keys' signals to the whole group in its foreground. Many programs take a
/// second Ctrl-C for "now, without tidying up", so one that is in the same group does not get it from
/// us as well. (Who sent a signal would say it better, but that is not to be had without `unsafe`:
/// `kill -INT` on us alone, in the foreground of a terminal, is taken for a key.)
fn has_it_already(child: Pid, signal: Signal) -> bool {
    let key = signal == Signal::INT || signal == Signal::QUIT;
    key && getpgid(Some(child)).is_ok_and(|group| group == getpgrp()) && in_foreground()
}

fn in_foreground() -> bool {
    std::fs::File::open("/dev/tty")
        .ok()
        .and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok())
        .is_some_and(|group| group == getpgrp())
}
