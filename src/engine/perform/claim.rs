//! Claim, renew, release: compare-and-swap on the lease refs, `run.json` as the local half.

use std::time::Duration;

use crate::decide::Snapshot;
use crate::decide::effect::ClaimPlan;
use crate::decide::view::View;
use crate::model::claim::ClaimRecord;
use crate::model::ids::{ClaimId, RefName, Sha};
use crate::model::lease::{ClaimProof, LeaseCommit, LeaseMessage, RefSwap, SwapOutcome};
use crate::model::run::RunLease;
use crate::ports::github::NewCommit;
use crate::ports::{PortError, PortResult, Refusal};

use super::super::renew::{IfMissing, RenewOutcome, renew};
use super::super::settings::RepoEngine;
use super::{Performed, stale};

impl RepoEngine {
    pub(super) async fn perform_claim(
        &self,
        seen: &Snapshot,
        plan: &ClaimPlan,
    ) -> PortResult<Performed> {
        let record = self.claim_locally(seen, plan)?;
        let message = self.lease_message(&record, plan);
        let parents = plan
            .from
            .iter()
            .chain(plan.slot.iter().filter_map(|(_, commit)| commit.as_ref()))
            .map(|commit| commit.oid.clone())
            .collect();
        let commit = NewCommit {
            message: message.render(),
            tree: plan.tree.clone(),
            parents,
        };
        let (oid, _) = self.world.github.create_commit(&commit).await?;
        let swaps = claim_swaps(&self.issue_ref(&record)?, plan, &oid);
        match self.world.github.swap_refs(&swaps).await? {
            SwapOutcome::Swapped => Ok(Performed::LookAgain),
            SwapOutcome::Stale => {
                // The look may have been older than our own swap: then the lease is ours.
                let name = self.issue_ref(&record)?;
                let (_, now) = self
                    .world
                    .github
                    .read_leases(std::slice::from_ref(&name))
                    .await?;
                let ours = now.get(&name);
                if ours.is_some_and(|c| ClaimProof::verify(c, &record.claim).is_some()) {
                    return Ok(Performed::LookAgain);
                }
                // A loser writes nothing at all, and its local half goes too.
                self.world.folders.remove_claim(record.issue)?;
                Ok(Performed::LookAgain)
            }
        }
    }

    /// `run.json`: created exclusively; one whose lease never came is used again.
    fn claim_locally(&self, seen: &Snapshot, plan: &ClaimPlan) -> PortResult<ClaimRecord> {
        let issue = Self::number(seen)?;
        let branch = self.branch(seen)?;
        let earlier = seen.local.claim.as_ref().map(|record| record.claim.clone());
        let fresh = || ClaimId::new(format!("c-{}", (self.world.random)()));
        let claim = match earlier.clone() {
            Some(claim) => claim,
            None => fresh().map_err(|error| {
                PortError::refused("name a claim", Refusal::Local, error.to_string())
            })?,
        };
        let record = ClaimRecord {
            repo: self.settings.slug.clone(),
            issue,
            claim,
            epoch: plan.epoch,
            branch,
            worktree: self.worktree_path(issue),
            at: seen.look.at,
            lease_oid: None,
            hand: None,
        };
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

    fn lease_message(&self, record: &ClaimRecord, plan: &ClaimPlan) -> LeaseMessage {
        let ttl = self.policy.lease_ttl;
        let whole_minutes = ttl.as_millis().is_multiple_of(60_000);
        let millis = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        LeaseMessage {
            v: 1,
            issue: record.issue,
            owner: Some(self.settings.owner.clone()),
            ttl_min: millis.div_ceil(60_000),
            ttl_ms: (!whole_minutes).then_some(millis),
            claim: Some(record.claim.clone()),
            n: Some((self.world.random)()),
            epoch: Some(plan.epoch),
            by: Some("loop".to_owned()),
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
        match renew(&*self.world.github, &lease, &nonce, IfMissing::Create).await {
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

    pub(super) async fn perform_release(&self, seen: &Snapshot) -> PortResult<Performed> {
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

    fn issue_ref(&self, record: &ClaimRecord) -> PortResult<RefName> {
        self.policy
            .issue_ref(record.issue)
            .ok_or_else(|| stale("claim the issue", "the lease namespace makes no ref name"))
    }

    /// The branch of the work: the state's, else the configured one.
    pub(super) fn branch(&self, seen: &Snapshot) -> PortResult<crate::model::ids::BranchName> {
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
