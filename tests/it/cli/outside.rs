//! The outside is not as it should be: one clear error with what to do, the documented status, and
//! nothing changed.

use std::io::{BufRead as _, BufReader, Write as _};
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
    let origin = "http://127.0.0.1:9/demo/greeter.git";
    git(
        &world.dir().join("clone"),
        &["remote", "set-url", "origin", origin],
    );
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
fn a_clone_of_another_server_is_named_by_doctor_and_by_every_command() {
    let world = Served::new();
    let clone = world.dir().join("clone");
    let origin = |url: &str| git(&clone, &["remote", "set-url", "origin", url]);
    origin("https://gitlab.example.com/demo/greeter.git");
    let pages = [&["cycle"] as &[&str], &["run", "1"], &["doctor"]].map(|words| world.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
    // What an ssh configuration makes of a name is not known here.
    origin("git@github-work:demo/greeter.git");
    let doctor = world.run(&["doctor"]);
    assert!(
        doctor.contains(
            "- origin         git@github-work:demo/greeter.git: `github-work` has to be an alias"
        ),
        "{doctor}"
    );
    untouched(&world);
}

/// A GitHub that answers every request with this.
fn answering(answer: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // A request has come in whole once its last header has: no body is looked at.
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    url
}

#[test]
fn a_rate_limit_is_told_as_one_with_its_end() {
    const SPENT: &str = "HTTP/1.1 403 Forbidden\r\ndate: Mon, 30 Nov 2026 12:00:00 GMT\r\n\
        x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 1796040600\r\n\
        content-type: application/json\r\nconnection: close\r\ncontent-length: 46\r\n\r\n\
        {\"message\":\"API rate limit exceeded for you.\"}";
    let world = Served::new();
    let url = answering(SPENT);
    world.configure(world.ready["url"].as_str().unwrap(), &url);
    let clone = world.dir().join("clone");
    let origin = format!("{url}/demo/greeter.git");
    git(&clone, &["remote", "set-url", "origin", &origin]);
    let pages = [
        &["cycle"] as &[&str],
        &["run", "1"],
        &["status"],
        &["explain", "1"],
        &["doctor"],
        &["claim", "1", "--repo", "demo/greeter"],
        &["board", "--repo", "demo/greeter"],
        &["lease", "status", "--repo", "demo/greeter"],
    ]
    .map(|words| world.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
    for page in &pages {
        assert!(
            page.contains("over the rate limit of GitHub until")
                && !page.contains("check the network"),
            "{page}"
        );
    }
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
fn the_environment_of_a_served_demo_is_data_and_its_doctor_finds_nothing_wrong() {
    let machine = Machine::new();
    let mut serving = machine
        .command(&["demo", "--serve"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(serving.stdout.take().unwrap()).lines();
    let exports: Vec<(String, String)> = lines
        .take(3)
        .map(|line| {
            let line = line.unwrap();
            let (name, value) = line.split_once('=').unwrap();
            (
                name.trim_start_matches("export ").to_owned(),
                value.to_owned(),
            )
        })
        .collect();
    let mut user = Machine::new();
    for (name, value) in &exports {
        user.set(name, value);
    }
    let doctor = user.run(&["doctor"]);
    serving.kill().unwrap();
    serving.wait().unwrap();
    assert!(
        doctor.ends_with("nothing is wrong with what was looked at\n--- exit status 0"),
        "{doctor}"
    );
    let names: Vec<&str> = exports.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["GITHUB_TOKEN", "GHSWARM_HOME", "GHSWARM_CONFIG"]);
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
fn an_agent_whose_program_is_not_there_is_named_before_anything_is_claimed() {
    let world = Served::new();
    let agent = world.agent_file().display().to_string();
    world.configure(&agent, "no-such-agent");
    let doctor = world.run(&["doctor", "--fix"]);
    assert!(doctor.contains("no-such-agent"), "{doctor}");
    let pages =
        [&["run", "1", "--wait"] as &[&str], &["cycle"], &["loop"]].map(|words| world.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
    assert_eq!(world.comments(), Vec::<String>::new());
    assert!(!world.run(&["logs", "1"]).contains("implement"));
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
