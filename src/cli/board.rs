//! `board`: every open issue with who has it, before anybody picks. Two requests and their further pages.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use serde_json::json;

use super::args::{Args, BoardOptions};
use super::environment::Env;
use super::error::CommandError;
use super::wiring::{self, Opened};
use super::{claim, output, signals};
use crate::decide::board::{BoardRow, Run, Setting, rows};
use crate::model::comment::strip_ansi;
use crate::ports::overview::Overview as _;

/// How often a board that is watched is read anew: two requests, so an hour costs a few hundred of the
/// five thousand that a token has.
const EVERY: Duration = Duration::from_secs(30);

/// Clears the screen, its memory too, and goes to the top.
const CLEAR: &str = "\x1b[2J\x1b[3J\x1b[H";

const HEADER: [&str; 5] = ["issue", "title", "run", "assignee", "PR"];

/// So wide a terminal has room for whole short columns.
const WIDE: u16 = 100;

/// Runs the command.
pub async fn board(
    env: &Env,
    args: &Args,
    options: &BoardOptions,
) -> Result<ExitCode, CommandError> {
    let opened = claim::open(env, args, options.repo.as_deref()).await?;
    if !options.watch {
        let rows = read(&opened).await?;
        show(env, &rows, options.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let in_place = std::io::stdout().is_terminal() && !options.json;
    let ended = signals::wait();
    tokio::pin!(ended);
    loop {
        let turn = tokio::select! {
            rows = read(&opened) => rows,
            signal = &mut ended => return signal.map(|signal| ExitCode::from(signal.exit_code())),
        };
        match turn {
            Ok(rows) => {
                if in_place {
                    output::draw(CLEAR);
                }
                show(env, &rows, options.json)?;
            }
            // A board that hangs on the wall outlives an outage.
            Err(error) => output::complain(&error),
        }
        tokio::select! {
            () = opened.engine.world.clock.sleep(EVERY) => {}
            signal = &mut ended => return signal.map(|signal| ExitCode::from(signal.exit_code())),
        }
    }
}

async fn read(opened: &Opened) -> Result<Vec<BoardRow>, CommandError> {
    let engine = &opened.engine;
    let refused = |error| wiring::refused(&error, &opened.name());
    let board = opened.github.board(&engine.policy.namespace).await;
    let board = board.map_err(refused)?;
    let repo = engine.repository().await.map_err(refused)?;
    let mut claims = BTreeMap::new();
    for issue in engine.world.folders.claimed_issues().map_err(refused)? {
        // A damaged record is `claim`'s trouble; the board shows what everybody sees.
        if let Ok(Some(record)) = engine.world.folders.claim(issue) {
            claims.insert(issue, record);
        }
    }
    let setting = Setting {
        repo: &repo,
        policy: &engine.policy,
        claims: &claims,
    };
    Ok(rows(&board, setting))
}

fn show(env: &Env, rows: &[BoardRow], json: bool) -> Result<(), CommandError> {
    if json {
        let lines: Vec<_> = rows
            .iter()
            .map(|row| {
                let mut line = json!(row);
                line["says"] = json!(row.run.to_string());
                line
            })
            .collect();
        return output::json(&json!({ "issues": lines }));
    }
    if rows.is_empty() {
        output::say("no issue is open");
        return Ok(());
    }
    output::data(&table(rows, output::width(env)));
    let free = rows.iter().filter(|row| row.run == Run::Free).count();
    let first = rows.iter().find(|row| row.run == Run::Free);
    if let Some(first) = first {
        output::say(&format!(
            "{free} free; to take the oldest: ghswarm claim {}",
            first.issue
        ));
    }
    Ok(())
}

fn cells(row: &BoardRow) -> [String; 5] {
    let prs: Vec<String> = row.prs.iter().map(|pr| format!("#{pr}")).collect();
    let logins: Vec<String> = row.assignees.iter().map(ToString::to_string).collect();
    [
        format!("#{}", row.issue),
        // Anybody writes titles; a terminal would act on what they hold.
        strip_ansi(&row.title),
        strip_ansi(&row.run.to_string()),
        logins.join(", "),
        prs.join(", "),
    ]
}

/// The board as a table of this width.
fn table(rows: &[BoardRow], width: u16) -> String {
    let rows: Vec<[String; 5]> = rows.iter().map(cells).collect();
    // A column in which nothing stands only takes room from the others.
    let used: Vec<usize> = (0..HEADER.len())
        .filter(|column| rows.iter().any(|row| !row[*column].is_empty()))
        .collect();
    let pick = |row: &[String]| -> Vec<String> { used.iter().map(|c| row[*c].clone()).collect() };
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(pick(&HEADER.map(str::to_owned)));
    for row in &rows {
        table.add_row(pick(row));
    }
    for (place, column) in used.iter().enumerate() {
        let short = HEADER[*column] == "issue" || (width >= WIDE && HEADER[*column] == "PR");
        if let Some(column) = table.column_mut(place).filter(|_| short) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests;
