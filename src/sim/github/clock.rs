//! The one clock of the simulated GitHub: the `Date` header, the dates of everything it makes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::SubsecRound as _;

use crate::model::ids::Timestamp;

enum Source {
    /// Real time, moved by this much.
    Real(chrono::TimeDelta),
    /// Stands still until it is moved.
    Fixed(Timestamp),
    /// Somebody else's clock.
    Other(Arc<dyn Fn() -> Timestamp + Send + Sync>),
}

/// A clock that tests may set and move. Whole seconds only, as GitHub's.
pub struct SimClock {
    source: Mutex<Source>,
}

impl Default for SimClock {
    fn default() -> Self {
        Self {
            source: Mutex::new(Source::Real(chrono::TimeDelta::zero())),
        }
    }
}

impl SimClock {
    /// GitHub's now.
    pub fn now(&self) -> Timestamp {
        let exact = match &*self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::Real(offset) => real_now() + *offset,
            Source::Fixed(at) => *at,
            Source::Other(ask) => ask(),
        };
        exact.trunc_subsecs(0)
    }

    /// Stops the clock at this time.
    pub fn set(&self, at: Timestamp) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Source::Fixed(at);
    }

    /// Moves the clock forward. Somebody else's clock cannot be moved here.
    pub fn advance(&self, by: Duration) {
        let by = chrono::TimeDelta::from_std(by).unwrap_or_default();
        match &mut *self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::Real(offset) => *offset += by,
            Source::Fixed(at) => *at += by,
            Source::Other(_) => {}
        }
    }

    /// Follows another clock.
    pub fn follow(&self, ask: impl Fn() -> Timestamp + Send + Sync + 'static) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Source::Other(Arc::new(ask));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the simulated server has a clock of its own"
)]
fn real_now() -> Timestamp {
    chrono::Utc::now()
}
