//! What people see: assignee, labels, comments, checkpoint.

use crate::comments::{self, Claimant};
use crate::decide::Snapshot;
use crate::decide::effect::{CommentAbout, KeyedComment, Mirror, Signals, StatusChange};
use crate::decide::view::View;
use crate::model::ids::{CommentId, IssueNumber};
use crate::model::issue::{Actor, Association, Comment, Issue};
use crate::model::labels::LabelNames;
use crate::model::lease::ClaimProof;
use crate::model::run::{RunFacts, RunStatus};
use crate::model::state::IssueState;
use crate::ports::PortResult;
use crate::ports::github::Look;

use super::super::settings::RepoEngine;
use super::{Performed, stale};

impl RepoEngine {
    pub(super) async fn perform_signals(
        &self,
        seen: &Snapshot,
        signals: &Signals,
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        let issue = Self::number(seen)?;
        let github = &self.world.github;
        let mut look = seen.look.clone();
        if let Some(notice) = &signals.reclaim {
            if !notice.said {
                let text = self.redact(&comments::reclaim(notice));
                let id = github.create_comment(&proof, issue.0, &text).await?;
                note_comment(&mut look, seen, id, text);
            }
            for login in &notice.unassign {
                github.remove_assignee(&proof, issue.0, login).await?;
            }
        }
        if signals.assign {
            github
                .add_assignee(&proof, issue.0, &seen.repo.operator)
                .await?;
        }
        self.place_labels(seen, &proof, signals).await?;
        if let Some(mirror) = &signals.checkpoint {
            let text = self.checkpoint_text(seen, &mirror.state)?;
            let id = self
                .post_checkpoint(issue, &proof, mirror.comment, &text)
                .await?;
            note_comment(&mut look, seen, id, text);
        }
        if let Some(issue) = look.issue.as_mut() {
            note_signals(issue, signals, seen, &self.policy.labels);
        }
        Ok(Performed::Known(Box::new(look)))
    }

    /// All new labels first, in one request; then the old ones come off.
    async fn place_labels(
        &self,
        seen: &Snapshot,
        proof: &ClaimProof,
        signals: &Signals,
    ) -> PortResult<()> {
        let issue = Self::number(seen)?;
        let claim = signals.label.then(|| self.policy.labels.claim.clone());
        let status = signals.status.as_ref().filter(|change| !change.present);
        let status = status.map(|change| self.policy.labels.of(&change.to));
        let add: Vec<String> = claim.iter().chain(&status).cloned().collect();
        self.add_unless_ordered(seen, proof, (&add, status.as_ref()))
            .await?;
        for label in signals.status.iter().flat_map(|change| &change.remove) {
            self.world.github.remove_label(proof, issue, label).await?;
        }
        Ok(())
    }

    /// Puts labels on, `status` among them. A status label that we did not see is an order somebody gave
    /// since our look: of two the last one counts, so ours comes off again before it hides the order.
    async fn add_unless_ordered(
        &self,
        seen: &Snapshot,
        proof: &ClaimProof,
        (add, status): (&[String], Option<&String>),
    ) -> PortResult<()> {
        if add.is_empty() {
            return Ok(());
        }
        let issue = Self::issue(seen)?;
        let github = &self.world.github;
        let all = github.add_labels(proof, issue.number, add).await?;
        let known = |label: &String| issue.labels.contains(label) || add.contains(label);
        let unseen = all
            .iter()
            .find(|label| self.policy.labels.status_of(label).is_some() && !known(label));
        let (Some(unseen), Some(status)) = (unseen, status) else {
            return Ok(());
        };
        github.remove_label(proof, issue.number, status).await?;
        Err(stale(
            "set the status label",
            &format!("somebody set `{unseen}` meanwhile"),
        ))
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
            let add = std::slice::from_ref(&label);
            self.add_unless_ordered(seen, &proof, (add, Some(&label)))
                .await?;
        }
        for label in &change.remove {
            self.world.github.remove_label(&proof, issue, label).await?;
        }
        Ok(Performed::noted_on_issue(seen, |issue| {
            note_status(issue, change, &self.policy.labels);
        }))
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
        let text = self.redact(&text);
        let id = self
            .world
            .github
            .create_comment(&proof, issue.0, &text)
            .await?;
        Ok(Performed::noted(seen, |look| {
            note_comment(look, seen, id, text);
        }))
    }

    pub(super) async fn perform_mirror(
        &self,
        seen: &Snapshot,
        mirror: &Mirror,
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        let text = self.checkpoint_text(seen, &mirror.state)?;
        let issue = Self::number(seen)?;
        let id = self
            .post_checkpoint(issue, &proof, mirror.comment, &text)
            .await?;
        Ok(Performed::noted(seen, |look| {
            note_comment(look, seen, id, text);
        }))
    }

    pub(super) async fn post_checkpoint(
        &self,
        issue: IssueNumber,
        proof: &ClaimProof,
        comment: Option<CommentId>,
        text: &str,
    ) -> PortResult<CommentId> {
        match comment {
            Some(id) => self
                .world
                .github
                .update_comment(proof, id, text)
                .await
                .map(|()| id),
            None => self.world.github.create_comment(proof, issue.0, text).await,
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

/// Enters a comment of ours into the look: written, or written over.
pub(super) fn note_comment(look: &mut Look, seen: &Snapshot, id: CommentId, body: String) {
    if let Some(comment) = look.comments.iter_mut().find(|comment| comment.id == id) {
        comment.body = body;
        return;
    }
    let author = Actor {
        is_bot: seen.repo.operator.is_bot(),
        login: seen.repo.operator.clone(),
    };
    look.comments.push(Comment {
        id,
        author: Some(author),
        association: Association::None,
        body,
        created_at: seen.look.at,
        edited_at: None,
        editor: None,
        url: String::new(),
    });
}

fn note_signals(issue: &mut Issue, signals: &Signals, seen: &Snapshot, labels: &LabelNames) {
    if let Some(notice) = &signals.reclaim {
        issue
            .assignees
            .retain(|login| !notice.unassign.contains(login));
    }
    if signals.assign {
        issue.assignees.push(seen.repo.operator.clone());
    }
    if signals.label {
        issue.labels.push(labels.claim.clone());
    }
    if let Some(change) = &signals.status {
        note_status(issue, change, labels);
    }
}

fn note_status(issue: &mut Issue, change: &StatusChange, labels: &LabelNames) {
    issue.labels.retain(|label| !change.remove.contains(label));
    if !change.present {
        issue.labels.push(labels.of(&change.to));
    }
}

/// The run whose output explains a block: the newest one of the last attempt that failed.
fn last_failed<'a>(seen: &'a Snapshot, state: &IssueState) -> Option<&'a RunFacts> {
    seen.local.runs.iter().rev().find(|run| {
        run.key.seq == state.attempt
            && matches!(&run.status, RunStatus::Ended(exit) if !exit.success())
    })
}
