//! `claim`: gate on a fresh look, `run.json`, lease, and again from the look, until the signals stand or
//! somebody else has the issue.

use crate::decide::view::{ClaimView, View};
use crate::decide::{Holding, Snapshot, TakeOver, Why};
use crate::model::claim::{ByHand, ClaimRecord, HandStage, Replaced};
use crate::model::ids::{ClaimId, IssueNumber};
use crate::model::lease::ClaimProof;
use crate::ports::PortResult;

use super::super::perform::claim::Taken;
use super::super::settings::RepoEngine;
use super::{
    ClaimOutcome, Place, ROUNDS_MAX, Refused, TROUBLE_MAX, Wish, circle, is_worth_a_look, why_of,
};

/// The book-keeping of one `claim`.
pub(super) struct Attempt {
    pub(super) issue: IssueNumber,
    pub(super) lead: Option<IssueNumber>,
    /// One order displaces one claim: the one that stood when it was given.
    pub(super) order: TakeOver,
}

impl RepoEngine {
    /// Claims an issue by hand, or says who has it. A call that was cut off is gone on from.
    pub async fn claim_by_hand(&self, issue: IssueNumber, wish: Wish) -> PortResult<ClaimOutcome> {
        let stood = self.claim_that_stands(issue)?;
        let _guard = self.lock_issue(issue).await?;
        if let Some(because) = self.refuses_lead(issue, wish.lead)? {
            return Ok(ClaimOutcome::NoLead { issue, because });
        }
        let now = self.claim_that_stands(issue)?;
        // Another `claim` of this home came in between: that one is nobody's order to displace.
        let order = if now == stood || now.is_none() {
            wish.take_over
        } else {
            TakeOver::No
        };
        let mut attempt = Attempt {
            issue,
            lead: wish.lead,
            order,
        };
        let mut trouble = 0;
        for _ in 0..ROUNDS_MAX {
            match self.claim_round(&mut attempt).await {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) => {}
                Err(error) if is_worth_a_look(&error) && trouble < TROUBLE_MAX => trouble += 1,
                Err(error) => return Err(error),
            }
        }
        Err(circle(issue))
    }

    fn claim_that_stands(&self, issue: IssueNumber) -> PortResult<Option<ClaimId>> {
        let record = self.world.folders.claim(issue)?;
        Ok(record.map(|record| record.claim))
    }

    /// A bundle hangs on a claim by hand of this home that stands, and is not itself part of one.
    fn refuses_lead(
        &self,
        issue: IssueNumber,
        lead: Option<IssueNumber>,
    ) -> PortResult<Option<String>> {
        let Some(lead) = lead else { return Ok(None) };
        let record = self.world.folders.claim(lead)?;
        let hand = record.as_ref().and_then(|record| record.hand.as_ref());
        Ok(match hand {
            _ if lead == issue => Some("an issue does not lead itself".to_owned()),
            Some(hand) if hand.lead.is_some() => {
                Some(format!("#{lead} is part of a bundle itself"))
            }
            Some(hand) if hand.stage == HandStage::Held => None,
            _ => Some(format!("claim the lead first: ghswarm claim {lead}")),
        })
    }

    /// One look and what follows from it. `None`: look again.
    async fn claim_round(&self, attempt: &mut Attempt) -> PortResult<Option<ClaimOutcome>> {
        let issue = attempt.issue;
        let record = self.world.folders.claim(issue)?;
        if let Some(record) = &record
            && matches!(record.stage(), Some(HandStage::Releasing { .. }))
        {
            self.settle(record).await?;
            return Ok(None);
        }
        let seen = self.look_by_hand(issue).await?;
        let view = match View::of(&seen, &self.policy, seen.look.at) {
            Ok(view) => view,
            Err(decision) => return Ok(Some(refused(issue, why_of(&decision), None))),
        };
        let Some(record) = record else {
            return self.take(attempt, &seen, &view, None).await;
        };
        match (record.stage(), &view.claim) {
            (None, _) => self.beside_the_loop(attempt, &seen, &view, &record).await,
            (Some(HandStage::Held), _) if view.is_displaced() => {
                self.world.folders.remove_claim(issue)?;
                Ok(None)
            }
            (Some(_), ClaimView::Lost) => {
                self.forget_claim(&record)?;
                Ok(None)
            }
            (Some(HandStage::Claiming), ClaimView::Ours(proof)) => {
                self.show(attempt, &seen, &view, (&record, proof)).await
            }
            (Some(HandStage::Claiming), _) => self.take(attempt, &seen, &view, Some(&record)).await,
            (Some(HandStage::Held | HandStage::Releasing { .. }), _) => {
                self.beside_ourselves(attempt, &seen, &view, &record).await
            }
        }
    }

    /// Gate, `run.json`, lease.
    async fn take(
        &self,
        attempt: &mut Attempt,
        seen: &Snapshot,
        view: &View<'_>,
        record: Option<&ClaimRecord>,
    ) -> PortResult<Option<ClaimOutcome>> {
        let issue = attempt.issue;
        // An order that was cut off after it archived this home's claim is gone on with.
        let order = if record.is_some_and(|record| goes_on(record, view)) {
            TakeOver::Ordered
        } else {
            attempt.order
        };
        let refuses = match order {
            TakeOver::Ordered => view.refuses_anybody(),
            TakeOver::No => view.refuses_hand(),
        };
        let plan = refuses.map_or_else(|| view.plan_by_hand(), Err);
        let plan = match plan {
            Ok(plan) => plan,
            Err(why) => {
                // The half of a claim whose lease never came, while somebody else was faster.
                if let Some(record) = record {
                    self.forget_claim(record)?;
                }
                return Ok(Some(refused(issue, why, Some(view))));
            }
        };
        let hand = record.and_then(|record| record.hand.clone());
        let hand = hand.unwrap_or_else(|| ByHand {
            stage: HandStage::Claiming,
            assigned: will_be_assigned(view),
            lead: attempt.lead,
            displaced: view.displaces(order),
            replaces: None,
        });
        let branch = self.branch_of_bundle(view, hand.lead)?;
        let terms = Self::hand_terms(branch, hand);
        if self.take_lease(seen, &plan, &terms).await? == Taken::Lost {
            // The winner's claim is nobody's order to displace.
            attempt.order = TakeOver::No;
        }
        Ok(None)
    }

    /// The branch of the work; a bundle's is its lead's.
    pub(super) fn branch_of_bundle(
        &self,
        view: &View<'_>,
        lead: Option<IssueNumber>,
    ) -> PortResult<crate::model::ids::BranchName> {
        let record = match lead {
            Some(lead) => self.world.folders.claim(lead)?,
            None => None,
        };
        Ok(record.map_or_else(|| view.branch.clone(), |record| record.branch))
    }

    /// The loop of this very home has the issue. What it left after its lease ran out is nobody's.
    async fn beside_the_loop(
        &self,
        attempt: &mut Attempt,
        seen: &Snapshot,
        view: &View<'_>,
        record: &ClaimRecord,
    ) -> PortResult<Option<ClaimOutcome>> {
        if attempt.order == TakeOver::Ordered {
            return self.displace(attempt, seen, view, record).await;
        }
        let running = view.live_run().map(|run| Why::RunGoing {
            run: run.key.clone(),
            since: record.at,
            frozen: false,
        });
        if let Some(why) = running.or_else(|| view.refuses_hand()) {
            return Ok(Some(refused(attempt.issue, why, Some(view))));
        }
        self.world.runs.relieve(attempt.issue)?;
        self.world.folders.remove_claim(attempt.issue)?;
        Ok(None)
    }

    /// Another session of this home claims it by hand. One that is stale is followed as anybody's is.
    async fn beside_ourselves(
        &self,
        attempt: &mut Attempt,
        seen: &Snapshot,
        view: &View<'_>,
        record: &ClaimRecord,
    ) -> PortResult<Option<ClaimOutcome>> {
        if attempt.order == TakeOver::Ordered {
            return self.displace(attempt, seen, view, record).await;
        }
        if view.hand_is_stale(record) {
            self.world.folders.remove_claim(attempt.issue)?;
            return Ok(None);
        }
        let why = Why::ClaimedByHand {
            since: record.at,
            worktree: record.worktree.display().to_string(),
        };
        Ok(Some(refused(attempt.issue, why, Some(view))))
    }
}

/// Is the assignee ours to take off at the end: placed by this claim, or by one of the same login before it?
pub(super) fn will_be_assigned(view: &View<'_>) -> bool {
    !view.issue.assignees.contains(view.operator()) || view.is_assigned_by_claim()
}

fn place_of(view: &View<'_>, holding: &Holding) -> Option<Place> {
    let record = view.seen.local.claim.as_ref().filter(|_| holding.ours)?;
    Some(Place {
        branch: record.branch.clone(),
        base: view.seen.base.clone(),
        pushed: view.remote_head().is_some(),
        worktree: record.worktree.clone(),
        lead: record.hand.as_ref().and_then(|hand| hand.lead),
    })
}

/// Was this home's own claim archived for this one, and has nobody else come in between?
fn goes_on(record: &ClaimRecord, view: &View<'_>) -> bool {
    let is_old = |old: &Replaced| {
        let commit = view.lease_commit();
        commit.is_none_or(|commit| ClaimProof::verify(commit, &old.record.claim).is_some())
    };
    record.replaces().is_some_and(is_old)
}

pub(super) fn refused(issue: IssueNumber, why: Why, view: Option<&View<'_>>) -> ClaimOutcome {
    let holding = view.and_then(View::holding);
    ClaimOutcome::Refused(Box::new(Refused {
        issue,
        why,
        place: view.and_then(|view| place_of(view, holding.as_ref()?)),
        holding,
        stops: view.and_then(View::refuses_anybody),
    }))
}
