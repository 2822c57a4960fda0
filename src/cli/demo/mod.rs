//! `ghswarm demo`: an issue goes from spec to merged on this machine. GitHub is simulated by a process
//! of its own; git, the agents, the tests and the engine are the real ones.

mod clear;
mod requests;
mod serve;
mod timeline;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::args::DemoOptions;
use super::environment::Env;
use super::error::{CommandError, Kind};
use super::{output, wiring};
use crate::engine::CycleReport;
use crate::engine::cycle::Woken;
use crate::model::phase::Phase;
use crate::ports::clock::Clock as _;

pub use serve::Summary;

/// A demo that takes longer than this hangs; real agents get their own clocks.
const POLL: Duration = Duration::from_millis(300);

/// Runs the command.
pub async fn demo(env: &Env, options: &DemoOptions) -> Result<ExitCode, CommandError> {
    if options.serve {
        return serve::serve(env, options).await;
    }
    let clock = crate::adapters::clock::SystemClock;
    let started = clock.boot_time();
    let mut server = serve::Server::start(options)?;
    let ready = server.ready()?;
    let env = env
        .with("GITHUB_TOKEN", &ready.token)
        // Nothing of a demo lands in the user's own home.
        .with(
            "GHSWARM_HOME",
            &ready.dir.join("home").display().to_string(),
        )
        .with("AGENT_RUN_ROOT", "");
    output::say(&format!("demo in {}", ready.dir.display()));
    output::say(&format!("issue #{}: {}\n", ready.issue, ready.title));
    let report = run(&env, &ready).await?;
    let summary = server.summary()?;
    let seconds = clock.boot_time().saturating_sub(started).as_secs_f64();
    let told = tell(options, &ready, &report, &summary, seconds);
    server.close();
    Ok(told)
}

async fn run(env: &Env, ready: &serve::Ready) -> Result<CycleReport, CommandError> {
    let config = wiring::load_config(env, Some(&ready.config))?;
    let home = wiring::open_home(&config)?;
    let repository = config
        .repositories
        .values()
        .next()
        .ok_or_else(|| CommandError::new(Kind::Bug, "the demo's configuration is empty"))?;
    let mut engine = wiring::open_repository(env, &home, repository).await?;
    let timeline = Arc::new(timeline::Timeline::over(engine.world.events.clone()));
    engine.world.events = timeline.clone();
    let mut woken = Woken::TimePassed;
    loop {
        let report = match woken {
            Woken::TimePassed => engine.cycle(&*timeline).await,
            Woken::RunEnded => engine.go_on(&*timeline).await,
        };
        if let Some(trouble) = &report.trouble {
            return Err(CommandError::new(
                Kind::Outside,
                format!("the demo stopped: {trouble}"),
            ));
        }
        // Approval comes from the demo's reviewer: waiting for it is not the end.
        let waits = report.issues.iter().any(|issue| {
            let of_people = ["on_hold", "sandbox_unavailable"].contains(&issue.code.as_str());
            issue.outcome == "running" || (issue.outcome == "waiting" && !of_people)
        });
        if !waits && woken == Woken::TimePassed {
            return Ok(report);
        }
        woken = engine.rest(POLL).await;
    }
}

fn tell(
    options: &DemoOptions,
    ready: &serve::Ready,
    report: &CycleReport,
    summary: &Summary,
    seconds: f64,
) -> ExitCode {
    let last = report.issues.first();
    let outcome = last.map_or("unknown", |issue| issue.outcome);
    let done = outcome == "done" && summary.pr_merged && !summary.issue_open;
    output::say(&format!(
        "\n{} in {seconds:.1} s: agent runs {}, API requests {}, comments {}",
        if done { "done" } else { outcome },
        summary.agent_runs,
        summary.api_requests,
        summary.comments
    ));
    if !done && let Some(issue) = last {
        output::say(&format!("it ended so: {}", issue.why));
    }
    if options.keep {
        places(ready);
    } else {
        output::say("its folder is removed; keep it with: ghswarm demo --keep");
    }
    if options.json {
        let line = json!({
            "outcome": if done { "done" } else { outcome },
            "phase": last.and_then(|issue| issue.phase).map(Phase::name),
            "pr_merged": summary.pr_merged,
            "post_merge_checks": summary.post_merge_checks,
            "agent_runs": summary.agent_runs,
            "api_requests": summary.api_requests,
            "api_requests_by_phase": summary.api_requests_by_phase,
            "comments": summary.comments,
            "home": options.keep.then_some(&ready.dir),
            "seconds": (seconds * 10.0).round() / 10.0,
        });
        output::data(&line.to_string());
    }
    ExitCode::from(u8::from(!done))
}

fn places(ready: &serve::Ready) {
    let show = |what: &str, path: &Path| output::say(&format!("  {what:<14} {}", path.display()));
    output::say("where to look:");
    show("clone", &ready.clone);
    show("configuration", &ready.config);
    show("run logs", &ready.dir.join("home/runs"));
    show("issue", &ready.dir.join("issue.md"));
    show("API requests", &ready.dir.join("requests.txt"));
    show("history", &ready.dir.join("home/events.db"));
}

/// The demo's folder: a new one under the system's temporary directory.
fn new_dir() -> Result<PathBuf, CommandError> {
    tempfile::Builder::new()
        .prefix("ghswarm-demo-")
        .tempdir()
        .map(tempfile::TempDir::keep)
        .map_err(|error| CommandError::outside("cannot make a folder for the demo", error))
}
