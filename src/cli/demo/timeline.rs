//! The demo's timeline: every step as it happens.

use std::sync::{Arc, Mutex, PoisonError};

use super::super::output;
use crate::adapters::clock::SystemClock;
use crate::engine::IssueReport;
use crate::engine::cycle::Watch;
use crate::ports::clock::Clock as _;
use crate::ports::events::{Event, EventQuery, Events};

/// Prints what is recorded and passes it on.
pub struct Timeline {
    store: Arc<dyn Events>,
    last: Mutex<String>,
}

impl Timeline {
    /// Over a real store.
    pub fn over(store: Arc<dyn Events>) -> Self {
        Self {
            store,
            last: Mutex::default(),
        }
    }

    fn line(&self, phase: &str, what: &str) {
        let line = format!("{phase:<13} {what}");
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != line {
            let now = SystemClock.now().format("%H:%M:%S UTC");
            output::say(&format!("{now}  {line}"));
            *last = line;
        }
    }
}

impl Events for Timeline {
    fn record(&self, event: &Event) {
        self.store.record(event);
        self.line(event.phase.as_deref().unwrap_or("-"), &event.what);
    }

    fn read(&self, query: &EventQuery) -> Result<Vec<Event>, String> {
        self.store.read(query)
    }
}

impl Watch for Timeline {
    fn issue(&self, report: &IssueReport) {
        let phase = report.phase.map_or("-", crate::model::phase::Phase::name);
        self.line(phase, &format!("… {}", report.why));
    }
}
