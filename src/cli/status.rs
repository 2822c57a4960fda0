//! `status`: every managed issue in a table. One listing a repository and one look an issue.

use std::process::ExitCode;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use serde_json::json;

use super::args::{Args, StatusOptions};
use super::environment::Env;
use super::error::CommandError;
use super::standing::Standing;
use super::{cycle, output, select, wiring};
use crate::config::RepoConfig;
use crate::decide::Order;
use crate::engine::RepoEngine;
use crate::model::limits::STATUS_LOOKS_MAX;
use crate::ports::Refusal;

const HEADER: [&str; 10] = [
    "repository",
    "issue",
    "phase",
    "runs",
    "spent",
    "tasks",
    "holder",
    "PR",
    "next look",
    "why",
];

/// Columns whose words are not broken where there is room.
const WHOLE: [&str; 5] = ["phase", "runs", "tasks", "PR", "next look"];

/// So wide a terminal has room for them.
const WIDE: u16 = 100;

/// What was seen of all repositories.
#[derive(Default)]
struct Seen {
    standings: Vec<Standing>,
    /// Repository and why it could not be looked at.
    troubles: Vec<(String, CommandError)>,
    /// Issues that were not looked at: there are too many.
    left_out: usize,
}

/// Runs the command.
pub async fn status(
    env: &Env,
    args: &Args,
    options: &StatusOptions,
) -> Result<ExitCode, CommandError> {
    let config = wiring::load_config(env, args.config.as_deref())?;
    let wanted = select::all(&config, options.repository.as_deref())?;
    let home = wiring::open_home(&config)?;
    let mut seen = Seen::default();
    for repository in wanted {
        let opened = wiring::open_repository(env, &home, repository).await;
        let looked = match opened {
            Ok(engine) => look(&engine, repository, &mut seen).await,
            Err(error) => Err(error),
        };
        if let Err(error) = looked {
            seen.troubles.push((repository.alias.clone(), error));
        }
    }
    if options.json {
        let troubles: Vec<_> = seen
            .troubles
            .iter()
            .map(|(alias, error)| json!({ "repository": alias, "trouble": error.in_full() }))
            .collect();
        output::json(&json!({
            "issues": seen.standings, "troubles": troubles, "left_out": seen.left_out,
        }))?;
    } else {
        print(env, &seen);
    }
    // The first trouble is the command's, after all that could be seen was shown.
    match seen.troubles.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(ExitCode::SUCCESS),
    }
}

async fn look(
    engine: &RepoEngine,
    config: &RepoConfig,
    seen: &mut Seen,
) -> Result<(), CommandError> {
    let refused = |error| wiring::refused(&error, &config.alias);
    let issues = engine.managed().await.map_err(refused)?;
    seen.left_out += issues.len().saturating_sub(STATUS_LOOKS_MAX);
    for issue in issues.iter().take(STATUS_LOOKS_MAX) {
        let explained = engine.explain(issue.number, &Order::default()).await;
        match explained {
            Ok(explained) => seen.standings.extend(Standing::of(engine, &explained)),
            // A broken worktree is one issue's trouble: the others are shown all the same.
            Err(error) if error.refusal() == Some(Refusal::Local) => {
                let error = wiring::refused_issue(&error, &config.alias, issue.number);
                seen.troubles.push((config.alias.clone(), error));
            }
            Err(error) => return Err(wiring::refused(&error, &config.alias)),
        }
    }
    Ok(())
}

fn cells(row: &Standing) -> [String; 10] {
    let next = row.until.map(output::moment);
    let why = match (row.next, &row.trouble) {
        (Some(effect), Some(trouble)) => format!("next: {effect}; failed: {trouble}"),
        (Some(effect), None) => format!("next: {effect}"),
        (None, _) => cycle::said(row.outcome, &row.why),
    };
    [
        row.repository.clone(),
        format!("#{} {}", row.issue, row.title),
        row.phase.name().to_owned(),
        row.runs(),
        row.spent_in_words(),
        row.tasks_in_words(),
        row.holder.clone().unwrap_or_default(),
        row.pr.map_or_else(String::new, |pr| format!("#{pr}")),
        next.unwrap_or_default(),
        why,
    ]
}

fn print(env: &Env, seen: &Seen) {
    if seen.standings.is_empty() {
        if seen.troubles.is_empty() {
            output::say("no open issue carries a status label; to hand one over, give it one");
        }
        return;
    }
    let rows: Vec<[String; 10]> = seen.standings.iter().map(cells).collect();
    // A column in which nothing stands only takes room from the others.
    let used: Vec<usize> = (0..HEADER.len())
        .filter(|column| rows.iter().any(|row| !row[*column].is_empty()))
        .collect();
    let pick = |row: &[String]| -> Vec<String> { used.iter().map(|c| row[*c].clone()).collect() };
    let mut table = Table::new();
    let width = output::width(env);
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(pick(&HEADER.map(str::to_owned)));
    for row in &rows {
        table.add_row(pick(row));
    }
    if width >= WIDE {
        for (place, column) in used.iter().enumerate() {
            let whole = WHOLE.contains(&HEADER[*column]);
            if let Some(column) = table.column_mut(place).filter(|_| whole) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
    }
    output::data(&table.trim_fmt());
    if seen.left_out > 0 {
        output::say(&format!("and {} more issues", seen.left_out));
    }
}

impl CommandError {
    /// The whole chain on one line.
    fn in_full(&self) -> String {
        match std::error::Error::source(self) {
            Some(source) => format!("{self}: {source}"),
            None => self.to_string(),
        }
    }
}
