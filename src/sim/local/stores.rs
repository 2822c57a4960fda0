//! Cache and events in memory. A dead engine stores nothing.

use crate::ports::events::{Event, EventQuery, Events};
use crate::ports::memory::Memory;

use super::home::SimHome;

/// The cache of a simulated home.
#[derive(Clone)]
pub struct MemMemory {
    pub(super) home: SimHome,
}

impl MemMemory {
    /// Everything is gone, as after somebody emptied the folder.
    pub fn clear(&self) {
        self.home.with(|state| state.memory.clear());
    }
}

impl Memory for MemMemory {
    fn load(&self, name: &str) -> Option<String> {
        self.home.with(|state| state.memory.get(name).cloned())
    }

    fn save(&self, name: &str, text: &str) {
        self.home.with(|state| {
            if !state.dead {
                state.memory.insert(name.to_owned(), text.to_owned());
            }
        });
    }

    fn unwritable(&self) -> Option<String> {
        self.home.with(|state| state.full.clone())
    }
}

/// The events of a simulated home.
#[derive(Clone)]
pub struct MemEvents {
    pub(super) home: SimHome,
}

impl Events for MemEvents {
    fn record(&self, event: &Event) {
        self.home.with(|state| {
            if !state.dead {
                state.events.push(event.clone());
            }
        });
    }

    fn read(&self, query: &EventQuery) -> Result<Vec<Event>, String> {
        let wanted = |event: &Event| {
            query
                .repository
                .as_ref()
                .is_none_or(|wanted| *wanted == event.repository)
                && query.issue.is_none_or(|wanted| Some(wanted) == event.issue)
                && query.since.is_none_or(|since| since <= event.at)
        };
        let mut found: Vec<Event> = self
            .home
            .with(|state| state.events.iter().filter(|e| wanted(e)).cloned().collect());
        let limit = query
            .limit
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(usize::MAX);
        found.drain(..found.len().saturating_sub(limit));
        Ok(found)
    }
}
