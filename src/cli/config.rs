//! `config show|check|schema`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::{Args, ConfigAction, ConfigOptions};
use super::environment::Env;
use super::error::{CommandError, Kind};
use super::output::{self, Paint, data, paint};
use super::wiring;
use crate::config::{self, Config};

/// Runs the command.
pub fn config(env: &Env, args: &Args, options: &ConfigOptions) -> Result<ExitCode, CommandError> {
    match options.action {
        ConfigAction::Schema => {
            let text = serde_json::to_string_pretty(&config::schema())
                .map_err(|error| CommandError::bug("cannot write the schema", error))?;
            data(&text);
            Ok(ExitCode::SUCCESS)
        }
        ConfigAction::Show { json: false } => {
            let config = wiring::load_config(env, args.config.as_deref())?;
            let shown = config::show(&config);
            data(&format!("# {}", config.source.display()));
            for key in shown {
                let line = format!("{}: {}", key.key, key.value);
                let from = format!("# {}", key.provenance());
                data(&format!("{line:<58} {}", paint(Paint::Faint, &from)));
            }
            Ok(ExitCode::SUCCESS)
        }
        ConfigAction::Show { json: true } => {
            let config = wiring::load_config(env, args.config.as_deref())?;
            output::json(&json!({ "file": config.source, "keys": config::show(&config) }))?;
            Ok(ExitCode::SUCCESS)
        }
        ConfigAction::Check { json: false } => {
            let config = wiring::load_config(env, args.config.as_deref())?;
            clones_are_there(&config)?;
            let repositories = config.repositories.len();
            let word = if repositories == 1 {
                "repository"
            } else {
                "repositories"
            };
            data(&format!(
                "{} `{}` is fine: {repositories} {word}",
                paint(Paint::Good, "✓"),
                config.source.display()
            ));
            Ok(ExitCode::SUCCESS)
        }
        ConfigAction::Check { json: true } => check_json(env, args),
    }
}

/// A clone that is yet to be made is nothing that the file could be blamed for, but no run would start.
fn clones_are_there(config: &Config) -> Result<(), CommandError> {
    let missing = config
        .repositories
        .values()
        .filter(|one| !one.path.exists());
    for repository in missing {
        super::clone::origin(repository)?;
    }
    Ok(())
}

/// The problems as data; the exit status is the same as without `--json`.
fn check_json(env: &Env, args: &Args) -> Result<ExitCode, CommandError> {
    let file = wiring::find_config(env, args.config.as_deref())?;
    let text = wiring::read_config(&file)?;
    let loaded = config::load(&text, &file, &|name| env.get(name));
    let missing = loaded
        .as_ref()
        .ok()
        .and_then(|config| clones_are_there(config).err());
    let problems = loaded.err().map(|problems| problems.0).unwrap_or_default();
    let missing = missing.map(|error| {
        json!({
            "line": null, "column": null,
            "message": error.to_string(), "hint": error.hints().first(),
        })
    });
    let list: Vec<Value> = problems
        .iter()
        .map(|problem| {
            json!({
                "line": problem.line, "column": problem.column,
                "message": problem.message, "hint": problem.hint,
            })
        })
        .chain(missing)
        .collect();
    output::json(&json!({ "file": file, "ok": list.is_empty(), "problems": list }))?;
    Ok(ExitCode::from(if list.is_empty() {
        0
    } else {
        Kind::Config as u8
    }))
}
