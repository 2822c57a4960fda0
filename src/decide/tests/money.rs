//! Waits for money, and what is booked when.

use super::check;
use super::given::*;
use crate::decide::{Decision, Effect};
use crate::model::agent::CommandReport;
use crate::model::agent_stream::AgentReport;
use crate::model::ids::Epoch;
use crate::model::money::{Allowance, Spent, Usd};
use crate::model::phase::Phase;
use crate::model::run::{RunEnd, RunKey, RunKind, RunStatus};
use crate::model::state::IssueState;

pub(super) fn agent_paused() {
    let until = "2026-01-02T15:00:00Z".parse().unwrap();
    let given = snapshot().with(|given| {
        given.seen.local.paused.insert(RunKind::Implement, until);
    });
    check(
        &given,
        "wait: every implement agent is at its usage limit until 2026-01-02 15:00 UTC",
    );
    let now = given.with(|given| given.seen.order.now = true);
    check(&now, "claim: free");
}

pub(super) fn day_budget_spent() {
    let given = snapshot().with(|given| {
        given.policy.budget.day.tokens = 1000;
        given.seen.local.spent_today.tokens = 2000;
    });
    check(
        &given,
        "wait: 2,000 tokens were used of 1,000 (`budget.tokens.day`); it goes on at 2026-01-03 00:00 UTC",
    );
}

fn spent(tokens: u64, dollars: f64) -> Spent {
    Spent {
        tokens,
        usd: Usd::from_dollars(dollars),
    }
}

fn says(turns: u32, spent: Spent) -> CommandReport {
    CommandReport {
        command: 0,
        provider: "claude".to_owned(),
        skipped: false,
        report: AgentReport {
            spent,
            turns,
            ..AgentReport::default()
        },
    }
}

/// The state that is written after a failed run that said this.
fn written(status: RunStatus, reports: &[CommandReport], reserved: Spent) -> IssueState {
    let given = in_phase(Phase::Implement)
        .open_run(RunKind::Implement, Some(status))
        .worktree()
        .working()
        .state(|state| state.reserved = reserved)
        .with(|given| given.seen.local.runs[0].reports = reports.to_vec());
    written_by(&given)
}

fn written_by(given: &Given) -> IssueState {
    let Decision::Do(effect, _) = given.decide() else {
        panic!("{:?}", given.decide());
    };
    let Effect::WriteState(write) = *effect else {
        panic!("{effect:?}");
    };
    write.state
}

#[test]
fn a_run_is_booked_with_what_it_said() {
    let state = written(failed(), &[says(2, spent(700, 0.5))], spent(9000, 3.0));
    assert_eq!(state.spent(), spent(700, 0.5));
    assert_eq!(state.settled, Some(run_key(RunKind::Implement)));
}

#[test]
fn a_run_that_never_said_what_it_cost_is_booked_with_what_was_reserved() {
    let cut = [says(0, spent(700, 0.0))];
    let died = || ended(RunEnd::SupervisorDied, None);
    let state = written(died(), &cut, spent(0, 3.0));
    assert_eq!(state.spent(), spent(700, 3.0));
    assert_eq!(
        written(died(), &[], spent(9000, 3.0)).spent(),
        spent(9000, 3.0)
    );
}

#[test]
fn what_is_booked_is_not_booked_again() {
    let given = in_phase(Phase::Implement)
        .open_run(RunKind::Implement, Some(failed()))
        .worktree()
        .working()
        .state(|state| {
            state.tokens = 700;
            state.settled = Some(run_key(RunKind::Implement));
        })
        .with(|given| given.seen.local.runs[0].reports = vec![says(2, spent(700, 0.0))]);
    let tokens = given.view_of(|view| view.next_state().tokens);
    assert_eq!(tokens, 700);
}

#[test]
fn what_another_home_reserved_is_booked_by_the_next_reservation() {
    let theirs = RunKey {
        epoch: Epoch(100),
        ..run_key(RunKind::Implement)
    };
    let given = in_phase(Phase::Implement)
        .worktree()
        .working()
        .state(|state| {
            state.open_run = Some(theirs.clone());
            state.reserved = spent(9000, 3.0);
        })
        .with(|given| {
            given.policy.budget.run = Allowance {
                tokens: 50,
                usd: Usd::default(),
            };
        });
    let state = written_by(&given);
    assert_eq!(state.spent(), spent(9000, 3.0));
    assert_eq!(state.reserved, spent(50, 0.0));
    assert_eq!(state.settled, Some(theirs));
}

#[test]
fn a_run_that_never_began_costs_nothing_and_may_be_booked_later() {
    let given = in_phase(Phase::Implement)
        .open_run(
            RunKind::Implement,
            Some(ended(RunEnd::SandboxUnavailable, None)),
        )
        .worktree()
        .working()
        .state(|state| state.reserved = spent(9000, 3.0));
    let (state, anew) = given.view_of(|view| {
        let state = view.next_state();
        let mut anew = state.clone();
        crate::decide::spending::reserve(view, &mut anew, RunKind::Implement);
        (state, anew)
    });
    assert!(state.spent().is_nothing() && state.settled.is_none());
    assert!(anew.spent().is_nothing() && anew.reserved.is_nothing());
}
