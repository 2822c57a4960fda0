//! The outside is not as it should be: one clear error with what to do, the documented status, and
//! nothing changed.

use std::io::{BufRead as _, BufReader};
use std::process::Command;

use super::{Machine, Served};

#[expect(
    clippy::disallowed_methods,
    reason = "the user's own git, on their clone"
)]
fn git(place: &std::path::Path, words: &[&str]) {
    let mut command = Command::new("git");
    let output = command.arg("-C").arg(place).args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Nobody on GitHub heard of it, and no run was started.
fn untouched(world: &Served) {
    assert_eq!(world.comments(), Vec::<String>::new());
    assert!(!world.dir().join("home/runs").exists());
}

#[test]
fn a_github_that_does_not_answer_is_named() {
    let world = Served::new();
    world.configure(world.ready["url"].as_str().unwrap(), "http://127.0.0.1:9");
    let pages = [
        &["cycle"] as &[&str],
        &["run", "1"],
        &["status"],
        &["doctor"],
    ]
    .map(|words| world.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn a_wrong_token_is_told_from_a_missing_one() {
    let mut world = Served::new();
    let mut pages = Vec::new();
    for token in ["ghp_wrong", "two\nlines", ""] {
        world.machine.set("GITHUB_TOKEN", token);
        pages.push(world.run(&["run", "1"]));
    }
    world.configure(
        "    github:\n",
        "    github:\n      token_command: echo oops >&2; exit 3\n",
    );
    pages.push(world.run(&["run", "1"]));
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn a_repository_that_is_not_there_is_told_from_a_wrong_token() {
    let world = Served::new();
    world.configure("repo: demo/greeter", "repo: demo/nothing");
    insta::assert_snapshot!(world.run(&["run", "1"]));
    untouched(&world);
}

#[test]
fn a_clone_that_is_not_there_or_not_the_right_one_stops_before_any_work() {
    let world = Served::new();
    let clone = world.dir().join("clone");
    let mut pages = Vec::new();
    git(
        &clone,
        &[
            "remote",
            "set-url",
            "origin",
            "git@github.com:other/project.git",
        ],
    );
    pages.push(world.run(&["run", "1"]));
    git(&clone, &["remote", "remove", "origin"]);
    pages.push(world.run(&["run", "1"]));
    std::fs::rename(clone.join(".git"), clone.join("git-no-more")).unwrap();
    pages.push(world.run(&["run", "1"]));
    std::fs::remove_dir_all(&clone).unwrap();
    pages.push(world.run(&["run", "1"]));
    pages.push(world.run(&["doctor"]));
    insta::assert_snapshot!(pages.join("\n\n"));
    untouched(&world);
}

#[test]
fn a_home_that_cannot_be_made_is_named() {
    let mut world = Served::new();
    let file = world.machine.write("file", "");
    world
        .machine
        .set("GHSWARM_HOME", &file.join("home").display().to_string());
    let event_db = world.dir().join("home/events.db").display().to_string();
    world.configure(&event_db, "~/.ghswarm/events.db");
    let pages = [&["run", "1"] as &[&str], &["history"], &["init", "--force"]]
        .map(|words| world.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
    untouched(&world);
}

#[test]
fn the_environment_of_a_served_demo_is_data() {
    let machine = Machine::new();
    let mut serving = machine
        .command(&["demo", "--serve"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(serving.stdout.take().unwrap()).lines();
    let names: Vec<String> = lines
        .take(3)
        .map(|line| line.unwrap().split('=').next().unwrap().to_owned())
        .collect();
    serving.kill().unwrap();
    serving.wait().unwrap();
    assert_eq!(
        names,
        [
            "export GITHUB_TOKEN",
            "export GHSWARM_HOME",
            "export GHSWARM_CONFIG"
        ]
    );
}

#[test]
fn an_alias_that_is_not_in_the_configuration_is_answered_with_those_that_are() {
    let world = Served::new();
    let pages = [
        &["cycle", "--repository", "dmeo"] as &[&str],
        &["run", "1", "--repository", "dmeo"],
        &["status", "--repository", "dmeo"],
    ]
    .map(|words| world.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn an_issue_number_alone_says_too_little_where_there_are_two_repositories() {
    let machine = Machine::new();
    machine.write(
        ".ghswarm.yaml",
        "defaults:\n  agents: {implement: {command: do}, review: {command: look}}\nrepositories:\n  \
         one: {repo: a/one, path: /nowhere/one}\n  two: {repo: a/two, path: /nowhere/two}\n",
    );
    insta::assert_snapshot!(machine.run(&["run", "1"]));
}

#[test]
fn an_agent_whose_program_is_not_there_blocks_with_its_name() {
    let world = Served::new();
    let agent = world.agent_file().display().to_string();
    world.configure(&agent, "no-such-agent");
    world.configure(
        "poll_interval: 300ms",
        "poll_interval: 300ms\n    max_retries: 1",
    );
    let doctor = world.run(&["doctor", "--fix"]);
    let run = world.run(&["run", "1", "--wait"]);
    assert!(run.ends_with("exit status 1"), "{run}");
    assert!(
        doctor.contains("no-such-agent") && run.contains("no-such-agent"),
        "{doctor}\n{run}"
    );
    let last = run
        .lines()
        .rev()
        .find(|line| line.starts_with("#1"))
        .unwrap();
    insta::assert_snapshot!(last);
}

#[test]
fn the_doctor_creates_missing_labels_and_finds_nothing_wrong_then() {
    let world = Served::new();
    let before = world.run(&["doctor"]);
    assert!(before.ends_with("exit status 4"), "{before}");
    let fixed = world.run(&["doctor", "--fix"]);
    insta::assert_snapshot!(fixed);
    let after = world.run(&["doctor", "--json"]);
    assert!(
        after.ends_with("exit status 0") && !after.contains("\"ok\":false"),
        "{after}"
    );
}

#[test]
fn a_broken_worktree_is_the_trouble_of_its_issue_alone() {
    let world = Served::new();
    world.post(
        "issues",
        &serde_json::json!({ "title": "Another", "body": "Text.", "labels": ["status: idle"] }),
    );
    for _ in 0..3 {
        world.run(&["run", "1", "--step"]);
    }
    let worktree = world.dir().join("greeter-worktrees/issue-1");
    std::fs::remove_file(worktree.join(".git")).unwrap();
    git(&worktree, &["init", "--quiet"]);
    let page = world.run(&["status"]);
    assert!(page.contains("Another"), "{page}");
    assert!(page.contains("issue #1 of `demo`"), "{page}");
    assert!(page.contains("a clone of its own"), "{page}");
    assert!(page.contains("hint: this machine refused"), "{page}");
    let page = world.run(&["explain", "1"]);
    assert!(page.contains("issue #1 of `demo`"), "{page}");

    // Once it is left alone for a while, that is what is told.
    world.run(&["run", "1"]);
    world.run(&["run", "1"]);
    let pages = [
        world.run(&["explain", "1"]),
        world.run(&["run", "1"]),
        world.run(&["run", "1", "--dry-run"]),
    ];
    let explained = &pages[0];
    assert!(explained.contains("✗ local"), "{explained}");
    assert!(explained.contains("ghswarm run 1 --force"), "{explained}");
    let refused = &pages[1];
    assert!(
        refused.contains("so it is left alone until [TIME] UTC")
            && refused.contains(
                "hint: mend what the cause names, then try it now: ghswarm run 1 --force"
            )
            && refused.ends_with("exit status 4"),
        "{refused}"
    );
    assert!(pages[2].contains("would do nothing"), "{}", pages[2]);
    let forced = world.run(&["run", "1", "--force"]);
    assert!(!forced.contains("left alone"), "{forced}");
}
