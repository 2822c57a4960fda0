//! What GitHub says of a pull request.

use serde::{Deserialize, Serialize};

use super::checks::CommitChecks;
use super::ids::{BranchName, Login, PrNumber, RepoId, Sha, Timestamp};
use super::issue::{Actor, Association};

/// Open, merged, or closed without a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum PrState {
    /// Open.
    Open,
    /// Merged.
    Merged {
        /// The commit on the base branch.
        commit: Sha,
        /// When.
        at: Timestamp,
    },
    /// Closed by somebody, not merged.
    Closed,
}

/// GitHub's `mergeable`, computed in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mergeable {
    /// It merges cleanly.
    Yes,
    /// It conflicts.
    Conflicting,
    /// GitHub has not computed it yet.
    Unknown,
}

/// GitHub's own verdict over all reviews; absent where the base asks for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// Approved as the rules ask.
    Approved,
    /// Somebody who may asks for changes.
    ChangesRequested,
    /// Approval is asked for and not there yet.
    ReviewRequired,
}

/// State of one review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    /// Approved.
    Approved,
    /// Changes requested.
    ChangesRequested,
    /// Only comments.
    Commented,
    /// Taken back by somebody.
    Dismissed,
    /// Not submitted yet.
    Pending,
}

/// A review of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Who; `None` for a deleted account.
    pub author: Option<Actor>,
    /// What that one is to the repository.
    pub association: Association,
    /// Its state.
    pub state: ReviewState,
    /// The head it was given for.
    pub commit: Option<Sha>,
    /// When it was submitted.
    pub submitted_at: Option<Timestamp>,
    /// Its text.
    pub body: String,
}

/// A pull request whose head branch has our branch's name. Whether it is *ours* is the decider's question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    /// Its number.
    pub number: PrNumber,
    /// GraphQL node id.
    pub node_id: String,
    /// Its state.
    pub state: PrState,
    /// Is it a draft?
    pub draft: bool,
    /// The repository the head branch lives in; `None` if that was deleted.
    pub head_repo: Option<RepoId>,
    /// The head branch's name.
    pub head_ref: BranchName,
    /// The head commit.
    pub head_sha: Sha,
    /// The base branch's name.
    pub base_ref: BranchName,
    /// Who opened it.
    pub author: Option<Actor>,
    /// Does it merge?
    pub mergeable: Mergeable,
    /// GitHub's verdict over the reviews.
    pub review_decision: Option<ReviewDecision>,
    /// All reviews, oldest first.
    pub reviews: Vec<Review>,
    /// Checks of the head commit.
    pub checks: CommitChecks,
    /// Does the base ask for a branch that contains it, and this one does not?
    pub behind: bool,
    /// Is a merge queue configured on the base?
    pub merge_queue: bool,
    /// Its place in that queue, from 1; `None`: it is not in it.
    pub queued: Option<u64>,
    /// Assignees.
    pub assignees: Vec<Login>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Web address.
    pub url: String,
}

/// How a pull request is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMethod {
    /// One new commit.
    Squash,
    /// A merge commit.
    Merge,
    /// The commits, replayed.
    Rebase,
}
