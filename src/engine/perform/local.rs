//! What happens on this machine: worktree, runs, commits.

use crate::comments;
use crate::decide::Snapshot;
use crate::decide::effect::{RunPlan, WorktreePlan};
use crate::model::ids::Sha;
use crate::model::limits::{STOP_LOOK_EVERY, STOP_WAIT_MAX};
use crate::model::run::{RunFacts, RunKey, RunKind, RunStatus};
use crate::ports::git::NewWorktree;
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
        // The new run's supervisor renews from here on; those of ended runs may go.
        self.world.runs.relieve(plan.key.issue)?;
        self.world.runs.start(&spec)?;
        Ok(Performed::same(seen))
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
