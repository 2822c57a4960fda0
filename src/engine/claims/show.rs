//! The signals of a claim by hand: all stand, or none. Each is looked for before it is placed, so a call
//! that was cut off goes on without doing anything twice.

use crate::comments::by_hand;
use crate::decide::view::View;
use crate::decide::{Snapshot, TakeOver};
use crate::model::claim::{ClaimRecord, Ending, HandStage};
use crate::model::ids::Login;
use crate::model::lease::{ClaimProof, LeaseReading};
use crate::ports::PortResult;

use super::super::settings::RepoEngine;
use super::take::Attempt;
use super::{ClaimOutcome, Claimed, Refused, is_worth_a_look, own_comment};

/// What is still to be shown.
#[derive(Debug, Default, PartialEq, Eq)]
struct Missing {
    comment: bool,
    assignee: bool,
    label: bool,
}

impl RepoEngine {
    /// What follows once the lease is ours: who was displaced is told, the gate is passed once more, the
    /// signals are placed. `None`: look again.
    pub(super) async fn show(
        &self,
        attempt: &Attempt,
        seen: &Snapshot,
        view: &View<'_>,
        (record, proof): (&ClaimRecord, &ClaimProof),
    ) -> PortResult<Option<ClaimOutcome>> {
        let announced = self.announce(seen, view, (record, proof)).await;
        match announced {
            Ok(Announced::All) => {}
            Ok(Announced::Some) => return Ok(None),
            Err(error) => return self.undo(record, error).await,
        }
        if let Some(why) = view.refuses_hand_once_won() {
            self.take_back(record).await?;
            return Ok(Some(ClaimOutcome::Refused(Box::new(Refused {
                issue: attempt.issue,
                why,
                holding: view.rivals_holding(),
                place: None,
                stops: view.refuses_anybody(),
            }))));
        }
        let missing = Self::missing(view, &self.policy.labels.claim);
        if missing != Missing::default() {
            let placed = self.place(seen, view, (record, proof), &missing).await;
            return match placed {
                Ok(()) => Ok(None),
                Err(error) => self.undo(record, error).await,
            };
        }
        let mut held = record.at_stage(HandStage::Held);
        if let Some(hand) = held.hand.as_mut() {
            hand.replaces = None;
        }
        self.world.folders.replace_claim(&held)?;
        self.note_hand(attempt.issue, "claimed by hand");
        Ok(Some(claimed(attempt, seen, view, record)))
    }

    /// All or none: what GitHub refuses for good takes the others back. What may have happened, or cannot
    /// be reached, is looked at first.
    async fn undo<T>(
        &self,
        record: &ClaimRecord,
        error: crate::ports::PortError,
    ) -> PortResult<Option<T>> {
        if error.refusal().is_some() && !is_worth_a_look(&error) {
            // If that fails too, the stage in `run.json` makes the next call finish it.
            let _ = self.take_back(record).await;
        }
        Err(error)
    }

    /// Names whose claim goes away, and takes its assignees off. First of all: from then on the old
    /// claim's marker is over for everybody, us included.
    async fn announce(
        &self,
        seen: &Snapshot,
        view: &View<'_>,
        (record, proof): (&ClaimRecord, &ClaimProof),
    ) -> PortResult<Announced> {
        let displaced = record
            .hand
            .as_ref()
            .and_then(|hand| hand.displaced.as_ref());
        let Some(old) = displaced else {
            return Ok(Announced::All);
        };
        let github = &self.world.github;
        let said = view.said(&by_hand::displaced_key(record));
        let off = |login: &&Login| view.issue.assignees.contains(login);
        let mut announced = Announced::All;
        if !said {
            let text = by_hand::displaced(record, old, &seen.repo.operator);
            let text = self.redact(&text);
            github.create_comment(proof, record.issue.0, &text).await?;
            announced = Announced::Some;
        }
        for login in old.unassign.iter().filter(off) {
            github.remove_assignee(proof, record.issue.0, login).await?;
            announced = Announced::Some;
        }
        Ok(announced)
    }

    fn missing(view: &View<'_>, label: &str) -> Missing {
        let labels = &view.issue.labels;
        Missing {
            comment: own_comment(view).is_none(),
            assignee: !view.issue.assignees.contains(view.operator()),
            label: !labels.iter().any(|one| one.eq_ignore_ascii_case(label)),
        }
    }

    /// The comment first: it is the record by which anybody can tell whose the others are.
    async fn place(
        &self,
        seen: &Snapshot,
        view: &View<'_>,
        (record, proof): (&ClaimRecord, &ClaimProof),
        missing: &Missing,
    ) -> PortResult<()> {
        let github = &self.world.github;
        if missing.comment {
            let text = self.redact(&by_hand::placed(&self.placed(seen, record)));
            github.create_comment(proof, record.issue.0, &text).await?;
        }
        if missing.assignee {
            let operator = view.operator();
            github.add_assignee(proof, record.issue.0, operator).await?;
        }
        if missing.label {
            let label = [self.policy.labels.claim.clone()];
            github.add_labels(proof, record.issue, &label).await?;
        }
        Ok(())
    }

    /// Gives a claim back that never came to stand.
    pub(super) async fn take_back(&self, record: &ClaimRecord) -> PortResult<()> {
        self.refuse_copied(record).await?;
        let ending = Ending::TakenBack;
        let record = record.at_stage(HandStage::Releasing { ending });
        self.world.folders.replace_claim(&record)?;
        self.settle(&record).await.map(drop)
    }

    /// A line of history.
    pub(super) fn note_hand(&self, issue: crate::model::ids::IssueNumber, what: &str) {
        tracing::info!(target: "ghswarm::claim", "#{issue} {what}");
        self.world.events.record(&crate::ports::events::Event {
            at: self.world.clock.now(),
            repository: self.settings.alias.clone(),
            issue: Some(issue),
            kind: "claim".to_owned(),
            phase: None,
            what: self.redact(what),
            detail: serde_json::Value::Null,
        });
    }
}

/// How much of what was displaced had to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Announced {
    All,
    Some,
}

fn claimed(
    attempt: &Attempt,
    seen: &Snapshot,
    view: &View<'_>,
    record: &ClaimRecord,
) -> ClaimOutcome {
    let expires = match &view.lease {
        LeaseReading::Held { expires, .. } => Some(*expires),
        LeaseReading::Free | LeaseReading::Tombstone | LeaseReading::Odd { .. } => None,
    };
    let hand = record.hand.as_ref();
    let replaces = record.replaces();
    let displaced = hand.and_then(|hand| hand.displaced.clone());
    // What an order displaced was told even if this call only finished it.
    debug_assert!(
        displaced.as_ref().is_none_or(|old| !old.by_order)
            || view.said(&by_hand::displaced_key(record))
            || attempt.order == TakeOver::No,
        "a displaced claim was not told"
    );
    ClaimOutcome::Claimed(Box::new(Claimed {
        issue: record.issue,
        title: view.issue.title.clone(),
        url: view.issue.url.clone(),
        claim: record.claim.clone(),
        branch: record.branch.clone(),
        base: seen.base.clone(),
        pushed: view.remote_head().is_some(),
        worktree: record.worktree.clone(),
        has_worktree: seen.local.worktree.is_some(),
        expires,
        lead: hand.and_then(|hand| hand.lead),
        displaced,
        archived: replaces.map(|old| old.archive.clone()),
        salvaged: replaces.map_or_else(Vec::new, |old| old.salvaged.clone()),
    }))
}
