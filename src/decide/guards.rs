//! What stops or precedes every phase, in one fixed order. `explain` shows the same list.

use serde::Serialize;

use crate::model::body::VerifyBlock;
use crate::model::labels::Status;
use crate::model::lease::LeaseReading;
use crate::model::phase::Phase;
use crate::model::pr::PrState;
use crate::model::run::RunStatus;
use crate::model::state::BlockedReason;

use super::effect::{CommentAbout, Effect, KeyedComment, Mirror, Signals};
use super::signals::ClaimLabel;
use super::view::{ClaimView, StateSource, View};
use super::{Decision, Policy, Snapshot, Trouble, Why, state};

/// A guard's name and question, in the order they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Guard {
    /// Its name.
    pub name: &'static str,
    /// What it asks, as a sentence that is true when it lets pass.
    pub asks: &'static str,
}

type Check = fn(&View<'_>) -> Option<Decision>;

/// The order is part of the protocol: an earlier guard must not be hidden by a later one.
const GUARDS: &[(Guard, Check)] = &[
    (
        guard("by hand", "nobody claimed it by hand on this machine"),
        by_hand,
    ),
    (
        guard("version", "its state is of a version we know"),
        version,
    ),
    (
        guard("claim", "our claim, if there is one, still holds its lease"),
        claim,
    ),
    (guard("strays", "no run left processes behind"), strays),
    (
        guard("open", "the issue is open, or its work is done"),
        open,
    ),
    (
        guard("managed", "it carries a status label, or is closed as done"),
        managed,
    ),
    (guard("hold", "no hold label stands"), hold),
    (
        guard("repository", "the repository can be written to"),
        repository,
    ),
    (
        guard("reclaim", "a take-over, if there was one, was announced"),
        reclaimed,
    ),
    (guard("state", "its state block is valid"), state_valid),
    (guard("edits", "no person's edit was overwritten"), edits),
    (guard("orders", "no person ordered a stop"), orders),
    (guard("blocked", "it is not blocked"), super::blocked::guard),
    (
        guard("local", "nothing on this machine fails again and again"),
        local,
    ),
    (
        guard("trust", "its text may be acted on"),
        super::untrusted::guard,
    ),
    (
        guard(
            "spec",
            "its verify block says what done means, or it is merged",
        ),
        spec,
    ),
    (
        guard("dependencies", "nothing that it depends on holds it back"),
        super::dependencies::guard,
    ),
    (guard("backoff", "no waiting time runs"), backoff),
    (
        guard("lease", "our lease, if we hold one, is young"),
        lease_age,
    ),
    (
        guard(
            "checkpoint",
            "the checkpoint, while we hold a lease, is up to the state",
        ),
        checkpoint,
    ),
];

pub(super) const fn guard(name: &'static str, asks: &'static str) -> Guard {
    Guard { name, asks }
}

/// The first guard that speaks.
pub(super) fn first(view: &View<'_>) -> Option<Decision> {
    GUARDS.iter().find_map(|(_, check)| check(view))
}

/// How one guard answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GuardReport {
    /// Which.
    pub guard: Guard,
    /// The reason it stops for; `None`: it lets pass.
    pub stops: Option<Why>,
}

/// Every guard in order, whether it stops, and what the phase says.
pub fn explain(
    seen: &Snapshot,
    policy: &Policy,
    now: crate::model::ids::Timestamp,
) -> (Vec<GuardReport>, Decision) {
    let reports = match View::of(seen, policy, now) {
        Err(_) => Vec::new(),
        Ok(mut view) => {
            // A guard that has to write says why, not that it needs a claim for that.
            view.as_if_claimed = true;
            let guards = GUARDS.iter().map(|(guard, check)| GuardReport {
                guard: *guard,
                stops: check(&view).map(|decision| in_full(&decision)),
            });
            guards.chain(gate_reports(&view)).collect()
        }
    };
    (reports, super::decide(seen, policy, now))
}

/// The rules of the merge gate, where it is what the issue waits at.
fn gate_reports(view: &View<'_>) -> Vec<GuardReport> {
    let open = view.pr().filter(|pr| pr.state == PrState::Open);
    match open {
        Some(pr) if view.phase() == Phase::WaitCi => super::merge_gate::reports(view, pr),
        Some(_) | None => Vec::new(),
    }
}

/// The reason; of a decision to block, with the words that people would read then.
pub(super) fn in_full(decision: &Decision) -> Why {
    if let Decision::Do(effect, Why::Blocking { reason }) = decision
        && let Effect::WriteState(write) = &**effect
    {
        return Why::Blocked {
            reason: *reason,
            detail: write.state.blocked_detail.clone().unwrap_or_default(),
        };
    }
    decision.why().clone()
}

/// What a person or an agent without the loop claimed from this very home is theirs: the loop would take
/// the lease for its own. First of all, since the guards after it release what is not to be worked on.
fn by_hand(view: &View<'_>) -> Option<Decision> {
    let record = view.seen.local.claim.as_ref()?;
    record.hand.as_ref()?;
    if view.claim == ClaimView::Lost {
        return Some(Decision::act(Effect::DropClaim, Why::ClaimLost));
    }
    if view.hand_is_stale(record) {
        let why = Why::HandClaimStale { since: record.at };
        return Some(Decision::act(Effect::DropClaim, why));
    }
    Some(Decision::wait(Why::ClaimedByHand {
        since: record.at,
        worktree: record.worktree.display().to_string(),
    }))
}

/// A newer version may mean other things by the same fields: hands off.
fn version(view: &View<'_>) -> Option<Decision> {
    let StateSource::Newer(version) = view.source else {
        return None;
    };
    Some(leave(view, Why::NewerVersion { version }))
}

/// A holder that lost its lease must not write: its run ends, its claim is forgotten.
fn claim(view: &View<'_>) -> Option<Decision> {
    if view.claim != ClaimView::Lost {
        return None;
    }
    Some(match view.live_run() {
        Some(run) => Decision::act(Effect::StopRun(run.key.clone()), Why::ClaimLost),
        None => Decision::act(Effect::DropClaim, Why::ClaimLost),
    })
}

/// What a dead supervisor left may still write into the worktree.
fn strays(view: &View<'_>) -> Option<Decision> {
    let open = view.state.open_run.as_ref()?;
    let runs = &view.seen.local.runs;
    let quarantined = runs.iter().find(|run| {
        run.key.seq == open.seq && matches!(&run.status, RunStatus::Ended(exit) if exit.quarantined)
    })?;
    Some(Decision::act(
        Effect::SweepRuns,
        Why::Quarantined {
            run: quarantined.key.clone(),
        },
    ))
}

/// A closed issue is nobody's work any more, unless our own pull request closed it.
fn open(view: &View<'_>) -> Option<Decision> {
    if view.issue.open || view.phase() == Phase::Done {
        return None;
    }
    if matches!(view.pr().map(|pr| &pr.state), Some(PrState::Merged { .. })) {
        return None;
    }
    Some(leave(view, Why::IssueClosed))
}

/// An issue without a status label has left the swarm, or was never in it.
fn managed(view: &View<'_>) -> Option<Decision> {
    let closing = !view.issue.open && view.phase() == Phase::Done;
    (view.statuses.is_empty() && !closing).then(|| leave(view, Why::NotManaged))
}

/// The hold label is a person's brake: a run that goes on is ended, the work is kept.
fn hold(view: &View<'_>) -> Option<Decision> {
    view.policy
        .labels
        .held(&view.issue.labels)
        .then(|| leave(view, Why::OnHold))
}

/// Nothing can be pushed to such a repository: to start would burn money.
fn repository(view: &View<'_>) -> Option<Decision> {
    unusable(view).map(|why| leave(view, why))
}

/// What makes the repository useless for every claim.
pub(super) fn unusable(view: &View<'_>) -> Option<Why> {
    let repo = &view.seen.repo;
    let reason = if repo.archived {
        "repository_archived"
    } else if repo.default_branch.is_none() {
        "repository_empty"
    } else if !repo.can_push {
        "no_contents_write"
    } else {
        return None;
    };
    Some(Why::RepositoryUnusable {
        reason: reason.to_owned(),
    })
}

/// A steal is never silent, whatever the claim is for: a single write out of a waiting phase as well.
fn reclaimed(view: &View<'_>) -> Option<Decision> {
    let LeaseReading::Held { message, .. } = &view.lease else {
        return None;
    };
    // The assignee of a claim that had no lease comes off with the signals of a run.
    if message.stolen_from.is_none() && view.stale_marker().is_none() {
        return None;
    }
    let signals = Signals {
        reclaim: Some(view.reclaim_notice()?),
        ..Signals::default()
    };
    Some(Decision::act(Effect::PlaceSignals(signals), Why::ShowClaim))
}

/// A person's words must not be lost silently: our body was made from a text without them.
fn edits(view: &View<'_>) -> Option<Decision> {
    let lost = state::lost_edits(view);
    let edit = lost.first()?;
    let who = edit
        .editor
        .as_ref()
        .map_or("somebody".to_owned(), |e| format!("@{}", e.login));
    Some(view.block(
        BlockedReason::EditConflict,
        format!(
            "an edit by {who} at {} landed while ghswarm wrote the state; its text is in the \
             edit history of the issue ({}). Put it back into the body, then resume",
            edit.edited_at.format("%Y-%m-%d %H:%M:%S UTC"),
            view.issue.url
        ),
    ))
}

/// Labels that a person set are orders.
fn orders(view: &View<'_>) -> Option<Decision> {
    if view.phase() == Phase::Done {
        return None;
    }
    match view.status()? {
        Status::Completed => Some(leave(view, Why::CompletedByPerson)),
        // On a blocked issue the label is our own.
        Status::Blocked if !view.state.is_blocked() => blocked_by_person(view),
        Status::Blocked | Status::Idle | Status::Busy(_) => None,
    }
}

/// We put the blocked label on only after the state says so; a label before that is a person's.
fn blocked_by_person(view: &View<'_>) -> Option<Decision> {
    let since = view.last_of(&[Status::Blocked]).map(|(_, event)| event.at);
    // A label whose setting cannot be seen must not undo a resume for ever.
    let older = |resumed| since.is_none_or(|set| set <= resumed);
    if view.state.resumed_at.is_some_and(older) {
        return None;
    }
    if view.seen.order.resume {
        let change = view.status_change(Status::Idle)?;
        return Some(view.under_claim(Effect::SetStatus(change), Why::Resumed));
    }
    if view.state.rev == 0 {
        return Some(leave(view, Why::BlockedByPerson));
    }
    if let Some(run) = view.live_run() {
        return Some(Decision::act(
            Effect::StopRun(run.key.clone()),
            Why::BlockedByPerson,
        ));
    }
    Some(view.block(BlockedReason::ByPerson, "a person set the blocked label"))
}

/// What only a person can mend is not tried for ever, and what may mend itself not all the time. After the
/// merge nothing is lost by trying again.
fn local(view: &View<'_>) -> Option<Decision> {
    let trouble = view.seen.trouble.as_ref()?;
    let Trouble::Lasts { reason, text } = trouble else {
        return trouble.rest();
    };
    let reason = *reason;
    if matches!(view.phase(), Phase::VerifyMerge | Phase::Done) {
        return None;
    }
    if let Some(run) = view.live_run() {
        let why = Why::Blocking { reason };
        return Some(Decision::act(Effect::StopRun(run.key.clone()), why));
    }
    Some(view.block(reason, text.clone()))
}

/// A damaged block is never taken for an empty one. The body stays as it is, so label and comment
/// have to say it.
fn state_valid(view: &View<'_>) -> Option<Decision> {
    let StateSource::Damaged {
        message,
        line,
        column,
    } = &view.source
    else {
        return None;
    };
    let at = format!("line {line}, column {column}: {message}");
    let key = format!("{}/state_invalid/{line}-{column}", view.issue.number);
    if !view.said(&key) {
        let comment = KeyedComment {
            key,
            about: CommentAbout::StateInvalid(at),
        };
        return Some(view.under_claim(Effect::Comment(comment), Why::Announce));
    }
    let wait = Decision::wait(Why::Blocked {
        reason: BlockedReason::StateInvalid,
        detail: at,
    });
    Some(view.rest(Status::Blocked, ClaimLabel::TakeOff, wait))
}

/// No spec, no run: nobody wrote down what done means.
fn spec(view: &View<'_>) -> Option<Decision> {
    if matches!(view.phase(), Phase::VerifyMerge | Phase::Done) {
        return None;
    }
    match &view.body.verify {
        VerifyBlock::Steps(_) => None,
        VerifyBlock::Missing => Some(view.block(
            BlockedReason::SpecMissing,
            "the body has no `GHSWARM_VERIFY` block that says when the work is done",
        )),
        VerifyBlock::Invalid {
            message,
            line,
            column,
        } => Some(view.block(
            BlockedReason::VerifyInvalid,
            format!("the verify block, line {line}, column {column} of the body: {message}"),
        )),
    }
}

fn backoff(view: &View<'_>) -> Option<Decision> {
    let until = view.state.wait_until?;
    let waiting = view.now < until && !view.seen.order.now;
    let what = view.state.wait_reason.clone();
    let wait = Decision::wait_until(until, Why::Backoff { until, what });
    // Nobody needs the lease, or the slot, for a wait.
    let rest = || match view.live_run() {
        Some(_) => wait.clone(),
        None => view.rest(Status::Idle, ClaimLabel::Keep, wait.clone()),
    };
    waiting.then(rest)
}

/// While no supervisor renews, the holder does.
fn lease_age(view: &View<'_>) -> Option<Decision> {
    view.proof()?;
    let commit = view.lease_commit()?;
    let LeaseReading::Held { message, .. } = &view.lease else {
        return None;
    };
    let old = view.now > commit.date + message.ttl() / crate::model::limits::RENEW_PARTS;
    (old && view.live_run().is_none()).then(|| Decision::act(Effect::Renew, Why::LeaseAges))
}

/// The copy that restores a damaged block must not lag. Only under a claim: it is a write.
fn checkpoint(view: &View<'_>) -> Option<Decision> {
    view.proof()?;
    if view.source == StateSource::Restored {
        return Some(view.write(view.next_state(), Why::StateRestored));
    }
    let copy = view
        .checkpoint
        .as_ref()
        .and_then(|checkpoint| checkpoint.state.as_ref())?;
    let comment = view.own_checkpoint?;
    let behind = copy.rev < view.state.rev;
    behind.then(|| {
        let mirror = Mirror {
            comment: Some(comment),
            state: view.state.clone(),
        };
        Decision::act(Effect::MirrorState(mirror), Why::CheckpointBehind)
    })
}

/// Ends what goes on here, takes our labels off and gives the claim back, without a word on the issue; then
/// waits.
pub(super) fn leave(view: &View<'_>, why: Why) -> Decision {
    if let Some(run) = view.live_run() {
        return Decision::act(Effect::StopRun(run.key.clone()), why);
    }
    match view.claim {
        ClaimView::Ours(_) => Decision::act(left_tidy(view).unwrap_or(Effect::Release), why),
        ClaimView::WithoutLease => Decision::act(Effect::DropClaim, why),
        ClaimView::None | ClaimView::Lost => Decision::wait(why),
    }
}

/// Nobody works on it after us: one status label stays, and it is no busy one. Where nothing can be
/// written that has to be left.
fn left_tidy(view: &View<'_>) -> Option<Effect> {
    let repo = &view.seen.repo;
    if repo.archived || !repo.can_push {
        return None;
    }
    let to = match view.status()? {
        Status::Busy(_) => Status::Idle,
        status @ (Status::Idle | Status::Blocked | Status::Completed) => status,
    };
    view.status_change_unclaimed(to).map(Effect::SetStatus)
}
