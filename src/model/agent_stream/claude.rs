//! Claude Code's `--output-format stream-json`, as version 2.1.332 prints it (recorded on 2026-11-30).
//!
//! `total_cost_usd` counts a resumed session from its beginning, so the cost of a run is what the models
//! used since the last result, where that is told.

use std::collections::VecDeque;

use chrono::DateTime;
use serde_json::Value;

use super::super::money::{Spent, Usd};
use super::{AgentError, AgentErrorKind, AgentReport, last_words};

/// Lines of one message follow each other, but for those of agents that work beside each other.
const MESSAGES_REMEMBERED: usize = 64;

#[derive(Default)]
pub(super) struct Claude {
    report: AgentReport,
    /// Tokens since the last result, as the messages tell them.
    open_tokens: u64,
    messages: VecDeque<String>,
    /// What the last failed request to the model was.
    failed: Option<AgentError>,
    limit: Option<i64>,
}

impl Claude {
    pub(super) fn report(&self) -> AgentReport {
        let mut report = self.report.clone();
        report.spent.tokens = report.spent.tokens.saturating_add(self.open_tokens);
        // Without a result it was ended from outside while it tried again and again.
        if report.error.is_none() && report.text.is_none() {
            report.error.clone_from(&self.failed);
        }
        report
    }

    pub(super) fn take(&mut self, line: &Value) {
        if let Some(session) = text(line, "session_id") {
            self.report.session = Some(session.to_owned());
        }
        match (text(line, "type"), text(line, "subtype")) {
            (Some("system"), Some("api_retry")) => {
                let words = format!("the model's API answers {}", line["error_status"]);
                self.failed = Some(self.error(line, &words));
            }
            (Some("rate_limit_event"), _) => self.take_limit(&line["rate_limit_info"]),
            (Some("assistant"), _) => self.take_message(line),
            (Some("result"), _) => self.take_result(line),
            _ => {}
        }
    }

    fn take_limit(&mut self, info: &Value) {
        if text(info, "status") == Some("rejected") {
            self.limit = info["resetsAt"].as_i64();
        }
    }

    fn take_message(&mut self, line: &Value) {
        let message = &line["message"];
        if line["is_api_error_message"] == true {
            let words = text(&message["content"][0], "text").unwrap_or_default();
            self.failed = Some(self.error(line, words));
            return;
        }
        self.failed = None;
        // It goes on after what looked like its end.
        self.report.text = None;
        let id = text(message, "id").unwrap_or_default();
        if self.messages.iter().any(|known| known == id) {
            return;
        }
        self.messages.push_back(id.to_owned());
        if self.messages.len() > MESSAGES_REMEMBERED {
            self.messages.pop_front();
        }
        self.open_tokens = self.open_tokens.saturating_add(tokens(&message["usage"]));
    }

    fn take_result(&mut self, line: &Value) {
        let spent = spent_in(line, self.report.spent.usd);
        self.report.spent = self.report.spent.and(spent);
        self.open_tokens = 0;
        let turns = u32::try_from(count(line, "num_turns")).unwrap_or(u32::MAX);
        self.report.turns = self.report.turns.saturating_add(turns);
        self.report.text = text(line, "result").and_then(last_words);
        self.report.error = (line["is_error"] == true).then(|| self.result_error(line));
    }

    fn result_error(&self, line: &Value) -> AgentError {
        let first = text(&line["errors"], 0);
        let words = text(line, "result").or(first).unwrap_or_default();
        if first.is_some_and(|words| words.starts_with("No conversation found")) {
            return AgentError::new(AgentErrorKind::LostSession, words);
        }
        if text(line, "terminal_reason") == Some("prompt_too_long") {
            return AgentError::new(AgentErrorKind::PromptTooLong, words);
        }
        match &self.failed {
            // The message before it says more of what failed than the result.
            Some(failed) => failed.clone(),
            None if words.is_empty() => {
                let how = text(line, "subtype").unwrap_or("error");
                AgentError::new(AgentErrorKind::Other, how)
            }
            None => self.error(line, words),
        }
    }

    /// A line with `error` or `api_error_status` in it.
    fn error(&self, line: &Value, words: &str) -> AgentError {
        let status = line["api_error_status"]
            .as_u64()
            .or(line["error_status"].as_u64());
        let kind = match (text(line, "error"), status) {
            (Some("authentication_failed" | "billing_error" | "oauth_org_not_allowed"), _)
            | (_, Some(401..=403)) => AgentErrorKind::Account,
            (Some("rate_limit"), _) | (_, Some(429)) => AgentErrorKind::Limited,
            (Some("overloaded" | "server_error"), _) | (_, Some(408 | 409 | 500..)) => {
                AgentErrorKind::Transient
            }
            // Without a status there was no answer: the network.
            (Some("unknown"), None) if line["is_api_error_message"] == true => {
                AgentErrorKind::Transient
            }
            _ => AgentErrorKind::Other,
        };
        let until = self
            .limit
            .filter(|_| kind == AgentErrorKind::Limited)
            .and_then(|at| DateTime::from_timestamp(at, 0));
        AgentError {
            until,
            ..AgentError::new(kind, words)
        }
    }
}

/// What a result line adds. `before` is what was counted so far in dollars.
fn spent_in(line: &Value, before: Usd) -> Spent {
    let Some(models) = line["model_usage_since_last_result"].as_object() else {
        let total = line["total_cost_usd"].as_f64().unwrap_or_default();
        let counted = Spent {
            tokens: 0,
            usd: Usd::from_dollars(total),
        };
        let before = Spent {
            tokens: 0,
            usd: before,
        };
        return Spent {
            tokens: tokens(&line["usage"]),
            ..counted.without(before)
        };
    };
    let of_model = |model: &Value| Spent {
        tokens: [
            "inputTokens",
            "outputTokens",
            "cacheReadInputTokens",
            "cacheCreationInputTokens",
        ]
        .iter()
        .fold(0, |sum, key| sum.saturating_add(count(model, key))),
        usd: Usd::from_dollars(model["costUSD"].as_f64().unwrap_or_default()),
    };
    models.values().map(of_model).sum()
}

/// What the API calls `usage`.
fn tokens(usage: &Value) -> u64 {
    [
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ]
    .iter()
    .fold(0, |sum: u64, key| sum.saturating_add(count(usage, key)))
}

fn count(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_default()
}

fn text<I: serde_json::value::Index>(value: &Value, key: I) -> Option<&str> {
    value.get(key)?.as_str()
}
