//! What `ghswarm demo` runs, taken apart: its simulated GitHub as the process that `demo` itself starts, and the
//! engine beside it as processes that may be killed.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::cycled::{Cycled, ended};

/// The demo's server, and where it put everything.
pub struct RealDemo {
    tmp: tempfile::TempDir,
    server: Child,
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    ready: Value,
}

impl RealDemo {
    /// Starts the server with the words that `demo` starts it with.
    pub fn start() -> Self {
        let tmp = tempfile::tempdir().unwrap();
        let mut server = program(tmp.path())
            .args(["demo", "--serve", "--json", "--managed", "--keep"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let asks = server.stdin.take();
        let answers = BufReader::new(server.stdout.take().unwrap());
        let mut demo = Self {
            tmp,
            server,
            asks,
            answers,
            ready: Value::Null,
        };
        demo.ready = demo.answer();
        demo
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// How the world stands, as `demo` asks for it at its end.
    pub fn summary(&mut self) -> Value {
        writeln!(self.asks.as_mut().unwrap(), "summary").unwrap();
        self.answer()
    }

    /// The demo's folder.
    pub fn dir(&self) -> PathBuf {
        PathBuf::from(self.ready["dir"].as_str().unwrap())
    }

    /// A command on the demo's configuration, in the demo's home.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = program(self.tmp.path());
        command
            .env("GITHUB_TOKEN", self.ready["token"].as_str().unwrap())
            .env("GHSWARM_HOME", self.dir().join("home"))
            .env("GHSWARM_CONFIG", self.ready["config"].as_str().unwrap())
            .args(words)
            .stdin(Stdio::null());
        command
    }

    /// An engine whose output nobody reads.
    pub fn engine(&self) -> Child {
        let mut command = self.command(&["cycle", "--wait"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Cycles until nothing but people can change anything.
    pub fn cycle_wait(&self) -> Cycled {
        let mut command = self.command(&["cycle", "--wait", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Cycled::of(ended(command.spawn().unwrap()))
    }

    /// Requests of the whole life that were answered like this, such as `POST /repos/…/pulls 201`.
    pub fn answered(&self, line: &str) -> usize {
        let all = fs::read_to_string(self.dir().join("requests.txt")).unwrap();
        all.lines().filter(|one| *one == line).count()
    }

    /// The agents' runs that began, by their folders' kind.
    pub fn agent_runs(&self) -> Vec<String> {
        let mut folders = below(&self.dir().join("home/runs"), 3);
        folders.sort();
        let kind = |path: &PathBuf| {
            let name = path.file_name()?.to_str()?;
            let kind = name.rsplit('-').next()?;
            ["implement", "review"]
                .contains(&kind)
                .then(|| kind.to_owned())
        };
        folders.iter().filter_map(kind).collect()
    }

    /// Processes of the demo that still run, its server left out.
    pub fn processes(&self) -> Vec<u32> {
        let own = [std::process::id(), self.server.id()];
        let mut all = super::world::processes_of(&self.tmp.path().display().to_string());
        all.retain(|pid| !own.contains(pid));
        all
    }
}

impl Drop for RealDemo {
    fn drop(&mut self) {
        drop(self.asks.take());
        let _ = self.server.wait();
    }
}

/// The program in an empty environment.
fn program(tmp: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ghswarm"));
    command
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", tmp)
        .env("TMPDIR", tmp);
    command
}

/// The folders so many levels below a place.
fn below(place: &Path, levels: u32) -> Vec<PathBuf> {
    if levels == 0 {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(place).into_iter().flatten();
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let folders = folders.filter(|path| path.is_dir());
    folders.flat_map(|path| below(&path, levels - 1)).collect()
}
