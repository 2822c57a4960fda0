//! Run folders of a simulated home and the supervisors in them. They live on when the engine dies.

use std::path::PathBuf;
use std::time::Duration;

use crate::model::agent::{CommandReport, spent};
use crate::model::agent_stream::AgentReport;
use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::money::Spent;
use crate::model::run::{RunEnd, RunExit, RunFacts, RunKey, RunLease, RunSpec, RunStatus};
use crate::ports::clock::Clock as _;
use crate::ports::runs::{Runs, StartOutcome};
use crate::ports::{PortError, PortResult, Refusal};

use super::faults::LocalOp;
use super::git;
use super::home::{SimHome, State};
use super::script::{Act, Performance, Stage, Takes};

/// A supervisor at work.
#[derive(Debug, Clone)]
struct Going {
    since: Timestamp,
    until: Option<Duration>,
    looks_left: Option<u32>,
    stop: bool,
    performance: Performance,
}

#[derive(Debug, Clone)]
enum Life {
    Reserved,
    Running(Going),
    Ended(RunExit),
}

/// A run folder.
#[derive(Debug, Clone)]
pub(super) struct SimRun {
    spec: RunSpec,
    life: Life,
    log: String,
    question: Option<String>,
    review: Option<String>,
    relieved: bool,
    report: Option<AgentReport>,
}

impl SimRun {
    fn reserved(spec: &RunSpec) -> Self {
        Self {
            spec: spec.clone(),
            life: Life::Reserved,
            log: String::new(),
            question: None,
            review: None,
            relieved: false,
            report: None,
        }
    }

    pub(super) fn key(&self) -> &RunKey {
        &self.spec.key
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.life, Life::Running(_))
    }

    pub(super) fn is_reserved(&self) -> bool {
        matches!(self.life, Life::Reserved)
    }

    /// The lease that its supervisor keeps alive.
    pub(super) fn kept_lease(&self) -> Option<RunLease> {
        let keeps = match &self.life {
            Life::Running(_) => true,
            // A dead supervisor keeps nothing.
            Life::Ended(exit) => exit.end != RunEnd::SupervisorDied && !self.relieved,
            Life::Reserved => false,
        };
        self.spec.lease.clone().filter(|_| keeps)
    }

    pub(super) fn supervisor_dies(&mut self, now: Timestamp) {
        self.relieved = true;
        if let Life::Running(going) = &self.life {
            self.life = Life::Ended(exit(going, RunEnd::SupervisorDied, now));
        }
    }

    fn facts(&self, home: &str) -> RunFacts {
        let issue = format!("issue-{}", self.key().issue);
        RunFacts {
            key: self.key().clone(),
            status: match &self.life {
                Life::Reserved => RunStatus::Reserved,
                Life::Running(going) => RunStatus::Running {
                    since: going.since,
                    frozen: false,
                },
                Life::Ended(exit) => RunStatus::Ended(exit.clone()),
            },
            folder: PathBuf::from("/sim")
                .join(home)
                .join(issue)
                .join(self.key().folder()),
            label: self
                .spec
                .commands
                .first()
                .map(|c| c.label.clone())
                .unwrap_or_default(),
            tasks: self.spec.tasks.clone(),
            tail: self.log.clone(),
            question: self.question.clone(),
            review: self.review.clone(),
            reports: self.reports(),
            agent_box: None,
            head: self.spec.head.clone(),
        }
    }

    /// What the first of its agents says, as soon as it is at work.
    fn reports(&self) -> Vec<CommandReport> {
        let first = self.spec.commands.first();
        let provider = first.and_then(|one| one.agent.as_ref());
        let report = self.report.clone().map(|report| CommandReport {
            command: 0,
            provider: provider.map_or_else(String::new, |agent| agent.provider.clone()),
            skipped: false,
            report,
        });
        report.into_iter().collect()
    }
}

fn exit(going: &Going, end: RunEnd, now: Timestamp) -> RunExit {
    let by_itself = end == RunEnd::Exited;
    RunExit {
        end,
        code: going.performance.code.filter(|_| by_itself),
        signal: None,
        command: 0,
        started_at: going.since,
        ended_at: now,
        quarantined: going.performance.quarantined,
        note: None,
    }
}

/// The runs' door of a simulated home.
#[derive(Clone)]
pub struct SimRuns {
    pub(super) home: SimHome,
}

impl SimRuns {
    fn begin(&self, state: &mut State, key: &RunKey) -> PortResult<StartOutcome> {
        let at = position(state, key)?;
        if !state.runs[at].is_reserved() {
            return Ok(StartOutcome::AlreadyThere);
        }
        let spec = state.runs[at].spec.clone();
        let performance = self.plan(state, &spec);
        let going = Going {
            since: self.home.clock.now(),
            until: match performance.takes {
                Takes::Time(time) => Some(self.home.clock.boot_time() + time),
                Takes::NoTime | Takes::Looks(_) | Takes::ForEver => None,
            },
            looks_left: match performance.takes {
                Takes::Looks(looks) => Some(looks),
                Takes::NoTime | Takes::Time(_) | Takes::ForEver => None,
            },
            stop: false,
            performance,
        };
        let acts = going.performance.at_start.clone();
        let at_once = going.performance.takes == Takes::NoTime;
        state.runs[at].report.clone_from(&going.performance.report);
        state.runs[at].life = Life::Running(going);
        play(&self.home, state, at, &acts)?;
        if at_once {
            end(&self.home, state, at)?;
        }
        Ok(StartOutcome::Started)
    }

    fn plan(&self, state: &State, spec: &RunSpec) -> Performance {
        let Some(script) = &state.script else {
            return Performance::success();
        };
        let same = |run: &&SimRun| {
            !run.is_reserved()
                && run.key().issue == spec.key.issue
                && run.key().kind == spec.key.kind
        };
        script(&Stage {
            spec,
            earlier: state.runs.iter().filter(same).count(),
            objects: &self.home.objects,
            worktree: state.worktrees.get(&spec.worktree),
        })
    }
}

fn position(state: &State, key: &RunKey) -> PortResult<usize> {
    let none = || PortError::refused("find the run", Refusal::NotFound, "no such run");
    state
        .runs
        .iter()
        .position(|run| run.key() == key)
        .ok_or_else(none)
}

/// Lets the run at `at` do these things.
fn play(home: &SimHome, state: &mut State, at: usize, acts: &[Act]) -> PortResult<()> {
    let worktree = state.runs[at].spec.worktree.clone();
    for act in acts {
        match act {
            Act::File { path, text } => {
                let tree = git::known(state, &worktree, "write a file")?;
                tree.dirty.insert(path.clone(), text.clone());
            }
            Act::Commit { message } => {
                git::commit_all(&home.objects, state, &worktree, (message, home.clock.now()))?;
            }
            Act::Question(text) => state.runs[at].question = Some(text.clone()),
            Act::Review(text) => state.runs[at].review = Some(text.clone()),
            Act::Print(text) => {
                state.runs[at].log.push_str(text);
                state.runs[at].log.push('\n');
            }
        }
    }
    Ok(())
}

/// Ends a running run: by itself, or stopped.
fn end(home: &SimHome, state: &mut State, at: usize) -> PortResult<()> {
    let Life::Running(going) = state.runs[at].life.clone() else {
        return Ok(());
    };
    if going.stop {
        state.runs[at].life = Life::Ended(exit(&going, RunEnd::Stopped, home.clock.now()));
        return Ok(());
    }
    play(home, state, at, &going.performance.at_end)?;
    state.runs[at].life = Life::Ended(exit(&going, going.performance.end, home.clock.now()));
    Ok(())
}

/// Ends the run of this key, for the test.
pub(super) fn finish(home: &SimHome, state: &mut State, key: &RunKey) -> PortResult<()> {
    let at = position(state, key)?;
    end(home, state, at)
}

/// Ends every run of the issue whose time has come.
fn settle(home: &SimHome, state: &mut State, issue: IssueNumber) -> PortResult<()> {
    for at in 0..state.runs.len() {
        if state.runs[at].key().issue != issue {
            continue;
        }
        let Life::Running(going) = &mut state.runs[at].life else {
            continue;
        };
        let now = home.clock.boot_time();
        let over = going.stop
            || going.until.is_some_and(|until| until <= now)
            || going.looks_left == Some(0);
        going.looks_left = going.looks_left.map(|left| left.saturating_sub(1));
        if over {
            end(home, state, at)?;
        }
    }
    Ok(())
}

impl Runs for SimRuns {
    fn facts(&self, issue: IssueNumber) -> PortResult<Vec<RunFacts>> {
        self.home.read("look at the runs", |state| {
            settle(&self.home, state, issue)?;
            let of_issue = state.runs.iter().filter(|run| run.key().issue == issue);
            Ok(of_issue.map(|run| run.facts(&self.home.name)).collect())
        })
    }

    fn spent_since(&self, since: Timestamp) -> PortResult<Spent> {
        self.home.read("add up what was spent", |state| {
            let of = |run: &SimRun| match &run.life {
                Life::Ended(exit) if exit.ended_at < since => Spent::default(),
                Life::Reserved | Life::Running(_) | Life::Ended(_) => spent(&run.reports()),
            };
            Ok(state.runs.iter().map(of).sum())
        })
    }

    fn start(&self, spec: &RunSpec) -> PortResult<StartOutcome> {
        let what = "start a run";
        let free = self.home.write(LocalOp::ReserveRun, what, |state| {
            let there = state.runs.iter().find(|run| run.key() == &spec.key);
            let free = there.is_none_or(SimRun::is_reserved);
            if there.is_none() {
                state.runs.push(SimRun::reserved(spec));
            }
            Ok(free)
        })?;
        if !free {
            return Ok(StartOutcome::AlreadyThere);
        }
        self.home.write(LocalOp::StartRun, what, |state| {
            // A start that was cut off may have been of another specification.
            let at = position(state, &spec.key)?;
            if state.runs[at].is_reserved() {
                state.runs[at].spec = spec.clone();
            }
            self.begin(state, &spec.key)
        })
    }

    fn stop(&self, key: &RunKey) -> PortResult<()> {
        self.home.write(LocalOp::StopRun, "stop a run", |state| {
            let at = position(state, key)?;
            if let Life::Running(going) = &mut state.runs[at].life {
                going.stop = true;
            }
            Ok(())
        })
    }

    fn relieve(&self, issue: IssueNumber) -> PortResult<()> {
        self.home
            .write(LocalOp::Relieve, "relieve the supervisors", |state| {
                let ended = |run: &&mut SimRun| {
                    run.key().issue == issue && matches!(run.life, Life::Ended(_))
                };
                state
                    .runs
                    .iter_mut()
                    .filter(ended)
                    .for_each(|run| run.relieved = true);
                Ok(())
            })
    }

    fn sweep(&self, _issue: IssueNumber) -> PortResult<()> {
        // Simulated runs leave no strays behind; the point counts all the same.
        self.home
            .write(LocalOp::Sweep, "sweep the runs", |_| Ok(()))
    }
}
