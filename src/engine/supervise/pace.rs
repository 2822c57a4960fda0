//! The ticks of a supervisor: how long each is, and how much of it counts on the run's clocks.

use std::time::Duration;

use crate::model::limits::{SUPERVISE_TICK_COUNTS_MAX, SUPERVISE_TICK_MAX};
use crate::ports::clock::Clock;

/// Ticks that begin short, so that a command of some milliseconds is not waited for, and grow.
pub(super) struct Pace<'a> {
    clock: &'a dyn Clock,
    next: Duration,
    last: Duration,
}

impl<'a> Pace<'a> {
    pub(super) fn new(clock: &'a dyn Clock) -> Self {
        Self {
            clock,
            next: Duration::from_millis(2),
            last: clock.boot_time(),
        }
    }

    /// Waits one tick; answers how much awake time it counts for.
    pub(super) async fn tick(&mut self) -> Duration {
        self.clock.sleep(self.next).await;
        self.next = (self.next * 3 / 2).min(SUPERVISE_TICK_MAX);
        let now = self.clock.boot_time();
        let passed = now.saturating_sub(self.last);
        self.last = now;
        passed.min(SUPERVISE_TICK_COUNTS_MAX)
    }
}
