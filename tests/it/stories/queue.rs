//! A base with a merge queue: in, merged, let go.

use ghswarm::model::state::BlockedReason;
use ghswarm::sim::github::model::Protection;
use ghswarm::sim::github::{Fault, FaultPlan, Op};

use crate::world::World;

/// A world whose pull request is in the queue.
fn in_the_queue() -> (World, u64) {
    let world = World::new();
    let rules = Protection {
        merge_queue: true,
        strict: true,
        ..Protection::requiring(&["test"])
    };
    world.repo.set_ruleset("main", rules);
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    world.ci_says(issue, "test", "success").settle();
    assert_eq!(world.a().why(issue), "queued");
    assert!(!world.is_merged(issue));
    (world, issue)
}

#[test]
fn it_is_enqueued_followed_and_verified_once_the_queue_has_merged_it() {
    let (world, issue) = in_the_queue();
    // No lease is held, and nothing is done, however long it takes.
    assert_eq!(world.leases(), ["refs/leases/wip/issue-1"]);
    world.minutes(300).settle();
    assert_eq!(world.a().why(issue), "queued");
    world.repo.queue_merges(world.pr(issue)).unwrap();
    world.settle();
    assert!(world.issue(issue).open, "the merge commit has to be green");
    world.ci_says_of_main("success").settle();
    world.expect_done(issue);
}

#[test]
fn one_that_the_queue_lets_go_is_said_and_enqueued_again_only_on_a_persons_word() {
    let (world, issue) = in_the_queue();
    world.repo.queue_evicts(world.pr(issue)).unwrap();
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::MergeQueue));
    world.reads(issue, "merge_queue");
    world.resumes(issue).settle();
    assert_eq!(world.a().why(issue), "queued");
    world.repo.queue_merges(world.pr(issue)).unwrap();
    world.settle();
    world.ci_says_of_main("success").settle();
    world.expect_done(issue);
}

#[test]
fn a_push_takes_it_out_and_the_new_head_is_judged_anew() {
    let (world, issue) = in_the_queue();
    world.pushes("bob", "issue-1", "more.txt").settle();
    assert_eq!(world.blocked(issue), None);
    assert_ne!(world.a().why(issue), "queued");
    world.ci_says(issue, "test", "success").settle();
    assert_eq!(world.a().why(issue), "queued");
}

#[test]
fn a_lost_answer_does_not_enqueue_twice() {
    let world = World::new();
    let rules = Protection {
        merge_queue: true,
        ..Protection::requiring(&["test"])
    };
    world.repo.set_protection("main", rules);
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    world
        .sim()
        .set_faults(FaultPlan::next(Op::MergePr, 1, Fault::CutAfter));
    world.ci_says(issue, "test", "success").settle();
    assert_eq!(world.blocked(issue), None);
    assert_eq!(world.a().why(issue), "queued");
}

#[test]
fn a_person_who_closes_it_in_the_queue_is_heard() {
    let (world, issue) = in_the_queue();
    world.repo.close_pr("bob", world.pr(issue)).unwrap();
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::PrClosed));
    world.reads(issue, "pr_closed");
}
