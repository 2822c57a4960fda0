//! A request as the handlers see it, and the reply they give. Knows tokens, paths, queries and
//! pages; nothing of what is asked.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use serde_json::{Value, json};

use super::super::Sim;
use super::super::error::{SimError, SimResult};
use super::super::faults::Op;
use super::super::world::{Ctx, World};
use super::routes::{Handler, Route, find};
use super::{Incoming, graphql, graphql_writes};
use crate::model::ids::Timestamp;
use crate::ports::Refusal;

/// What is asked, as its handler sees it.
pub(crate) struct Call {
    pub(crate) login: String,
    /// Key of the repository, where the path names one.
    pub(crate) key: String,
    pub(crate) now: Timestamp,
    /// The variable parts of the path, decoded, in order.
    pub(crate) parts: Vec<String>,
    query: Vec<(String, String)>,
    pub(crate) body: Value,
    /// Where the API lives: the front of every address in the answer.
    pub(crate) api: String,
    path: String,
    page_max: usize,
    asked: What,
}

enum What {
    Rest(&'static Route),
    Graphql(String),
}

/// An answer before it has headers.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) etag: Option<String>,
}

impl Reply {
    pub(crate) fn new(status: u16, body: Value) -> Self {
        Self {
            status,
            body,
            headers: Vec::new(),
            etag: None,
        }
    }

    /// A refusal in GitHub's shape.
    pub(crate) fn error(error: &SimError) -> Self {
        let mut body = json!({
            "message": error.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": error.status.to_string(),
        });
        if let Some(detail) = &error.detail {
            let mut entry = json!({ "resource": detail.resource, "code": detail.code });
            if let Some(field) = detail.field {
                entry["field"] = json!(field);
            }
            if let Some(message) = &detail.message {
                entry["message"] = json!(message);
            }
            body["errors"] = json!([entry]);
        }
        Self::new(error.status, body)
    }

    pub(crate) fn text(&self) -> String {
        self.body.to_string()
    }

    /// Is one of the tags that the client holds ours? Weak comparison, as for any 304.
    pub(crate) fn has_etag(&self, held: &HeaderValue) -> bool {
        let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        let ours = self.etag.as_deref().map(bare);
        held.to_str()
            .is_ok_and(|held| held.split(',').any(|tag| Some(bare(tag)) == ours))
    }
}

impl Call {
    /// Reads a request; refuses a wrong token and a path that nothing is at.
    pub(super) fn read(sim: &Sim, incoming: &Incoming) -> SimResult<Self> {
        let login = login_of(sim, &incoming.headers)?;
        let (front, path) = match incoming.path.strip_prefix("/api/v3") {
            Some(rest) => ("/api/v3", rest.to_owned()),
            None => ("", incoming.path.clone()),
        };
        let body = if incoming.body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&incoming.body)
                .map_err(|_| SimError::new(400, Refusal::Invalid, "Problems parsing JSON"))?
        };
        let host = incoming
            .headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let (asked, parts) = if matches!(path.as_str(), "/graphql" | "/api/graphql") {
            if login.is_none() {
                let words = "This endpoint requires you to be authenticated.";
                return Err(SimError::new(401, Refusal::Unauthorised, words));
            }
            (What::Graphql(operation(&body).to_owned()), Vec::new())
        } else {
            let (route, parts) = find(incoming.method.as_str(), &path)?;
            if login.is_none() && (route.op.is_write() || route.template == "/user") {
                return Err(SimError::new(
                    401,
                    Refusal::Unauthorised,
                    "Requires authentication",
                ));
            }
            (What::Rest(route), parts)
        };
        let key = match parts.as_slice() {
            [owner, name, ..] => format!("{owner}/{name}").to_lowercase(),
            _ => String::new(),
        };
        Ok(Self {
            login: login.unwrap_or_default(),
            key,
            now: sim.clock.now(),
            parts,
            query: parse_query(&incoming.query),
            body,
            api: format!("http://{}{front}", host.unwrap_or("localhost")),
            path,
            page_max: sim.page_max(),
            asked,
        })
    }

    pub(super) fn op(&self) -> Op {
        match &self.asked {
            What::Rest(route) => route.op,
            What::Graphql(name) => graphql::op_of(name),
        }
    }

    /// The path's template, or the operation: what the record of requests says.
    pub(super) fn name(&self) -> String {
        match &self.asked {
            What::Rest(route) => route.template.to_owned(),
            What::Graphql(name) => format!("graphql:{name}"),
        }
    }

    pub(super) fn handle(&self, sim: &Sim, stale: bool) -> Reply {
        let look = |world: &World| match &self.asked {
            What::Rest(Route {
                handler: Handler::Read(read),
                ..
            }) => read(world, self),
            What::Rest(_) => Err(SimError::not_found()),
            What::Graphql(name) => Ok(graphql::answer(world, self, name)),
        };
        if let Some(reply) = self.redirect(sim) {
            return reply;
        }
        let done = match &self.asked {
            What::Rest(Route {
                handler: Handler::Write(write),
                ..
            }) => sim.write(|world, _| write(world, self)),
            What::Graphql(name) if graphql::op_of(name).is_write() => {
                sim.write(|world, _| Ok(graphql_writes::answer(world, self, name)))
            }
            What::Rest(_) | What::Graphql(_) if stale => sim.read_stale(look),
            What::Rest(_) | What::Graphql(_) => sim.read(look),
        };
        done.unwrap_or_else(|error| Reply::error(&error))
    }

    /// REST redirects a former name; GraphQL and git just follow it.
    fn redirect(&self, sim: &Sim) -> Option<Reply> {
        let What::Rest(route) = &self.asked else {
            return None;
        };
        let now = sim.read(|world| {
            let now = world.key_now(&self.key);
            Ok((now != self.key).then(|| world.repo(now).map(|repo| repo.slug.to_string())))
        });
        let slug = now.ok()??.ok()?;
        let rest = self
            .path
            .splitn(5, '/')
            .nth(4)
            .map(|rest| format!("/{rest}"));
        let query: Vec<String> = self
            .query
            .iter()
            .map(|(name, value)| format!("{name}={}", encode(value)))
            .collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let rest = rest.unwrap_or_default();
        let to = format!("{}/repos/{slug}{rest}{mark}{}", self.api, query.join("&"));
        let status = if route.op.is_write() { 307 } else { 301 };
        let words = json!({ "message": "Moved Permanently", "url": to });
        let mut reply = Reply::new(status, words);
        reply.headers.push(("location", to));
        Some(reply)
    }

    pub(crate) fn ctx(&self) -> Ctx<'_> {
        Ctx {
            key: &self.key,
            login: &self.login,
            now: self.now,
        }
    }

    /// A number in the path.
    pub(crate) fn number(&self, part: usize) -> SimResult<u64> {
        self.part(part).parse().map_err(|_| SimError::not_found())
    }

    pub(crate) fn part(&self, part: usize) -> &str {
        self.parts.get(part).map_or("", String::as_str)
    }

    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// A text of the body.
    pub(crate) fn text(&self, field: &str) -> Option<String> {
        self.body
            .get(field)
            .and_then(Value::as_str)
            .map(ToOwned::to_owned)
    }

    /// A list of texts of the body; labels may also be objects with a name.
    pub(crate) fn texts(&self, field: &str) -> Option<Vec<String>> {
        let list = self.body.get(field)?.as_array()?;
        let text = |value: &Value| {
            value
                .as_str()
                .or_else(|| value.get("name")?.as_str())
                .map(ToOwned::to_owned)
        };
        Some(list.iter().filter_map(text).collect())
    }

    pub(crate) fn page_max(&self) -> usize {
        self.page_max
    }

    /// The page that is asked for, with links to its neighbours.
    pub(crate) fn page(&self, items: &[Value]) -> Reply {
        let number = |name, rest| {
            self.param(name)
                .and_then(|n| n.parse().ok())
                .unwrap_or(rest)
        };
        let size = number("per_page", 30_usize)
            .clamp(1, 100)
            .min(self.page_max);
        let page = number("page", 1_usize).max(1);
        let last = items.len().div_ceil(size).max(1);
        let shown: Vec<Value> = items
            .iter()
            .skip((page - 1) * size)
            .take(size)
            .cloned()
            .collect();
        let mut reply = Reply::new(200, Value::Array(shown));
        let link = |to: usize, rel: &str| {
            let mut query: Vec<String> = self
                .query
                .iter()
                .filter(|(name, _)| name != "page")
                .map(|(name, value)| format!("{name}={}", encode(value)))
                .collect();
            query.push(format!("page={to}"));
            format!(
                "<{}{}?{}>; rel=\"{rel}\"",
                self.api,
                self.path,
                query.join("&")
            )
        };
        let mut links = Vec::new();
        if page > 1 {
            links.push(link(page - 1, "prev"));
        }
        if page < last {
            links.push(link(page + 1, "next"));
            links.push(link(last, "last"));
        }
        if page > 1 {
            links.push(link(1, "first"));
        }
        if !links.is_empty() {
            reply.headers.push(("link", links.join(", ")));
        }
        reply
    }
}

/// The operation that is meant. A document with one alone need not be told which.
fn operation(body: &Value) -> &str {
    let text = |name| body.get(name).and_then(Value::as_str);
    text("operationName").unwrap_or_else(|| {
        let document = text("query").unwrap_or_default().trim_start();
        let rest = document.strip_prefix("query ").unwrap_or_default();
        rest.split(['(', '{', ' ']).next().unwrap_or_default()
    })
}

/// Whose token it is; `None` without one.
pub(super) fn login_of(sim: &Sim, headers: &HeaderMap) -> SimResult<Option<String>> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let (scheme, rest) = text.split_once(' ').unwrap_or(("", text));
    let token = if scheme.eq_ignore_ascii_case("basic") {
        let decoded = base64::engine::general_purpose::STANDARD
            .decode(rest)
            .unwrap_or_default();
        let pair = String::from_utf8_lossy(&decoded).into_owned();
        let (user, password) = pair.split_once(':').unwrap_or(("", &pair));
        // The token may stand in either place.
        if password.is_empty() || password == "x-oauth-basic" {
            user
        } else {
            password
        }
        .to_owned()
    } else {
        rest.to_owned()
    };
    let bad = || SimError::new(401, Refusal::Unauthorised, "Bad credentials");
    sim.login_of(&token).map(Some).ok_or_else(bad)
}

pub(super) fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let (b'%', Some(byte)) = (first, byte) {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(super) fn encode(text: &str) -> String {
    let part = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(part).collect::<Vec<_>>().concat()
}

fn parse_query(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (
                decode(&name.replace('+', " ")),
                decode(&value.replace('+', " ")),
            )
        })
        .collect()
}
