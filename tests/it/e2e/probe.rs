//! `doctor --probe`, and a repository where leases live by `git push` alone.

use std::process::Output;

use ghswarm::sim::github::Op;
use ghswarm::sim::github::model::Ban;
use regex::Regex;
use serde_json::Value;

use super::until_so;
use super::world::{Home, Setup, World, body};

/// Renewed every second.
const LEASE: &str =
    "    lease: {ttl: 3s, test_margins: {grace: 300ms, max_ahead: 5m, odd_ttl: 10m}}\n";

fn world(bans: &[Ban]) -> World {
    let world = World::new(&Setup {
        extra: LEASE,
        ..Setup::default()
    });
    for ban in bans {
        world.repo.ban(*ban).unwrap();
    }
    world
}

fn page(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let status = output.status.code().unwrap_or(-1);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let page = format!("{out}--- stderr\n{err}--- exit status {status}");
    let page = Regex::new("probe-[0-9a-f]{16}")
        .unwrap()
        .replace_all(&page, "probe-[RANDOM]")
        .into_owned();
    let at = Regex::new(r"127\.0\.0\.1:\d+").unwrap();
    at.replace_all(&page, "127.0.0.1:[PORT]").into_owned()
}

fn probe(home: &Home) -> Output {
    home.ghswarm(&["doctor", "--probe"]).output().unwrap()
}

fn probe_json(home: &Home) -> Value {
    let output = home.ghswarm(&["doctor", "--probe", "--json"]).output();
    serde_json::from_slice(&output.unwrap().stdout).unwrap()
}

fn lease_refs(world: &World) -> Vec<String> {
    let refs = world.repo.refs().unwrap().into_keys();
    refs.filter(|name| name.starts_with("refs/leases/"))
        .collect()
}

#[test]
fn a_probe_shows_what_works_and_what_does_not() {
    let world = world(&[]);
    let home = world.home("first");
    let mut pages = vec![page(&probe(&home))];
    world.repo.ban(Ban::UpdateRefs).unwrap();
    pages.push(page(&probe(&home)));
    world.repo.ban(Ban::OtherRefs).unwrap();
    pages.push(page(&probe(&home)));
    world.repo.archive();
    pages.push(page(&probe(&home)));
    insta::assert_snapshot!(pages.join("\n\n"));
    assert_eq!(lease_refs(&world), Vec::<String>::new());
}

#[test]
fn a_clone_that_is_not_there_costs_only_the_way_that_needs_it() {
    let world = world(&[Ban::UpdateRefs]);
    let home = world.home("first");
    std::fs::remove_dir_all(&home.clone).unwrap();
    let found = probe_json(&home);
    assert_eq!(found[0]["best"], "rest", "{found:#}");
    let push = &found[0]["ways"][1];
    assert_eq!(push["way"], "git_push");
    let why = push["checks"][0]["why"].as_str().unwrap();
    assert!(why.contains("there is no such folder"), "{why}");
}

#[test]
fn an_issue_is_carried_to_done_by_git_push_alone_and_its_supervisor_renews_so() {
    let world = world(&[Ban::UpdateRefs, Ban::RestRefs]);
    let home = world.home("first");
    let found = probe_json(&home);
    assert_eq!(found[0]["best"], "git_push", "{found:#}");
    assert_eq!(found[0]["remembered"], true);
    let from = world.asked();
    let issue = world.open_issue("Do it", &body("[]"));
    let lease = |words: &[&str]| {
        let mut command = home.ghswarm(words);
        let command = command.env("AGENT_ID", "7f3a").current_dir(&home.clone);
        page(&command.output().unwrap())
    };
    let number = issue.to_string();
    for verb in ["claim", "release"] {
        let said = lease(&["lease", verb, &number]);
        assert!(said.ends_with("exit status 0"), "{said}");
    }
    assert!(
        world.count(from, &[Op::GitPush]) >= 2,
        "a tool begins with the way, too"
    );
    world.hold("implement");
    assert_eq!(home.cycle().outcome(issue), "running");
    world.until_begun("implement", 1);
    let (_, folder) = home.supervisor(issue, "implement");
    let pushes = || world.count(from, &[Op::GitPush]);
    let before = pushes();
    // Nobody but the supervisor is at work.
    until_so("three renewals", || pushes() >= before + 3);
    assert!(!folder.join("exit.json").exists(), "git is not the run");
    world.let_go("implement");
    home.to_done(&world, issue);
    world.assert_done_once(issue);
    assert_eq!(world.agent_runs(), ["implement", "review"]);
    assert_eq!(world.count(from, &[Op::SwapRefs]), 0, "git push alone");
    world.assert_nothing_runs();
}
