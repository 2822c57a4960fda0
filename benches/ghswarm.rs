//! Benchmarks: reading and rewriting a body, a decision, cycles over a thousand issues in the simulated
//! world, and the program's whole processes: start, mutex. Nothing here asserts a time.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    dead_code,
    unused_imports,
    clippy::print_stdout,
    reason = "a benchmark stops where it meets what it did not expect, and borrows the tests' world"
)]

#[path = "../tests/it/world/mod.rs"]
mod world;

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use ghswarm::decide::{Order, decide};
use ghswarm::model::body::{BodyChange, parse, rewrite};
use ghswarm::model::ids::IssueNumber;
use ghswarm::model::secrets::Secrets;
use ghswarm::model::state::IssueState;

use world::{World, body};

/// As many issues as the listing of a large repository has.
const ISSUES: u64 = 1000;

/// Enough that the median of whole processes stands still.
const ROUNDS: usize = 501;

fn bodies(c: &mut Criterion) {
    let prose =
        "A paragraph with `code`, *words* and a [link](https://example.com).\n\n".repeat(300);
    let text = format!(
        "{}\n{prose}\n- [ ] the last task\n",
        body(&["first", "second"])
    );
    c.bench_function("body: parse 20 KB", |b| b.iter(|| parse(black_box(&text))));
    let state = IssueState {
        rev: 7,
        ..IssueState::default()
    };
    let tick = ["first".to_owned()];
    let change = BodyChange {
        state: Some(&state),
        pr_url: None,
        tick: &tick,
    };
    c.bench_function("body: rewrite 20 KB", |b| {
        b.iter(|| rewrite(black_box(&text), &change).unwrap());
    });
}

fn decisions(c: &mut Criterion) {
    let world = World::new();
    let issue = world.opens_issue("Do it");
    let engine = world.a().engine();
    let explained = world
        .wait(engine.explain(IssueNumber(issue), &Order::default()))
        .unwrap();
    let seen = explained.seen;
    c.bench_function("decide: a free issue", |b| {
        b.iter(|| decide(black_box(&seen), &engine.policy, seen.look.at));
    });
}

fn cycles(c: &mut Criterion) {
    let world = World::new();
    for number in 0..ISSUES {
        let issue = world.opens_issue(&format!("task {number}"));
        world.labels("ann", issue, "do-not-dispatch");
    }
    let host = world.a();
    let mut group = c.benchmark_group("cycle: 1000 issues on hold");
    group.sample_size(10);
    group.bench_function("first look at each", |b| {
        b.iter(|| {
            host.restart();
            host.home.memory().clear();
            world.cycle(&host)
        });
    });
    group.bench_function("nothing changed", |b| b.iter(|| world.cycle(&host)));
    group.finish();
}

fn start_up(c: &mut Criterion) {
    let program = env!("CARGO_BIN_EXE_ghswarm");
    c.bench_function("start-up: ghswarm --version", |b| {
        b.iter(|| Command::new(program).arg("--version").output().unwrap());
    });
    c.bench_function("start-up: true", |b| {
        b.iter(|| Command::new("true").output().unwrap());
    });
}

/// What Claude Code waits for before every edit, against the least a process costs.
fn claude_hook(c: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let git_dir = dir.path().join(".git");
    std::fs::create_dir(&git_dir).unwrap();
    std::fs::write(git_dir.join("HEAD"), "ref: refs/heads/issue-7\n").unwrap();
    let now = chrono::Utc::now().timestamp_millis();
    let note = format!(r#"{{"issue":7,"owner":"bench","ttlMin":1440,"at":{now}}}"#);
    std::fs::write(git_dir.join("gh-issue-lease-hold.json"), note).unwrap();
    let event = serde_json::json!({ "hook_event_name": "PreToolUse", "cwd": dir.path() });
    let input = dir.path().join("event.json");
    std::fs::write(&input, event.to_string()).unwrap();
    let mut group = c.benchmark_group("processes/claude-hook");
    group.bench_function("allow an edit", |b| {
        b.iter(|| {
            let done = Command::new(env!("CARGO_BIN_EXE_ghswarm"))
                .args(["lease", "claude-hook", "--block"])
                .env("AGENT_ID", "bench")
                .stdin(std::fs::File::open(&input).unwrap())
                .output()
                .unwrap();
            assert!(done.status.success() && done.stdout.is_empty());
        });
    });
    group.bench_function("/bin/true", |b| {
        b.iter(|| {
            let stdin = std::fs::File::open(&input).unwrap();
            Command::new("/bin/true").stdin(stdin).output().unwrap()
        });
    });
    group.finish();
}

/// What goes into a log is searched for secrets as it comes, with a dozen values and all shapes.
fn logs(c: &mut Criterion) {
    let values = (0..12).map(|n| format!("secret-value-number-{n}-abcdef"));
    let secrets = Secrets::new(values);
    let line = "compiling widget v0.1.0 (https://example.com/crates/widget), task-list done\n";
    let piece = line.repeat(64 * 1024 / line.len());
    let token = format!("ghp_{} {piece}", "a1B2".repeat(9));
    let mut group = c.benchmark_group("logs");
    group.bench_function("64 KiB without a secret", |b| {
        b.iter(|| secrets.redact_bytes(black_box(piece.as_bytes())));
    });
    group.bench_function("64 KiB with a token", |b| {
        b.iter(|| secrets.redact_bytes(black_box(token.as_bytes())));
    });
    group.finish();
}

/// A mutex stands in front of short commands: it is to cost at most 1.5 times what `flock` does.
fn processes(c: &mut Criterion) {
    let locks = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_ghswarm");
    let run = |mut command: Command| {
        move || assert!(command.stderr(Stdio::null()).status().unwrap().success())
    };
    let mutex = || {
        let mut mutex = Command::new(program);
        mutex
            .args(["mutex", "bench", "--lock-dir"])
            .arg(locks.path());
        mutex.args(["--", "true"]);
        run(mutex)
    };
    let flock = || {
        let mut flock = Command::new("flock");
        flock
            .args(["-o", "-x"])
            .arg(locks.path().join("flock.lock"));
        flock.arg("true");
        run(flock)
    };
    let mut group = c.benchmark_group("processes");
    group.bench_function("ghswarm mutex bench -- true", |b| b.iter(mutex()));
    group.bench_function("flock -o -x FILE true", |b| b.iter(flock()));
    group.bench_function("true", |b| b.iter(run(Command::new("true"))));
    group.finish();
    let (mutex, flock) = (in_turns(mutex(), flock()), "flock -o -x FILE true");
    println!("ghswarm mutex bench -- true: {mutex:.2} times {flock}");
}

/// How many times as long as the other one takes, the medians of many runs in turns, so that a busy
/// machine slows down both.
fn in_turns(mut one: impl FnMut(), mut other: impl FnMut()) -> f64 {
    let clock = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    let mut times: [Vec<Duration>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(clock(&mut one));
        times[1].push(clock(&mut other));
    }
    let [one, other] = times.map(|mut times| {
        times.sort_unstable();
        times[ROUNDS / 2].as_secs_f64()
    });
    one / other
}

criterion_group!(
    benches,
    bodies,
    decisions,
    cycles,
    start_up,
    logs,
    processes,
    claude_hook
);
criterion_main!(benches);
