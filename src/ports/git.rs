//! The clone on this machine: worktrees, commits, and git's network operations.

use std::path::{Path, PathBuf};

use async_trait::async_trait;

use crate::model::ids::{BranchName, RefName, Sha};
use crate::model::local::Worktree;
use crate::model::outgoing::OutgoingCommit;
use crate::model::secrets::Secrets;

use super::{PortError, PortResult, Refusal};

/// Where a new worktree's branch starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorktree {
    /// Where to put it.
    pub path: PathBuf,
    /// The branch; created at `start`, or checked out if it exists at or ahead of it.
    pub branch: BranchName,
    /// The commit to start at: the fetched base, the pushed branch or another host's work.
    pub start: Sha,
}

/// A box to make for an agent: a clone of a worktree that shares nothing with the clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBox {
    /// The box's folder; the clone goes to `tree` in it.
    pub folder: PathBuf,
    /// The worktree.
    pub worktree: PathBuf,
    /// The base branch, which comes along.
    pub base: BranchName,
}

/// A box whose run has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxWork {
    /// The box's folder.
    pub folder: PathBuf,
    /// The worktree that it was made of.
    pub worktree: PathBuf,
    /// Files that are no work, relative to the clone's root.
    pub skip: Vec<PathBuf>,
}

/// How a push went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushOutcome {
    /// The remote ref is at our commit (also: it was already).
    Pushed,
    /// The remote ref was not where it was expected.
    Stale,
    /// The remote refused, in its words (protection, missing scope, secret scanning).
    Refused(String),
}

/// One push: `sha` to `to`, only if the remote is at `expected` (`None`: does not exist).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// What.
    pub sha: Sha,
    /// Where.
    pub to: RefName,
    /// The lease of the push.
    pub expected: Option<Sha>,
}

fn no_boxes<T>(folder: &Path) -> PortResult<T> {
    let what = format!("use the box `{}`", folder.display());
    let words = "this clone makes no boxes";
    Err(PortError::refused(what, Refusal::Local, words))
}

/// A repository's clone.
#[async_trait]
pub trait Git: Send + Sync {
    /// Fetches the base (`+<base>:refs/remotes/origin/<base>`) and answers its commit; a base that
    /// exists only locally is used as it is.
    async fn fetch_base(&self, base: &BranchName) -> PortResult<Sha>;

    /// Fetches one commit by ref from the remote, and answers it; `None`: the remote has no such ref.
    async fn fetch_ref(&self, name: &RefName) -> PortResult<Option<Sha>>;

    /// What git says of the worktree at `path`; `None` if git lists none there and nothing is there.
    /// Something else in that place is an error.
    async fn worktree(&self, path: &Path, base: &BranchName) -> PortResult<Option<Worktree>>;

    /// Makes a worktree (and its submodules); idempotent.
    async fn add_worktree(&self, new: &NewWorktree) -> PortResult<()>;

    /// Removes a worktree that is ours and has nothing unsaved; absent is fine. The local branch goes
    /// along if its tip is `merged`.
    async fn remove_worktree(&self, path: &Path, merged: Option<&Sha>) -> PortResult<()>;

    /// Saves what only this machine has of a displaced claim's work: what is not committed in the worktree
    /// at `path`, and commits of `branch` that the remote lacks. Nothing is moved or removed; a worktree
    /// or branch that is gone has nothing to save. Answers the refs it is under now.
    async fn salvage(&self, path: &Path, branch: &BranchName) -> PortResult<Vec<RefName>>;

    /// Is `commit` the worktree's head or an ancestor of it? A commit that is not here is not.
    async fn contains(&self, path: &Path, commit: &Sha) -> PortResult<bool>;

    /// Makes a box of the worktree as it is, uncommitted changes included, ignored files not. One that was
    /// made of the same is left as it is: somebody may have worked in it.
    async fn make_box(&self, new: &NewBox) -> PortResult<()> {
        no_boxes(&new.folder)
    }

    /// Brings the worktree to where the box is, commits and uncommitted changes, and removes the box.
    /// Nothing that is in the box is run or obeyed. A box that is gone was taken over. `Refused` where the
    /// worktree is not what the box was made of: then the work is kept under a ref.
    async fn take_box(&self, work: &BoxWork) -> PortResult<()> {
        no_boxes(&work.folder)
    }

    /// Keeps what only the box has under a ref, and removes the box. The worktree stays as it is.
    async fn keep_box(&self, work: &BoxWork) -> PortResult<Option<RefName>> {
        no_boxes(&work.folder)
    }

    /// Remembers that `worktree_setup` succeeded in this worktree.
    async fn mark_set_up(&self, path: &Path) -> PortResult<()>;

    /// Commits everything that is not ignored; answers the new head. Signing is the user's setting,
    /// hooks are off.
    async fn commit_all(&self, path: &Path, message: &str) -> PortResult<Sha>;

    /// Moves the branch of the worktree at `path` forward to what the remote's `name` is at; answers that
    /// commit. Refuses where the branch has commits of its own, or files are in the way.
    async fn follow(&self, path: &Path, name: &RefName) -> PortResult<Sha>;

    /// Pushes.
    async fn push(&self, push: &Push) -> PortResult<PushOutcome>;

    /// The commits of the worktree's branch that the base branch lacks, oldest first: what a push brings
    /// to the remote. Paths that differ from the merge base and that no commit explains are the head's.
    /// What the commits add, and their messages, are searched for `secrets`.
    async fn outgoing(
        &self,
        path: &Path,
        base: &BranchName,
        secrets: &Secrets,
    ) -> PortResult<Vec<OutgoingCommit>>;
}
