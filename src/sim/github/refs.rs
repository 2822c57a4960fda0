//! Moving refs over the API: the compare-and-swap of GraphQL and the three verbs of REST.

use crate::ports::Refusal;

use super::error::{SimError, SimResult};
use super::model::Ban;
use super::repo_git::{self, Before, Move};
use super::world::{Ctx, World};

impl World {
    /// Moves refs, all or none.
    pub(crate) fn swap(&self, ctx: &Ctx<'_>, moves: &[Move]) -> SimResult<()> {
        let repo = self.may_push(ctx)?;
        for step in moves {
            let plain = step.name.starts_with("refs/heads/") || step.name.starts_with("refs/tags/");
            if !plain && repo.bans.contains(&Ban::OtherRefs) {
                let words = "Repository rule violations found\n\nCannot update this protected ref.";
                return Err(SimError::new(422, Refusal::RefsRestricted, words));
            }
            if step.name.starts_with("refs/pull/") {
                return Err(SimError::invalid("Reference cannot be updated"));
            }
        }
        if self.tip(ctx.key)?.is_none() {
            let words = "Git Repository is empty.";
            return Err(SimError::new(409, Refusal::RepositoryEmpty, words));
        }
        repo_git::move_refs(&repo.path, moves)
    }

    /// May REST's verbs touch refs here?
    pub(crate) fn may_write_refs_by_rest(&self, ctx: &Ctx<'_>) -> SimResult<()> {
        if self.may_push(ctx)?.bans.contains(&Ban::RestRefs) {
            let words = "Resource not accessible by integration";
            return Err(SimError::new(403, Refusal::NoContentsWrite, words));
        }
        Ok(())
    }

    /// `POST git/refs`.
    pub(crate) fn create_ref(&self, ctx: &Ctx<'_>, name: &str, sha: &str) -> SimResult<()> {
        self.may_push(ctx)?;
        let well_formed = name.starts_with("refs/") && name.matches('/').count() >= 2;
        if !well_formed {
            return Err(SimError::invalid("Reference name is not valid"));
        }
        let step = Move {
            name: name.to_owned(),
            before: Before::Absent,
            after: Some(sha.to_owned()),
            force: true,
        };
        self.swap(ctx, &[step])
    }

    /// `PATCH git/refs`.
    pub(crate) fn patch_ref(
        &self,
        ctx: &Ctx<'_>,
        (name, sha): (&str, &str),
        force: bool,
    ) -> SimResult<()> {
        self.may_push(ctx)?;
        let before = self.existing(ctx, name)?;
        let step = Move {
            name: name.to_owned(),
            before: Before::At(before),
            after: Some(sha.to_owned()),
            force,
        };
        self.swap(ctx, &[step])
    }

    /// `DELETE git/refs`.
    pub(crate) fn delete_ref(&self, ctx: &Ctx<'_>, name: &str) -> SimResult<()> {
        self.may_push(ctx)?;
        let before = self.existing(ctx, name)?;
        let step = Move {
            name: name.to_owned(),
            before: Before::At(before),
            after: None,
            force: true,
        };
        self.swap(ctx, &[step])
    }

    fn existing(&self, ctx: &Ctx<'_>, name: &str) -> SimResult<String> {
        self.ref_id(ctx.key, name)?
            .ok_or_else(|| SimError::invalid("Reference does not exist"))
    }
}
