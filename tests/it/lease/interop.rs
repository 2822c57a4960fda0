//! The published gh-issue-lease and ours on the same leases: each reads the other's and respects it.

use serde_json::json;

use super::{Hub, can_run_published};

fn ours(hub: &Hub, agent: &str, words: &[&str]) -> (i32, String) {
    Hub::answers(hub.ours(agent, words))
}

fn theirs(hub: &Hub, agent: &str, words: &[&str]) -> (i32, String) {
    Hub::answers(hub.theirs(agent, words))
}

fn won() -> (i32, String) {
    (0, "won".to_owned())
}

fn held() -> (i32, String) {
    (1, String::new())
}

#[test]
fn each_respects_what_the_other_holds_and_knows_its_own() {
    if !can_run_published("each_respects_what_the_other_holds_and_knows_its_own") {
        return;
    }
    let hub = Hub::new();
    for title in ["Theirs", "Ours"] {
        hub.issue(title, &[]);
    }
    assert_eq!(theirs(&hub, "t", &["claim", "1"]), won());
    assert_eq!(ours(&hub, "o", &["claim", "1"]), held());
    assert_eq!(ours(&hub, "o", &["renew", "1"]), (1, "held".to_owned()));
    assert_eq!(ours(&hub, "o", &["next"]), (0, "2".to_owned()));
    assert_eq!(theirs(&hub, "t", &["claim", "2"]), held());
    assert_eq!(theirs(&hub, "t", &["renew", "2"]), (1, "held".to_owned()));
    assert_eq!(theirs(&hub, "t", &["guard-push", "fix/2-x"]), held());
    assert_eq!(ours(&hub, "o", &["guard-push", "fix/1-x"]), held());
    // One identity, two programs: one owner.
    assert_eq!(theirs(&hub, "o", &["claim", "2"]), won());
    assert_eq!(ours(&hub, "t", &["claim", "1"]), won());
    assert_eq!(theirs(&hub, "o", &["mine"]), ours(&hub, "o", &["mine"]));
    assert_eq!(
        theirs(&hub, "t", &["mine"]),
        (0, "#1  0m old  ttl 240m".to_owned())
    );
    let (_, status) = theirs(&hub, "", &["status"]);
    assert!(status.contains("#1") && status.contains("#2"), "{status}");
    // A renewal of theirs drops our fields, and ours of theirs keeps what it is.
    assert_eq!(
        theirs(&hub, "o", &["renew", "2"]),
        (0, "renewed".to_owned())
    );
    assert_eq!(ours(&hub, "o", &["claim", "2"]), won());
    assert_eq!(ours(&hub, "o", &["renew", "2"]), (0, "renewed".to_owned()));
    assert_eq!(
        ours(&hub, "o", &["release", "2"]),
        (0, "released".to_owned())
    );
    assert_eq!(
        theirs(&hub, "t", &["release", "1"]),
        (0, "released".to_owned())
    );
    assert_eq!((hub.oid("issue-1"), hub.oid("issue-2")), (None, None));
}

#[test]
fn each_takes_over_an_expired_lease_of_the_other() {
    if !can_run_published("each_takes_over_an_expired_lease_of_the_other") {
        return;
    }
    let hub = Hub::new();
    let of_ours = json!({ "v": 1, "issue": 1, "owner": "o", "ttlMin": 30, "claim": "c-1", "n": "x", "epoch": 1,
        "by": "manual", "host": "h", "pid": 1 });
    hub.plant("issue-1", &of_ours, 40);
    hub.plant_of(2, "t", 300);
    assert_eq!(theirs(&hub, "t2", &["claim", "1"]), won());
    assert_eq!(ours(&hub, "o2", &["claim", "2"]), won());
    assert_eq!(
        (hub.owner(1).as_deref(), hub.owner(2).as_deref()),
        (Some("t2"), Some("o2"))
    );
}

#[test]
fn a_grave_of_ours_is_free_to_both() {
    if !can_run_published("a_grave_of_ours_is_free_to_both") {
        return;
    }
    let hub = Hub::new();
    for (issue, name) in [(1, "issue-1"), (2, "issue-2")] {
        hub.plant(
            name,
            &json!({ "v": 1, "issue": issue, "owner": null, "ttlMin": 0 }),
            1,
        );
    }
    assert_eq!(theirs(&hub, "t", &["claim", "1"]), won());
    assert_eq!(ours(&hub, "o", &["claim", "2"]), won());
    assert_eq!(theirs(&hub, "t", &["claim", "2"]), held());
    assert_eq!(ours(&hub, "o", &["claim", "1"]), held());
}

#[test]
fn a_closed_issues_lease_of_ours_is_reaped_by_theirs() {
    if !can_run_published("a_closed_issues_lease_of_ours_is_reaped_by_theirs") {
        return;
    }
    let hub = Hub::new();
    hub.issue("Done", &[]);
    hub.issue("Open", &[]);
    for issue in [1, 2] {
        assert_eq!(ours(&hub, "o", &["claim", &issue.to_string()]), won());
    }
    hub.repo.close_issue("acme", 1).unwrap();
    let (status, _) = theirs(&hub, "t", &["reap"]);
    assert_eq!((status, hub.oid("issue-1")), (0, None));
    assert_eq!(hub.owner(2).as_deref(), Some("o"));
}

#[test]
fn the_note_in_the_worktree_is_read_by_both() {
    if !can_run_published("the_note_in_the_worktree_is_read_by_both") {
        return;
    }
    let hub = Hub::new();
    hub.issue("One", &[]);
    let clone = hub.clone_on("issue-1");
    let note = clone.join(".git/gh-issue-lease-hold.json");
    let at = |mut command: std::process::Command| {
        command.current_dir(&clone);
        Hub::said(command)
    };
    let requests = || hub.sim.counts().requests;
    assert_eq!(at(hub.ours("a", &["hook"])).0, 0);
    let written = std::fs::read_to_string(&note).unwrap();
    let before = requests();
    let (status, _, err) = at(hub.theirs("a", &["hook"]));
    assert!(status == 0 && err.contains("no network"), "{err}");
    assert_eq!(requests(), before);
    std::fs::remove_file(&note).unwrap();
    assert_eq!(at(hub.theirs("a", &["hook"])).0, 0);
    assert_eq!(std::fs::read_to_string(&note).unwrap().len(), written.len());
    let before = requests();
    assert_eq!(
        at(hub.ours("a", &["hook"])),
        (0, String::new(), String::new())
    );
    assert_eq!(requests(), before);
}
