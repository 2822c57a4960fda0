//! Which adapter fills which door. The only place that knows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use secrecy::{ExposeSecret as _, SecretString};

use super::environment::Env;
use super::error::{CommandError, Kind};
use super::handoff::Handoff;
use super::tool::Tool;
use super::{clone, token};
use crate::adapters::clock::SystemClock;
use crate::adapters::docker::{DockerContainers, Places};
use crate::adapters::events::{NoEvents, SqliteEvents};
use crate::adapters::folders::LocalFolders;
use crate::adapters::git::{CliGit, CliGitSettings, HttpHeader, NoClone};
use crate::adapters::github::{GitHubAdapter, GitHubSettings};
use crate::adapters::locks::{self, Home};
use crate::adapters::memory::FileMemory;
use crate::adapters::processes::ProcessRuns;
use crate::config::{self, AgentConfig, AgentGithub, Config, RepoConfig};
use crate::engine::probe::remembered_way;
use crate::engine::{
    AgentSettings, GithubAccess, RepoEngine, Settings, Target, World, kept_repository,
};
use crate::model::ids::{BranchName, IssueNumber};
use crate::model::lease::Way;
use crate::model::repo::Repository;
use crate::model::sandbox::{Sandbox, SandboxOwner};
use crate::model::secrets::{Secrets, names_a_secret};
use crate::ports::clock::Clock;
use crate::ports::events::Events;
use crate::ports::git::Git;
use crate::ports::memory::Memory;
use crate::ports::runs::Runs as _;
use crate::ports::{PortError, Refusal};

/// Name of the file in which a reviewer asks for changes.
const REVIEW_FILE: &str = ".agent_review.md";

/// Reads and checks the configuration.
pub fn load_config(env: &Env, flag: Option<&Path>) -> Result<Config, CommandError> {
    let file = find_config(env, flag)?;
    let text = read_config(&file)?;
    config::load(&text, &file, &|name| env.get(name)).map_err(|problems| wrong(&file, &problems))
}

/// Which file is the configuration.
pub fn find_config(env: &Env, flag: Option<&Path>) -> Result<PathBuf, CommandError> {
    config::locate(flag, &|name| env.get(name)).map_err(|not_found| {
        if let Some(there) = not_found.tried.iter().find(|path| path.exists()) {
            let what = format!("the configuration `{}` is not a file", there.display());
            return CommandError::new(Kind::Config, what).hint("name a file: --config PATH");
        }
        CommandError::new(Kind::Config, not_found.to_string())
            .hint("write one: ghswarm init")
            .hint("or see what it does first: ghswarm demo")
    })
}

/// The file's text.
pub fn read_config(file: &Path) -> Result<String, CommandError> {
    std::fs::read_to_string(file).map_err(|error| {
        let hint = if error.kind() == std::io::ErrorKind::InvalidData {
            "save the file as UTF-8"
        } else {
            "let your user read it, or name another file: --config PATH"
        };
        let what = format!(
            "cannot read the configuration `{}`: {error}",
            file.display()
        );
        CommandError::new(Kind::Config, what).hint(hint)
    })
}

/// All that is wrong with the file, each with its place.
fn wrong(file: &Path, problems: &config::ConfigProblems) -> CommandError {
    let file = file.display();
    let what = match problems.0.len() {
        1 => format!("the configuration `{file}` has a problem"),
        many => format!("the configuration `{file}` has {many} problems"),
    };
    problems
        .0
        .iter()
        .fold(CommandError::new(Kind::Config, what), |error, problem| {
            let error = error.detail(problem.to_string());
            error.detail(format!("  hint: {}", problem.hint))
        })
}

/// The home of this machine, made if it is not there.
pub fn open_home(config: &Config) -> Result<Home, CommandError> {
    locks::ensure_home(&config.home).map_err(|error| home_error(&error))
}

/// What is wrong with the home.
pub fn home_error(error: &locks::HomeError) -> CommandError {
    let what = error.to_string();
    let error = match std::error::Error::source(error) {
        Some(source) => CommandError::outside(what, source.to_string()),
        None => CommandError::new(Kind::Outside, what),
    };
    error.hint("choose another place for it: GHSWARM_HOME=PATH")
}

/// Makes everything that one repository needs.
pub async fn open_repository(
    env: &Env,
    home: &Home,
    config: &RepoConfig,
) -> Result<RepoEngine, CommandError> {
    let origin = clone::origin(config)?;
    let token = token::find(env, config)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let github = connect(config, token.secret.clone(), clock.clone())
        .map_err(|error| refused(&error, &config.alias))?;
    let memory = memory(&home.path, config, &token.secret);
    let facts = kept_repository(&*github, &*memory, clock.now(), &config.repo)
        .await
        .map_err(|error| refused(&error, &config.alias))?;
    github.remember_node_id(&facts.node_id);
    clone::belongs(config, &origin, &facts.slug)?;
    let git_settings = git_settings(env, home, config, &facts, &token.secret);
    let git = Arc::new(CliGit::new(git_settings.clone(), clock.clone()));
    github.push_refs_through(git.clone());
    let way = remembered_way(&*memory).unwrap_or(Way::GraphQl);
    github.set_way(way);
    let handoff = Handoff::new(config, &facts, &token.secret, way, (&git_settings, env));
    let runs = runs(env, home, &facts, &handoff)?;
    let world = World {
        git,
        runs: Arc::new(with_containers(runs, env, home, (config, &facts))?),
        folders: Arc::new(LocalFolders::new(
            &home.path,
            run_root(env).as_deref(),
            facts.id,
        )),
        events: events(config),
        random: Arc::new(|| format!("{:016x}", rand::random::<u64>())),
        memory,
        backlog: github.clone(),
        github,
        clock,
    };
    Ok(RepoEngine::new(
        world,
        config.policy(),
        settings(env, home, config, &token.secret),
    ))
}

/// A repository as the tools for any agent or person work on it.
pub struct Opened {
    /// The engine. It starts no runs here.
    pub engine: RepoEngine,
    /// GitHub, for what the engine has no door to.
    pub github: Arc<GitHubAdapter>,
    /// The clone, if there is one.
    pub clone: Option<PathBuf>,
}

impl Opened {
    /// The repository's name, for messages.
    pub fn name(&self) -> String {
        self.engine.settings.slug.to_string()
    }

    /// Does the clone have a branch of this name?
    pub fn has_branch(&self, branch: &BranchName) -> bool {
        let clone = self.clone.as_ref();
        let repository = clone.and_then(|path| git2::Repository::open(path).ok());
        repository.is_some_and(|repository| {
            let found = repository.find_branch(branch.as_str(), git2::BranchType::Local);
            found.is_ok()
        })
    }
}

/// Makes what `claim` and `board` need. Without a clone there is nothing to look at on this machine, which
/// is fine; a clone of another repository is none.
pub async fn open_tool(env: &Env, tool: Tool) -> Result<Opened, CommandError> {
    let home = locks::ensure_home(&tool.home).map_err(|error| home_error(&error))?;
    let config = &tool.config;
    let name = tool.slug().to_string();
    let token = token::find(env, config)?;
    let github = connect(config, token.secret.clone(), tool.clock.clone())
        .map_err(|error| refused(&error, &name))?;
    let memory = memory(&home.path, config, &token.secret);
    let facts = kept_repository(&*github, &*memory, tool.clock.now(), &config.repo)
        .await
        .map_err(|error| refused(&error, &name))?;
    github.remember_node_id(&facts.node_id);
    let clone = tool.clone.clone().or_else(|| {
        let named = tool.configured && clone::origin(config).is_ok();
        named.then(|| config.path.clone())
    });
    let git_settings = CliGitSettings {
        clone: clone.clone().unwrap_or_else(|| config.path.clone()),
        ..git_settings(env, &home, config, &facts, &token.secret)
    };
    let mut way = remembered_way(&*memory).unwrap_or(Way::GraphQl);
    let git: Arc<dyn Git> = if clone.is_some() {
        let git = Arc::new(CliGit::new(git_settings.clone(), tool.clock.clone()));
        github.push_refs_through(git.clone());
        git
    } else {
        // A push starts from a clone.
        if way == Way::GitPush {
            way = Way::GraphQl;
        }
        Arc::new(NoClone)
    };
    github.set_way(way);
    let handoff = Handoff::new(config, &facts, &token.secret, way, (&git_settings, env));
    let world = World {
        git,
        runs: Arc::new(runs(env, &home, &facts, &handoff)?),
        folders: Arc::new(LocalFolders::new(
            &home.path,
            run_root(env).as_deref(),
            facts.id,
        )),
        events: events(config),
        random: Arc::new(|| format!("{:016x}", rand::random::<u64>())),
        memory,
        backlog: github.clone(),
        github: github.clone(),
        clock: tool.clock.clone(),
    };
    let settings = settings(env, &home, config, &token.secret);
    Ok(Opened {
        engine: RepoEngine::new(world, config.policy(), settings),
        github,
        clone,
    })
}

/// An answer of GitHub that ends the command, with what to do about it.
pub fn refused(error: &PortError, alias: &str) -> CommandError {
    refusal(error, format!("repository `{alias}` cannot be worked on"))
}

/// The same where only one issue is concerned.
pub fn refused_issue(error: &PortError, alias: &str, issue: IssueNumber) -> CommandError {
    refusal(
        error,
        format!("issue #{issue} of `{alias}` cannot be looked at"),
    )
}

/// The same for a command that was to do more than look.
pub fn refusal(error: &PortError, what: String) -> CommandError {
    if let Some(at) = error.retry_at() {
        let at = super::output::moment(at);
        return CommandError::outside(what, error.clone())
            .hint(format!(
                "GitHub asks for a pause: run the command again after {at}; `loop` and `cycle --wait` go on by themselves"
            ));
    }
    let hint = match error.refusal() {
        Some(Refusal::Unauthorised) => {
            "the token is wrong or expired: check GITHUB_TOKEN, or run: gh auth login"
        }
        Some(Refusal::NotFound) => {
            "check `repo` in the configuration, and that the token may see that repository"
        }
        Some(Refusal::Forbidden) => "the token may not do this: check its scopes and its expiry",
        Some(Refusal::RefsRestricted) => "see by which ways refs move here: ghswarm doctor --probe",
        Some(Refusal::Local) => {
            "this machine refused, not GitHub: mend what the cause names, then run the command again"
        }
        _ => "check the network, `github.api_url` and HTTPS_PROXY, then run the command again",
    };
    CommandError::outside(what, error.clone()).hint(hint)
}

/// GitHub, for one repository.
pub fn connect(
    config: &RepoConfig,
    token: SecretString,
    clock: Arc<dyn Clock>,
) -> Result<Arc<GitHubAdapter>, PortError> {
    let settings = GitHubSettings {
        api_url: config.github.api_url.clone(),
        write_spacing: config.github.write_spacing,
        ..GitHubSettings::new(config.repo.clone(), token)
    };
    Ok(Arc::new(GitHubAdapter::new(settings, clock)?))
}

/// Derived data: one folder for each repository and token, since what was seen depends on who looked.
pub fn memory(home: &Path, config: &RepoConfig, token: &SecretString) -> Arc<dyn Memory> {
    let who = format!("{} {}", config.github.api_url, token.expose_secret());
    let who = crate::model::trust::text_hash("memory", &who);
    let name = format!("{}__{}-{}", config.repo.owner, config.repo.name, &who[..8]);
    Arc::new(FileMemory::new(&home.join("repositories").join(name)))
}

/// How the clone is worked on.
pub fn git_settings(
    env: &Env,
    home: &Home,
    config: &RepoConfig,
    facts: &Repository,
    token: &SecretString,
) -> CliGitSettings {
    CliGitSettings {
        namespace: config.lease.namespace.clone(),
        env: config.env.clone(),
        ssh_command: env.get("GIT_SSH_COMMAND").or_else(|| env.get("GIT_SSH")),
        http_header: loopback_header(&config.github.api_url, token),
        ..CliGitSettings::of(&config.path, home, facts.id)
    }
}

/// No credential helper knows the demo's server; everywhere else git logs in as the user set it up.
fn loopback_header(api_url: &str, token: &SecretString) -> Option<HttpHeader> {
    let rest = api_url.strip_prefix("http://")?;
    let origin = rest.split('/').next()?;
    let pair = format!("x-access-token:{}", token.expose_secret());
    let code = base64::engine::general_purpose::STANDARD.encode(pair);
    Some(HttpHeader {
        url: format!("http://{origin}/"),
        header: format!("Authorization: basic {code}").into(),
    })
}

/// Where `AGENT_RUN_ROOT` puts claims and runs.
pub fn run_root(env: &Env) -> Option<PathBuf> {
    env.get("AGENT_RUN_ROOT").map(PathBuf::from)
}

fn runs(
    env: &Env,
    home: &Home,
    facts: &Repository,
    handoff: &Handoff,
) -> Result<ProcessRuns, CommandError> {
    let exe = std::env::current_exe()
        .map_err(|error| CommandError::outside("cannot find this program's own file", error))?;
    let handoff = serde_json::to_vec(handoff)
        .map_err(|error| CommandError::bug("cannot write a handoff", error))?;
    let root = run_root(env).unwrap_or_else(|| home.path.join("runs"));
    Ok(ProcessRuns::new(
        root.join(facts.id.to_string()),
        exe,
        handoff,
    ))
}

/// The same with the engine that has their containers, where the configuration names any.
fn with_containers(
    runs: ProcessRuns,
    env: &Env,
    home: &Home,
    (config, facts): (&RepoConfig, &Repository),
) -> Result<ProcessRuns, CommandError> {
    if sandboxes(config).next().is_none() {
        return Ok(runs);
    }
    let owner = SandboxOwner {
        instance: home.instance.clone(),
        repository: facts.id.0,
    };
    let containers = containers(env)
        .map_err(|error| CommandError::outside("cannot start a thread for containers", error))?;
    let runs = runs.with_containers(containers, owner);
    // Without an engine the issues that need it say so.
    if let Err(error) = runs.tidy() {
        tracing::debug!("containers are not tidied up: {error}");
    }
    Ok(runs)
}

/// Every sandbox of the configuration.
pub fn sandboxes(config: &RepoConfig) -> impl Iterator<Item = &Sandbox> {
    let steps = config
        .places
        .iter()
        .filter_map(|place| place.sandbox.as_ref());
    steps.chain(&config.agents.sandbox)
}

/// The containers of this machine; the engine is looked for when the first one is wanted.
pub fn containers(env: &Env) -> std::io::Result<Arc<DockerContainers>> {
    let places = Places::of(&|name| env.get(name));
    Ok(Arc::new(DockerContainers::new(places, env.all())?))
}

fn events(config: &RepoConfig) -> Arc<dyn Events> {
    match &config.event_db {
        Some(path) => Arc::new(SqliteEvents::new(path)),
        None => Arc::new(NoEvents),
    }
}

fn settings(env: &Env, home: &Home, config: &RepoConfig, token: &SecretString) -> Settings {
    let secrets = env
        .secrets()
        .chain(config_secrets(config))
        .chain(std::iter::once(token.expose_secret().to_owned()));
    Settings {
        alias: config.alias.clone(),
        slug: config.repo.clone(),
        base_branch: config.base_branch.clone(),
        worktree_dir: config.worktree_dir.clone(),
        transient_patterns: config
            .transient_error_patterns
            .iter()
            .map(|pattern| pattern.as_str().to_owned())
            .collect(),
        implement: agent(&config.agents.implement),
        simplify: config.agents.simplify.as_ref().map(agent),
        review: agent(&config.agents.review),
        agent_sandbox: config.agents.sandbox.clone(),
        setup: config.worktree_setup.clone(),
        step_clocks: config.verify_clocks,
        places: config.places.clone(),
        question_file: config.question_file.display().to_string(),
        review_file: REVIEW_FILE.to_owned(),
        target: Target {
            labels: config.target.labels.clone(),
            assignee: config.target.assignee.clone(),
            milestone: config.target.milestone.clone(),
        },
        host: host_name(),
        pid: std::process::id(),
        owner: home.instance.clone(),
        secrets: Secrets::new(secrets),
    }
}

/// Secrets that stand in the configuration itself.
pub fn config_secrets(config: &RepoConfig) -> impl Iterator<Item = String> + '_ {
    let agents = [Some(&config.agents.implement), Some(&config.agents.review)];
    let agents = agents
        .into_iter()
        .chain([config.agents.simplify.as_ref()])
        .flatten();
    let maps: Vec<&BTreeMap<String, String>> = agents
        .map(|agent| &agent.env)
        .chain([&config.env])
        .chain(sandboxes(config).map(|sandbox| &sandbox.env))
        .collect();
    maps.into_iter()
        .flat_map(BTreeMap::iter)
        .filter(|(name, _)| names_a_secret(name))
        .map(|(_, value)| value.clone())
}

fn agent(config: &AgentConfig) -> AgentSettings {
    AgentSettings {
        commands: config.commands.clone(),
        clocks: config.clocks,
        env: config.env.clone(),
        env_remove: config.env_remove.clone(),
        env_clear: config.env_clear.clone(),
        format: config.output,
        github: match config.github {
            AgentGithub::None => GithubAccess::None,
            AgentGithub::Inherit => GithubAccess::Inherit,
        },
    }
}

fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}
