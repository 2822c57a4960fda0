//! `cycle` and `loop`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::args::{Args, CycleOptions, LoopOptions};
use super::environment::Env;
use super::error::{CommandError, Kind};
use super::{doctor, output, select, wiring};
use crate::adapters::clock::SystemClock;
use crate::adapters::locks::Home;
use crate::config::{Config, RepoConfig};
use crate::engine::cycle::{Watch, Woken};
use crate::engine::{CycleReport, IssueReport, RepoEngine};
use crate::model::ids::IssueNumber;
use crate::ports::clock::Clock as _;

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
    let phase = report.phase.map_or("", crate::model::phase::Phase::name);
    let next = report.until.map_or_else(String::new, |until| {
        format!(", next look {}", output::moment(until))
    });
    let (issue, outcome, why) = (report.issue, report.outcome, &report.why);
    let said = said(outcome, why);
    if said == phase {
        return format!("#{issue} {phase}");
    }
    if phase.is_empty() {
        return format!("#{issue}: {said}{next}");
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
    engine: RepoEngine,
    poll: Duration,
}

/// What a repository is opened with, so that it can be tried again.
#[derive(Clone)]
struct Opening {
    env: Env,
    home: Home,
    config: RepoConfig,
}

impl Opening {
    async fn open(&self) -> Result<Opened, CommandError> {
        doctor::agents_are_there(&self.config)?;
        let engine = wiring::open_repository(&self.env, &self.home, &self.config).await?;
        Ok(Opened {
            engine,
            poll: self.config.poll_interval,
        })
    }

    /// As often as it takes while GitHub does not answer; what a person has to mend ends it.
    async fn open_patiently(&self) -> Result<Opened, CommandError> {
        let clock = SystemClock;
        let mut told = String::new();
        loop {
            let error = match self.open().await {
                Ok(opened) => return Ok(opened),
                Err(error) => error,
            };
            let Some(passing) = error.passing() else {
                return Err(error);
            };
            let pause = passing
                .retry_at()
                .and_then(|at| (at - clock.now()).to_std().ok())
                .map_or(self.config.poll_interval, |left| {
                    left.max(self.config.poll_interval)
                });
            let line = format!("waiting: {error}: {passing}");
            if line != told {
                output::say(&format!("{line}; tried again until it answers"));
                told = line;
            }
            clock.sleep(pause).await;
        }
    }
}

/// `ghswarm cycle`.
pub async fn cycle(
    env: &Env,
    args: &Args,
    options: &CycleOptions,
) -> Result<ExitCode, CommandError> {
    let config = wiring::load_config(env, args.config.as_deref())?;
    let openings = openings(env, &config, options.repository.as_deref())?;
    let mut repositories = Vec::new();
    for opening in &openings {
        repositories.push(if options.wait {
            opening.open_patiently().await?
        } else {
            opening.open().await?
        });
    }
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
    for line in left_to_people(&reports, options.wait) {
        output::say(&line);
    }
    verdict(&reports)
}

/// What does not go on without a person, and how it would. Of what is not blocked only `--wait` speaks, since
/// it ends for that: a cycle a minute would say it again and again.
fn left_to_people(reports: &[CycleReport], waited: bool) -> Vec<String> {
    let all = reports
        .iter()
        .flat_map(|report| report.issues.iter().chain(&report.stuck));
    let left = all.filter(|one| one.outcome == "blocked" || (waited && one.needs_people()));
    let mut lines: Vec<String> = left.flat_map(with_what_frees).collect();
    if !lines.is_empty() {
        lines.insert(0, "nothing more goes on without a person:".to_owned());
    }
    lines
}

fn with_what_frees(report: &IssueReport) -> [String; 2] {
    let explain = || format!("see what stops it: ghswarm explain {}", report.issue);
    let frees = report.frees.clone().unwrap_or_else(explain);
    [line(report), format!("  to free it: {frees}")]
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
    // From the first moment on: opening a repository may take as long as GitHub lets it wait.
    tokio::select! {
        signal = super::signals::wait() => {
            output::say("stopping; runs that are going on are finished by their supervisors");
            Ok(ExitCode::from(signal?.exit_code()))
        }
        error = all_for_ever(env, args, options) => Err(error),
    }
}

/// All repositories of the loop; answers what keeps it from going on.
async fn all_for_ever(env: &Env, args: &Args, options: &LoopOptions) -> CommandError {
    let begun = async {
        let config = wiring::load_config(env, args.config.as_deref())?;
        let only = only_one(&config)?;
        let mut opened = Vec::new();
        for opening in openings(env, &config, options.repository.as_deref())? {
            // What is wrong for good is told before anything begins.
            opened.push(match opening.open().await {
                Err(error) if error.passing().is_none() => return Err(error),
                first => (opening, first.ok()),
            });
        }
        Ok((only, opened))
    };
    let (_only, opened) = match begun.await {
        Ok(begun) => begun,
        Err(error) => return error,
    };
    let lines = Arc::new(Lines::default());
    let mut tasks = tokio::task::JoinSet::new();
    for (opening, first) in opened {
        tasks.spawn(for_ever(opening, first, lines.clone()));
    }
    match tasks.join_next().await {
        Some(Ok(error)) => error,
        Some(Err(broken)) => CommandError::bug("a repository's loop broke off", broken),
        None => CommandError::new(Kind::Config, "no repository is configured")
            .hint("write one down: ghswarm init"),
    }
}

/// One repository of the loop; answers what keeps it from going on.
async fn for_ever(opening: Opening, first: Option<Opened>, lines: Arc<Lines>) -> CommandError {
    let opened = match first {
        Some(opened) => opened,
        None => match opening.open_patiently().await {
            Ok(opened) => opened,
            Err(error) => return error,
        },
    };
    let mut woken = Woken::TimePassed;
    loop {
        turn(&opened, &lines, woken).await;
        woken = opened.engine.rest(opened.poll).await;
    }
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

fn openings(env: &Env, config: &Config, only: Option<&str>) -> Result<Vec<Opening>, CommandError> {
    let wanted = select::all(config, only)?;
    let home = wiring::open_home(config)?;
    let opening = |repository: &RepoConfig| Opening {
        env: env.clone(),
        home: home.clone(),
        config: repository.clone(),
    };
    Ok(wanted.into_iter().map(opening).collect())
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
            || report.stuck.iter().any(|issue| issue.outcome == "blocked")
    };
    Ok(ExitCode::from(u8::from(reports.iter().any(blocked))))
}
