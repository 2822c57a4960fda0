//! One command of a run, from its start until nothing of it is alive. The order of commands and what
//! its end means for the run are `supervise`'s.

use std::time::Duration;

use crate::model::limits::{FROZEN_AWAKE_MAX, KILL_WAIT_MAX};
use crate::model::run::{Clocks, RunCommand, RunEnd};
use crate::ports::processes::{ChildEnd, ChildFacts, Force, Frozen, Success};
use crate::ports::{PortError, PortResult};

use super::keeper::{Keeper, Standing};
use super::pace::Pace;
use super::tally::Tally;
use super::{Parts, spoken};

/// How a command, and maybe the run, ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub end: RunEnd,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub command: usize,
    pub quarantined: bool,
    pub note: Option<String>,
}

impl Ended {
    pub(super) fn of(command: usize, end: RunEnd) -> Self {
        Self {
            end,
            code: None,
            signal: None,
            command,
            quarantined: false,
            note: None,
        }
    }

    fn noted(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    pub(super) fn success(&self) -> bool {
        self.end == RunEnd::Exited && self.code == Some(0)
    }
}

/// The course of one command.
pub(super) struct Course<'a> {
    parts: &'a Parts<'a>,
    keeper: &'a Keeper<'a>,
    clocks: &'a Clocks,
    frozen: bool,
    /// Awake time without an answer about the lease.
    unanswered: Duration,
    /// The clocks of the command, without sleep and frozen time.
    total: Duration,
    silent: Duration,
    after_exit: Duration,
    bytes: u64,
}

impl<'a> Course<'a> {
    pub(super) fn new(parts: &'a Parts<'a>, keeper: &'a Keeper<'a>, clocks: &'a Clocks) -> Self {
        Self {
            parts,
            keeper,
            clocks,
            frozen: false,
            unanswered: Duration::ZERO,
            total: Duration::ZERO,
            silent: Duration::ZERO,
            after_exit: Duration::ZERO,
            bytes: 0,
        }
    }

    /// Runs the command.
    pub(super) async fn take(
        &mut self,
        index: usize,
        command: &RunCommand,
        tally: &Tally<'_>,
    ) -> Ended {
        let mut ended = match self.may_start(index).await {
            Some(ended) => ended,
            None => match self.parts.processes.start(index, command) {
                Ok(()) => self.watch(index, tally).await,
                Err(error) => failed(index, &error),
            },
        };
        if let Some(remedy) = command.remedy(ended.end) {
            ended.note = Some(match ended.note.take() {
                Some(note) => format!("{note}; {remedy}"),
                None => remedy,
            });
        }
        if let Some(note) = &ended.note {
            self.parts.processes.note(&format!("── {note}"));
        }
        // Frozen means that somebody else may have the lease: nothing of ours may run again, not even
        // to clean up.
        let way = if self.frozen {
            Way::AtOnce
        } else {
            Way::Gently(self.clocks.kill_grace)
        };
        ended.quarantined |= end_all(self.parts, way).await;
        self.show(false);
        tally.ended(
            index,
            if ended.success() {
                Success::Yes
            } else {
                Success::No
            },
        );
        ended
    }

    /// Waits until the lease is known to be good; nothing is started without one.
    async fn may_start(&mut self, index: usize) -> Option<Ended> {
        let mut pace = Pace::new(self.parts.clock);
        let mut counts = Duration::ZERO;
        loop {
            if let Some(ended) = self.ordered_end(index) {
                return Some(ended);
            }
            match self.keeper.standing() {
                Standing::Good => {
                    self.show(false);
                    return None;
                }
                Standing::Late => {
                    self.show(true);
                    if let Some(ended) = self.wait_unanswered(index, counts) {
                        return Some(ended);
                    }
                }
                Standing::Lost(_) | Standing::Released => {}
            }
            counts = pace.tick().await;
        }
    }

    async fn watch(&mut self, index: usize, tally: &Tally<'_>) -> Ended {
        let mut pace = Pace::new(self.parts.clock);
        loop {
            let counts = pace.tick().await;
            // The lease comes before everything else: this process may just have been woken after
            // hours, and what it would do next might not be its to do any more.
            if let Some(ended) = self.ordered_end(index) {
                return ended;
            }
            if self.keeper.standing() == Standing::Late {
                if let Some(ended) = self.freeze(index, counts) {
                    return ended;
                }
                continue;
            }
            self.thaw();
            match self.parts.processes.child() {
                Ok(facts) => {
                    if facts.end.is_none()
                        && let Some(why) = tally.over_budget(index)
                    {
                        return Ended::of(index, RunEnd::OverBudget).noted(why);
                    }
                    if let Some(ended) = self.judge(index, &facts, counts) {
                        return ended;
                    }
                }
                Err(error) => return failed(index, &error),
            }
        }
    }

    /// Ends that come from outside.
    fn ordered_end(&self, index: usize) -> Option<Ended> {
        if self.parts.processes.asked().stop {
            return Some(Ended::of(index, RunEnd::Stopped).noted("the run was asked to end"));
        }
        match self.keeper.standing() {
            Standing::Lost(holder) => {
                let note = format!("the lease is lost to {holder}");
                Some(Ended::of(index, RunEnd::LeaseLost).noted(note))
            }
            Standing::Released => {
                Some(Ended::of(index, RunEnd::LeaseLost).noted("the lease was released"))
            }
            Standing::Good | Standing::Late => None,
        }
    }

    /// Past the deadline somebody else may take over at any time, so nothing of ours may go on. Done
    /// again at each tick: a stray that was being born at the last one is stopped too.
    fn freeze(&mut self, index: usize, counts: Duration) -> Option<Ended> {
        if !self.frozen {
            self.frozen = true;
            self.parts
                .processes
                .note("── frozen: the lease could not be renewed in time");
        }
        warn(self.parts.processes.force(Force::Freeze));
        self.show(true);
        self.wait_unanswered(index, counts)
    }

    fn thaw(&mut self) {
        self.unanswered = Duration::ZERO;
        if self.frozen {
            self.frozen = false;
            warn(self.parts.processes.force(Force::Thaw));
            self.parts
                .processes
                .note("── the lease is renewed: going on");
        }
        self.show(false);
    }

    fn wait_unanswered(&mut self, index: usize, counts: Duration) -> Option<Ended> {
        self.unanswered += counts;
        if self.unanswered < FROZEN_AWAKE_MAX {
            return None;
        }
        let why = self
            .keeper
            .trouble()
            .unwrap_or_else(|| "no answer".to_owned());
        let note = format!(
            "the lease could not be renewed for {} awake: {why}",
            spoken(FROZEN_AWAKE_MAX)
        );
        Some(Ended::of(index, RunEnd::Stopped).noted(note))
    }

    fn show(&mut self, frozen: bool) {
        let shown = if frozen { Frozen::Yes } else { Frozen::No };
        self.keeper.show_frozen(shown);
    }

    /// Does the command end here? `counts` is the awake time since the last look.
    fn judge(&mut self, index: usize, facts: &ChildFacts, counts: Duration) -> Option<Ended> {
        if let Some(end) = facts.end {
            return self.judge_exit(index, end, facts.output_open, counts);
        }
        if facts.preparing {
            return None;
        }
        self.total += counts;
        let printed = facts.output_bytes > self.bytes;
        self.silent = if printed {
            Duration::ZERO
        } else {
            self.silent + counts
        };
        self.bytes = self.bytes.max(facts.output_bytes);
        let (limit, end, what) = if self.bytes == 0 {
            (
                self.clocks.startup,
                RunEnd::StartupTimeout,
                "printed nothing since its start for",
            )
        } else {
            (self.clocks.idle, RunEnd::IdleTimeout, "printed nothing for")
        };
        if self.silent >= limit {
            return Some(Ended::of(index, end).noted(format!("{what} {}", spoken(limit))));
        }
        if self.total >= self.clocks.total {
            let note = format!("ran for {}, its limit", spoken(self.clocks.total));
            return Some(Ended::of(index, RunEnd::TotalTimeout).noted(note));
        }
        None
    }

    /// The command is done; a child of it that still holds the pipe gets some time to print, and
    /// changes nothing about the result.
    fn judge_exit(
        &mut self,
        index: usize,
        end: ChildEnd,
        output_open: bool,
        counts: Duration,
    ) -> Option<Ended> {
        let held = output_open && self.after_exit < self.clocks.completion_grace;
        if held {
            self.after_exit += counts;
            return None;
        }
        let mut ended = Ended::of(index, RunEnd::Exited);
        match end {
            ChildEnd::Code(code) => ended.code = Some(code),
            ChildEnd::Signal(signal) => ended.signal = Some(signal),
            ChildEnd::OutOfMemory => {
                ended = Ended::of(index, RunEnd::OutOfMemory).noted("ran out of memory");
            }
        }
        if output_open {
            ended = ended.noted("a child process still held the output; it is ended");
        }
        Some(ended)
    }
}

/// A command that never began. Where only its container is missing, that is nobody's failure.
fn failed(index: usize, error: &PortError) -> Ended {
    match error {
        PortError::Unavailable { message, .. } => {
            Ended::of(index, RunEnd::SandboxUnavailable).noted(message.clone())
        }
        PortError::Refused { .. } | PortError::Unknown { .. } => {
            Ended::of(index, RunEnd::NotStarted).noted(error.to_string())
        }
    }
}

fn warn(done: PortResult<()>) {
    if let Err(error) = done {
        tracing::warn!("{error}");
    }
}

/// How everything of a run is ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    /// TERM, this much time, KILL.
    Gently(Duration),
    /// KILL.
    AtOnce,
}

/// Ends everything of the run until nothing is left. `true`: something is, and the worktree is in
/// doubt.
pub(super) async fn end_all(parts: &Parts<'_>, way: Way) -> bool {
    if gone(parts) {
        return false;
    }
    if let Way::Gently(grace) = way {
        warn(parts.processes.force(Force::Terminate));
        // A process that somebody stopped takes TERM only when it goes on.
        warn(parts.processes.force(Force::Thaw));
        if gone_within(parts, grace, None).await {
            return false;
        }
    }
    !gone_within(parts, KILL_WAIT_MAX, Some(Force::Kill)).await
}

/// A process table that cannot be read proves nothing. Two looks, since it is not read in one
/// moment: a process whose parent dies meanwhile can slip through one.
fn gone(parts: &Parts<'_>) -> bool {
    parts.processes.alive() == Ok(0) && parts.processes.alive() == Ok(0)
}

async fn gone_within(parts: &Parts<'_>, limit: Duration, again: Option<Force>) -> bool {
    let mut pace = Pace::new(parts.clock);
    let mut waited = Duration::ZERO;
    loop {
        if let Some(force) = again {
            warn(parts.processes.force(force));
        }
        waited += pace.tick().await;
        if gone(parts) {
            return true;
        }
        if waited >= limit {
            return false;
        }
    }
}
