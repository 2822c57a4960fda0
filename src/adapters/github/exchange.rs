//! One request and its answer, whole or not at all: it has a time and a size that it may not exceed, and
//! whoever waits for a slow one is told.

use std::error::Error as _;
use std::sync::atomic::Ordering;

use http::{Request, header};
use http_body_util::BodyExt as _;

use super::send::{Answer, Call, Sender};
use crate::model::limits::{ANSWER_BYTES_MAX, HTTP_SLOW_AFTER};

/// A request without an answer.
pub(super) enum Lost {
    /// It was never sent.
    NotSent(String),
    /// It was sent, or may have been.
    Cut(String),
    /// It was sent, and its answer did not end. Once more would be the same.
    Endless(String),
}

impl Sender {
    /// One exchange. One that is slow is spoken of while it lasts.
    pub(super) async fn exchange(&self, call: &Call, path: &str) -> Result<Answer, Lost> {
        let mut exchanged = std::pin::pin!(self.exchanged(call, path));
        if let Ok(answer) = tokio::time::timeout(HTTP_SLOW_AFTER, &mut exchanged).await {
            return answer;
        }
        let (slow, limit) = (HTTP_SLOW_AFTER.as_secs(), self.timeout.as_secs());
        tracing::warn!(
            "waiting for GitHub's whole answer since {slow} s, at most {limit} s: {}",
            call.what
        );
        exchanged.await
    }

    async fn exchanged(&self, call: &Call, path: &str) -> Result<Answer, Lost> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(path)
            .header(header::USER_AGENT, &self.user_agent)
            .header(header::ACCEPT, "application/vnd.github+json");
        if let Some(etag) = &call.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        let request = self
            .http
            .build_request(request, call.body.as_ref())
            .map_err(|error| Lost::NotSent(chain(&error)))?;
        self.requests.fetch_add(1, Ordering::Relaxed);
        let response = self.http.execute(request).await.map_err(|error| {
            if never_sent(&error) {
                Lost::NotSent(chain(&error))
            } else {
                Lost::Cut(self.cut(&error))
            }
        })?;
        let (parts, mut body) = response.into_parts();
        let status = parts.status.as_u16();
        tracing::debug!(status, "{} {path} ({})", call.method, call.what);
        let mut whole = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Lost::Cut(self.cut(&error)))?;
            whole.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            if whole.len() > ANSWER_BYTES_MAX {
                let mib = ANSWER_BYTES_MAX / (1024 * 1024);
                let words =
                    format!("the answer is larger than {mib} MiB, which none of GitHub's is");
                return Err(Lost::Endless(words));
            }
        }
        Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            body: whole,
        })
    }

    /// Why a request that was sent has no answer.
    fn cut(&self, error: &octocrab::Error) -> String {
        if timed_out(error) {
            return format!("no whole answer within {} s", self.timeout.as_secs());
        }
        chain(error)
    }
}

/// Was it the limit of time?
fn timed_out(error: &octocrab::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error
            .downcast_ref::<reqwest::Error>()
            .is_some_and(reqwest::Error::is_timeout)
        {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Did the request fail before its first byte could leave?
fn never_sent(error: &octocrab::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return error.is_connect() || error.is_builder();
        }
        cause = error.source();
    }
    false
}

/// An error with its causes, innermost last. A connection that was refused is said in a few words: the
/// layers between repeat one another and the address.
fn chain(error: &octocrab::Error) -> String {
    if let Some(words) = refused_connection(error) {
        return words;
    }
    let mut text = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let part = error.to_string();
        if !text.ends_with(&part) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&part);
        }
        cause = error.source();
    }
    if text.is_empty() {
        "no answer".to_owned()
    } else {
        text
    }
}

fn refused_connection(error: &octocrab::Error) -> Option<String> {
    let mut host = None;
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let asked = error.downcast_ref::<reqwest::Error>();
        if let Some(url) = asked.and_then(reqwest::Error::url) {
            let port = url
                .port()
                .map_or_else(String::new, |port| format!(":{port}"));
            host = Some(format!("{}{port}", url.host_str().unwrap_or_default()));
        }
        if let Some(io) = error.downcast_ref::<std::io::Error>()
            && io.kind() == std::io::ErrorKind::ConnectionRefused
        {
            let host = host.unwrap_or_else(|| "the other side".to_owned());
            return Some(format!("`{host}` refused the connection"));
        }
        cause = error.source();
    }
    None
}
