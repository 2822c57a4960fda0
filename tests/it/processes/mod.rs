//! Runs as real processes: the real binary as supervisor, shell scripts as agents, shrunk times. The
//! tests wait for facts, with a limit, and assert no durations.
#![allow(
    clippy::disallowed_methods,
    reason = "the tests wait for other processes, by the real clock"
)]

mod agents;
mod clocks;
mod commands;
mod death;
mod fakes;
mod hours;
mod lease;
mod renewal;
mod starting;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ghswarm::adapters::processes::ProcessRuns;
use ghswarm::model::ids::{Epoch, IssueNumber};
use ghswarm::model::money::Allowance;
use ghswarm::model::run::{
    Clocks, Order, RunCommand, RunExit, RunFacts, RunKey, RunKind, RunSpec, RunStatus,
};
use ghswarm::ports::runs::{Runs, StartOutcome};

const ISSUE: IssueNumber = IssueNumber(42);

/// How long a fact is waited for.
const LIMIT: Duration = Duration::from_secs(30);

/// A home with one worktree.
struct Home {
    dir: tempfile::TempDir,
    runs: ProcessRuns,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("tree")).unwrap();
        let runs = Self::engine(dir.path());
        Self { dir, runs }
    }

    /// Another engine on the same home.
    fn engine(dir: &Path) -> ProcessRuns {
        let exe = PathBuf::from(env!("CARGO_BIN_EXE_ghswarm"));
        ProcessRuns::new(dir.join("runs/7"), exe, b"{}".to_vec())
    }

    fn tree(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    fn spec(&self, commands: &[&str]) -> RunSpec {
        let command = |(index, shell): (usize, &&str)| RunCommand {
            label: format!("agent-{index}"),
            shell: (*shell).to_owned(),
            dir: PathBuf::new(),
            prompt_on_stdin: false,
            clocks: None,
            config: None,
            sandbox: None,
            agent: None,
        };
        RunSpec {
            key: RunKey {
                issue: ISSUE,
                epoch: Epoch(1000),
                seq: 1,
                kind: RunKind::Implement,
                again: 0,
            },
            worktree: self.tree(),
            commands: commands.iter().enumerate().map(command).collect(),
            order: Order::Fallback,
            prompt: None,
            files: std::collections::BTreeMap::new(),
            tasks: vec!["first".to_owned()],
            fresh_files: vec![PathBuf::from("QUESTION.md"), PathBuf::from("REVIEW.md")],
            env: BTreeMap::new(),
            env_remove: Vec::new(),
            env_clear: None,
            clocks: patient_clocks(),
            allowance: Allowance::default(),
            agent_box: None,
            lease: None,
            head: None,
        }
    }

    fn started(&self, spec: &RunSpec) {
        assert_eq!(self.runs.start(spec).unwrap(), StartOutcome::Started);
    }

    /// Starts the run and waits for its end.
    fn run(&self, spec: &RunSpec) -> (RunFacts, RunExit) {
        self.started(spec);
        self.ended()
    }

    fn facts(&self) -> RunFacts {
        self.runs.facts(ISSUE).unwrap().pop().expect("a run folder")
    }

    fn ended(&self) -> (RunFacts, RunExit) {
        let ended = || {
            let facts = self.facts();
            match facts.status.clone() {
                RunStatus::Ended(exit) => Some((facts, exit)),
                RunStatus::Reserved | RunStatus::Running { .. } => None,
            }
        };
        until("the run has ended", ended)
    }

    /// Waits for a file that a script writes whole, by rename or in one small write.
    fn file(&self, name: &str) -> String {
        let path = self.tree().join(name);
        until(name, || {
            fs::read_to_string(&path)
                .ok()
                .filter(|text| text.ends_with('\n'))
        })
        .trim()
        .to_owned()
    }

    fn supervisor(&self) -> u32 {
        let path = self.facts().folder.join("started.json");
        let text = fs::read_to_string(path).unwrap();
        let started: serde_json::Value = serde_json::from_str(&text).unwrap();
        u32::try_from(started["pid"].as_u64().unwrap()).unwrap()
    }
}

impl Drop for Home {
    /// A failed test leaves no processes behind.
    fn drop(&mut self) {
        for run in self.runs.facts(ISSUE).unwrap_or_default() {
            let _ = self.runs.stop(&run.key);
        }
    }
}

/// Clocks that never run out in a test.
fn patient_clocks() -> Clocks {
    Clocks {
        startup: Duration::from_secs(600),
        idle: Duration::from_secs(600),
        total: Duration::from_secs(600),
        completion_grace: Duration::from_millis(300),
        kill_grace: Duration::from_secs(20),
    }
}

/// Waits until `fact` is there.
fn until<T>(what: &str, mut fact: impl FnMut() -> Option<T>) -> T {
    let pause = Duration::from_millis(10);
    for _ in 0..LIMIT.as_millis() / pause.as_millis() {
        if let Some(found) = fact() {
            return found;
        }
        std::thread::sleep(pause);
    }
    panic!("not within {LIMIT:?}: {what}");
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Does the process run? A zombie does not.
fn lives(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| {
            stat.rsplit_once(')')
                .map(|(_, rest)| rest.trim().to_owned())
        })
        .is_some_and(|rest| !rest.starts_with(['Z', 'X']))
}

fn gone(pid: &str) {
    until(&format!("process {pid} is gone"), || {
        (!lives(pid)).then_some(())
    });
}
