//! What people see: assignee, labels, comments, checkpoint.

use crate::comments::{self, Claimant};
use crate::decide::Snapshot;
use crate::decide::effect::{CommentAbout, KeyedComment, Mirror, Signals, StatusChange};
use crate::decide::view::View;
use crate::model::ids::{CommentId, IssueNumber};
use crate::model::lease::ClaimProof;
use crate::model::run::{RunFacts, RunStatus};
use crate::model::state::IssueState;
use crate::ports::PortResult;

use super::super::settings::RepoEngine;
use super::Performed;

impl RepoEngine {
    pub(super) async fn perform_signals(
        &self,
        seen: &Snapshot,
        signals: &Signals,
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        let issue = Self::number(seen)?;
        let github = &self.world.github;
        if let Some(notice) = &signals.reclaim {
            let text = self.redact(&comments::reclaim(notice));
            github.create_comment(&proof, issue.0, &text).await?;
            for login in &notice.unassign {
                github.remove_assignee(&proof, issue.0, login).await?;
            }
        }
        if signals.assign {
            github
                .add_assignee(&proof, issue.0, &seen.repo.operator)
                .await?;
        }
        self.place_labels(&proof, issue, signals).await?;
        if let Some(mirror) = &signals.checkpoint {
            self.post_checkpoint(seen, &proof, mirror.comment, &mirror.state)
                .await?;
        }
        Ok(Performed::LookAgain)
    }

    /// All new labels first, in one request; then the old ones come off.
    async fn place_labels(
        &self,
        proof: &ClaimProof,
        issue: IssueNumber,
        signals: &Signals,
    ) -> PortResult<()> {
        let claim = signals.label.then(|| self.policy.labels.claim.clone());
        let status = signals.status.as_ref().filter(|change| !change.present);
        let status = status.map(|change| self.policy.labels.of(&change.to));
        let add: Vec<String> = claim.into_iter().chain(status).collect();
        if !add.is_empty() {
            self.world.github.add_labels(proof, issue, &add).await?;
        }
        for label in signals.status.iter().flat_map(|change| &change.remove) {
            self.world.github.remove_label(proof, issue, label).await?;
        }
        Ok(())
    }

    pub(super) async fn perform_status(
        &self,
        seen: &Snapshot,
        change: &StatusChange,
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        let issue = Self::number(seen)?;
        if !change.present {
            let label = self.policy.labels.of(&change.to);
            self.world
                .github
                .add_labels(&proof, issue, &[label])
                .await?;
        }
        for label in &change.remove {
            self.world.github.remove_label(&proof, issue, label).await?;
        }
        Ok(Performed::LookAgain)
    }

    pub(super) async fn perform_comment(
        &self,
        seen: &Snapshot,
        comment: &KeyedComment,
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        let issue = Self::number(seen)?;
        let view = View::of(seen, &self.policy, seen.look.at).ok();
        let state = view.map(|view| view.state).unwrap_or_default();
        let text = match &comment.about {
            CommentAbout::Blocked => {
                let run = last_failed(seen, &state).map(|run| RunFacts {
                    tail: self.redact(&run.tail),
                    ..run.clone()
                });
                comments::blocked(&comment.key, issue, &state, run.as_ref())
            }
            CommentAbout::Question => comments::question(&comment.key, issue, &state),
            CommentAbout::StateInvalid(at) => comments::state_invalid(&comment.key, issue, at),
            CommentAbout::Answer(text) => comments::answer(&comment.key, text),
        };
        self.world
            .github
            .create_comment(&proof, issue.0, &self.redact(&text))
            .await?;
        Ok(Performed::LookAgain)
    }

    pub(super) async fn perform_mirror(
        &self,
        seen: &Snapshot,
        mirror: &Mirror,
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        self.post_checkpoint(seen, &proof, mirror.comment, &mirror.state)
            .await?;
        Ok(Performed::LookAgain)
    }

    pub(super) async fn post_checkpoint(
        &self,
        seen: &Snapshot,
        proof: &ClaimProof,
        comment: Option<CommentId>,
        state: &IssueState,
    ) -> PortResult<()> {
        let issue = Self::number(seen)?;
        let text = self.checkpoint_text(seen, state)?;
        match comment {
            Some(id) => self.world.github.update_comment(proof, id, &text).await,
            None => self
                .world
                .github
                .create_comment(proof, issue.0, &text)
                .await
                .map(|_| ()),
        }
    }

    pub(super) fn checkpoint_text(
        &self,
        seen: &Snapshot,
        state: &IssueState,
    ) -> PortResult<String> {
        let issue = Self::number(seen)?;
        let claimant = seen.local.claim.as_ref().map(|record| Claimant {
            operator: seen.repo.operator.clone(),
            worktree: record.worktree.display().to_string(),
            branch: record.branch.clone(),
            at: record.at,
            claim: record.claim.clone(),
            ttl_minutes: self.policy.lease_ttl.as_secs().div_ceil(60),
            marker: self.policy.marker.clone(),
        });
        Ok(self.redact(&comments::checkpoint(
            &seen.repo.slug,
            issue,
            state,
            claimant.as_ref(),
        )))
    }
}

/// The run whose output explains a block: the newest one of the last attempt that failed.
fn last_failed<'a>(seen: &'a Snapshot, state: &IssueState) -> Option<&'a RunFacts> {
    seen.local.runs.iter().rev().find(|run| {
        run.key.seq == state.attempt
            && matches!(&run.status, RunStatus::Ended(exit) if !exit.success())
    })
}
