//! `codex exec --json`, as version 0.171.0 prints it (recorded on 2026-11-30).
//!
//! It tells tokens and no dollars, and counts a resumed session from its beginning. Its failures have no
//! code, only words, so they are told apart by the words of its own error lines.

use chrono::{DateTime, Days, FixedOffset, NaiveDateTime, NaiveTime};
use serde_json::Value;

use super::super::ids::Timestamp;
use super::{AgentError, AgentErrorKind, AgentReport, Listening, last_words};

pub(super) struct Codex {
    report: AgentReport,
    before: u64,
    since: DateTime<FixedOffset>,
    /// What went wrong last, while it tries again.
    failing: Option<AgentError>,
}

impl Codex {
    pub(super) fn new(listening: &Listening) -> Self {
        Self {
            report: AgentReport::default(),
            before: listening.session_tokens,
            since: listening.since,
            failing: None,
        }
    }

    pub(super) fn report(&self) -> AgentReport {
        let mut report = self.report.clone();
        if report.error.is_none() {
            report.error.clone_from(&self.failing);
        }
        report
    }

    pub(super) fn take(&mut self, line: &Value) {
        match line["type"].as_str() {
            Some("thread.started") => {
                self.report.session = line["thread_id"].as_str().map(str::to_owned);
            }
            Some("item.completed") => self.take_item(&line["item"]),
            Some("turn.completed") => self.take_turn(&line["usage"]),
            Some("turn.failed") => {
                let words = line["error"]["message"].as_str().unwrap_or_default();
                self.report.error = Some(self.error(words));
            }
            Some("error") => {
                let words = line["message"].as_str().unwrap_or_default();
                self.failing = Some(self.error(words));
            }
            _ => {}
        }
    }

    /// Standard error, before there is a session: what a program says that does not even begin.
    pub(super) fn take_aside(&mut self, line: &str) {
        let lost = line.starts_with("Error: thread/resume");
        if lost && self.report.session.is_none() {
            self.report.error = Some(AgentError::new(AgentErrorKind::LostSession, line));
        }
    }

    fn take_item(&mut self, item: &Value) {
        if item["type"] == "agent_message" {
            self.report.text = item["text"].as_str().and_then(last_words);
            self.failing = None;
        }
    }

    fn take_turn(&mut self, usage: &Value) {
        let count = |key: &str| usage[key].as_u64().unwrap_or_default();
        // Cached tokens are among those of the input.
        let total = count("input_tokens").saturating_add(count("output_tokens"));
        self.report.session_tokens = total;
        self.report.spent.tokens = total.saturating_sub(self.before);
        self.report.turns = self.report.turns.saturating_add(1);
        self.report.error = None;
        self.failing = None;
    }

    fn error(&self, words: &str) -> AgentError {
        let kind = kind_of(words);
        let until = if kind == AgentErrorKind::Limited {
            until_in(words, self.since)
        } else {
            None
        };
        AgentError {
            until,
            ..AgentError::new(kind, words)
        }
    }
}

/// Words of its errors, in lower case. The first row that fits counts.
const WORDS: &[(AgentErrorKind, &[&str])] = &[
    (
        AgentErrorKind::Account,
        &[
            "401 unauthorized",
            "403 forbidden",
            "missing environment variable",
            "quota exceeded",
            "not logged in",
            "please log in",
            "refresh token",
            "access token could not be refreshed",
        ],
    ),
    (AgentErrorKind::Limited, &["usage limit", "429 too many"]),
    (
        AgentErrorKind::PromptTooLong,
        &["context window", "context length"],
    ),
    (
        AgentErrorKind::Transient,
        &[
            "at capacity",
            "overloaded",
            "high demand",
            "stream disconnected",
            "connection failed",
            "exceeded retry limit",
            "timed out",
            "timeout",
            "unexpected status 5",
            "reconnecting",
        ],
    ),
];

fn kind_of(words: &str) -> AgentErrorKind {
    let words = words.to_lowercase();
    let row = WORDS
        .iter()
        .find(|(_, any)| any.iter().any(|part| words.contains(part)));
    row.map_or(AgentErrorKind::Other, |(kind, _)| *kind)
}

/// The time in `… or try again at Dec 1st, 2026 12:20 AM.`, or in `… at 12:20 AM.` on the same day.
fn until_in(words: &str, since: DateTime<FixedOffset>) -> Option<Timestamp> {
    let (_, rest) = words.split_once("try again at ")?;
    let said = rest.trim().trim_end_matches('.');
    let time = |text: &str| NaiveTime::parse_from_str(text, "%I:%M %p").ok();
    let local = if let Some(time) = time(said) {
        let today = since.date_naive().and_time(time);
        // Behind midnight it is tomorrow's.
        if today < since.naive_local() {
            today.checked_add_days(Days::new(1))?
        } else {
            today
        }
    } else {
        let plain = ["st,", "nd,", "rd,", "th,"]
            .iter()
            .fold(said.to_owned(), |text, ending| text.replace(ending, ","));
        NaiveDateTime::parse_from_str(&plain, "%b %d, %Y %I:%M %p").ok()?
    };
    // The minute that is named has to be over.
    let at = local.and_local_timezone(*since.offset()).single()?;
    Some(at.to_utc() + chrono::Duration::minutes(1))
}
