//! No clone at all: claims by hand work where there is none, and then nothing is there to look at.

use std::path::Path;

use async_trait::async_trait;

use crate::model::ids::{BranchName, RefName, Sha};
use crate::model::local::Worktree;
use crate::model::outgoing::OutgoingCommit;
use crate::model::secrets::Secrets;
use crate::ports::git::{Git, NewWorktree, Push, PushOutcome};
use crate::ports::{PortError, PortResult, Refusal};

/// The door that leads nowhere.
#[derive(Debug, Clone, Copy)]
pub struct NoClone;

fn refused<T>(what: &str) -> PortResult<T> {
    let words = "there is no clone of the repository here";
    Err(PortError::refused(what, Refusal::Local, words))
}

#[async_trait]
impl Git for NoClone {
    async fn fetch_base(&self, _: &BranchName) -> PortResult<Sha> {
        refused("fetch the base")
    }

    async fn fetch_ref(&self, _: &RefName) -> PortResult<Option<Sha>> {
        refused("fetch a ref")
    }

    async fn worktree(&self, _: &Path, _: &BranchName) -> PortResult<Option<Worktree>> {
        Ok(None)
    }

    async fn add_worktree(&self, _: &NewWorktree) -> PortResult<()> {
        refused("create the worktree")
    }

    async fn remove_worktree(&self, _: &Path, _: Option<&Sha>) -> PortResult<()> {
        refused("remove the worktree")
    }

    async fn salvage(&self, _: &Path, _: &BranchName) -> PortResult<Vec<RefName>> {
        Ok(Vec::new())
    }

    async fn contains(&self, _: &Path, _: &Sha) -> PortResult<bool> {
        Ok(false)
    }

    async fn mark_set_up(&self, _: &Path) -> PortResult<()> {
        refused("mark the worktree as set up")
    }

    async fn commit_all(&self, _: &Path, _: &str) -> PortResult<Sha> {
        refused("commit")
    }

    async fn follow(&self, _: &Path, _: &RefName) -> PortResult<Sha> {
        refused("move the worktree's branch")
    }

    async fn push(&self, _: &Push) -> PortResult<PushOutcome> {
        refused("push")
    }

    async fn outgoing(
        &self,
        _: &Path,
        _: &BranchName,
        _: &Secrets,
    ) -> PortResult<Vec<OutgoingCommit>> {
        refused("compare with the base")
    }
}
