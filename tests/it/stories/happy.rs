//! The way from a spec to a closed issue when nothing goes wrong.

use ghswarm::model::run::RunKind;

use crate::world::{ANN, World, body};

#[test]
fn an_issue_goes_from_spec_to_done() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");

    world.run_until_waits();
    assert_eq!(world.a().why(issue), "no_checks_yet");
    assert_eq!(world.status(issue), ["status: idle"]);
    assert_eq!(world.ticked(issue), ["Sell apples"]);
    assert_eq!(world.leases(), ["refs/leases/wip/issue-1"]);

    world.ci_says(issue, "test", "success").run_until_waits();
    assert!(world.is_merged(issue));
    assert!(
        world.issue(issue).open,
        "open until the merge commit is green"
    );

    world.ci_says_of_main("success").run_until_waits();
    world.expect_done(issue);
    assert_eq!(
        world.issue(issue).assignees,
        [ANN],
        "the assignee stays as credit"
    );
    let state = world.state(issue);
    assert_eq!((state.total_agent_runs, state.iteration), (2, 0));
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
    assert_eq!(world.agent.runs(RunKind::Verify), 1);
    assert_eq!(world.agent.runs(RunKind::Review), 1);
}

#[test]
fn a_green_world_needs_nobody() {
    let world = World::new();
    let issue = world.opens(ANN, "Sell fruit", &body(&["apples", "pears"]));
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.ticked(issue), ["apples", "pears"]);
}
