//! Time. The only source of "now" and the only way to wait.

use std::time::Duration;

use async_trait::async_trait;

use crate::model::ids::Timestamp;

/// The clock of this machine.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Wall-clock time, for people and logs. Leases never use it: their clock is GitHub's.
    fn now(&self) -> Timestamp;

    /// Time since some fixed point, counting sleep, never going back (`CLOCK_BOOTTIME`; on macOS
    /// `CLOCK_MONOTONIC`, which counts sleep there). For deadlines.
    fn boot_time(&self) -> Duration;

    /// Waits.
    async fn sleep(&self, time: Duration);
}
