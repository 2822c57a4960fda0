//! Jobs of GitHub Actions behind the check runs: running the failed ones again, and their logs.

use crate::ports::Refusal;

use super::error::{SimError, SimResult};
use super::model::Check;
use super::world::{Ctx, World};

fn has_failed(check: &Check) -> bool {
    matches!(
        check.conclusion.as_deref(),
        Some("failure" | "timed_out" | "cancelled" | "startup_failure")
    )
}

impl World {
    /// The failed jobs are queued again, each as a new check run.
    pub(crate) fn rerun_failed(&mut self, ctx: &Ctx<'_>, run: u64) -> SimResult<()> {
        self.may_push(ctx)?;
        let of_run = |check: &&Check| check.run() == Some(run);
        let checks = &self.repo(ctx.key)?.checks;
        let jobs: Vec<&Check> = checks.iter().filter(of_run).collect();
        if jobs.is_empty() {
            return Err(SimError::not_found());
        }
        let refused = |words| Err(SimError::new(403, Refusal::Forbidden, words));
        if jobs.iter().any(|job| job.conclusion.is_none()) {
            return refused("This workflow run is already running");
        }
        if !jobs.iter().any(|job| has_failed(job)) {
            return refused("This workflow run has no failed jobs");
        }
        let count = jobs.len();
        let ids: Vec<u64> = (0..count).map(|_| self.id()).collect();
        let checks = &mut self.repo_mut(ctx.key)?.checks;
        let failed = checks
            .iter_mut()
            .filter(|check| check.run() == Some(run) && has_failed(check));
        for (check, id) in failed.zip(ids) {
            check.id = id;
            "queued".clone_into(&mut check.status);
            check.conclusion = None;
            check.completed_at = None;
            check.started_at = ctx.now;
            check.again += 1;
        }
        Ok(())
    }

    /// What a job printed; nothing while it runs.
    pub(crate) fn job_log(&self, ctx: &Ctx<'_>, job: u64) -> SimResult<String> {
        let checks = &self.may_read(ctx)?.checks;
        let check = checks.iter().find(|check| check.id == job);
        let check = check.filter(|check| check.run().is_some() && check.conclusion.is_some());
        Ok(check.ok_or_else(SimError::not_found)?.output.clone())
    }
}
