//! The repository as a backlog: what the tools for any agent, person or CI job (`lease`, `claim`,
//! `board`) ask about all issues and all leases at once. The loop looks at one issue at a time, and
//! comes here only where an issue waits for others.

use async_trait::async_trait;

use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::issue::OpenIssue;
use crate::model::lease::LeaseCommit;
use crate::model::look::BaseTip;

use super::PortResult;

/// Every lease of a namespace, and what a new lease commit needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllLeases {
    /// GitHub's clock (the `Date` header).
    pub at: Timestamp,
    /// Tip of the default branch, whose tree lease commits use; `None` while the repository is empty.
    pub base: Option<BaseTip>,
    /// The refs under the namespace, slots among them, in the order of their names.
    pub leases: Vec<LeaseCommit>,
}

/// The backlog of one repository.
#[async_trait]
pub trait Backlog: Send + Sync {
    /// Every ref under `refs/<namespace>/`, all pages.
    async fn leases(&self, namespace: &str) -> PortResult<AllLeases>;

    /// Every open issue, oldest first, all pages, pull requests left out.
    async fn open_issues(&self) -> PortResult<Vec<OpenIssue>>;

    /// Issues of this repository, still open, that GitHub's own dependencies name as blocking `issue`.
    async fn blockers(&self, issue: IssueNumber) -> PortResult<Vec<IssueNumber>>;

    /// Is the issue or pull request open? `None`: there is none of that number.
    async fn is_open(&self, issue: IssueNumber) -> PortResult<Option<bool>>;
}
