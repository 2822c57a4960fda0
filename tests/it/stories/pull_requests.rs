//! Pull requests that people touch.

use ghswarm::model::state::BlockedReason;
use ghswarm::sim::github::model::PrStanding;
use ghswarm::sim::github::{Draft, Op};

use crate::world::{ANN, World};

fn with_a_pull_request() -> (World, u64) {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    (world, issue)
}

#[test]
fn a_pull_request_that_a_person_closed_is_not_waited_on() {
    let (world, issue) = with_a_pull_request();
    world.repo.close_pr("bob", world.pr(issue)).unwrap();
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::PrClosed));
    world.reads(issue, "pr_closed");
    world.resumes(issue).ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.prs(issue).len(), 2);
}

#[test]
fn a_pull_request_that_a_person_merged_is_finished() {
    let (world, issue) = with_a_pull_request();
    world.merges_by_hand("bob", issue).settle();
    assert!(world.issue(issue).open, "the merge commit is checked first");
    world.ci_says_of_main("success").settle();
    world.expect_done(issue);
}

#[test]
fn a_blocked_issue_whose_pull_request_a_person_merged_is_finished() {
    let (world, issue) = with_a_pull_request();
    world.ci_says(issue, "test", "cancelled").settle();
    world.reads(issue, "ci_unclear");
    world.merges_by_hand("bob", issue);
    world.ci_says_of_main("success").settle();
    world.minutes(61).settle();
    world.expect_done(issue);
}

#[test]
fn a_pushed_commit_is_looked_at_from_the_start_and_never_overwritten() {
    let (world, issue) = with_a_pull_request();
    world.ci_begins(issue, "test").settle();
    world.pushes("bob", "issue-1", "hand.txt").settle();
    assert_eq!(world.a().why(issue), "no_checks_yet");
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
    assert!(
        world
            .repo
            .file("refs/heads/main", "hand.txt")
            .unwrap()
            .is_some()
    );
    world.ci_says_of_main("success").settle();
    world.expect_done(issue);
}

#[test]
fn a_forks_branch_of_our_name_is_a_strangers() {
    let world = World::new();
    let fork = world.repo.fork("zoe").unwrap();
    fork.push_commit("zoe", "issue-1", &[("evil.txt", "evil")])
        .unwrap();
    let issue = world.opens_issue("Sell apples");
    let theirs = world
        .repo
        .open_pr("zoe", "Mine", "zoe:issue-1", "main")
        .unwrap();
    world.ci_is_green().settle();
    world.expect_done(issue);
    let theirs = world.repo.issue(theirs).unwrap().pr.unwrap();
    assert_eq!(
        theirs.standing,
        PrStanding::Open,
        "nobody merged the stranger's"
    );
    assert_eq!(
        world.repo.file("refs/heads/main", "evil.txt").unwrap(),
        None
    );
}

#[test]
fn a_draft_waits_until_it_is_ready() {
    let (world, issue) = with_a_pull_request();
    world.repo.set_draft(world.pr(issue), Draft::Yes);
    world.ci_says(issue, "test", "success").settle();
    assert_eq!(world.a().why(issue), "draft");
    world.repo.set_draft(world.pr(issue), Draft::No);
    world.settle();
    assert!(world.is_merged(issue));
}

#[test]
fn a_conflict_with_the_base_blocks() {
    let (world, issue) = with_a_pull_request();
    world
        .repo
        .push_commit("bob", "main", &[("work-1-1.txt", "other")])
        .unwrap();
    world.ci_says(issue, "test", "success").settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::MergeConflict));
    world.reads(issue, "merge_conflict");
}

#[test]
fn somebody_elses_open_pull_request_for_the_issue_stops_the_claim() {
    let world = World::new();
    world.pushes("bob", "bobs-apples", "b.txt");
    let issue = world.opens_issue("Sell apples");
    let pr = world
        .repo
        .open_pr("bob", "Apples", "bobs-apples", "main")
        .unwrap();
    world
        .repo
        .edit_body("bob", pr, &format!("Closes #{issue}"))
        .unwrap();
    world.settle();
    assert_eq!(world.a().why(issue), "other_pull_request");
    assert_eq!(world.laws.effects(), 0);
    world.repo.close_pr("bob", pr).unwrap();
    world.ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn a_refused_push_blocks_with_the_whole_reason() {
    let world = World::new();
    let reason = "refusing to allow an OAuth App to create `.github/workflows/ci.yml` without \
                  `workflow` scope";
    world.a().home.refuse_pushes(Some(reason));
    let issue = world.opens_issue("Sell apples");
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::PushRefused));
    let said = world.reads(issue, "push_refused");
    assert!(said.contains("`workflow` scope"), "{said}");
    world.a().home.refuse_pushes(None);
    world.resumes(issue).ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn work_that_lies_on_our_branch_already_is_gone_on_from() {
    let world = World::new();
    world.pushes(ANN, "issue-1", "begun.txt");
    let issue = world.opens_issue("Sell apples");
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert!(
        world
            .repo
            .file("refs/heads/main", "begun.txt")
            .unwrap()
            .is_some()
    );
}

#[test]
fn a_pull_request_closed_right_before_the_merge_asks_the_person_once() {
    let (world, issue) = with_a_pull_request();
    let (repo, pr) = (world.repo.clone(), world.pr(issue));
    world.a().door.right_before(Op::MergePr, move || {
        repo.close_pr("bob", pr).unwrap();
    });
    world.ci_says(issue, "test", "success").settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::PrClosed));
    world.reads(issue, "pr_closed");
    let said = world.issue(issue).comments;
    let refused = |body: &str| body.contains("merge_refused");
    assert!(!said.iter().any(|comment| refused(&comment.body)));
}
