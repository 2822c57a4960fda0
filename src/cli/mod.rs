//! The command line: arguments in, doors wired, one line of errors out. Decides nothing about issues.

mod args;
mod board;
mod claim;
mod clone;
mod completions;
mod config;
mod cycle;
mod demo;
mod doctor;
mod environment;
mod error;
mod explain;
mod handoff;
mod history;
mod hooks;
mod init;
mod lease;
mod logs;
mod manual;
mod mutex;
mod output;
mod resume;
mod run;
mod select;
mod signals;
mod skills;
mod standing;
mod status;
pub mod supervise;
mod token;
mod tool;
mod unit;
mod wiring;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use environment::Env;
use error::{CommandError, Kind};
use lease::early::Early;

/// Closes `/proc/<pid>/environ`, where the token stands, to other processes of the same user: agents.
/// Best effort: nothing depends on it.
#[cfg(target_os = "linux")]
fn keep_environment_private() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Elsewhere the system shows no environment of other processes by default.
#[cfg(not(target_os = "linux"))]
fn keep_environment_private() {}

/// Parses the arguments, runs the command, prints what went wrong.
pub fn main() -> ExitCode {
    let words = words(std::env::args_os());
    let raw = words.get(1..).unwrap_or_default();
    // First of all, since it is waited for before every edit.
    match lease::early::answer(raw) {
        Early::NotAsked => {}
        Early::Allowed => return ExitCode::SUCCESS,
        Early::Ask { event, block } => return hooked(&event, block),
    }
    if let Some((command, rest)) = raw.split_first() {
        // Not for people, so it is not in the parser: its arguments are whatever a run's command is.
        if command == "supervise" {
            return supervised(rest);
        }
        // It stands in front of short commands, so it does not pay for the parser of the others.
        if command == "mutex"
            && let Some(options) = mutex::quick_options(rest)
        {
            return finish(|| mutex::mutex(&options));
        }
    }
    keep_environment_private();
    match Args::try_parse_from(words) {
        Ok(args) => finish(|| run(&args)),
        Err(error) => {
            let _ = error.print();
            ExitCode::from(if error.use_stderr() { 2 } else { 0 })
        }
    }
}

fn finish(command: impl FnOnce() -> Result<ExitCode, CommandError>) -> ExitCode {
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(command));
    match ran.unwrap_or_else(|_| Err(CommandError::new(Kind::Bug, "ghswarm broke off"))) {
        Ok(code) => code,
        Err(error) => {
            output::complain(&error);
            error.exit_code()
        }
    }
}

/// Called by the name of gh-issue-lease it is that: scripts and hooks need not change.
fn words(mut given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let name = given.next().unwrap_or_else(|| "ghswarm".into());
    let is_lease = Path::new(&name)
        .file_stem()
        .is_some_and(|stem| stem == "gh-issue-lease");
    let lease = is_lease.then(|| "lease".into());
    std::iter::once(name).chain(lease).chain(given).collect()
}

fn run(args: &Args) -> Result<ExitCode, CommandError> {
    if let Command::Mutex(options) = &args.command {
        return mutex::mutex(options);
    }
    let env = Env::read();
    output::start(args.verbose, &env);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CommandError::bug("cannot start the runtime", error))?;
    let done = runtime.block_on(ended_by_signals(&args.command, perform(&env, args)));
    // What reads a repository just now may take its time; nobody waits for what it says.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    done
}

/// A command that is asked to end gives up what it waits for, and so ends the git that it started: a push must not
/// go on behind the back of whoever stopped it. Runs are their supervisors'.
async fn ended_by_signals(
    command: &Command,
    performed: impl Future<Output = Result<ExitCode, CommandError>>,
) -> Result<ExitCode, CommandError> {
    // These have something to say or to clear away first.
    let serves = matches!(command, Command::Demo(options) if options.serve);
    if serves || matches!(command, Command::Loop(_) | Command::Board(_)) {
        return performed.await;
    }
    tokio::select! {
        biased;
        done = performed => done,
        signal = signals::wait() => Ok(ExitCode::from(signal?.exit_code())),
    }
}

async fn perform(env: &Env, args: &Args) -> Result<ExitCode, CommandError> {
    match &args.command {
        Command::Cycle(options) => cycle::cycle(env, args, options).await,
        Command::Loop(options) => cycle::run_loop(env, args, options).await,
        Command::Run(options) => run::run(env, args, options).await,
        Command::Explain(options) => explain::explain(env, args, options).await,
        Command::Status(options) => status::status(env, args, options).await,
        Command::History(options) => history::history(env, args, options),
        Command::Logs(options) => logs::logs(env, args, options).await,
        Command::Resume(options) => Box::pin(resume::resume(env, args, options)).await,
        Command::Claim(options) => Box::pin(claim::claim(env, args, options)).await,
        Command::Board(options) => board::board(env, args, options).await,
        Command::Init(options) => init::init(env, args, options),
        Command::Config(options) => config::config(env, args, options),
        Command::Doctor(options) => doctor::doctor(env, args, options).await,
        Command::Demo(options) => demo::demo(env, options).await,
        Command::Hooks(options) => hooks::hooks(env, options),
        Command::Lease(options) => lease::lease(env, args, options).await,
        Command::Service(options) => unit::service(env, args, options),
        Command::Skills(options) => skills::skills(env, options),
        Command::Completions(options) => completions::completions(options),
        Command::Man(options) => manual::man(options),
        Command::Mutex(_) => Err(CommandError::new(Kind::Bug, "`mutex` came too late")),
    }
}

/// A hook never stops the work it watches: whatever happens, it ends well.
fn hooked(event: &lease::early::Event, block: bool) -> ExitCode {
    let env = Env::read();
    output::start(0, &env);
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        Some(runtime.block_on(lease::hooks::claude(&env, None, (event, block))))
    };
    let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask));
    asked.ok().flatten().unwrap_or(ExitCode::SUCCESS)
}

fn supervised(rest: &[OsString]) -> ExitCode {
    let rest: Vec<String> = rest
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match supervise::supervise(&rest, &handoff::connect_supervisor) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            supervise::complain(&error);
            ExitCode::from(70)
        }
    }
}
