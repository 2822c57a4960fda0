//! `verify_merge`: merged; the merge commit's own checks decide whether it is done.

use crate::model::ids::{Sha, Timestamp};
use crate::model::labels::Status;
use crate::model::phase::Phase;
use crate::model::pr::PrState;
use crate::model::state::BlockedReason;

use super::checks::{Verdict, judge};
use super::effect::Effect;
use super::signals::ClaimLabel;
use super::view::View;
use super::{Decision, Why};

pub(super) fn decide(view: &View<'_>) -> Decision {
    // Somebody merged while an agent was at work: it would go on for nothing.
    if let Some(run) = view.live_run() {
        let why = Why::Next {
            what: "it is merged already",
        };
        return Decision::act(Effect::StopRun(run.key.clone()), why);
    }
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
    let checks = view.seen.look.merge_checks.as_ref();
    let judged = checks.filter(|checks| checks.sha == commit);
    match judged.map(|checks| judge(checks, &[])) {
        None => rest(view, Decision::wait(Why::NoChecksYet { sha: commit })),
        Some(verdict) => by_verdict(view, verdict, commit, at),
    }
}

fn by_verdict(view: &View<'_>, verdict: Verdict, commit: Sha, at: Timestamp) -> Decision {
    let (reason, detail) = match verdict {
        Verdict::Green => return finish(view),
        Verdict::NoneYet | Verdict::NothingRan | Verdict::Missing(_) => {
            return no_checks(view, commit, at);
        }
        Verdict::Pending { done, total } => {
            let sha = commit;
            let why = Why::ChecksPending { done, total, sha };
            return rest(view, Decision::wait(why));
        }
        Verdict::Red(names) => {
            let (at, names) = (commit.short(), names.join(", "));
            let detail = format!("red on the base branch at {at}: {names}");
            (BlockedReason::MergeCiFailed, detail)
        }
        Verdict::Unclear(names) => {
            let (at, names) = (commit.short(), names.join(", "));
            let detail = format!("cancelled, stale or waiting at {at}: {names}");
            (BlockedReason::CiUnclear, detail)
        }
    };
    view.block(reason, detail)
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
    state.ci_fix_retries = 0;
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
