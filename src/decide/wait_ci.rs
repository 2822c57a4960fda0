//! `wait_ci`: the merge gate is awaited, then merged.

use crate::model::labels::Status;
use crate::model::phase::Phase;
use crate::model::pr::{PrState, PullRequest};
use crate::model::state::BlockedReason;

use super::effect::Effect;
use super::signals::ClaimLabel;
use super::view::View;
use super::{Decision, Why, merge_gate};

pub(super) fn decide(view: &View<'_>) -> Decision {
    let Some(pr) = view.pr() else {
        let mut state = view.next_state();
        state.next_action = Phase::CreatePr;
        state.pr_number = None;
        return view.write(
            state,
            Why::Next {
                what: "there is no pull request",
            },
        );
    };
    match &pr.state {
        PrState::Closed => closed(view, pr),
        // The phase is `verify_merge` then; see `View::phase`.
        PrState::Merged { commit, .. } => Decision::wait(Why::Merged {
            sha: commit.clone(),
        }),
        PrState::Open if lags(view, pr) => {
            let sha = pr.head_sha.clone();
            view.rest(
                Status::Idle,
                ClaimLabel::Keep,
                Decision::wait(Why::PrLags { sha }),
            )
        }
        PrState::Open if view.state.head_sha.as_ref() != Some(&pr.head_sha) => moved(view, pr),
        PrState::Open => open(view, pr),
    }
}

/// In the queue GitHub merges it, or lets go of it; what has been in it and is open is not put there again
/// without a person: whatever let it go would do so again.
fn queued(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    let noted = view.state.queued_sha.as_ref() == Some(&pr.head_sha);
    let Some(position) = pr.queued else {
        return noted.then(|| {
            let detail = format!(
                "the merge queue let go of pull request #{} without merging it; {} shows why",
                pr.number, pr.url
            );
            view.block(BlockedReason::MergeQueue, detail)
        });
    };
    let why = Why::Queued { position };
    if noted {
        let wait = Decision::wait(why);
        return Some(view.rest(Status::Idle, ClaimLabel::Keep, wait));
    }
    let mut state = view.next_state();
    state.queued_sha = Some(pr.head_sha.clone());
    Some(view.write(state, why))
}

/// Right after a push GitHub may show the branch's new head and the pull request's old one: what is said about
/// that is over.
fn lags(view: &View<'_>, pr: &PullRequest) -> bool {
    view.remote_head().is_some_and(|head| *head != pr.head_sha)
}

/// A person closed it: that is an answer, not something to wait for, nor to open another one for.
pub(super) fn closed(view: &View<'_>, pr: &PullRequest) -> Decision {
    let mut state = view.next_state();
    state.pr_number = None;
    state.next_action = Phase::CreatePr;
    view.mark_blocked(
        &mut state,
        BlockedReason::PrClosed,
        format!(
            "pull request #{} was closed without being merged",
            pr.number
        ),
    );
    view.write(
        state,
        Why::Blocking {
            reason: BlockedReason::PrClosed,
        },
    )
}

/// Somebody pushed: the new head is looked at from the start, and never overwritten.
fn moved(view: &View<'_>, pr: &PullRequest) -> Decision {
    let mut state = view.next_state();
    state.head_sha = Some(pr.head_sha.clone());
    state.head_since = Some(view.now);
    state.pr_number = Some(pr.number);
    state.pr_url = Some(pr.url.clone());
    view.write(
        state,
        Why::HeadMoved {
            sha: pr.head_sha.clone(),
        },
    )
}

fn open(view: &View<'_>, pr: &PullRequest) -> Decision {
    if let Some(decision) = queued(view, pr) {
        return decision;
    }
    merge_gate::first(view, pr).unwrap_or_else(|| {
        view.under_claim(
            Effect::Merge {
                pr: pr.number,
                head: pr.head_sha.clone(),
            },
            Why::ReadyToMerge,
        )
    })
}
