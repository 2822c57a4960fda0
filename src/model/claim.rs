//! The local half of a claim: `run.json` of an issue folder, created exclusively.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ids::{BranchName, ClaimId, Epoch, IssueNumber, RepoSlug, Sha, Timestamp};

/// `run.json`: this home's claim on an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRecord {
    /// The repository, so that a folder which names another one is refused.
    pub repo: RepoSlug,
    /// The issue, likewise.
    pub issue: IssueNumber,
    /// The random claim.
    pub claim: ClaimId,
    /// The claim's epoch.
    pub epoch: Epoch,
    /// The branch of the work.
    pub branch: BranchName,
    /// The worktree.
    pub worktree: PathBuf,
    /// When it was made.
    pub at: Timestamp,
    /// The lease commit we last moved the ref to, if the answer came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_oid: Option<Sha>,
}
