//! Pushes, the pull request, the merge, and clearing away what was pushed.

use crate::comments;
use crate::decide::Snapshot;
use crate::decide::view::View;
use crate::model::checks::CommitChecks;
use crate::model::ids::{BranchName, PrNumber, RefName, Sha};
use crate::model::lease::{RefSwap, SwapOutcome};
use crate::model::pr::{Mergeable, PrState, PullRequest};
use crate::ports::git::{Push, PushOutcome};
use crate::ports::github::{MergePr, NewPr};
use crate::ports::{PortError, PortResult, Refusal};

use super::super::settings::RepoEngine;
use super::{Performed, stale};

impl RepoEngine {
    pub(super) async fn perform_push(
        &self,
        seen: &Snapshot,
        to: &RefName,
        sha: &Sha,
        expected: Option<&Sha>,
    ) -> PortResult<Performed> {
        // Only a verified holder pushes: the proof is asked for although git does not take it.
        self.proof(seen)?;
        let push = Push {
            sha: sha.clone(),
            to: to.clone(),
            expected: expected.cloned(),
        };
        match self.world.git.push(&push).await? {
            PushOutcome::Pushed => Ok(Performed::noted(seen, |look| {
                look.refs.insert(to.clone(), sha.clone());
                let ours = |pr: &&mut PullRequest| {
                    pr.state == PrState::Open
                        && pr.head_repo == Some(seen.repo.id)
                        && RefName::of_branch(&pr.head_ref) == *to
                };
                for pr in look.prs.iter_mut().filter(ours) {
                    head_moved(pr, sha);
                }
            })),
            PushOutcome::Stale => Err(stale("push", "the remote moved")),
            PushOutcome::Refused(reason) => Err(PortError::refused(
                format!("push `{to}`"),
                Refusal::Invalid,
                self.redact(&reason),
            )),
        }
    }

    pub(super) async fn perform_open_pr(
        &self,
        seen: &Snapshot,
        branch: &BranchName,
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        let issue = Self::issue(seen)?;
        let base = seen.base.clone();
        let base = base.ok_or_else(|| stale("open the pull request", "there is no base branch"))?;
        let view = View::of(seen, &self.policy, seen.look.at)
            .map_err(|_| stale("open the pull request", "the issue is gone"))?;
        let ticked: Vec<String> = view
            .body
            .tasks
            .iter()
            .filter(|task| task.done)
            .map(|task| task.text.clone())
            .collect();
        let pr = NewPr {
            title: self.redact(&comments::pr_title(issue)),
            body: self.redact(&comments::pr_body(issue, &ticked, &view.state)),
            head: branch.clone(),
            base,
        };
        let head = view.remote_head().cloned();
        let head = head.ok_or_else(|| stale("open the pull request", "the branch is gone"))?;
        let (number, url) = self.world.github.open_pr(&proof, &pr).await?;
        let operator = &seen.repo.operator;
        let github = &self.world.github;
        github.add_assignee(&proof, number.0, operator).await?;
        Ok(Performed::noted(seen, |look| {
            let opened = Opened { number, url, head };
            look.prs.push(opened.into_seen(&pr, seen));
        }))
    }

    pub(super) async fn perform_assign_pr(
        &self,
        seen: &Snapshot,
        pr: PrNumber,
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        let operator = &seen.repo.operator;
        self.world
            .github
            .add_assignee(&proof, pr.0, operator)
            .await?;
        Ok(Performed::noted(seen, |look| {
            let found = look.prs.iter_mut().find(|one| one.number == pr);
            if let Some(found) = found {
                found.assignees.push(operator.clone());
            }
        }))
    }

    pub(super) async fn perform_merge(
        &self,
        seen: &Snapshot,
        pr: PrNumber,
        head: &Sha,
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        let issue = Self::issue(seen)?;
        let merge = MergePr {
            pr,
            head: head.clone(),
            method: self.policy.merge_method,
            title: self.redact(&comments::merge_title(issue, pr)),
            message: comments::merge_message(issue),
        };
        let commit = self.world.github.merge_pr(&proof, &merge).await?;
        self.forget_tip();
        // What the merge led to (checks, a branch that GitHub deletes) is the next look's.
        Ok(Performed::noted(seen, |look| {
            let at = look.at;
            let merged = look.prs.iter_mut().find(|one| one.number == pr);
            if let Some(merged) = merged {
                merged.state = PrState::Merged { commit, at };
            }
        }))
    }

    pub(super) async fn perform_enqueue(
        &self,
        seen: &Snapshot,
        pr: PrNumber,
        (node_id, head): (&str, &Sha),
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        let position = self.world.github.enqueue_pr(&proof, node_id, head).await?;
        Ok(Performed::noted(seen, |look| {
            let found = look.prs.iter_mut().find(|one| one.number == pr);
            if let Some(found) = found {
                found.queued = Some(position);
            }
        }))
    }

    pub(super) async fn perform_delete_refs(
        &self,
        seen: &Snapshot,
        refs: &[(RefName, Sha)],
    ) -> PortResult<Performed> {
        self.proof(seen)?;
        let swaps: Vec<RefSwap> = refs
            .iter()
            .map(|(name, sha)| RefSwap {
                name: name.clone(),
                before: Some(sha.clone()),
                after: None,
            })
            .collect();
        match self.world.github.swap_refs(&swaps).await? {
            SwapOutcome::Swapped => Ok(Performed::noted(seen, |look| {
                look.refs
                    .retain(|name, _| !refs.iter().any(|(gone, _)| gone == name));
            })),
            SwapOutcome::Stale => Err(stale("delete the branch", "it moved")),
        }
    }
}

/// A pull request that GitHub has just made.
struct Opened {
    number: PrNumber,
    url: String,
    head: Sha,
}

impl Opened {
    /// As the next look will show it, without what only time tells: no check has begun, and whether it merges
    /// is not known. So nothing can be decided of it but to wait.
    fn into_seen(self, asked: &NewPr, seen: &Snapshot) -> PullRequest {
        PullRequest {
            number: self.number,
            node_id: String::new(),
            state: PrState::Open,
            draft: false,
            head_repo: Some(seen.repo.id),
            head_ref: asked.head.clone(),
            checks: CommitChecks {
                sha: self.head.clone(),
                checks: Vec::new(),
            },
            head_sha: self.head,
            base_ref: asked.base.clone(),
            author: None,
            mergeable: Mergeable::Unknown,
            review_decision: None,
            reviews: Vec::new(),
            behind: false,
            merge_queue: false,
            queued: None,
            assignees: vec![seen.repo.operator.clone()],
            created_at: seen.look.at,
            url: self.url,
        }
    }
}

/// What was known about the head before says nothing about this one.
fn head_moved(pr: &mut PullRequest, head: &Sha) {
    pr.head_sha = head.clone();
    pr.checks = CommitChecks {
        sha: head.clone(),
        checks: Vec::new(),
    };
    pr.mergeable = Mergeable::Unknown;
    pr.behind = false;
}
