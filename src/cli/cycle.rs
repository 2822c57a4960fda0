//! `cycle` and `loop`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::args::{Args, CycleOptions, LoopOptions};
use super::environment::Env;
use super::error::{CommandError, Kind};
use super::{output, select, wiring};
use crate::config::Config;
use crate::engine::cycle::{Watch, Woken};
use crate::engine::{CycleReport, IssueReport, RepoEngine};
use crate::model::ids::IssueNumber;

/// Prints a line when an issue's standing changed.
#[derive(Default)]
pub struct Lines {
    last: std::sync::Mutex<std::collections::BTreeMap<(String, IssueNumber), String>>,
}

impl Watch for Lines {
    fn issue(&self, report: &IssueReport) {
        let line = line(report);
        let key = (report.repository.clone(), report.issue);
        let mut last = self
            .last
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if last.get(&key) != Some(&line) {
            output::say(&line);
            last.insert(key, line);
        }
    }
}

/// How an issue stands, in one line.
pub fn line(report: &IssueReport) -> String {
    let phase = report.phase.map_or("?", crate::model::phase::Phase::name);
    let next = report.until.map_or_else(String::new, |until| {
        format!(", next look {}", until.format("%H:%M:%S UTC"))
    });
    let (issue, outcome, why) = (report.issue, report.outcome, &report.why);
    let said = said(outcome, why);
    if said == phase {
        return format!("#{issue} {phase}");
    }
    format!("#{issue} {phase}: {said}{next}")
}

/// The outcome's word and the reason, the word only once.
pub fn said(outcome: &str, why: &str) -> String {
    let rest = why.strip_prefix(outcome);
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) {
        why.to_owned()
    } else {
        format!("{outcome}: {why}")
    }
}

/// One repository and how often to look at it.
struct Opened {
    engine: Arc<RepoEngine>,
    poll: Duration,
}

/// `ghswarm cycle`.
pub async fn cycle(
    env: &Env,
    args: &Args,
    options: &CycleOptions,
) -> Result<ExitCode, CommandError> {
    let config = wiring::load_config(env, args.config.as_deref())?;
    let repositories = open(env, &config, options.repository.as_deref()).await?;
    let lines = Lines::default();
    let mut reports = Vec::new();
    for opened in &repositories {
        let report = if options.wait {
            until_settled(opened, &lines).await
        } else {
            opened.engine.cycle(&lines).await
        };
        reports.push(report);
    }
    if options.json {
        output::json(&reports)?;
    }
    verdict(&reports)
}

/// Cycles until nothing but people can change anything.
async fn until_settled(opened: &Opened, lines: &Lines) -> CycleReport {
    let mut woken = Woken::TimePassed;
    loop {
        let report = turn(opened, lines, woken).await;
        // Only a whole cycle has seen everything.
        if woken == Woken::TimePassed && report.settled() {
            return report;
        }
        woken = opened.engine.rest(opened.poll).await;
    }
}

/// A whole cycle, or only what an ended run left to do.
async fn turn(opened: &Opened, lines: &Lines, woken: Woken) -> CycleReport {
    let report = match woken {
        Woken::TimePassed => opened.engine.cycle(lines).await,
        Woken::RunEnded => opened.engine.go_on(lines).await,
    };
    if let Some(trouble) = &report.trouble {
        output::say(&format!("waiting: {trouble}"));
    }
    report
}

/// `ghswarm loop` in the foreground: ends at a signal; runs go on under their supervisors.
pub async fn run_loop(
    env: &Env,
    args: &Args,
    options: &LoopOptions,
) -> Result<ExitCode, CommandError> {
    let config = wiring::load_config(env, args.config.as_deref())?;
    let _only = only_one(&config)?;
    let repositories = open(env, &config, options.repository.as_deref()).await?;
    let lines = Arc::new(Lines::default());
    let mut tasks = tokio::task::JoinSet::new();
    for opened in repositories {
        let lines = lines.clone();
        tasks.spawn(async move {
            let mut woken = Woken::TimePassed;
            loop {
                turn(&opened, &lines, woken).await;
                woken = opened.engine.rest(opened.poll).await;
            }
        });
    }
    let signal = super::signals::wait().await?;
    output::say("stopping; runs that are going on are finished by their supervisors");
    Ok(ExitCode::from(signal.exit_code()))
}

/// Two loops of one home would only get into each other's way.
fn only_one(config: &Config) -> Result<crate::adapters::locks::HomeLock, CommandError> {
    use crate::adapters::locks::{HomeLock, HomeLockOutcome};
    match HomeLock::take(&config.daemon_pid) {
        Ok(HomeLockOutcome::Taken(lock)) => Ok(lock),
        Ok(HomeLockOutcome::Held(pid)) => {
            let who = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            Err(CommandError::new(
                Kind::Outside,
                format!("another `ghswarm loop` of this home is running{who}"),
            )
            .hint("stop that one first; `ghswarm cycle` works beside it"))
        }
        Err(error) => Err(CommandError::outside(
            format!("cannot lock `{}`", config.daemon_pid.display()),
            error,
        )),
    }
}

async fn open(env: &Env, config: &Config, only: Option<&str>) -> Result<Vec<Opened>, CommandError> {
    let wanted = select::all(config, only)?;
    let home = wiring::open_home(config)?;
    let mut opened = Vec::new();
    for repository in wanted {
        let engine = wiring::open_repository(env, &home, repository).await?;
        opened.push(Opened {
            engine: Arc::new(engine),
            poll: repository.poll_interval,
        });
    }
    Ok(opened)
}

/// 0: nothing is wrong; 1: something is blocked; 4: something did not answer.
fn verdict(reports: &[CycleReport]) -> Result<ExitCode, CommandError> {
    if let Some(trouble) = reports.iter().find_map(|report| report.trouble.clone()) {
        return Err(CommandError::new(
            Kind::Outside,
            format!("the cycle was cut short: {trouble}"),
        )
        .hint("run `ghswarm cycle` again: it goes on where this one stopped"));
    }
    let troubled = reports.iter().flat_map(|report| &report.issues);
    if let Some(issue) = troubled
        .into_iter()
        .find(|issue| issue.outcome == "trouble")
    {
        return Err(CommandError::new(
            Kind::Outside,
            format!(
                "issue #{} of `{}`: {}",
                issue.issue, issue.repository, issue.why
            ),
        )
        .hint(format!(
            "see what it is about: ghswarm explain {}",
            issue.issue
        )));
    }
    let blocked = |report: &CycleReport| {
        report.issues.iter().any(|issue| issue.outcome == "blocked")
            || report.asleep.iter().any(|(_, why)| why == "blocked")
    };
    Ok(ExitCode::from(u8::from(reports.iter().any(blocked))))
}
