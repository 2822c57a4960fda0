//! The pure core: what was seen goes in, one decision comes out.
//!
//! Total: every snapshot has a decision; nothing here fails, waits, reads a clock or names a door.
//! Guards come first, in one fixed order; then the phase speaks (one file a phase).

pub mod answers;
mod approval;
mod believe;
mod blocked;
pub mod board;
pub mod checks;
mod ci_red;
mod create_pr;
mod dependencies;
mod diff;
mod done;
pub mod effect;
mod failures;
mod fingerprint;
mod gate;
mod guards;
pub mod holding;
mod implement;
pub mod leases;
pub mod markers;
mod merge_gate;
pub mod policy;
mod review;
mod runs;
mod sandboxes;
mod signals;
pub mod snapshot;
pub mod spending;
mod state;
mod steps;
mod untrusted;
mod unverified;
mod verify_merge;
pub mod view;
mod wait_ci;
pub mod why;

#[cfg(test)]
mod tests;

pub use dependencies::held_back;
pub use effect::Effect;
pub use gate::TakeOver;
pub use guards::{Guard, GuardReport, explain};
pub use holding::Holding;
pub use policy::Policy;
pub use snapshot::{Order, Snapshot, Trouble};
pub use why::Why;

use crate::model::ids::Timestamp;
use crate::model::lease::ClaimProof;
use crate::model::phase::Phase;
use crate::model::run::{RunFacts, RunStatus};
use crate::model::state::BlockedReason;
use view::View;

/// What is to happen with an issue now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// One change; then look again.
    Do(Box<Effect>, Why),
    /// Nothing now.
    Wait {
        /// When to look again; `None`: at the next cycle.
        until: Option<Timestamp>,
        /// What is waited for.
        why: Why,
    },
    /// Nothing any more.
    Finished(Why),
}

impl Decision {
    pub(crate) fn act(effect: Effect, why: Why) -> Self {
        Self::Do(Box::new(effect), why)
    }

    pub(crate) fn wait(why: Why) -> Self {
        Self::Wait { until: None, why }
    }

    pub(crate) fn wait_until(until: Timestamp, why: Why) -> Self {
        Self::Wait {
            until: Some(until),
            why,
        }
    }

    /// The reason.
    pub fn why(&self) -> &Why {
        match self {
            Self::Do(_, why) | Self::Wait { why, .. } | Self::Finished(why) => why,
        }
    }
}

/// Decides. `now` is GitHub's clock where the snapshot is fresh.
pub fn decide(seen: &Snapshot, policy: &Policy, now: Timestamp) -> Decision {
    if seen.look.issue.is_none() {
        return gone(seen, policy);
    }
    let view = match View::of(seen, policy, now) {
        Ok(view) => view,
        Err(decision) => return *decision,
    };
    if let Some(decision) = guards::first(&view) {
        return decision;
    }
    by_phase(&view)
}

/// The effect that blocks the issue after the outside refused something that only a person can mend.
/// `None`: our claim does not hold, so nothing may be written; the next look decides.
pub fn refused(
    seen: &Snapshot,
    policy: &Policy,
    now: Timestamp,
    reason: BlockedReason,
    detail: &str,
) -> Option<Effect> {
    let view = View::of(seen, policy, now).ok()?;
    match view.block(reason, detail) {
        Decision::Do(effect, _) if matches!(*effect, Effect::WriteState(_)) => Some(*effect),
        Decision::Do(..) | Decision::Wait { .. } | Decision::Finished(_) => None,
    }
}

/// The issue was deleted or transferred: nothing is left to write to, so the run ends and the lease
/// goes back.
fn gone(seen: &Snapshot, policy: &Policy) -> Decision {
    let live = |run: &&RunFacts| matches!(run.status, RunStatus::Running { .. });
    if let Some(run) = seen.local.runs.iter().find(live) {
        return Decision::act(Effect::StopRun(run.key.clone()), Why::IssueGone);
    }
    let Some(record) = &seen.local.claim else {
        return Decision::Finished(Why::IssueGone);
    };
    let lease = policy.issue_ref(record.issue);
    let lease = lease.and_then(|name| seen.look.leases.get(&name));
    let ours = lease.is_some_and(|commit| ClaimProof::verify(commit, &record.claim).is_some());
    let effect = if ours {
        Effect::Release
    } else {
        Effect::DropClaim
    };
    Decision::act(effect, Why::IssueGone)
}

fn by_phase(view: &View<'_>) -> Decision {
    match view.phase() {
        Phase::Start | Phase::Implement => implement::decide(view),
        Phase::Simplify | Phase::AiReview => review::decide(view),
        Phase::CreatePr => create_pr::decide(view),
        Phase::WaitCi => wait_ci::decide(view),
        Phase::VerifyMerge => verify_merge::decide(view),
        Phase::Done => done::decide(view),
        Phase::WaitForClarification => blocked::resume_from_question(view),
    }
}
