//! What the tools for people (`board`, `claim`) ask besides: the whole board at once, and one pull request
//! by its number. Reads only.

use async_trait::async_trait;

use crate::model::board::{Board, PrSummary};
use crate::model::ids::PrNumber;

use super::PortResult;

/// The repository at a glance.
#[async_trait]
pub trait Overview: Send + Sync {
    /// Every open issue with its comments and linked pull requests, every open pull request, and every
    /// ref under `refs/<namespace>/`; all lists to their ends.
    async fn board(&self, namespace: &str) -> PortResult<Board>;

    /// A pull request of this repository; `None`: there is none of that number.
    async fn pull_request(&self, pr: PrNumber) -> PortResult<Option<PrSummary>>;
}
