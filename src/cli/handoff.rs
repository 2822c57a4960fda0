//! What a supervisor is told through its pipe, which nothing but it can read: how to reach GitHub, and
//! the clone where leases are moved by `git push`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use super::environment::Env;
use super::supervise::Connected;
use crate::adapters::clock::SystemClock;
use crate::adapters::git::{CliGit, CliGitSettings, HttpHeader};
use crate::adapters::github::{GitHubAdapter, GitHubSettings};
use crate::config::RepoConfig;
use crate::model::ids::{RepoId, RepoSlug};
use crate::model::lease::Way;
use crate::model::limits::{GIT_LOCAL_TIMEOUT, GIT_NETWORK_TIMEOUT, GIT_SILENT_MAX};
use crate::model::repo::Repository;
use crate::ports::clock::Clock;

/// What credential helpers log in with. A supervisor's environment has none of them, since the run's
/// processes could read it there.
const LOGINS: [&str; 4] = [
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GH_ENTERPRISE_TOKEN",
];

/// What a supervisor is told.
#[derive(Serialize, Deserialize)]
pub struct Handoff {
    api_url: String,
    slug: RepoSlug,
    node_id: String,
    token: String,
    /// A daemon that was started before an upgrade says nothing of it.
    #[serde(default = "first")]
    way: Way,
    /// Only where the way needs it.
    #[serde(default)]
    git: Option<GitHandoff>,
    /// Values that do not get into the run's log.
    #[serde(default)]
    secrets: Vec<String>,
}

fn first() -> Way {
    Way::GraphQl
}

/// The clone, as `CliGitSettings` has it.
#[derive(Serialize, Deserialize)]
struct GitHandoff {
    clone: PathBuf,
    remote: String,
    home: String,
    private: PathBuf,
    repo: RepoId,
    namespace: String,
    env: BTreeMap<String, String>,
    git_program: PathBuf,
    ssh_command: Option<String>,
    /// Address and header.
    http_header: Option<(String, String)>,
}

impl Handoff {
    /// For the runs of one repository.
    pub fn new(
        config: &RepoConfig,
        facts: &Repository,
        token: &SecretString,
        way: Way,
        (git, env): (&CliGitSettings, &Env),
    ) -> Self {
        let secrets = env.secrets().chain(super::wiring::config_secrets(config));
        Self {
            secrets: secrets.collect(),
            api_url: config.github.api_url.clone(),
            slug: config.repo.clone(),
            node_id: facts.node_id.clone(),
            token: token.expose_secret().to_owned(),
            way,
            git: (way == Way::GitPush).then(|| GitHandoff::new(git, env)),
        }
    }
}

impl GitHandoff {
    fn new(git: &CliGitSettings, env: &Env) -> Self {
        let logins = LOGINS.iter();
        let logins = logins.filter_map(|name| Some(((*name).to_owned(), env.get(name)?)));
        let header = git.http_header.as_ref();
        Self {
            clone: git.clone.clone(),
            remote: git.remote.clone(),
            home: git.home.clone(),
            private: git.private.clone(),
            repo: git.repo,
            namespace: git.namespace.clone(),
            // What the configuration says counts.
            env: logins.chain(git.env.clone()).collect(),
            git_program: git.git_program.clone(),
            ssh_command: git.ssh_command.clone(),
            http_header: header.map(|one| (one.url.clone(), one.header.expose_secret().to_owned())),
        }
    }

    fn settings(self) -> CliGitSettings {
        CliGitSettings {
            clone: self.clone,
            remote: self.remote,
            home: self.home,
            private: self.private,
            repo: self.repo,
            namespace: self.namespace,
            env: self.env,
            git_program: self.git_program,
            ssh_command: self.ssh_command,
            http_header: self.http_header.map(|(url, header)| HttpHeader {
                url,
                header: header.into(),
            }),
            local_timeout: GIT_LOCAL_TIMEOUT,
            network_timeout: GIT_NETWORK_TIMEOUT,
            silence_timeout: GIT_SILENT_MAX,
        }
    }
}

/// The GitHub of a supervisor, from what was handed over, and the secrets that do not get into its log.
pub fn connect_supervisor(handoff: &[u8]) -> anyhow::Result<Connected> {
    if handoff == b"{}" {
        return Ok((None, Vec::new()));
    }
    let handoff: Handoff = serde_json::from_slice(handoff).context("the handoff is damaged")?;
    let mut secrets = handoff.secrets;
    secrets.push(handoff.token.clone());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let token = SecretString::from(handoff.token);
    let settings = GitHubSettings {
        api_url: handoff.api_url,
        // A renewal must not wait behind a spacing meant for the engine's writes.
        write_spacing: Duration::ZERO,
        ..GitHubSettings::new(handoff.slug, token)
    };
    let adapter = GitHubAdapter::new(settings, clock.clone())?;
    adapter.remember_node_id(&handoff.node_id);
    adapter.set_way(handoff.way);
    if let Some(git) = handoff.git {
        adapter.push_refs_through(Arc::new(CliGit::new(git.settings(), clock)));
    }
    Ok((Some(Arc::new(adapter)), secrets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_from_before_an_upgrade_is_still_understood() {
        let old =
            r#"{"api_url":"https://api.github.com","slug":"o/r","node_id":"R_1","token":"t"}"#;
        let handoff: Handoff = serde_json::from_str(old).unwrap();
        assert_eq!(handoff.way, Way::GraphQl);
        assert!(handoff.git.is_none());
    }
}
