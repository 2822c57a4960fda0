//! `logs N`: the output of an issue's newest runs, or the list of all of them, from this home's run
//! folders. It asks nobody else.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use super::args::{Args, LogsOptions};
use super::environment::Env;
use super::error::{CommandError, Kind};
use super::output::{self, Paint, paint};
use super::{select, wiring};
use crate::adapters::clock::SystemClock;
use crate::adapters::processes::ProcessRuns;
use crate::model::comment::strip_ansi;
use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::run::{RunFacts, RunKey, RunSpec, RunStatus};
use crate::model::secrets::Secrets;
use crate::ports::clock::Clock as _;
use crate::ports::runs::Runs as _;

/// How often a followed log is looked at.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);

/// Runs the command.
pub async fn logs(env: &Env, args: &Args, options: &LogsOptions) -> Result<ExitCode, CommandError> {
    let config = wiring::load_config(env, args.config.as_deref())?;
    let repository = select::one(&config, options.repository.as_deref())?;
    let root = wiring::run_root(env).unwrap_or_else(|| config.home.join("runs"));
    let issue = options.issue;
    if let Some(key) = options.run.as_ref().filter(|key| key.issue != issue) {
        return Err(CommandError::new(
            Kind::Usage,
            format!(
                "the run `{key}` is one of issue #{}, not of #{issue}",
                key.issue
            ),
        ));
    }
    let runs = of_issue(&root, &repository.alias, issue)?;
    if options.list && !runs.is_empty() {
        for run in runs
            .iter()
            .filter(|run| options.run.as_ref().is_none_or(|key| run.key == *key))
        {
            output::data(&entry(run));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = choose(&runs, options.run.as_ref());
    let Some(newest) = wanted.last() else {
        return Err(nothing(options, &runs, &root));
    };
    // Logs from before an upgrade may hold some, and so may what becomes one when colours are taken out.
    let known = env.secrets().chain(wiring::config_secrets(repository));
    let secrets = Secrets::new(known);
    for run in &wanted {
        let follow = options.follow && run.key == newest.key;
        print(run, Follow(follow), &secrets).await?;
    }
    Ok(ExitCode::SUCCESS)
}

fn nothing(options: &LogsOptions, runs: &[RunFacts], root: &Path) -> CommandError {
    let issue = options.issue;
    let what = match &options.run {
        Some(key) => format!("there is no run `{key}`"),
        None => format!("issue #{issue} has no run on this machine"),
    };
    let error = CommandError::new(Kind::Outside, what);
    if runs.is_empty() {
        return error.hint(format!("runs are kept in {}", root.display()));
    }
    let keys: Vec<String> = runs.iter().map(|run| run.key.to_string()).collect();
    error.hint(format!("it has: {}", keys.join(", ")))
}

/// The issue's runs, oldest first. The repository's id is not asked for: it would need GitHub.
fn of_issue(root: &Path, alias: &str, issue: IssueNumber) -> Result<Vec<RunFacts>, CommandError> {
    let failed = |error: std::io::Error| {
        CommandError::outside(format!("cannot list `{}`", root.display()), error)
    };
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let folder = entry.map_err(failed)?.path();
        let runs = ProcessRuns::new(folder, PathBuf::new(), Vec::new());
        let facts = runs
            .facts(issue)
            .map_err(|error| CommandError::outside("cannot read the run folders", error))?;
        found.extend(facts.into_iter().filter(|run| belongs(run, alias)));
    }
    Ok(found)
}

/// Other repositories have an issue of that number too.
fn belongs(run: &RunFacts, alias: &str) -> bool {
    let spec = std::fs::read_to_string(run.folder.join("spec.json")).ok();
    let spec = spec.and_then(|text| serde_json::from_str::<RunSpec>(&text).ok());
    let lease = spec.and_then(|spec| spec.lease);
    lease.is_none_or(|lease| lease.alias == alias)
}

/// The run that was named, or all runs of the newest attempt.
fn choose<'a>(runs: &'a [RunFacts], named: Option<&RunKey>) -> Vec<&'a RunFacts> {
    let newest = runs.last().map(|run| (run.key.epoch, run.key.seq));
    let wanted = |run: &&RunFacts| match named {
        Some(key) => run.key == *key,
        None => Some((run.key.epoch, run.key.seq)) == newest,
    };
    runs.iter().filter(wanted).collect()
}

/// One run as a line: key, what it ran, when and how it ended.
fn entry(run: &RunFacts) -> String {
    let time = |at: Timestamp| at.format("%Y-%m-%d %H:%M:%S UTC").to_string();
    let when = match &run.status {
        RunStatus::Reserved => "-".to_owned(),
        RunStatus::Running { since, .. } => time(*since),
        RunStatus::Ended(exit) => time(exit.started_at),
    };
    let how = match &run.status {
        RunStatus::Reserved | RunStatus::Running { .. } => in_words(&run.status),
        RunStatus::Ended(exit) => {
            let took = (exit.ended_at - exit.started_at).num_seconds().max(0);
            format!("{} after {took}s", in_words(&run.status))
        }
    };
    let (key, label) = (run.key.to_string(), &run.label);
    format!("{key:<28} {when:<23} {how:<28} {label}")
}

/// Go on until the run has ended?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Follow(bool);

async fn print(run: &RunFacts, follow: Follow, secrets: &Secrets) -> Result<(), CommandError> {
    let title = format!(
        "==> {} ({}): {} <==",
        run.key,
        run.label,
        in_words(&run.status)
    );
    output::data(&paint(Paint::Hint, &title));
    let path = run.folder.join("output.log");
    let failed =
        |error| CommandError::outside(format!("cannot read the log `{}`", path.display()), error);
    let mut file = match File::open(&path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let mut line = Vec::new();
    loop {
        // Asked before reading: what was written until the end is then read for sure.
        let now = follow.0.then(|| standing(run)).flatten();
        let goes_on = matches!(now, Some(RunStatus::Running { .. }));
        while file.read_until(b'\n', &mut line).map_err(failed)? > 0 {
            if line.ends_with(b"\n") || !goes_on {
                let text = String::from_utf8_lossy(&line);
                let text = secrets.redact(&strip_ansi(&text));
                output::data(text.trim_end_matches(['\n', '\r']));
                line.clear();
            }
        }
        if !goes_on {
            let was_going = matches!(run.status, RunStatus::Running { .. });
            if let Some(end) = now.filter(|_| was_going) {
                let line = format!("==> {}: {} <==", run.key, in_words(&end));
                output::data(&paint(Paint::Hint, &line));
            }
            return Ok(());
        }
        SystemClock.sleep(FOLLOW_EVERY).await;
    }
}

/// How a run stands now. A supervisor that died leaves no word, so its folder alone is not asked.
fn standing(run: &RunFacts) -> Option<RunStatus> {
    let root = run.folder.ancestors().nth(2)?;
    let runs = ProcessRuns::new(root.to_owned(), PathBuf::new(), Vec::new());
    let facts = runs.facts(run.key.issue).ok()?;
    let now = facts.into_iter().find(|now| now.key == run.key)?;
    Some(now.status)
}

fn in_words(status: &RunStatus) -> String {
    match status {
        RunStatus::Reserved => "not started".to_owned(),
        RunStatus::Running { since, frozen } => {
            let how = if *frozen { "paused" } else { "running" };
            format!("{how} since {}", super::output::moment(*since))
        }
        RunStatus::Ended(exit) if exit.success() => "succeeded".to_owned(),
        RunStatus::Ended(exit) => match (exit.code, exit.signal) {
            (Some(code), _) => format!("failed, status {code}"),
            (None, Some(signal)) => format!("{}, signal {signal}", exit.end.words()),
            (None, None) => exit.end.words().to_owned(),
        },
    }
}
