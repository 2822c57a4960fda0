//! Are the checks of a commit green? Nothing but success is; no checks at all is *pending*. Where the rules
//! name checks that have to succeed, only those count.

use crate::model::checks::{Check, CheckOutcome, CommitChecks};
use crate::model::rules::RequiredCheck;

/// The verdict over the checks of one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// None has appeared yet.
    NoneYet,
    /// Some are not finished, and none is red.
    Pending {
        /// Finished ones.
        done: usize,
        /// All.
        total: usize,
    },
    /// All have ended that began, and these required ones are not among them.
    Missing(Vec<String>),
    /// At least one succeeded and nothing speaks against; of required ones each succeeded.
    Green,
    /// At least one failed or timed out.
    Red(Vec<String>),
    /// At least one waits for a person, was cancelled, is stale, or says something unknown; of required ones
    /// also: was skipped, or is neutral.
    Unclear(Vec<String>),
    /// All were skipped or neutral: none of them says yes.
    NothingRan,
}

/// Judges: by the required checks, by all where none is required. Red beats everything (there is no use in
/// waiting), unclear beats pending.
pub fn judge(checks: &CommitChecks, required: &[RequiredCheck]) -> Verdict {
    if required.is_empty() {
        return judge_all(checks);
    }
    let all = &checks.checks;
    let total = required.len();
    let counts = |check: &&Check| required.iter().any(|wanted| wanted.is(check));
    let named = |wanted: fn(CheckOutcome) -> bool| -> Vec<String> {
        let checks = all.iter().filter(counts).filter(|c| wanted(c.outcome));
        checks.map(|check| check.name.clone()).collect()
    };
    let red = named(is_red);
    if !red.is_empty() {
        return Verdict::Red(red);
    }
    let unclear = named(|outcome| is_unclear(outcome) || says_nothing(outcome));
    if !unclear.is_empty() {
        return Verdict::Unclear(unclear);
    }
    let absent = |wanted: &&RequiredCheck| !all.iter().any(|check| wanted.is(check));
    let missing: Vec<String> = required
        .iter()
        .filter(absent)
        .map(|w| w.name.clone())
        .collect();
    let pending = named(|o| o == CheckOutcome::Pending).len();
    // A job that needs others has no check before they are done: while anything runs it may still come.
    let runs = all
        .iter()
        .any(|check| check.outcome == CheckOutcome::Pending);
    if pending > 0 || (runs && !missing.is_empty()) {
        let done = total - (pending + missing.len()).min(total);
        Verdict::Pending { done, total }
    } else if missing.is_empty() {
        Verdict::Green
    } else {
        Verdict::Missing(missing)
    }
}

fn judge_all(checks: &CommitChecks) -> Verdict {
    let named = |wanted: fn(CheckOutcome) -> bool| -> Vec<String> {
        let checks = checks.checks.iter().filter(|c| wanted(c.outcome));
        checks.map(|c| c.name.clone()).collect()
    };
    let red = named(is_red);
    if !red.is_empty() {
        return Verdict::Red(red);
    }
    let unclear = named(is_unclear);
    if !unclear.is_empty() {
        return Verdict::Unclear(unclear);
    }
    let total = checks.checks.len();
    let pending = named(|o| o == CheckOutcome::Pending).len();
    if total == 0 {
        Verdict::NoneYet
    } else if pending > 0 {
        let done = total - pending;
        Verdict::Pending { done, total }
    } else if named(|o| o == CheckOutcome::Success).is_empty() {
        Verdict::NothingRan
    } else {
        Verdict::Green
    }
}

pub(super) fn is_red(outcome: CheckOutcome) -> bool {
    matches!(outcome, CheckOutcome::Failure | CheckOutcome::TimedOut)
}

fn is_unclear(outcome: CheckOutcome) -> bool {
    matches!(
        outcome,
        CheckOutcome::ActionRequired
            | CheckOutcome::Cancelled
            | CheckOutcome::Stale
            | CheckOutcome::Unknown
    )
}

/// To GitHub a required check that was skipped has passed. It has not said yes.
fn says_nothing(outcome: CheckOutcome) -> bool {
    matches!(outcome, CheckOutcome::Neutral | CheckOutcome::Skipped)
}
