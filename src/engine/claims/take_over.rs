//! `--take-over`: a person's order that a live claim of this home goes away. Everything it has is kept:
//! its work under refs, its files in an archive, and both before anything of ours is placed. The loop
//! has no way here.

use std::path::PathBuf;

use crate::decide::view::View;
use crate::decide::{Snapshot, TakeOver};
use crate::model::claim::{ClaimRecord, Displaced};
use crate::model::ids::RefName;
use crate::model::run::{RunFacts, RunStatus};
use crate::ports::{PortError, PortResult, Refusal};

use super::super::settings::RepoEngine;
use super::ClaimOutcome;
use super::take::{Attempt, refused};

/// Where a displaced claim of this home is now.
#[derive(Debug, Clone, Default)]
pub(super) struct Archived {
    pub(super) folder: Option<PathBuf>,
    pub(super) salvaged: Vec<RefName>,
    old: Option<Displaced>,
}

impl Archived {
    /// What was displaced here, else what is displaced elsewhere.
    pub(super) fn displaced(&self, elsewhere: Option<Displaced>) -> Option<Displaced> {
        match (&self.old, elsewhere) {
            (Some(old), Some(elsewhere)) => Some(Displaced {
                unassign: elsewhere.unassign,
                ..old.clone()
            }),
            (Some(old), None) => Some(old.clone()),
            (None, elsewhere) => elsewhere,
        }
    }
}

impl RepoEngine {
    /// Ends the run, saves the work, archives the folder; then the claim goes its ordinary way.
    pub(super) async fn displace(
        &self,
        attempt: &mut Attempt,
        seen: &Snapshot,
        view: &View<'_>,
        record: &ClaimRecord,
    ) -> PortResult<Option<ClaimOutcome>> {
        self.refuse_foreign_folder(seen, record)?;
        if let Some(why) = view.refuses_anybody() {
            return Ok(Some(refused(attempt.issue, why, Some(view))));
        }
        self.end_runs(seen).await?;
        let git = &self.world.git;
        attempt.archived.salvaged = git.salvage(&record.worktree, &record.branch).await?;
        attempt.archived.old = view.displaces(TakeOver::Ordered).map(|old| Displaced {
            by_order: true,
            ..old
        });
        let folder = self.world.folders.supersede(record.issue, seen.look.at)?;
        attempt.archived.folder = Some(folder);
        Ok(None)
    }

    /// Before anything moves: a folder that came here from somewhere else is not ours to archive.
    fn refuse_foreign_folder(&self, seen: &Snapshot, record: &ClaimRecord) -> PortResult<()> {
        let named = record.repo.to_string();
        let is = |slug: &crate::model::ids::RepoSlug| slug.to_string().eq_ignore_ascii_case(&named);
        if is(&self.settings.slug) || is(&seen.repo.slug) {
            return Ok(());
        }
        Err(PortError::refused(
            format!("take over issue #{}", record.issue),
            Refusal::Local,
            format!(
                "the claim in this home's folder is one of `{named}`, not of `{}`; nothing was moved. \
                 See whose it is, and move its run.json away by hand",
                seen.repo.slug
            ),
        ))
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
