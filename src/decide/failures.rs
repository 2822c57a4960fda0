//! An agent's run that failed: was it the work, or did the agent never get to it? Only the first is a try.

use std::time::Duration;

use crate::model::agent_stream::{AgentError, AgentErrorKind};
use crate::model::fingerprint::fingerprint;
use crate::model::ids::Timestamp;
use crate::model::labels::Status;
use crate::model::limits::{TRANSIENT_WAIT_FIRST, TRANSIENT_WAIT_MAX};
use crate::model::run::{RunEnd, RunExit, RunFacts, RunKey, RunKind};
use crate::model::state::{BlockedReason, IssueState};

use super::signals::ClaimLabel;
use super::view::View;
use super::{Decision, Why, runs, spending};

/// What a failed chain of agents means.
enum Verdict {
    /// One of them worked and failed.
    Failed,
    /// None got to work, since servers or the network failed.
    Transient(String),
    /// None got to work, and a usage limit is over then.
    Limited(Timestamp, String),
    /// None has an account that works.
    Account(String),
}

/// What follows from the end of an agent's run that did not succeed.
pub(super) fn after(view: &View<'_>, kind: RunKind, run: &RunFacts, exit: &RunExit) -> Decision {
    if exit.end == RunEnd::OverBudget {
        return spending::ended_over_budget(view, run, exit);
    }
    match verdict(run, exit) {
        Verdict::Failed => {
            let detail = runs::failure_text(run, exit);
            runs::retry(view, kind, BlockedReason::AgentFailed, &detail)
        }
        Verdict::Transient(words) => later(view, run, exit, &words),
        Verdict::Limited(until, words) => {
            let mut state = view.next_state();
            state.limited_runs = state.limited_runs.saturating_add(1);
            wait(view, state, run, (until, words))
        }
        Verdict::Account(words) => view.block(BlockedReason::AgentAuth, words),
    }
}

/// Every command has its say; the best hope counts.
fn verdict(run: &RunFacts, exit: &RunExit) -> Verdict {
    let errors: Vec<Option<&AgentError>> = run
        .reports
        .iter()
        .map(|one| one.report.error.as_ref())
        // The one after it began a new session.
        .filter(|error| error.is_none_or(|e| e.kind != AgentErrorKind::LostSession))
        .collect();
    let of = |kind: AgentErrorKind| {
        let known = errors.iter().flatten();
        known.filter(move |error| error.kind == kind)
    };
    let worked = errors.iter().any(|error| {
        error.is_none_or(|e| {
            matches!(
                e.kind,
                AgentErrorKind::Other | AgentErrorKind::PromptTooLong
            )
        })
    });
    // One that was ended while it asked its server again and again never got to work either.
    let by_itself = matches!(
        exit.end,
        RunEnd::Exited | RunEnd::IdleTimeout | RunEnd::TotalTimeout
    );
    if !by_itself || errors.is_empty() || worked {
        return Verdict::Failed;
    }
    let said = |error: &AgentError| error.words.clone();
    let endless = of(AgentErrorKind::Limited).find(|error| error.until.is_none());
    if let Some(error) = of(AgentErrorKind::Transient).next().or(endless) {
        return Verdict::Transient(said(error));
    }
    let first = of(AgentErrorKind::Limited).min_by_key(|error| error.until);
    if let Some((until, error)) = first.and_then(|error| Some((error.until?, error))) {
        return Verdict::Limited(until, said(error));
    }
    let words: Vec<String> = errors.iter().flatten().map(|error| said(error)).collect();
    Verdict::Account(words.join("; "))
}

/// Tried again later and later, a limited number of times.
fn later(view: &View<'_>, run: &RunFacts, exit: &RunExit, words: &str) -> Decision {
    let mut state = view.next_state();
    state.transient_retries = view.state.transient_retries.saturating_add(1);
    let times = state.transient_retries;
    if times > view.policy.max_transient {
        let reason = BlockedReason::AgentFailed;
        let how = runs::failure_text(run, exit);
        let detail = format!("{times} times in a row its server or network failed: {how}");
        view.mark_blocked(&mut state, reason, detail);
        return view.write(state, Why::Blocking { reason });
    }
    let until = view.now + backoff(times, &run.key);
    wait(view, state, run, (until, words.to_owned()))
}

/// Twice as long each time, and spread by the run's name so that issues do not come back all at once.
fn backoff(times: u32, key: &RunKey) -> Duration {
    let doublings = times.saturating_sub(1).min(16);
    let wait = TRANSIENT_WAIT_FIRST.saturating_mul(1 << doublings);
    let name = fingerprint(&key.folder(), &key.issue.to_string());
    let spread = u32::from_str_radix(name.get(..2).unwrap_or("80"), 16).unwrap_or(0x80);
    // From three quarters to five quarters.
    wait.min(TRANSIENT_WAIT_MAX) * (384 + spread) / 512
}

/// Collects the run and waits, without a claim: another home may have an agent that works.
fn wait(
    view: &View<'_>,
    mut state: IssueState,
    run: &RunFacts,
    (until, words): (Timestamp, String),
) -> Decision {
    state.open_run = None;
    state.busy_owner = None;
    state.busy_since = None;
    state.wait_until = Some(until);
    state.wait_reason = Some(format!("`{}`: {words}", run.label));
    let why = Why::RunEnded {
        kind: run.key.kind,
        ok: false,
        end: RunEnd::Exited,
    };
    view.write(state, why)
}

/// Nothing is claimed or started for an agent none of whose providers may be asked.
pub(super) fn paused(view: &View<'_>, kind: RunKind) -> Option<Decision> {
    let until = *view.seen.local.paused.get(&kind)?;
    let waiting = view.now < until && !view.seen.order.now;
    let wait = Decision::wait_until(until, Why::AgentPaused { kind, until });
    waiting.then(|| view.rest(Status::Idle, ClaimLabel::TakeOff, wait))
}

/// Did the agent fail like this the last time, too? Then nothing has moved, and nothing would. Of verify steps
/// that is asked where they are judged.
pub(super) fn repeats(
    view: &View<'_>,
    state: &mut IssueState,
    (reason, detail): (BlockedReason, &str),
) -> bool {
    if reason != BlockedReason::AgentFailed {
        state.last_failure = None;
        return false;
    }
    let open = view.state.open_run.as_ref().and_then(|key| view.run(key));
    let tail = open.map(|run| run.tail.as_str()).unwrap_or_default();
    let print = fingerprint(&reason.code(), &format!("{detail}\n{tail}"));
    let same = view.state.last_failure.as_ref() == Some(&print);
    state.last_failure = Some(print);
    same
}
