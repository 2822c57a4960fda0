//! `history`: what was done, from the event store. It asks nobody else.

use std::process::ExitCode;

use super::args::{Args, HistoryOptions};
use super::environment::Env;
use super::error::CommandError;
use super::output::{self, Paint, paint};
use super::{select, wiring};
use crate::adapters::clock::SystemClock;
use crate::adapters::events::SqliteEvents;
use crate::config::RepoConfig;
use crate::ports::clock::Clock as _;
use crate::ports::events::{Event, EventQuery, Events as _};

/// Runs the command.
pub fn history(env: &Env, args: &Args, options: &HistoryOptions) -> Result<ExitCode, CommandError> {
    let config = wiring::load_config(env, args.config.as_deref())?;
    let mut events = Vec::new();
    for repository in select::all(&config, options.repository.as_deref())? {
        events.extend(read(repository, options)?);
    }
    events.sort_by_key(|event| event.at);
    let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let skip = events.len().saturating_sub(limit);
    for event in events.iter().skip(skip) {
        if options.json {
            output::json(event)?;
        } else {
            output::data(&line(event));
        }
    }
    if events.is_empty() && !options.json {
        output::say("nothing is recorded that fits");
    }
    Ok(ExitCode::SUCCESS)
}

fn read(repository: &RepoConfig, options: &HistoryOptions) -> Result<Vec<Event>, CommandError> {
    let Some(path) = &repository.event_db else {
        output::say(&format!(
            "repository `{}` keeps no history: its `event_db` is empty",
            repository.alias
        ));
        return Ok(Vec::new());
    };
    // Reading must not make the file.
    match path.try_exists() {
        Ok(true) => {}
        Ok(false) => return Ok(Vec::new()),
        Err(error) => {
            let what = format!("cannot look for the history `{}`", path.display());
            return Err(CommandError::outside(what, error)
                .hint("choose another place for it: `event_db`, or GHSWARM_HOME=PATH"));
        }
    }
    let query = EventQuery {
        repository: Some(repository.alias.clone()),
        issue: options.issue,
        since: options.since.map(|ago| SystemClock.now() - ago),
        limit: Some(options.limit),
    };
    SqliteEvents::new(path).read(&query).map_err(|words| {
        CommandError::outside(
            format!("cannot read the history `{}`", path.display()),
            words,
        )
        .hint("it is not needed for work: move the file away to start a new one")
    })
}

fn line(event: &Event) -> String {
    let at = event.at.format("%Y-%m-%d %H:%M:%S UTC").to_string();
    let issue = event
        .issue
        .map_or_else(String::new, |issue| format!(" #{issue}"));
    let phase = event.phase.as_deref().unwrap_or("-");
    format!(
        "{}  {}{issue}  {phase:<12} {}",
        paint(Paint::Faint, &at),
        event.repository,
        event.what
    )
}
