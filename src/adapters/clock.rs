//! The clock of this machine. The only place that asks the operating system for time.

use std::time::Duration;

use async_trait::async_trait;
use rustix::time::{ClockId, clock_gettime};

use crate::model::ids::Timestamp;
use crate::ports::clock::Clock;

/// Linux: counts suspended time, which `CLOCK_MONOTONIC` does not.
#[cfg(target_os = "linux")]
const BOOT_CLOCK: ClockId = ClockId::Boottime;
/// macOS: `CLOCK_MONOTONIC` counts suspended time there (`clock_gettime(3)`).
#[cfg(not(target_os = "linux"))]
const BOOT_CLOCK: ClockId = ClockId::Monotonic;

/// The runtime's timer stands still while the machine sleeps, so one long wait would last too long
/// by the time slept. It is cut into pieces of this length, each compared with the boot clock.
const SLEEP_SLICE: Duration = Duration::from_secs(10);

/// The real clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the adapter of the clock door"
    )]
    fn now(&self) -> Timestamp {
        chrono::Utc::now()
    }

    fn boot_time(&self) -> Duration {
        let time = clock_gettime(BOOT_CLOCK);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
        Duration::new(seconds, nanos)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the adapter of the clock door"
    )]
    async fn sleep(&self, time: Duration) {
        let until = self.boot_time().saturating_add(time);
        loop {
            let left = until.saturating_sub(self.boot_time());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(SLEEP_SLICE)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sleep_lasts_at_least_as_long_as_asked_by_the_boot_clock() {
        let clock = SystemClock;
        let before = clock.boot_time();
        clock.sleep(Duration::from_millis(20)).await;
        assert!(clock.boot_time().saturating_sub(before) >= Duration::from_millis(20));
    }
}
