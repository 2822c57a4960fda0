//! Whose turn it is: priority labels, age, and what an issue depends on.

use ghswarm::decide::Order;
use ghswarm::engine::step::HowFar;
use ghswarm::model::run::RunKind;
use ghswarm::sim::github::Op;
use ghswarm::sim::local::{Performance, Takes};

use crate::world::{ANN, World, body};

fn says(words: &str) -> String {
    format!("{words}\n\n{}", body(&["Do it"]))
}

fn long_work() -> Performance {
    Performance::success()
        .takes(Takes::ForEver)
        .file("a.txt", "a")
        .commit("Apples")
}

/// The issues in the order in which their agents began.
fn begun(world: &World) -> Vec<u64> {
    let mut begun = Vec::new();
    for key in world.agent.keys() {
        if !begun.contains(&key.issue.0) {
            begun.push(key.issue.0);
        }
    }
    begun
}

/// An issue that waits for others, with the reason's code.
fn expect_held_back(world: &World, issue: u64, code: &str) {
    assert_eq!(world.a().why(issue), code, "{}", world.trace());
    assert!(!begun(world).contains(&issue), "{}", world.trace());
    assert!(world.issue(issue).comments.is_empty());
}

#[test]
fn the_more_urgent_issue_comes_first_then_the_older_one() {
    let world = World::new();
    let low = world.opens_issue("Sell apples");
    let plain = world.opens_issue("Sell pears");
    let medium = world.opens_issue("Sell plums");
    let high = world.opens_issue("Put out the fire");
    world.labels(ANN, low, "priority: low");
    world.labels(ANN, medium, "Priority: Medium");
    world.labels(ANN, high, "priority: high");
    world.ci_is_green().settle();
    assert_eq!(begun(&world), [high, plain, medium, low]);
}

#[test]
fn without_priorities_the_oldest_comes_first() {
    let world = World::with(|rules| rules.policy.priorities.clear());
    let old = world.opens_issue("Sell apples");
    let high = world.opens_issue("Put out the fire");
    world.labels(ANN, high, "priority: high");
    world.ci_is_green().settle();
    assert_eq!(begun(&world), [old, high]);
}

#[test]
fn what_is_going_on_is_not_overtaken_by_what_is_urgent() {
    let world = World::new();
    world.agent.does(RunKind::Implement, 1, long_work());
    let old = world.opens_issue("Sell apples");
    world.run_until_waits();
    let high = world.opens_issue("Put out the fire");
    world.labels(ANN, high, "priority: high").run_until_waits();
    assert_eq!(begun(&world), [old]);
    world.a().home.finish_run(&world.agent.keys()[0]).unwrap();
    world.run_until_waits();
    let kinds: Vec<_> = world.agent.keys().iter().map(|key| key.issue.0).collect();
    assert_eq!(&kinds[..4], [old, old, old, high], "it reviews first");
    world.ci_is_green().settle();
    world.expect_done(old);
    world.expect_done(high);
}

#[test]
fn an_issue_waits_until_what_its_text_names_is_closed() {
    for words in ["Blocked by #1.", "depends on #1", "- [ ] #1"] {
        let world = World::new();
        world.agent.does(RunKind::Implement, 1, long_work());
        let first = world.opens_issue("Sell apples");
        let second = world.opens(ANN, "Sell cider", &says(words));
        world.labels(ANN, second, "priority: high").settle();
        expect_held_back(&world, second, "waits_on");
        world.a().home.finish_run(&world.agent.keys()[0]).unwrap();
        world.ci_is_green().settle();
        world.expect_done(first);
        world.expect_done(second);
        assert_eq!(begun(&world), [first, second]);
    }
}

#[test]
fn a_blocker_that_nobody_will_do_holds_nothing_back() {
    let world = World::new();
    let first = world.opens_labelled(ANN, ("Sell apples", "Later."), &[]);
    let second = world.opens(ANN, "Sell cider", &says("Blocked by #1, #2, #7."));
    world.settle();
    expect_held_back(&world, second, "waits_on");
    world.repo.close_as_not_planned(ANN, first).unwrap();
    world.ci_is_green().settle();
    world.expect_done(second);
}

#[test]
fn a_dependency_that_is_taken_out_of_the_text_holds_nothing_back() {
    let world = World::new();
    world.opens_labelled(ANN, ("Sell apples", "Later."), &[]);
    let second = world.opens(ANN, "Sell cider", &says("Blocked by #1."));
    world.settle();
    expect_held_back(&world, second, "waits_on");
    world.edits(ANN, second, |text| text.replace("Blocked by #1.", "Now."));
    world.ci_is_green().settle();
    world.expect_done(second);
}

#[test]
fn a_circle_is_told_and_costs_nothing_until_somebody_breaks_it() {
    let world = World::new();
    let first = world.opens(ANN, "Hen", &says("Depends on #2."));
    let second = world.opens(ANN, "Egg", &says("Here."));
    let third = world.opens(ANN, "Omelette", &says("Depends on #2."));
    world.repo.block_by(second, first);
    world.settle();
    expect_held_back(&world, first, "dependency_cycle");
    expect_held_back(&world, second, "dependency_cycle");
    expect_held_back(&world, third, "waits_on");
    assert_eq!(world.laws.effects(), 0);
    world.edits(ANN, first, |text| text.replace("Depends on #2.", "Lay."));
    world.ci_is_green().settle();
    assert_eq!(begun(&world), [first, second, third]);
}

#[test]
fn a_blocker_elsewhere_is_seen_by_githubs_count_alone() {
    let world = World::new();
    let issue = world.opens_issue("Sell apples");
    // A newer issue: the listing shows what changed last, and that is not the one that waits.
    world.opens_labelled(ANN, ("Sell pears", "Later."), &[]);
    world.repo.block_elsewhere(issue, 2);
    world.settle();
    expect_held_back(&world, issue, "waits_on");
    world.repo.block_elsewhere(issue, 0);
    world.settle();
    expect_held_back(&world, issue, "waits_on");
    // Nothing of this repository has changed by that: the hourly listing tells.
    world.minutes(61).ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn an_issue_waits_for_its_sub_issues() {
    let world = World::new();
    let parent = world.opens_issue("Sell fruit");
    let child = world.opens_issue("Sell apples");
    world.repo.add_sub_issue(parent, child);
    world.ci_is_green().settle();
    world.expect_done(child);
    world.expect_done(parent);
    assert_eq!(begun(&world), [child, parent]);
}

#[test]
fn what_is_begun_is_brought_to_its_end() {
    let world = World::new();
    world.agent.does(RunKind::Implement, 1, long_work());
    world.opens_labelled(ANN, ("Sell pears", "Later."), &[]);
    let issue = world.opens_issue("Sell apples");
    world.run_until_waits();
    world.edits(ANN, issue, |text| format!("{text}\nBlocked by #1.\n"));
    world.repo.block_by(issue, 1);
    world.a().home.finish_run(&world.agent.keys()[0]).unwrap();
    world.ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn a_person_may_begin_out_of_turn() {
    let world = World::new();
    world.opens_labelled(ANN, ("Sell pears", "Later."), &[]);
    let issue = world.opens(ANN, "Sell apples", &says("Blocked by #1."));
    world.settle();
    expect_held_back(&world, issue, "waits_on");
    let force = Order {
        now: true,
        ..Order::default()
    };
    let host = world.a();
    let advanced = world.wait(host.advance(issue, &force, HowFar::UntilItWaits));
    assert!(advanced.effects > 0, "{advanced:?}");
    world.ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn an_open_pull_request_that_is_named_holds_back_until_it_is_closed() {
    let world = World::new();
    world.agent.does(RunKind::Implement, 1, long_work());
    let first = world.opens_issue("Sell apples");
    world.run_until_waits();
    world.a().home.finish_run(&world.agent.keys()[0]).unwrap();
    world.run_until_waits();
    let pr = world.pr(first);
    let second = world.opens(ANN, "Sell cider", &says(&format!("Blocked by #{pr}.")));
    world.settle();
    expect_held_back(&world, second, "waits_on");
    world.ci_is_green().settle();
    world.expect_done(first);
    world.expect_done(second);
}

#[test]
fn all_that_wait_cost_one_listing_after_a_change_and_none_without() {
    let world = World::new();
    world.opens_labelled(ANN, ("Sell apples", "Later."), &[]);
    let other = world.opens_labelled(ANN, ("Sell pears", "Later."), &[]);
    for _ in 0..5 {
        let issue = world.opens(ANN, "Sell cider", &says("Blocked by #1."));
        world.repo.block_elsewhere(issue, 1);
    }
    world.settle();
    let asked = || {
        let before = world.sim().requests().len();
        world.run_until_waits();
        let asked = world.sim().requests().split_off(before);
        let asked = asked.iter().map(|r| (r.op, r.status));
        asked.collect::<Vec<_>>()
    };
    assert_eq!(asked(), [(Op::ListIssues, 304)]);
    world.says(ANN, other, "Soon.");
    let listings = [(Op::ListIssues, 200), (Op::ListIssues, 200)];
    assert_eq!(asked(), listings, "what changed, and the open issues");
}

#[test]
fn a_claim_by_hand_asks_nothing_about_dependencies() {
    use ghswarm::decide::TakeOver;
    use ghswarm::engine::claims::{ClaimOutcome, Wish};
    let world = World::new();
    world.opens_labelled(ANN, ("Sell pears", "Later."), &[]);
    let issue = world.opens(ANN, "Sell apples", &says("Blocked by #1."));
    let wish = Wish {
        lead: None,
        take_over: TakeOver::No,
    };
    let number = ghswarm::model::ids::IssueNumber(issue);
    let before = world.sim().requests().len();
    let engine = world.a().engine();
    let outcome = world.wait(engine.claim_by_hand(number, wish)).unwrap();
    assert!(matches!(outcome, ClaimOutcome::Claimed(_)), "{outcome:?}");
    let asked = world.sim().requests().split_off(before);
    let listings = asked.iter().filter(|r| r.op == Op::ListIssues);
    assert_eq!(listings.count(), 0, "{asked:#?}");
}
