//! The rules of the base branch: which checks count, what is waited for, when the branch is updated.

use std::time::Duration;

use ghswarm::model::run::RunKind;
use ghswarm::model::state::BlockedReason;
use ghswarm::sim::github::Op;
use ghswarm::sim::github::model::Protection;

use crate::world::{ANN, World};

/// A world whose pull request waits for its checks.
fn with_a_pull_request() -> (World, u64) {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    (world, issue)
}

#[test]
fn an_optional_red_check_stops_no_merge_and_a_required_one_that_was_skipped_does() {
    let world = World::new();
    world
        .repo
        .set_ruleset("main", Protection::requiring(&["test"]));
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    world.ci_says(issue, "flaky", "failure");
    world.ci_says(issue, "test", "skipped").settle();
    assert!(!world.is_merged(issue), "GitHub would have merged it");
    assert_eq!(world.blocked(issue), Some(BlockedReason::CiUnclear));
    world.reads(issue, "ci_unclear");
    world
        .ci_says(issue, "test", "success")
        .resumes(issue)
        .settle();
    assert!(world.is_merged(issue));
}

#[test]
fn a_required_check_that_never_begins_is_waited_for_and_then_said() {
    let (world, issue) = with_a_pull_request();
    let rules = Protection::requiring(&["test", "deploy"]);
    world.repo.set_protection("main", rules);
    world.ci_begins(issue, "test").minutes(60).settle();
    assert_eq!(world.a().why(issue), "checks_pending");
    // What needs another job begins after it: the grace counts from there.
    world.ci_says(issue, "test", "success").settle();
    assert_eq!(world.a().why(issue), "checks_missing");
    world.minutes(9).settle();
    assert_eq!(world.a().why(issue), "checks_missing");
    world.minutes(2).settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::NoChecks));
    let said = world.reads(issue, "no_checks");
    assert!(said.contains("deploy"), "{said}");
    world
        .ci_says(issue, "deploy", "success")
        .resumes(issue)
        .settle();
    assert!(world.is_merged(issue));
}

#[test]
fn a_rule_that_came_after_the_look_at_the_rules_is_obeyed() {
    let (world, issue) = with_a_pull_request();
    world.ci_begins(issue, "test").settle();
    assert_eq!(world.a().why(issue), "checks_pending");
    world
        .repo
        .set_ruleset("main", Protection::requiring(&["new"]));
    world.ci_says(issue, "test", "success").settle();
    // GitHub refused the merge, and the rules were read again.
    assert_eq!(world.a().why(issue), "checks_missing");
    world.ci_says(issue, "new", "success").settle();
    assert!(world.is_merged(issue));
}

#[test]
fn a_branch_behind_its_base_is_updated_only_where_the_rules_ask_for_it() {
    let (world, issue) = with_a_pull_request();
    world.pushes("bob", "main", "elsewhere.txt");
    let strict = Protection {
        strict: true,
        ..Protection::requiring(&["test"])
    };
    world.repo.set_ruleset("main", strict);
    let before = world.pr_head(issue);
    world.ci_says(issue, "test", "success").settle();
    let after = world.pr_head(issue);
    assert!(!world.is_merged(issue) && after != before);
    // Its checks begin anew, and it is merged at the new head.
    world.settle();
    assert!(!world.is_merged(issue));
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));

    let (world, issue) = with_a_pull_request();
    world.pushes("bob", "main", "elsewhere.txt");
    let before = world.pr_head(issue);
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
    assert_eq!(world.pr_head(issue), before);
}

#[test]
fn a_push_between_look_and_update_is_looked_at_anew() {
    let (world, issue) = with_a_pull_request();
    world.pushes("bob", "main", "elsewhere.txt");
    let strict = Protection {
        strict: true,
        ..Protection::requiring(&["test"])
    };
    world.repo.set_protection("main", strict);
    let repo = world.repo.clone();
    world.a().door.right_before(Op::UpdateBranch, move || {
        repo.push_commit("bob", "issue-1", &[("late.txt", "in")])
            .unwrap();
    });
    world.ci_says(issue, "test", "success").settle();
    assert_eq!(world.blocked(issue), None);
    assert!(!world.is_merged(issue));
    world.ci_says(issue, "test", "success").settle();
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
}

#[test]
fn nothing_is_merged_into_a_red_base_until_it_is_green_or_somebody_says_so() {
    let (world, issue) = with_a_pull_request();
    world.ci_says_of_main("failure");
    world.ci_says(issue, "test", "success").settle();
    assert_eq!(world.a().why(issue), "base_red");
    world.pass(Duration::from_secs(3600));
    world.settle();
    assert!(!world.is_merged(issue));
    world.ci_says_of_main("success").settle();
    assert!(world.is_merged(issue));

    let (world, issue) = with_a_pull_request();
    world.ci_says_of_main("failure");
    world.ci_says(issue, "test", "success").settle();
    let head = world.pr_head(issue);
    world.says(ANN, issue, &format!("/ghswarm merge {head}"));
    world.settle();
    assert!(world.is_merged(issue));
}

#[test]
fn a_red_merge_of_one_issue_holds_the_next_one_back() {
    let world = World::with(|rules| rules.policy.slots = 2);
    let first = world.opens_issue("Sell apples");
    let second = world.opens_issue("Sell pears");
    world.run_until_waits();
    world.ci_says(first, "test", "success").settle();
    assert!(world.is_merged(first));
    world.ci_says_of_main("failure");
    world.ci_says(second, "test", "success").settle();
    assert_eq!(world.blocked(first), Some(BlockedReason::MergeCiFailed));
    world.reads(first, "merge_ci_failed");
    assert_eq!(world.a().why(second), "base_red");
    assert!(!world.is_merged(second));
    // Its work is not paid for again meanwhile.
    assert_eq!(world.agent.runs(RunKind::Implement), 2);
    world.ci_says_of_main("success").resumes(first).settle();
    assert!(world.is_merged(second));
}
