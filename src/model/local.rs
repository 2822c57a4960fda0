//! What this machine says of an issue: claim record, run folders, worktree.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::claim::ClaimRecord;
use super::ids::{BranchName, Sha, Timestamp};
use super::money::Spent;
use super::run::{RunFacts, RunKind};

/// Everything this home knows of one issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct LocalFacts {
    /// Our `run.json`.
    pub claim: Option<ClaimRecord>,
    /// All run folders, oldest first.
    pub runs: Vec<RunFacts>,
    /// The worktree, if git lists one at the expected path.
    pub worktree: Option<Worktree>,
    /// Why the containers that its steps need cannot be had, and what to do; `None`: nothing known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_trouble: Option<String>,
    /// Agents all of whose commands wait for the end of a usage limit, and until when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paused: BTreeMap<RunKind, Timestamp>,
    /// What agents cost on this home today, where that has a budget.
    #[serde(default)]
    pub spent_today: Spent,
}

/// A worktree as git sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that hold independently of each other"
)]
pub struct Worktree {
    /// Where it is.
    pub path: PathBuf,
    /// The branch it has checked out; `None` when detached.
    pub branch: Option<BranchName>,
    /// Its head.
    pub head: Sha,
    /// Are there uncommitted changes, untracked files included?
    pub dirty: bool,
    /// Does the committed tree differ from the merge base with the base branch?
    pub differs_from_base: bool,
    /// Has `worktree_setup` succeeded here (always true where none is configured)?
    pub set_up: bool,
    /// Is it in the middle of a merge, rebase or similar?
    pub mid_operation: bool,
    /// Made by this home?
    pub ours: bool,
}
