//! git's smart HTTP, through `git http-backend`: who may come in, and which fault they meet.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};

use super::super::Sim;
use super::super::error::SimResult;
use super::super::faults::{Fault, Op};
use super::super::model::{Access, Ban};
use super::call::login_of;
use super::{Incoming, Met, Record, before, cut, plain};

const SERVICES: [&str; 3] = ["/info/refs", "/git-upload-pack", "/git-receive-pack"];

/// Is it a path of git's transport?
pub(super) fn is_git(incoming: &Incoming) -> bool {
    SERVICES
        .iter()
        .any(|service| incoming.path.ends_with(service))
        && !incoming.path.starts_with("/repos/")
}

/// Where a git request goes.
struct Target {
    /// `owner/name` in lower case.
    key: String,
    service: &'static str,
    push: bool,
}

fn target(incoming: &Incoming) -> Option<Target> {
    let service = SERVICES
        .into_iter()
        .find(|service| incoming.path.ends_with(service))?;
    let place = incoming.path.strip_suffix(service)?.trim_start_matches('/');
    let key = place.strip_suffix(".git").unwrap_or(place).to_lowercase();
    let push = service == "/git-receive-pack" || incoming.query.contains("git-receive-pack");
    Some(Target { key, service, push })
}

pub(super) async fn answer(sim: Arc<Sim>, incoming: Incoming) -> Response<Body> {
    let Some(target) = target(&incoming) else {
        return plain(StatusCode::NOT_FOUND);
    };
    // Only the request that carries the objects changes anything.
    let op = if target.service == "/git-receive-pack" {
        Op::GitPush
    } else {
        Op::GitFetch
    };
    let path = format!("/{{owner}}/{{repo}}.git{}", target.service);
    let record = Record {
        op,
        method: incoming.method.to_string(),
        path,
    };
    let fault = match before(&sim, &record).await {
        Met::Go(fault) => fault,
        Met::Stop(response) => return response,
    };
    let handling = Arc::clone(&sim);
    let done = tokio::task::spawn_blocking(move || handle(&handling, &target, &incoming)).await;
    let response = done.unwrap_or_else(|_| plain(StatusCode::INTERNAL_SERVER_ERROR));
    if matches!(
        fault,
        Some(Fault::CutAfter | Fault::TruncatedJson | Fault::Drip(_) | Fault::Endless)
    ) {
        cut(&sim, &record);
    }
    record.of(&sim, response.status().as_u16());
    response
}

fn handle(sim: &Sim, target: &Target, incoming: &Incoming) -> Response<Body> {
    let login = match login_of(sim, &incoming.headers) {
        Ok(login) => login.unwrap_or_default(),
        Err(_) => return ask_for_token(),
    };
    let found: SimResult<_> = sim.read(|world| {
        let repo = world.repo(&target.key)?;
        Ok((
            repo.path.clone(),
            repo.archived || repo.bans.contains(&Ban::Pushes),
            world.access(&target.key, &login),
        ))
    });
    let Ok((path, closed, access)) = found else {
        return plain(StatusCode::NOT_FOUND);
    };
    let wanted = if target.push {
        Access::Write
    } else {
        Access::Read
    };
    if access < wanted || (target.push && closed) {
        return if login.is_empty() {
            ask_for_token()
        } else {
            denied(&target.key, &login)
        };
    }
    if target.service == "/git-receive-pack" {
        sim.before_push();
    }
    let answer = backend(&path, target, incoming, &login);
    // Whoever looks next sees what was pushed; this only follows it at once.
    drop(sim.read(|_| Ok(())));
    answer.unwrap_or_else(|error| {
        tracing::warn!(%error, "git http-backend failed");
        plain(StatusCode::INTERNAL_SERVER_ERROR)
    })
}

/// As GitHub says it; git shows the words of a plain text as the remote's.
fn denied(key: &str, login: &str) -> Response<Body> {
    let words = format!("Permission to {key} denied to {login}.\n");
    let mut response = Response::new(Body::from(words));
    *response.status_mut() = StatusCode::FORBIDDEN;
    let kind = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn ask_for_token() -> Response<Body> {
    let mut response = plain(StatusCode::UNAUTHORIZED);
    let realm = HeaderValue::from_static("Basic realm=\"GitHub\"");
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, realm);
    response
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server's own git, not one of ours"
)]
fn backend(
    path: &std::path::Path,
    target: &Target,
    incoming: &Incoming,
    login: &str,
) -> std::io::Result<Response<Body>> {
    let text = |name: &str| {
        incoming
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", path)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env_remove("GIT_CONFIG_COUNT")
        .env_remove("GIT_CONFIG_PARAMETERS")
        .env("PATH_INFO", target.service)
        .env("REQUEST_METHOD", incoming.method.as_str())
        .env("QUERY_STRING", &incoming.query)
        .env("CONTENT_TYPE", text("content-type"))
        .env("CONTENT_LENGTH", incoming.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", text("content-encoding"))
        .env("GIT_PROTOCOL", text("git-protocol"))
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if !login.is_empty() {
        command.env("REMOTE_USER", login);
    }
    // A caller's own repository must not reach into the server's.
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
    ] {
        command.env_remove(name);
    }
    let mut child = command.spawn()?;
    let input = child.stdin.take();
    let body = incoming.body.clone();
    // Written beside the reading: each side's pipe may be full while the other is waited for.
    let writer = std::thread::spawn(move || {
        if let Some(mut input) = input {
            // A backend that has heard enough closes the pipe.
            drop(input.write_all(&body));
        }
    });
    let output = child.wait_with_output()?;
    drop(writer.join());
    Ok(from_cgi(&output.stdout))
}

/// A CGI answer as an HTTP one.
fn from_cgi(output: &[u8]) -> Response<Body> {
    let split = output.windows(4).position(|four| four == b"\r\n\r\n");
    let (head, body) = match split {
        Some(at) => (&output[..at], &output[at + 4..]),
        None => return plain(StatusCode::INTERNAL_SERVER_ERROR),
    };
    let mut response = Response::new(Body::from(body.to_vec()));
    for line in String::from_utf8_lossy(head).lines() {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().and_then(|code| code.parse().ok());
            *response.status_mut() = code
                .and_then(|code| StatusCode::from_u16(code).ok())
                .unwrap_or(StatusCode::OK);
        } else if let (Ok(name), Ok(value)) =
            (HeaderName::try_from(name), HeaderValue::from_str(value))
        {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
