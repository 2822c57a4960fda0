//! Whose word a merge needs.

use ghswarm::decide::policy::ApprovalRule;
use ghswarm::model::state::BlockedReason;

use crate::world::{ANN, World};

fn waiting(rule: ApprovalRule) -> (World, u64) {
    let world = World::with(|rules| rules.policy.approval = rule);
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    world.ci_says(issue, "test", "success").settle();
    assert_eq!(world.a().why(issue), "approval_missing");
    assert!(!world.is_merged(issue));
    (world, issue)
}

#[test]
fn an_approval_by_a_trusted_person_is_enough() {
    let (world, issue) = waiting(ApprovalRule::GitHub);
    world.reviews("zoe", issue, "APPROVED").settle();
    assert!(!world.is_merged(issue), "an outsider approves nothing");
    world.reviews("bob", issue, "APPROVED").settle();
    assert!(world.is_merged(issue));
}

#[test]
fn an_approval_of_an_older_head_is_none() {
    let (world, issue) = waiting(ApprovalRule::GitHub);
    world.reviews("bob", issue, "APPROVED");
    world.pushes("zoe", "issue-1", "more.txt");
    world.ci_says(issue, "test", "success").settle();
    assert!(!world.is_merged(issue));
}

#[test]
fn a_bots_approval_is_no_humans() {
    let (world, issue) = waiting(ApprovalRule::Human);
    world.sim().add_user("helper[bot]");
    world
        .repo
        .set_access("helper[bot]", ghswarm::sim::github::model::Access::Write);
    world.reviews("helper[bot]", issue, "APPROVED").settle();
    assert!(!world.is_merged(issue));
    world.reviews("bob", issue, "APPROVED").settle();
    assert!(world.is_merged(issue));
}

#[test]
fn the_lone_owner_approves_by_a_command_that_names_the_head() {
    let (world, issue) = waiting(ApprovalRule::Human);
    let head = world.pr_head(issue);
    world.says("zoe", issue, &format!("/ghswarm merge {head}"));
    world.says(ANN, issue, "/ghswarm merge 0123456789");
    world.settle();
    assert!(!world.is_merged(issue));
    world.says(ANN, issue, &format!("/ghswarm merge {}", &head[..10]));
    world.settle();
    assert!(world.is_merged(issue));
}

#[test]
fn changes_requested_by_a_trusted_reviewer_block() {
    let (world, issue) = waiting(ApprovalRule::GitHub);
    world.reviews("bob", issue, "CHANGES_REQUESTED").settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::ReviewFeedback));
    world.reads(issue, "review_feedback");
    world
        .reviews("bob", issue, "APPROVED")
        .resumes(issue)
        .settle();
    assert!(world.is_merged(issue));
}

#[test]
fn an_outsiders_request_for_changes_stops_nothing() {
    let (world, issue) = waiting(ApprovalRule::GitHub);
    world.reviews("zoe", issue, "CHANGES_REQUESTED");
    world.reviews("bob", issue, "APPROVED").settle();
    assert!(world.is_merged(issue));
}
