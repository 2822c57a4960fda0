//! Set-up and verify steps: runs that cost no agent. One that was cut off from outside (its supervisor was
//! killed, the machine went down) says nothing about the work, so it is begun again and nothing is paid.

use crate::model::limits::STEP_REPEATS_MAX;
use crate::model::run::{RunExit, RunFacts, RunKey, RunKind, RunStatus};
use crate::model::state::BlockedReason;

use super::effect::Effect;
use super::runs::{failure_text, going, start};
use super::view::View;
use super::{Decision, Why, fingerprint, sandboxes};

/// How such a run stands.
enum Standing<'a> {
    /// It is to be started, under this key.
    Next(RunKey),
    /// It goes on.
    Going(Decision),
    Succeeded,
    Failed(&'a RunFacts, &'a RunExit),
    /// Every repetition was cut off, the last one like this.
    CutOff(String),
}

/// The run `first`, or the repetition of it that counts.
fn standing<'a>(view: &View<'a>, first: &RunKey) -> Standing<'a> {
    let mut last = String::new();
    for again in 0..=STEP_REPEATS_MAX {
        let key = RunKey {
            again,
            ..first.clone()
        };
        match view.run(&key).map(|run| (run, &run.status)) {
            None | Some((_, RunStatus::Reserved)) => return Standing::Next(key),
            Some((_, RunStatus::Running { since, frozen })) => {
                return Standing::Going(going(&key, *since, *frozen));
            }
            Some((run, RunStatus::Ended(exit))) if exit.success() => match moved(view, run) {
                None => return Standing::Succeeded,
                Some(how) => last = how,
            },
            // Nothing of it ran, since there was no container for it.
            Some((_, RunStatus::Ended(exit))) if sandboxes::never_began(exit) => {
                return Standing::Next(key);
            }
            Some((run, RunStatus::Ended(exit))) if exit.was_cut_off() => {
                last = failure_text(run, exit);
            }
            Some((run, RunStatus::Ended(exit))) => return Standing::Failed(run, exit),
        }
    }
    let times = STEP_REPEATS_MAX + 1;
    Standing::CutOff(format!(
        "{last}, {times} times in a row, without saying anything about the work"
    ))
}

/// A verify run whose commits, or a person's, came in between judged another head than the one that stands
/// there: it says nothing about this one. `None`: it judged what is there.
fn moved(view: &View<'_>, run: &RunFacts) -> Option<String> {
    let (judged, tree) = (run.head.as_ref()?, view.worktree()?);
    let moved = run.key.kind == RunKind::Verify && *judged != tree.head;
    moved.then(|| {
        let (label, from, to) = (&run.label, judged.short(), tree.head.short());
        format!("the branch moved from {from} to {to} while `{label}` ran, which must not commit anything")
    })
}

/// Prepares a new worktree.
pub(super) fn set_up(view: &View<'_>) -> Option<Decision> {
    if !view.policy.setup || view.worktree().is_some_and(|tree| tree.set_up) {
        return None;
    }
    let proof = view.proof()?;
    let key = RunKey {
        issue: view.issue.number,
        epoch: proof.epoch(),
        seq: view.state.attempt,
        kind: RunKind::Setup,
        again: 0,
    };
    let what = "the worktree is set up";
    Some(match standing(view, &key) {
        Standing::Next(key) => start(view, &key),
        Standing::Going(decision) => decision,
        Standing::Succeeded => Decision::act(Effect::MarkSetUp, Why::Next { what }),
        Standing::Failed(run, exit) => {
            view.block(BlockedReason::SetupFailed, failure_text(run, exit))
        }
        Standing::CutOff(detail) => view.block(BlockedReason::SetupFailed, detail),
    })
}

/// How far the verify steps that follow a run are.
pub(super) enum Verified {
    /// They succeeded, or there are none.
    Yes,
    /// They have to be started or waited for, or cannot be run here.
    NotYet(Decision),
    /// They failed.
    No(FailedSteps),
}

/// How verify steps failed.
pub(super) struct FailedSteps {
    /// For people.
    pub detail: String,
    /// The same for the same failure.
    pub fingerprint: String,
}

/// The key of the verify run that belongs to a run's attempt.
pub(super) fn verify_key(run: &RunKey) -> RunKey {
    RunKey {
        kind: RunKind::Verify,
        ..run.clone()
    }
}

/// Carries the verify steps that follow a run.
pub(super) fn verify(view: &View<'_>, run: &RunFacts) -> Verified {
    if !view.has_verify_steps() {
        return Verified::Yes;
    }
    verify_under(view, &verify_key(&run.key))
}

/// A run that is alive is waited for.
pub(super) fn wait_for(run: &RunFacts) -> Option<Decision> {
    match &run.status {
        RunStatus::Running { since, frozen } => Some(going(&run.key, *since, *frozen)),
        RunStatus::Reserved | RunStatus::Ended(_) => None,
    }
}

/// Carries the verify run of this key, or the repetition of it that counts.
pub(super) fn verify_under(view: &View<'_>, key: &RunKey) -> Verified {
    match standing(view, key) {
        Standing::Next(key) => Verified::NotYet(start_steps(view, &key)),
        Standing::Going(decision) => Verified::NotYet(decision),
        Standing::Succeeded => Verified::Yes,
        Standing::Failed(run, exit) => Verified::No(FailedSteps {
            detail: failure_text(run, exit),
            fingerprint: fingerprint::of(run, exit),
        }),
        // Another agent run would change nothing about it.
        Standing::CutOff(detail) => {
            Verified::NotYet(view.block(BlockedReason::VerifyFailed, detail))
        }
    }
}

/// Containers come before the claim: one taken for steps that find none would be given back at once, and
/// taken again.
fn start_steps(view: &View<'_>, key: &RunKey) -> Decision {
    sandboxes::missing(view)
        .or_else(|| view.before_run())
        .unwrap_or_else(|| start(view, key))
}
