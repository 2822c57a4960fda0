//! What `doctor` looks at on this machine. It asks nobody on the network.

use std::path::Path;
use std::process::{Command, Stdio};

use super::super::clone;
use super::Finding;
use crate::adapters::git::GIT_VERSION_MIN;
use crate::config::{AgentConfig, RepoConfig};
use crate::model::limits::DISK_FREE_BYTES_MIN;

#[expect(
    clippy::disallowed_methods,
    reason = "asking which programs there are is neither git's work nor a run"
)]
fn ask(program: &str, arguments: &[&str], path: Option<&str>) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// Is git there, and new enough?
pub fn git() -> Finding {
    let wanted = format!("git {}.{} or newer", GIT_VERSION_MIN.0, GIT_VERSION_MIN.1);
    let Some(text) = ask("git", &["--version"], None) else {
        return Finding::bad("git", "`git` is not found", format!("install {wanted}"));
    };
    let version = text.trim_start_matches("git version ").to_owned();
    let mut parts = version
        .split('.')
        .map_while(|part| part.parse::<u32>().ok());
    match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) if (major, minor) >= GIT_VERSION_MIN => {
            Finding::good("git", version)
        }
        _ => Finding::bad(
            "git",
            format!("`{text}` is too old"),
            format!("install {wanted}"),
        ),
    }
}

/// Is there room?
pub fn disk(check: &'static str, path: &Path) -> Finding {
    let place = clone::nearest(path);
    match rustix::fs::statvfs(place) {
        Err(error) => Finding::skipped(check, format!("{}: {error}", place.display())),
        Ok(facts) => {
            let free = facts.f_bavail.saturating_mul(facts.f_frsize);
            let mib = free >> 20;
            let what = format!("{}.{} GiB free", mib / 1024, (mib % 1024) * 10 / 1024);
            if free < DISK_FREE_BYTES_MIN {
                let remedy = format!("make room at `{}`", place.display());
                Finding::bad(check, what, remedy)
            } else {
                Finding::good(check, what)
            }
        }
    }
}

/// Is the clone there, and does it belong to the repository?
pub fn clone(config: &RepoConfig) -> Vec<Finding> {
    let url = match clone::origin(config) {
        Ok(url) => url,
        Err(error) => return vec![Finding::error("clone", &error)],
    };
    let there = Finding::good("clone", config.path.display().to_string());
    let origin = match clone::belongs(config, &url, &config.repo) {
        Ok(()) => match clone::ssh_alias(config, &url) {
            None => Finding::good("origin", clone::without_login(&url)),
            Some((alias, server)) => Finding::skipped(
                "origin",
                format!(
                    "{}: `{alias}` has to be an alias for `{server}` in your ssh configuration \
                     (see: ssh -G {alias})",
                    clone::without_login(&url)
                ),
            ),
        },
        Err(error) => Finding::error("origin", &error),
    };
    vec![there, origin]
}

/// Are the agents' programs found?
pub fn programs(config: &RepoConfig) -> Vec<Finding> {
    host_agents(config)
        .into_iter()
        .flat_map(|(name, agent)| agent.commands.iter().map(move |c| program(name, agent, c)))
        .collect()
}

/// An agent none of whose programs is found here: it would fail at every try.
pub fn lost_agent(config: &RepoConfig) -> Option<Finding> {
    host_agents(config).into_iter().find_map(|(name, agent)| {
        let mut found = agent.commands.iter().map(|c| program(name, agent, c));
        let first = found.next().filter(|one| one.ok == Some(false))?;
        found.all(|one| one.ok == Some(false)).then_some(first)
    })
}

/// Those that run on this machine and not in a container.
fn host_agents(config: &RepoConfig) -> Vec<(&'static str, &AgentConfig)> {
    if config.agents.sandbox.is_some() {
        return Vec::new();
    }
    let agents = [
        ("implement", Some(&config.agents.implement)),
        ("simplify", config.agents.simplify.as_ref()),
        ("review", Some(&config.agents.review)),
    ];
    let used = |(name, agent): (_, Option<_>)| Some((name, agent?));
    agents.into_iter().filter_map(used).collect()
}

fn program(name: &str, agent: &AgentConfig, command: &str) -> Finding {
    let words = shlex::split(command).unwrap_or_default();
    let word = words
        .iter()
        .find(|word| !word.contains('=') && *word != "env");
    let Some(word) = word.filter(|word| !word.contains(['$', '(', '{', ';', '&', '|'])) else {
        return Finding::skipped(
            "agent",
            format!("{name}: `{command}` is more than a program"),
        );
    };
    if word.contains('/') && !word.starts_with('/') {
        let what = format!("{name}: `{word}` is looked for in the issue's worktree");
        return Finding::skipped("agent", what);
    }
    let path = agent.env.get("PATH").map(String::as_str);
    match ask("sh", &["-c", "command -v -- \"$1\"", "sh", word], path) {
        Some(found) => Finding::good("agent", format!("{name}: {found}")),
        None => Finding::bad(
            "agent",
            format!("{name}: the program `{word}` is not found"),
            format!("install it, or mend `agents.{name}.command`"),
        ),
    }
}
