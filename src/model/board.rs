//! A repository at a glance: every open issue with what claims it.

use serde::{Deserialize, Serialize};

use super::ids::{BranchName, IssueNumber, PrNumber, RepoId, Timestamp};
use super::issue::{Comment, Issue, LinkedPr};
use super::lease::LeaseCommit;
use super::look::BaseTip;
use super::pr::PrState;

/// What the board shows, seen in one go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    /// GitHub's clock (the `Date` header).
    pub at: Timestamp,
    /// Tip of the default branch; `None` while the repository is empty.
    pub base: Option<BaseTip>,
    /// Open issues, oldest first.
    pub issues: Vec<BoardIssue>,
    /// Open pull requests, oldest first.
    pub prs: Vec<LinkedPr>,
    /// The refs under the lease namespace, slots among them.
    pub leases: Vec<LeaseCommit>,
}

/// An open issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardIssue {
    /// The issue with its linked pull requests.
    pub issue: Issue,
    /// All its comments, oldest first.
    pub comments: Vec<Comment>,
    /// Sub-issues that are not closed.
    pub open_sub_issues: u64,
}

/// A pull request, as far as the end of a claim depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrSummary {
    /// Its number.
    pub number: PrNumber,
    /// Its state.
    pub state: PrState,
    /// The repository the head branch lives in; `None` if that was deleted.
    pub head_repo: Option<RepoId>,
    /// The head branch's name.
    pub head_ref: BranchName,
    /// The base branch's name.
    pub base_ref: BranchName,
    /// Issues of this repository that GitHub links to it.
    pub closes: Vec<IssueNumber>,
}
