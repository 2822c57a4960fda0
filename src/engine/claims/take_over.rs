//! `--take-over`: a person's order that a live claim of this home goes away. Everything it has is kept:
//! its work under refs, its files in an archive, and both before anything of ours is placed. The loop
//! has no way here.

use crate::decide::view::View;
use crate::decide::{Snapshot, TakeOver};
use crate::model::claim::{ByHand, ClaimRecord, Displaced, HandStage, Replaced};
use crate::model::run::{RunFacts, RunStatus};
use crate::ports::{PortError, PortResult, Refusal};

use super::super::settings::RepoEngine;
use super::ClaimOutcome;
use super::take::{Attempt, refused, will_be_assigned};

impl RepoEngine {
    /// Ends the run, saves the work, archives the folder; then the claim goes its ordinary way.
    pub(super) async fn displace(
        &self,
        attempt: &mut Attempt,
        seen: &Snapshot,
        view: &View<'_>,
        record: &ClaimRecord,
    ) -> PortResult<Option<ClaimOutcome>> {
        if let Some(why) = view.refuses_anybody() {
            return Ok(Some(refused(attempt.issue, why, Some(view))));
        }
        let plan = match view.plan_by_hand() {
            Ok(plan) => plan,
            Err(why) => return Ok(Some(refused(attempt.issue, why, Some(view)))),
        };
        self.end_runs(seen).await?;
        let git = &self.world.git;
        let salvaged = git.salvage(&record.worktree, &record.branch).await?;
        let archive = self.world.folders.supersede(record.issue, seen.look.at)?;
        let hand = ByHand {
            stage: HandStage::Claiming,
            assigned: will_be_assigned(view),
            lead: attempt.lead,
            displaced: view.displaces(TakeOver::Ordered).map(|old| Displaced {
                by_order: true,
                ..old
            }),
            replaces: Some(Box::new(Replaced {
                record: record.clone(),
                archive,
                salvaged,
            })),
        };
        let branch = self.branch_of_bundle(view, hand.lead)?;
        let terms = Self::hand_terms(branch, hand);
        // Over the old one at once: whoever comes next finds the one or the other, never none.
        let next = self.record_of(seen, self.fresh_claim()?, &plan, &terms)?;
        self.world.folders.replace_claim(&next)?;
        Ok(None)
    }

    /// A run that goes on would write beside us. Its supervisor saves nothing, so that comes after.
    async fn end_runs(&self, seen: &Snapshot) -> PortResult<()> {
        let alive = |run: &&RunFacts| matches!(run.status, RunStatus::Running { .. });
        for run in seen.local.runs.iter().filter(alive) {
            self.perform_stop(seen, &run.key).await?;
            let facts = self.world.runs.facts(run.key.issue)?;
            if facts.iter().any(|one| one.key == run.key && alive(&one)) {
                return Err(PortError::refused(
                    format!("end run {}", run.key),
                    Refusal::Local,
                    "it does not end; nothing was moved. End it yourself, then try again",
                ));
            }
            self.world.runs.relieve(run.key.issue)?;
        }
        Ok(())
    }
}
