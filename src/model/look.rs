//! Everything GitHub says of one issue, seen in one look.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::checks::CommitChecks;
use super::ids::{RefName, Sha, Timestamp};
use super::issue::{BodyEdit, Comment, Issue, Labelled, Rename};
use super::lease::LeaseCommit;
use super::pr::PullRequest;

/// The tip of the base branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseTip {
    /// The commit.
    pub sha: Sha,
    /// Its tree, which lease commits use.
    pub tree: Sha,
}

/// What the look saw. All lists are whole: a list that was cut short is an error instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// GitHub's clock (the `Date` header).
    pub at: Timestamp,
    /// The issue; `None` if it is gone (deleted, transferred, a pull request).
    pub issue: Option<Issue>,
    /// Versions of the body, oldest first; empty if it was never edited.
    pub edits: Vec<BodyEdit>,
    /// Changes of the title, oldest first.
    pub renames: Vec<Rename>,
    /// Labels put on, oldest first.
    pub labelled: Vec<Labelled>,
    /// Comments, oldest first.
    pub comments: Vec<Comment>,
    /// Pull requests whose head branch has the branch's name, of whatever repository, newest last.
    pub prs: Vec<PullRequest>,
    /// The lease refs that exist.
    pub leases: BTreeMap<RefName, LeaseCommit>,
    /// The other refs that exist, `refs/heads/<branch>` among them.
    pub refs: BTreeMap<RefName, Sha>,
    /// The base branch's tip; `None` if the branch does not exist.
    pub base: Option<BaseTip>,
    /// Checks of the merge commit that was asked for; `None` if there is no such commit.
    pub merge_checks: Option<CommitChecks>,
}
