//! What the agents of one run say: what they cost so far, whether they may go on, and what is kept of it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::model::agent::{AgentCommand, CommandReport, spent};
use crate::model::agent_stream::{AgentErrorKind, AgentReport};
use crate::model::ids::Timestamp;
use crate::model::limits::REPORTS_KEPT_EVERY;
use crate::model::run::{RunCommand, RunSpec};
use crate::ports::PortResult;
use crate::ports::processes::Success;

use super::Parts;

/// The book of a run.
pub(super) struct Tally<'a> {
    parts: &'a Parts<'a>,
    spec: &'a RunSpec,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    /// Of the commands that ended, and of the one at work.
    reports: Vec<CommandReport>,
    /// When they were kept last, and what they said then.
    kept: Option<(Duration, Vec<CommandReport>)>,
    /// They could not be kept.
    owed: bool,
}

impl<'a> Tally<'a> {
    pub(super) fn new(parts: &'a Parts<'a>, spec: &'a RunSpec) -> Self {
        Self {
            parts,
            spec,
            book: Mutex::default(),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why this command is not started, for the log: another one comes first, or its provider is paused.
    pub(super) fn skips(&self, index: usize, command: &RunCommand) -> Option<String> {
        let agent = command.agent.as_deref()?;
        if agent.stands_in && !self.lost_its_session(index) {
            return Some(String::new());
        }
        let until = paused(agent, self.parts.clock.now())?;
        let report = CommandReport::skipped(index, agent, until);
        self.book().reports.push(report);
        self.keep();
        Some(format!(
            "── `{}` is skipped: its usage limit is over at {}",
            command.label,
            until.format("%Y-%m-%d %H:%M UTC")
        ))
    }

    fn lost_its_session(&self, index: usize) -> bool {
        let book = self.book();
        let before = book.reports.last();
        before.is_some_and(|one| {
            let error = one.report.error.as_ref();
            one.command + 1 == index
                && error.is_some_and(|error| error.kind == AgentErrorKind::LostSession)
        })
    }

    /// Listens to the command that works; why it may not go on, for people.
    pub(super) fn over_budget(&self, index: usize) -> Option<String> {
        let agent = self.agent(index)?;
        let report = self.parts.processes.report()?;
        // It has said its last words, and is about to exit: what it did is paid for.
        let done = report.text.is_some();
        self.note(index, agent, report);
        self.keep_sometimes();
        if done {
            return None;
        }
        let spent = spent(&self.book().reports);
        let reached = self.spec.allowance.reached(spent)?;
        Some(format!(
            "the run's budget is used up: {}",
            reached.words("run")
        ))
    }

    /// The command ended.
    pub(super) fn ended(&self, index: usize, success: Success) {
        let Some(agent) = self.agent(index) else {
            return;
        };
        if let Some(report) = self.parts.processes.report_of_end(success) {
            self.note(index, agent, report);
            self.keep();
        }
    }

    fn agent(&self, index: usize) -> Option<&'a AgentCommand> {
        self.spec.commands.get(index)?.agent.as_deref()
    }

    fn note(&self, index: usize, agent: &AgentCommand, report: AgentReport) {
        let mut book = self.book();
        let reports = &mut book.reports;
        match reports.last_mut().filter(|last| last.command == index) {
            Some(last) => last.report = report,
            None => reports.push(CommandReport {
                command: index,
                provider: agent.provider.clone(),
                skipped: false,
                report,
            }),
        }
    }

    fn keep_sometimes(&self) {
        let now = self.parts.clock.boot_time();
        let book = self.book();
        let due = match &book.kept {
            Some((at, kept)) => now >= *at + REPORTS_KEPT_EVERY && *kept != book.reports,
            None => true,
        };
        drop(book);
        if due {
            self.keep();
        }
    }

    fn keep(&self) {
        if let Err(error) = self.try_to_keep() {
            tracing::warn!("{error}");
        }
    }

    fn try_to_keep(&self) -> PortResult<()> {
        let mut book = self.book();
        let kept = self.parts.processes.keep_reports(&book.reports);
        book.kept = Some((self.parts.clock.boot_time(), book.reports.clone()));
        book.owed = kept.is_err();
        kept
    }

    /// Keeps what could not be kept before.
    pub(super) fn settle(&self) {
        let owed = self.book().owed;
        if owed && self.try_to_keep().is_ok() {
            tracing::info!("what the agents said is kept now");
        }
    }
}

fn paused(agent: &AgentCommand, now: Timestamp) -> Option<Timestamp> {
    agent.paused_until.filter(|until| now < *until)
}
