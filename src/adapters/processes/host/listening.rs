//! Listening to an agent: what its program says of itself goes to the supervisor, without secrets, as in
//! the log. What it means is the model's.

use std::sync::{Arc, Mutex, PoisonError};

use regex::Regex;

use super::RunHost;
use crate::adapters::clock::SystemClock;
use crate::adapters::processes::log::Listener;
use crate::model::agent::AgentCommand;
use crate::model::agent_stream::{AgentReport, Listening, StreamReader};
use crate::ports::clock::Clock as _;

impl RunHost {
    /// What was heard of the command that was started last.
    pub(super) fn heard(
        &self,
        ask: impl FnOnce(&StreamReader) -> AgentReport,
    ) -> Option<AgentReport> {
        let listener = self.running().listener.clone()?;
        let reader = listener.lock().unwrap_or_else(PoisonError::into_inner);
        let mut report = ask(&reader);
        report.text = report.text.map(|text| self.secrets.redact(&text));
        if let Some(error) = &mut report.error {
            error.words = self.secrets.redact(&error.words);
        }
        Some(report)
    }
}

/// Begins to listen to an agent.
pub(super) fn listen(agent: &AgentCommand) -> Listener {
    let patterns = agent.transient.iter();
    Arc::new(Mutex::new(StreamReader::new(Listening {
        format: agent.format,
        since: wall_clock(),
        session_tokens: agent.resumes.as_ref().map_or(0, |session| session.tokens),
        // They were checked with the configuration.
        transient: patterns.filter_map(|one| Regex::new(one).ok()).collect(),
    })))
}

/// The time as a clock on the wall shows it.
fn wall_clock() -> chrono::DateTime<chrono::FixedOffset> {
    SystemClock
        .now()
        .with_timezone(&chrono::Local)
        .fixed_offset()
}
