//! The single ways to move refs, in process. All are the same compare-and-swap here; what differs is what
//! forbids them, and that REST leaves a tombstone where the others delete.

use async_trait::async_trait;

use crate::model::ids::{RefName, Sha};
use crate::model::lease::{RefSwap, SwapOutcome, Way};
use crate::ports::github::{GitHub as _, NewCommit};
use crate::ports::ref_ways::RefWays;
use crate::ports::{PortError, PortResult, Refusal};

use super::error::SimError;
use super::faults::Op;
use super::model::Ban;
use super::port::SimGitHub;
use super::repo_git::{Before, Move};

const TOMBSTONE: &str = r#"{"v":1,"issue":0,"owner":null,"ttlMin":0}"#;

#[async_trait]
impl RefWays for SimGitHub {
    async fn create_commit_by(&self, _way: Way, commit: &NewCommit) -> PortResult<Sha> {
        self.create_commit(commit).await.map(|(sha, _)| sha)
    }

    async fn swap_refs_by(&self, way: Way, swaps: &[RefSwap]) -> PortResult<SwapOutcome> {
        let ban = match way {
            Way::GraphQl => Ban::UpdateRefs,
            Way::GitPush => Ban::Pushes,
            Way::Rest => Ban::RestRefs,
        };
        self.ask(Op::Read, way.name().to_owned(), |world, ctx| {
            if world.may_read(ctx)?.bans.contains(&ban) {
                let words = format!("{} is not to be had here", way.name());
                return Err(SimError::new(403, Refusal::Forbidden, words));
            }
            Ok(())
        })
        .await?;
        if way != Way::Rest {
            return self.swap_refs(swaps).await;
        }
        let mut buried = Vec::new();
        for swap in swaps {
            buried.push(self.buried(swap).await?);
        }
        self.swap_refs(&buried).await
    }

    async fn remove_ref(&self, name: &RefName, at: &Sha) -> PortResult<()> {
        let step = Move {
            name: name.to_string(),
            before: Before::At(at.to_string()),
            after: None,
            force: true,
        };
        self.tell(Op::SwapRefs, format!("delete `{name}`"), |world, ctx| {
            world.may_write_refs_by_rest(ctx)?;
            world.swap(ctx, &[step])
        })
        .await
    }
}

impl SimGitHub {
    /// The swap as REST does it: a deletion becomes a tombstone on top.
    async fn buried(&self, swap: &RefSwap) -> PortResult<RefSwap> {
        let (Some(before), None) = (&swap.before, &swap.after) else {
            return Ok(swap.clone());
        };
        let what = format!("bury `{}`", swap.name);
        let path = self.ask(Op::Read, what.clone(), |world, ctx| {
            Ok(world.may_read(ctx)?.path.clone())
        });
        let commit = super::repo_git::commit(&path.await?, before.as_str());
        let commit = commit.ok().flatten();
        let tree = commit.and_then(|commit| Sha::new(commit.tree).ok());
        let tree =
            tree.ok_or_else(|| PortError::refused(what, Refusal::NotFound, "there is no commit"))?;
        let tombstone = NewCommit {
            message: TOMBSTONE.to_owned(),
            tree,
            parents: vec![before.clone()],
        };
        let (sha, _) = self.create_commit(&tombstone).await?;
        Ok(RefSwap {
            after: Some(sha),
            ..swap.clone()
        })
    }
}
