//! `claim check` and `claim renew`: how a claim stands, and its lease.

use crate::decide::view::{ClaimView, View};
use crate::decide::{Holding, Order, Why};
use crate::model::claim::{ClaimRecord, HandStage};
use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::lease::LeaseReading;
use crate::model::limits::HAND_LEASE_TTL;
use crate::model::run::RunLease;
use crate::ports::{PortError, PortResult};

use super::super::renew::{IfMissing, RenewOutcome, renew};
use super::super::settings::RepoEngine;
use super::why_of;

/// May this home work on the issue?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nobody claims it; a claim would be won.
    Free,
    /// This home claims it by hand.
    Ours,
    /// Somebody else does, or it is not to be worked on.
    Held,
    /// This home claimed it and lost that claim; nobody has it now, and a new claim would be won.
    Displaced,
}

/// How an issue's claim stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandStanding {
    /// The issue.
    pub issue: IssueNumber,
    /// May this home work on it?
    pub verdict: Verdict,
    /// What speaks against a claim.
    pub why: Option<Why>,
    /// Who holds it; a stale claim too.
    pub holding: Option<Holding>,
    /// Our own claim.
    pub record: Option<ClaimRecord>,
    /// Was something cut off, so that the next call finishes it?
    pub unfinished: bool,
    /// When our lease runs out; `None`: we have none, or it has.
    pub expires: Option<Timestamp>,
}

impl RepoEngine {
    /// Who holds the issue.
    pub(super) async fn holding(&self, issue: IssueNumber) -> PortResult<Option<Holding>> {
        let seen = self.observe(issue, &Order::default(), None).await?;
        let view = View::of(&seen, &self.policy, seen.look.at);
        Ok(view.ok().and_then(|view| view.holding()))
    }

    /// Looks how the claim stands. Writes nothing.
    pub async fn check_by_hand(&self, issue: IssueNumber) -> PortResult<HandStanding> {
        let seen = self.look_by_hand(issue).await?;
        let record = seen.local.claim.clone().filter(|record| !record.is_loops());
        let view = match View::of(&seen, &self.policy, seen.look.at) {
            Ok(view) => view,
            Err(decision) => {
                return Ok(HandStanding {
                    issue,
                    verdict: Verdict::Held,
                    why: Some(why_of(&decision)),
                    holding: None,
                    record,
                    unfinished: false,
                    expires: None,
                });
            }
        };
        let displaced = record.is_some() && view.is_displaced();
        let ours = record.is_some() && !displaced;
        let why = if ours { None } else { view.refuses_hand() };
        let stage = record.as_ref().and_then(ClaimRecord::stage);
        let unfinished = stage.is_some_and(|stage| *stage != HandStage::Held);
        Ok(HandStanding {
            issue,
            verdict: match (ours, &why) {
                (true, _) => Verdict::Ours,
                (false, None) if displaced => Verdict::Displaced,
                (false, None) => Verdict::Free,
                (false, Some(_)) => Verdict::Held,
            },
            why,
            holding: view.holding(),
            expires: expires(&view).filter(|_| ours),
            unfinished,
            record,
        })
    }

    /// Renews the lease of a claim by hand; the pull request gets the assignee that it lacks. `None`: this home has none. `Released`: it
    /// was ended while it had no lease, and a renewal must not bring it back.
    pub async fn renew_by_hand(&self, issue: IssueNumber) -> PortResult<Option<RenewOutcome>> {
        let _guard = self.lock_issue(issue).await?;
        let Some(record) = self.world.folders.claim(issue)? else {
            return Ok(None);
        };
        let Some(hand) = record.hand.clone() else {
            return Ok(None);
        };
        let seen = self.look_by_hand(issue).await?;
        let refused = |why: Why| {
            let what = format!("renew the lease of issue #{issue}");
            crate::ports::PortError::refused(what, crate::ports::Refusal::Local, why.to_string())
        };
        let view = View::of(&seen, &self.policy, seen.look.at)
            .map_err(|decision| refused(why_of(&decision)))?;
        if view.claim == ClaimView::WithoutLease && view.is_displaced() {
            return Ok(Some(RenewOutcome::Released));
        }
        let plan = view.plan_by_hand().map_err(refused)?;
        let plan = crate::decide::effect::ClaimPlan {
            epoch: record.epoch,
            stolen_from: None,
            ..plan
        };
        let terms = Self::hand_terms(record.branch.clone(), hand);
        let lease = RunLease {
            alias: self.settings.alias.clone(),
            claim: record.claim.clone(),
            refs: vec![self.issue_ref(&record)?],
            ttl: HAND_LEASE_TTL,
            tree: plan.tree.clone(),
            margin: self.policy.lease_margins.grace,
            message: self.lease_message(&record, &plan, &terms),
            good_since: None,
        };
        let random = self.world.random.clone();
        let nonce = move || random();
        let github = &*self.world.github;
        let outcome = renew(github, &lease, &nonce, &|| IfMissing::Create).await;
        if let (RenewOutcome::Renewed { .. }, Some(proof)) = (&outcome, view.proof()) {
            self.assign_pr(&view, proof).await?;
        }
        match outcome {
            RenewOutcome::Unanswered(error) => Err(error),
            outcome @ (RenewOutcome::Renewed { .. }
            | RenewOutcome::Lost { .. }
            | RenewOutcome::Released) => Ok(Some(outcome)),
        }
    }

    /// The claims by hand of this home, by number, as far as they can be read.
    pub fn claims_by_hand(&self) -> PortResult<Vec<ClaimRecord>> {
        let folders = &self.world.folders;
        let issues = folders.claimed_issues()?.into_iter();
        let claims = issues.filter_map(|issue| folders.claim(issue).ok().flatten());
        Ok(claims.filter(|record| !record.is_loops()).collect())
    }

    /// The claims of this home that cannot be read, and why: to be named wherever all are gone through.
    pub fn unreadable_claims(&self) -> PortResult<Vec<(IssueNumber, PortError)>> {
        let folders = &self.world.folders;
        let issues = folders.claimed_issues()?.into_iter();
        let errors = issues.filter_map(|issue| Some((issue, folders.claim(issue).err()?)));
        Ok(errors.collect())
    }

    /// Does a claim of this home have an open pull request? What capacity collapse asks: those stay.
    pub async fn has_open_pr(&self, issue: IssueNumber) -> PortResult<bool> {
        let seen = self.look_by_hand(issue).await?;
        let branch = seen
            .local
            .claim
            .as_ref()
            .map(|record| record.branch.to_string());
        let view = View::of(&seen, &self.policy, seen.look.at);
        Ok(view.is_ok_and(|view| view.has_open_pr(branch.as_deref())))
    }
}

fn expires(view: &View<'_>) -> Option<Timestamp> {
    match &view.lease {
        LeaseReading::Held {
            expires,
            expired: false,
            ..
        } => Some(*expires),
        LeaseReading::Held { .. }
        | LeaseReading::Free
        | LeaseReading::Tombstone
        | LeaseReading::Odd { .. } => None,
    }
}
