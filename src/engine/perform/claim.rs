//! Claim, renew, release: compare-and-swap on the lease refs, `run.json` as the local half.

use std::time::Duration;

use crate::decide::Snapshot;
use crate::decide::effect::ClaimPlan;
use crate::decide::view::View;
use crate::model::claim::{ByHand, ClaimRecord};
use crate::model::ids::{BranchName, ClaimId, IssueNumber, RefName, Sha};
use crate::model::lease::{ClaimProof, LeaseCommit, LeaseMessage, RefSwap, SwapOutcome};
use crate::model::run::RunLease;
use crate::ports::github::NewCommit;
use crate::ports::{PortError, PortResult, Refusal};

use super::super::renew::{IfMissing, RenewOutcome, renew};
use super::super::settings::RepoEngine;
use super::{Performed, stale};

/// On what terms a lease is taken.
pub(in crate::engine) struct Terms {
    /// `loop` or `manual`.
    pub(in crate::engine) by: &'static str,
    /// How long it lives without a renewal.
    pub(in crate::engine) ttl: Duration,
    /// The branch of the work.
    pub(in crate::engine) branch: BranchName,
    /// What makes it a claim by hand.
    pub(in crate::engine) hand: Option<ByHand>,
}

impl Terms {
    fn lead(&self) -> Option<IssueNumber> {
        self.hand.as_ref().and_then(|hand| hand.lead)
    }
}

/// Whose the lease is after a compare-and-swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Taken {
    Won,
    Lost,
}

impl RepoEngine {
    pub(super) async fn perform_claim(
        &self,
        seen: &Snapshot,
        plan: &ClaimPlan,
    ) -> PortResult<Performed> {
        let terms = Terms {
            by: "loop",
            ttl: self.policy.lease_ttl,
            branch: self.branch(seen)?,
            hand: None,
        };
        self.take_lease(seen, plan, &terms).await?;
        Ok(Performed::LookAgain)
    }

    /// `run.json`, then the lease. A loser writes nothing at all, and its local half goes too.
    pub(in crate::engine) async fn take_lease(
        &self,
        seen: &Snapshot,
        plan: &ClaimPlan,
        terms: &Terms,
    ) -> PortResult<Taken> {
        let record = self.claim_locally(seen, plan, terms)?;
        let taken = self.swap_lease(&record, plan, terms).await?;
        if taken == Taken::Lost {
            self.forget_claim(&record)?;
        }
        Ok(taken)
    }

    /// The lease for a claim whose local half is there.
    pub(in crate::engine) async fn swap_lease(
        &self,
        record: &ClaimRecord,
        plan: &ClaimPlan,
        terms: &Terms,
    ) -> PortResult<Taken> {
        let parents = plan
            .from
            .iter()
            .chain(plan.slot.iter().filter_map(|(_, commit)| commit.as_ref()))
            .map(|commit| commit.oid.clone())
            .collect();
        let commit = NewCommit {
            message: self.lease_message(record, plan, terms).render(),
            tree: plan.tree.clone(),
            parents,
        };
        let (oid, _) = self.world.github.create_commit(&commit).await?;
        let name = self.issue_ref(record)?;
        let swaps = claim_swaps(&name, plan, &oid);
        if self.world.github.swap_refs(&swaps).await? == SwapOutcome::Swapped {
            return Ok(Taken::Won);
        }
        // The look may have been older than our own swap: then the lease is ours.
        let names = std::slice::from_ref(&name);
        let (_, now) = self.world.github.read_leases(names).await?;
        let ours = now.get(&name);
        let won = ours.is_some_and(|c| ClaimProof::verify(c, &record.claim).is_some());
        Ok(if won { Taken::Won } else { Taken::Lost })
    }

    /// `run.json`: created exclusively; one whose lease never came is used again.
    fn claim_locally(
        &self,
        seen: &Snapshot,
        plan: &ClaimPlan,
        terms: &Terms,
    ) -> PortResult<ClaimRecord> {
        let earlier = seen.local.claim.as_ref().map(|record| record.claim.clone());
        let claim = match earlier.clone() {
            Some(claim) => claim,
            None => self.fresh_claim()?,
        };
        let record = self.record_of(seen, claim, plan, terms)?;
        if earlier.is_some() {
            self.world.folders.replace_claim(&record)?;
        } else if !self.world.folders.create_claim(&record)? {
            return Err(stale(
                "claim the issue",
                "another process of this home claimed it",
            ));
        }
        Ok(record)
    }

    pub(in crate::engine) fn fresh_claim(&self) -> PortResult<ClaimId> {
        ClaimId::new(format!("c-{}", (self.world.random)()))
            .map_err(|error| PortError::refused("name a claim", Refusal::Local, error.to_string()))
    }

    /// What `run.json` says of a claim.
    pub(in crate::engine) fn record_of(
        &self,
        seen: &Snapshot,
        claim: ClaimId,
        plan: &ClaimPlan,
        terms: &Terms,
    ) -> PortResult<ClaimRecord> {
        let issue = Self::number(seen)?;
        Ok(ClaimRecord {
            repo: self.settings.slug.clone(),
            issue,
            claim,
            epoch: plan.epoch,
            branch: terms.branch.clone(),
            worktree: self.worktree_path(terms.lead().unwrap_or(issue)),
            at: seen.look.at,
            lease_oid: None,
            hand: terms.hand.clone(),
        })
    }

    pub(in crate::engine) fn lease_message(
        &self,
        record: &ClaimRecord,
        plan: &ClaimPlan,
        terms: &Terms,
    ) -> LeaseMessage {
        let whole_minutes = terms.ttl.as_millis().is_multiple_of(60_000);
        let millis = u64::try_from(terms.ttl.as_millis()).unwrap_or(u64::MAX);
        LeaseMessage {
            v: 1,
            issue: record.issue,
            owner: Some(self.settings.owner.clone()),
            ttl_min: millis.div_ceil(60_000),
            ttl_ms: (!whole_minutes).then_some(millis),
            claim: Some(record.claim.clone()),
            n: Some((self.world.random)()),
            epoch: Some(plan.epoch),
            by: Some(terms.by.to_owned()),
            host: Some(self.settings.host.clone()),
            pid: Some(self.settings.pid),
            agent: None,
            stolen_from: plan.stolen_from.clone(),
        }
    }

    pub(super) async fn perform_renew(&self, seen: &Snapshot) -> PortResult<Performed> {
        let lease = self.run_lease(seen)?;
        let random = self.world.random.clone();
        let nonce = move || random();
        match renew(&*self.world.github, &lease, &nonce, &|| IfMissing::Create).await {
            RenewOutcome::Unanswered(error) => Err(error),
            RenewOutcome::Renewed { .. } | RenewOutcome::Lost { .. } | RenewOutcome::Released => {
                Ok(Performed::LookAgain)
            }
        }
    }

    /// The lease that our claim holds, as a supervisor needs it.
    pub(super) fn run_lease(&self, seen: &Snapshot) -> PortResult<RunLease> {
        let record = Self::record(seen)?;
        let view = View::of(seen, &self.policy, seen.look.at)
            .map_err(|_| stale("renew the lease", "the issue is gone"))?;
        let commit = view.lease_commit();
        let base = seen.look.base.as_ref();
        let tree = base.map(|base| base.tree.clone());
        Ok(RunLease {
            alias: self.settings.alias.clone(),
            claim: record.claim.clone(),
            refs: std::iter::once(view.issue_ref.clone())
                .chain(view.slot())
                .collect(),
            ttl: self.policy.lease_ttl,
            tree: tree.ok_or_else(|| stale("renew the lease", "the base branch is gone"))?,
            margin: self.policy.lease_margins.grace,
            message: commit
                .and_then(|commit| LeaseMessage::parse(&commit.message))
                .ok_or_else(|| stale("renew the lease", "its message cannot be read"))?,
            good_since: commit.and_then(|commit| self.good_since(seen, commit)),
        })
    }

    /// Boot time since when the lease is good: when the look was sent, less the commit's age in it.
    fn good_since(&self, seen: &Snapshot, commit: &LeaseCommit) -> Option<Duration> {
        let looked = self.looked_at(Self::number(seen).ok()?, seen.look.at)?;
        let age = (seen.look.at - commit.date).to_std().unwrap_or_default();
        // GitHub's clocks count whole seconds; the older reading is the safe one.
        looked.checked_sub(age + Duration::from_secs(1))
    }

    pub(super) fn perform_drop_claim(&self, seen: &Snapshot) -> PortResult<Performed> {
        let issue = Self::record(seen)?.issue;
        self.world.runs.relieve(issue)?;
        self.world.folders.remove_claim(issue)?;
        Ok(Performed::same(seen))
    }

    pub(in crate::engine) async fn perform_release(
        &self,
        seen: &Snapshot,
    ) -> PortResult<Performed> {
        let record = Self::record(seen)?;
        // First, so that no supervisor renews what is being given back.
        self.world.runs.relieve(record.issue)?;
        // Without the issue too: a deleted one's lease has to go as well.
        let names = std::iter::once(self.issue_ref(record)?).chain(self.policy.slot_refs());
        let swaps: Vec<RefSwap> = names
            .filter_map(|name| {
                let commit = seen.look.leases.get(&name)?;
                ClaimProof::verify(commit, &record.claim)?;
                Some(RefSwap {
                    name,
                    before: Some(commit.oid.clone()),
                    after: None,
                })
            })
            .collect();
        match self.world.github.swap_refs(&swaps).await? {
            SwapOutcome::Stale => Err(stale("release the lease", "it moved")),
            SwapOutcome::Swapped => {
                self.world.folders.remove_claim(record.issue)?;
                Ok(Performed::noted(seen, |look| {
                    look.leases
                        .retain(|name, _| !swaps.iter().any(|swap| swap.name == *name));
                }))
            }
        }
    }

    pub(in crate::engine) fn issue_ref(&self, record: &ClaimRecord) -> PortResult<RefName> {
        self.policy
            .issue_ref(record.issue)
            .ok_or_else(|| stale("claim the issue", "the lease namespace makes no ref name"))
    }

    /// The branch of the work: the state's, else the configured one.
    pub(super) fn branch(&self, seen: &Snapshot) -> PortResult<BranchName> {
        View::of(seen, &self.policy, seen.look.at)
            .map(|view| view.branch.clone())
            .map_err(|_| stale("name the branch", "the issue is gone"))
    }
}

fn claim_swaps(issue_ref: &RefName, plan: &ClaimPlan, oid: &Sha) -> Vec<RefSwap> {
    let issue = RefSwap {
        name: issue_ref.clone(),
        before: plan.from.as_ref().map(|commit| commit.oid.clone()),
        after: Some(oid.clone()),
    };
    let slot = plan.slot.as_ref().map(|(name, commit)| RefSwap {
        name: name.clone(),
        before: commit.as_ref().map(|commit| commit.oid.clone()),
        after: Some(oid.clone()),
    });
    std::iter::once(issue).chain(slot).collect()
}
