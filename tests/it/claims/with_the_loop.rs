//! The loop leaves manual claims alone, on this machine and on others, and goes on after their release.

use ghswarm::model::run::RunKind;

use super::*;

#[test]
fn the_loop_leaves_a_claim_by_hand_alone_and_goes_on_after_its_release() {
    let (world, a, b, _) = two_homes();
    let issue = world.opens_issue("Sell apples");
    world.wins(&a, issue, PLAIN);
    let effects = world.laws.effects();
    for _ in 0..3 {
        world.run_until_waits();
        world.cycle(&b);
        world.minutes(130);
    }
    assert_eq!(world.laws.effects(), effects, "{}", world.trace());
    assert_eq!(a.why(issue), "claimed_by_hand");
    assert_eq!(b.why(issue), "claimed_by_comment");
    assert_eq!(world.status(issue), ["status: idle"]);
    world.expect_claimed(&a, issue);
    b.pauses();
    world.gives_back(&a, issue, &abandoned());
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
}

#[test]
fn a_claim_by_hand_asks_github_for_nothing_in_a_cycle() {
    let (world, a, _, _) = two_homes();
    let issue = world.opens_issue("Sell apples");
    world.wins(&a, issue, PLAIN);
    world.run_until_waits();
    let looks = a.door.passed().looks;
    world.minutes(1).run_until_waits();
    assert_eq!(a.door.passed().looks, looks);
}

#[test]
fn the_loop_reclaims_a_stale_claim_by_hand_of_its_own_home() {
    let (world, a, _, _) = two_homes();
    let issue = world.opens_issue("Sell apples");
    world.wins(&a, issue, PLAIN);
    a.pauses();
    world.minutes(25 * 60);
    a.goes_on();
    world.ci_is_green().settle();
    assert!(world.is_merged(issue), "{}", world.trace());
    let said = world.issue(issue).comments;
    assert!(
        said.iter()
            .any(|c| c.body.contains("\nReclaiming stale lock")),
        "{said:#?}"
    );
}

#[test]
fn the_loop_leaves_an_old_claim_with_an_open_pull_request_alone() {
    let (world, a, b, _) = two_homes();
    let issue = world.opens_issue("Sell apples");
    let claimed = world.wins(&a, issue, PLAIN);
    let pr = world.opens_pr(ANN, issue, claimed.branch.as_str());
    world.minutes(50 * 60);
    let effects = world.laws.effects();
    world.settle();
    assert_eq!(world.laws.effects(), effects, "{}", world.trace());
    assert_eq!(b.why(issue), "claimed_by_comment");
    world.merges(ANN, pr);
    world.gives_back(&a, issue, &merged(pr));
    world.settle();
    assert!(!world.issue(issue).open);
}

#[test]
fn a_claim_by_hand_of_an_issue_that_the_loop_waits_on_keeps_the_loops_state() {
    let (world, a, _, _) = two_homes();
    let issue = world.opens_issue("Sell apples");
    world.settle();
    let state = world.state(issue);
    assert_eq!(state.phase, "wait_ci");
    world.wins(&a, issue, PLAIN);
    world.minutes(10).settle();
    assert_eq!(world.state(issue), state);
    assert_eq!(world.mirrored_by_loop(issue).rev, state.rev);
    world.gives_back(&a, issue, &blocked());
    world.ci_is_green().settle();
    assert!(world.is_merged(issue), "{}", world.trace());
    assert!(!world.issue(issue).open);
}

#[test]
fn a_cycle_takes_back_a_claim_that_was_cut_off() {
    use ghswarm::sim::github::Op;
    for op in [
        Op::SwapRefs,
        Op::CreateComment,
        Op::AddAssignee,
        Op::AddLabels,
    ] {
        let (world, a, _, issue) = two_homes();
        let home = a.home.clone();
        a.door.right_before(op, move || home.kill_engine());
        world.claim(&a, issue, PLAIN).unwrap_err();
        a.restart();
        assert!(record(&a, issue).is_some());
        world.run_until_waits();
        world.expect_free(issue);
        assert_eq!(world.issue(issue).assignees, Vec::<String>::new());
    }
}
