//! One simulated GitHub with a repository, CI and a reviewer, and homes that work on it, each with a
//! clone, a configuration and a token of its own kind of user.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ghswarm::model::body::{StateBlock, parse};
use ghswarm::model::ids::RepoSlug;
use ghswarm::model::state::IssueState;
use ghswarm::sim::github::model::{Issue, PrStanding};
use ghswarm::sim::github::{Actors, ActorsConfig, Op, Seed, Serving, Sim, SimRepo, serve};
use rustix::process::{Pid, Signal};

use super::cycled::{Cycled, ended};
use super::{until, until_so};

/// Owns repository and token.
pub const OWNER: &str = "demo";

/// So often a cycle that waits may end early, since approval is people's.
const CYCLES_MAX: u32 = 40;

/// What a world is about.
pub struct Setup {
    /// The project.
    pub files: &'static [(&'static str, &'static str)],
    /// What CI runs; without it nobody checks and nobody approves but the test.
    pub ci: Option<&'static str>,
    /// The implementing agent's work, in sh; it is counted and may be held.
    pub work: &'static str,
    /// Lines of the repository's configuration, each with its indentation of four spaces.
    pub extra: &'static str,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            files: &[("README.md", "# small\n")],
            ci: Some("true"),
            work: "echo done > done-$GHSWARM_ISSUE.txt\ngit add -A\ngit commit -q -m 'Do it'",
            extra: "",
        }
    }
}

/// Leases that run out within seconds, and agents that end as fast.
pub const SHORT_LEASE: &str =
    "    lease: {ttl: 2s, test_margins: {grace: 300ms, max_ahead: 5m, odd_ttl: 10m}}\n";

/// A body whose verify steps are these.
pub fn body(verify: &str) -> String {
    format!(
        "<!-- GHSWARM_VERIFY_START\nverify: {verify}\nGHSWARM_VERIFY_END -->\n\nIt is missing.\n\n- [ ] make the file\n"
    )
}

/// The world.
pub struct World {
    dir: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    serving: Option<Serving>,
    actors: Option<Actors>,
    pub sim: Arc<Sim>,
    pub repo: SimRepo,
    slug: RepoSlug,
    extra: &'static str,
}

impl World {
    pub fn new(setup: &Setup) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("ghswarm-e2e-")
            .tempdir()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let sim = Sim::new(dir.path().join("github"));
        let slug = RepoSlug {
            owner: OWNER.to_owned(),
            name: "small".to_owned(),
        };
        let repo = sim.create_repo(&slug, &Seed::Files(setup.files)).unwrap();
        let serving = runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
                .await
                .unwrap();
            serve(&sim, listener).unwrap()
        });
        let actors = setup.ci.map(|command| {
            let config = ActorsConfig {
                ci_command: Some(command.to_owned()),
                check_name: "ci".to_owned(),
                reviewer: Some("rita".to_owned()),
            };
            Actors::start(&repo, &config).unwrap()
        });
        let world = Self {
            runtime,
            serving: Some(serving),
            actors,
            sim,
            repo,
            slug,
            extra: setup.extra,
            dir,
        };
        world.plant_agents(setup.work);
        world
    }

    fn plant_agents(&self, work: &str) {
        let control = self.control("");
        fs::create_dir_all(&control).unwrap();
        let control = control.display();
        // Held before the work: a run that is held has done nothing yet.
        let script = format!(
            "set -eu\nrole=$1 prompt=${{2:-}}\necho \"$role\" >> {control}/runs\n\
             env > {control}/env-$role\necho begun\n\
             while [ -e {control}/hold-$role ]; do sleep 0.05; done\n\
             case $role in\nreview) echo fine ;;\nverify) ;;\n*)\n{work}\n;;\nesac\n"
        );
        fs::write(self.dir.path().join("agent.sh"), script).unwrap();
    }

    /// A verify step that is counted, and may be held.
    pub fn verify_step(&self) -> String {
        format!("sh {}/agent.sh verify", self.dir.path().display())
    }

    pub fn url(&self) -> String {
        self.serving.as_ref().unwrap().url()
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn control(&self, name: &str) -> PathBuf {
        self.dir.path().join("control").join(name)
    }

    /// Runs of this role that start from now on stop before their work.
    pub fn hold(&self, role: &str) {
        fs::write(self.control(&format!("hold-{role}")), "").unwrap();
    }

    /// They go on.
    pub fn let_go(&self, role: &str) {
        fs::remove_file(self.control(&format!("hold-{role}"))).unwrap();
    }

    /// Waits until so many runs of this role have begun.
    pub fn until_begun(&self, role: &str, count: usize) {
        until_so(&format!("{count} runs of {role}"), || {
            self.agent_runs().iter().filter(|r| *r == role).count() >= count
        });
    }

    /// The roles of all runs that ever began, in order.
    pub fn agent_runs(&self) -> Vec<String> {
        let text = fs::read_to_string(self.control("runs")).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }

    /// The environment of the last agent of this role.
    pub fn agent_env(&self, role: &str) -> String {
        fs::read_to_string(self.control(&format!("env-{role}"))).unwrap()
    }

    /// Opens an issue that the swarm may take.
    pub fn open_issue(&self, title: &str, body: &str) -> u64 {
        self.repo
            .open_issue(OWNER, title, body, &["status: idle"])
            .unwrap()
    }

    /// A new home of the owner, with a clone of its own.
    pub fn home(&self, name: &str) -> Home {
        self.home_behind(name, &self.url())
    }

    /// The same, with GitHub at another address.
    pub fn home_behind(&self, name: &str, url: &str) -> Home {
        let dir = self.dir.path().join(name);
        let clone = dir.join("clone");
        fs::create_dir_all(dir.join("user")).unwrap();
        let git = |words: &[&str]| {
            let done = Command::new("git").args(words).output().unwrap();
            assert!(done.status.success(), "{words:?}: {done:?}");
        };
        let at = clone.display().to_string();
        git(&["clone", "-q", &self.repo.path().display().to_string(), &at]);
        let remote = format!("{url}/{}.git", self.slug);
        git(&["-C", &at, "remote", "set-url", "origin", &remote]);
        git(&["-C", &at, "config", "user.name", "Demo"]);
        git(&["-C", &at, "config", "user.email", "demo@example.com"]);
        let config = dir.join("ghswarm.yaml");
        let agent = |role: &str| {
            format!(
                "{{command: 'sh {}/agent.sh {role} {{prompt_file}}', kill_grace: 200ms}}",
                self.dir.path().display()
            )
        };
        let text = format!(
            "repositories:\n  {name}:\n    repo: {}\n    path: {at}\n    poll_interval: 200ms\n    \
             ci_start_grace: 20s\n    post_merge_ci_grace: 20s\n    event_db: {}/events.db\n{}    \
             github: {{api_url: \"{url}\", write_spacing: 0s}}\n    agents:\n      implement: {}\n      \
             review: {}\n",
            self.slug,
            dir.display(),
            self.extra,
            agent("implement"),
            agent("review")
        );
        fs::write(&config, text).unwrap();
        Home {
            token: self.sim.token_for(OWNER),
            config,
            clone,
            dir,
        }
    }

    pub fn issue(&self, number: u64) -> Issue {
        self.repo.issue(number).unwrap()
    }

    /// The state block as it stands.
    pub fn state(&self, number: u64) -> IssueState {
        match parse(&self.issue(number).body).state {
            StateBlock::Found { state, .. } => *state,
            _ => IssueState::default(),
        }
    }

    /// How many requests of these kinds there were from the `from`th on.
    pub fn count(&self, from: usize, ops: &[Op]) -> usize {
        let all = self.sim.requests();
        all.iter()
            .skip(from)
            .filter(|r| ops.contains(&r.op))
            .count()
    }

    /// How many requests there were, git's included.
    pub fn asked(&self) -> usize {
        self.sim.requests().len()
    }

    /// Processes that were started for this world and still run.
    pub fn processes(&self) -> Vec<u32> {
        processes_of(&self.dir.path().display().to_string())
    }

    /// What has to hold once an issue is done, whatever happened on the way.
    pub fn assert_done_once(&self, number: u64) {
        let issue = self.issue(number);
        let what = format!("issue #{number}: {issue:#?}");
        assert!(!issue.open, "{what}");
        assert_eq!(issue.labels, ["status: completed"], "{what}");
        assert_eq!(self.state(number).phase, "done", "{what}");
        let branch = format!("issue-{number}");
        let prs = self.repo.prs().unwrap();
        let ours: Vec<_> = prs.iter().filter(|(_, pr)| pr.head_ref == branch).collect();
        assert_eq!(ours.len(), 1, "one pull request: {ours:#?}");
        assert!(matches!(ours[0].1.standing, PrStanding::Merged(..)));
        let refs = self.repo.refs().unwrap();
        let left: Vec<_> = refs
            .keys()
            .filter(|name| name.ends_with(&branch) || name.starts_with("refs/leases/slot"))
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        let mut keys = BTreeSet::new();
        for comment in &issue.comments {
            let key = comment.body.lines().next().unwrap_or_default();
            assert!(keys.insert(key.to_owned()), "twice: {key}");
        }
    }

    /// No process outlives the work.
    pub fn assert_nothing_runs(&self) {
        let mut last = Vec::new();
        let is_quiet = || {
            last = self.processes();
            last.is_empty()
        };
        assert!(
            super::comes_true(is_quiet),
            "still there: {:#?}",
            described(&last)
        );
    }

    /// Commits on the default branch, the first one left out.
    pub fn merges(&self) -> usize {
        let path = self.repo.path().display().to_string();
        let words = ["--git-dir", &path, "rev-list", "--first-parent", "main"];
        let done = Command::new("git").args(words).output().unwrap();
        String::from_utf8(done.stdout).unwrap().lines().count() - 1
    }
}

impl Drop for World {
    /// A failed test leaves no processes behind.
    fn drop(&mut self) {
        for pid in self.processes() {
            signal(pid, Signal::KILL);
        }
        drop(self.actors.take());
        drop(self.serving.take());
        let _ = &self.runtime;
    }
}

/// A home on some machine.
pub struct Home {
    pub token: String,
    pub config: PathBuf,
    pub clone: PathBuf,
    pub dir: PathBuf,
}

impl Home {
    /// The program with this home, in an environment of its own.
    pub fn ghswarm(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ghswarm"));
        command
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.dir.join("user"))
            .env("GHSWARM_HOME", self.dir.join("home"))
            .env("GITHUB_TOKEN", &self.token)
            .arg("--config")
            .arg(&self.config)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a command whose output nobody reads.
    pub fn start(&self, words: &[&str]) -> Child {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.dir.join("engine.log"))
            .unwrap();
        self.ghswarm(words)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap()
    }

    /// What commands of `start` said.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("engine.log")).unwrap_or_default()
    }

    /// One cycle.
    pub fn cycle(&self) -> Cycled {
        Cycled::of(self.ghswarm(&["cycle", "--json"]).output().unwrap())
    }

    /// Cycles until nothing but people can change anything.
    pub fn cycle_wait(&self) -> Cycled {
        let child = self
            .ghswarm(&["cycle", "--wait", "--json"])
            .spawn()
            .unwrap();
        Cycled::of(ended(child))
    }

    /// Cycles until the issue is done; approval, which people give, is waited for.
    pub fn to_done(&self, world: &World, issue: u64) {
        for _ in 0..CYCLES_MAX {
            let cycled = self.cycle_wait();
            assert_ne!(cycled.outcome(issue), "blocked", "{cycled:#?}");
            // Another process of this home may have finished it: then this one has nothing to say.
            if !world.issue(issue).open {
                return assert_eq!(cycled.status, Some(0), "{cycled:#?}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let last = self.cycle_wait();
        panic!("not done: {last:#?}\n{:#?}", world.issue(issue));
    }

    /// The folders of all runs, oldest first.
    pub fn run_folders(&self, issue: u64) -> Vec<PathBuf> {
        let Ok(repositories) = fs::read_dir(self.dir.join("home/runs")) else {
            return Vec::new();
        };
        let mut folders: Vec<PathBuf> = repositories
            .filter_map(|entry| {
                fs::read_dir(entry.ok()?.path().join(format!("issue-{issue}"))).ok()
            })
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.join("spec.json").exists())
            .collect();
        folders.sort();
        folders
    }

    /// The pid of the supervisor of the run that is going on, and its folder.
    pub fn supervisor(&self, issue: u64, kind: &str) -> (u32, PathBuf) {
        until(&format!("a supervisor of a {kind} run"), || {
            self.run_folders(issue).into_iter().find_map(|folder| {
                let of_kind = folder.display().to_string().ends_with(kind);
                let open = of_kind && !folder.join("exit.json").exists();
                let text = open.then(|| fs::read_to_string(folder.join("started.json")).ok())??;
                let started: serde_json::Value = serde_json::from_str(&text).ok()?;
                let pid = u32::try_from(started["pid"].as_u64()?).ok()?;
                Path::new(&format!("/proc/{pid}"))
                    .exists()
                    .then_some((pid, folder))
            })
        })
    }
}

/// Name, state and arguments of processes, for a failed test.
fn described(pids: &[u32]) -> Vec<String> {
    let file = |pid: &u32, name: &str| fs::read_to_string(format!("/proc/{pid}/{name}"));
    let line = |pid: &u32| {
        let stat = file(pid, "stat").unwrap_or_default();
        let words = file(pid, "cmdline").unwrap_or_default().replace('\0', " ");
        format!("{words} {stat}")
    };
    pids.iter().map(line).collect()
}

/// Sends a signal; a process that is gone is no matter.
pub fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap();
    let _ = rustix::process::kill_process(pid, signal);
}

/// Other processes that name this place in their environment or command line.
pub fn processes_of(mark: &str) -> Vec<u32> {
    let own = std::process::id();
    let pids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let named = |pid: &u32| {
        ["environ", "cmdline"].iter().any(|file| {
            fs::read(format!("/proc/{pid}/{file}"))
                .is_ok_and(|text| String::from_utf8_lossy(&text).contains(mark))
        })
    };
    pids.filter(|pid| *pid != own).filter(named).collect()
}
