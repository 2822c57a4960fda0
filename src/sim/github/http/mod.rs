//! The face over loopback HTTP: takes a request in, lets it meet its fault, and answers with the
//! headers GitHub sends. What is answered stands in the sibling modules.

mod call;
mod git;
mod graphql;
mod graphql_board;
mod graphql_nodes;
mod graphql_writes;
mod json;
mod rest_git;
mod rest_issues;
mod rest_jobs;
mod rest_prs;
mod rest_repo;
mod routes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::Sim;
use super::error::SimError;
use super::faults::{Fault, Op};
use call::{Call, Reply};

/// A push of a whole project fits, a mistake does not fill the memory.
const BODY_BYTES_MAX: usize = 1 << 30;

/// A served simulated GitHub; it stops when this is dropped.
pub struct Serving {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Serving {
    /// `http://127.0.0.1:PORT`, without a slash at the end: REST's base address, and git's.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Takes no new request, finishes those that run.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        if let Some(task) = self.task.take() {
            // A connection that a client keeps open must not keep us.
            drop(tokio::time::timeout(Duration::from_secs(2), task).await);
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

/// Serves on this listener until the answer is dropped or stopped. Web addresses in what GitHub
/// says lead here from now on.
pub fn serve(sim: &Arc<Sim>, listener: TcpListener) -> std::io::Result<Serving> {
    let address = listener.local_addr()?;
    sim.set_web(&format!("http://{address}"));
    let (stop, stopped) = oneshot::channel::<()>();
    let app = Router::new().fallback(take).with_state(Arc::clone(sim));
    let task = tokio::spawn(async move {
        let serving = axum::serve(listener, app).with_graceful_shutdown(async {
            drop(stopped.await);
        });
        if let Err(error) = serving.await {
            tracing::warn!(%error, "the simulated GitHub stopped");
        }
    });
    Ok(Serving {
        address,
        stop: Some(stop),
        task: Some(task),
    })
}

/// A request, read whole.
struct Incoming {
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    body: Bytes,
}

async fn take(State(sim): State<Arc<Sim>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, BODY_BYTES_MAX).await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let incoming = Incoming {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
    };
    if git::is_git(&incoming) {
        return git::answer(sim, incoming).await;
    }
    if let Some(place) = incoming.path.strip_prefix("/_logs/") {
        return stored_log(&sim, place, &incoming.headers);
    }
    api(sim, incoming).await
}

/// A log where it is stored: a stranger who takes no token, as a store of signed addresses does not.
fn stored_log(sim: &Sim, place: &str, headers: &HeaderMap) -> Response<Body> {
    if headers.contains_key(header::AUTHORIZATION) {
        return plain(StatusCode::BAD_REQUEST);
    }
    let found = place.rsplit_once('/').and_then(|(key, job)| {
        let job = job.parse::<u64>().ok()?;
        let checks = sim.read(|world| Ok(world.repo(key)?.checks.clone())).ok()?;
        checks.into_iter().find(|check| check.id == job)
    });
    match found {
        Some(check) => Response::new(Body::from(check.output)),
        None => plain(StatusCode::NOT_FOUND),
    }
}

async fn api(sim: Arc<Sim>, incoming: Incoming) -> Response<Body> {
    let call = match Call::read(&sim, &incoming) {
        Ok(call) => call,
        Err(error) => return finish(&sim, &Reply::error(&error), None),
    };
    let record = Record {
        op: call.op(),
        method: incoming.method.to_string(),
        path: call.name(),
    };
    let fault = match before(&sim, &record).await {
        Met::Go(fault) => fault,
        Met::Stop(response) => return response,
    };
    let if_none_match = incoming.headers.get(header::IF_NONE_MATCH).cloned();
    let stale = fault == Some(Fault::StaleRead);
    let handling = Arc::clone(&sim);
    let done = tokio::task::spawn_blocking(move || call.handle(&handling, stale)).await;
    let mut reply = done.unwrap_or_else(|error| {
        Reply::error(&SimError::new(
            500,
            crate::ports::Refusal::Invalid,
            error.to_string(),
        ))
    });
    let get = incoming.method == Method::GET && reply.status == 200;
    if get {
        reply.etag = Some(etag(&reply.text()));
    }
    if get
        && if_none_match
            .as_ref()
            .is_some_and(|tag| reply.has_etag(tag))
    {
        reply.status = 304;
    }
    match fault {
        Some(Fault::CutAfter) => cut(&sim, &record),
        Some(Fault::TruncatedJson) => {
            let text = reply.text();
            let half = text.len() / 2;
            record.of(&sim, reply.status);
            let body = text.as_bytes().get(..half).unwrap_or_default().to_vec();
            finish(&sim, &reply, Some(body))
        }
        Some(Fault::Drip(between)) => {
            record.of(&sim, reply.status);
            let whole = finish(&sim, &reply, None);
            let text = reply.text().into_bytes();
            whole.map(|_| dripping(text, between))
        }
        Some(Fault::Endless) => {
            record.of(&sim, reply.status);
            finish(&sim, &reply, None).map(|_| endless())
        }
        _ => {
            record.of(&sim, reply.status);
            finish(&sim, &reply, None)
        }
    }
}

fn dripping(text: Vec<u8>, between: Duration) -> Body {
    let bytes = futures_util::stream::unfold(text.into_iter(), move |mut rest| async move {
        let byte = rest.next()?;
        pause(between).await;
        Some((
            Ok::<_, std::convert::Infallible>(Bytes::from(vec![byte])),
            rest,
        ))
    });
    Body::from_stream(bytes)
}

fn endless() -> Body {
    let blank = Bytes::from(vec![b' '; 64 * 1024]);
    let blanks =
        futures_util::stream::repeat_with(move || Ok::<_, std::convert::Infallible>(blank.clone()));
    Body::from_stream(blanks)
}

/// What is written down of a request.
struct Record {
    op: Op,
    method: String,
    path: String,
}

impl Record {
    fn of(&self, sim: &Sim, status: u16) {
        sim.record(self.op, &self.method, &self.path, status);
    }
}

/// How a request goes on after it met its fault.
enum Met {
    Go(Option<Fault>),
    Stop(Response<Body>),
}

async fn before(sim: &Sim, record: &Record) -> Met {
    let fault = sim.meet(record.op);
    let limited = |status: u16, message: &str, headers: Vec<(&'static str, String)>| {
        let error = SimError::new(status, crate::ports::Refusal::Forbidden, message);
        let mut reply = Reply::error(&error);
        reply.headers.extend(headers);
        record.of(sim, status);
        Met::Stop(finish(sim, &reply, None))
    };
    match &fault {
        None
        | Some(
            Fault::CutAfter
            | Fault::TruncatedJson
            | Fault::StaleRead
            | Fault::Drip(_)
            | Fault::Endless,
        ) => Met::Go(fault),
        Some(Fault::Delay(by)) => {
            pause(*by).await;
            Met::Go(None)
        }
        Some(Fault::CutBefore) => cut(sim, record),
        Some(Fault::RefuseBefore(status)) => limited(*status, words_of(*status), Vec::new()),
        Some(Fault::PrimaryLimit(by)) => {
            let reset = sim.clock.now().timestamp() + i64::try_from(by.as_secs()).unwrap_or(0);
            let headers = vec![
                ("x-ratelimit-remaining", "0".to_owned()),
                ("x-ratelimit-reset", reset.to_string()),
            ];
            limited(403, "API rate limit exceeded for user ID 1.", headers)
        }
        Some(Fault::SecondaryLimit(by)) => limited(
            403,
            SECONDARY,
            vec![("retry-after", by.as_secs().to_string())],
        ),
        Some(Fault::TooMany(by)) => limited(
            429,
            SECONDARY,
            vec![("retry-after", by.as_secs().to_string())],
        ),
    }
}

const SECONDARY: &str =
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";

fn words_of(status: u16) -> &'static str {
    match status {
        401 => "Bad credentials",
        403 => "Resource not accessible by personal access token",
        404 => "Not Found",
        _ => "Server Error",
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the simulated network is slow by real time"
)]
async fn pause(by: Duration) {
    tokio::time::sleep(by).await;
}

/// Closes the connection without an answer: unwinding takes the connection's task with it. No
/// panic hook runs, so nothing is printed.
fn cut(sim: &Sim, record: &Record) -> ! {
    record.of(sim, 0);
    std::panic::resume_unwind(Box::new("the connection is cut by plan"))
}

fn etag(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    // Half of the digest tells two answers apart well enough, as one number.
    let half = digest
        .iter()
        .take(16)
        .fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
    format!("W/\"{half:032x}\"")
}

fn plain(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The answer with GitHub's headers; `body` stands in for the reply's own.
fn finish(sim: &Sim, reply: &Reply, body: Option<Vec<u8>>) -> Response<Body> {
    let empty = matches!(reply.status, 204 | 304);
    let body = if empty {
        Vec::new()
    } else {
        body.unwrap_or_else(|| reply.text().into_bytes())
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    let now = sim.clock.now();
    let used = sim.counts().charged;
    let mut headers = vec![
        ("date", now.format("%a, %d %b %Y %H:%M:%S GMT").to_string()),
        ("x-ratelimit-limit", "5000".to_owned()),
        (
            "x-ratelimit-remaining",
            5000_u64.saturating_sub(used).to_string(),
        ),
        ("x-ratelimit-used", used.to_string()),
        ("x-ratelimit-reset", (now.timestamp() + 3600).to_string()),
        ("x-ratelimit-resource", "core".to_owned()),
        ("x-github-media-type", "github.v3; format=json".to_owned()),
        ("x-github-request-id", format!("5117:{used:04X}")),
    ];
    if !empty {
        headers.push(("content-type", "application/json; charset=utf-8".to_owned()));
    }
    headers.extend(reply.etag.iter().map(|tag| ("etag", tag.clone())));
    headers.extend(reply.headers.iter().cloned());
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
