//! What an HTTP answer of GitHub's means: the tables from statuses, headers and error texts to the
//! kinds of failure that the engine tells apart. No network here.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::model::ids::Timestamp;
use crate::model::limits::RATE_LIMIT_WAIT_MAX;
use crate::ports::Refusal;

/// GitHub asks for at least a minute after a secondary limit that names no time.
/// <https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api>
pub(super) const SECONDARY_WAIT: Duration = Duration::from_secs(60);

/// A failure, before it is known whether a read or a write failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// GitHub says no.
    Refused(Refusal, String),
    /// Too many requests. `wait` is measured from GitHub's clock; `None`: it names no time.
    Limited {
        wait: Option<Duration>,
        message: String,
    },
    /// GitHub stumbled: a read is repeated, a write's outcome is unknown.
    Stumbled(String),
}

/// What a status that is no success means.
pub(super) fn failure_of(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    path: &str,
) -> Failure {
    let message = message_of(status, body);
    let words = message.to_lowercase();
    if matches!(status.as_u16(), 403 | 429)
        && let Some(limit) = limit_of(status, headers, &message)
    {
        return limit;
    }
    let refusal = match status.as_u16() {
        401 => Refusal::Unauthorised,
        403 if words.contains("archived") => Refusal::RepositoryArchived,
        403 if path.contains("/git/") && words.contains("resource not accessible") => {
            Refusal::NoContentsWrite
        }
        403 | 451 => Refusal::Forbidden,
        404 | 410 => Refusal::NotFound,
        409 if words.contains("repository is empty") => Refusal::RepositoryEmpty,
        409 => Refusal::Stale,
        422 if words.contains("already exists") || words.contains("already_exists") => {
            Refusal::Exists
        }
        408 | 500.. => return Failure::Stumbled(message),
        _ => Refusal::Invalid,
    };
    Failure::Refused(refusal, message)
}

/// The failure if the answer is one of a rate limit.
fn limit_of(status: StatusCode, headers: &HeaderMap, message: &str) -> Option<Failure> {
    let words = message.to_lowercase();
    let spent = headers
        .get("x-ratelimit-remaining")
        .is_some_and(|left| left == "0");
    let secondary = words.contains("secondary rate limit") || words.contains("abuse detection");
    let limited = secondary
        || spent
        || headers.contains_key(http::header::RETRY_AFTER)
        || status == StatusCode::TOO_MANY_REQUESTS
        || words.contains("rate limit exceeded");
    let reset = || {
        if spent && !secondary {
            reset_wait(headers)
        } else {
            None
        }
    };
    let wait = retry_after(headers).or_else(reset);
    limited.then(|| Failure::Limited {
        wait,
        message: message.to_owned(),
    })
}

/// How long until the budget is filled again, by GitHub's own clock.
pub(super) fn reset_wait(headers: &HeaderMap) -> Option<Duration> {
    let reset = headers
        .get("x-ratelimit-reset")?
        .to_str()
        .ok()?
        .parse::<i64>()
        .ok()?;
    let wait = reset.saturating_sub(date_of(headers)?.timestamp());
    // A second on top, since both clocks are cut to whole seconds.
    let wait = u64::try_from(wait).unwrap_or(0).saturating_add(1);
    Some(believable(Duration::from_secs(wait)))
}

/// No limit of GitHub's lasts longer: whoever says so is not believed, and asked again.
fn believable(wait: Duration) -> Duration {
    wait.min(RATE_LIMIT_WAIT_MAX)
}

/// `Retry-After`, in seconds or as a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers
        .get(http::header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(believable(Duration::from_secs(seconds)));
    }
    let until = parse_date(text)?;
    let wait = (until - date_of(headers)?).to_std();
    Some(believable(wait.unwrap_or(Duration::ZERO)))
}

/// The `Date` header: GitHub's clock.
pub(super) fn date_of(headers: &HeaderMap) -> Option<Timestamp> {
    parse_date(headers.get(http::header::DATE)?.to_str().ok()?)
}

fn parse_date(text: &str) -> Option<Timestamp> {
    chrono::DateTime::parse_from_rfc2822(text)
        .ok()
        .map(|date| date.to_utc())
}

/// GitHub's whole reason: the message and every one of `errors`, which carry the part that helps.
fn message_of(status: StatusCode, body: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return format!("status {}", status.as_u16());
    };
    let mut text = value
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if text.is_empty() {
        text = format!("status {}", status.as_u16());
    }
    for error in value
        .get("errors")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        text.push_str("; ");
        text.push_str(&reason_of(error));
    }
    text
}

/// One entry of `errors`: a text, an object with a message, or resource, field and code.
fn reason_of(error: &Value) -> String {
    if let Some(text) = error.as_str() {
        return text.to_owned();
    }
    let word = |key: &str| error.get(key).and_then(Value::as_str);
    if let Some(message) = word("message") {
        return message.to_owned();
    }
    let words: Vec<&str> = ["resource", "field", "code"]
        .into_iter()
        .filter_map(word)
        .collect();
    if words.is_empty() {
        error.to_string()
    } else {
        words.join(" ")
    }
}

/// One error of a GraphQL answer.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub(super) struct GraphqlError {
    /// GitHub's word for it, where it has one.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// The text.
    #[serde(default)]
    pub message: String,
    /// Which field of the answer it concerns.
    #[serde(default)]
    pub path: Option<Vec<Value>>,
}

impl GraphqlError {
    /// Says that the token has no right to it.
    pub(super) fn is_forbidden(&self) -> bool {
        matches!(
            self.kind.as_deref(),
            Some("FORBIDDEN" | "INSUFFICIENT_SCOPES" | "SAML_FAILURE")
        )
    }

    /// Says only that the issue or pull request of the question is none: not an error, an absence.
    pub(super) fn is_missing_thing(&self) -> bool {
        let is = |path: &Vec<Value>, what| path.iter().eq(["repository", what].iter());
        self.kind.as_deref() == Some("NOT_FOUND")
            && self
                .path
                .as_ref()
                .is_some_and(|path| is(path, "issue") || is(path, "pullRequest"))
    }
}

/// What the errors of a GraphQL answer mean; the first one decides, all are told.
pub(super) fn graphql_failure(errors: &[GraphqlError], headers: &HeaderMap) -> Option<Failure> {
    let first = errors.first()?;
    let message = errors
        .iter()
        .map(|error| error.message.as_str())
        .collect::<Vec<_>>()
        .join("; ");
    let words = message.to_lowercase();
    if errors
        .iter()
        .any(|error| error.kind.as_deref() == Some("RATE_LIMITED"))
        || words.contains("secondary rate limit")
    {
        let wait = retry_after(headers).or_else(|| {
            let spent = headers
                .get("x-ratelimit-remaining")
                .is_some_and(|left| left == "0");
            if spent { reset_wait(headers) } else { None }
        });
        return Some(Failure::Limited { wait, message });
    }
    if words.contains("archived") {
        return Some(Failure::Refused(Refusal::RepositoryArchived, message));
    }
    let refusal = match first.kind.as_deref() {
        Some("NOT_FOUND") => Refusal::NotFound,
        _ if first.is_forbidden() => Refusal::Forbidden,
        Some("STALE_DATA") => Refusal::Stale,
        Some(
            "SERVICE_UNAVAILABLE" | "INTERNAL" | "TIMEOUT" | "MAX_NODE_LIMIT_EXCEEDED_TIMEOUT",
        ) => {
            return Some(Failure::Stumbled(message));
        }
        // GitHub's own time limit and its internal errors carry no type.
        None if words.contains("something went wrong") || words.contains("timeout") => {
            return Some(Failure::Stumbled(message));
        }
        Some(_) | None => Refusal::Invalid,
    };
    Some(Failure::Refused(refusal, message))
}

#[cfg(test)]
mod tests;
