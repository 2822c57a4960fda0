//! People's labels are orders.

use ghswarm::decide::Order;
use ghswarm::engine::step::HowFar;
use ghswarm::model::run::RunKind;
use ghswarm::model::state::BlockedReason;
use ghswarm::sim::github::Op;
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

#[test]
fn an_order_given_right_before_our_own_label_is_not_lost() {
    for (order, why) in [
        ("status: blocked", "blocked_by_person"),
        ("status: completed", "completed_by_person"),
    ] {
        let world = World::new();
        let issue = world.opens_issue("Sell apples");
        let repo = world.repo.clone();
        world.a().door.right_before(Op::AddLabels, move || {
            repo.add_label(ANN, issue, order).unwrap();
        });
        world.settle();
        assert_eq!(world.a().why(issue), why, "{}", world.trace());
        assert_eq!(world.agent.keys(), [], "{order}");
        assert!(world.status(issue).contains(&order.to_owned()));
        assert_eq!(world.leases(), Vec::<String>::new());
        world.reads_everything();
    }
}

#[test]
fn an_order_given_right_before_the_idle_label_of_a_wait_is_not_lost() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    let repo = world.repo.clone();
    let door = world.a().door.clone();
    // The busy label comes first; the second one is that of the wait for the checks.
    door.right_before(Op::OpenPr, {
        let door = door.clone();
        move || {
            door.right_before(Op::AddLabels, move || {
                repo.add_label(ANN, issue, "status: blocked").unwrap();
            });
        }
    });
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::ByPerson));
    assert_eq!(world.status(issue), ["status: blocked"]);
    world.reads(issue, "by_person");
}

#[test]
fn every_order_to_stop_leaves_one_status_label_and_no_claim_label() {
    type Stop = fn(&World, u64) -> &World;
    let stops: [(Stop, &[&str]); 3] = [
        (
            |w, n| w.labels(ANN, n, "do-not-dispatch"),
            &["status: idle"],
        ),
        (|w, n| w.closes(ANN, n), &["status: idle"]),
        (
            |w, n| w.labels(ANN, n, "status: completed"),
            &["status: completed"],
        ),
    ];
    for (stop, left) in stops {
        let (world, issue) = in_the_run();
        stop(&world, issue).settle();
        assert_eq!(world.status(issue), left);
        assert!(!world.issue(issue).has_label("agent-claimed"));
        assert_eq!(world.leases(), Vec::<String>::new());
    }
}

#[test]
fn a_home_that_died_right_after_closing_gives_the_lease_back_when_it_is_back() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    world.ci_says(issue, "test", "success");
    let a = world.a();
    let step_until = |over: &dyn Fn() -> bool| {
        for _ in 0..40 {
            if over() {
                return;
            }
            world.wait(a.advance(issue, &Order::default(), HowFar::OneEffect));
        }
    };
    step_until(&|| world.is_merged(issue));
    world.ci_says_of_main("success");
    step_until(&|| !world.issue(issue).open);
    assert!(!world.issue(issue).open);
    assert!(a.has_claim(issue), "it died before it gave the lease back");
    a.restart();
    world.settle();
    world.expect_done(issue);
    assert_eq!(world.leases(), Vec::<String>::new());
}
