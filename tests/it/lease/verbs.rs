//! What every verb prints and how it ends, case by case.

use ghswarm::sim::github::Op;
use ghswarm::sim::github::model::{Access, Ban};
use regex::Regex;
use serde_json::{Value, json};

use super::Hub;

/// Everything a script or a person sees of some calls, one after the other.
fn page(hub: &Hub, calls: &[(&str, &str)]) -> String {
    let pages = calls.iter().map(|(agent, words)| {
        let words: Vec<&str> = words.split(' ').collect();
        let (status, out, err) = Hub::said(hub.ours(agent, &words));
        let who = if agent.is_empty() {
            String::new()
        } else {
            format!("AGENT_ID={agent} ")
        };
        let errors = if err.is_empty() {
            String::new()
        } else {
            format!("--- stderr\n{err}")
        };
        format!(
            "$ {who}ghswarm lease {}\n{out}{errors}--- exit status {status}",
            words.join(" ")
        )
    });
    anonymous(&pages.collect::<Vec<_>>().join("\n\n"))
}

fn anonymous(page: &str) -> String {
    let patterns = [
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[PORT]"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "[TIME]"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[TIME]"),
        (r"on [^ ,]+, since", "on [HOST], since"),
        (r#""host":"[^"]+""#, r#""host":"[HOST]""#),
        (r#""age_secs":\d+"#, r#""age_secs":[N]"#),
    ];
    let replace = |page: String, (pattern, with): (&str, &str)| {
        Regex::new(pattern)
            .unwrap()
            .replace_all(&page, with)
            .into_owned()
    };
    patterns.into_iter().fold(page.to_owned(), replace)
}

#[test]
fn a_lease_is_claimed_shown_renewed_and_released() {
    let hub = Hub::new();
    hub.issue("One", &[]);
    insta::assert_snapshot!(page(
        &hub,
        &[
            ("a", "claim 1"),
            ("a", "claim 1"),
            ("b", "claim 1"),
            ("a", "mine"),
            ("b", "mine"),
            ("", "status"),
            ("", "status 1"),
            ("", "status 2"),
            ("b", "renew 1"),
            ("a", "renew 1"),
            ("b", "release 1"),
            ("a", "release 1"),
            ("a", "release 1"),
            ("", "status"),
            ("a", "renew 1"),
        ]
    ));
    assert_eq!(hub.owner(1).as_deref(), Some("a"));
}

#[test]
fn without_an_identity_nothing_is_claimed_and_nothing_is_asked() {
    let hub = Hub::new();
    insta::assert_snapshot!(page(
        &hub,
        &[
            ("", "claim 1"),
            ("", "next"),
            ("", "renew 1"),
            ("", "release 1"),
            ("", "mine"),
            ("", "claim 1 --json"),
        ]
    ));
    assert_eq!(hub.sim.counts().requests, 0);
}

#[test]
fn an_expired_lease_is_taken_over_and_that_is_said() {
    let hub = Hub::new();
    hub.plant_of(1, "dead", 242);
    hub.plant_of(2, "alive", 239);
    insta::assert_snapshot!(page(
        &hub,
        &[
            ("", "status"),
            ("a", "claim 2"),
            ("a", "claim 1"),
            ("a", "mine")
        ]
    ));
    let lease = hub.lease(1).unwrap();
    assert_eq!(lease["stolenFrom"]["holder"], "dead");
    for field in ["claim", "n", "epoch", "host", "pid"] {
        assert!(!lease[field].is_null(), "{field}: {lease}");
    }
    assert_eq!(
        (&lease["by"], &lease["ttlMin"]),
        (&json!("manual"), &json!(240))
    );
}

#[test]
fn a_claim_of_ones_own_lease_writes_only_past_half_of_its_time() {
    let hub = Hub::new();
    let young = hub.plant_of(1, "a", 100);
    let old = hub.plant_of(2, "a", 130);
    let writes = |hub: &Hub| hub.sim.counts().writes;
    assert_eq!(
        Hub::answers(hub.ours("a", &["claim", "1"])),
        (0, "won".to_owned())
    );
    assert_eq!((hub.oid("issue-1"), writes(&hub)), (Some(young), 0));
    assert_eq!(
        Hub::answers(hub.ours("a", &["claim", "2"])),
        (0, "won".to_owned())
    );
    assert_ne!(hub.oid("issue-2"), Some(old));
}

#[test]
fn the_next_issue_is_the_oldest_that_fits_and_nobody_holds() {
    let hub = Hub::new();
    for title in [
        "Held",
        "Assigned",
        "Blocked",
        "Waits for GitHub's word",
        "Free",
        "Other",
    ] {
        hub.issue(title, if title == "Other" { &[] } else { &["Ready"] });
    }
    hub.plant_of(1, "other", 5);
    hub.repo.assign("acme", 2, "op").unwrap();
    hub.repo
        .edit_body("acme", 3, "Text.\n\nblocked by #6\n")
        .unwrap();
    hub.repo.block_by(4, 6);
    let narrow = "next --label ready --unassigned --skip-blocked --ttl 30";
    insta::assert_snapshot!(page(
        &hub,
        &[
            ("a", narrow),
            ("a", narrow),
            ("a", "next --label ready --label nothing"),
            ("a", "next --milestone 7"),
            ("a", "next"),
            ("b", "next --json"),
            ("b", "mine"),
        ]
    ));
    assert_eq!(hub.lease(5).unwrap()["ttlMin"], 30);
}

#[test]
fn an_issue_that_was_closed_meanwhile_is_not_handed_out() {
    let hub = Hub::new();
    hub.issue("Over", &[]);
    hub.issue("Open", &[]);
    let listed = hub.sim.requests().len();
    assert_eq!(listed, 0);
    hub.repo.close_issue("acme", 1).unwrap();
    assert_eq!(Hub::answers(hub.ours("a", &["next"])), (0, "2".to_owned()));
    assert_eq!(hub.oid("issue-1"), None);
}

#[test]
fn leases_that_nobody_needs_are_reaped_and_no_others() {
    let hub = Hub::new();
    for title in [
        "Expired",
        "Closed",
        "Alive",
        "Closed, but a loop works on it",
    ] {
        hub.issue(title, &[]);
    }
    hub.plant_of(1, "dead", 300);
    hub.plant_of(2, "done", 5);
    hub.plant_of(3, "alive", 5);
    let by_loop = |claim: &str| json!({ "v": 1, "issue": 4, "owner": "home", "ttlMin": 30, "by": "loop", "claim": claim, "epoch": 1 });
    hub.plant("issue-4", &by_loop("c-1"), 5);
    hub.plant("slot-1", &by_loop("c-1"), 100);
    hub.plant("slot-2", &by_loop("c-2"), 100);
    hub.plant(
        "issue-9",
        &json!({ "v": 1, "issue": 9, "owner": null, "ttlMin": 0 }),
        500,
    );
    for closed in [2, 4] {
        hub.repo.close_issue("acme", closed).unwrap();
    }
    insta::assert_snapshot!(page(&hub, &[("", "reap"), ("", "reap --json")]));
    let left = [
        "issue-1", "issue-2", "issue-3", "issue-4", "slot-1", "slot-2", "issue-9",
    ];
    let left: Vec<&str> = left
        .into_iter()
        .filter(|name| hub.oid(name).is_some())
        .collect();
    assert_eq!(left, ["issue-3", "issue-4", "slot-1", "issue-9"]);
}

#[test]
fn a_lease_of_the_loop_is_not_released_by_its_own_agent() {
    let hub = Hub::new();
    let lease = json!({ "v": 1, "issue": 1, "owner": "home", "ttlMin": 30, "by": "loop", "claim": "c-1",
        "epoch": 5, "host": "build" });
    let oid = hub.plant("issue-1", &lease, 5);
    insta::assert_snapshot!(page(
        &hub,
        &[
            ("home", "claim 1"),
            ("home", "release 1"),
            ("b", "claim 1"),
            ("b", "status")
        ]
    ));
    assert_eq!(hub.oid("issue-1"), Some(oid));
}

#[test]
fn a_github_that_cannot_be_asked_never_stops_the_work_and_never_looks_like_a_lease() {
    let mut hub = Hub::new();
    let calls = [
        ("a", "claim 1"),
        ("a", "next"),
        ("a", "renew 1"),
        ("a", "release 1"),
        ("a", "mine"),
        ("a", "status"),
        ("a", "reap"),
        ("a", "guard-push issue-1"),
        ("a", "claim 1 --json"),
    ];
    hub.sim.revoke(&hub.sim.token_for("op"));
    let mut unauthorised = hub.ours("a", &["claim", "1"]);
    unauthorised.env("GITHUB_TOKEN", "ghp_wrong");
    let (status, out, err) = Hub::said(unauthorised);
    assert_eq!((status, out.as_str()), (0, "degraded\n"));
    let mut anonymous = hub.ours("a", &["claim", "1"]);
    anonymous.env_remove("GITHUB_TOKEN").env("PATH", "/nowhere");
    let (status, out, no_token) = Hub::said(anonymous);
    assert_eq!((status, out.as_str()), (0, "degraded\n"));
    hub.stop();
    insta::assert_snapshot!(format!("{err}\n{no_token}\n{}", page(&hub, &calls)));
}

#[test]
fn a_repository_that_refuses_says_its_name_and_does_not_look_won() {
    let mut pages = Vec::new();
    let hub = Hub::new();
    hub.repo.ban(Ban::OtherRefs).unwrap();
    pages.push(page(&hub, &[("a", "claim 1")]));
    let hub = Hub::new();
    hub.repo.set_access("op", Access::Read);
    pages.push(page(&hub, &[("a", "claim 1")]));
    let hub = Hub::new();
    hub.repo.archive();
    pages.push(page(&hub, &[("a", "claim 1")]));
    let hub = Hub::new();
    let file = hub.dir.path().join("user/.ghswarm.yaml");
    std::fs::write(&file, "repositories: 3\n").unwrap();
    let broken = page(&hub, &[("a", "claim 1 --json")]);
    pages.push(broken.replace(&hub.dir.path().display().to_string(), "[DIR]"));
    std::fs::remove_file(file).unwrap();
    pages.push(page(
        &hub,
        &[
            ("a", "claim 1 --repo acme/nothing"),
            ("a", "claim x"),
            ("a", "next --ttl 0"),
        ],
    ));
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn a_swap_whose_answer_was_lost_is_won_all_the_same() {
    use ghswarm::sim::github::{Fault, FaultPlan};
    let hub = Hub::new();
    hub.sim
        .set_faults(FaultPlan::next(Op::SwapRefs, 1, Fault::CutAfter));
    assert_eq!(
        Hub::answers(hub.ours("a", &["claim", "1"])),
        (0, "won".to_owned())
    );
    assert_eq!(hub.owner(1).as_deref(), Some("a"));
}

#[test]
fn a_hundred_and_fifty_leases_are_shown_with_two_requests() {
    let hub = Hub::new();
    for issue in 1..=150 {
        hub.plant_of(issue, if issue % 2 == 0 { "a" } else { "b" }, 5);
    }
    for (words, lines) in [(["mine"], 75), (["status"], 150)] {
        let before = hub.sim.counts().requests;
        let (status, out) = Hub::answers(hub.ours("a", &words));
        assert_eq!((status, out.lines().count()), (0, lines));
        assert!(hub.sim.counts().requests - before <= 2, "{words:?}");
    }
}

#[test]
fn called_by_the_name_of_gh_issue_lease_it_is_that() {
    let hub = Hub::new();
    let name = hub.dir.path().join("gh-issue-lease");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ghswarm"), &name).unwrap();
    let mut command = hub.ours("a", &[]);
    let env: Vec<_> = command
        .get_envs()
        .map(|(k, v)| (k.to_owned(), v.unwrap().to_owned()))
        .collect();
    command = std::process::Command::new(&name);
    command.env_clear().envs(env).args(["claim", "1"]);
    assert_eq!(Hub::answers(command), (0, "won".to_owned()));
    assert_eq!(hub.owner(1).as_deref(), Some("a"));
}

#[test]
fn where_graphql_may_not_move_refs_a_release_leaves_a_grave_that_a_claim_replaces() {
    let hub = Hub::new();
    hub.repo.ban(Ban::UpdateRefs).unwrap();
    for agent in ["a", "b"] {
        assert_eq!(
            Hub::answers(hub.ours(agent, &["claim", "1"])),
            (0, "won".to_owned())
        );
        assert_eq!(
            Hub::answers(hub.ours("c", &["claim", "1"])),
            (1, String::new())
        );
        assert_eq!(
            Hub::answers(hub.ours(agent, &["release", "1"])),
            (0, "released".to_owned())
        );
        assert_eq!(hub.lease(1).unwrap()["owner"], Value::Null);
        assert_eq!(
            Hub::answers(hub.ours(agent, &["status"])),
            (0, "no leases".to_owned())
        );
    }
}

#[test]
fn a_name_that_no_line_can_show_is_none_and_others_names_are_shown_harmlessly() {
    let hub = Hub::new();
    for (name, wrong) in [
        ("a\nb".to_owned(), "control character"),
        ("a\u{1b}[2Jb".to_owned(), "control character"),
        ("x".repeat(201), "longer than 200 bytes"),
    ] {
        let (status, out, err) = Hub::said(hub.ours(&name, &["claim", "7"]));
        assert_eq!((status, out.as_str()), (3, ""), "{err}");
        assert!(err.contains(wrong) && err.len() < 400, "{err}");
    }
    assert_eq!(hub.oid("issue-7"), None);
    // As a file with CRLF lines exports it.
    assert_eq!(Hub::said(hub.ours("a\r", &["claim", "8"])).0, 0);
    assert_eq!(hub.owner(8).as_deref(), Some("a"));
    let evil = format!("eve\n#7 free\r\n\u{1b}[2J{}", "y".repeat(5000));
    hub.plant_of(7, &evil, 5);
    for words in [
        &["claim", "7"][..],
        &["release", "7"],
        &["status"],
        &["guard-push", "issue-7"],
    ] {
        let (_, out, err) = Hub::said(hub.ours("a", words));
        let all = out + &err;
        assert!(all.contains("eve"), "{words:?}: {all}");
        assert!(
            !all.contains(['\u{1b}', '\r']) && !all.contains("\n#7 free"),
            "{all}"
        );
        assert!(all.len() < 1500, "{words:?}: {}", all.len());
    }
}
