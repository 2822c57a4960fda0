//! The board: what it says is what the gate says.

use std::collections::BTreeMap;

use ghswarm::decide::board::{BoardRow, Setting, rows};
use ghswarm::ports::github::GitHub as _;
use ghswarm::ports::overview::Overview as _;
use ghswarm::sim::local::{Performance, Takes};

use super::*;

fn board(world: &World, host: &Host) -> BTreeMap<u64, BoardRow> {
    let engine = host.engine();
    let board = world.wait(host.port().board("leases")).unwrap();
    let repo = world.wait(host.port().repository()).unwrap();
    let claims = engine.claims_by_hand().unwrap();
    let claims = claims
        .into_iter()
        .map(|record| (record.issue, record))
        .collect();
    let setting = Setting {
        repo: &repo,
        policy: &engine.policy,
        claims: &claims,
    };
    let rows = rows(&board, setting).into_iter();
    rows.map(|row| (row.issue.0, row)).collect()
}

#[track_caller]
fn says(world: &World, host: &Host, issue: u64) -> String {
    board(world, host)[&issue].run.to_string()
}

#[test]
fn the_run_column_follows_a_claim_through_its_life() {
    let (world, a, b, issue) = two_homes();
    assert_eq!(says(&world, &a, issue), "free");
    world.wins(&b, issue, PLAIN);
    let held = says(&world, &a, issue);
    assert!(
        held.starts_with("claimed by @bob (`home-b` on `host-b`) since 03-02 09:00"),
        "{held}"
    );
    let row = &board(&world, &a)[&issue];
    assert!(row.comment.as_ref().unwrap().contains("#issuecomment-"));
    assert!(row.worktree.as_ref().unwrap().starts_with("/sim/b/"));
    assert!(says(&world, &b, issue).ends_with(", here"));
    // The lease runs out, the marker keeps the issue, and then it is stale.
    world.minutes(6 * 60);
    assert_eq!(says(&world, &a, issue), "claimed by @bob since 03-02 09:00");
    world.minutes(19 * 60);
    assert_eq!(says(&world, &a, issue), "stale: @bob since 03-02 09:00");
    // A pull request from its branch, linked or not, keeps it alive at any age.
    let pr = world.opens_pr("bob", issue, &format!("issue-{issue}"));
    world.edits_pr("bob", pr, "no keyword");
    assert_eq!(says(&world, &a, issue), "claimed by @bob since 03-02 09:00");
    assert_eq!(board(&world, &a)[&issue].prs, [PrNumber(pr)]);
    world.repo.close_pr("bob", pr).unwrap();
    world.wins(&a, issue, PLAIN);
    world.gives_back(&a, issue, &abandoned());
    assert_eq!(says(&world, &a, issue), "free");
}

#[test]
fn the_run_column_tells_hold_assignee_blockers_and_the_loops_phases() {
    let (world, a, _, held) = two_homes();
    world.labels(ANN, held, "do-not-dispatch");
    let assigned = plain_issue(&world);
    world.repo.assign(ANN, assigned, "bob").unwrap();
    let over = plain_issue(&world);
    world.closes(ANN, over);
    let text = format!("Blocked by #{held}, #{over}");
    let behind = world.opens_labelled(ANN, ("Later", &text), &[]);
    let parent = plain_issue(&world);
    world.repo.add_sub_issue(parent, behind);
    world.repo.add_sub_issue(parent, over);
    assert_eq!(says(&world, &a, held), "hold");
    assert_eq!(says(&world, &a, assigned), "assigned to @bob");
    assert_eq!(says(&world, &a, behind), format!("blocked by #{held}"));
    assert_eq!(says(&world, &a, parent), "1 sub-issue open");
    assert!(!board(&world, &a).contains_key(&over));
    let long = Performance::success()
        .takes(Takes::ForEver)
        .file("a", "a")
        .commit("a");
    world
        .agent
        .does(ghswarm::model::run::RunKind::Implement, 1, long);
    let managed = world.opens_issue("Sell plums");
    world.run_until_waits();
    let running = says(&world, &a, managed);
    assert!(
        running.starts_with("running implement by @ann"),
        "{running}"
    );
    a.home.finish_run(&world.agent.keys()[0]).unwrap();
    world.settle();
    assert_eq!(says(&world, &a, managed), "waiting: wait_ci");
}

#[test]
fn a_bundled_issue_shows_what_its_lead_is_worth() {
    let (world, a, b, lead) = two_homes();
    let sibling = plain_issue(&world);
    let claimed = world.wins(&b, lead, PLAIN);
    let wish = Wish {
        lead: Some(IssueNumber(lead)),
        ..PLAIN
    };
    world.wins(&b, sibling, wish);
    world.opens_pr("bob", lead, claimed.branch.as_str());
    world.minutes(72 * 60);
    assert!(says(&world, &a, sibling).starts_with("claimed by @bob"));
    world.closes("bob", lead);
    assert!(says(&world, &a, sibling).starts_with("stale: @bob"));
}
