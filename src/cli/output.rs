//! Printing: data on standard output, all else on standard error. Colour only where a person looks.

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::sync::OnceLock;

use tracing_subscriber::EnvFilter;

use super::environment::Env;
use super::error::CommandError;
use crate::adapters::clock::SystemClock;
use crate::model::ids::Timestamp;
use crate::ports::clock::Clock as _;

/// May standard output, and may standard error be coloured?
static COLOUR: OnceLock<(bool, bool)> = OnceLock::new();

/// Width where no terminal tells one.
const WIDTH: u16 = 120;

/// What a colour stands for. It never says anything that the text does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Fine.
    Good,
    /// Wrong.
    Bad,
    /// Of less weight.
    Faint,
    /// What to do.
    Hint,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "1;31",
            Self::Faint => "2",
            Self::Hint => "36",
        }
    }
}

/// A time as people read it: the day is said where it is not today.
pub fn moment(at: Timestamp) -> String {
    moment_seen(at, SystemClock.now())
}

fn moment_seen(at: Timestamp, now: Timestamp) -> String {
    let format = if at.date_naive() == now.date_naive() {
        "%H:%M:%S UTC"
    } else {
        "%Y-%m-%d %H:%M:%S UTC"
    };
    at.format(format).to_string()
}

/// The text for standard output, coloured where that is a terminal.
pub fn paint(how: Paint, text: &str) -> String {
    match COLOUR.get() {
        Some((true, _)) => coloured(how, text),
        _ => text.to_owned(),
    }
}

fn paint_error(how: Paint, text: &str) -> String {
    match COLOUR.get() {
        Some((_, true)) => coloured(how, text),
        _ => text.to_owned(),
    }
}

fn coloured(how: Paint, text: &str) -> String {
    format!("\x1b[{}m{text}\x1b[0m", how.code())
}

/// Columns to fit tables into.
pub fn width(env: &Env) -> u16 {
    let asked = env.get("COLUMNS").and_then(|text| text.parse().ok());
    let terminal = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0);
    asked.or(terminal).filter(|w| *w >= 40).unwrap_or(WIDTH)
}

/// A line of data.
pub fn data(line: &str) {
    let mut out = std::io::stdout().lock();
    // A closed pipe (`| head`) is the reader's way of saying enough.
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// Codes for a terminal, without a line's end.
pub fn draw(codes: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(codes.as_bytes());
}

/// A value as one line of JSON.
pub fn json<T: serde::Serialize>(value: &T) -> Result<(), CommandError> {
    let text = serde_json::to_string(value)
        .map_err(|error| CommandError::bug("cannot write JSON", error))?;
    data(&text);
    Ok(())
}

/// A line for people. A disk that is full under a log must not end what works.
pub fn say(line: &str) {
    let mut out = std::io::stderr().lock();
    let _ = writeln!(out, "{line}");
}

/// An error with its causes, its places and its hints.
pub fn complain(error: &CommandError) {
    if error.is_told() {
        return;
    }
    say(&format!("{} {error}", paint_error(Paint::Bad, "error:")));
    let mut cause = error.source();
    while let Some(inner) = cause {
        say(&format!("  caused by: {inner}"));
        cause = inner.source();
    }
    for line in error.details() {
        say(line);
    }
    for hint in error.hints() {
        say(&format!("{} {hint}", paint_error(Paint::Hint, "hint:")));
    }
}

/// Starts the log on standard error, and decides about colour.
pub fn start(verbose: u8, env: &Env) {
    let wanted = env.get("NO_COLOR").is_none() && env.get("TERM").as_deref() != Some("dumb");
    let on_error = wanted && std::io::stderr().is_terminal();
    let _ = COLOUR.set((wanted && std::io::stdout().is_terminal(), on_error));
    let usual = match verbose {
        0 => "warn",
        1 => "warn,ghswarm=info",
        _ => "info,ghswarm=debug",
    };
    let filter = env.get("GHSWARM_LOG").unwrap_or_else(|| usual.to_owned());
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new(usual));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(on_error)
        .with_target(false)
        // What is said about a line that could not be written would not be written either.
        .log_internal_errors(false)
        .try_init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_another_day_is_told_with_its_day() {
        let at: Timestamp = "2026-11-30T23:59:58Z".parse().unwrap();
        let today = "2026-11-30T00:00:00Z".parse().unwrap();
        let before = "2026-11-29T23:59:59Z".parse().unwrap();
        assert_eq!(moment_seen(at, today), "23:59:58 UTC");
        assert_eq!(moment_seen(at, before), "2026-11-30 23:59:58 UTC");
    }
}
