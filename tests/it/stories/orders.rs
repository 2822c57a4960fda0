//! People's labels are orders.

use ghswarm::model::run::RunKind;
use ghswarm::model::state::BlockedReason;
use ghswarm::sim::local::{Performance, Takes};

use crate::world::{ANN, World};

/// A world in which the first run goes on.
fn in_the_run() -> (World, u64) {
    let world = World::new();
    world.agent.does(
        RunKind::Implement,
        1,
        Performance::success().takes(Takes::ForEver),
    );
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    assert_eq!(world.a().why(issue), "run_going");
    (world, issue)
}

#[test]
fn the_hold_label_ends_a_run_and_taking_it_off_starts_again() {
    let (world, issue) = in_the_run();
    world.labels(ANN, issue, "do-not-dispatch").settle();
    assert_eq!(world.a().home.live_runs(), []);
    assert_eq!(world.leases(), Vec::<String>::new());
    assert_eq!(world.a().why(issue), "on_hold");
    world
        .unlabels(ANN, issue, "do-not-dispatch")
        .ci_is_green()
        .settle();
    world.expect_done(issue);
}

#[test]
fn the_blocked_label_ends_a_run_and_idle_resumes() {
    let (world, issue) = in_the_run();
    world.labels(ANN, issue, "status: blocked").settle();
    assert_eq!(world.a().home.live_runs(), []);
    assert_eq!(world.blocked(issue), Some(BlockedReason::ByPerson));
    assert_eq!(world.status(issue), ["status: blocked"]);
    assert_eq!(world.leases(), Vec::<String>::new());
    world.reads(issue, "by_person");
    world.resumes(issue).ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn an_outsiders_idle_label_resumes_nothing() {
    let (world, issue) = in_the_run();
    world.labels(ANN, issue, "status: blocked").settle();
    world.reads(issue, "by_person");
    world
        .repo
        .set_access("tim", ghswarm::sim::github::model::Access::Write);
    world.labels("tim", issue, "status: idle");
    world
        .repo
        .set_access("tim", ghswarm::sim::github::model::Access::Read);
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::ByPerson));
}

#[test]
fn the_completed_label_stops_and_releases() {
    let (world, issue) = in_the_run();
    world.labels(ANN, issue, "status: completed").settle();
    assert_eq!(world.a().home.live_runs(), []);
    assert_eq!(world.leases(), Vec::<String>::new());
    assert_eq!(world.a().why(issue), "completed_by_person");
}

#[test]
fn an_issue_without_a_status_label_leaves_the_swarm() {
    let (world, issue) = in_the_run();
    let busy = world.status(issue).remove(0);
    world.unlabels(ANN, issue, &busy).settle();
    assert_eq!(world.a().home.live_runs(), []);
    assert_eq!(world.leases(), Vec::<String>::new());
    assert_eq!(world.a().why(issue), "not_managed");
    world
        .labels(ANN, issue, "status: idle")
        .ci_is_green()
        .settle();
    world.expect_done(issue);
}

#[test]
fn a_closed_issue_is_nobodys_work() {
    let (world, issue) = in_the_run();
    world.closes(ANN, issue).settle();
    assert_eq!(world.a().home.live_runs(), []);
    assert_eq!(world.leases(), Vec::<String>::new());
    assert_eq!(world.a().why(issue), "issue_closed");
}

#[test]
fn a_finished_issue_that_is_opened_again_stays_the_persons() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    world.ci_is_green().settle();
    world.expect_done(issue);
    world.repo.reopen_issue(ANN, issue).unwrap();
    let before = world.laws.effects();
    world.minutes(61).settle();
    assert_eq!(world.laws.effects(), before);
    assert!(world.issue(issue).open);
}

#[test]
fn a_label_within_the_second_of_our_last_look_is_not_missed() {
    let world = World::new();
    world
        .agent
        .always(RunKind::Implement, Performance::failure(1));
    let issue = world.opens_issue("Sell apples");
    world.settle();
    world.reads(issue, "agent_failed");
    world.agent.always(
        RunKind::Implement,
        Performance::success().file("a", "a").commit("A"),
    );
    // The blocked issue is looked at once more, and in that very second the label is set.
    world.says(ANN, issue, "I am looking into it.");
    world.run_until_waits();
    world.repo.add_label(ANN, issue, "status: idle").unwrap();
    world.ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn an_issue_without_labels_of_ours_is_never_touched() {
    let world = World::new();
    let issue = world.opens_labelled("zoe", ("Hello", "I like apples."), &[]);
    world.settle();
    assert_eq!(world.laws.effects(), 0);
    assert!(world.issue(issue).comments.is_empty());
}
