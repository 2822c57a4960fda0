//! The clone on this machine, through the git CLI (network, worktrees, commits) and libgit2 (looking).
//!
//! Nothing here decides what the work is. It must not touch what ghswarm did not make, run a hook,
//! wait for a person, or push past the lease of a push.

mod added;
mod address;
mod boxes;
mod command;
mod commit;
mod door;
mod follow;
mod look;
mod none;
mod outgoing;
mod patience;
mod place;
mod refs;
mod remote;
mod salvage;
mod serial;
mod worktrees;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::OnceCell;

use crate::adapters::locks::Home;
use crate::model::ids::{BranchName, RefName, RepoId, Sha};
use crate::model::limits::{
    GIT_LOCAL_TIMEOUT, GIT_NETWORK_TIMEOUT, GIT_REFS_TIMEOUT, GIT_SILENT_MAX,
};
use crate::model::local::Worktree;
use crate::model::outgoing::OutgoingCommit;
use crate::model::secrets::Secrets;
use crate::ports::clock::Clock;
use crate::ports::git::{BoxWork, Git, NewBox, NewWorktree, Push, PushOutcome};
use crate::ports::{PortError, PortResult, Refusal};

pub use none::NoClone;

use command::{Call, Reach, RunError, Runner};
use door::Door;

/// The oldest git that knows every option used here (`worktree list -z`, 2.36, April 2022).
pub const GIT_VERSION_MIN: (u32, u32) = (2, 36);

/// An HTTP header for one remote only, handed to git in the environment, never on a command line.
#[derive(Debug, Clone)]
pub struct HttpHeader {
    /// Requests to addresses that start so carry it.
    pub url: String,
    /// The whole header: `Authorization: basic …`.
    pub header: SecretString,
}

/// What the adapter is told once.
#[derive(Debug, Clone)]
pub struct CliGitSettings {
    /// The user's clone.
    pub clone: PathBuf,
    /// The remote's name, `origin`.
    pub remote: String,
    /// Random name of this home (`locks::Home::instance`), the maker of its worktrees.
    pub home: String,
    /// Where the private git folders are: `<home>/git`. See `door.rs`.
    pub private: PathBuf,
    /// The repository's id on GitHub.
    pub repo: RepoId,
    /// Namespace of refs of ours: `leases` puts rescued work under `refs/leases/salvage/`.
    pub namespace: String,
    /// The configuration's `env`.
    pub env: BTreeMap<String, String>,
    /// Which git, `git`.
    pub git_program: PathBuf,
    /// `GIT_SSH_COMMAND` (or else `GIT_SSH`) of the environment, if it is set there.
    pub ssh_command: Option<String>,
    /// For remotes that no credential helper knows: the demo's and the tests' loopback server.
    pub http_header: Option<HttpHeader>,
    /// Limit of a command that stays on this machine.
    pub local_timeout: Duration,
    /// Limit of a command that talks to the remote, and of waiting for another process's.
    pub network_timeout: Duration,
    /// How long the remote may move no byte.
    pub silence_timeout: Duration,
}

impl CliGitSettings {
    /// The usual settings for a clone.
    pub fn of(clone: &Path, home: &Home, repo: RepoId) -> Self {
        Self {
            clone: clone.to_path_buf(),
            remote: "origin".to_owned(),
            home: home.instance.clone(),
            private: home.path.join("git"),
            repo,
            namespace: "leases".to_owned(),
            env: BTreeMap::new(),
            git_program: PathBuf::from("git"),
            ssh_command: None,
            http_header: None,
            local_timeout: GIT_LOCAL_TIMEOUT,
            network_timeout: GIT_NETWORK_TIMEOUT,
            silence_timeout: GIT_SILENT_MAX,
        }
    }
}

/// ssh must not ask, and must see that the other side is gone.
const SSH: &str =
    "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=4";

/// A clone that the git CLI works in.
pub struct CliGit {
    settings: CliGitSettings,
    runner: Runner,
    clock: Arc<dyn Clock>,
    common: OnceCell<PathBuf>,
    ssh: OnceCell<Option<OsString>>,
    serial: serial::Serial,
    refs_serial: serial::Serial,
}

impl CliGit {
    /// Looks at nothing yet: a wrong clone shows at the first question.
    pub fn new(settings: CliGitSettings, clock: Arc<dyn Clock>) -> Self {
        let runner = Runner {
            program: settings.git_program.clone(),
            env: own_environment(&settings),
            remote_env: environment(&settings),
        };
        Self {
            serial: serial::Serial::new(
                "ghswarm.lock",
                settings.network_timeout,
                Arc::clone(&clock),
            ),
            refs_serial: serial::Serial::new(
                "ghswarm-refs.lock",
                GIT_REFS_TIMEOUT,
                Arc::clone(&clock),
            ),
            settings,
            runner,
            clock,
            common: OnceCell::new(),
            ssh: OnceCell::new(),
        }
    }

    /// Which git it is, for `doctor`: major and minor version, to compare with `GIT_VERSION_MIN`.
    pub async fn version(&self) -> PortResult<(u32, u32)> {
        let what = "ask git for its version";
        let call = self.call(Path::new("/"), ["version"]);
        let text = self
            .runner
            .good(&call)
            .await
            .map_err(|e| local(what, &e))?
            .text();
        let numbers = text.split_whitespace().nth(2).unwrap_or_default();
        let mut numbers = numbers.split('.').map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok((major, minor)),
            _ => Err(local(what, &format!("it answered `{text}`"))),
        }
    }

    /// A local command in the clone.
    fn in_clone<const N: usize>(&self, args: [&str; N]) -> Call<'_> {
        self.call(&self.settings.clone, args)
    }

    /// A local command in a folder.
    fn call<'a, const N: usize>(&self, folder: &'a Path, args: [&str; N]) -> Call<'a> {
        Call {
            folder,
            args: args.into_iter().map(OsString::from).collect(),
            stdin: None,
            env: Vec::new(),
            limit: self.settings.local_timeout,
            reach: Reach::Machine,
            silence: None,
        }
    }

    /// The user's own ssh command is left alone, wherever it was set; `GIT_SSH_COMMAND` would take
    /// precedence over `core.sshCommand`.
    async fn find_ssh_command(&self, door: &Door) -> PortResult<Option<OsString>> {
        let given = ["GIT_SSH_COMMAND", "GIT_SSH"]
            .iter()
            .any(|n| self.runner.env.contains_key(*n));
        if given || self.settings.ssh_command.is_some() {
            return Ok(self.settings.ssh_command.clone().map(OsString::from));
        }
        let asked = self
            .runner
            .run(&self.behind(door, ["config", "--get", "core.sshCommand"]))
            .await;
        let configured = asked
            .map_err(|e| local("read git's configuration", &e))?
            .code
            == Some(0);
        Ok((!configured).then(|| OsString::from(SSH)))
    }

    /// The clone's common git folder, canonical.
    async fn common(&self) -> PortResult<&Path> {
        let find = || async {
            let what = format!("use the clone `{}`", self.settings.clone.display());
            if !self.settings.clone.is_dir() {
                return Err(PortError::refused(
                    what,
                    Refusal::Local,
                    "there is no such folder",
                ));
            }
            let ask = self.in_clone(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
            let answer = self.runner.good(&ask).await.map_err(|e| local(&what, &e))?;
            let path = PathBuf::from(answer.text());
            path.canonicalize().map_err(|e| local(&what, &e))
        };
        let common = self.common.get_or_try_init(find).await?;
        // A disk that is not mounted, or somebody's `rm`: nothing that an issue could be blocked for.
        if !common.is_dir() {
            let (gone, clone) = (common.display(), door::quoted(&self.settings.clone));
            let words = format!(
                "the git folder `{gone}` is gone: put it back, or move `{clone}` away and clone anew: git \
                 clone ADDRESS {clone}"
            );
            let what = format!("use the clone `{}`", self.settings.clone.display());
            return Err(PortError::unavailable(what, words, None));
        }
        Ok(common)
    }

    async fn commit_of(&self, folder: &Path, name: &str) -> Result<Option<Sha>, RunError> {
        self.commit_in(self.call(folder, []), name).await
    }

    async fn commit_in(&self, at: Call<'_>, name: &str) -> Result<Option<Sha>, RunError> {
        let call = ["rev-parse", "--verify", "--quiet"]
            .iter()
            .fold(at, Call::arg)
            .arg(format!("{name}^{{commit}}"));
        let answer = self.runner.run(&call).await?;
        Ok(if answer.code == Some(0) {
            Sha::new(answer.text()).ok()
        } else {
            None
        })
    }
}

/// The variables of every command.
fn own_environment(settings: &CliGitSettings) -> BTreeMap<String, OsString> {
    settings
        .env
        .iter()
        .map(|(k, v)| (k.clone(), OsString::from(v)))
        .collect()
}

/// The variables of a command that talks to the remote.
fn environment(settings: &CliGitSettings) -> BTreeMap<String, OsString> {
    let mut env = own_environment(settings);
    if let Some(HttpHeader { url, header }) = &settings.http_header {
        let count = settings
            .env
            .get("GIT_CONFIG_COUNT")
            .and_then(|c| c.parse().ok())
            .unwrap_or(0);
        env.insert(
            format!("GIT_CONFIG_KEY_{count}"),
            format!("http.{url}.extraHeader").into(),
        );
        env.insert(
            format!("GIT_CONFIG_VALUE_{count}"),
            header.expose_secret().into(),
        );
        env.insert(
            "GIT_CONFIG_COUNT".to_owned(),
            (count + 1_u32).to_string().into(),
        );
    }
    env
}

/// The local side failed, in its words.
fn local(what: impl Into<String>, error: &impl std::fmt::Display) -> PortError {
    PortError::refused(what, Refusal::Local, error.to_string())
}

#[async_trait]
impl Git for CliGit {
    async fn fetch_base(&self, base: &BranchName) -> PortResult<Sha> {
        self.perform_fetch_base(base).await
    }

    async fn fetch_ref(&self, name: &RefName) -> PortResult<Option<Sha>> {
        self.perform_fetch_ref(name).await
    }

    async fn worktree(&self, path: &Path, base: &BranchName) -> PortResult<Option<Worktree>> {
        self.observe_worktree(path, base).await
    }

    async fn add_worktree(&self, new: &NewWorktree) -> PortResult<()> {
        self.perform_add(new).await
    }

    async fn remove_worktree(&self, path: &Path, merged: Option<&Sha>) -> PortResult<()> {
        self.perform_remove(path, merged).await
    }

    async fn salvage(&self, path: &Path, branch: &BranchName) -> PortResult<Vec<RefName>> {
        self.save_displaced(path, branch).await
    }

    async fn contains(&self, path: &Path, commit: &Sha) -> PortResult<bool> {
        let what = format!("look for {} in `{}`", commit.short(), path.display());
        look::contains(&self.runner, self.call(path, []), commit)
            .await
            .map_err(|e| local(what, &e))
    }

    async fn make_box(&self, new: &NewBox) -> PortResult<()> {
        self.perform_make_box(new).await
    }

    async fn take_box(&self, work: &BoxWork) -> PortResult<()> {
        self.perform_take_box(work).await
    }

    async fn keep_box(&self, work: &BoxWork) -> PortResult<Option<RefName>> {
        self.perform_keep_box(work).await
    }

    async fn mark_set_up(&self, path: &Path) -> PortResult<()> {
        let what = format!("mark the worktree `{}` as set up", path.display());
        let (admin, _) = self.our_admin(path, &what).await?;
        place::mark_set_up(&admin).map_err(|e| local(what, &e))
    }

    async fn commit_all(&self, path: &Path, message: &str) -> PortResult<Sha> {
        self.perform_commit(path, message).await
    }

    async fn follow(&self, path: &Path, name: &RefName) -> PortResult<Sha> {
        self.perform_follow(path, name).await
    }

    async fn push(&self, push: &Push) -> PortResult<PushOutcome> {
        self.perform_push(push).await
    }

    async fn outgoing(
        &self,
        path: &Path,
        base: &BranchName,
        secrets: &Secrets,
    ) -> PortResult<Vec<OutgoingCommit>> {
        let what = format!("compare `{}` with `{base}`", path.display());
        let target = look::target(path, &self.settings.remote, base);
        outgoing::outgoing(&self.runner, self.call(path, []), &target, secrets)
            .await
            .map_err(|e| local(what, &e))
    }
}

#[cfg(test)]
mod tests;
