//! What fails on this machine again and again, and who says so.

use ghswarm::decide::{Decision, Order};
use ghswarm::engine::StepOutcome;
use ghswarm::engine::step::HowFar;
use ghswarm::model::limits::TROUBLE_WAIT_MAX;
use ghswarm::model::run::RunKind;
use ghswarm::model::state::BlockedReason;
use ghswarm::sim::github::{Asked, Fault, FaultPlan, Op};
use ghswarm::sim::local::{FaultPoints, LocalFault, LocalOp, Performance, Takes};

use crate::world::World;

/// Cycles while hours go by.
fn hours_go_by(world: &World) {
    for _ in 0..8 {
        world.run_until_waits();
        world.pass(TROUBLE_WAIT_MAX + std::time::Duration::from_secs(1));
    }
}

fn resume(world: &World, issue: u64) {
    let order = Order {
        resume: true,
        ..Order::default()
    };
    world.wait(world.a().advance(issue, &order, HowFar::UntilItWaits));
}

#[test]
fn a_worktree_that_cannot_be_looked_at_blocks_after_some_tries_and_resumes() {
    let world = World::new();
    world.agent.does(
        RunKind::Implement,
        1,
        Performance::success().takes(Takes::ForEver),
    );
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    world.a().home.break_worktrees(Some("`.git` is gone"));
    world.run_until_waits();
    assert_eq!(world.blocked(issue), None, "once may be an accident");
    assert_eq!(world.a().why(issue), "trouble");
    hours_go_by(&world);
    assert_eq!(world.blocked(issue), Some(BlockedReason::WorktreeFailed));
    assert_eq!(world.status(issue), ["status: blocked"]);
    assert_eq!(world.a().home.live_runs(), []);
    let said = world.reads(issue, "worktree_failed");
    assert!(
        said.contains("`.git` is gone") && said.contains("ghswarm resume 1"),
        "{said}"
    );

    // The cause is still there: it stays blocked, and nothing is said twice.
    resume(&world, issue);
    hours_go_by(&world);
    assert_eq!(world.blocked(issue), Some(BlockedReason::WorktreeFailed));

    world.a().home.break_worktrees(None);
    resume(&world, issue);
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(
        world
            .a()
            .engine()
            .trouble(ghswarm::model::ids::IssueNumber(issue)),
        None
    );
}

#[test]
fn the_count_of_failures_survives_a_restart() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    world.a().home.break_worktrees(Some("not a directory"));
    for _ in 0..4 {
        world.run_until_waits();
        world.a().restart();
        world.minutes(16);
    }
    assert_eq!(world.blocked(issue), Some(BlockedReason::WorktreeFailed));
    world.reads(issue, "worktree_failed");
}

#[test]
fn a_run_that_cannot_be_started_blocks_after_some_tries() {
    let full = |_, op| (op == LocalOp::ReserveRun).then_some(LocalFault::Refuse);
    let world = World::failing(FaultPoints::ask(full), |_| {});
    let issue = world.opens_issue("Sell apples");
    hours_go_by(&world);
    assert_eq!(world.blocked(issue), Some(BlockedReason::WorktreeFailed));
    world.reads(issue, "worktree_failed");
    assert_eq!(world.leases(), Vec::<String>::new());
    world.points.stop();
    resume(&world, issue);
    world.ci_is_green().settle();
    world.expect_done(issue);
}

/// A person resumes twice, the second time after `mend`: the paid run is used.
fn is_not_paid_twice(world: &World, reason: BlockedReason, mend: impl FnOnce(&World)) {
    let left = Performance::success().file("apples.txt", "sold\n");
    world.agent.does(RunKind::Implement, 1, left);
    let issue = world.opens_issue("Sell apples");
    hours_go_by(world);
    assert_eq!(world.blocked(issue), Some(reason));
    world.reads(issue, &reason.code());
    resume(world, issue);
    hours_go_by(world);
    assert_eq!(
        world.blocked(issue),
        Some(reason),
        "the cause is still there"
    );
    world.reads(issue, &reason.code());
    mend(world);
    resume(world, issue);
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
}

#[test]
fn a_commit_that_failed_is_repeated_and_not_the_run_before_it() {
    let refused = |_, op| (op == LocalOp::Commit).then_some(LocalFault::Refuse);
    let world = World::failing(FaultPoints::ask(refused), |_| {});
    is_not_paid_twice(&world, BlockedReason::CommitFailed, |world| {
        world.points.stop();
    });
}

#[test]
fn work_that_could_not_be_saved_is_saved_and_not_done_again() {
    let world = World::new();
    world
        .a()
        .home
        .refuse_pushes(Some("no refs of that name here"));
    is_not_paid_twice(&world, BlockedReason::PushRefused, |world| {
        world.a().home.refuse_pushes(None);
    });
}

#[test]
fn a_sleeper_that_only_a_person_wakes_is_told_again_with_what_frees_it() {
    let world = World::new();
    let issue = world.opens("ann", "Sell apples", "No spec.");
    world.settle();
    world.minutes(1);
    world.settle();
    let report = world.cycle(&world.a());
    assert_eq!(report.issues, [], "it sleeps");
    let [stuck] = report.stuck.as_slice() else {
        panic!("{report:?}");
    };
    assert_eq!((stuck.issue.0, stuck.outcome), (issue, "blocked"));
    assert!(stuck.why.contains("GHSWARM_VERIFY"), "{stuck:?}");
    assert!(stuck.frees.is_some() && report.settled(), "{stuck:?}");
    world.reads(issue, "spec_missing");
}

#[test]
fn a_full_disk_is_waited_for_and_told_before_anything_is_paid() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    world
        .a()
        .home
        .fill_disk(Some("the disk of `/home` is full"));
    hours_go_by(&world);
    assert_eq!(world.a().why(issue), "local_trouble");
    let report = world.cycle(&world.a());
    assert_eq!(report.issues[0].outcome, "trouble", "`cycle` ends with 4");
    assert_eq!(world.a().home.runs_started(), 0);
    assert_eq!(world.leases(), Vec::<String>::new());
    let number = ghswarm::model::ids::IssueNumber(issue);
    let explained = world.wait(world.a().engine().explain(number, &Order::default()));
    let why = explained.unwrap().decision.why().to_string();
    assert!(why.contains("the disk of `/home` is full"), "{why}");
    world.a().home.fill_disk(None);
    world.ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn a_wait_after_failures_is_the_guard_that_stops_and_only_a_person_skips_it() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    let number = ghswarm::model::ids::IssueNumber(issue);
    world.a().home.break_worktrees(Some("not a directory"));
    world.run_until_waits();
    world.run_until_waits();
    let engine = world.a().engine();
    let until = engine.trouble(number).unwrap().until.unwrap();
    let explain = |order: &Order| world.wait(engine.explain(number, order)).unwrap();

    let explained = explain(&Order::default());
    let stops: Vec<_> = explained
        .guards
        .iter()
        .filter_map(|report| Some((report.guard.name, report.stops.as_ref()?.code())))
        .collect();
    assert_eq!(stops, [("local", "local_trouble".to_owned())]);
    let Decision::Wait {
        until: Some(wait),
        why,
    } = &explained.decision
    else {
        panic!("{:?}", explained.decision);
    };
    assert_eq!(*wait, until);
    let why = why.to_string();
    assert!(
        why.contains("failed 2 times in a row") && why.contains("not a directory"),
        "{why}"
    );

    // A step that nobody forces waits as well; what is forced is tried.
    let advance = |order: &Order| {
        let a = world.a();
        world.wait(a.advance(issue, order, HowFar::UntilItWaits))
    };
    let looks = || world.a().door.passed().looks;
    let before = looks();
    assert!(matches!(
        advance(&Order::default()).outcome,
        StepOutcome::Rests { until: wait, .. } if wait == until
    ));
    assert_eq!(looks(), before);
    world.a().home.break_worktrees(None);
    let force = Order {
        now: true,
        ..Order::default()
    };
    assert_ne!(explain(&force).decision.why().code(), "local_trouble");
    let forced = advance(&force).outcome;
    assert!(matches!(forced, StepOutcome::Waits { .. }), "{forced:?}");
    assert_eq!(engine.trouble(number), None);
}

#[test]
fn what_does_not_answer_is_left_alone_for_longer_and_longer() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    let looks = || world.a().door.passed().looks;
    let down = |asked: &Asked| (asked.op == Op::Look).then_some(Fault::RefuseBefore(503));
    world.sim().set_faults(FaultPlan::ask(down));
    let mut tried = Vec::new();
    for _ in 0..40 {
        let before = looks();
        world.run_until_waits();
        tried.push(looks() > before);
        world.pass(std::time::Duration::from_secs(60));
    }
    let times = tried.iter().filter(|looked| **looked).count();
    assert!((4..=9).contains(&times), "{tried:?}");
    assert_eq!(world.status(issue), ["status: idle"], "time may mend it");
}
