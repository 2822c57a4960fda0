//! A clock that stands still until it is moved; waiting moves it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;

use crate::model::ids::Timestamp;
use crate::ports::clock::Clock;

#[derive(Debug)]
struct Times {
    wall: Timestamp,
    boot: Duration,
}

/// The clock of a simulated world; clones are the same clock.
#[derive(Debug, Clone)]
pub struct SimClock {
    times: Arc<Mutex<Times>>,
}

impl SimClock {
    /// A clock that shows this time.
    pub fn at(wall: Timestamp) -> Self {
        // Not zero, so that a deadline may lie before the start of the test.
        let times = Times {
            wall,
            boot: Duration::from_secs(86_400),
        };
        Self {
            times: Arc::new(Mutex::new(times)),
        }
    }

    /// Lets time pass, for both the wall and the boot clock.
    pub fn advance(&self, by: Duration) {
        self.with(|times| {
            times.wall += TimeDelta::from_std(by).unwrap_or(TimeDelta::zero());
            times.boot += by;
        });
    }

    /// Sets the wall clock, as a person or a time server does; the boot clock does not notice.
    pub fn set(&self, wall: Timestamp) {
        self.with(|times| times.wall = wall);
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Times) -> T) -> T {
        use_it(&mut self.times.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        self.with(|times| times.wall)
    }

    fn boot_time(&self) -> Duration {
        self.with(|times| times.boot)
    }

    async fn sleep(&self, time: Duration) {
        self.advance(time);
        // Others who wait for us get their turn.
        tokio::task::yield_now().await;
    }
}
