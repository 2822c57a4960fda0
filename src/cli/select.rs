//! Which repository a command is about.

use std::path::Path;

use super::environment::Env;
use super::error::{CommandError, Kind};
use super::wiring;
use crate::config::{Config, RepoConfig};
use crate::engine::RepoEngine;
use crate::model::ids::IssueNumber;

/// All repositories, or the one that was named.
pub fn all<'a>(
    config: &'a Config,
    only: Option<&str>,
) -> Result<Vec<&'a RepoConfig>, CommandError> {
    let Some(alias) = only else {
        return Ok(config.repositories.values().collect());
    };
    match config.repositories.get(alias) {
        Some(repository) => Ok(vec![repository]),
        None => Err(CommandError::new(
            Kind::Usage,
            format!("there is no repository `{alias}` in the configuration"),
        )
        .hint(format!("it has: {}", names(config)))),
    }
}

/// The one that was named, or the only one there is: an issue's number says nothing about it.
pub fn one<'a>(config: &'a Config, only: Option<&str>) -> Result<&'a RepoConfig, CommandError> {
    let found = all(config, only)?;
    match found.as_slice() {
        [one] => Ok(one),
        _ => Err(
            CommandError::new(Kind::Usage, "the configuration has several repositories").hint(
                format!("say which one: --repository ALIAS (of: {})", names(config)),
            ),
        ),
    }
}

fn names(config: &Config) -> String {
    let names: Vec<&str> = config.repositories.keys().map(String::as_str).collect();
    names.join(", ")
}

/// Reads the configuration and opens the repository that is meant.
pub async fn open_one(
    env: &Env,
    file: Option<&Path>,
    only: Option<&str>,
) -> Result<(RepoEngine, RepoConfig), CommandError> {
    let config = wiring::load_config(env, file)?;
    let repository = one(&config, only)?.clone();
    let home = wiring::open_home(&config)?;
    let engine = wiring::open_repository(env, &home, &repository).await?;
    Ok((engine, repository))
}

/// There is no such issue.
pub fn no_issue(engine: &RepoEngine, issue: IssueNumber) -> CommandError {
    CommandError::new(
        Kind::Outside,
        format!("there is no issue #{issue} in `{}`", engine.settings.slug),
    )
    .hint("a pull request is worked on through its issue: give the issue's number")
    .hint("see which issues there are: ghswarm status")
}

/// It carries no status label, so it is not ours to touch.
pub fn not_managed(engine: &RepoEngine, issue: IssueNumber) -> CommandError {
    CommandError::new(
        Kind::Outside,
        format!("issue #{issue} is not managed: it carries no status label"),
    )
    .hint(format!(
        "to hand it over, put the label `{}` on it",
        engine.policy.labels.idle
    ))
}
