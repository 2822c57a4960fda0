//! The git way to move refs, and each way by itself for `doctor --probe`. The push is done by a door that
//! the wiring gave us; what it cannot do, nobody here does in its place.

use async_trait::async_trait;

use crate::model::ids::{RefName, Sha, Timestamp};
use crate::model::lease::{RefSwap, SwapOutcome, Way};
use crate::ports::git::PushOutcome;
use crate::ports::github::NewCommit;
use crate::ports::ref_ways::{RefPush, RefWays};
use crate::ports::{PortError, PortResult, Refusal};

use super::GitHubAdapter;
use super::swap::{name_of, real, restricted};

impl GitHubAdapter {
    fn door(&self, what: &str) -> PortResult<&dyn RefPush> {
        self.push.get().map(|push| &**push).ok_or_else(|| {
            PortError::refused(what, Refusal::Local, "there is no clone to push from")
        })
    }

    /// A commit for the git way. Its date is the lease clock, so it is GitHub's: asked just before, it
    /// is never ahead, and behind by no more than the answer took.
    pub(super) async fn commit_to_push(&self, commit: &NewCommit) -> PortResult<(Sha, Timestamp)> {
        let door = self.door("make a commit")?;
        let (now, _) = self.leases_of("read GitHub's clock", &[]).await?;
        let sha = door.make_commit(&commit.message, now).await?;
        Ok((sha, now))
    }

    pub(super) async fn swap_push(&self, what: &str, swaps: &[RefSwap]) -> PortResult<()> {
        let Some(first) = swaps.first() else {
            return Ok(());
        };
        let refused = |refusal, words: String| PortError::refused(what, refusal, words);
        match self.door(what)?.push_refs(swaps).await? {
            PushOutcome::Pushed => Ok(()),
            PushOutcome::Stale => Err(refused(Refusal::Stale, "it was moved".to_owned())),
            PushOutcome::Refused(words) => {
                Err(restricted(refused(Refusal::Invalid, words), &first.name))
            }
        }
    }
}

#[async_trait]
impl RefWays for GitHubAdapter {
    async fn create_commit_by(&self, way: Way, commit: &NewCommit) -> PortResult<Sha> {
        let made = match way {
            Way::GraphQl | Way::Rest => self.new_commit(commit).await,
            Way::GitPush => self.commit_to_push(commit).await,
        };
        made.map(|(sha, _)| sha)
    }

    async fn swap_refs_by(&self, way: Way, swaps: &[RefSwap]) -> PortResult<SwapOutcome> {
        let swaps = real(swaps);
        match name_of(&swaps) {
            Some(what) => self.swap_by_way(way, &what, &swaps).await,
            None => Ok(SwapOutcome::Swapped),
        }
    }

    async fn remove_ref(&self, name: &RefName, at: &Sha) -> PortResult<()> {
        self.delete_ref(&format!("delete `{name}`"), name, at).await
    }
}
