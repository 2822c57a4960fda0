//! `ghswarm lease` as agents call it: the real binary on a served simulated GitHub, beside the published
//! gh-issue-lease, and its verbs in every order of their requests.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the tests start other programs by the real clock, and say what they leave out"
)]

mod gated;
mod hooks;
mod interop;
mod orders;
mod orders_rest;
mod race;
mod verbs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use ghswarm::sim::github::model::Access;
use ghswarm::sim::github::{Seed, Serving, Sim, SimRepo, serve};
use serde_json::{Value, json};

/// The repository of these tests.
const SLUG: &str = "acme/widget";

/// A simulated GitHub, served, and a machine whose agents use it.
struct Hub {
    serving: Option<Serving>,
    runtime: tokio::runtime::Runtime,
    sim: Arc<Sim>,
    repo: SimRepo,
    dir: tempfile::TempDir,
}

impl Hub {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let sim = Sim::new(dir.path().join("github"));
        let files = Seed::Files(&[("README.md", "# widget\n")]);
        let repo = sim.create_repo(&SLUG.parse().unwrap(), &files).unwrap();
        repo.set_access("op", Access::Write);
        let serving = runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
            serve(&sim, listener.unwrap()).unwrap()
        });
        std::fs::create_dir(dir.path().join("user")).unwrap();
        Self {
            serving: Some(serving),
            runtime,
            sim,
            repo,
            dir,
        }
    }

    fn url(&self) -> String {
        self.serving.as_ref().unwrap().url()
    }

    /// GitHub is gone.
    fn stop(&mut self) {
        let serving = self.serving.take().unwrap();
        self.runtime.block_on(serving.stop());
    }

    fn issue(&self, title: &str, labels: &[&str]) -> u64 {
        self.repo.open_issue("acme", title, "", labels).unwrap()
    }

    /// A program on this machine, with nothing in its environment but the way to GitHub.
    fn program(&self, program: &Path, agent: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.dir.path().join("user"))
            .env("GH_REPO", SLUG)
            .env("GH_ISSUE_LEASE_MAX_RETRY", "0")
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        if !agent.is_empty() {
            command.env("AGENT_ID", agent);
        }
        command
    }

    fn ours(&self, agent: &str, words: &[&str]) -> Command {
        let mut command = self.program(Path::new(env!("CARGO_BIN_EXE_ghswarm")), agent);
        let url = self.serving.as_ref().map(Serving::url);
        command
            .env(
                "GITHUB_API_URL",
                url.unwrap_or_else(|| "http://127.0.0.1:9".to_owned()),
            )
            .env("GITHUB_TOKEN", self.sim.token_for("op"))
            .arg("lease")
            .args(words);
        command
    }

    /// The published gh-issue-lease, whose gh is led here.
    fn theirs(&self, agent: &str, words: &[&str]) -> Command {
        let mut command = self.program(Path::new("node"), agent);
        command
            .env("GH_REPO", format!("github.localhost/{SLUG}"))
            .env("GH_HOST", "github.localhost")
            .env("HTTP_PROXY", self.url())
            .env("GH_TOKEN", self.sim.token_for("op"))
            .env("GH_NO_UPDATE_NOTIFIER", "1")
            .env("GH_ISSUE_LEASE_MAX_RETRY", "5")
            .arg(published())
            .args(words);
        command
    }

    /// Exit status, standard output and standard error.
    fn said(mut command: Command) -> (i32, String, String) {
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap_or(-1), text(stdout), text(stderr))
    }

    /// The same in brief, where standard error is not looked at.
    fn answers(command: Command) -> (i32, String) {
        let (status, out, _) = Self::said(command);
        (status, out.trim_end().to_owned())
    }

    fn git(&self, words: &[&str], date: &str) -> String {
        let done = Command::new("git")
            .arg("--git-dir")
            .arg(self.repo.path())
            .args(words)
            .envs(["GIT_AUTHOR", "GIT_COMMITTER"].map(|who| (format!("{who}_DATE"), date)))
            .envs(["GIT_AUTHOR", "GIT_COMMITTER"].map(|who| (format!("{who}_NAME"), "x")))
            .envs(["GIT_AUTHOR", "GIT_COMMITTER"].map(|who| (format!("{who}_EMAIL"), "x@y.z")))
            .output()
            .unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    /// Makes a lease as if it had been stamped so many minutes ago.
    fn plant(&self, name: &str, message: &Value, minutes: i64) -> String {
        let date = self.sim.clock.now() - chrono::TimeDelta::minutes(minutes);
        let date = format!("{} +0000", date.timestamp());
        let words = ["commit-tree", "main^{tree}", "-m", &message.to_string()];
        let oid = self.git(&words, &date);
        self.git(&["update-ref", &format!("refs/leases/{name}"), &oid], &date);
        oid
    }

    /// As gh-issue-lease writes it.
    fn plant_of(&self, issue: u64, owner: &str, minutes: i64) -> String {
        let message = json!({ "v": 1, "issue": issue, "owner": owner, "ttlMin": 240 });
        self.plant(&format!("issue-{issue}"), &message, minutes)
    }

    /// What a lease's ref points at.
    fn oid(&self, name: &str) -> Option<String> {
        let refs = self.repo.refs().unwrap();
        refs.get(&format!("refs/leases/{name}"))
            .map(ToString::to_string)
    }

    /// The message of an issue's lease.
    fn lease(&self, issue: u64) -> Option<Value> {
        let oid = self.oid(&format!("issue-{issue}"))?;
        let text = self.git(&["log", "-1", "--format=%B", &oid], "0 +0000");
        Some(serde_json::from_str(&text).unwrap())
    }

    fn owner(&self, issue: u64) -> Option<String> {
        self.lease(issue)?["owner"].as_str().map(ToOwned::to_owned)
    }

    /// A clone of the repository on this branch.
    fn clone_on(&self, branch: &str) -> PathBuf {
        let at = self.dir.path().join("clone");
        let bare = self.repo.path().display().to_string();
        let run = |words: &[&str]| {
            let done = Command::new("git").args(words).output().unwrap();
            assert!(done.status.success(), "{words:?}: {done:?}");
        };
        let to = at.display().to_string();
        run(&["clone", "-q", &bare, &to]);
        run(&["-C", &to, "switch", "-q", "-c", branch]);
        run(&["-C", &to, "config", "user.name", "x"]);
        run(&["-C", &to, "config", "user.email", "x@y.z"]);
        at
    }
}

/// Where the published program is: `GHSWARM_GH_ISSUE_LEASE`, else where CI installs it.
fn published() -> PathBuf {
    let installed = "target/gh-issue-lease/node_modules/gh-issue-lease/dist/issue-lease.mjs";
    std::env::var_os("GHSWARM_GH_ISSUE_LEASE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join(installed),
        PathBuf::from,
    )
}

/// Can the published program be run? If not, the test says by its name that it is left out; where it must not
/// be, it fails.
fn can_run_published(test: &str) -> bool {
    let has = |program: &str| {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null());
        command.stderr(Stdio::null()).status().is_ok()
    };
    let found = published().is_file() && has("node") && has("gh");
    let required = std::env::var_os("GHSWARM_REQUIRE_GH_ISSUE_LEASE").is_some();
    assert!(
        found || !required,
        "`{test}` needs gh, node and gh-issue-lease"
    );
    if !found {
        eprintln!("skipped: `{test}`: gh, node or gh-issue-lease is not installed (see .ci/run)");
    }
    found
}
