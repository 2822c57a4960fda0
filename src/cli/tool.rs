//! What the tools for any agent, person or CI job (`lease`, `claim`, `board`, `doctor --probe`) stand on:
//! which repository, which GitHub, whose token, which namespace. They need no configuration; where there
//! is one that has the repository, it holds.
//!
//! A configuration that is there and wrong is an error, never passed over: it may name another namespace
//! or another server, and two tools that lock under two names do not lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::environment::Env;
use super::error::{CommandError, Kind};
use super::{clone, token, wiring};
use crate::adapters::clock::SystemClock;
use crate::adapters::git::CliGit;
use crate::adapters::github::{GitHubAdapter, GitHubSettings, READ_RETRIES};
use crate::adapters::locks;
use crate::config::{self, Config, RepoConfig};
use crate::engine::last_seen_repository;
use crate::engine::probe::remembered_way;
use crate::model::ids::{RefName, RepoSlug};
use crate::model::lease::Way;
use crate::model::limits::{HTTP_CONNECT_TIMEOUT, HTTP_TIMEOUT};
use crate::ports::clock::Clock;

/// The variable that names the namespace, as gh-issue-lease has it.
const NAMESPACE: &str = "ISSUE_LEASE_NAMESPACE";

/// What the user said about where to work.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// `--repo`: `[HOST/]OWNER/REPO`.
    pub repo: Option<&'a str>,
    /// `--config`.
    pub config: Option<&'a Path>,
    /// The working directory.
    pub dir: &'a Path,
}

/// One repository, as the tools see it.
pub struct Tool {
    /// The configuration's section, else the defaults; without pause between writes, and with the
    /// namespace that is in force.
    pub config: RepoConfig,
    /// Is the section the user's?
    pub configured: bool,
    /// The main working tree of the clone that the working directory is in, if it is the repository's.
    pub clone: Option<PathBuf>,
    /// ghswarm's home, which need not be there.
    pub home: PathBuf,
    /// The clock of this machine.
    pub clock: Arc<dyn Clock>,
}

impl Tool {
    /// Finds out where to work; asks nobody outside this machine.
    pub fn find(env: &Env, asked: Asked<'_>) -> Result<Self, CommandError> {
        let here = Checkout::around(asked.dir)?;
        let named = asked.repo.map(ToOwned::to_owned).or(env.get("GH_REPO"));
        let wanted = match &named {
            Some(text) => Wanted::parse(text)?,
            None => Wanted::of_checkout(here.as_ref())?,
        };
        let file = read_file(env, asked.config)?;
        let section = file.and_then(|file| wanted.section(file, asked));
        let configured = section.is_some();
        let (mut config, home) = match section {
            Some(found) => found,
            None => defaults(env, &wanted, here.as_ref(), asked.dir)?,
        };
        // The one who asks waits for the answer, and few writes are made.
        config.github.write_spacing = Duration::ZERO;
        if let Some(named) = env.get(NAMESPACE) {
            config.lease.namespace = namespace(&named)?;
        }
        let is_ours = |here: &Checkout| {
            let slug = here.remote_slug().map(|slug| slug.to_string());
            slug.is_some_and(|slug| slug.eq_ignore_ascii_case(&wanted.slug.to_string()))
        };
        let clone = here.filter(|here| named.is_none() || is_ours(here));
        Ok(Self {
            config,
            configured,
            clone: clone.map(|here| here.top),
            home,
            clock: Arc::new(SystemClock),
        })
    }

    /// The repository's name.
    pub fn slug(&self) -> &RepoSlug {
        &self.config.repo
    }

    /// GitHub, with the token that the loop would use; sends nothing yet.
    pub fn connect(
        &self,
        env: &Env,
        patience: Patience,
    ) -> Result<Arc<GitHubAdapter>, CommandError> {
        let token = token::find(env, &self.config)?.secret;
        let settings = GitHubSettings {
            api_url: self.config.github.api_url.clone(),
            write_spacing: self.config.github.write_spacing,
            read_retries: patience.read_retries,
            connect_timeout: patience.timeout.min(HTTP_CONNECT_TIMEOUT),
            timeout: patience.timeout,
            ..GitHubSettings::new(self.slug().clone(), token.clone())
        };
        let github = GitHubAdapter::new(settings, self.clock.clone()).map(Arc::new);
        let github = github.map_err(|error| wiring::refused(&error, &self.slug().to_string()))?;
        self.begin_way(env, &github, &token);
        Ok(github)
    }

    /// Begins with the way that `doctor --probe` found best on this machine, if there was a probe.
    fn begin_way(&self, env: &Env, github: &GitHubAdapter, token: &SecretString) {
        let memory = wiring::memory(&self.home, &self.config, token);
        let Some(way) = remembered_way(&*memory) else {
            return;
        };
        if way == Way::GitPush {
            let facts = last_seen_repository(&*memory, self.slug());
            // Whoever has probed has a home.
            let home = locks::ensure_home(&self.home).ok();
            let (Some(facts), Some(home)) = (facts, home) else {
                return;
            };
            let settings = wiring::git_settings(env, &home, &self.config, &facts, token);
            github.push_refs_through(Arc::new(CliGit::new(settings, self.clock.clone())));
        }
        github.set_way(way);
    }
}

/// How long GitHub is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How often a read is asked again.
    pub read_retries: u32,
    /// How long one request may take.
    pub timeout: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            read_retries: READ_RETRIES,
            timeout: HTTP_TIMEOUT,
        }
    }
}

/// The clone around the working directory.
struct Checkout {
    top: PathBuf,
    remote: Option<String>,
}

impl Checkout {
    fn around(dir: &Path) -> Result<Option<Self>, CommandError> {
        let repository = match git2::Repository::discover(dir) {
            Ok(repository) => repository,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            Err(error) => {
                let what = format!("git cannot open the clone around `{}`", dir.display());
                return Err(CommandError::outside(what, error.message().to_owned()));
            }
        };
        // A worktree's clone is where the common folder lies, not where the worktree does.
        let common = repository.commondir();
        let top = match (common.file_name(), common.parent()) {
            (Some(name), Some(parent)) if name == ".git" => parent.to_owned(),
            _ => repository.workdir().unwrap_or(common).to_owned(),
        };
        let remotes = repository.remotes().ok();
        let names: Vec<&str> = remotes
            .iter()
            .flatten()
            .filter_map(|name| name.ok().flatten())
            .collect();
        let name = match names.as_slice() {
            [one] => Some(*one),
            many => many.iter().copied().find(|name| *name == "origin"),
        };
        let remote = name.and_then(|name| repository.find_remote(name).ok());
        Ok(Some(Self {
            top,
            remote: remote.map(|remote| String::from_utf8_lossy(remote.url_bytes()).into_owned()),
        }))
    }

    fn remote_slug(&self) -> Option<RepoSlug> {
        clone::slug_of(self.remote.as_deref()?)?.parse().ok()
    }
}

/// The repository that is meant, and its server where that was said.
struct Wanted {
    slug: RepoSlug,
    /// Named on purpose, so that a configuration for another server is not about it.
    host: Option<String>,
    /// Where a remote's address leads, which may be an alias of the user's ssh configuration.
    api_url: Option<String>,
}

impl Wanted {
    fn parse(text: &str) -> Result<Self, CommandError> {
        let (host, slug) = match text.split('/').collect::<Vec<_>>().as_slice() {
            [host, owner, name] => (Some((*host).to_owned()), format!("{owner}/{name}")),
            _ => (None, text.to_owned()),
        };
        let slug = slug.parse().map_err(|_| {
            let what = format!("`{text}` is no repository");
            CommandError::new(Kind::Usage, what).hint("write OWNER/REPO or HOST/OWNER/REPO")
        })?;
        Ok(Self {
            slug,
            api_url: host.as_deref().map(api_of_host),
            host,
        })
    }

    fn of_checkout(here: Option<&Checkout>) -> Result<Self, CommandError> {
        let missing = |what: String| {
            CommandError::new(Kind::Usage, what).hint("say which repository: --repo OWNER/REPO")
        };
        let here = here.ok_or_else(|| missing("this is not inside a git clone".to_owned()))?;
        let top = here.top.display();
        let remote = here
            .remote
            .as_deref()
            .ok_or_else(|| missing(format!("the clone `{top}` has no remote `origin`")))?;
        let slug = here.remote_slug().ok_or_else(|| {
            let shown = clone::without_login(remote);
            missing(format!(
                "the remote `{shown}` of `{top}` names no repository"
            ))
        })?;
        Ok(Self {
            slug,
            host: None,
            api_url: api_of_remote(remote),
        })
    }

    /// The server that the remote tells, which the user's token may see without being asked: GitHub's own.
    /// Whoever can write into the clone, an agent for one, can change the remote.
    fn trusted_api(&self) -> Result<String, CommandError> {
        let told = self
            .api_url
            .clone()
            .unwrap_or_else(|| api_of_host("github.com"));
        let host = told.strip_prefix("https://").unwrap_or_default();
        if host == "api.github.com" || (host.ends_with(".ghe.com") && !host.contains('/')) {
            return Ok(told);
        }
        let shown = told.trim_end_matches("/api/v3");
        let what = format!("the clone's remote leads to `{shown}`, which nobody else has named");
        Err(CommandError::new(Kind::Usage, what)
            .hint("your token goes there only if you say so: GH_HOST=HOST, or GITHUB_API_URL=URL")
            .hint("or name the repository in the configuration: ghswarm init"))
    }

    /// The configuration's section for it; of several the one whose clone the directory is in.
    fn section(&self, file: Config, asked: Asked<'_>) -> Option<(RepoConfig, PathBuf)> {
        let slug = self.slug.to_string();
        let server = self.host.as_deref().map(api_of_host);
        let mut fitting: Vec<RepoConfig> = file
            .repositories
            .into_values()
            .filter(|one| one.repo.to_string().eq_ignore_ascii_case(&slug))
            .filter(|one| server.as_ref().is_none_or(|api| *api == one.github.api_url))
            .collect();
        fitting.sort_by_key(|one| {
            let places = [&one.path, &one.worktree_dir];
            !places.iter().any(|place| asked.dir.starts_with(place))
        });
        Some((fitting.into_iter().next()?, file.home))
    }
}

/// The user's configuration. None at all is fine, unless one was named.
fn read_file(env: &Env, flag: Option<&Path>) -> Result<Option<Config>, CommandError> {
    let named = flag.is_some() || env.get("GHSWARM_CONFIG").is_some();
    let found = config::locate(flag, &|name| env.get(name)).is_ok();
    if found || named {
        return wiring::load_config(env, flag).map(Some);
    }
    Ok(None)
}

/// Every default, by reading the least configuration there is.
fn defaults(
    env: &Env,
    wanted: &Wanted,
    here: Option<&Checkout>,
    dir: &Path,
) -> Result<(RepoConfig, PathBuf), CommandError> {
    let named = env
        .get("GITHUB_API_URL")
        .filter(|_| wanted.host.is_none())
        .or_else(|| wanted.host.as_deref().map(api_of_host))
        .or_else(|| env.get("GH_HOST").as_deref().map(api_of_host));
    let api_url = match named {
        Some(named) => named,
        None => wanted.trusted_api()?,
    };
    let path = here.map_or(dir, |here| &here.top).display().to_string();
    // In the file `${` begins a variable.
    let text = |text: &str| serde_json::Value::from(text.replace("${", "$${")).to_string();
    let file = format!(
        "repositories:\n  here:\n    repo: {}\n    path: {}\n    github: {{api_url: {}}}\n    \
         agents: {{implement: {{command: \"true\"}}, review: {{command: \"true\"}}}}\n",
        wanted.slug,
        text(&path),
        text(api_url.trim_end_matches('/')),
    );
    let read = config::load(&file, Path::new("the defaults"), &|name| env.get(name));
    let config = read.map_err(|problems| {
        let error = CommandError::new(Kind::Usage, "this place cannot be worked in");
        problems
            .0
            .iter()
            .fold(error, |error, one| error.detail(one.message.clone()))
    })?;
    let section = config.repositories.into_values().next();
    let section = section
        .ok_or_else(|| CommandError::new(Kind::Bug, "the default configuration is empty"))?;
    Ok((section, config.home))
}

/// `leases`, without slashes around it; it has to make names of refs.
fn namespace(text: &str) -> Result<String, CommandError> {
    let bare = text.trim_matches('/');
    let made = RefName::new(format!("refs/{bare}/issue-1"));
    if bare.is_empty() || made.is_err() || matches!(bare, "heads" | "tags") {
        let what = format!("{NAMESPACE} is `{text}`, which makes no name of a ref");
        return Err(CommandError::new(Kind::Usage, what).hint(format!("as in: {NAMESPACE}=leases")));
    }
    Ok(bare.to_owned())
}

/// Where the API of a server lives.
fn api_of_host(host: &str) -> String {
    let host = host.trim_end_matches('/').to_lowercase();
    match host.as_str() {
        // GitHub's own, ssh over the https port included.
        "github.com" | "www.github.com" | "ssh.github.com" => "https://api.github.com".to_owned(),
        // https://docs.github.com/en/enterprise-cloud@latest/admin/data-residency, 2026-11-30
        _ if host.ends_with(".ghe.com") => format!("https://api.{host}"),
        _ => format!("https://{host}/api/v3"),
    }
}

/// Where the API behind a remote's address lives; `None` where the address tells no server.
fn api_of_remote(url: &str) -> Option<String> {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (scheme, rest.split('/').next()?),
        // `git@host:owner/name`, not `/a/path` and not `C:\path`.
        None => (
            "ssh",
            url.split_once(':')
                .filter(|(host, _)| !host.contains('/'))?
                .0,
        ),
    };
    let authority = rest.rsplit('@').next()?;
    let host = authority.split(':').next()?;
    if authority.is_empty() || scheme == "file" {
        return None;
    }
    match scheme {
        "http" => Some(format!("http://{authority}/api/v3")),
        "https" if host != authority => Some(format!("https://{authority}/api/v3")),
        // A name without a dot is an alias of the user's ssh configuration, most likely for GitHub.
        _ if host.contains('.') => Some(api_of_host(host)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
