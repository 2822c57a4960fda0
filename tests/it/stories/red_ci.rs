//! Red checks: run again once, compared with the base, handed to the agent.

use ghswarm::model::run::RunKind;
use ghswarm::model::state::BlockedReason;
use ghswarm::sim::github::{Fault, FaultPlan, Op};
use ghswarm::sim::local::Performance;

use crate::world::World;

/// A world whose pull request waits for its checks.
fn with_a_pull_request() -> (World, u64) {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    (world, issue)
}

/// Its one job failed, ran again, and failed again.
fn failed_twice(world: &World, issue: u64) {
    world.ci_fails(issue, "test", "error: too few apples");
    world.settle();
    assert_eq!(world.a().why(issue), "checks_pending", "it runs again");
    world.ci_fails(issue, "test", "error: too few apples");
    world.settle();
}

#[test]
fn a_flaky_job_is_run_again_once_and_costs_no_agent() {
    let (world, issue) = with_a_pull_request();
    world.ci_says(issue, "lint", "success");
    world.ci_says(issue, "test", "failure").settle();
    assert_eq!(world.a().why(issue), "checks_pending");
    let checks = world.repo.snapshot().unwrap().checks;
    let again: Vec<u32> = checks.iter().map(|check| check.again).collect();
    assert_eq!(again, [0, 1], "only the failed one");
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
}

#[test]
fn a_job_that_fails_twice_goes_to_the_agent_with_its_log() {
    let (world, issue) = with_a_pull_request();
    let before = world.pr_head(issue);
    failed_twice(&world, issue);
    assert_eq!(world.agent.runs(RunKind::Implement), 2);
    let prompt = world.agent.prompt(RunKind::Implement, 2);
    assert!(prompt.contains("error: too few apples"), "{prompt}");
    assert!(prompt.contains("ci-1.log"), "{prompt}");
    // What it did was reviewed, verified and pushed, and its checks begin anew.
    assert_eq!(world.agent.runs(RunKind::Review), 2);
    assert_ne!(world.pr_head(issue), before);
    assert_eq!(world.prs(issue).len(), 1);
    assert_eq!(world.a().why(issue), "no_checks_yet");
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
    world.ci_says_of_main("success").settle();
    world.expect_done(issue);
    assert_eq!(world.state(issue).ci_fix_retries, 0);
}

#[test]
fn after_as_many_fixes_as_allowed_a_person_is_asked() {
    let (world, issue) = with_a_pull_request();
    failed_twice(&world, issue);
    failed_twice(&world, issue);
    assert_eq!(world.state(issue).ci_fix_retries, 2);
    failed_twice(&world, issue);
    assert_eq!(world.blocked(issue), Some(BlockedReason::CiFailed));
    let said = world.reads(issue, "ci_failed");
    assert!(said.contains("ci_fix_max_retries"), "{said}");
    assert_eq!(world.agent.runs(RunKind::Implement), 3);
    // A person's word starts the count again.
    world.resumes(issue).settle();
    assert_eq!(world.a().why(issue), "checks_pending");
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
}

#[test]
fn an_agent_that_changes_nothing_is_not_paid_again() {
    let (world, issue) = with_a_pull_request();
    world
        .agent
        .does(RunKind::Implement, 2, Performance::success());
    failed_twice(&world, issue);
    assert_eq!(world.blocked(issue), Some(BlockedReason::CiFailed));
    let said = world.reads(issue, "ci_failed");
    assert!(said.contains("changed nothing"), "{said}");
    assert_eq!(world.agent.runs(RunKind::Implement), 2);
    assert_eq!(world.agent.runs(RunKind::Review), 1);
}

#[test]
fn what_is_red_on_the_base_too_is_waited_for_and_then_taken_over() {
    let (world, issue) = with_a_pull_request();
    world.ci_says_of_main("failure");
    failed_twice(&world, issue);
    assert_eq!(world.a().why(issue), "base_red");
    world.minutes(600).settle();
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
    // Somebody mends the base; the branch gets it.
    let before = world.pr_head(issue);
    world.pushes("bob", "main", "mend.txt");
    world.ci_says_of_main("success").settle();
    let after = world.pr_head(issue);
    assert_ne!(before, after);
    assert_eq!(
        world.repo.file(&after, "mend.txt").unwrap().as_deref(),
        Some("by hand\n")
    );
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
}

#[test]
fn a_base_that_turns_green_by_itself_gives_the_branch_another_try() {
    let (world, issue) = with_a_pull_request();
    world.ci_says_of_main("failure");
    failed_twice(&world, issue);
    let head = world.pr_head(issue);
    world.ci_says_of_main("success").settle();
    assert_eq!(world.pr_head(issue), head, "it contains the base already");
    assert_eq!(world.a().why(issue), "checks_pending");
    world.ci_says(issue, "test", "success").settle();
    assert!(world.is_merged(issue));
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
}

#[test]
fn what_another_system_says_stands_in_the_prompt() {
    let (world, issue) = with_a_pull_request();
    let head = world.pr_head(issue);
    world
        .repo
        .set_status(&head, "coverage", "failure", Some("fell to 12%"))
        .unwrap();
    world.settle();
    assert_eq!(world.agent.runs(RunKind::Implement), 2);
    let prompt = world.agent.prompt(RunKind::Implement, 2);
    assert!(prompt.contains("coverage") && prompt.contains("fell to 12%"));
}

#[test]
fn a_log_that_is_gone_does_not_keep_the_agent_from_its_work() {
    let (world, issue) = with_a_pull_request();
    world.ci_fails(issue, "test", "error: too few apples");
    world.settle();
    world.ci_fails(issue, "test", "error: too few apples");
    world
        .sim()
        .set_faults(FaultPlan::next(Op::Log, 1, Fault::RefuseBefore(403)));
    world.settle();
    assert_eq!(world.agent.runs(RunKind::Implement), 2);
    let prompt = world.agent.prompt(RunKind::Implement, 2);
    assert!(prompt.contains("There is no log of it here"), "{prompt}");
}

#[test]
fn a_rerun_that_github_refuses_is_not_asked_for_again() {
    let (world, issue) = with_a_pull_request();
    world
        .sim()
        .set_faults(FaultPlan::next(Op::Rerun, 1, Fault::RefuseBefore(403)));
    world.ci_fails(issue, "test", "error: too few apples");
    world.settle();
    assert_eq!(world.a().why(issue), "rerun_asked");
    world.minutes(3).settle();
    assert_eq!(world.agent.runs(RunKind::Implement), 2);
}

#[test]
fn what_a_person_pushed_is_in_the_worktree_before_the_agent_mends() {
    let (world, issue) = with_a_pull_request();
    world.pushes("bob", "issue-1", "hint.txt").settle();
    failed_twice(&world, issue);
    assert_eq!(world.blocked(issue), None);
    assert_eq!(world.agent.runs(RunKind::Implement), 2);
    let head = world.pr_head(issue);
    assert!(world.repo.file(&head, "hint.txt").unwrap().is_some());
    let work = world.repo.file(&head, "work-1-2.txt").unwrap();
    assert!(work.is_some(), "and what the agent did");
}

#[test]
fn a_person_who_closes_the_pull_request_while_the_agent_mends_is_heard() {
    let (world, issue) = with_a_pull_request();
    let repo = world.repo.clone();
    let pr = world.pr(issue);
    world.ci_fails(issue, "test", "error: too few apples");
    world.settle();
    world.ci_fails(issue, "test", "error: too few apples");
    world
        .a()
        .door
        .right_before(Op::Log, move || repo.close_pr("bob", pr).unwrap());
    world.settle();
    assert!(!world.is_merged(issue));
    assert_eq!(world.prs(issue).len(), 1, "no second one is opened");
    assert_eq!(world.blocked(issue), Some(BlockedReason::PrClosed));
    world.reads(issue, "pr_closed");
}
