//! What agents cost, what they may cost, and what becomes of an issue whose agent never got to work.

use ghswarm::decide::Order;
use ghswarm::engine::step::HowFar;
use ghswarm::model::agent_stream::{AgentError, AgentErrorKind, AgentReport};
use ghswarm::model::ids::Timestamp;
use ghswarm::model::money::{Allowance, Spent, Usd};
use ghswarm::model::run::{RunEnd, RunKind};
use ghswarm::model::state::BlockedReason;
use ghswarm::ports::clock::Clock;
use ghswarm::sim::local::Performance;

use crate::world::World;

fn costs(tokens: u64, dollars: f64) -> AgentReport {
    AgentReport {
        spent: Spent {
            tokens,
            usd: Usd::from_dollars(dollars),
        },
        turns: 3,
        ..AgentReport::default()
    }
}

fn fails(kind: AgentErrorKind, words: &str, until: Option<Timestamp>) -> Performance {
    let error = AgentError {
        until,
        ..AgentError::new(kind, words)
    };
    Performance::failure(1).says(AgentReport {
        error: Some(error),
        ..AgentReport::default()
    })
}

fn in_minutes(world: &World, minutes: i64) -> Timestamp {
    world.clock.now() + chrono::Duration::minutes(minutes)
}

/// An agent that works, and costs this much.
fn works(file: &str, report: AgentReport) -> Performance {
    Performance::success()
        .file(file, "done\n")
        .commit("Do the work")
        .says(report)
}

#[test]
fn a_usage_limit_is_waited_out_and_costs_no_try() {
    let world = World::with(|rules| rules.policy.max_agent_runs = 2);
    let limit = fails(
        AgentErrorKind::Limited,
        "You've hit your 5-hour limit",
        Some(in_minutes(&world, 150)),
    );
    world.agent.does(RunKind::Implement, 1, limit);
    let issue = world.opens_issue("Sell apples");
    world.settle();
    assert_eq!(world.blocked(issue), None);
    assert_eq!(world.status(issue), ["status: idle"]);
    assert!(world.leases().is_empty(), "nobody waits for this home");
    let state = world.state(issue);
    assert_eq!((state.iteration, state.limited_runs), (0, 1));
    assert_eq!(world.a().why(issue), "backoff");
    let reason = state.wait_reason.unwrap();
    assert!(
        reason.contains("`claude`: You've hit your 5-hour limit"),
        "{reason}"
    );

    world.minutes(120).settle();
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
    world.minutes(40).ci_is_green().settle();
    world.expect_done(issue);
    // Both runs that count were needed: the one that met the limit did not count.
    assert_eq!(world.state(issue).total_agent_runs, 3);
}

#[test]
fn while_every_agent_is_limited_no_other_issue_is_begun() {
    let world = World::new();
    let limit = fails(
        AgentErrorKind::Limited,
        "limit",
        Some(in_minutes(&world, 60)),
    );
    world.agent.does(RunKind::Implement, 1, limit);
    let first = world.opens_issue("Sell apples");
    world.settle();
    let second = world.opens_issue("Sell pears");
    world.settle();
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
    assert!(world.leases().is_empty(), "nothing is claimed for nothing");
    assert_eq!(world.a().why(second), "agent_paused");
    // A person who knows better is believed.
    let order = Order {
        now: true,
        ..Order::default()
    };
    let a = world.a();
    world.wait(a.advance(second, &order, HowFar::UntilItWaits));
    world.ci_is_green().settle();
    world.expect_done(second);
    world.minutes(61).settle();
    world.expect_done(first);
}

#[test]
fn a_server_that_is_overloaded_is_asked_later_and_later_and_not_for_ever() {
    let world = World::with(|rules| rules.policy.max_transient = 3);
    let overloaded = fails(AgentErrorKind::Transient, "API Error: 529", None);
    world.agent.always(RunKind::Implement, overloaded);
    let issue = world.opens_issue("Sell apples");
    let mut waits = Vec::new();
    for runs in 1..=3 {
        world.settle();
        assert_eq!(world.agent.runs(RunKind::Implement), runs);
        let state = world.state(issue);
        assert_eq!(state.iteration, 0);
        let wait = state.wait_until.unwrap() - world.clock.now();
        waits.push(wait.num_seconds());
        world.pass(wait.to_std().unwrap() + std::time::Duration::from_secs(1));
    }
    assert!(waits.is_sorted_by(|a, b| *b > a + a / 4), "{waits:?}");
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::AgentFailed));
    let said = world.reads(issue, "agent_failed");
    assert!(said.contains("API Error: 529"), "{said}");

    world.agent.calms_down();
    world.resumes(issue).ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.state(issue).transient_retries, 0);
}

#[test]
fn an_agent_without_an_account_is_never_tried_again_by_itself() {
    let world = World::new();
    let out = fails(
        AgentErrorKind::Account,
        "Not logged in · Please run /login",
        None,
    );
    world.agent.does(RunKind::Implement, 1, out);
    let issue = world.opens_issue("Sell apples");
    world.settle().minutes(600).settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::AgentAuth));
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
    let said = world.reads(issue, "agent_auth");
    assert!(said.contains("Please run /login"), "{said}");
    assert!(said.contains("Log the agent in"), "{said}");
    world.resumes(issue).ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn what_agents_cost_is_booked_once_and_shown_on_the_issue() {
    let world = World::new();
    let implement = works("a.txt", costs(1_000_000, 1.5));
    world.agent.does(RunKind::Implement, 1, implement);
    let review = Performance::success().says(costs(234_567, 0.25));
    world.agent.does(RunKind::Review, 1, review);
    let issue = world.opens_issue("Sell apples");
    world.ci_is_green().settle();
    world.expect_done(issue);
    let state = world.state(issue);
    assert_eq!(state.spent(), costs(1_234_567, 1.75).spent);
    let comments = world.issue(issue).comments;
    let receipt = "agent runs: 2, 1,234,567 tokens, $1.75";
    assert!(comments.iter().any(|one| one.body.contains(receipt)));
    let receipt = "implement `claude` cost 1,000,000 tokens, $1.50 in 3 turns";
    assert!(world.trace().contains(receipt), "{}", world.trace());
}

#[test]
fn the_budget_of_an_issue_ends_it_and_a_person_grants_it_once_more() {
    let world = World::with(|rules| {
        rules.policy.budget.issue = Allowance {
            tokens: 500,
            usd: Usd::default(),
        };
    });
    let implement = works("a.txt", costs(600, 0.0));
    world.agent.does(RunKind::Implement, 1, implement);
    let issue = world.opens_issue("Sell apples");
    world.ci_is_green().settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::BudgetExhausted));
    assert_eq!(world.agent.runs(RunKind::Review), 0);
    let said = world.reads(issue, "budget_exhausted");
    assert!(said.contains("600 tokens were used of 500"), "{said}");

    let order = Order {
        resume: true,
        more_runs: 1,
        ..Order::default()
    };
    let a = world.a();
    world.wait(a.advance(issue, &order, HowFar::UntilItWaits));
    world.settle();
    world.expect_done(issue);
    assert_eq!(world.state(issue).tokens, 600);
}

#[test]
fn a_run_that_costs_what_it_may_is_ended_and_a_person_asked() {
    let world = World::with(|rules| {
        rules.policy.budget.run = Allowance {
            tokens: 0,
            usd: Usd::from_dollars(2.0),
        };
    });
    let cut = AgentReport {
        turns: 0,
        ..costs(5000, 0.0)
    };
    let ended = Performance::ended(RunEnd::OverBudget).says(cut);
    world.agent.does(RunKind::Implement, 1, ended);
    let issue = world.opens_issue("Sell apples");
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::BudgetExhausted));
    world.reads(issue, "budget_exhausted");
    // It never came to say what it cost in dollars, so all that it might have counts.
    assert_eq!(world.state(issue).spent(), costs(5000, 2.0).spent);
}

#[test]
fn the_budget_of_a_day_is_waited_out() {
    let world = World::with(|rules| {
        rules.policy.budget.day = Allowance {
            tokens: 500,
            usd: Usd::default(),
        };
    });
    let implement = works("a.txt", costs(600, 0.0));
    world.agent.does(RunKind::Implement, 1, implement);
    let issue = world.opens_issue("Sell apples");
    world.ci_is_green().settle();
    assert_eq!(world.blocked(issue), None);
    assert_eq!(world.agent.runs(RunKind::Review), 0);
    assert_eq!(world.leases(), ["refs/leases/wip/issue-1"]);
    assert_eq!(world.a().why(issue), "day_budget_spent");
    world.minutes(24 * 60).settle();
    world.expect_done(issue);
}

#[test]
fn the_same_failure_twice_in_a_row_ends_the_retries() {
    let world = World::with(|rules| rules.policy.max_retries = 8);
    let fails = Performance::failure(1).print("3 tests failed in 0.41 s");
    world.agent.does(RunKind::Verify, 1, fails);
    let again = Performance::failure(1).print("3 tests failed in 0.52 s");
    world.agent.does(RunKind::Verify, 2, again);
    let issue = world.opens_issue("Sell apples");
    world.settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::VerifyFailed));
    assert_eq!(world.agent.runs(RunKind::Implement), 2);
    let said = world.reads(issue, "verify_failed");
    assert!(said.contains("the same failure came twice"), "{said}");
    world.resumes(issue).ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn a_failure_that_changes_is_tried_on() {
    let world = World::with(|rules| rules.policy.max_retries = 8);
    for (nth, words) in ["a is red", "b is red", "a is red", "c is red"]
        .into_iter()
        .enumerate()
    {
        let fails = Performance::failure(1).print(words);
        world.agent.does(RunKind::Verify, nth + 1, fails);
    }
    let issue = world.opens_issue("Sell apples");
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert_eq!(world.agent.runs(RunKind::Implement), 5);
}
