//! The configuration file: text and environment in, checked values or all problems at once out.
//!
//! The file becomes a tree in which every value knows its place (`tree`), is held against one table
//! of keys (`keys`, `check`), each repository is laid over `defaults` and the built-in defaults, and
//! the result is read into typed values (`read`, `settings`). The table also makes the JSON Schema.
//! Nothing here reads the process's environment or prints, and no message repeats what a variable
//! held. Only `locate` and `places` look at the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

mod check;
mod defaults;
mod expand;
mod hints;
mod keys;
mod locate;
mod near;
mod places;
mod policy;
mod problem;
mod read;
mod sandbox;
mod schema;
mod sense;
mod settings;
mod show;
mod tree;
mod values;

pub use expand::Environment;
pub use locate::{NotFound, locate};
pub use problem::{ConfigProblem, ConfigProblems};
pub use schema::schema;
pub use settings::{
    AgentConfig, AgentGithub, Agents, Claims, Config, GithubConfig, IssueOrder, LeaseConfig,
    LogConfig, LogFormat, RepoConfig, Target, Trust,
};
pub use show::{Shown, show};
pub use tree::Origin;

use problem::{Fault, Position, Problems};
use tree::{Map, Node, Value};

/// Every key with its default and its reason: what `ghswarm init` writes.
pub const EXAMPLE: &str = include_str!("../../ghswarm.example.yaml");

/// Checks the text of `file`. The environment is asked for `${VAR}`, `HOME` and `GHSWARM_HOME`.
pub fn load(text: &str, file: &Path, env: Environment<'_>) -> Result<Config, ConfigProblems> {
    let (mut top, mut problems) = match tree::parse(text, file) {
        Ok(parsed) => parsed,
        Err(broken) => return Err(broken.into_problems()),
    };
    if top.value == Value::Null {
        top.value = Value::Map(Map::default());
    }
    expand::expand_variables(&mut top, env, &mut problems);
    check::check_map(&top, keys::TOP, &check::Path::TOP, &mut problems);
    let homes = expand::Homes::of(env);
    let home = homes.ghswarm().unwrap_or_else(|fault| {
        problems.add(Position::default(), fault);
        PathBuf::new()
    });
    let repositories = lay_out(&top, &homes, &mut problems);
    defaults::fill(&mut top, keys::TOP);
    expand::expand_homes(&mut top, keys::TOP, &homes, &mut problems);
    places::check_top(&top, &mut problems);
    places::check_shared(&repositories, &mut problems);
    problems.finish()?;
    assemble(&top, &repositories, file, home).ok_or_else(|| doubtful(problems))
}

/// Each repository over `defaults` over the built-in defaults, by alias.
fn lay_out(top: &Node, homes: &expand::Homes, problems: &mut Problems) -> BTreeMap<String, Node> {
    let mut laid_out = BTreeMap::new();
    let mut base = top.map().and_then(|map| map.get("defaults")).cloned();
    if let Some(base) = &mut base {
        base.set_origin(Origin::Defaults);
    }
    if top.map().is_none() {
        return laid_out;
    }
    let named = top.map().and_then(|map| map.get("repositories"));
    let Some(named) =
        named.filter(|named| named.map().is_none_or(|map| map.iter().next().is_some()))
    else {
        let at = named.map_or_else(Position::default, |node| node.at);
        let fault = Fault::new("`repositories` is missing");
        problems.add(
            at,
            fault.hint("write `repositories: {NAME: {repo: OWNER/NAME, path: …}}`"),
        );
        return laid_out;
    };
    for (alias, at, node) in named.map().into_iter().flat_map(Map::iter) {
        let base = base.as_ref().filter(|base| base.map().is_some());
        let mut merged = base.map_or_else(|| node.clone(), |base| tree::merge(base, node));
        if merged.map().is_none() {
            continue;
        }
        check::check_required(&merged, alias, at, problems);
        defaults::fill(&mut merged, keys::REPOSITORY);
        defaults::keep_tokens(&mut merged);
        expand::expand_homes(&mut merged, keys::REPOSITORY, homes, problems);
        sense::check_sense(&merged, problems);
        places::check_paths(&merged, problems);
        laid_out.insert(alias.to_owned(), merged);
    }
    laid_out
}

fn assemble(
    top: &Node,
    nodes: &BTreeMap<String, Node>,
    file: &Path,
    home: PathBuf,
) -> Option<Config> {
    let all = read::Reader::of(top);
    let mut shown = Vec::new();
    let own: Vec<_> = keys::TOP
        .iter()
        .copied()
        .filter(|key| key.name != "defaults")
        .collect();
    show::collect(top, &own, "", &mut shown);
    let mut repositories = BTreeMap::new();
    for (alias, node) in nodes {
        show::collect(
            node,
            keys::REPOSITORY,
            &format!("repositories.{alias}."),
            &mut shown,
        );
        repositories.insert(alias.clone(), read::read_repository(alias, node)?);
    }
    Some(Config {
        source: file.to_owned(),
        home,
        repositories,
        max_parallel_repos: all.count("max_parallel_repos") as usize,
        daemon_log: all.path("daemon_log"),
        daemon_pid: all.path("daemon_pid"),
        keep_awake: all.switch("keep_awake"),
        log: read::read_log(all),
        shown,
    })
}

/// A value passed its check and could still not be read: a bug of ours, said instead of guessed over.
fn doubtful(mut problems: Problems) -> ConfigProblems {
    let fault = Fault::new("a value passed its check and could not be read");
    problems.add(
        Position::default(),
        fault.hint("this is a bug of ghswarm: please report it"),
    );
    problems.into_problems()
}

#[cfg(test)]
mod tests;
