//! What a coding agent says of itself: what it cost, which session it was, and how it failed.
//!
//! Read from the envelope that its command-line program prints, as it grows. What the model wrote and what
//! its tools printed is never read for meaning: an agent that prints `429` has not met a limit. Nothing here
//! fails: a line that is not understood says nothing.

mod claude;
mod codex;
#[cfg(test)]
mod tests;

use chrono::FixedOffset;
use regex::Regex;
use serde::{Deserialize, Serialize};

use super::comment::{head, tail};
use super::ids::Timestamp;
use super::limits::{AGENT_LINE_BYTES_MAX, AGENT_WORDS_BYTES_MAX, LIMIT_AHEAD_MAX, LOG_TAIL_BYTES};
use super::money::Spent;

/// How an agent's output reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentFormat {
    /// As text: nobody knows what it cost.
    #[default]
    Text,
    /// `claude -p --output-format stream-json --verbose`.
    ClaudeJson,
    /// `codex exec --json`.
    CodexJson,
}

/// What kind of failure it was, as far as deciding depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentErrorKind {
    /// Not logged in, a wrong key, no credit: a person has to mend it.
    Account,
    /// A usage limit.
    Limited,
    /// The server or the network: later it may go well.
    Transient,
    /// The session that should be resumed is not there.
    LostSession,
    /// The conversation does not fit into the model's window.
    PromptTooLong,
    /// It failed at its work.
    Other,
}

/// How an agent failed, in its program's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentError {
    /// What kind.
    pub kind: AgentErrorKind,
    /// For people.
    pub words: String,
    /// When the limit is over, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl AgentError {
    /// A failure in these words.
    pub fn new(kind: AgentErrorKind, words: &str) -> Self {
        Self {
            kind,
            words: head(words.trim(), AGENT_WORDS_BYTES_MAX).to_owned(),
            until: None,
        }
    }
}

/// What one command of an agent's chain said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentReport {
    /// What it cost.
    pub spent: Spent,
    /// Turns of the model.
    pub turns: u32,
    /// The session, by which it can be resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What the program counts for the whole session, where it counts so.
    #[serde(skip_serializing_if = "is_zero")]
    pub session_tokens: u64,
    /// Its last words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<AgentError>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What has to be known to read a stream.
#[derive(Debug, Clone)]
pub struct Listening {
    /// How it reads.
    pub format: AgentFormat,
    /// When it began, and where: programs name the hour of a reset as a clock on the wall shows it.
    pub since: chrono::DateTime<FixedOffset>,
    /// What the resumed session had counted before; 0 for a fresh one.
    pub session_tokens: u64,
    /// Patterns of the user by which a failure is transient.
    pub transient: Vec<Regex>,
}

/// Where a program printed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Bytes until the end of their line. A line beyond all measure is left out.
#[derive(Debug, Default)]
struct Lines {
    open: Vec<u8>,
    dropping: bool,
}

impl Lines {
    /// The lines that end in `bytes`.
    fn whole(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut whole = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = part.last() == Some(&b'\n');
            if self.open.len() + part.len() > AGENT_LINE_BYTES_MAX {
                self.dropping = true;
                self.open.clear();
            }
            if !self.dropping {
                self.open.extend_from_slice(part);
            }
            if ends {
                if !self.dropping {
                    whole.push(String::from_utf8_lossy(&self.open).trim().to_owned());
                }
                self.open.clear();
                self.dropping = false;
            }
        }
        whole
    }
}

enum Dialect {
    Text,
    Claude(claude::Claude),
    Codex(codex::Codex),
}

/// Reads the output of one command.
pub struct StreamReader {
    dialect: Dialect,
    listening: Listening,
    out: Lines,
    err: Lines,
    /// What was printed last in no envelope.
    plain: String,
}

impl StreamReader {
    /// Begins to listen.
    pub fn new(listening: Listening) -> Self {
        Self {
            dialect: match listening.format {
                AgentFormat::Text => Dialect::Text,
                AgentFormat::ClaudeJson => Dialect::Claude(claude::Claude::default()),
                AgentFormat::CodexJson => Dialect::Codex(codex::Codex::new(&listening)),
            },
            listening,
            out: Lines::default(),
            err: Lines::default(),
            plain: String::new(),
        }
    }

    /// Takes what was printed.
    pub fn feed(&mut self, channel: Channel, bytes: &[u8]) {
        let lines = match channel {
            Channel::Out => self.out.whole(bytes),
            Channel::Err => self.err.whole(bytes),
        };
        for line in lines {
            self.take(channel, &line);
        }
    }

    fn take(&mut self, channel: Channel, line: &str) {
        let parsed = match self.dialect {
            Dialect::Text => None,
            Dialect::Claude(_) | Dialect::Codex(_) => serde_json::from_str(line).ok(),
        };
        match (&mut self.dialect, channel, parsed) {
            (Dialect::Claude(claude), Channel::Out, Some(line)) => claude.take(&line),
            (Dialect::Codex(codex), Channel::Out, Some(line)) => codex.take(&line),
            (dialect, ..) => {
                if let (Dialect::Codex(codex), Channel::Err) = (dialect, channel) {
                    codex.take_aside(line);
                }
                self.plain.push_str(line);
                self.plain.push('\n');
                if self.plain.len() > 2 * LOG_TAIL_BYTES {
                    self.plain = tail(&self.plain, LOG_TAIL_BYTES).to_owned();
                }
            }
        }
    }

    /// What it said so far.
    pub fn report(&self) -> AgentReport {
        let mut report = match &self.dialect {
            Dialect::Text => AgentReport::default(),
            Dialect::Claude(claude) => claude.report(),
            Dialect::Codex(codex) => codex.report(),
        };
        if let Some(error) = &mut report.error {
            let since = self.listening.since.to_utc();
            error.until = error
                .until
                .filter(|until| *until > since && *until - since < LIMIT_AHEAD_MAX);
        }
        report
    }

    /// What it said, now that it has ended like this. Only of a failure the user's patterns are asked.
    pub fn report_of_end(&self, success: bool) -> AgentReport {
        let mut report = self.report();
        if success {
            report.error = None;
            return report;
        }
        let words = match &report.error {
            // What the program has told apart itself counts more.
            Some(error) if error.kind != AgentErrorKind::Other => return report,
            Some(error) => error.words.as_str(),
            None => self.plain.as_str(),
        };
        let hit = self.listening.transient.iter().find_map(|p| p.find(words));
        if let Some(hit) = hit {
            let line = words[hit.start()..].lines().next().unwrap_or_default();
            report.error = Some(AgentError::new(AgentErrorKind::Transient, line));
        }
        report
    }
}

/// The first bytes of what an agent said last.
fn last_words(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| head(text, AGENT_WORDS_BYTES_MAX).to_owned())
}
