//! What is done about a branch whose checks are red or outdated: jobs run again, the base merged into it.

use crate::decide::Snapshot;
use crate::decide::effect::StateWrite;
use crate::model::ids::{BranchName, PrNumber, RefName, Sha};
use crate::model::pr::Mergeable;
use crate::ports::{PortError, PortResult, Refusal};

use super::super::settings::RepoEngine;
use super::Performed;

impl RepoEngine {
    /// The state first: whatever becomes of the request, it is made once.
    pub(super) async fn perform_rerun(
        &self,
        seen: &Snapshot,
        noting: &StateWrite,
        runs: &[u64],
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        self.perform_write(seen, noting).await?;
        for run in runs {
            match self.world.github.rerun_failed(&proof, *run).await {
                // Too old, running already, or the token may not: then the agent has to do without.
                Err(error) if error.refusal().is_some() => {
                    tracing::warn!("{}", self.redact(&error.to_string()));
                }
                done => done?,
            }
        }
        Ok(Performed::LookAgain)
    }

    pub(super) async fn perform_update_branch(
        &self,
        seen: &Snapshot,
        (pr, head): (PrNumber, &Sha),
        noting: Option<&StateWrite>,
    ) -> PortResult<Performed> {
        let proof = self.proof(seen)?;
        let mut known = Performed::same(seen);
        if let Some(noting) = noting {
            known = self.perform_write(seen, noting).await?;
        }
        match self.world.github.update_branch(&proof, pr, head).await {
            // It contains the base, or somebody pushed: the one try was made.
            Err(PortError::Refused {
                refusal: Refusal::Stale,
                ..
            }) if noting.is_some() => return Ok(Performed::LookAgain),
            done => done?,
        }
        let Performed::Known(mut look) = known else {
            return Ok(Performed::LookAgain);
        };
        // GitHub answers before it has merged: the head is known in a while, and nobody asks again until then.
        if let Some(found) = look.prs.iter_mut().find(|one| one.number == pr) {
            found.behind = false;
            found.mergeable = Mergeable::Unknown;
            found.checks.checks.clear();
        }
        Ok(Performed::Known(look))
    }

    pub(super) async fn perform_follow(
        &self,
        seen: &Snapshot,
        branch: &BranchName,
    ) -> PortResult<Performed> {
        let path = self.worktree_path(Self::number(seen)?);
        let name = RefName::of_branch(branch);
        self.world.git.follow(&path, &name).await?;
        Ok(Performed::same(seen))
    }
}
