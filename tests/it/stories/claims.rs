//! Who may work on an issue: leases, slots, and what people and other tools say.

use ghswarm::model::run::RunKind;
use ghswarm::sim::github::Op;
use ghswarm::sim::local::{Performance, Takes};

use crate::world::{ANN, World};

fn long_work() -> Performance {
    Performance::success()
        .takes(Takes::ForEver)
        .file("a.txt", "a")
        .commit("Apples")
}

#[test]
fn of_two_hosts_that_claim_at_once_one_works_and_the_other_writes_nothing() {
    let mut world = World::new();
    let b = world.add_host("b", ANN);
    world.agent.does(RunKind::Implement, 1, long_work());
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    let before = world.laws.effects();
    world.cycle(&b);
    assert_eq!(world.laws.effects(), before);
    assert_eq!(b.why(issue), "claimed_elsewhere");
    world.a().home.finish_run(&world.agent.keys()[0]).unwrap();
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
}

#[test]
fn the_loser_of_a_race_for_the_ref_writes_nothing_at_all() {
    let mut world = World::new();
    let b = world.add_host("b", ANN);
    world.agent.does(RunKind::Implement, 1, long_work());
    let issue = world.opens_issue("Sell apples");
    // Both have looked and found it free; the other one is faster with its swap.
    let foreign = foreign_lease(&world, issue);
    let repo = world.repo.clone();
    world.a().door.right_before(Op::SwapRefs, move || {
        repo.force_ref("refs/leases/issue-1", Some(&foreign))
            .unwrap();
    });
    world.cycle(&world.a());
    assert_eq!(world.a().why(issue), "claimed_elsewhere");
    assert!(!world.a().has_claim(issue));
    assert!(world.issue(issue).comments.is_empty());
    assert_eq!(world.status(issue), ["status: idle"]);
    assert_eq!(world.agent.keys(), []);
    drop(b);
}

/// A lease commit of another tool, thirty minutes good.
fn foreign_lease(world: &World, issue: u64) -> String {
    use ghswarm::ports::github::{GitHub as _, LookAt, NewCommit};
    let port = world.repo.port(ANN);
    let look = LookAt {
        issue: ghswarm::model::ids::IssueNumber(issue),
        branch: "issue-1".parse().unwrap(),
        base: "main".parse().unwrap(),
        leases: Vec::new(),
        refs: Vec::new(),
        merge_commit: None,
    };
    let look = world.wait(port.look(&look)).unwrap();
    let commit = NewCommit {
        message: format!("{{\"v\":1,\"issue\":{issue},\"owner\":\"other\",\"ttlMin\":30}}"),
        tree: look.base.unwrap().tree,
        parents: Vec::new(),
    };
    world
        .wait(port.create_commit(&commit))
        .unwrap()
        .0
        .to_string()
}

#[test]
fn another_tools_lease_is_respected_until_it_expires_and_the_steal_is_said() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    let foreign = foreign_lease(&world, issue);
    world
        .repo
        .force_ref("refs/leases/issue-1", Some(&foreign))
        .unwrap();
    world.ci_is_green().settle();
    assert_eq!(world.a().why(issue), "claimed_elsewhere");
    assert_eq!(world.laws.effects(), 0);
    world.minutes(32).settle();
    let said = world.reads(issue, "Reclaiming stale lock");
    assert!(said.contains("`other`"), "{said}");
    world.expect_done(issue);
}

#[test]
fn a_dead_holders_work_is_taken_over_after_its_lease_ran_out() {
    let mut world = World::new();
    let b = world.add_host("b", ANN);
    let issue = world.opens_issue("Sell apples");
    world.agent.does(
        RunKind::Review,
        1,
        Performance::success().takes(Takes::ForEver),
    );
    world.run_until_waits();
    assert_eq!(world.a().why(issue), "run_going");
    world.a().dies();
    world.cycle(&b);
    assert_eq!(b.why(issue), "claimed_elsewhere");
    world.minutes(32).ci_is_green().settle();
    world.reads(issue, "home-a");
    assert!(world.is_merged(issue), "{}", world.trace());
    assert_eq!(
        world.agent.runs(RunKind::Implement),
        1,
        "the saved work is gone on from"
    );
    world.a().restart();
    world.minutes(61).settle();
    world.expect_done(issue);
}

#[test]
fn a_lost_holder_that_comes_back_writes_nothing() {
    let mut world = World::new();
    let b = world.add_host("b", ANN);
    world.agent.does(RunKind::Implement, 1, long_work());
    world.agent.does(RunKind::Implement, 2, long_work());
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    world.a().loses_network();
    world.minutes(40);
    world.cycle(&b);
    world.reads(issue, "Reclaiming stale lock");
    assert_eq!(b.why(issue), "run_going");
    world.a().finds_network();
    world.settle();
    assert!(!world.a().has_claim(issue));
    assert_eq!(world.a().home.live_runs(), []);
    let key = world.agent.keys()[1].clone();
    b.home.finish_run(&key).unwrap();
    world.ci_is_green().settle();
    assert!(world.is_merged(issue));
}

#[test]
fn one_slot_makes_two_issues_take_turns() {
    let world = World::new();
    world.agent.does(RunKind::Implement, 1, long_work());
    let first = world.opens_issue("Sell apples");
    let second = world.opens_issue("Sell pears");
    world.run_until_waits();
    assert_eq!(world.a().home.live_runs().len(), 1);
    assert!(world.issue(second).comments.is_empty());
    world.a().home.finish_run(&world.agent.keys()[0]).unwrap();
    world.ci_is_green().settle();
    world.expect_done(first);
    world.expect_done(second);
}

#[test]
fn one_slot_holds_over_two_machines() {
    let mut world = World::new();
    let b = world.add_host("b", ANN);
    world.agent.does(RunKind::Implement, 1, long_work());
    let first = world.opens_issue("Sell apples");
    let second = world.opens_issue("Sell pears");
    world.run_until_waits();
    world.cycle(&b);
    assert_eq!(b.why(second), "no_slot");
    assert_eq!(b.home.live_runs(), []);
    world.a().home.finish_run(&world.agent.keys()[0]).unwrap();
    world.ci_is_green().settle();
    world.expect_done(first);
    world.expect_done(second);
}

#[test]
fn two_slots_let_two_issues_run() {
    let world = World::with(|rules| rules.policy.slots = 2);
    world.agent.does(RunKind::Implement, 1, long_work());
    world.agent.does(RunKind::Implement, 2, long_work());
    let first = world.opens_issue("Sell apples");
    let second = world.opens_issue("Sell pears");
    world.run_until_waits();
    assert_eq!(world.a().home.live_runs().len(), 2);
    for key in world.agent.keys() {
        world.a().home.finish_run(&key).unwrap();
    }
    world.settle();
    world.ci_is_green().settle();
    assert!(world.is_merged(first) && !world.issue(first).open);
    let _ = second;
}

#[test]
fn an_issue_that_is_assigned_to_somebody_else_is_theirs() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    assign(&world, issue, "bob");
    world.settle();
    assert_eq!(world.a().why(issue), "assigned_to");
    assert_eq!(world.laws.effects(), 0);
    unassign(&world, issue, "bob");
    world.ci_is_green().settle();
    world.expect_done(issue);
}

fn assign(world: &World, issue: u64, who: &str) {
    world.clock.advance(std::time::Duration::from_secs(1));
    world.repo.assign(ANN, issue, who).unwrap();
}

fn unassign(world: &World, issue: u64, who: &str) {
    world.clock.advance(std::time::Duration::from_secs(1));
    world.repo.unassign(ANN, issue, who).unwrap();
}

#[test]
fn a_manual_claim_is_respected_until_it_is_stale() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    let at = "2026-03-02T09:00:00Z";
    world.says(
        "bob",
        issue,
        &format!("<!-- claude-lock: operator=bob worktree=/w branch=b at={at} by=manual -->"),
    );
    world.settle();
    assert_eq!(world.a().why(issue), "claimed_by_comment");
    assert_eq!(world.laws.effects(), 0);
    world.minutes(24 * 60 + 1).ci_is_green().settle();
    let said = world.reads(issue, "Reclaiming stale lock");
    assert!(said.contains("bob"), "{said}");
    world.expect_done(issue);
}

#[test]
fn an_outsiders_marker_claims_nothing() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    let marker = "<!-- claude-lock: operator=zoe branch=b at=2026-03-02T09:00:00Z by=manual -->";
    world.says("zoe", issue, marker);
    world.ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn a_lease_that_a_person_deleted_comes_back_while_the_run_lives() {
    let world = World::new();
    world.agent.does(RunKind::Implement, 1, long_work());
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    world.repo.delete_ref("refs/leases/issue-1").unwrap();
    world.repo.delete_ref("refs/leases/slot-1").unwrap();
    world.settle();
    world.minutes(20);
    world.a().home.finish_run(&world.agent.keys()[0]).unwrap();
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
}

#[test]
fn a_claim_without_its_signals_is_completed_by_the_next_engine() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    let home = world.a().home.clone();
    world
        .a()
        .door
        .right_before(Op::AddAssignee, move || home.kill_engine());
    world.run_until_waits();
    world.a().restart();
    assert!(world.a().has_claim(issue));
    world.ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn another_operators_home_goes_on_where_ours_died() {
    let mut world = World::new();
    let b = world.add_host("b", "bob");
    let issue = world.opens_issue("Sell apples");
    world.agent.does(
        RunKind::Review,
        1,
        Performance::success().takes(Takes::ForEver),
    );
    world.run_until_waits();
    world.a().dies();
    world.minutes(32).ci_is_green().settle();
    world.reads(issue, "home-a");
    assert!(world.is_merged(issue), "{}", world.trace());
    assert!(!world.issue(issue).assignees.contains(&ANN.to_owned()));
    drop(b);
}

#[test]
fn a_steal_for_a_single_write_is_said_too_and_leaves_no_slot() {
    let mut world = World::new();
    let issue = world.opens_issue("Sell apples");
    let home = world.a().home.clone();
    world
        .a()
        .door
        .right_before(Op::OpenPr, move || home.kill_engine());
    world.run_until_waits();
    world.a().restart();
    world.a().dies();
    let b = world.add_host("b", ANN);
    world.minutes(32).ci_is_green().settle();
    world.reads(issue, "home-a");
    assert!(world.is_merged(issue) && !world.issue(issue).open);
    assert_eq!(world.leases(), Vec::<String>::new());
    drop(b);
}

/// The first home has opened the pull request, and another one does the rest; so many minutes later
/// the first one looks again.
fn another_home_finishes_and_the_first_looks_after(minutes: u64) {
    let mut world = World::new();
    world.add_host("b", ANN);
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    world.a().pauses();
    world.ci_is_green().settle();
    assert!(!world.issue(issue).open);
    assert!(world.a().has_worktree(issue));
    world.minutes(minutes);
    world.a().goes_on();
    world.settle();
    world.expect_done(issue);
}

#[test]
fn a_home_whose_work_another_one_finished_clears_its_worktree_away() {
    another_home_finishes_and_the_first_looks_after(1);
}

#[test]
fn a_home_that_was_away_when_another_one_finished_clears_its_worktree_away() {
    another_home_finishes_and_the_first_looks_after(61);
}

#[test]
fn a_worktree_without_a_run_is_cleared_away_too_when_another_home_finished() {
    let mut world = World::new();
    world.add_host("b", ANN);
    let issue = world.opens_issue("Sell apples");
    // The first home makes its worktree and is gone before anything runs in it.
    let home = world.a().home.clone();
    let door = world.a().door.clone();
    door.right_before(Op::UpdateIssue, move || home.kill_engine());
    world.run_until_waits();
    assert_eq!(world.agent.keys(), []);
    world.a().restart();
    assert!(world.a().has_worktree(issue));
    world.a().pauses();
    world.minutes(32).ci_is_green().settle();
    world.reads(issue, "home-a");
    assert!(!world.issue(issue).open);
    world.a().goes_on();
    world.settle();
    world.expect_done(issue);
}

#[test]
fn another_tools_busy_label_is_waited_on_and_then_reclaimed_with_a_word() {
    let world = World::new();
    let issue = world.opens_labelled(
        ANN,
        ("Sell apples", &crate::world::body(&["apples"])),
        &["status: busy-someone"],
    );
    world.ci_is_green().settle();
    assert_eq!(world.a().why(issue), "busy_label");
    assert_eq!(world.laws.effects(), 0, "{}", world.trace());
    world.minutes(119).settle();
    assert_eq!(world.laws.effects(), 0, "lock_ttl has not passed");
    world.minutes(2).settle();
    let said = world.reads(issue, "Reclaiming stale lock");
    assert!(said.contains("`status: busy-someone`"), "{said}");
    assert!(said.contains("2026-03-02 09:00"), "since when: {said}");
    world.expect_done(issue);
}

#[test]
fn our_own_busy_label_of_a_run_is_never_reclaimed_from_ourselves() {
    let world = World::new();
    world.agent.does(RunKind::Implement, 1, long_work());
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    world.minutes(180).settle();
    world.a().home.finish_run(&world.agent.keys()[0]).unwrap();
    world.ci_is_green().settle();
    world.expect_done(issue);
}
