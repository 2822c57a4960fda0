//! What happens on this machine: worktree, runs, commits.

use std::path::PathBuf;

use crate::comments;
use crate::decide::Snapshot;
use crate::decide::effect::{RunPlan, WorktreePlan};
use crate::model::ids::Sha;
use crate::model::limits::{STOP_LOOK_EVERY, STOP_WAIT_MAX};
use crate::model::run::{RunFacts, RunKey, RunKind, RunStatus};
use crate::ports::git::{BoxWork, NewBox, NewWorktree};
use crate::ports::{PortError, PortResult, Refusal};

use super::super::settings::RepoEngine;
use super::{Performed, stale};

impl RepoEngine {
    pub(super) async fn perform_worktree(
        &self,
        seen: &Snapshot,
        plan: &WorktreePlan,
    ) -> PortResult<Performed> {
        let issue = Self::number(seen)?;
        let base = seen
            .base
            .as_ref()
            .ok_or_else(|| stale("make the worktree", "there is no base branch"))?;
        // Always, right before the cut: a stale base makes a stale worktree.
        let base_tip = self.world.git.fetch_base(base).await?;
        let earlier = match &plan.from {
            Some(name) => self.world.git.fetch_ref(name).await?,
            None => None,
        };
        let new = NewWorktree {
            path: self.worktree_path(issue),
            branch: plan.branch.clone(),
            start: earlier.unwrap_or(base_tip),
        };
        self.world.git.add_worktree(&new).await?;
        Ok(Performed::same(seen))
    }

    pub(super) async fn perform_mark_set_up(&self, seen: &Snapshot) -> PortResult<Performed> {
        let issue = Self::number(seen)?;
        self.world
            .git
            .mark_set_up(&self.worktree_path(issue))
            .await?;
        Ok(Performed::same(seen))
    }

    pub(super) async fn perform_start(
        &self,
        seen: &Snapshot,
        plan: &RunPlan,
    ) -> PortResult<Performed> {
        let ci = self.ci_logs(seen, plan).await?;
        let spec = self.run_spec(seen, plan, ci)?;
        // What another run left there belongs to nobody's work any more, but is not lost.
        self.keep_boxes(seen, Some(&plan.key)).await?;
        if let (Some(folder), Some(base)) = (&spec.agent_box, &seen.base) {
            let new = NewBox {
                folder: folder.clone(),
                worktree: spec.worktree.clone(),
                base: base.clone(),
            };
            self.world.git.make_box(&new).await?;
        }
        // The new run's supervisor renews from here on; those of ended runs may go.
        self.world.runs.relieve(plan.key.issue)?;
        self.world.runs.start(&spec)?;
        Ok(Performed::same(seen))
    }

    pub(super) async fn perform_take_box(
        &self,
        seen: &Snapshot,
        key: &RunKey,
    ) -> PortResult<Performed> {
        let run = seen.local.runs.iter().find(|run| run.key == *key);
        let folder = run.and_then(|run| run.agent_box.clone());
        let folder = folder.ok_or_else(|| stale("take over a box", "it is gone"))?;
        self.world.git.take_box(&self.box_work(key, folder)).await?;
        Ok(Performed::same(seen))
    }

    /// Keeps what is in boxes of runs that have ended, but for that of one run.
    async fn keep_boxes(&self, seen: &Snapshot, but: Option<&RunKey>) -> PortResult<()> {
        for run in &seen.local.runs {
            let over = matches!(run.status, RunStatus::Ended(_)) && Some(&run.key) != but;
            if let Some(folder) = run.agent_box.clone().filter(|_| over) {
                let kept = self
                    .world
                    .git
                    .keep_box(&self.box_work(&run.key, folder))
                    .await?;
                if let Some(name) = kept {
                    tracing::warn!(run = %run.key, %name, "kept the work of a box under a ref");
                }
            }
        }
        Ok(())
    }

    fn box_work(&self, key: &RunKey, folder: PathBuf) -> BoxWork {
        let skip = [&self.settings.question_file, &self.settings.review_file];
        BoxWork {
            folder,
            worktree: self.worktree_path(key.issue),
            skip: skip.into_iter().map(PathBuf::from).collect(),
        }
    }

    /// Asks, and waits for as long as a step may: the next look should see the end.
    pub(in crate::engine) async fn perform_stop(
        &self,
        seen: &Snapshot,
        key: &RunKey,
    ) -> PortResult<Performed> {
        self.world.runs.stop(key)?;
        let until = self.world.clock.boot_time() + STOP_WAIT_MAX;
        while self.world.clock.boot_time() < until {
            let facts = self.world.runs.facts(key.issue)?;
            let alive = |run: &RunFacts| matches!(run.status, RunStatus::Running { .. });
            if !facts.iter().any(|run| run.key == *key && alive(run)) {
                break;
            }
            self.world.clock.sleep(STOP_LOOK_EVERY).await;
        }
        Ok(Performed::same(seen))
    }

    pub(super) fn perform_sweep(&self, seen: &Snapshot) -> PortResult<Performed> {
        let issue = Self::number(seen)?;
        self.world.runs.sweep(issue)?;
        let left = |run: &RunFacts| matches!(&run.status, RunStatus::Ended(end) if end.quarantined);
        match self.world.runs.facts(issue)?.into_iter().find(left) {
            None => Ok(Performed::same(seen)),
            Some(run) => Err(PortError::refused(
                format!("end what is left of run {}", run.key),
                Refusal::Local,
                format!(
                    "processes with GHSWARM_RUN={} in their environment do not die; end them \
                     yourself, then run ghswarm again",
                    run.key
                ),
            )),
        }
    }

    pub(super) async fn perform_commit(
        &self,
        seen: &Snapshot,
        kind: RunKind,
    ) -> PortResult<Performed> {
        let issue = Self::issue(seen)?;
        let message = self.redact(&comments::commit_message(issue, kind));
        self.world
            .git
            .commit_all(&self.worktree_path(issue.number), &message)
            .await?;
        Ok(Performed::same(seen))
    }

    pub(super) async fn perform_remove_worktree(
        &self,
        seen: &Snapshot,
        merged: Option<&Sha>,
    ) -> PortResult<Performed> {
        let issue = Self::number(seen)?;
        self.keep_boxes(seen, None).await?;
        self.world
            .git
            .remove_worktree(&self.worktree_path(issue), merged)
            .await?;
        // An engine that is away keeps them until the next start of this home.
        if let Err(error) = self.world.runs.forget(issue) {
            tracing::warn!("{error}");
        }
        Ok(Performed::same(seen))
    }
}
