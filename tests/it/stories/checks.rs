//! Checks: nothing but success is green.

use std::time::Duration;

use ghswarm::model::state::BlockedReason;
use ghswarm::sim::github::Op;

use crate::world::{ANN, World, body};

/// A world whose pull request waits for its checks.
fn with_a_pull_request() -> (World, u64) {
    let world = World::with(|rules| rules.policy.ci_fixes_max = 0);
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    assert_eq!(world.a().why(issue), "no_checks_yet");
    (world, issue)
}

#[test]
fn no_check_yet_is_pending_not_green() {
    let (world, issue) = with_a_pull_request();
    world.minutes(9).settle();
    assert!(!world.is_merged(issue));
    world.ci_begins(issue, "test").settle();
    assert_eq!(world.a().why(issue), "checks_pending");
    world.minutes(60).settle();
    assert!(!world.is_merged(issue));
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
}

#[test]
fn without_any_ci_a_verify_step_speaks_for_the_head() {
    let (world, issue) = with_a_pull_request();
    world.minutes(11).settle();
    assert!(world.is_merged(issue));
    world.minutes(11).settle();
    world.expect_done(issue);
}

#[test]
fn without_ci_and_verify_steps_nothing_speaks_for_the_head() {
    let world = World::new();
    let text = body(&["apples"]).replace("verify: cargo test", "verify: []");
    let issue = world.opens(ANN, "Sell apples", &text);
    world.settle().minutes(11).settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::NoChecks));
    world.reads(issue, "no_checks");
    world
        .ci_says(issue, "test", "success")
        .resumes(issue)
        .settle();
    assert!(world.is_merged(issue));
}

#[test]
fn the_hundred_and_first_check_is_seen() {
    let (world, issue) = with_a_pull_request();
    for number in 0..120 {
        world.ci_says(issue, &format!("shard {number}"), "success");
    }
    world.ci_says(issue, "last shard", "failure").settle();
    // Once more, in case it was an accident.
    assert_eq!(world.a().why(issue), "checks_pending");
    world.ci_says(issue, "last shard", "failure").settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::CiFailed));
    let said = world.reads(issue, "ci_failed");
    assert!(said.contains("last shard"), "{said}");
}

#[test]
fn a_red_check_blocks_and_a_pushed_fix_goes_on_after_a_resume() {
    let (world, issue) = with_a_pull_request();
    world.ci_says(issue, "test", "failure").settle();
    world.ci_says(issue, "test", "failure").settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::CiFailed));
    assert_eq!(world.status(issue), ["status: blocked"]);
    world.reads(issue, "ci_failed");
    world
        .pushes("bob", "issue-1", "fix.txt")
        .resumes(issue)
        .settle();
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
    world.ci_says_of_main("success").settle();
    world.expect_done(issue);
}

#[test]
fn a_skipped_check_alone_is_no_yes_but_beside_a_success_it_is() {
    let (world, issue) = with_a_pull_request();
    world.ci_says(issue, "docs", "skipped").settle();
    assert!(!world.is_merged(issue));
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
}

#[test]
fn a_cancelled_check_is_its_own_answer() {
    let (world, issue) = with_a_pull_request();
    world.ci_says(issue, "test", "success");
    world.ci_says(issue, "lint", "cancelled").settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::CiUnclear));
    world.reads(issue, "ci_unclear");
}

#[test]
fn a_check_that_waits_for_a_person_is_said_to() {
    let (world, issue) = with_a_pull_request();
    world.ci_says(issue, "deploy", "action_required").settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::CiUnclear));
    world.reads(issue, "deploy");
}

#[test]
fn a_red_merge_commit_keeps_the_issue_open() {
    let (world, issue) = with_a_pull_request();
    world.ci_says(issue, "test", "success").settle();
    world.ci_says_of_main("failure").settle();
    assert!(world.issue(issue).open);
    assert_eq!(world.blocked(issue), Some(BlockedReason::MergeCiFailed));
    world.reads(issue, "merge_ci_failed");
    world.ci_says_of_main("success").resumes(issue).settle();
    world.expect_done(issue);
}

#[test]
fn a_push_between_look_and_merge_is_not_merged_unseen() {
    let (world, issue) = with_a_pull_request();
    let repo = world.repo.clone();
    world.a().door.right_before(Op::MergePr, move || {
        repo.push_commit("bob", "issue-1", &[("sneaked.txt", "in")])
            .unwrap();
    });
    world.ci_says(issue, "test", "success").settle();
    assert!(!world.is_merged(issue));
    assert_eq!(
        world.repo.file("refs/heads/main", "sneaked.txt").unwrap(),
        None
    );
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
}

#[test]
fn waiting_for_ci_holds_no_lease() {
    let (world, issue) = with_a_pull_request();
    world.ci_begins(issue, "test").settle();
    assert_eq!(world.leases(), ["refs/leases/wip/issue-1"]);
    assert!(world.issue(issue).has_label("agent-claimed"));
    world.pass(Duration::from_secs(5 * 3600));
    world.ci_is_green().settle();
    world.ci_says(issue, "test", "success").settle();
    world.expect_done(issue);
}
