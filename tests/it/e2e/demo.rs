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
