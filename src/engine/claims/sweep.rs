//! `claim sweep`: a lock that expires closes no issue. What a crashed session left standing is reconciled
//! with what became of its pull request, another operator's too, and then with their name.

use std::collections::BTreeSet;

use crate::decide::markers::{Marker, MarkerStanding};
use crate::decide::view::View;
use crate::decide::{Order, Snapshot};
use crate::model::claim::{ByHand, ClaimRecord, Ending, HandStage};
use crate::model::comment::LockBy;
use crate::model::ids::{BranchName, IssueNumber, Login, PrNumber};
use crate::model::pr::{PrState, PullRequest};
use crate::ports::backlog::Backlog;
use crate::ports::{PortResult, Refusal};

use super::super::perform::claim::Taken;
use super::super::settings::RepoEngine;

/// What is to happen with one claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SweptHow {
    /// A call of this home that was cut off is finished.
    Finished,
    /// Its pull request is merged: released and closed.
    Merged {
        /// Which.
        pr: PrNumber,
    },
    /// Its pull request was closed without merging, or the issue was: released.
    Dead {
        /// In words.
        because: String,
    },
    /// This home's claim was ended by another one: what is left of it here is archived.
    Displaced,
    /// Somebody works on it: left alone.
    Active,
    /// What this home has of it cannot be read or used: left alone.
    Skipped {
        /// In words.
        because: String,
    },
    /// Stale, and nobody can tell what became of it: the next `claim` takes it over.
    Stale,
}

/// One claim that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// The issue.
    pub issue: IssueNumber,
    /// Whose, in words.
    pub whose: String,
    /// What is to happen.
    pub how: SweptHow,
}

/// What a look found out about somebody else's claim.
struct Found {
    whose: String,
    how: SweptHow,
    clear: Option<(Login, Ending)>,
}

impl RepoEngine {
    /// Looks at every claim by hand that stands, and reconciles it unless only to be told.
    pub async fn sweep_by_hand(
        &self,
        backlog: &dyn Backlog,
        dry_run: DryRun,
    ) -> PortResult<Vec<Swept>> {
        let label = &self.policy.labels.claim;
        let labelled = |labels: &[String]| labels.iter().any(|l| l.eq_ignore_ascii_case(label));
        let mut issues: BTreeSet<IssueNumber> =
            self.claims_by_hand()?.iter().map(|r| r.issue).collect();
        issues.extend(
            self.unreadable_claims()?
                .into_iter()
                .map(|(issue, _)| issue),
        );
        let open = backlog.open_issues().await?;
        let claimed = open.iter().filter(|one| labelled(&one.listed.labels));
        issues.extend(claimed.map(|one| one.listed.number));
        let mut swept = Vec::new();
        for issue in issues {
            match self.sweep_one(issue, dry_run).await {
                Ok(found) => swept.extend(found),
                // A folder that cannot be read, or that another call is at, keeps no other from its end.
                Err(error) if error.refusal() == Some(Refusal::Local) => swept.push(Swept {
                    issue,
                    whose: "this home".to_owned(),
                    how: SweptHow::Skipped {
                        because: error.to_string(),
                    },
                }),
                Err(error) => return Err(error),
            }
        }
        Ok(swept)
    }

    async fn sweep_one(&self, issue: IssueNumber, dry: DryRun) -> PortResult<Vec<Swept>> {
        let _guard = self.lock_issue(issue).await?;
        let mut swept = Vec::new();
        let record = self.world.folders.claim(issue)?;
        if let Some(record) = &record {
            // The loop brings its own to an end.
            if !record.is_loops() {
                swept.extend(self.sweep_own(record, dry).await?);
            }
        }
        // What was cut off here may have been on the way to clear somebody else's claim away.
        let gone = self.world.folders.claim(issue)?.is_none();
        if record.is_none() || (gone && swept.iter().any(|one| one.how == SweptHow::Finished)) {
            swept.extend(self.sweep_foreign(issue, dry).await?);
        }
        Ok(swept)
    }

    async fn sweep_own(&self, record: &ClaimRecord, dry: DryRun) -> PortResult<Option<Swept>> {
        let swept = |how| {
            Some(Swept {
                issue: record.issue,
                whose: "this home".to_owned(),
                how,
            })
        };
        match record.stage() {
            Some(HandStage::Claiming) => {
                if dry == DryRun::No {
                    self.take_back(record).await?;
                }
                return Ok(swept(SweptHow::Finished));
            }
            Some(HandStage::Releasing { .. }) => {
                if dry == DryRun::No {
                    self.settle(record).await?;
                }
                return Ok(swept(SweptHow::Finished));
            }
            Some(HandStage::Held) | None => {}
        }
        let (how, ending) = self.fate_of_own(record).await?;
        if dry == DryRun::No && how == SweptHow::Displaced {
            let folders = &self.world.folders;
            folders.supersede(record.issue, self.world.clock.now())?;
            folders.remove_claim(record.issue)?;
        }
        if let (DryRun::No, Some(ending)) = (dry, ending) {
            self.begin_release(record, ending).await?;
        }
        Ok(swept(how))
    }

    /// Ours alone may be ended without being stale, once the pull request is merged or the issue closed.
    async fn fate_of_own(&self, record: &ClaimRecord) -> PortResult<(SweptHow, Option<Ending>)> {
        let seen = self.observe_branch(record.issue, &record.branch).await?;
        let Ok(view) = View::of(&seen, &self.policy, seen.look.at) else {
            return Ok(given_up("the issue is gone"));
        };
        if view.is_displaced() {
            return Ok((SweptHow::Displaced, None));
        }
        // A bundled issue shares its lead's fate.
        if record.hand.as_ref().is_some_and(|hand| hand.lead.is_some()) && view.issue.open {
            return Ok((SweptHow::Active, None));
        }
        let last = last_pr(&seen, &record.branch, record.at);
        Ok(match last.map(|pr| (pr, &pr.state)) {
            Some((pr, PrState::Merged { .. })) => {
                let ending = Ending::Merged {
                    pr: pr.number,
                    base: pr.base_ref.clone(),
                };
                (SweptHow::Merged { pr: pr.number }, Some(ending))
            }
            _ if !view.issue.open => given_up("the issue was closed"),
            Some((pr, PrState::Closed)) if view.hand_is_stale(record) => {
                given_up(&closed_words(pr.number))
            }
            _ if view.hand_is_stale(record) => (SweptHow::Stale, None),
            _ => (SweptHow::Active, None),
        })
    }

    async fn sweep_foreign(&self, issue: IssueNumber, dry: DryRun) -> PortResult<Option<Swept>> {
        let seen = self.look_by_hand(issue).await?;
        let Ok(view) = View::of(&seen, &self.policy, seen.look.at) else {
            return Ok(None);
        };
        let by_hand = |marker: &Marker<'_>| {
            marker.standing != MarkerStanding::Over && marker.lock.by != LockBy::Loop
        };
        let Some(marker) = view.markers().into_iter().find(by_hand) else {
            return Ok(None);
        };
        let held = view.holding().is_some_and(|held| !held.stale);
        let found = if held || marker.standing == MarkerStanding::Live {
            Found {
                whose: whose(&marker),
                how: SweptHow::Active,
                clear: None,
            }
        } else {
            self.fate_of(&view, &marker).await?
        };
        if let (DryRun::No, Some((operator, ending))) = (dry, &found.clear) {
            self.clear(&seen, &view, (operator, ending)).await?;
        }
        Ok(Some(Swept {
            issue,
            whose: found.whose,
            how: found.how,
        }))
    }

    async fn fate_of(&self, view: &View<'_>, marker: &Marker<'_>) -> PortResult<Found> {
        let stale = Found {
            whose: whose(marker),
            how: SweptHow::Stale,
            clear: None,
        };
        let (Some(operator), Some(branch)) =
            (&marker.lock.operator, self.branch_of(view, marker).await?)
        else {
            return Ok(stale);
        };
        let seen = self.observe_branch(view.issue.number, &branch).await?;
        let Some(pr) = last_pr(&seen, &branch, marker.at) else {
            return Ok(stale);
        };
        let (how, merged) = match &pr.state {
            PrState::Open => return Ok(stale),
            PrState::Merged { .. } => {
                let merged = Some((pr.number, pr.base_ref.clone()));
                (SweptHow::Merged { pr: pr.number }, merged)
            }
            PrState::Closed => {
                let because = closed_words(pr.number);
                (SweptHow::Dead { because }, None)
            }
        };
        let ending = Ending::Cleared {
            operator: operator.clone(),
            merged,
            because: closed_words(pr.number),
        };
        Ok(Found {
            how,
            clear: Some((operator.clone(), ending)),
            ..stale
        })
    }

    /// The branch that a marker names; a bundled one's is its lead's.
    async fn branch_of(
        &self,
        view: &View<'_>,
        marker: &Marker<'_>,
    ) -> PortResult<Option<BranchName>> {
        let parse = |text: &Option<String>| text.as_ref()?.parse().ok();
        let Some(lead) = marker.lock.bundled_with.filter(|l| *l != view.issue.number) else {
            return Ok(parse(&marker.lock.branch));
        };
        let seen = self.observe(lead, &Order::default(), None).await?;
        let lead = View::of(&seen, &self.policy, seen.look.at);
        Ok(lead.ok().and_then(|lead| {
            let same = |one: &Marker<'_>| one.lock.operator == marker.lock.operator;
            let markers = lead.markers();
            let found = markers
                .iter()
                .find(|one| same(one) && one.lock.branch.is_some());
            parse(&found?.lock.branch)
        }))
    }

    /// The observation, with the pull requests of this branch.
    async fn observe_branch(
        &self,
        issue: IssueNumber,
        branch: &BranchName,
    ) -> PortResult<Snapshot> {
        let seen = self.look_by_hand(issue).await?;
        let look = self
            .look_for_branch(issue, seen.base.as_ref(), branch.clone())
            .await?;
        Ok(Snapshot { look, ..seen })
    }

    /// Takes the lease for as long as it takes to clear the other's signals away.
    async fn clear(
        &self,
        seen: &Snapshot,
        view: &View<'_>,
        (_, ending): (&Login, &Ending),
    ) -> PortResult<()> {
        let Ok(plan) = view.plan_by_hand() else {
            return Ok(());
        };
        let stage = HandStage::Releasing {
            ending: ending.clone(),
        };
        let hand = ByHand {
            stage,
            assigned: false,
            lead: None,
            displaced: None,
            replaces: None,
        };
        let terms = Self::hand_terms(view.branch.clone(), hand);
        if self.take_lease(seen, &plan, &terms).await? == Taken::Lost {
            return Ok(());
        }
        if let Some(record) = self.world.folders.claim(view.issue.number)? {
            self.settle(&record).await?;
        }
        Ok(())
    }
}

/// Only tell what would be done?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// Tell.
    Yes,
    /// Do it.
    No,
}

fn whose(marker: &Marker<'_>) -> String {
    let operator = marker.lock.operator.as_ref();
    operator.map_or_else(|| "somebody".to_owned(), |login| format!("@{login}"))
}

fn closed_words(pr: PrNumber) -> String {
    format!("PR #{pr} was closed without merging")
}

fn given_up(because: &str) -> (SweptHow, Option<Ending>) {
    let how = SweptHow::Dead {
        because: because.to_owned(),
    };
    let ending = Ending::Abandoned {
        reason: because.to_owned(),
    };
    (how, Some(ending))
}

/// The newest pull request of the branch in this repository. One that was merged before the claim stood
/// belongs to an earlier life of the branch's name.
fn last_pr<'a>(
    seen: &'a Snapshot,
    branch: &BranchName,
    since: crate::model::ids::Timestamp,
) -> Option<&'a PullRequest> {
    let mut ours = seen.look.prs.iter().filter(|pr| {
        let of_claim = match &pr.state {
            PrState::Merged { at, .. } => *at >= since,
            PrState::Open | PrState::Closed => true,
        };
        pr.head_repo == Some(seen.repo.id) && pr.head_ref == *branch && of_claim
    });
    ours.next_back()
}
