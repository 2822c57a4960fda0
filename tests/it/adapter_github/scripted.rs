//! A server on loopback that answers each request with the next line of a script, cuts connections
//! where the script says so, and keeps what it was asked. It knows nothing of GitHub.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ghswarm::model::ids::Timestamp;
use ghswarm::ports::clock::Clock;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One line of the script.
pub(crate) enum Reply {
    /// Status, headers besides the usual ones, body.
    Http(u16, Vec<(String, String)>, String),
    /// Reads the request, then closes.
    Cut,
    /// Answers 200 with a body that ends early.
    Short(String),
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        self.headers
            .iter()
            .filter(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
            .collect()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

#[derive(Default)]
struct Script {
    replies: VecDeque<Reply>,
    asked: Vec<Asked>,
}

/// The server.
pub(crate) struct Scripted {
    pub url: String,
    script: Arc<Mutex<Script>>,
}

impl Scripted {
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(Script {
            replies: replies.into(),
            asked: Vec::new(),
        }));
        let shared = Arc::clone(&script);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { url, script }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.script.lock().unwrap().asked.clone()
    }

    pub(crate) fn then(&self, replies: Vec<Reply>) {
        self.script.lock().unwrap().replies.extend(replies);
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Mutex<Script>>) {
    let Some(asked) = read_request(&mut stream).await else {
        return;
    };
    let reply = {
        let mut script = script.lock().unwrap();
        script.asked.push(asked);
        script.replies.pop_front()
    };
    let text = match reply {
        None => "HTTP/1.1 418 off script\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".into(),
        Some(Reply::Cut) => return,
        Some(Reply::Short(body)) => {
            format!(
                "HTTP/1.1 200 OK\r\ndate: Mon, 30 Nov 2026 12:00:00 GMT\r\n\
                 content-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len() + 50
            )
        }
        Some(Reply::Http(status, headers, body)) => {
            let headers: Vec<String> = headers
                .iter()
                .map(|(name, value)| format!("{name}: {value}\r\n"))
                .collect();
            let headers = headers.concat();
            format!(
                "HTTP/1.1 {status} said\r\ndate: Mon, 30 Nov 2026 12:00:00 GMT\r\n{headers}\
                 content-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            )
        }
    };
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lines = head.lines();
            let mut first = lines.next()?.split(' ');
            let headers: Vec<(String, String)> = lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
                .collect();
            let length = headers
                .iter()
                .find(|(name, _)| name == "content-length")
                .and_then(|(_, value)| value.parse::<usize>().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return Some(Asked {
                    method: first.next()?.to_owned(),
                    path: first.next()?.to_owned(),
                    headers,
                    body: body.to_owned(),
                });
            }
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

/// Time that moves only when somebody waits for it.
#[derive(Default)]
pub(crate) struct TestClock {
    slept: Mutex<Vec<Duration>>,
}

impl TestClock {
    pub(crate) fn slept(&self) -> Vec<Duration> {
        self.slept.lock().unwrap().clone()
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.slept.lock().unwrap().push(time);
    }
}

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        // An hour off GitHub's clock: nothing may depend on this one.
        let start: Timestamp = "2026-11-30T13:00:00Z".parse().unwrap();
        start + self.boot_time()
    }

    fn boot_time(&self) -> Duration {
        self.slept.lock().unwrap().iter().sum()
    }

    async fn sleep(&self, time: Duration) {
        self.pass(time);
    }
}
