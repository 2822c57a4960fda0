//! `verify_merge`: merged; the merge commit's own checks decide whether it is done.

use crate::model::ids::{Sha, Timestamp};
use crate::model::labels::Status;
use crate::model::phase::Phase;
use crate::model::pr::PrState;
use crate::model::state::BlockedReason;

use super::checks::{Verdict, judge};
use super::guards::ClaimLabel;
use super::view::View;
use super::{Decision, Why};

pub(super) fn decide(view: &View<'_>) -> Decision {
    let Some((commit, at)) = merge(view) else {
        // The state says merged and GitHub does not: back to what is seen.
        let mut state = view.next_state();
        state.next_action = Phase::WaitCi;
        return view.write(
            state,
            Why::Next {
                what: "it is not merged",
            },
        );
    };
    if view.state.merge_commit_sha.as_ref() != Some(&commit) {
        return note(view, &commit, at);
    }
    if !view.policy.post_merge_ci {
        return finish(view);
    }
    let Some(checks) = &view.seen.look.merge_checks else {
        return rest(view, Decision::wait(Why::NoChecksYet { sha: commit }));
    };
    match judge(checks) {
        Verdict::Green => finish(view),
        Verdict::Pending { done, total } => rest(
            view,
            Decision::wait(Why::ChecksPending {
                done,
                total,
                sha: commit,
            }),
        ),
        Verdict::Red(names) => view.block(
            BlockedReason::MergeCiFailed,
            format!(
                "red on the base branch at {}: {}",
                commit.short(),
                names.join(", ")
            ),
        ),
        Verdict::Unclear(names) => view.block(
            BlockedReason::CiUnclear,
            format!(
                "cancelled, stale or waiting at {}: {}",
                commit.short(),
                names.join(", ")
            ),
        ),
        Verdict::NoneYet | Verdict::NothingRan => no_checks(view, commit, at),
    }
}

fn merge(view: &View<'_>) -> Option<(Sha, Timestamp)> {
    match view.pr().map(|pr| &pr.state) {
        Some(PrState::Merged { commit, at }) => Some((commit.clone(), *at)),
        Some(PrState::Open | PrState::Closed) | None => None,
    }
}

fn note(view: &View<'_>, commit: &Sha, at: Timestamp) -> Decision {
    let mut state = view.next_state();
    state.next_action = Phase::VerifyMerge;
    state.merge_commit_sha = Some(commit.clone());
    state.merged_at = Some(at);
    state.open_run = None;
    state.busy_owner = None;
    state.busy_since = None;
    view.write(
        state,
        Why::Merged {
            sha: commit.clone(),
        },
    )
}

/// What was merged had its checks, or a verify step spoke for it; a base without any CI is fine then.
fn no_checks(view: &View<'_>, commit: Sha, at: Timestamp) -> Decision {
    let until = at + view.policy.post_merge_grace;
    if view.now < until {
        return rest(
            view,
            Decision::wait_until(until, Why::NoChecksYet { sha: commit }),
        );
    }
    if view.state.verified_sha.is_some() {
        return finish(view);
    }
    view.block(
        BlockedReason::NoChecks,
        format!("no check appeared at the merge commit {}", commit.short()),
    )
}

fn finish(view: &View<'_>) -> Decision {
    let mut state = view.next_state();
    state.next_action = Phase::Done;
    view.write(
        state,
        Why::Next {
            what: "merged and green",
        },
    )
}

fn rest(view: &View<'_>, decision: Decision) -> Decision {
    view.rest(Status::Idle, ClaimLabel::Keep, decision)
}
