//! `claim release`: what becomes of the signals depends on how the work ended. Lease and `run.json` go
//! last, so that whatever is cut off is finished by the next call of this home.

use crate::comments::by_hand;
use crate::decide::Snapshot;
use crate::decide::markers::MarkerStanding;
use crate::decide::view::{ClaimView, View};
use crate::model::board::PrSummary;
use crate::model::claim::{ByHand, ClaimRecord, Ending, HandStage};
use crate::model::ids::{IssueNumber, PrNumber};
use crate::model::lease::ClaimProof;
use crate::model::pr::PrState;
use crate::ports::github::IssueChange;
use crate::ports::overview::Overview;
use crate::ports::{PortError, PortResult, Refusal};

use super::super::perform::claim::Taken;
use super::super::settings::RepoEngine;
use super::{
    ROUNDS_MAX, ReleaseOutcome, TROUBLE_MAX, circle, is_over, is_worth_a_look, own_comment,
};

/// What a person says about the end of their work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// This pull request is merged.
    Merged(PrNumber),
    /// The work is given up.
    Abandoned(String),
    /// Something else comes first.
    Blocked(String),
}

/// How far a release is.
enum Settled {
    Done,
    Lost,
}

impl RepoEngine {
    /// Gives a claim by hand back, and its bundle with it.
    pub async fn release_by_hand(
        &self,
        overview: &dyn Overview,
        issue: IssueNumber,
        end: &End,
    ) -> PortResult<ReleaseOutcome> {
        let _guard = self.lock_issue(issue).await?;
        let record = self.world.folders.claim(issue)?;
        let Some(record) = record.filter(|record| !record.is_loops()) else {
            let holding = self.holding(issue).await?;
            return Ok(ReleaseOutcome::NotClaimed { holding });
        };
        // One that was cut off ends as it began.
        if let Some(HandStage::Releasing { ending }) = record.stage() {
            let ending = ending.clone();
            return self.settle_as(&record, ending).await;
        }
        let ending = match end {
            End::Abandoned(reason) => Ending::Abandoned {
                reason: self.redact(reason),
            },
            End::Blocked(reason) => Ending::Blocked {
                reason: self.redact(reason),
            },
            End::Merged(pr) => match self.merged(overview, &record, *pr).await? {
                Ok(ending) => ending,
                Err(because) => {
                    let pr = *pr;
                    return Ok(ReleaseOutcome::WrongPr { pr, because });
                }
            },
        };
        self.begin_release(&record, ending).await
    }

    /// Notes how it ends, then does it.
    pub(super) async fn begin_release(
        &self,
        record: &ClaimRecord,
        ending: Ending,
    ) -> PortResult<ReleaseOutcome> {
        self.refuse_copied(record).await?;
        let stage = HandStage::Releasing {
            ending: ending.clone(),
        };
        let record = record.at_stage(stage);
        self.world.folders.replace_claim(&record)?;
        self.settle_as(&record, ending).await
    }

    async fn settle_as(&self, record: &ClaimRecord, ending: Ending) -> PortResult<ReleaseOutcome> {
        match self.settle(record).await? {
            Some(issues) => Ok(ReleaseOutcome::Released { ending, issues }),
            None => Ok(ReleaseOutcome::Lost {
                holding: self.holding(record.issue).await?,
            }),
        }
    }

    /// Is the pull request merged, and this issue's? The other answer is why not, in words.
    async fn merged(
        &self,
        overview: &dyn Overview,
        record: &ClaimRecord,
        pr: PrNumber,
    ) -> PortResult<Result<Ending, String>> {
        let Some(found) = overview.pull_request(pr).await? else {
            let slug = &self.settings.slug;
            return Ok(Err(format!("there is no pull request #{pr} in `{slug}`")));
        };
        Ok(match found.state {
            PrState::Open => Err(format!("pull request #{pr} is not merged: it is open")),
            PrState::Closed => Err(format!(
                "pull request #{pr} was closed without merging: give the issue back with --abandoned"
            )),
            PrState::Merged { .. } if self.is_for(&found, record).await? => Ok(Ending::Merged {
                pr,
                base: found.base_ref,
            }),
            PrState::Merged { .. } => Err(format!(
                "pull request #{pr} is not for issue #{}: its branch is `{}`, not `{}`, and it closes \
                 another issue or none",
                record.issue, found.head_ref, record.branch
            )),
        })
    }

    /// From the claim's branch in this repository, or linked to the issue or its lead.
    async fn is_for(&self, pr: &PrSummary, record: &ClaimRecord) -> PortResult<bool> {
        let repo = self.repository().await?;
        let lead = record.hand.as_ref().and_then(|hand| hand.lead);
        let ours = pr.head_repo == Some(repo.id) && pr.head_ref == record.branch;
        let closes = |issue: &IssueNumber| *issue == record.issue || Some(*issue) == lead;
        Ok(ours || pr.closes.iter().any(closes))
    }

    /// Finishes a release: the bundle first, then the claim itself. `None`: the lease was lost.
    pub(super) async fn settle(
        &self,
        record: &ClaimRecord,
    ) -> PortResult<Option<Vec<IssueNumber>>> {
        let mut released = Vec::new();
        if let Some(HandStage::Releasing { ending }) = record.stage() {
            for sibling in self.bundle(record.issue)? {
                let _guard = self.lock_issue(sibling).await?;
                let Some(found) = self.world.folders.claim(sibling)? else {
                    continue;
                };
                if self.refuse_copied(&found).await.is_err() {
                    continue;
                }
                let ending = ending.clone();
                let found = found.at_stage(HandStage::Releasing { ending });
                self.world.folders.replace_claim(&found)?;
                self.settle_one(&found).await?;
                released.push(sibling);
            }
        }
        let settled = self.settle_one(record).await?;
        released.push(record.issue);
        Ok(match settled {
            Settled::Done => Some(released),
            Settled::Lost => None,
        })
    }

    /// The issues of this home whose claims go along with this one.
    pub(super) fn bundle(&self, lead: IssueNumber) -> PortResult<Vec<IssueNumber>> {
        let mut bundle = Vec::new();
        for issue in self.world.folders.claimed_issues()? {
            // One that cannot be read is named by whoever asked, and keeps no other from its end.
            let record = self.world.folders.claim(issue).ok().flatten();
            let hand = record.and_then(|record| record.hand);
            if hand.is_some_and(|hand| hand.lead == Some(lead)) {
                bundle.push(issue);
            }
        }
        Ok(bundle)
    }

    async fn settle_one(&self, record: &ClaimRecord) -> PortResult<Settled> {
        let mut trouble = 0;
        for _ in 0..ROUNDS_MAX {
            match self.settle_round(record).await {
                Ok(Some(settled)) => return Ok(settled),
                Ok(None) => {}
                Err(error) if is_worth_a_look(&error) && trouble < TROUBLE_MAX => trouble += 1,
                Err(error) => return Err(error),
            }
        }
        Err(circle(record.issue))
    }

    /// One look and everything that is left to do. `None`: look again.
    async fn settle_round(&self, record: &ClaimRecord) -> PortResult<Option<Settled>> {
        let issue = record.issue;
        let (Some(hand), Some(HandStage::Releasing { ending })) = (&record.hand, record.stage())
        else {
            return Ok(Some(Settled::Done));
        };
        let seen = self.look_by_hand(issue).await?;
        let Ok(view) = View::of(&seen, &self.policy, seen.look.at) else {
            return self.let_go(&seen, record).await;
        };
        match &view.claim {
            ClaimView::Ours(proof) => {
                self.say_end(&seen, &view, (record, proof), (hand, ending))
                    .await?;
                self.perform_release(&seen).await?;
                self.note_hand(issue, "the claim by hand is released");
                Ok(Some(Settled::Done))
            }
            ClaimView::None | ClaimView::Lost => {
                self.forget_claim(record)?;
                Ok(Some(Settled::Lost))
            }
            // Nothing was shown before the lease was there, and nothing is without it.
            ClaimView::WithoutLease if Self::shows_nothing(&view, ending) => {
                self.forget_claim(record)?;
                Ok(Some(Settled::Done))
            }
            ClaimView::WithoutLease if view.is_displaced() => {
                // Our own last word, after which the ref went, or somebody's who ended our claim.
                let said = view.said(&by_hand::released_key(record));
                self.world.folders.remove_claim(issue)?;
                Ok(Some(if said { Settled::Done } else { Settled::Lost }))
            }
            // Somebody deleted the ref: without it we may not write, so it is taken again.
            ClaimView::WithoutLease => self.regain(&seen, &view, record).await,
        }
    }

    /// The issue is gone: there is nobody to tell.
    async fn let_go(&self, seen: &Snapshot, record: &ClaimRecord) -> PortResult<Option<Settled>> {
        let lease = self.policy.issue_ref(record.issue);
        let commit = lease.and_then(|name| seen.look.leases.get(&name));
        if commit.is_some_and(|commit| ClaimProof::verify(commit, &record.claim).is_some()) {
            self.perform_release(seen).await?;
        } else {
            self.world.folders.remove_claim(record.issue)?;
        }
        Ok(Some(Settled::Done))
    }

    fn shows_nothing(view: &View<'_>, ending: &Ending) -> bool {
        let unsaid = own_comment(view).is_none();
        matches!(ending, Ending::TakenBack | Ending::Cleared { .. }) && unsaid
    }

    async fn regain(
        &self,
        seen: &Snapshot,
        view: &View<'_>,
        record: &ClaimRecord,
    ) -> PortResult<Option<Settled>> {
        let plan = view.plan_by_hand().map_err(|why| {
            let what = format!("release issue #{}", record.issue);
            PortError::refused(what, Refusal::Local, why.to_string())
        })?;
        let hand = record.hand.clone();
        let Some(hand) = hand else {
            return Ok(Some(Settled::Done));
        };
        let terms = Self::hand_terms(record.branch.clone(), hand);
        let plan = crate::decide::effect::ClaimPlan {
            epoch: record.epoch,
            stolen_from: None,
            ..plan
        };
        debug_assert_eq!(
            seen.look.issue.as_ref().map(|i| i.number),
            Some(record.issue)
        );
        match self.swap_lease(record, &plan, &terms).await? {
            Taken::Won => Ok(None),
            Taken::Lost => {
                self.world.folders.remove_claim(record.issue)?;
                Ok(Some(Settled::Lost))
            }
        }
    }

    /// Labels, assignees, the issue itself, and the words, each only if it is not done.
    async fn say_end(
        &self,
        seen: &Snapshot,
        view: &View<'_>,
        (record, proof): (&ClaimRecord, &ClaimProof),
        (hand, ending): (&ByHand, &Ending),
    ) -> PortResult<()> {
        let github = &self.world.github;
        let number = record.issue.0;
        for label in Self::claim_labels(view, &self.policy.labels.claim) {
            github.remove_label(proof, record.issue, label).await?;
        }
        for login in assignees_off(view, hand, ending) {
            github.remove_assignee(proof, number, login).await?;
        }
        if matches!(ending, Ending::Blocked { .. }) {
            self.assign_pr(view, proof).await?;
        }
        let closes = matches!(
            ending,
            Ending::Merged { .. }
                | Ending::Cleared {
                    merged: Some(_),
                    ..
                }
        );
        if closes && view.issue.open {
            let change = IssueChange {
                close: true,
                ..IssueChange::default()
            };
            github.update_issue(proof, record.issue, &change).await?;
        }
        if let Some(comment) = own_comment(view).filter(|_| !is_over(view)) {
            let text = by_hand::over(&self.placed(seen, record), ending);
            let text = self.redact(&text);
            github.update_comment(proof, comment.id, &text).await?;
        }
        self.end_replaced(seen, view, (record, proof)).await?;
        let said = view.said(&by_hand::released_key(record));
        if let Some(text) = by_hand::released(record, ending).filter(|_| !said) {
            let text = self.redact(&text);
            github.create_comment(proof, number, &text).await?;
        }
        Ok(())
    }

    /// The claim of this home that ours took the place of is over too, before anybody was told of ours.
    async fn end_replaced(
        &self,
        seen: &Snapshot,
        view: &View<'_>,
        (record, proof): (&ClaimRecord, &ClaimProof),
    ) -> PortResult<()> {
        let Some(old) = record.replaces().map(|replaced| &replaced.record) else {
            return Ok(());
        };
        let marker = view.own_marker_of(&old.claim);
        let open = marker.filter(|marker| marker.standing != MarkerStanding::Over);
        let Some(marker) = open.filter(|_| !old.is_loops()) else {
            return Ok(());
        };
        let reason = "its take-over was cut off; what it had is archived on its machine".to_owned();
        let text = by_hand::over(&self.placed(seen, old), &Ending::Abandoned { reason });
        let text = self.redact(&text);
        let id = marker.comment.id;
        self.world.github.update_comment(proof, id, &text).await
    }

    fn claim_labels<'a>(view: &View<'a>, label: &str) -> Vec<&'a str> {
        let labels = view.issue.labels.iter().map(String::as_str);
        labels
            .filter(|one| one.eq_ignore_ascii_case(label))
            .collect()
    }

    /// The pull request of a claimed issue carries the same assignee.
    pub(super) async fn assign_pr(&self, view: &View<'_>, proof: &ClaimProof) -> PortResult<bool> {
        let operator = view.operator();
        let pr = view.pr_of_branch();
        let Some(pr) = pr.filter(|pr| !pr.assignees.contains(operator)) else {
            return Ok(false);
        };
        let github = &self.world.github;
        github.add_assignee(proof, pr.number.0, operator).await?;
        Ok(true)
    }
}

/// Success and a blocker keep the assignee; what is given up leaves the issue as it was found.
fn assignees_off<'a>(
    view: &'a View<'_>,
    hand: &ByHand,
    ending: &'a Ending,
) -> Vec<&'a crate::model::ids::Login> {
    let on = |login: &&crate::model::ids::Login| view.issue.assignees.contains(login);
    let off = match ending {
        Ending::Abandoned { .. } | Ending::TakenBack => hand.assigned.then(|| view.operator()),
        Ending::Cleared {
            merged: None,
            operator,
            ..
        } => Some(operator),
        Ending::Merged { .. }
        | Ending::Blocked { .. }
        | Ending::Cleared {
            merged: Some(_), ..
        } => None,
    };
    off.into_iter().filter(on).collect()
}
