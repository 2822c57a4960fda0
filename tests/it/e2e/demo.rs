//! `ghswarm demo`, as people type it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::cycled::ended;

/// Runs the demo in an empty environment; answers its exit status and its line of JSON.
fn demo(words: &[&str], tmp: &Path) -> (Option<i32>, serde_json::Value) {
    let child = Command::new(env!("CARGO_BIN_EXE_ghswarm"))
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", tmp)
        .env("TMPDIR", tmp)
        .args(["demo", "--json"])
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = ended(child);
    let text = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.lines().count(), 1, "{text}\n{said}");
    println!("{said}{text}");
    (output.status.code(), serde_json::from_str(&text).unwrap())
}

#[test]
fn the_demo_ends_done() {
    let tmp = tempfile::tempdir().unwrap();
    let (status, line) = demo(&[], tmp.path());
    assert_eq!(status, Some(0));
    assert_eq!(line["outcome"], "done");
    assert_eq!(line["phase"], "done");
    assert_eq!(line["pr_merged"], true);
    assert_eq!(line["post_merge_checks"], "success");
    assert_eq!(line["agent_runs"], 3, "one try failed its verify step");
    assert!(line["comments"].as_u64().unwrap() <= 2, "{line}");
    let phases = line["api_requests_by_phase"].as_array().unwrap();
    let names: Vec<&str> = phases
        .iter()
        .filter_map(|one| one["phase"].as_str())
        .collect();
    let expected = [
        "start",
        "implement",
        "ai_review",
        "create_pr",
        "wait_ci",
        "verify_merge",
        "done",
    ];
    assert_eq!(names, expected, "{line}");
    let sum: u64 = phases
        .iter()
        .filter_map(|one| one["requests"].as_u64())
        .sum();
    assert_eq!(Some(sum), line["api_requests"].as_u64(), "{line}");
    // How often the checks are waited for hangs on the machine: 13 and 7 at the least, so 50 in all.
    let waits = |one: &&serde_json::Value| {
        ["wait_ci", "verify_merge"].contains(&one["phase"].as_str().unwrap())
    };
    let waiting: u64 = phases
        .iter()
        .filter(waits)
        .filter_map(|one| one["requests"].as_u64())
        .sum();
    assert_eq!(sum - waiting, 30, "{line}");
    let left = fs::read_dir(tmp.path()).unwrap().count();
    assert_eq!(left, 0, "without --keep its folder goes");
}

#[test]
fn the_demo_carries_an_own_issue_through_a_copy_of_an_own_clone() {
    let tmp = tempfile::tempdir().unwrap();
    let clone = tmp.path().join("mine");
    small_repository(&clone);
    let before = git_says(&clone, &["for-each-ref"]);
    let issue = tmp.path().join("issue.md");
    fs::write(
        &issue,
        "Add a licence\n<!-- GHSWARM_VERIFY_START\nverify: test -s LICENCE\nGHSWARM_VERIFY_END -->\n\
         - [ ] a file LICENCE\n",
    )
    .unwrap();
    let (status, line) = demo(
        &[
            "--repo",
            &clone.display().to_string(),
            "--issue",
            &issue.display().to_string(),
            "--agent",
            "echo free > LICENCE; echo asked with",
            "--review",
            "true",
            "--keep",
        ],
        tmp.path(),
    );
    assert_eq!((status, &line["outcome"]), (Some(0), &"done".into()));
    assert_eq!(line["pr_merged"], true);
    assert_eq!(line["post_merge_checks"], "success");
    assert_eq!(line["agent_runs"], 2);
    assert!(
        Path::new(line["home"].as_str().unwrap())
            .join("issue.md")
            .exists()
    );
    let after = git_says(&clone, &["for-each-ref"]);
    assert_eq!(before, after, "the user's clone is only copied");
}

fn small_repository(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::write(path.join("README.md"), "# mine\n").unwrap();
    git_says(path, &["init", "-q", "-b", "trunk"]);
    git_says(path, &["add", "-A"]);
    let who = ["-c", "user.name=me", "-c", "user.email=me@example.com"];
    git_says(path, &[&who[..], &["commit", "-q", "-m", "Begin"]].concat());
}

fn git_says(path: &Path, words: &[&str]) -> String {
    let done = Command::new("git")
        .arg("-C")
        .arg(path)
        .args(words)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// Starts a demo whose agent works for minutes, and waits until it does. What is its user's own is in `own`.
fn demo_at_work(tmp: &Path, own: &Path) -> std::process::Child {
    let (clone, issue) = (own.join("mine"), own.join("issue.md"));
    small_repository(&clone);
    let text = "Add a licence\n<!-- GHSWARM_VERIFY_START\nverify: 'true'\nGHSWARM_VERIFY_END -->\n- [ ] it\n";
    fs::write(&issue, text).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_ghswarm"))
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", tmp)
        .env("TMPDIR", tmp)
        .args(["demo", "--agent", "touch started; sleep 600; echo"])
        .args(["--review", "true"])
        .arg("--repo")
        .arg(&clone)
        .arg("--issue")
        .arg(&issue)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = || {
        let found = Command::new("find")
            .arg(tmp)
            .args(["-name", "started"])
            .output();
        !found.unwrap().stdout.is_empty()
    };
    assert!(happens(started), "the agent was not started");
    child
}

/// Waits for a fact, with a limit.
fn happens(fact: impl Fn() -> bool) -> bool {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !fact() {
        if std::time::Instant::now() > until {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    true
}

/// Processes that were started with this folder in their command or their environment.
fn processes_of(tmp: &Path) -> usize {
    let folder = tmp.display().to_string();
    let mentions = |path: std::path::PathBuf| {
        let bytes = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(&folder)
    };
    let Ok(entries) = fs::read_dir("/proc") else {
        return 0;
    };
    let processes = entries.filter_map(Result::ok).map(|entry| entry.path());
    processes
        .filter(|path| {
            path.file_name()
                .is_some_and(|n| n.to_string_lossy().parse::<u32>().is_ok())
        })
        .filter(|path| mentions(path.join("environ")) || mentions(path.join("cmdline")))
        .count()
}

#[test]
fn a_demo_that_is_ended_takes_its_runs_its_server_and_its_folder_along() {
    for signal in ["-TERM", "-INT", "-KILL"] {
        let tmp = tempfile::tempdir().unwrap();
        let own = tempfile::tempdir().unwrap();
        let mut child = demo_at_work(tmp.path(), own.path());
        let id = child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        child.wait().unwrap();
        let empty = || fs::read_dir(tmp.path()).unwrap().count() == 0;
        assert!(happens(empty), "{signal}: the folder is still there");
        assert!(
            happens(|| processes_of(tmp.path()) == 0),
            "{signal}: something still runs"
        );
    }
}

#[test]
fn a_demo_that_cannot_be_set_up_leaves_nothing() {
    let tmp = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_ghswarm"))
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", tmp.path())
        .env("TMPDIR", tmp.path())
        .args(["demo", "--repo", "/nonexistent"])
        .output()
        .unwrap();
    assert!(!done.status.success(), "{done:?}");
    assert_eq!(fs::read_dir(tmp.path()).unwrap().count(), 0);
}

#[test]
fn what_serve_prints_is_enough_for_every_command_in_any_folder() {
    use std::io::{BufRead as _, BufReader};
    let tmp = tempfile::tempdir().unwrap();
    let empty = tmp.path().join("elsewhere");
    fs::create_dir(&empty).unwrap();
    let path = std::env::var("PATH").unwrap();
    let program = env!("CARGO_BIN_EXE_ghswarm");
    let start = |dir: &Path| {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", &path).current_dir(dir);
        command.env("HOME", tmp.path()).env("TMPDIR", tmp.path());
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let mut serving = start(tmp.path());
    let mut serving = serving
        .args(["demo", "--serve"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(serving.stdout.take().unwrap()).lines();
    let mut exports = Vec::new();
    for line in lines.map_while(Result::ok) {
        let (name, value) = line
            .strip_prefix("export ")
            .unwrap()
            .split_once('=')
            .unwrap();
        exports.push((name.to_owned(), value.to_owned()));
        if name == "GH_REPO" {
            break;
        }
    }
    let run = |words: &[&str]| {
        let mut command = start(&empty);
        command.envs(exports.iter().cloned()).env("AGENT_ID", "a");
        let output = command.args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["board"]);
    let issue = run(&["lease", "next"]).trim().to_owned();
    run(&["lease", "release", &issue]);
    run(&["claim", &issue]);
    run(&["claim", "check", &issue]);
    run(&["claim", "release", &issue, "--abandoned", "seen"]);
    run(&["status"]);
    super::world::signal(serving.id(), rustix::process::Signal::INT);
    serving.wait().unwrap();
}
