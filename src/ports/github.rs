//! GitHub, as much of it as ghswarm uses.
//!
//! An implementation may repeat reads. It never repeats a write whose outcome is unknown: it answers
//! `PortError::Unknown`, and the engine looks.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::model::checks::CommitChecks;
use crate::model::ids::{
    BranchName, CommentId, IssueNumber, Login, PrNumber, RefName, Sha, Timestamp,
};
use crate::model::issue::ListedIssue;
use crate::model::lease::{ClaimProof, LeaseCommit, RefSwap, SwapOutcome};
pub use crate::model::look::{BaseTip, Look};
pub use crate::model::pr::MergeMethod;
use crate::model::repo::{Permission, Repository};
use crate::model::rules::BaseRules;

use super::PortResult;

/// Where the listing stands: what the next conditional request says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ListCursor {
    /// `None`: all open issues. Else all issues that changed at or after this time.
    pub since: Option<Timestamp>,
    /// The entity tag of the last answer to the very same question.
    pub etag: Option<String>,
}

/// Answer to a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// Nothing changed since the cursor (304).
    Unchanged,
    /// What changed, every page of it, pull requests left out.
    Issues {
        /// The issues, newest change first.
        issues: Vec<ListedIssue>,
        /// The cursor for the next look.
        next: ListCursor,
    },
}

/// One look at everything that concerns an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookAt {
    /// The issue.
    pub issue: IssueNumber,
    /// The branch of the work: its head and its pull requests are looked at.
    pub branch: BranchName,
    /// The base branch.
    pub base: BranchName,
    /// Lease refs to read: the issue's and the slots'.
    pub leases: Vec<RefName>,
    /// Other refs whose commit is wanted (the work in progress).
    pub refs: Vec<RefName>,
    /// A merge commit whose checks are wanted.
    pub merge_commit: Option<Sha>,
}

/// A commit to make. It is dangling until a ref points at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommit {
    /// Message.
    pub message: String,
    /// Tree.
    pub tree: Sha,
    /// Parents: what the refs that will point at it point at now, so that each only moves forward.
    pub parents: Vec<Sha>,
}

/// What is changed of an issue in one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IssueChange {
    /// The new body.
    pub body: Option<String>,
    /// Close it as completed.
    pub close: bool,
    /// One of our comments to rewrite in the same breath, after the body (the checkpoint).
    pub comment: Option<(CommentId, String)>,
}

/// A pull request to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPr {
    /// Title.
    pub title: String,
    /// Body.
    pub body: String,
    /// Head branch in this repository.
    pub head: BranchName,
    /// Base branch.
    pub base: BranchName,
}

/// A merge to perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergePr {
    /// The pull request.
    pub pr: PrNumber,
    /// Its head as it was looked at; another head refuses (`Refusal::Stale`).
    pub head: Sha,
    /// How.
    pub method: MergeMethod,
    /// Subject of the commit.
    pub title: String,
    /// Body of the commit.
    pub message: String,
}

/// A label to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLabel {
    /// Name.
    pub name: String,
    /// Six hex digits.
    pub colour: String,
    /// What it means.
    pub description: String,
}

/// One repository on GitHub.
#[async_trait]
pub trait GitHub: Send + Sync {
    /// Facts about the repository, and whose token it is.
    async fn repository(&self) -> PortResult<Repository>;

    /// The issues that changed.
    async fn list_issues(&self, cursor: &ListCursor) -> PortResult<Listed>;

    /// Looks at everything that concerns one issue, straight from the source, never an index.
    async fn look(&self, at: &LookAt) -> PortResult<Look>;

    /// Reads lease refs alone, with GitHub's clock: the supervisor's look.
    async fn read_leases(
        &self,
        names: &[RefName],
    ) -> PortResult<(Timestamp, BTreeMap<RefName, LeaseCommit>)>;

    /// What a login may do here.
    async fn permission(&self, login: &Login) -> PortResult<Permission>;

    /// What branch protection and rulesets ask of pull requests into this branch.
    async fn base_rules(&self, base: &BranchName) -> PortResult<BaseRules>;

    /// The checks of a branch's tip.
    async fn tip_checks(&self, base: &BranchName) -> PortResult<CommitChecks>;

    /// Names of all labels of the repository.
    async fn labels(&self) -> PortResult<Vec<String>>;

    /// Makes a dangling commit; answers its id and date.
    async fn create_commit(&self, commit: &NewCommit) -> PortResult<(Sha, Timestamp)>;

    /// Moves refs, all or none where the way allows it, each only from where it was read.
    async fn swap_refs(&self, swaps: &[RefSwap]) -> PortResult<SwapOutcome>;

    /// Changes an issue; answers the body as GitHub has it now.
    async fn update_issue(
        &self,
        proof: &ClaimProof,
        issue: IssueNumber,
        change: &IssueChange,
    ) -> PortResult<String>;

    /// Puts labels on; those that are there stay. Answers all labels of the issue.
    async fn add_labels(
        &self,
        proof: &ClaimProof,
        issue: IssueNumber,
        labels: &[String],
    ) -> PortResult<Vec<String>>;

    /// Takes a label off; absent is fine.
    async fn remove_label(
        &self,
        proof: &ClaimProof,
        issue: IssueNumber,
        label: &str,
    ) -> PortResult<()>;

    /// Assigns a login to an issue or pull request.
    async fn add_assignee(&self, proof: &ClaimProof, number: u64, login: &Login) -> PortResult<()>;

    /// Takes an assignee off; absent is fine.
    async fn remove_assignee(
        &self,
        proof: &ClaimProof,
        number: u64,
        login: &Login,
    ) -> PortResult<()>;

    /// Writes a comment on an issue or pull request.
    async fn create_comment(
        &self,
        proof: &ClaimProof,
        number: u64,
        body: &str,
    ) -> PortResult<CommentId>;

    /// Rewrites one of our comments.
    async fn update_comment(&self, proof: &ClaimProof, id: CommentId, body: &str)
    -> PortResult<()>;

    /// Opens a pull request; answers number and web address.
    async fn open_pr(&self, proof: &ClaimProof, pr: &NewPr) -> PortResult<(PrNumber, String)>;

    /// Merges; answers the commit on the base.
    async fn merge_pr(&self, proof: &ClaimProof, merge: &MergePr) -> PortResult<Sha>;

    /// Puts a pull request into its base's merge queue; answers its place there, from 1. Another head than `head`
    /// refuses.
    async fn enqueue_pr(&self, proof: &ClaimProof, node_id: &str, head: &Sha) -> PortResult<u64>;

    /// Merges the base into a pull request's branch, on GitHub; another head than `head` refuses
    /// (`Refusal::Stale`).
    async fn update_branch(&self, proof: &ClaimProof, pr: PrNumber, head: &Sha) -> PortResult<()>;

    /// Has GitHub Actions run the failed jobs of a workflow run again.
    async fn rerun_failed(&self, proof: &ClaimProof, run: u64) -> PortResult<()>;

    /// The log of a job, its last part where it is long.
    async fn job_log(&self, job: u64) -> PortResult<String>;

    /// Creates a label; one that is there stays as it is.
    async fn create_label(&self, label: &NewLabel) -> PortResult<()>;
}
