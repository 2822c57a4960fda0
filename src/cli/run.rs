//! `run N`: the engine's own way for one issue, whatever its turn.

use std::process::ExitCode;

use super::args::{Args, RunOptions};
use super::environment::Env;
use super::error::{CommandError, Kind};
use super::standing::Standing;
use super::wiring::refused;
use super::{cycle, doctor, output, select};
use crate::decide::{Order, Why};
use crate::engine::cycle::Watch as _;
use crate::engine::step::{Advanced, HowFar};
use crate::engine::{IssueReport, Remembered, RepoEngine, StepOutcome};
use crate::model::ids::{IssueNumber, Timestamp};

/// Runs the command.
pub async fn run(env: &Env, args: &Args, options: &RunOptions) -> Result<ExitCode, CommandError> {
    let only = options.repository.as_deref();
    let (engine, config) = select::open_one(env, args.config.as_deref(), only).await?;
    let order = Order {
        resume: options.resume,
        now: options.force,
        ..Order::default()
    };
    doctor::agents_are_there(&config)?;
    if options.dry_run {
        return dry(&engine, options, &order).await;
    }
    let how_far = if options.step {
        HowFar::OneEffect
    } else {
        HowFar::UntilItWaits
    };
    let mut order = order;
    let lines = cycle::Lines::default();
    loop {
        let advanced = engine.advance(options.issue, &order, how_far).await;
        let report = engine.report(options.issue, None, &advanced);
        if !options.wait || report.settled() || is_trouble(&advanced) {
            return finish(&engine, &advanced, &report, options.json.into());
        }
        lines.issue(&report);
        // The first round was the order's; what it led to is in the state now.
        order = Order {
            now: options.force,
            ..Order::default()
        };
        engine.rest(config.poll_interval).await;
    }
}

fn is_trouble(advanced: &Advanced) -> bool {
    matches!(advanced.outcome, StepOutcome::Trouble(_))
}

/// How the report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// A line.
    Line,
    /// JSON.
    Json,
}

impl From<bool> for Show {
    /// From the flag `--json`.
    fn from(json: bool) -> Self {
        if json { Self::Json } else { Self::Line }
    }
}

/// Prints how it ended; what is wrong with the number or the outside is an error.
pub fn finish(
    engine: &RepoEngine,
    advanced: &Advanced,
    report: &IssueReport,
    show: Show,
) -> Result<ExitCode, CommandError> {
    check(engine, report.issue, &advanced.outcome)?;
    match show {
        Show::Line => output::say(&cycle::line(report)),
        Show::Json => output::json(report)?,
    }
    let blocked = report.outcome == "blocked" || report.code == "blocked_by_person";
    Ok(ExitCode::from(u8::from(blocked)))
}

fn check(
    engine: &RepoEngine,
    issue: IssueNumber,
    outcome: &StepOutcome,
) -> Result<(), CommandError> {
    match outcome {
        StepOutcome::Finished(Why::IssueGone) => Err(select::no_issue(engine, issue)),
        StepOutcome::Waits {
            why: Why::NotManaged,
            ..
        } => Err(select::not_managed(engine, issue)),
        StepOutcome::Locked => Err(CommandError::new(
            Kind::Outside,
            format!("another ghswarm of this home works on issue #{issue} right now"),
        )
        .hint("let it end, then run the command again")),
        StepOutcome::Trouble(error) => Err(refused(error, &engine.settings.alias)),
        StepOutcome::Rests { until, trouble } => Err(rests(issue, *until, trouble)),
        StepOutcome::Finished(_) | StepOutcome::Waits { .. } | StepOutcome::Stepped { .. } => {
            Ok(())
        }
    }
}

/// It failed before, and the wait that followed is not over.
fn rests(issue: IssueNumber, until: Timestamp, trouble: &Remembered) -> CommandError {
    let times = match trouble.times {
        0 | 1 => String::new(),
        times => format!(" {times} times in a row"),
    };
    let until = output::moment(until);
    CommandError::outside(
        format!("issue #{issue} failed{times}, so it is left alone until {until}"),
        trouble.text.clone(),
    )
    .hint(format!(
        "mend what the cause names, then try it now: ghswarm run {issue} --force"
    ))
}

/// Looks and decides, and leaves it at that.
async fn dry(
    engine: &RepoEngine,
    options: &RunOptions,
    order: &Order,
) -> Result<ExitCode, CommandError> {
    let explained = engine.explain(options.issue, order).await;
    let explained = explained.map_err(|error| refused(&error, &engine.settings.alias))?;
    let standing =
        Standing::of(engine, &explained).ok_or_else(|| select::no_issue(engine, options.issue))?;
    if options.json {
        output::json(&standing)?;
        return Ok(ExitCode::SUCCESS);
    }
    let line = match standing.next {
        Some(effect) => format!(
            "#{} {}: would {effect}: {}",
            standing.issue, standing.phase, standing.why
        ),
        None => format!(
            "#{} {}: would do nothing: {}: {}",
            standing.issue, standing.phase, standing.outcome, standing.why
        ),
    };
    output::data(&line);
    Ok(ExitCode::SUCCESS)
}
