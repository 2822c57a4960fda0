//! `doctor --probe`: tries on the real repository how refs can be moved, and remembers the best way. It
//! says before what it does, and writes nothing but throwaway refs.

use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;

use super::super::args::{Args, DoctorOptions};
use super::super::environment::Env;
use super::super::error::{CommandError, Kind};
use super::super::output::{self, Paint, data, paint};
use super::super::{select, token, wiring};
use crate::adapters::clock::SystemClock;
use crate::adapters::git::CliGit;
use crate::adapters::locks::Home;
use crate::comments::freeing;
use crate::config::RepoConfig;
use crate::engine::keep_repository;
use crate::engine::probe::{
    Check, ProbeParts, ProbeReport, Verdict, WayReport, probe as try_ways, remember_way,
};
use crate::model::lease::Way;
use crate::model::repo::Repository;
use crate::ports::clock::Clock;
use crate::ports::github::GitHub as _;
use crate::ports::{PortError, Refusal};

/// What came out for one repository: one object of `--json`.
#[derive(Debug, Serialize)]
struct Probed {
    /// Its alias.
    repository: String,
    /// Where it was written.
    refs: String,
    /// Each way, the best first; empty if nothing was tried.
    ways: Vec<ProbedWay>,
    /// The best that works.
    best: Option<Way>,
    /// Will the next start begin with it?
    remembered: bool,
    /// Why nothing works, by name.
    refusal: Option<&'static str>,
    /// Why nothing could be tried.
    error: Option<String>,
    /// What to do.
    remedies: Vec<String>,
    /// Refs of earlier probes that were removed.
    removed: Vec<String>,
    /// Refs that could not be removed.
    left: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ProbedWay {
    way: Way,
    works: bool,
    checks: Vec<ProbedCheck>,
}

#[derive(Debug, Serialize)]
struct ProbedCheck {
    check: Check,
    /// `None`: not tried, or not answered.
    ok: Option<bool>,
    /// Why not.
    why: Option<String>,
}

impl From<&WayReport> for ProbedWay {
    fn from(report: &WayReport) -> Self {
        let checks = report.checks.iter().map(|(check, verdict)| {
            let (ok, why) = match verdict {
                Verdict::Good => (Some(true), None),
                Verdict::Wrong(what) => (Some(false), Some(what.clone())),
                Verdict::Refused(error) => (Some(false), Some(error.to_string())),
                Verdict::Unanswered(error) => (None, Some(error.to_string())),
                Verdict::NotTried => (None, None),
            };
            let check = *check;
            ProbedCheck { check, ok, why }
        });
        Self {
            way: report.way,
            works: report.works(),
            checks: checks.collect(),
        }
    }
}

/// Runs the command.
pub async fn probe(
    env: &Env,
    args: &Args,
    options: &DoctorOptions,
) -> Result<ExitCode, CommandError> {
    let config = wiring::load_config(env, args.config.as_deref())?;
    let repositories = select::all(&config, options.repository.as_deref())?;
    let home = wiring::open_home(&config)?;
    let mut all = Vec::new();
    for repository in repositories {
        let mut probed = Probed::new(repository);
        if let Err(error) = probed.fill(env, &home, repository).await {
            probed.fail(&error);
        }
        if !options.json {
            probed.print();
        }
        all.push(probed);
    }
    if options.json {
        output::json(&all)?;
    }
    let good = all.iter().all(|probed| probed.best.is_some());
    Ok(ExitCode::from(if good { 0 } else { Kind::Outside as u8 }))
}

impl Probed {
    fn new(config: &RepoConfig) -> Self {
        Self {
            repository: config.alias.clone(),
            refs: format!("refs/{}/probe-*", config.lease.namespace),
            ways: Vec::new(),
            best: None,
            remembered: false,
            refusal: None,
            error: None,
            remedies: Vec::new(),
            removed: Vec::new(),
            left: Vec::new(),
        }
    }

    async fn fill(
        &mut self,
        env: &Env,
        home: &Home,
        config: &RepoConfig,
    ) -> Result<(), CommandError> {
        let token = token::find(env, config)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let refused = |error: &PortError| wiring::refused(error, &config.alias);
        let github = wiring::connect(config, token.secret.clone(), clock.clone())
            .map_err(|error| refused(&error))?;
        let facts = github.repository().await.map_err(|error| refused(&error))?;
        if let Some(refusal) = unusable(&facts) {
            self.refuse(refusal);
            return Ok(());
        }
        output::say(&format!(
            "{}: trying to move throwaway refs of `{}`, under `{}` only; they are removed again",
            config.alias, facts.slug, self.refs
        ));
        let settings = wiring::git_settings(env, home, config, &facts, &token.secret);
        github.push_refs_through(Arc::new(CliGit::new(settings, clock.clone())));
        let parts = ProbeParts {
            ways: &*github,
            github: &*github,
            backlog: &*github,
            clock: &*clock,
            random: &|| format!("{:016x}", rand::random::<u64>()),
        };
        let report = match try_ways(&parts, &config.lease.namespace).await {
            Ok(report) => report,
            Err(error) if error.refusal() == Some(Refusal::RepositoryEmpty) => {
                self.refuse("repository_empty");
                return Ok(());
            }
            Err(error) => return Err(refused(&error)),
        };
        if let Some(way) = report.to_remember() {
            let memory = wiring::memory(&home.path, config, &token.secret);
            keep_repository(&*memory, clock.now(), &config.repo, &facts);
            remember_way(&*memory, way);
            self.remembered = true;
        }
        self.take(&report);
        Ok(())
    }

    fn take(&mut self, report: &ProbeReport) {
        self.ways = report.ways.iter().map(ProbedWay::from).collect();
        self.best = report.best();
        self.removed = report.removed.iter().map(ToString::to_string).collect();
        self.left = report.left.iter().map(ToString::to_string).collect();
        if let Some(refusal) = report.refusal() {
            self.refuse(refusal);
        } else if self.best.is_none() || !self.remembered {
            self.remedies
                .push("probe again once GitHub answers and the reasons are mended".to_owned());
        }
        if !self.left.is_empty() {
            self.remedies.push(format!(
                "a probe in an hour removes what was left, or you: git push origin --delete {}",
                self.left.join(" ")
            ));
        }
    }

    fn refuse(&mut self, refusal: &'static str) {
        self.refusal = Some(refusal);
        self.remedies.push(freeing::repository(refusal));
    }

    fn fail(&mut self, error: &CommandError) {
        let source = std::error::Error::source(error);
        self.error = Some(match source {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        });
        self.remedies.extend(error.hints().iter().cloned());
    }

    fn print(&self) {
        data(&format!("\nrepository {}", self.repository));
        if !self.ways.is_empty() {
            self.print_table();
        }
        for way in &self.ways {
            for check in way.checks.iter().filter(|check| check.why.is_some()) {
                let why = check.why.as_deref().unwrap_or_default();
                let why = why.lines().filter(|line| !line.trim().is_empty());
                let why = why.collect::<Vec<_>>().join("; ");
                data(&format!(
                    "  {}, {}: {why}",
                    way.way.name(),
                    check.check.name()
                ));
            }
        }
        for name in &self.removed {
            data(&format!("  removed `{name}` of an earlier probe"));
        }
        for name in &self.left {
            data(&format!("  `{name}` could not be removed"));
        }
        data(&format!("  {}", self.verdict()));
        for remedy in &self.remedies {
            data(&format!("    → {remedy}"));
        }
    }

    fn print_table(&self) {
        let names = self
            .ways
            .iter()
            .map(|way| format!("{:<10}", way.way.name()));
        let head = format!("  {:<30}{}", "", names.collect::<String>());
        data(head.trim_end());
        for (row, check) in Check::ALL.iter().enumerate() {
            let marks = self.ways.iter().map(|way| {
                let mark = match way.checks.get(row) {
                    Some(ProbedCheck { ok: Some(true), .. }) => paint(Paint::Good, "✓"),
                    Some(ProbedCheck {
                        ok: Some(false), ..
                    }) => paint(Paint::Bad, "✗"),
                    Some(ProbedCheck { why: Some(_), .. }) => "?".to_owned(),
                    Some(_) | None => "-".to_owned(),
                };
                // A mark is one column wide, whatever its colour takes.
                format!("{mark}{:<9}", "")
            });
            let line = format!("  {:<30}{}", check.name(), marks.collect::<String>());
            data(line.trim_end());
        }
    }

    fn verdict(&self) -> String {
        let good = paint(Paint::Good, "✓");
        let bad = paint(Paint::Bad, "✗");
        match (self.best, self.refusal, &self.error) {
            (Some(way), _, _) if self.remembered => {
                format!("{good} leases go by {} from now on", way.name())
            }
            (Some(way), _, _) => format!(
                "{good} leases can go by {}; not remembered, since a better way was not answered",
                way.name()
            ),
            (None, Some(refusal), _) => {
                format!("{bad} {refusal}: ghswarm cannot work on this repository")
            }
            (None, None, Some(error)) => format!("{bad} {error}"),
            (None, None, None) => {
                format!("{bad} no way works: ghswarm cannot work on this repository")
            }
        }
    }
}

/// What makes trying pointless.
fn unusable(facts: &Repository) -> Option<&'static str> {
    if facts.archived {
        Some("repository_archived")
    } else if facts.default_branch.is_none() {
        Some("repository_empty")
    } else if !facts.can_push {
        Some("no_contents_write")
    } else {
        None
    }
}
