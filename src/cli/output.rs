//! Printing: data on standard output, all else on standard error.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is where printing happens"
)]

use std::error::Error;
use std::io::Write as _;

use tracing_subscriber::EnvFilter;

use super::environment::Env;
use super::error::CommandError;

/// A line of data.
pub fn data(line: &str) {
    let mut out = std::io::stdout().lock();
    // A closed pipe (`| head`) is the reader's way of saying enough.
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// A line for people.
pub fn say(line: &str) {
    eprintln!("{line}");
}

/// An error with its causes and hints.
pub fn complain(error: &CommandError) {
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        eprintln!("  caused by: {inner}");
        cause = inner.source();
    }
    for hint in error.hints() {
        eprintln!("hint: {hint}");
    }
}

/// Starts the log on standard error.
pub fn start_log(verbose: u8, env: &Env) {
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
        .with_target(false)
        .try_init();
}
