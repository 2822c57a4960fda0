//! Performs one effect. What is done, refused and lost is described at `decide::Effect`.

mod ci;
mod ci_logs;
pub(super) mod claim;
mod local;
mod publish;
mod run_spec;
mod signals;
mod write;

pub(super) use write::READS_BACK;

use crate::decide::view::View;
use crate::decide::{Effect, Snapshot};
use crate::model::claim::ClaimRecord;
use crate::model::ids::IssueNumber;
use crate::model::issue::Issue;
use crate::model::lease::ClaimProof;
use crate::ports::github::Look;
use crate::ports::{PortError, PortResult, Refusal};

use super::settings::RepoEngine;

/// What is known after an effect.
pub(super) enum Performed {
    /// GitHub has to be looked at again.
    LookAgain,
    /// Nothing changed but what is noted in this look: the old one with the effect's own outcome.
    Known(Box<Look>),
}

impl Performed {
    /// Nothing that GitHub shows changed.
    fn same(seen: &Snapshot) -> Self {
        Self::Known(Box::new(seen.look.clone()))
    }

    /// GitHub confirmed a change; `note` enters it into the look.
    fn noted(seen: &Snapshot, note: impl FnOnce(&mut Look)) -> Self {
        let mut look = seen.look.clone();
        note(&mut look);
        Self::Known(Box::new(look))
    }

    /// The same for a change of the issue.
    fn noted_on_issue(seen: &Snapshot, note: impl FnOnce(&mut Issue)) -> Self {
        Self::noted(seen, |look| {
            if let Some(issue) = look.issue.as_mut() {
                note(issue);
            }
        })
    }
}

impl RepoEngine {
    pub(super) async fn perform(&self, seen: &Snapshot, effect: &Effect) -> PortResult<Performed> {
        match effect {
            Effect::Claim(plan) => self.perform_claim(seen, plan).await,
            Effect::Renew => self.perform_renew(seen).await,
            Effect::DropClaim => self.perform_drop_claim(seen),
            Effect::Release => self.perform_release(seen).await,
            Effect::PlaceSignals(signals) => self.perform_signals(seen, signals).await,
            Effect::WriteState(write) => self.perform_write(seen, write).await,
            Effect::MirrorState(mirror) => self.perform_mirror(seen, mirror).await,
            Effect::SetStatus(change) => self.perform_status(seen, change).await,
            Effect::Comment(comment) => self.perform_comment(seen, comment).await,
            Effect::MakeWorktree(plan) => self.perform_worktree(seen, plan).await,
            Effect::MarkSetUp => self.perform_mark_set_up(seen).await,
            Effect::StartRun(plan) => self.perform_start(seen, plan).await,
            Effect::TakeBox(key) => self.perform_take_box(seen, key).await,
            Effect::StopRun(key) => self.perform_stop(seen, key).await,
            Effect::SweepRuns => self.perform_sweep(seen),
            Effect::CommitWork { kind } => self.perform_commit(seen, *kind).await,
            Effect::SaveWork { to, sha, expected } => {
                self.perform_push(seen, to, sha, expected.as_ref()).await
            }
            Effect::PushBranch {
                branch,
                sha,
                expected,
            } => {
                let to = crate::model::ids::RefName::of_branch(branch);
                self.perform_push(seen, &to, sha, expected.as_ref()).await
            }
            Effect::OpenPr { branch } => self.perform_open_pr(seen, branch).await,
            Effect::AssignPr(pr) => self.perform_assign_pr(seen, *pr).await,
            Effect::Merge { pr, head } => self.perform_merge(seen, *pr, head).await,
            Effect::UpdateBranch { pr, head, noting } => {
                let noting = noting.as_deref();
                self.perform_update_branch(seen, (*pr, head), noting).await
            }
            Effect::Enqueue { pr, node_id, head } => {
                self.perform_enqueue(seen, *pr, (node_id, head)).await
            }
            Effect::RerunJobs { noting, runs } => self.perform_rerun(seen, noting, runs).await,
            Effect::FollowBranch { branch } => self.perform_follow(seen, branch).await,
            Effect::DeleteRefs(refs) => self.perform_delete_refs(seen, refs).await,
            Effect::RemoveWorktree { merged } => {
                self.perform_remove_worktree(seen, merged.as_ref()).await
            }
            Effect::CloseIssue(write) => self.perform_close(seen, write).await,
        }
    }

    fn proof(&self, seen: &Snapshot) -> PortResult<ClaimProof> {
        let view = View::of(seen, &self.policy, seen.look.at).ok();
        view.and_then(|view| view.proof().cloned())
            .ok_or_else(|| stale("act under the claim", "the claim does not hold its lease"))
    }

    fn record(seen: &Snapshot) -> PortResult<&ClaimRecord> {
        seen.local
            .claim
            .as_ref()
            .ok_or_else(|| stale("act under the claim", "there is no claim on this machine"))
    }

    fn issue(seen: &Snapshot) -> PortResult<&Issue> {
        seen.look
            .issue
            .as_ref()
            .ok_or_else(|| stale("act on the issue", "it is gone"))
    }

    fn number(seen: &Snapshot) -> PortResult<IssueNumber> {
        Self::issue(seen).map(|issue| issue.number)
    }

    pub(super) fn redact(&self, text: &str) -> String {
        self.settings.secrets.redact(text)
    }
}

/// What was decided on is not what is there: look again.
fn stale(what: &str, message: &str) -> PortError {
    PortError::refused(what, Refusal::Stale, message)
}
