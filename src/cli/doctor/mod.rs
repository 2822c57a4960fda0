//! `doctor`: looks at everything a run needs before it is needed. It says what was looked at and no
//! more; `--fix` creates labels, `--probe` moves throwaway refs, and neither changes anything else.

mod local;
mod probe;
mod remote;
mod sandboxes;

use std::process::ExitCode;

use serde::Serialize;

use super::args::{Args, DoctorOptions};
use super::environment::Env;
use super::error::{CommandError, Kind};
use super::output::{self, Paint, data, paint};
use super::{select, wiring};
use crate::config::RepoConfig;

pub use remote::wanted as labels_of;

/// Refuses to begin where an agent cannot be started at all: each try would cost a run.
pub fn agents_are_there(config: &RepoConfig) -> Result<(), CommandError> {
    let Some(finding) = local::lost_agent(config) else {
        return Ok(());
    };
    let error = CommandError::new(
        Kind::Config,
        format!("repository `{}`: {}", config.alias, finding.what),
    );
    let hints = finding.remedies.into_iter();
    Err(hints
        .fold(error, CommandError::hint)
        .hint("see what else is missing: ghswarm doctor"))
}

/// How one look went.
#[derive(Debug, Clone, Serialize)]
struct Finding {
    /// The repository's alias; `None`: it concerns all.
    repository: Option<String>,
    /// What was looked at.
    check: &'static str,
    /// `None`: it could not be looked at.
    ok: Option<bool>,
    /// What was seen.
    what: String,
    /// What to do about it.
    remedies: Vec<String>,
}

impl Finding {
    fn good(check: &'static str, what: impl Into<String>) -> Self {
        Self::of(check, Some(true), what)
    }

    fn bad(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        let mut finding = Self::of(check, Some(false), what);
        finding.remedies.push(remedy.into());
        finding
    }

    fn skipped(check: &'static str, because: impl Into<String>) -> Self {
        Self::of(check, None, because)
    }

    /// An error of another command, said as a finding.
    fn error(check: &'static str, error: &CommandError) -> Self {
        let what = match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        let mut finding = Self::of(check, Some(false), what);
        finding.remedies.extend(error.hints().iter().cloned());
        finding
    }

    fn of(check: &'static str, ok: Option<bool>, what: impl Into<String>) -> Self {
        Self {
            repository: None,
            check,
            ok,
            what: what.into(),
            remedies: Vec::new(),
        }
    }
}

/// Runs the command.
pub async fn doctor(
    env: &Env,
    args: &Args,
    options: &DoctorOptions,
) -> Result<ExitCode, CommandError> {
    if options.probe {
        return probe::probe(env, args, options).await;
    }
    // Without a configuration there is nothing else to look at: its own error says everything.
    let config = wiring::load_config(env, args.config.as_deref())?;
    let repositories = select::all(&config, options.repository.as_deref())?;
    let mut findings = vec![Finding::good(
        "configuration",
        config.source.display().to_string(),
    )];
    let home = wiring::open_home(&config);
    findings.push(match &home {
        Ok(home) => Finding::good("home", home.path.display().to_string()),
        Err(error) => Finding::error("home", error),
    });
    findings.push(local::git());
    findings.push(local::disk("disk of home", &config.home));
    let mut report = Report::new(options);
    report.add(None, findings);
    for repository in repositories {
        let mut found = local::clone(repository);
        found.extend(local::programs(repository));
        found.extend(remote::github(env, home.as_ref().ok(), repository, options.fix.into()).await);
        found.extend(sandboxes::look(env, repository));
        found.push(local::disk("disk of work", &repository.worktree_dir));
        report.add(Some(&repository.alias), found);
    }
    report.end()
}

/// May labels be created?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fix {
    Yes,
    No,
}

impl From<bool> for Fix {
    fn from(flag: bool) -> Self {
        if flag { Self::Yes } else { Self::No }
    }
}

/// Prints while it goes, and remembers what was wrong.
struct Report<'a> {
    options: &'a DoctorOptions,
    all: Vec<Finding>,
}

impl<'a> Report<'a> {
    fn new(options: &'a DoctorOptions) -> Self {
        Self {
            options,
            all: Vec::new(),
        }
    }

    fn add(&mut self, alias: Option<&str>, findings: Vec<Finding>) {
        if let Some(alias) = alias.filter(|_| !self.options.json) {
            data(&format!("\nrepository {alias}"));
        }
        for mut finding in findings {
            finding.repository = alias.map(str::to_owned);
            if !self.options.json {
                print(&finding);
            }
            self.all.push(finding);
        }
    }

    fn end(self) -> Result<ExitCode, CommandError> {
        let wrong = self.all.iter().filter(|f| f.ok == Some(false)).count();
        if self.options.json {
            output::json(&self.all)?;
        } else {
            data(&match wrong {
                0 => "\nnothing is wrong with what was looked at".to_owned(),
                1 => "\none thing is wrong".to_owned(),
                many => format!("\n{many} things are wrong"),
            });
        }
        Ok(ExitCode::from(if wrong == 0 {
            0
        } else {
            Kind::Outside as u8
        }))
    }
}

fn print(finding: &Finding) {
    let mark = match finding.ok {
        Some(true) => paint(Paint::Good, "✓"),
        Some(false) => paint(Paint::Bad, "✗"),
        None => "-".to_owned(),
    };
    data(&format!("  {mark} {:<14} {}", finding.check, finding.what));
    for remedy in &finding.remedies {
        data(&format!("    {:<14} → {remedy}", ""));
    }
}
