//! What agents cost: booked once for each run, reserved before it, and held against the budgets.

use chrono::{Days, NaiveTime};

use crate::model::agent::spent;
use crate::model::ids::{Epoch, Timestamp};
use crate::model::labels::Status;
use crate::model::money::{Allowance, Spent};
use crate::model::run::{RunExit, RunFacts, RunKey, RunKind, RunStatus};
use crate::model::state::{BlockedReason, IssueState};

use super::signals::ClaimLabel;
use super::view::View;
use super::{Decision, Why, sandboxes};

/// Why no further agent may start.
pub(super) enum Stop {
    /// A budget of the issue is used up: a person has to grant more.
    Issue(String),
    /// That of the day is: tomorrow it goes on.
    Today(Timestamp, String),
}

/// The order of runs over the whole life of an issue.
fn place(key: &RunKey) -> (Epoch, u32) {
    (key.epoch, key.seq)
}

fn ended(run: &RunFacts) -> Option<&RunExit> {
    match &run.status {
        RunStatus::Ended(exit) => Some(exit),
        RunStatus::Reserved | RunStatus::Running { .. } => None,
    }
}

/// Books what ended since: each run of this home once, whatever state is written after it.
pub(super) fn settle(view: &View<'_>, state: &mut IssueState) {
    let after = state.settled.as_ref().map(place);
    let mut runs: Vec<&RunFacts> = view.seen.local.runs.iter().collect();
    runs.retain(|run| run.key.kind.is_agent() && Some(place(&run.key)) > after);
    runs.sort_by_key(|run| place(&run.key));
    for run in runs {
        // What never began may begin yet, under the same key.
        let Some(exit) = ended(run).filter(|exit| !sandboxes::never_began(exit)) else {
            continue;
        };
        let open = view.state.open_run.as_ref() == Some(&run.key);
        let reserved = if open {
            state.reserved
        } else {
            Spent::default()
        };
        let cost = cost(run, exit, reserved);
        if open {
            state.reserved = Spent::default();
        } else if cost.is_nothing() {
            continue;
        }
        if !(cost.is_nothing() && reserved.is_nothing()) {
            state.book(cost);
            state.settled = Some(run.key.clone());
        }
    }
}

/// A run that never came to say what it cost counts as what was reserved for it.
fn cost(run: &RunFacts, exit: &RunExit, reserved: Spent) -> Spent {
    let said = spent(&run.reports);
    let whole = run.reports.iter().all(|one| {
        let report = &one.report;
        report.turns > 0 || report.spent.is_nothing()
    });
    let lost = !whole || (exit.was_cut_off() && run.reports.is_empty());
    if lost {
        Spent {
            tokens: said.tokens.max(reserved.tokens),
            usd: said.usd.max(reserved.usd),
        }
    } else {
        said
    }
}

/// Reserves what the next run may cost. What the one before cost nobody will ever know by now.
pub(super) fn reserve(view: &View<'_>, state: &mut IssueState, kind: RunKind) {
    let open = view.state.open_run.as_ref().and_then(|key| view.run(key));
    if open.and_then(ended).is_some_and(sandboxes::never_began) {
        state.reserved = Spent::default();
    }
    if !state.reserved.is_nothing() {
        state.book(state.reserved);
        let lost = view.state.open_run.as_ref();
        let later = lost.filter(|key| Some(place(key)) > state.settled.as_ref().map(place));
        if let Some(key) = later {
            state.settled = Some(key.clone());
        }
        state.reserved = Spent::default();
    }
    if kind.is_agent() {
        state.reserved = view.policy.budget.run.in_full();
    }
}

/// What a run that starts now may cost.
pub fn allowance(view: &View<'_>) -> Allowance {
    let budget = &view.policy.budget;
    let mut state = view.state.clone();
    settle(view, &mut state);
    let issue = budget.issue.left(state.counted());
    let today = budget.day.left(view.seen.local.spent_today);
    budget.run.and(&issue).and(&today)
}

/// Is there anything left for another agent run?
pub(super) fn stop(view: &View<'_>, state: &IssueState) -> Option<Stop> {
    let cap = view.policy.max_agent_runs;
    let allowed = cap
        .saturating_add(state.extra_agent_runs)
        .saturating_add(state.limited_runs);
    if cap > 0 && state.total_agent_runs >= allowed {
        return Some(Stop::Issue(format!(
            "{} agent runs were used of {allowed} (`issue_max_agent_runs`)",
            state.total_agent_runs
        )));
    }
    let budget = &view.policy.budget;
    if let Some(reached) = budget.issue.reached(state.counted()) {
        return Some(Stop::Issue(reached.words("issue")));
    }
    let today = budget.day.reached(view.seen.local.spent_today)?;
    Some(Stop::Today(tomorrow(view.now)?, today.words("day")))
}

fn tomorrow(now: Timestamp) -> Option<Timestamp> {
    let day = now.date_naive().checked_add_days(Days::new(1))?;
    Some(day.and_time(NaiveTime::MIN).and_utc())
}

/// What is decided where a budget is used up.
pub(super) fn exhausted(view: &View<'_>) -> Option<Decision> {
    Some(match stop(view, &view.next_state())? {
        Stop::Issue(words) => view.block(BlockedReason::BudgetExhausted, words),
        Stop::Today(until, words) => {
            let wait = Decision::wait_until(until, Why::DayBudgetSpent { until, words });
            // Nobody needs the lease, or the slot, for a wait.
            view.rest(Status::Idle, ClaimLabel::Keep, wait)
        }
    })
}

/// The run was ended since it cost what it may.
pub(super) fn ended_over_budget(view: &View<'_>, run: &RunFacts, exit: &RunExit) -> Decision {
    let mut state = view.next_state();
    let reason = BlockedReason::BudgetExhausted;
    let words = match stop(view, &state) {
        Some(Stop::Today(..)) => {
            // No fault of the task: tomorrow it is tried again.
            state.open_run = None;
            let why = Why::RunEnded {
                kind: run.key.kind,
                ok: false,
                end: exit.end,
            };
            return view.write(state, why);
        }
        Some(Stop::Issue(words)) => words,
        None => exit.note.clone().unwrap_or_default(),
    };
    let detail = format!("{} `{}` was ended: {words}", run.key.kind, run.label);
    view.mark_blocked(&mut state, reason, detail);
    view.write(state, Why::Blocking { reason })
}
