//! A stand-in for the HTTP API of the model that Claude Code speaks to, on loopback: it streams what the API
//! streams, asks for real tools, and answers as the API does at its limits.
//!
//! The path before `/v1/messages` says what is wanted: `/work` makes a file and commits it, `/look` only
//! says that all is well, `/limit` is at the account's limit, `/full` is overloaded.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// Seconds until the limit is over.
pub const LIMIT_FOR: i64 = 4242;

/// The server; it goes with the test's process.
pub struct ModelApi {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ModelApi {
    /// Serves; files are made in `worktree`.
    pub fn new(worktree: PathBuf) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, worktree) = (Arc::clone(&seen), worktree.clone());
                std::thread::spawn(move || {
                    // A client that goes away is no matter.
                    let _ = answer(&stream, &seen, &worktree);
                });
            }
        });
        Self { address, asked }
    }

    /// `ANTHROPIC_BASE_URL` for this behaviour.
    pub fn url(&self, behaviour: &str) -> String {
        format!("{}/{behaviour}", self.address)
    }

    /// How often this behaviour was asked for.
    pub fn asked(&self, behaviour: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|one| *one == behaviour).count()
    }
}

fn answer(
    stream: &TcpStream,
    seen: &Mutex<Vec<String>>,
    worktree: &std::path::Path,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line
        .split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let header = line.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let behaviour = path.split('/').nth(1).unwrap_or_default().to_owned();
    let reply = if path.contains("/v1/messages") && !path.contains("count_tokens") {
        seen.lock().unwrap().push(behaviour.clone());
        reply(&behaviour, &request, worktree)
    } else {
        plain(404, "", &error("not_found_error", "no such thing here"))
    };
    let mut stream = stream;
    stream.write_all(reply.as_bytes())?;
    stream.flush()
}

fn reply(behaviour: &str, request: &Value, worktree: &std::path::Path) -> String {
    match behaviour {
        "limit" => {
            let now = chrono::Utc::now().timestamp();
            let headers = format!(
                "retry-after: {LIMIT_FOR}\r\nanthropic-ratelimit-unified-status: rejected\r\n\
                 anthropic-ratelimit-unified-reset: {}\r\n\
                 anthropic-ratelimit-unified-representative-claim: five_hour\r\n\
                 x-should-retry: false\r\n",
                now + LIMIT_FOR
            );
            let words = "This request would exceed your account's rate limit.";
            plain(429, &headers, &error("rate_limit_error", words))
        }
        "full" => plain(529, "", &error("overloaded_error", "Overloaded")),
        "work" => stream_of(request, &next_work(request, worktree)),
        _ => stream_of(request, &[text("The change does what is asked for.")]),
    }
}

fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
}

fn plain(status: u16, headers: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status} x\r\n{headers}content-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    )
}

fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

fn tool(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// A file with the tool for files, then a commit with the shell, then the last words.
fn next_work(request: &Value, worktree: &std::path::Path) -> Vec<Value> {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let contents = messages.iter().filter_map(|one| one["content"].as_array());
    let results = contents
        .flatten()
        .filter(|one| one["type"] == "tool_result");
    match results.count() {
        0 => {
            let file = worktree.join("hello.txt");
            let input = json!({"file_path": file, "content": "hello\n"});
            vec![
                text("I make the file first."),
                tool("toolu_1", "Write", &input),
            ]
        }
        1 => {
            let command = "git add -A && git commit -q -m 'Add hello.txt'";
            let input = json!({"command": command, "description": "Commit"});
            vec![tool("toolu_2", "Bash", &input)]
        }
        _ => vec![text("Done: `hello.txt` is there and committed.")],
    }
}

/// The events of a message, as the API streams them.
fn stream_of(request: &Value, blocks: &[Value]) -> String {
    let tools = blocks.iter().any(|one| one["type"] == "tool_use");
    let stop = if tools { "tool_use" } else { "end_turn" };
    let id = format!("msg_{:016x}", rand::random::<u64>());
    let mut events = vec![json!({"type": "message_start", "message": {
        "id": id, "type": "message", "role": "assistant", "model": request["model"],
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 1200, "cache_creation_input_tokens": 300,
            "cache_read_input_tokens": 9000, "output_tokens": 1},
    }})];
    for (index, block) in blocks.iter().enumerate() {
        let (begun, delta) = if block["type"] == "text" {
            let delta = json!({"type": "text_delta", "text": block["text"]});
            (text(""), delta)
        } else {
            let delta =
                json!({"type": "input_json_delta", "partial_json": block["input"].to_string()});
            let mut begun = block.clone();
            begun["input"] = json!({});
            (begun, delta)
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    let usage = json!({"output_tokens": 150});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    let mut reply =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            .to_owned();
    for event in events {
        let kind = event["type"].as_str().unwrap_or_default();
        let _ = write!(reply, "event: {kind}\ndata: {event}\n\n");
    }
    reply
}
