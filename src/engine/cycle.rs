//! One cycle over a repository: list, step each issue until it waits, report.

use std::time::Duration;

use serde::Serialize;

use crate::comments::freeing;
use crate::decide::{Order, Why};
use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::phase::Phase;
use crate::model::run::RunStatus;
use crate::ports::{PortError, PortResult};

use super::listing::{Listing, waits_for_issues};
use super::settings::RepoEngine;
use super::step::{Advanced, HowFar, StepOutcome};

/// How often a waiting cycle looks whether a run of this machine has ended.
const RUN_LOOK_EVERY: Duration = Duration::from_millis(100);

/// How one issue stands after a cycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IssueReport {
    /// The repository's alias.
    pub repository: String,
    /// The issue.
    pub issue: IssueNumber,
    /// Its title, where it is known.
    pub title: Option<String>,
    /// Its phase, where it could be read.
    pub phase: Option<Phase>,
    /// `done`, `blocked`, `waiting`, `running`, `locked`, `trouble`.
    pub outcome: &'static str,
    /// The reason's code.
    pub code: String,
    /// Why, one line.
    pub why: String,
    /// When it is looked at next, where that is known.
    pub until: Option<Timestamp>,
    /// What a person can do about it.
    pub frees: Option<String>,
}

/// How a cycle went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct CycleReport {
    /// The issues that were stepped.
    pub issues: Vec<IssueReport>,
    /// Issues that sleep until they change: number and the reason's code.
    pub asleep: Vec<(IssueNumber, String)>,
    /// Those of them that only a person wakes, with what was said when they fell asleep.
    pub stuck: Vec<IssueReport>,
    /// When the first of them wakes by itself; without it all of them wait for a change.
    pub wakes: Option<Timestamp>,
    /// What kept the cycle itself from going on.
    pub trouble: Option<String>,
}

impl CycleReport {
    /// Is everything done, blocked or waiting for people, so that waiting longer changes nothing?
    pub fn settled(&self) -> bool {
        self.trouble.is_none()
            && self.wakes.is_none()
            && self.issues.iter().all(IssueReport::settled)
    }
}

impl IssueReport {
    /// Is it done, blocked or waiting for people?
    pub fn settled(&self) -> bool {
        self.outcome == "done" || self.needs_people()
    }

    /// Does only a person bring it further?
    pub fn needs_people(&self) -> bool {
        self.outcome == "blocked" || waits_for_people(&self.code)
    }
}

/// Codes of reasons that only a person ends.
pub(super) fn waits_for_people(code: &str) -> bool {
    matches!(
        code,
        "approval_missing"
            | "draft"
            | "on_hold"
            | "not_managed"
            | "assigned_to"
            | "claimed_by_comment"
            | "claimed_by_hand"
            | "blocked_by_person"
            | "completed_by_person"
            | "other_pull_request"
            | "waits_on"
            | "dependency_cycle"
            | "issue_closed"
            | "issue_gone"
            | "newer_version"
            | "repository_unusable"
    )
}

/// Why a rest ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// A run of this machine ended: `go_on`.
    RunEnded,
    /// It is time for a whole cycle.
    TimePassed,
}

/// Told what happens while it happens.
pub trait Watch: Send + Sync {
    /// An issue's steps came to an end for now.
    fn issue(&self, report: &IssueReport);
}

impl RepoEngine {
    /// One cycle: lists, then steps every candidate.
    pub async fn cycle(&self, watch: &dyn Watch) -> CycleReport {
        match self.list().await {
            Ok(mut listing) => {
                let woken = self.wake_waiting(&mut listing).await;
                let issues = self.candidates(&listing);
                let mut report = self.step_known(issues, listing, watch).await;
                // Those that wait go on waiting; the others are not kept from going on.
                if let Err(error) = woken {
                    let text = self.settings.secrets.redact(&error.to_string());
                    report.trouble.get_or_insert(text);
                }
                report
            }
            Err(error) => CycleReport {
                trouble: Some(self.settings.secrets.redact(&error.to_string())),
                ..CycleReport::default()
            },
        }
    }

    /// Steps the issues that this home holds, without asking for the listing: after a run has ended
    /// there is something to do for them, whatever else has changed.
    pub async fn go_on(&self, watch: &dyn Watch) -> CycleReport {
        let issues = self.world.folders.claimed_issues();
        self.step_known(issues, self.kept_listing(), watch).await
    }

    /// Steps `issues` and keeps what was learnt for the next cycle.
    async fn step_known(
        &self,
        issues: PortResult<Vec<IssueNumber>>,
        mut listing: Listing,
        watch: &dyn Watch,
    ) -> CycleReport {
        let mut report = CycleReport::default();
        match issues {
            Ok(issues) => {
                self.step_all(issues, &mut listing, &mut report, watch)
                    .await;
            }
            Err(error) => report.trouble = Some(self.settings.secrets.redact(&error.to_string())),
        }
        self.keep(&mut listing);
        report
    }

    async fn step_all(
        &self,
        issues: Vec<IssueNumber>,
        listing: &mut Listing,
        report: &mut CycleReport,
        watch: &dyn Watch,
    ) {
        let (mut slots_taken, mut waiting, mut effects) = (false, false, 0);
        for issue in issues {
            // Once the slots are taken, an issue that nobody works on here can only hear the same.
            if slots_taken && self.is_untouched(issue) {
                continue;
            }
            let advanced = self
                .advance(issue, &Order::default(), HowFar::UntilItWaits)
                .await;
            slots_taken |= matches!(
                advanced.outcome,
                StepOutcome::Waits {
                    why: Why::NoSlot { .. },
                    ..
                }
            ) || (self.policy.slots == 1 && is_running(&advanced));
            waiting |= matches!(
                &advanced.outcome,
                StepOutcome::Waits { why, .. } if waits_for_issues(why)
            );
            effects += advanced.effects;
            let line = self.report(issue, listing.title(issue), &advanced);
            listing.note(&line, &advanced);
            watch.issue(&line);
            report.issues.push(line);
            if let StepOutcome::Trouble(error @ PortError::Unavailable { .. }) = advanced.outcome {
                report.trouble = Some(self.settings.secrets.redact(&error.to_string()));
                break;
            }
        }
        report.asleep = listing
            .sleepers()
            .map(|(n, why)| (n, why.to_owned()))
            .collect();
        let sleepers = listing.stuck(&self.settings.alias).into_iter();
        let stepped = |one: &IssueReport| report.issues.iter().any(|it| it.issue == one.issue);
        report.stuck = sleepers.filter(|one| !stepped(one)).collect();
        // What was done may be what others wait for: the next listing tells.
        let stirred = effects > 0 && (waiting || !listing.waiting().is_empty());
        let now = stirred.then(|| self.world.clock.now());
        report.wakes = now.or_else(|| listing.wakes());
    }

    /// Does this home hold no claim on the issue and no run of it?
    pub(super) fn is_untouched(&self, issue: IssueNumber) -> bool {
        self.world
            .folders
            .claim(issue)
            .is_ok_and(|claim| claim.is_none())
            && self
                .world
                .runs
                .facts(issue)
                .is_ok_and(|runs| runs.is_empty())
    }

    /// How an issue's steps ended, for people and programs.
    pub fn report(
        &self,
        issue: IssueNumber,
        title: Option<String>,
        advanced: &Advanced,
    ) -> IssueReport {
        let (outcome, code, why, until) = match &advanced.outcome {
            StepOutcome::Waits { until, why } => {
                (wait_word(why), why.code(), why.to_string(), *until)
            }
            StepOutcome::Finished(why) => ("done", why.code(), why.to_string(), None),
            StepOutcome::Stepped { effect, why } => {
                ("stepped", why.code(), format!("{effect}: {why}"), None)
            }
            StepOutcome::Locked => (
                "locked",
                "locked".to_owned(),
                "another process of this home is at it".to_owned(),
                None,
            ),
            StepOutcome::Trouble(error) => (
                "trouble",
                "trouble".to_owned(),
                error.to_string(),
                error.retry_at(),
            ),
            StepOutcome::Rests { until, trouble } => (
                "trouble",
                "trouble".to_owned(),
                trouble.text.clone(),
                Some(*until),
            ),
        };
        let frees = match &advanced.outcome {
            StepOutcome::Waits { why, .. } => freeing::frees(why, issue, &self.policy.labels),
            StepOutcome::Finished(_)
            | StepOutcome::Locked
            | StepOutcome::Trouble(_)
            | StepOutcome::Rests { .. }
            | StepOutcome::Stepped { .. } => None,
        };
        IssueReport {
            repository: self.settings.alias.clone(),
            issue,
            title,
            phase: advanced.phase,
            outcome,
            code,
            why: self.settings.secrets.redact(&why),
            until,
            frees,
        }
    }

    /// Waits for at most `time`, or until a run of this machine ends.
    pub async fn rest(&self, time: Duration) -> Woken {
        let before = self.running();
        let until = self.world.clock.boot_time() + time;
        // Others go on meanwhile: what they wait for is asked again.
        *self.waiting() = None;
        loop {
            if self.running() < before {
                return Woken::RunEnded;
            }
            let left = until.saturating_sub(self.world.clock.boot_time());
            if left.is_zero() {
                return Woken::TimePassed;
            }
            self.world.clock.sleep(left.min(RUN_LOOK_EVERY)).await;
        }
    }

    /// How many runs of this repository are alive on this machine.
    fn running(&self) -> usize {
        let issues = self.world.folders.claimed_issues().unwrap_or_default();
        let facts = issues
            .iter()
            .filter_map(|issue| self.world.runs.facts(*issue).ok());
        facts
            .flatten()
            .filter(|run| matches!(run.status, RunStatus::Running { .. }))
            .count()
    }
}

fn is_running(advanced: &Advanced) -> bool {
    matches!(
        advanced.outcome,
        StepOutcome::Waits {
            why: Why::RunGoing { .. },
            ..
        }
    )
}

fn wait_word(why: &Why) -> &'static str {
    if matches!(why, Why::Blocked { .. }) {
        "blocked"
    } else if matches!(why, Why::RunGoing { .. }) {
        "running"
    } else if matches!(why, Why::LocalTrouble { .. }) {
        "trouble"
    } else {
        "waiting"
    }
}
