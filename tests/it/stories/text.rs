//! The state block, and people who write into the same body.

use ghswarm::model::run::RunKind;
use ghswarm::model::state::BlockedReason;
use ghswarm::sim::github::Op;
use ghswarm::sim::local::{Performance, Takes};

use crate::world::{ANN, World, body};

/// A world in which the first run goes on.
fn in_the_run() -> (World, u64) {
    let world = World::new();
    let work = Performance::success()
        .takes(Takes::ForEver)
        .file("a.txt", "a")
        .commit("Apples");
    world.agent.does(RunKind::Implement, 1, work);
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    assert_eq!(world.a().why(issue), "run_going");
    (world, issue)
}

fn the_run_ends(world: &World) {
    let key = world.agent.keys()[0].clone();
    world.a().home.finish_run(&key).unwrap();
}

#[test]
fn a_damaged_state_block_is_restored_from_the_checkpoint() {
    let (world, issue) = in_the_run();
    world.edits(ANN, issue, |text| text.replace("\"rev\":", "\"rev\":,"));
    the_run_ends(&world);
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(
        world.state(issue).total_agent_runs,
        2,
        "no counter was reset"
    );
}

#[test]
fn a_deleted_state_block_is_restored_from_the_checkpoint() {
    let (world, issue) = in_the_run();
    world.edits(ANN, issue, ghswarm::model::body::without_our_blocks);
    the_run_ends(&world);
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
    assert_eq!(world.state(issue).total_agent_runs, 2);
}

#[test]
fn a_state_block_pasted_twice_is_restored_from_the_checkpoint() {
    let (world, issue) = in_the_run();
    world.edits(ANN, issue, |text| {
        let end = text.find("GHSWARM_STATE_END -->").unwrap() + "GHSWARM_STATE_END -->".len();
        format!("{}\n{text}", &text[..end])
    });
    the_run_ends(&world);
    world.ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn a_damaged_state_block_without_a_checkpoint_blocks_and_stays_as_it_is() {
    let world = World::new();
    let text = format!(
        "<!-- GHSWARM_STATE_START\n{{\"v\":1,,\"total_agent_runs\":7}}\nGHSWARM_STATE_END -->\n{}",
        body(&["apples"])
    );
    let issue = world.opens(ANN, "Sell apples", &text);
    world.settle();
    assert_eq!(world.status(issue), ["status: blocked"]);
    assert_eq!(world.issue(issue).body, text);
    assert_eq!(world.agent.keys(), []);
    assert_eq!(world.leases(), Vec::<String>::new());
    let said = world.reads(issue, "state_invalid");
    assert!(said.contains("line 2"), "{said}");

    world.edits(ANN, issue, |text| text.replace(",,", ","));
    world.resumes(issue).ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.state(issue).total_agent_runs, 9);
}

#[test]
fn an_edit_from_an_old_browser_tab_does_not_turn_counters_back() {
    let world = World::new();
    world
        .agent
        .does(RunKind::Verify, 1, Performance::failure(1));
    let work = Performance::success()
        .takes(Takes::ForEver)
        .file("b.txt", "b")
        .commit("B");
    world.agent.does(RunKind::Implement, 2, work);
    let issue = world.opens_issue("Sell apples");
    let old = world.issue(issue).body;
    world.run_until_waits();
    assert_eq!(world.state(issue).total_agent_runs, 2);
    world.edits(ANN, issue, |_| format!("{old}\nSweet ones.\n"));
    let key = world.agent.keys().last().unwrap().clone();
    world.a().home.finish_run(&key).unwrap();
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.state(issue).total_agent_runs, 3);
    assert!(world.issue(issue).body.contains("Sweet ones."));
}

#[test]
fn an_edit_between_look_and_write_is_never_lost_silently() {
    let (world, issue) = in_the_run();
    the_run_ends(&world);
    let repo = world.repo.clone();
    world.a().door.right_before(Op::UpdateIssue, move || {
        let text = repo.issue(issue).unwrap().body;
        repo.edit_body("bob", issue, &format!("{text}\nMind the worms.\n"))
            .unwrap();
    });
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::EditConflict));
    let said = world.reads(issue, "edit_conflict");
    assert!(said.contains("@bob"), "{said}");

    world.edits("bob", issue, |text| format!("{text}\nMind the worms.\n"));
    world.resumes(issue).ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn an_edit_after_our_write_is_simply_the_new_text() {
    let (world, issue) = in_the_run();
    world.edits("bob", issue, |text| format!("{text}\nMind the worms.\n"));
    the_run_ends(&world);
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert!(world.issue(issue).body.contains("Mind the worms."));
}

#[test]
fn a_state_of_a_newer_ghswarm_is_left_alone() {
    let world = World::new();
    let text = format!(
        "<!-- GHSWARM_STATE_START\n{{\"v\":9}}\nGHSWARM_STATE_END -->\n{}",
        body(&["apples"])
    );
    let issue = world.opens(ANN, "Sell apples", &text);
    world.settle();
    assert_eq!(world.a().why(issue), "newer_version");
    assert_eq!(world.issue(issue).body, text);
    assert_eq!(world.laws.effects(), 0);
}

#[test]
fn a_copied_issue_begins_afresh() {
    let (world, issue) = in_the_run();
    let copied = world.issue(issue).body;
    the_run_ends(&world);
    world.ci_is_green().settle();
    let copy = world.opens(ANN, "Sell apples again", &copied);
    world.settle();
    world.expect_done(copy);
    assert_eq!(world.state(copy).issue.map(|n| n.0), Some(copy));
    assert_eq!(world.state(copy).total_agent_runs, 2);
}

#[test]
fn a_body_near_githubs_limit_blocks_without_losing_a_letter() {
    let world = World::new();
    let text = format!("{}\n{}\n", body(&["apples"]), "ä".repeat(65_300));
    let issue = world.opens(ANN, "Sell apples", &text);
    world.settle();
    assert_eq!(world.status(issue), ["status: blocked"]);
    assert_eq!(world.issue(issue).body, text);
    world.reads(issue, "body_too_large");
    assert_eq!(world.leases(), Vec::<String>::new());

    world.edits(ANN, issue, |_| body(&["apples"]));
    world.resumes(issue).ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn a_deleted_issue_is_left_in_peace() {
    let (world, issue) = in_the_run();
    world.repo.delete_issue(issue);
    world.settle();
    assert_eq!(world.a().why(issue), "issue_gone");
    assert_eq!(world.leases(), Vec::<String>::new());
    assert_eq!(world.a().home.live_runs(), []);
}
