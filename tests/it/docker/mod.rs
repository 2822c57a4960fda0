//! Commands in containers of a real Docker engine, under real supervisors. The images are made here, of
//! busybox and git, so no registry is needed. Without an engine each test says on standard error that it
//! was skipped; with `GHSWARM_REQUIRE_DOCKER=1` it fails instead.
#![allow(
    clippy::disallowed_methods,
    reason = "the tests ask the docker client, and wait for other processes by the real clock"
)]

mod agents;
mod door;
mod files;
mod git;
mod images;
mod life;
mod limits;
mod steps;
mod whole;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ghswarm::adapters::docker::{DockerContainers, Places};
use ghswarm::adapters::processes::ProcessRuns;
use ghswarm::model::ids::{Epoch, IssueNumber};
use ghswarm::model::run::{
    Boxed, Clocks, Order, RunCommand, RunExit, RunFacts, RunKey, RunKind, RunSpec, RunStatus,
};
use ghswarm::model::sandbox::{Caps, Network, Pull, Sandbox, SandboxOwner, User};
use ghswarm::ports::runs::{Runs, StartOutcome};

const ISSUE: IssueNumber = IssueNumber(42);
const REPOSITORY: u64 = 7;

/// How long a fact is waited for; an engine under load is slow.
const LIMIT: Duration = Duration::from_secs(60);

/// A home with one worktree whose commands run in containers.
struct Home {
    dir: tempfile::TempDir,
    runs: ProcessRuns,
    sandbox: Sandbox,
    owner: SandboxOwner,
}

impl Home {
    /// `None` where there is no engine, after saying so.
    fn new() -> Option<Self> {
        if !engine_is_there() {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("tree")).unwrap();
        let owner = SandboxOwner {
            instance: format!("test{:012x}", rand::random::<u64>() >> 16),
            repository: REPOSITORY,
        };
        Some(Self {
            runs: Self::engine(dir.path(), &owner),
            dir,
            sandbox: sandbox(images::busybox()),
            owner,
        })
    }

    /// Another engine on the same home.
    fn engine(dir: &Path, owner: &SandboxOwner) -> ProcessRuns {
        let exe = PathBuf::from(env!("CARGO_BIN_EXE_ghswarm"));
        ProcessRuns::new(dir.join("runs/7"), exe, b"{}".to_vec())
            .with_containers(containers(), owner.clone())
    }

    fn tree(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    fn step(&self, shell: &str) -> RunCommand {
        RunCommand {
            label: shell.to_owned(),
            shell: shell.to_owned(),
            dir: PathBuf::new(),
            prompt_on_stdin: false,
            clocks: None,
            config: Some(self.sandbox.config.clone()),
            sandbox: Some(Box::new(Boxed {
                sandbox: self.sandbox.clone(),
                owner: self.owner.clone(),
            })),
            agent: None,
        }
    }

    fn spec(&self, steps: &[&str]) -> RunSpec {
        self.spec_of(steps.iter().map(|shell| self.step(shell)).collect())
    }

    fn spec_of(&self, commands: Vec<RunCommand>) -> RunSpec {
        RunSpec {
            key: RunKey {
                issue: ISSUE,
                epoch: Epoch(1000),
                seq: 1,
                kind: RunKind::Verify,
                again: 0,
            },
            worktree: self.tree(),
            commands,
            order: Order::Sequence,
            prompt: None,
            files: std::collections::BTreeMap::new(),
            tasks: Vec::new(),
            fresh_files: Vec::new(),
            env: BTreeMap::new(),
            env_remove: Vec::new(),
            env_clear: None,
            clocks: patient_clocks(),
            allowance: ghswarm::model::money::Allowance::default(),
            agent_box: None,
            lease: None,
            head: None,
        }
    }

    fn started(&self, spec: &RunSpec) {
        assert_eq!(self.runs.start(spec).unwrap(), StartOutcome::Started);
    }

    fn run(&self, spec: &RunSpec) -> (RunFacts, RunExit) {
        self.started(spec);
        self.ended()
    }

    /// Runs the steps as run number `seq`.
    fn run_steps(&self, seq: u32, steps: &[&str]) -> (RunFacts, RunExit) {
        let mut spec = self.spec(steps);
        spec.key.seq = seq;
        self.run(&spec)
    }

    fn facts(&self) -> RunFacts {
        self.runs.facts(ISSUE).unwrap().pop().expect("a run folder")
    }

    fn ended(&self) -> (RunFacts, RunExit) {
        until("the run has ended", || self.end())
    }

    fn end(&self) -> Option<(RunFacts, RunExit)> {
        let facts = self.facts();
        match facts.status.clone() {
            RunStatus::Ended(exit) => Some((facts, exit)),
            RunStatus::Reserved | RunStatus::Running { .. } => None,
        }
    }

    /// Names of this home's containers.
    fn containers(&self) -> Vec<String> {
        self.labelled(&["ps", "-a", "--format", "{{.Names}}"])
    }

    /// The last thing a supervisor does, after its last word.
    fn cleared(&self) {
        until("no container is left", || {
            self.containers().is_empty().then_some(())
        });
    }

    /// Names of this home's volumes.
    fn volumes(&self) -> Vec<String> {
        self.labelled(&["volume", "ls", "--format", "{{.Name}}"])
    }

    fn labelled(&self, arguments: &[&str]) -> Vec<String> {
        let label = format!("label=ghswarm.instance={}", self.owner.instance);
        let found = docker(&[arguments, &["--filter", &label]].concat());
        found.lines().map(str::to_owned).collect()
    }
}

impl Drop for Home {
    /// A failed test leaves nothing behind.
    fn drop(&mut self) {
        for run in self.runs.facts(ISSUE).unwrap_or_default() {
            let _ = self.runs.stop(&run.key);
        }
        for name in self.containers() {
            docker_quietly(&["rm", "-f", &name]);
        }
        for name in self.volumes() {
            docker_quietly(&["volume", "rm", "-f", &name]);
        }
    }
}

fn containers() -> Arc<DockerContainers> {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let env = std::env::vars().collect();
    Arc::new(DockerContainers::new(Places::of(&var), env).unwrap())
}

fn sandbox(image: &str) -> Sandbox {
    Sandbox {
        config: "verify.sandbox".to_owned(),
        image: image.to_owned(),
        pull: Pull::Never,
        network: Network::Default,
        user: User::Auto,
        env: BTreeMap::new(),
        env_passthrough: Vec::new(),
        volumes: Vec::new(),
        isolate_dirs: Vec::new(),
        caps: Caps::default(),
    }
}

/// Clocks that never run out in a test.
fn patient_clocks() -> Clocks {
    let long = Duration::from_secs(600);
    Clocks {
        startup: long,
        idle: long,
        total: long,
        completion_grace: Duration::from_secs(20),
        kill_grace: Duration::from_secs(20),
    }
}

/// Is there an engine? Where there is none the test that asks is reported by name.
fn engine_is_there() -> bool {
    static THERE: OnceLock<Result<(), String>> = OnceLock::new();
    let there = THERE.get_or_init(|| {
        let known = containers().described();
        known.map(drop).map_err(|error| error.to_string())
    });
    let Err(trouble) = there else { return true };
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default();
    assert!(
        std::env::var_os("GHSWARM_REQUIRE_DOCKER").is_none(),
        "{name} needs a Docker engine: {trouble}"
    );
    // Past the capture of the test's own output, which nobody sees of a test that passes.
    let _ = writeln!(std::io::stderr(), "skipped: {name}: {trouble}");
    false
}

/// Asks the docker client.
fn docker(arguments: &[&str]) -> String {
    let done = Command::new("docker").args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "docker {arguments:?}: {said}");
    String::from_utf8(done.stdout).unwrap()
}

fn docker_quietly(arguments: &[&str]) {
    let _ = Command::new("docker").args(arguments).output();
}

/// Waits until `fact` is there.
fn until<T>(what: &str, mut fact: impl FnMut() -> Option<T>) -> T {
    let pause = Duration::from_millis(20);
    for _ in 0..LIMIT.as_millis() / pause.as_millis() {
        if let Some(found) = fact() {
            return found;
        }
        std::thread::sleep(pause);
    }
    panic!("not within {LIMIT:?}: {what}");
}
