//! `create_pr`: the branch is pushed, the pull request opened.

use crate::model::local::Worktree;
use crate::model::phase::Phase;
use crate::model::pr::{PrState, PullRequest};
use crate::model::state::BlockedReason;

use super::effect::Effect;
use super::view::View;
use super::{Decision, Why, diff, runs, unverified, wait_ci};

pub(super) fn decide(view: &View<'_>) -> Decision {
    if let Some(pr) = view.pr().filter(|pr| was_closed(view, pr)) {
        return wait_ci::closed(view, pr);
    }
    let open = view.pr().filter(|pr| pr.state == PrState::Open);
    if let Some(decision) = open.and_then(|pr| assign(view, pr)) {
        return decision;
    }
    let Some(tree) = view.worktree() else {
        return without_worktree(view, open);
    };
    if !tree.differs_from_base {
        return view.block(
            BlockedReason::NoChanges,
            "the branch does not differ from its base",
        );
    }
    let pushed = view.remote_head() == Some(&tree.head);
    if open.is_some() && pushed {
        return watch(view);
    }
    let refused = || diff::refuse(view).or_else(|| behind(view));
    let refused = (!pushed).then(refused).flatten();
    if let Some(decision) = refused.or_else(|| unverified::before_push(view, tree)) {
        return decision;
    }
    if pushed {
        let effect = Effect::OpenPr {
            branch: view.branch.clone(),
        };
        return view.under_claim(
            effect,
            Why::Next {
                what: "open the pull request",
            },
        );
    }
    push(view, tree)
}

/// Was the pull request that the state knows of closed while an agent was at work on its branch?
fn was_closed(view: &View<'_>, pr: &PullRequest) -> bool {
    pr.state == PrState::Closed && view.state.pr_number == Some(pr.number)
}

/// A crash after the pull request was opened leaves it without the assignee of its issue. Only in this
/// phase, and only while the issue says so: what people change later is theirs.
fn assign(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    let operator = view.operator();
    let wanted = view.issue.assignees.contains(operator) && !pr.assignees.contains(operator);
    (wanted && view.proof().is_some())
        .then(|| Decision::act(Effect::AssignPr(pr.number), Why::ShowClaim))
}

fn without_worktree(view: &View<'_>, open: Option<&PullRequest>) -> Decision {
    match (open, view.proof()) {
        // The pull request is there: nothing more is needed from this machine.
        (Some(_), _) => watch(view),
        (None, None) => view.under_claim(Effect::Release, Why::FreeToClaim),
        (None, Some(_)) => runs::worktree(view).unwrap_or_else(|| {
            Decision::wait(Why::Next {
                what: "make the worktree",
            })
        }),
    }
}

/// Never over a commit that this worktree does not contain.
fn behind(view: &View<'_>) -> Option<Decision> {
    let lacks = view.remote_head().is_some() && view.seen.remote_contained != Some(true);
    lacks.then(|| {
        view.block(
            BlockedReason::PushRefused,
            format!(
                "the branch `{}` on GitHub has commits that the worktree lacks; merge them there or \
                 delete the branch, then resume",
                view.branch
            ),
        )
    })
}

fn push(view: &View<'_>, tree: &Worktree) -> Decision {
    let effect = Effect::PushBranch {
        branch: view.branch.clone(),
        sha: tree.head.clone(),
        expected: view.remote_head().cloned(),
    };
    view.under_claim(
        effect,
        Why::Next {
            what: "push the branch",
        },
    )
}

fn watch(view: &View<'_>) -> Decision {
    let mut state = view.next_state();
    if let Some(pr) = view.pr() {
        state.pr_number = Some(pr.number);
        state.pr_url = Some(pr.url.clone());
        state.head_sha = Some(pr.head_sha.clone());
    }
    state.head_since = Some(view.now);
    state.ci_fix_sha = None;
    state.busy_owner = None;
    state.busy_since = None;
    state.next_action = Phase::WaitCi;
    view.write(
        state,
        Why::Next {
            what: "the pull request is open",
        },
    )
}
