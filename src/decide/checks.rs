//! Are the checks of a commit green? Nothing but success is; no checks at all is *pending*.

use crate::model::checks::{CheckOutcome, CommitChecks};

/// The verdict over all checks of one commit.
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
    /// At least one succeeded and nothing speaks against.
    Green,
    /// At least one failed or timed out.
    Red(Vec<String>),
    /// At least one waits for a person, was cancelled, is stale, or says something unknown.
    Unclear(Vec<String>),
    /// All were skipped or neutral: none of them says yes.
    NothingRan,
}

/// Judges. Red beats everything (there is no use in waiting), unclear beats pending.
pub fn judge(checks: &CommitChecks) -> Verdict {
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

fn is_red(outcome: CheckOutcome) -> bool {
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
