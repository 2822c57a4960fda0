//! The merge queue: pull requests wait in it until GitHub merges them or lets them go.

use crate::ports::Refusal;
use crate::ports::github::MergeMethod;

use super::error::{SimError, SimResult};
use super::merge::MergeOrder;
use super::model::{Access, Pr, PrStanding};
use super::repo::SimRepo;
use super::world::{Ctx, World};

/// Who merges what is in the queue.
const QUEUE: &str = "github-merge-queue[bot]";

impl World {
    /// Puts it into the queue; answers its place.
    pub(crate) fn enqueue(
        &mut self,
        ctx: &Ctx<'_>,
        number: u64,
        head: Option<&str>,
    ) -> SimResult<u64> {
        self.may_push(ctx)?;
        let (issue, pr) = self.pr(ctx.key, number)?;
        let refused = |words: &str| Err(SimError::new(422, Refusal::Invalid, words));
        if head.is_some_and(|head| head != pr.head_sha) {
            return refused("Head branch was modified. Review and try the merge again.");
        }
        if pr.queued.is_some() {
            return refused("Pull request is already in the queue");
        }
        let order = MergeOrder {
            method: MergeMethod::Squash,
            expected_head: None,
            title: None,
            message: None,
        };
        let through = Ctx {
            login: QUEUE,
            ..*ctx
        };
        self.refuse_merge(&through, issue, pr, &order)?;
        self.pr_mut(ctx.key, number)?.queued = Some(ctx.now);
        self.issue_mut(ctx.key, number)?.updated_at = ctx.now;
        let place = self.place_in_queue(ctx.key, number)?;
        place.ok_or_else(SimError::not_found)
    }

    /// Its place in the queue, from 1.
    pub(crate) fn place_in_queue(&self, key: &str, number: u64) -> SimResult<Option<u64>> {
        let Some(since) = self.pr(key, number)?.1.queued else {
            return Ok(None);
        };
        let issues = self.repo(key)?.issues.values();
        let before = issues.filter(|issue| {
            let queued = issue.pr.as_ref().and_then(|pr| pr.queued);
            queued.is_some_and(|at| (at, issue.number) < (since, number))
        });
        Ok(Some(before.count() as u64 + 1))
    }

    pub(crate) fn is_queue(login: &str) -> bool {
        login == QUEUE
    }
}

impl SimRepo {
    /// The merge queue has tested it and merges.
    pub fn queue_merges(&self, number: u64) -> SimResult<String> {
        self.set_access(QUEUE, Access::Write);
        self.queued(number)?;
        self.merge_pr_as(QUEUE, number, MergeMethod::Squash)
    }

    /// The merge queue lets it go.
    pub fn queue_evicts(&self, number: u64) -> SimResult<()> {
        self.queued(number)?;
        self.act(QUEUE, |world, ctx| {
            world.pr_mut(ctx.key, number)?.queued = None;
            world.issue_mut(ctx.key, number)?.updated_at = ctx.now;
            Ok(())
        })
    }

    fn queued(&self, number: u64) -> SimResult<()> {
        let is_in = |pr: &Pr| pr.queued.is_some() && pr.standing == PrStanding::Open;
        let pr = self.issue(number)?.pr;
        let found = pr.is_some_and(|pr| is_in(&pr));
        found.then_some(()).ok_or_else(SimError::not_found)
    }
}
