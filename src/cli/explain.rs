//! `explain`: every guard in order, which one stops the issue, and what would free it.

use std::process::ExitCode;

use serde_json::json;

use super::args::{Args, ExplainOptions};
use super::cycle::said;
use super::environment::Env;
use super::error::CommandError;
use super::output::{self, Paint, data, paint};
use super::select;
use super::standing::Standing;
use super::wiring::refused_issue;
use crate::comments::freeing;
use crate::config::RepoConfig;
use crate::decide::{GuardReport, Order};
use crate::engine::Explained;

/// Runs the command.
pub async fn explain(
    env: &Env,
    args: &Args,
    options: &ExplainOptions,
) -> Result<ExitCode, CommandError> {
    let only = options.repository.as_deref();
    let (engine, config) = select::open_one(env, args.config.as_deref(), only).await?;
    let explained = engine
        .explain(options.issue, &Order::default())
        .await
        .map_err(|error| refused_issue(&error, &config.alias, options.issue))?;
    let standing = Standing::of(&engine, &explained)
        .ok_or_else(|| select::no_issue(&engine, options.issue))?;
    if options.json {
        let mut value = serde_json::to_value(&standing)
            .map_err(|error| CommandError::bug("cannot write JSON", error))?;
        value["frees"] = json!(frees(&standing, &explained));
        value["guards"] = explained.guards.iter().map(guard_json).collect();
        output::json(&value)?;
    } else {
        head(&standing, &config);
        guards(&explained);
        verdict(&standing, &explained);
    }
    Ok(ExitCode::SUCCESS)
}

fn guard_json(report: &GuardReport) -> serde_json::Value {
    json!({
        "guard": report.guard.name,
        "asks": report.guard.asks,
        "passes": report.stops.is_none(),
        "code": report.stops.as_ref().map(crate::decide::Why::code),
        "why": report.stops.as_ref().map(ToString::to_string),
    })
}

fn head(standing: &Standing, config: &RepoConfig) {
    let line = |name: &str, text: &str| {
        if !text.is_empty() {
            data(&format!("  {name:<12} {text}"));
        }
    };
    data(&format!("#{} {}", standing.issue, standing.title));
    line("repository", &format!("{} ({})", config.alias, config.repo));
    line("address", &standing.url);
    line("phase", standing.phase.name());
    line("tasks done", &standing.tasks_in_words());
    let tries = standing.failed_tries;
    let failed = if tries == 0 {
        String::new()
    } else {
        format!(
            ", {tries} failed in this phase (at most {})",
            config.max_retries
        )
    };
    line("agent runs", &format!("{}{failed}", standing.runs()));
    line("spent", &standing.spent_in_words());
    line("priority", standing.priority.as_deref().unwrap_or_default());
    line("labels", &standing.labels.join(", "));
    let lease = match (&standing.holder, standing.lease_until) {
        (Some(holder), Some(until)) => format!(
            "held by {holder}, until {} unless renewed",
            output::moment(until)
        ),
        (Some(holder), None) => format!("held by {holder}"),
        (None, _) => "free".to_owned(),
    };
    line("lease", &lease);
    line("trouble", standing.trouble.as_deref().unwrap_or_default());
    if let (Some(pr), Some(state)) = (standing.pr, standing.pr_state) {
        line("pull request", &format!("#{pr}, {state}"));
    }
}

fn guards(explained: &Explained) {
    data("\nguards, in this order:");
    let mut stopped = false;
    for report in &explained.guards {
        let (name, asks) = (report.guard.name, report.guard.asks);
        match &report.stops {
            None => data(&format!("  {} {name:<12} {asks}", paint(Paint::Good, "✓"))),
            Some(why) => {
                let here = if stopped { "" } else { "  ← stops here" };
                stopped = true;
                data(&format!(
                    "  {} {name:<12} {asks}{here}",
                    paint(Paint::Bad, "✗")
                ));
                data(&format!("    {:<12} but: {why}", ""));
            }
        }
    }
}

fn verdict(standing: &Standing, explained: &Explained) {
    let until = standing.until.map_or_else(String::new, |until| {
        format!(", next look {}", output::moment(until))
    });
    let what = match standing.next {
        Some(effect) => format!("ready: {effect} ({})", standing.why),
        None => format!("{}{until}", said(standing.outcome, &standing.why)),
    };
    data(&format!("\n{what}"));
    let free = paint(Paint::Hint, "to free it:");
    match frees(standing, explained) {
        Some(frees) => data(&format!("{free} {frees}")),
        None if standing.next.is_some() => data(&format!(
            "nothing holds it: the next cycle goes on, or now: ghswarm run {}",
            standing.issue
        )),
        None => {}
    }
}

/// What frees the issue from the guard that stops it, or from what its phase waits for.
fn frees(standing: &Standing, explained: &Explained) -> Option<String> {
    let stops = explained.guards.iter().find_map(|r| r.stops.as_ref());
    let names = &standing.label_names;
    stops
        .and_then(|why| freeing::frees(why, standing.issue, names))
        .or_else(|| standing.frees.clone())
}
