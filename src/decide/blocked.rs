//! Blocked issues: say it once, let go, and wait for a person's word.

use crate::model::body::VerifyBlock;
use crate::model::ids::Timestamp;
use crate::model::labels::Status;
use crate::model::phase::Phase;
use crate::model::pr::PrState;
use crate::model::run::RunStatus;
use crate::model::state::{BlockedReason, IssueState};
use crate::model::trust::TextTrust;

use super::effect::{CommentAbout, Effect, KeyedComment};
use super::signals::ClaimLabel;
use super::view::View;
use super::{Decision, Why, answers};

pub(super) fn guard(view: &View<'_>) -> Option<Decision> {
    if !view.state.is_blocked() {
        return None;
    }
    if let Some(run) = view.live_run() {
        let why = Why::Blocking {
            reason: reason(view),
        };
        return Some(Decision::act(Effect::StopRun(run.key.clone()), why));
    }
    if resumed(view) {
        let write = || view.write(resumed_state(view), Why::Resumed);
        return Some(say_answer(view).unwrap_or_else(write));
    }
    // What was to be approved is not what stands there now: it has to be shown again.
    if let Some(decision) = super::untrusted::anew(view) {
        return Some(decision);
    }
    Some(announce(view).unwrap_or_else(|| settle(view)))
}

fn reason(view: &View<'_>) -> BlockedReason {
    // Python ghswarm writes only `phase: blocked`; a person's resume frees it like any other.
    view.state.blocked_reason.unwrap_or(BlockedReason::ByPerson)
}

/// Does a trusted person, or a fact, say that it goes on?
fn resumed(view: &View<'_>) -> bool {
    view.seen.order.resume
        || idle_label_set_since(view)
        || merged_meanwhile(view)
        || cured(view)
        || answered(view)
}

/// Somebody who counts has answered the question that stands on the issue.
fn answered(view: &View<'_>) -> bool {
    let posted = view
        .state
        .blocked_key
        .as_deref()
        .is_some_and(|key| view.said(key));
    view.policy.answers_resume
        && reason(view) == BlockedReason::Clarification
        && posted
        && !answers::since_question(view).is_empty()
}

/// `idle`, set after we blocked, by somebody whose word counts.
fn idle_label_set_since(view: &View<'_>) -> bool {
    let Some((Status::Idle, event)) = view.last_status() else {
        return false;
    };
    let later = view
        .state
        .blocked_at
        .is_none_or(|blocked| event.at > blocked);
    later && view.obeys(event.actor.as_ref())
}

/// Somebody merged our pull request by hand: there is nothing left to resume but the end.
fn merged_meanwhile(view: &View<'_>) -> bool {
    let merged = matches!(view.pr().map(|pr| &pr.state), Some(PrState::Merged { .. }));
    merged && view.state.merge_commit_sha.is_none()
}

/// Reasons that lie in the text go away with it.
fn cured(view: &View<'_>) -> bool {
    let valid = matches!(view.body.verify, VerifyBlock::Steps(_));
    let believed = !matches!(view.trust, TextTrust::Untrusted { .. });
    let reason = reason(view);
    if matches!(
        reason,
        BlockedReason::SpecMissing | BlockedReason::VerifyInvalid
    ) {
        return valid && believed;
    }
    reason == BlockedReason::UntrustedText && believed
}

/// The blocks are taken off; the counter that blocked starts again, the spend never does.
fn resumed_state(view: &View<'_>) -> IssueState {
    let blocked = reason(view);
    let mut state = view.next_state();
    state.blocked_reason = None;
    state.blocked_at = None;
    state.blocked_detail = None;
    state.blocked_key = None;
    state.wait_until = None;
    state.resumed_at = Some(view.now);
    let more = view.seen.order.more_runs;
    state.extra_agent_runs = state.extra_agent_runs.saturating_add(more);
    if more > 0 {
        state.granted_at = state.spent();
    }
    if !still_wanted(view, blocked) {
        state.open_run = None;
    }
    state.last_failure = None;
    state.wait_reason = None;
    start_again(&mut state, blocked, view.now);
    accept_mended(view, &mut state);
    // `blocked` in it alone would keep the issue blocked for ever.
    state.next_action.name().clone_into(&mut state.phase);
    state
}

/// Is what the open run did good, and only something after it went wrong? Then that is tried again: another
/// run would be paid for the same work.
pub(super) fn still_wanted(view: &View<'_>, blocked: BlockedReason) -> bool {
    let after_it = matches!(
        blocked,
        BlockedReason::CommitFailed
            | BlockedReason::PushRefused
            | BlockedReason::WorktreeFailed
            | BlockedReason::BodyTooLarge
    );
    let run = view.state.open_run.as_ref().and_then(|key| view.run(key));
    let succeeded =
        run.is_some_and(|run| matches!(&run.status, RunStatus::Ended(exit) if exit.success()));
    after_it && succeeded && view.worktree().is_some()
}

/// Whoever says that a branch goes on to its push answers for what stands in the worktree now: it is verified,
/// and not reviewed once more by an agent.
fn accept_mended(view: &View<'_>, state: &mut IssueState) {
    let said = view.seen.order.resume || idle_label_set_since(view);
    if let (true, Phase::CreatePr, Some(tree)) = (said, view.phase(), view.worktree()) {
        state.head_sha = Some(tree.head.clone());
    }
}

/// Starts the counter again that this reason is about.
fn start_again(state: &mut IssueState, blocked: BlockedReason, now: Timestamp) {
    match blocked {
        BlockedReason::AgentFailed => (state.iteration, state.transient_retries) = (0, 0),
        BlockedReason::ReviewFailed => state.review_rounds = 0,
        BlockedReason::VerifyFailed => {
            state.failed_verify = None;
            state.iteration = 0;
            state.review_rounds = 0;
        }
        BlockedReason::Clarification => {
            state.next_action = state.asked_in.take().unwrap_or(Phase::Implement);
        }
        BlockedReason::NoChecks | BlockedReason::CiUnclear => state.head_since = Some(now),
        BlockedReason::MergeQueue => state.queued_sha = None,
        BlockedReason::CiFailed => mend_again(state, now),
        // No counter of its own: the same step is tried again.
        BlockedReason::SpecMissing
        | BlockedReason::VerifyInvalid
        | BlockedReason::StateInvalid
        | BlockedReason::UntrustedText
        | BlockedReason::EditConflict
        | BlockedReason::BodyTooLarge
        | BlockedReason::NoTasks
        | BlockedReason::NoChanges
        | BlockedReason::SetupFailed
        | BlockedReason::WorktreeFailed
        | BlockedReason::CommitFailed
        | BlockedReason::PushRefused
        | BlockedReason::PrRefused
        | BlockedReason::DiffRefused
        | BlockedReason::PrClosed
        | BlockedReason::MergeConflict
        | BlockedReason::ReviewFeedback
        | BlockedReason::MergeRefused
        | BlockedReason::MergeCiFailed
        | BlockedReason::BudgetExhausted
        | BlockedReason::AgentAuth
        | BlockedReason::ByPerson => {}
    }
}

/// Everything that is done about red checks may be done once more.
fn mend_again(state: &mut IssueState, now: Timestamp) {
    state.head_since = Some(now);
    state.ci_fix_retries = 0;
    state.ci_fix_sha = None;
    state.rerun_sha = None;
    state.rerun_at = None;
}

/// The answer goes onto the issue before the state goes on: an agent that starts without it would ask
/// again. Its key is made of its text, so another answer is another comment.
fn say_answer(view: &View<'_>) -> Option<Decision> {
    let text = view.seen.order.answer.as_ref()?;
    let hash = crate::model::trust::text_hash("answer", text);
    let asked = view.state.blocked_key.clone();
    let asked = asked.unwrap_or_else(|| view.issue.number.to_string());
    let key = format!("{asked}/answer-{}", hash.get(..12).unwrap_or(&hash));
    if view.said(&key) {
        return None;
    }
    let about = CommentAbout::Answer(text.clone());
    Some(view.under_claim(Effect::Comment(KeyedComment { key, about }), Why::Announce))
}

/// The comment that says why, once.
fn announce(view: &View<'_>) -> Option<Decision> {
    let key = view.state.blocked_key.clone()?;
    if view.said(&key) {
        return None;
    }
    let about = if reason(view) == BlockedReason::Clarification {
        CommentAbout::Question
    } else {
        CommentAbout::Blocked
    };
    let effect = Effect::Comment(KeyedComment { key, about });
    Some(view.under_claim(effect, Why::Announce))
}

fn settle(view: &View<'_>) -> Decision {
    let detail = view.state.blocked_detail.clone().unwrap_or_default();
    let wait = Decision::wait(Why::Blocked {
        reason: reason(view),
        detail,
    });
    view.rest(Status::Blocked, ClaimLabel::TakeOff, wait)
}

/// A question without a block: a person took the block away by hand. Go on where it was asked.
pub(super) fn resume_from_question(view: &View<'_>) -> Decision {
    let mut state = view.next_state();
    state.next_action = state.asked_in.take().unwrap_or(Phase::Implement);
    state.resumed_at = Some(view.now);
    view.write(state, Why::Resumed)
}
