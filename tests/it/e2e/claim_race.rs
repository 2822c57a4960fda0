//! `claim` as real processes: many at once, of many homes and of one, and killed in between.

use std::process::{Output, Stdio};
use std::time::Duration;

use ghswarm::sim::github::Op;
use rustix::process::Signal;
use serde_json::Value;

use super::cycled::ended;
use super::rounds;
use super::world::{Home, Setup, World, body, signal};

/// What people see of a claim.
const SEEN: &[Op] = &[
    Op::UpdateIssue,
    Op::AddLabels,
    Op::RemoveLabel,
    Op::AddAssignee,
    Op::RemoveAssignee,
    Op::CreateComment,
    Op::UpdateComment,
];

/// Comment, assignee, label.
const SIGNALS: usize = 3;

/// How many claim at once: few in the suite, a hundred by `just`.
fn contenders() -> usize {
    let set = super::number_from_env("GHSWARM_CLAIMS");
    set.and_then(|set| usize::try_from(set).ok()).unwrap_or(8)
}

fn quiet_world() -> World {
    World::new(&Setup {
        ci: None,
        ..Setup::default()
    })
}

fn claim(home: &Home, issue: u64, more: &[&str]) -> std::process::Command {
    let issue = issue.to_string();
    let words = [&["claim", &issue, "-R", "demo/small", "--json"], more].concat();
    home.ghswarm(&words)
}

fn answer(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
    value["issues"][0].clone()
}

fn all_at_once(homes: &[&Home], issue: u64) -> Vec<Output> {
    let start = |home: &&Home| {
        let mut command = claim(home, issue, &[]);
        command.stdin(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = homes.iter().map(start).collect();
    children.into_iter().map(ended).collect()
}

/// One wins with exit status 0; the others exit with 1 and are told where to resume.
fn one_winner<'a>(world: &World, homes: &[&'a Home], issue: u64) -> &'a Home {
    let before = world.asked();
    let outputs = all_at_once(homes, issue);
    let mut winners = Vec::new();
    for (home, output) in homes.iter().zip(&outputs) {
        let answer = answer(output);
        if answer["claimed"] == true {
            assert_eq!(output.status.code(), Some(0));
            winners.push(*home);
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let held = &answer["holding"];
        assert!(
            held["who"].is_string() && held["since"].is_string(),
            "{answer}"
        );
        let where_to = [&held["host"], &held["worktree"], &held["url"]];
        assert!(where_to.iter().any(|one| one.is_string()), "{answer}");
    }
    assert_eq!(winners.len(), 1, "{outputs:#?}");
    assert_eq!(world.count(before, SEEN), SIGNALS, "losers wrote");
    winners[0]
}

fn give_back(home: &Home, issue: u64) {
    let issue = issue.to_string();
    let words = [
        "claim",
        "release",
        &issue,
        "-R",
        "demo/small",
        "--abandoned",
        "done",
    ];
    let output = home.ghswarm(&words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn of_many_homes_that_claim_at_once_one_wins_and_the_rest_are_told_where() {
    let world = quiet_world();
    let homes: Vec<Home> = (1..=contenders())
        .map(|n| world.home(&format!("home{n}")))
        .collect();
    let homes: Vec<&Home> = homes.iter().collect();
    for round in 0..rounds(2) {
        let issue = world.open_issue(&format!("Round {round}"), &body("[]"));
        let winner = one_winner(&world, &homes, issue);
        give_back(winner, issue);
        let now = world.issue(issue);
        assert_eq!(now.labels, ["status: idle"], "{now:#?}");
        assert!(now.assignees.is_empty(), "{now:#?}");
    }
}

#[test]
fn of_many_claims_of_one_home_at_once_one_wins_and_the_rest_are_told_where() {
    let world = quiet_world();
    let home = world.home("one");
    for round in 0..rounds(2) {
        let issue = world.open_issue(&format!("Round {round}"), &body("[]"));
        let same = vec![&home; contenders()];
        one_winner(&world, &same, issue);
        give_back(&home, issue);
    }
}

#[test]
fn a_claim_that_is_killed_anywhere_is_finished_by_the_next_one() {
    let world = quiet_world();
    let home = world.home("one");
    for round in 0..rounds(6) {
        let issue = world.open_issue(&format!("Round {round}"), &body("[]"));
        let mut child = claim(&home, issue, &[]).spawn().unwrap();
        // Anywhere between its first request and its last.
        std::thread::sleep(Duration::from_millis(40 + 23 * (round % 12)));
        signal(child.id(), Signal::KILL);
        child.wait().unwrap();
        let again = claim(&home, issue, &[]).output().unwrap();
        let said = answer(&again);
        let stands = said["claimed"] == true || said["code"] == "claimed_by_hand";
        assert!(stands, "{again:?}");
        let now = world.issue(issue);
        assert!(
            now.has_label("agent-claimed") && now.assignees == ["demo"],
            "{now:#?}"
        );
        assert_eq!(now.comments.len(), 1, "{now:#?}");
        give_back(&home, issue);
        assert_eq!(world.issue(issue).labels, ["status: idle"]);
        let left = world.repo.refs().unwrap();
        assert!(
            !left.keys().any(|name| name.starts_with("refs/leases/")),
            "{left:?}"
        );
    }
}

#[test]
fn take_over_archives_the_folder_and_saves_the_branchs_commits() {
    let world = quiet_world();
    let home = world.home("one");
    let issue = world.open_issue("Do it", &body("[]"));
    let first = answer(&claim(&home, issue, &[]).output().unwrap());
    assert_eq!(first["claimed"], true, "{first}");
    // The printed commands are run as they stand.
    for command in first["begin"].as_array().unwrap() {
        run(&home, command.as_str().unwrap());
    }
    let tree = first["worktree"].as_str().unwrap().to_owned();
    run(
        &home,
        &format!("cd {tree} && echo x > x && git add x && git commit -qm x"),
    );
    run(
        &home,
        &format!("git -C {} worktree remove {tree}", home.clone.display()),
    );
    let second = answer(&claim(&home, issue, &["--take-over"]).output().unwrap());
    assert_eq!(second["claimed"], true, "{second}");
    let archive = second["archive"].as_str().unwrap();
    let record = std::fs::read_to_string(format!("{archive}/run.json")).unwrap();
    assert!(
        record.contains(first["claim"].as_str().unwrap()),
        "{record}"
    );
    let saved = second["saved"][0].as_str().unwrap();
    run(
        &home,
        &format!("git -C {} cat-file -e {saved}:x", home.clone.display()),
    );
    run(
        &home,
        &format!(
            "git -C {} rev-parse --verify -q issue-{issue}",
            home.clone.display()
        ),
    );
    // The branch is gone on from, not cut anew.
    let begin = second["begin"].to_string();
    assert!(
        begin.contains("worktree add") && !begin.contains(" -b "),
        "{begin}"
    );
}

fn run(home: &Home, command: &str) {
    let done = std::process::Command::new("sh")
        .args(["-ec", command])
        .env("HOME", home.dir.join("user"))
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "http.extraHeader")
        .env("GIT_CONFIG_VALUE_0", basic(&home.token))
        .output()
        .unwrap();
    assert!(done.status.success(), "{command}: {done:?}");
}

fn basic(token: &str) -> String {
    use base64::Engine as _;
    let pair = format!("x-access-token:{token}");
    let code = base64::engine::general_purpose::STANDARD.encode(pair);
    format!("Authorization: basic {code}")
}
