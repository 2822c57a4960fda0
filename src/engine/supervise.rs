//! The loop of one run: its commands in their order, its clocks, its lease, its end. It runs in a
//! process of its own, so that the engine may die or be replaced while an agent works.
//!
//! It never writes to GitHub but to renew the lease, and never looks at the work: that is the
//! engine's, when the run folder says that the run has ended.

mod command;
mod keeper;
mod last_word;
mod pace;
mod tally;

use std::time::Duration;

use crate::model::limits::{COLLECT_WAIT_MAX, SUPERVISE_TICK_MAX};
use crate::model::run::{Order, RunEnd, RunExit, RunSpec};
use crate::ports::PortResult;
use crate::ports::clock::Clock;
use crate::ports::github::GitHub;
use crate::ports::processes::Processes;

use super::renew::IfMissing;
use command::{Course, Ended, Way};
use keeper::{Keeper, Standing};
use last_word::LastWord;
use tally::Tally;

/// What a supervisor works with.
pub struct Parts<'a> {
    /// The run's processes and folder.
    pub processes: &'a dyn Processes,
    /// Time.
    pub clock: &'a dyn Clock,
    /// GitHub, for the lease. Without it a run that has a lease never starts a command.
    pub github: Option<&'a dyn GitHub>,
    /// A text that no other lease commit carries.
    pub nonce: &'a (dyn Fn() -> String + Send + Sync),
}

/// First line of an agent's log.
const AGENT_ON_HOST: &str =
    "── an agent on this host: it reaches what you reach here (files, keys, programs, network)";

/// Runs the run to its end, writes `exit.json`, and then keeps the lease until the result has been
/// collected.
pub async fn supervise(parts: &Parts<'_>, spec: &RunSpec) -> PortResult<RunExit> {
    let keeper = Keeper::new(parts, spec);
    let started_at = parts.clock.now();
    let tally = Tally::new(parts, spec);
    let run = Run {
        parts,
        spec,
        keeper: &keeper,
        tally: &tally,
    };
    if spec.key.kind.is_agent() {
        let boxed = spec.commands.iter().find_map(|one| one.sandbox.as_ref());
        match boxed {
            None => parts.processes.note(AGENT_ON_HOST),
            Some(boxed) => {
                let reached = boxed.sandbox.agent_reaches();
                parts.processes.note(&format!("── agents run {reached}"));
            }
        }
    }
    let mut end = tokio::select! {
        biased;
        end = run.all() => end,
        never = keeper.keep(IfMissing::Create) => match never {},
    };
    // Dead before the last word is written: whoever reads it may use the worktree at once.
    end.quarantined |= command::end_all(parts, Way::AtOnce).await;
    let mut exit = RunExit {
        end: end.end,
        code: end.code,
        signal: end.signal,
        command: end.command,
        started_at,
        ended_at: parts.clock.now(),
        quarantined: end.quarantined,
        note: end.note,
    };
    let last_word = LastWord {
        parts,
        keeper: &keeper,
        tally: &tally,
    };
    tokio::select! {
        biased;
        said = last_word.say(&mut exit) => said?,
        never = keeper.keep(IfMissing::Create) => match never {},
    }
    tokio::select! {
        biased;
        () = collected(parts, &keeper, &tally) => {}
        never = keeper.keep(IfMissing::LetGo) => match never {},
    }
    Ok(exit)
}

/// Waits until the result is taken over, or nobody can want the lease any more.
async fn collected(parts: &Parts<'_>, keeper: &Keeper<'_>, tally: &Tally<'_>) {
    let until = parts.clock.boot_time() + COLLECT_WAIT_MAX;
    while keeper.has_lease() && parts.clock.boot_time() < until {
        let asked = parts.processes.asked();
        let over = match keeper.standing() {
            Standing::Lost(_) | Standing::Released => true,
            Standing::Good | Standing::Late => false,
        };
        tally.settle();
        if asked.collected || asked.stop || over {
            return;
        }
        parts.clock.sleep(SUPERVISE_TICK_MAX).await;
    }
}

/// The commands of a run.
struct Run<'a> {
    parts: &'a Parts<'a>,
    spec: &'a RunSpec,
    keeper: &'a Keeper<'a>,
    tally: &'a Tally<'a>,
}

impl Run<'_> {
    async fn all(&self) -> Ended {
        // A run without commands has nothing that could fail.
        let mut last = Ended::of(0, RunEnd::Exited);
        last.code = Some(0);
        let first = self.parts.processes.begin_at();
        let tally = self.tally;
        for (index, command) in self.spec.commands.iter().enumerate().skip(first) {
            if let Some(why) = tally.skips(index, command) {
                if !why.is_empty() {
                    self.parts.processes.note(&why);
                    last = skipped(index, last);
                }
                continue;
            }
            let clocks = command.clocks.as_ref().unwrap_or(&self.spec.clocks);
            let mut course = Course::new(self.parts, self.keeper, clocks);
            last = course.take(index, command, tally).await;
            // A survivor of one command may still write while the next one works.
            if last.quarantined || self.is_over(&last) {
                break;
            }
        }
        last
    }

    /// Is the run over with this end of a command?
    fn is_over(&self, last: &Ended) -> bool {
        match last.end {
            RunEnd::LeaseLost
            | RunEnd::Stopped
            | RunEnd::SupervisorDied
            | RunEnd::OverBudget
            | RunEnd::SandboxUnavailable => true,
            RunEnd::Exited
            | RunEnd::StartupTimeout
            | RunEnd::IdleTimeout
            | RunEnd::TotalTimeout
            | RunEnd::OutOfMemory
            | RunEnd::NotStarted => match self.spec.order {
                Order::Fallback => last.success(),
                Order::Sequence => !last.success(),
            },
        }
    }
}

/// A command that was skipped did nothing, so an earlier failure goes on to count; alone it is one.
fn skipped(index: usize, last: Ended) -> Ended {
    if last.success() {
        let mut ended = Ended::of(index, RunEnd::Exited);
        ended.note = Some("every agent's usage limit was reached".to_owned());
        return ended;
    }
    last
}

/// A time span as people read it in a note.
fn spoken(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        secs if secs < 120 => format!("{secs} s"),
        secs => format!("{} min", secs / 60),
    }
}
