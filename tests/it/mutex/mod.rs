//! `ghswarm mutex` as real processes. The tests wait for facts: a line on a pipe, a row in the
//! kernel's table of locks, the end of a process.
#![allow(
    clippy::disallowed_methods,
    reason = "the tests start processes and wait for them, by the real clock"
)]

mod action;
mod holding;
mod nested;
mod passing;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ghswarm::model::mutex::MutexName;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// How long a fact is waited for.
const LIMIT: Duration = Duration::from_secs(60);

/// A machine with a folder of locks and a home, which is also the working folder.
struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("locks")).unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn lock_file(&self, name: &str) -> PathBuf {
        let name = MutexName::parse(name.as_bytes()).unwrap();
        self.path("locks").join(name.file_name())
    }

    /// Any program in this machine's environment.
    fn program(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.dir.path())
            .env("LOCAL_MUTEX_LOCK_DIR", self.path("locks"))
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    /// `ghswarm mutex` with these arguments.
    fn mutex(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_ghswarm"));
        command.arg("mutex").args(arguments);
        command
    }

    /// `ghswarm mutex NAME --script TEXT`, started.
    fn starts(&self, name: &str, script: &str) -> Running {
        Running::start(&mut self.mutex(&[name, "--script", script]))
    }

    fn is_locked(&self, name: &str) -> bool {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.lock_file(name))
            .unwrap();
        file.try_lock().is_err()
    }
}

/// A process whose output is read line by line.
struct Running {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    errors: BufReader<std::process::ChildStderr>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let errors = BufReader::new(child.stderr.take().unwrap());
        Self { child, out, errors }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The next line of standard output, waited for.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn error_line(&mut self) -> String {
        let mut line = String::new();
        self.errors.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits until the kernel's table says that it waits for a lock. Only Linux has one; elsewhere
    /// the order of what follows still shows who waited.
    fn is_blocked(&self) {
        if !cfg!(target_os = "linux") {
            return;
        }
        let pid = self.child.id().to_string();
        eventually("it waits for the lock", || {
            let table = fs::read_to_string("/proc/locks").unwrap();
            table.lines().any(|row| {
                let mut fields = row.split_ascii_whitespace();
                fields.any(|field| field == "->") && fields.any(|field| field == pid)
            })
        });
    }

    /// Ends its input, waits, and answers with what it still printed.
    fn ends(mut self) -> Ended {
        drop(self.child.stdin.take());
        let mut ended = Ended::default();
        self.out.read_to_string(&mut ended.out).unwrap();
        self.errors.read_to_string(&mut ended.errors).unwrap();
        ended.status = self.child.wait().unwrap().code();
        ended
    }
}

/// What a process left.
#[derive(Debug, Default)]
struct Ended {
    status: Option<i32>,
    out: String,
    errors: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn ended(command: &mut Command) -> Ended {
    command.output().unwrap().into()
}

#[track_caller]
fn eventually(what: &str, fact: impl Fn() -> bool) {
    let start = Instant::now();
    while !fact() {
        assert!(start.elapsed() < LIMIT, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A process that a test leaves behind on purpose; ended with the test.
struct Orphan(Pid);

impl Orphan {
    fn named(pid: &str) -> Self {
        Self(Pid::from_raw(pid.parse().unwrap()).unwrap())
    }

    fn lives(&self) -> bool {
        test_kill_process(self.0).is_ok()
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}
