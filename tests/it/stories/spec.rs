//! The verify block: what done means.

use ghswarm::model::run::RunKind;
use ghswarm::model::state::BlockedReason;

use crate::world::{ANN, World, body};

#[test]
fn without_a_verify_block_nothing_runs_until_somebody_writes_one() {
    let world = World::new();
    let issue = world.opens(ANN, "Sell apples", "- [ ] Sell apples\n");
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::SpecMissing));
    assert_eq!(world.agent.keys(), []);
    world.reads(issue, "spec_missing");
    let block = "\n<!-- GHSWARM_VERIFY_START\nverify: make test\nGHSWARM_VERIFY_END -->\n";
    world.edits(ANN, issue, |text| format!("{text}{block}"));
    world.ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn a_broken_verify_block_says_where() {
    let world = World::new();
    let issue = world.opens(
        ANN,
        "Sell apples",
        "- [ ] apples\n\n<!-- GHSWARM_VERIFY_START\nverify: {a: [\nGHSWARM_VERIFY_END -->\n",
    );
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::VerifyInvalid));
    let said = world.reads(issue, "verify_invalid");
    assert!(said.contains("line "), "{said}");
    world.edits(ANN, issue, |text| text.replace("{a: [", "make test"));
    world.ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn an_empty_list_makes_ci_alone_the_gate() {
    let world = World::new();
    let text = body(&["apples"]).replace("verify: cargo test", "verify: []");
    let issue = world.opens(ANN, "Sell apples", &text);
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.agent.runs(RunKind::Verify), 0);
}

#[test]
fn an_issue_whose_tasks_are_all_ticked_has_nothing_to_start_with() {
    let world = World::new();
    let text = body(&["apples"]).replace("[ ]", "[x]");
    let issue = world.opens(ANN, "Sell apples", &text);
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::NoTasks));
    world.reads(issue, "no_tasks");
}

#[test]
fn tasks_in_code_and_details_are_not_tasks() {
    let world = World::new();
    let text = format!(
        "{}\n```\n- [ ] in code\n```\n<details>\n\n- [ ] in details\n\n</details>\n",
        body(&["apples"])
    );
    let issue = world.opens(ANN, "Sell apples", &text);
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.ticked(issue), ["apples"]);
    assert!(world.issue(issue).body.contains("- [ ] in code"));
}

#[test]
fn a_body_with_crlf_keeps_it() {
    let world = World::new();
    let text = body(&["apples"]).replace('\n', "\r\n");
    let issue = world.opens(ANN, "Sell apples", &text);
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert!(world.issue(issue).body.contains("- [x] apples\r\n"));
}
