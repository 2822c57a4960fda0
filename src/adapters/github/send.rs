//! Sends requests and sorts what comes back: reads are repeated, writes are spaced and never
//! repeated, rate limits stop everything until they are over. Knows nothing of issues or leases.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use octocrab::Octocrab;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::address::Address;
use super::answers::{Failure, GraphqlError, SECONDARY_WAIT, date_of, failure_of, graphql_failure};
use super::documents::document;
use super::exchange::Lost;
use crate::model::ids::{RefName, Timestamp};
use crate::model::limits::HTTP_TIMEOUT;
use crate::ports::clock::Clock;
use crate::ports::{PortError, PortResult, Refusal};

/// Redirects followed: a renamed repository needs one.
pub(super) const REDIRECTS_MAX: u32 = 3;

/// Secondary limits in a row double the wait up to this many times (16 minutes).
const SECONDARY_DOUBLINGS_MAX: u32 = 4;

/// May it be sent again?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Changes nothing.
    Read,
    /// Changes something: once at most, one at a time.
    Write,
}

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// What is asked, as a fragment for people.
    pub what: String,
    pub kind: Kind,
    pub method: Method,
    /// Path and query on the origin.
    pub path: String,
    pub body: Option<Value>,
    /// `If-None-Match`.
    pub etag: Option<String>,
}

/// A GraphQL request.
pub(super) struct Query<'a> {
    pub what: &'a str,
    pub kind: Kind,
    pub operation: &'a str,
    /// Refs that are filled into the document.
    pub refs: &'a [RefName],
    /// An object.
    pub variables: Value,
}

/// An answer whose status is a success, or 304.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// What is known of rate limits.
#[derive(Default)]
struct Limit {
    /// Nothing is sent before this time of the boot clock.
    until: Option<Duration>,
    /// Limits in a row that named no time.
    unnamed: u32,
}

/// The sender. One for each repository and token.
pub(super) struct Sender {
    pub http: Octocrab,
    pub clock: Arc<dyn Clock>,
    pub address: Address,
    pub user_agent: HeaderValue,
    pub write_spacing: Duration,
    pub read_retries: u32,
    /// Of one request, from its first byte to its answer's last.
    pub timeout: Duration,
    /// End of the last write on the boot clock; the lock makes writes queue.
    last_write: tokio::sync::Mutex<Option<Duration>>,
    limit: Mutex<Limit>,
    pub(super) requests: AtomicU64,
}

impl Sender {
    /// A sender without history.
    pub(super) fn new(http: Octocrab, clock: Arc<dyn Clock>, address: Address) -> Self {
        Self {
            http,
            clock,
            address,
            user_agent: HeaderValue::from_static("ghswarm"),
            write_spacing: Duration::ZERO,
            read_retries: super::READ_RETRIES,
            timeout: HTTP_TIMEOUT,
            last_write: tokio::sync::Mutex::new(None),
            limit: Mutex::new(Limit::default()),
            requests: AtomicU64::new(0),
        }
    }

    /// Requests sent so far, repeated ones included.
    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Sends a call whose answer is JSON.
    pub(super) async fn json<T: DeserializeOwned>(&self, call: &Call) -> PortResult<T> {
        self.ask(call, |answer| parse(&answer.body)).await
    }

    /// Sends a call whose answer says nothing but that it went well.
    pub(super) async fn done(&self, call: &Call) -> PortResult<()> {
        self.ask(call, |_| Ok(())).await
    }

    /// Sends a GraphQL operation; answers GitHub's clock and the data.
    pub(super) async fn graphql<T: DeserializeOwned>(
        &self,
        query: &Query<'_>,
    ) -> PortResult<(Timestamp, T)> {
        self.ask(&self.graphql_call(query), read_graphql).await
    }

    /// Sends a GraphQL operation of which a part may be refused: `read` gets the data, the errors
    /// and the headers as they are.
    pub(super) async fn graphql_parts<T>(
        &self,
        query: &Query<'_>,
        read: impl Fn(Value, &[GraphqlError], &HeaderMap) -> Result<T, Failure> + Send + Sync,
    ) -> PortResult<T> {
        self.ask(&self.graphql_call(query), |answer| {
            let envelope: Envelope = parse(&answer.body)?;
            read(envelope.data, &envelope.errors, &answer.headers)
        })
        .await
    }

    fn graphql_call(&self, query: &Query<'_>) -> Call {
        Call {
            what: query.what.to_owned(),
            kind: query.kind,
            method: Method::POST,
            path: self.address.graphql.clone(),
            body: Some(json!({
                "query": document(query.operation, query.refs),
                "operationName": query.operation,
                "variables": query.variables,
            })),
            etag: None,
        }
    }

    /// Sends a call and reads its answer with `read`, whose failures count like the network's.
    pub(super) async fn ask<T>(
        &self,
        call: &Call,
        read: impl Fn(&Answer) -> Result<T, Failure> + Send + Sync,
    ) -> PortResult<T> {
        match call.kind {
            Kind::Read => self.ask_again(call, read).await,
            Kind::Write => self.ask_once(call, read).await,
        }
    }

    async fn ask_again<T>(
        &self,
        call: &Call,
        read: impl Fn(&Answer) -> Result<T, Failure> + Send + Sync,
    ) -> PortResult<T> {
        let mut pause = Duration::from_secs(1);
        let mut tries = 0;
        let since = self.clock.boot_time();
        loop {
            self.check_limit(&call.what)?;
            let message = match self.attempt(call).await {
                Ok(answer) => match judge(call, &answer).and_then(|()| read(&answer)) {
                    Ok(value) => {
                        self.note_success();
                        return Ok(value);
                    }
                    Err(Failure::Stumbled(message)) => message,
                    Err(failure) => return Err(self.port_error(call, failure)),
                },
                Err(Lost::NotSent(message) | Lost::Cut(message)) => message,
                Err(Lost::Endless(message)) => {
                    return Err(PortError::unavailable(&call.what, message, None));
                }
            };
            // Whoever waits is told rather than kept waiting for a third and a fourth slow answer.
            let late = self.clock.boot_time().saturating_sub(since) >= self.timeout;
            if tries == self.read_retries || late {
                return Err(PortError::unavailable(&call.what, message, None));
            }
            tries += 1;
            self.clock.sleep(pause).await;
            pause *= 2;
        }
    }

    async fn ask_once<T>(
        &self,
        call: &Call,
        read: impl Fn(&Answer) -> Result<T, Failure> + Send + Sync,
    ) -> PortResult<T> {
        let mut last_write = self.last_write.lock().await;
        if let Some(last) = *last_write {
            let since = self.clock.boot_time().saturating_sub(last);
            if let Some(rest) = self
                .write_spacing
                .checked_sub(since)
                .filter(|r| !r.is_zero())
            {
                self.clock.sleep(rest).await;
            }
        }
        self.check_limit(&call.what)?;
        let sent = self.attempt(call).await;
        *last_write = Some(self.clock.boot_time());
        match sent {
            Ok(answer) => {
                let value = judge(call, &answer)
                    .and_then(|()| read(&answer))
                    .map_err(|failure| self.port_error(call, failure))?;
                self.note_success();
                Ok(value)
            }
            Err(Lost::NotSent(message)) => Err(PortError::unavailable(&call.what, message, None)),
            Err(Lost::Cut(message) | Lost::Endless(message)) => {
                Err(PortError::unknown(&call.what, message))
            }
        }
    }

    /// One exchange, redirects on our own host included.
    async fn attempt(&self, call: &Call) -> Result<Answer, Lost> {
        let mut path = call.path.clone();
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.exchange(call, &path).await?;
            match self.redirected(call, &answer) {
                Some(next) => path = next,
                None => return Ok(answer),
            }
        }
        Err(Lost::NotSent("redirected in a circle".to_owned()))
    }

    /// Where a redirect leads, if it is one that may be followed: a write only where the method
    /// stays, nothing to another host.
    pub(super) fn redirected(&self, call: &Call, answer: &Answer) -> Option<String> {
        let follow = match answer.status.as_u16() {
            301 | 302 => call.method == Method::GET,
            307 | 308 => true,
            _ => false,
        };
        let to = answer.headers.get(header::LOCATION)?.to_str().ok()?;
        (follow && self.address.is_ours(to))
            .then(|| self.address.relative(to))
            .flatten()
    }

    pub(super) fn port_error(&self, call: &Call, failure: Failure) -> PortError {
        match failure {
            Failure::Refused(refusal, message) => PortError::refused(&call.what, refusal, message),
            Failure::Limited { wait, message } => {
                let retry_at = self.note_limit(wait);
                PortError::unavailable(&call.what, message, Some(retry_at))
            }
            Failure::Stumbled(message) => match call.kind {
                Kind::Read => PortError::unavailable(&call.what, message, None),
                Kind::Write => PortError::unknown(&call.what, message),
            },
        }
    }

    /// Refuses to send while a limit lasts: going on would prolong it.
    pub(super) fn check_limit(&self, what: &str) -> PortResult<()> {
        let limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        let left = limit
            .until
            .and_then(|until| until.checked_sub(self.clock.boot_time()));
        match left.filter(|left| !left.is_zero()) {
            Some(left) => Err(PortError::unavailable(
                what,
                "nothing is asked of GitHub before that",
                Some(self.clock.now() + left),
            )),
            None => Ok(()),
        }
    }

    /// Remembers a limit; answers when it is over, by this machine's clock. Only the length of the
    /// wait is taken from GitHub, since the two clocks may differ.
    fn note_limit(&self, wait: Option<Duration>) -> Timestamp {
        let mut limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = wait.unwrap_or_else(|| {
            let doublings = limit.unnamed.min(SECONDARY_DOUBLINGS_MAX);
            limit.unnamed += 1;
            // Jitter, so that several machines which were stopped together do not return together.
            SECONDARY_WAIT * 2_u32.pow(doublings)
                + Duration::from_millis(rand::random_range(0..10_000))
        });
        let until = self.clock.boot_time() + wait;
        limit.until = Some(limit.until.map_or(until, |known| known.max(until)));
        self.clock.now() + wait
    }

    fn note_success(&self) {
        self.limit
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .unnamed = 0;
    }
}

/// Success and "not modified" pass.
pub(super) fn judge(call: &Call, answer: &Answer) -> Result<(), Failure> {
    if answer.status.is_success() || answer.status == StatusCode::NOT_MODIFIED {
        return Ok(());
    }
    if answer.status.is_redirection() {
        let to = answer
            .headers
            .get(header::LOCATION)
            .and_then(|to| to.to_str().ok());
        let message = format!(
            "redirected to `{}`, which is not followed",
            to.unwrap_or("nowhere")
        );
        return Err(Failure::Refused(Refusal::Invalid, message));
    }
    Err(failure_of(
        answer.status,
        &answer.headers,
        &answer.body,
        &call.path,
    ))
}

/// Reads JSON; what cannot be read was cut or is not GitHub's.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body)
        .map_err(|error| Failure::Stumbled(format!("the answer cannot be read: {error}")))
}

/// A GraphQL answer.
#[derive(serde::Deserialize)]
struct Envelope {
    #[serde(default)]
    data: Value,
    #[serde(default)]
    errors: Vec<GraphqlError>,
}

/// Reads a GraphQL answer. Data beside errors counts as an error, since a field that is missing for
/// lack of a right looks like one that is empty; the one exception is an issue that does not exist.
fn read_graphql<T: DeserializeOwned>(answer: &Answer) -> Result<(Timestamp, T), Failure> {
    let envelope: Envelope = parse(&answer.body)?;
    let errors: Vec<GraphqlError> = envelope
        .errors
        .into_iter()
        .filter(|error| !error.is_missing_thing())
        .collect();
    if let Some(failure) = graphql_failure(&errors, &answer.headers) {
        return Err(failure);
    }
    let at = date_of(&answer.headers)
        .ok_or_else(|| Failure::Stumbled("the answer has no `Date`".to_owned()))?;
    let data = serde_json::from_value(envelope.data)
        .map_err(|error| Failure::Stumbled(format!("the answer cannot be read: {error}")))?;
    Ok((at, data))
}
