//! The real program in an empty environment: exit status, standard output and standard error.
//!
//! What differs from run to run (folders, ports, times, commits) is replaced by a word in brackets.

mod claims;
mod configuration;
mod issues;
mod mutex;
mod outside;
mod skills;
mod unit;
mod usage;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use regex::Regex;
use serde_json::Value;

/// A user's machine: a home of their own, and nothing else in the environment.
struct Machine {
    home: tempfile::TempDir,
    env: Vec<(String, String)>,
    /// The working directory; `None`: the test's.
    dir: Option<PathBuf>,
    names: Vec<(String, &'static str)>,
}

impl Machine {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let names = vec![(home.path().display().to_string(), "[HOME]")];
        Self {
            home,
            env: Vec::new(),
            dir: None,
            names,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn set(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "it starts the program as a user does"
    )]
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("ghswarm"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            .envs(self.env.iter().cloned())
            .stdin(Stdio::null());
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command
    }

    /// Everything that a person sees of a command, as one text.
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let mut page = format!("$ ghswarm {}\n", arguments.join(" "));
        page += &text(&output.stdout);
        let errors = text(&output.stderr);
        if !errors.is_empty() {
            page += "--- stderr\n";
            page += &errors;
        }
        page += "--- exit status ";
        page += &output.status.code().unwrap_or(-1).to_string();
        self.anonymous(&page)
    }

    fn anonymous(&self, page: &str) -> String {
        let mut page = page.to_owned();
        for (value, name) in &self.names {
            page = page.replace(value, name);
        }
        let patterns = [
            (r"127\.0\.0\.1:\d+", "127.0.0.1:[PORT]"),
            (r"\b\d\d:\d\d:\d\d\b", "[TIME]"),
            (r"\b\d{4}-\d\d-\d\d\b", "[DATE]"),
            (r"\b\d{10}-(\d+-[a-z]+)\b", "[EPOCH]-$1"),
            (r"\b(at|commit) [0-9a-f]{7}\b", "$1 [SHA]"),
            (r"\d+\.\d GiB free", "[SIZE] GiB free"),
            (r" after \d+s\b", " after [SECS]s"),
            (r"os error \d+", "os error [N]"),
            (r"(git +)\d+\.\d+\.\d+\S*", "$1[VERSION]"),
        ];
        let replace = |page: String, (pattern, with): (&str, &str)| {
            let pattern = Regex::new(pattern).unwrap();
            pattern.replace_all(&page, with).into_owned()
        };
        patterns.into_iter().fold(page, replace)
    }
}

/// A simulated GitHub in a process of its own, and a machine that is set up for it.
pub(crate) struct Served {
    machine: Machine,
    server: Child,
    pub(crate) ready: Value,
}

/// Tries of a command that ends where it has to wait for a person.
const RUNS_MAX: u32 = 500;

impl Served {
    pub(crate) fn new() -> Self {
        let mut machine = Machine::new();
        let mut server = machine
            .command(&["demo", "--serve", "--json", "--managed"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let dir = ready["dir"].as_str().unwrap().to_owned();
        machine.set("GITHUB_TOKEN", ready["token"].as_str().unwrap());
        machine.set("GHSWARM_HOME", &format!("{dir}/home"));
        machine.set("GHSWARM_CONFIG", ready["config"].as_str().unwrap());
        machine.names.insert(0, (dir, "[DEMO]"));
        Self {
            machine,
            server,
            ready,
        }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        self.machine.run(arguments)
    }

    /// Runs the issue to its end. `--wait` ends where only a person can go on, and the reviewer may be
    /// slower than CI.
    pub(crate) fn run_to_done(&self) {
        for _ in 0..RUNS_MAX {
            let run = self.run(&["run", "1", "--wait"]);
            if run.ends_with("#1 done\n--- exit status 0") {
                return;
            }
            assert!(run.contains("approv"), "{run}");
        }
        panic!("no approval came:\n{}", self.run(&["explain", "1"]));
    }

    fn dir(&self) -> &Path {
        Path::new(self.ready["dir"].as_str().unwrap())
    }

    /// Changes the configuration that the demo wrote.
    pub(crate) fn configure(&self, from: &str, to: &str) {
        let path = self.ready["config"].as_str().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }

    /// The implementing agent becomes this script.
    fn agent(&self, script: &str) {
        std::fs::write(self.agent_file(), script).unwrap();
    }

    fn agent_file(&self) -> PathBuf {
        self.dir().join("bin/demo-agent")
    }

    /// The operator's own request to GitHub.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let url = self.ready["url"].as_str().unwrap();
        let host = url.strip_prefix("http://").unwrap();
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream = TcpStream::connect(host).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nuser-agent: test\r\nauthorization: bearer {}\r\n\
             accept: application/json\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            self.ready["token"].as_str().unwrap(),
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 2"), "{answer}");
        serde_json::from_str(text).unwrap_or(Value::Null)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", &format!("/repos/demo/greeter/{path}"), body)
    }

    /// All comments of issue 1, newest last.
    fn comments(&self) -> Vec<String> {
        let path = "/repos/demo/greeter/issues/1/comments?per_page=100";
        let list = self.ask("GET", path, &Value::Null);
        let list = list.as_array().cloned().unwrap_or_default();
        list.iter()
            .map(|comment| comment["body"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        let _ = self.server.wait();
    }
}
