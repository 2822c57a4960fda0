//! The single ways to move refs: what `doctor --probe` tries one by one, and the part of the clone that
//! makes `git push` one of them. Everything else uses `GitHub::swap_refs`, which knows the way.

use async_trait::async_trait;

use crate::model::ids::{RefName, Sha, Timestamp};
use crate::model::lease::{RefSwap, SwapOutcome, Way};

use super::PortResult;
use super::git::PushOutcome;
use super::github::NewCommit;

/// Each way by itself: nothing else is tried in its place.
#[async_trait]
pub trait RefWays: Send + Sync {
    /// A commit that this way can move a ref to.
    async fn create_commit_by(&self, way: Way, commit: &NewCommit) -> PortResult<Sha>;

    /// Moves refs, each only from where it was read.
    async fn swap_refs_by(&self, way: Way, swaps: &[RefSwap]) -> PortResult<SwapOutcome>;

    /// Deletes a ref that nobody else uses, if a look finds it at `at`: the REST way to tidy up, which
    /// cannot compare and delete in one.
    async fn remove_ref(&self, name: &RefName, at: &Sha) -> PortResult<()>;
}

/// Moves refs by `git push`.
#[async_trait]
pub trait RefPush: Send + Sync {
    /// Makes a commit on this machine, dated `at`, which has to be GitHub's clock.
    async fn make_commit(&self, message: &str, at: Timestamp) -> PortResult<Sha>;

    /// Moves refs, all or none, each only from where it was read.
    async fn push_refs(&self, swaps: &[RefSwap]) -> PortResult<PushOutcome>;
}
