//! `create_pr`: the branch is pushed, the pull request opened.

use crate::model::paths::holds_secrets;
use crate::model::phase::Phase;
use crate::model::pr::{PrState, PullRequest};
use crate::model::state::BlockedReason;

use super::effect::Effect;
use super::view::View;
use super::{Decision, Why, runs};

pub(super) fn decide(view: &View<'_>) -> Decision {
    let open = view.pr().filter(|pr| pr.state == PrState::Open);
    if let Some(decision) = open.and_then(|pr| assign(view, pr)) {
        return decision;
    }
    let Some(tree) = view.worktree() else {
        return match (open, view.proof()) {
            // The pull request is there: nothing more is needed from this machine.
            (Some(_), _) => watch(view),
            (None, None) => view.under_claim(Effect::Release, Why::FreeToClaim),
            (None, Some(_)) => runs::worktree(view).unwrap_or_else(|| {
                Decision::wait(Why::Next {
                    what: "make the worktree",
                })
            }),
        };
    };
    if !tree.differs_from_base {
        return view.block(
            BlockedReason::NoChanges,
            "the branch does not differ from its base",
        );
    }
    if view.remote_head() != Some(&tree.head) {
        return refused_paths(view).unwrap_or_else(|| push(view));
    }
    if open.is_none() {
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
    watch(view)
}

/// A crash after the pull request was opened leaves it without the assignee of its issue. Only in this
/// phase, and only while the issue says so: what people change later is theirs.
fn assign(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    let operator = view.operator();
    let wanted = view.issue.assignees.contains(operator) && !pr.assignees.contains(operator);
    (wanted && view.proof().is_some())
        .then(|| Decision::act(Effect::AssignPr(pr.number), Why::ShowClaim))
}

/// Changed paths that are protected or hold secrets: a diff with one of them is not pushed at all, to
/// no ref, since everybody who reads the repository can fetch each of them.
pub(super) fn paths_not_to_push<'a>(view: &View<'a>) -> Vec<&'a str> {
    let protected = &view.policy.protected_paths;
    let refused = |path: &&str| holds_secrets(path) || protected.iter().any(|p| p.matches(path));
    let paths = view.seen.changed_paths.iter().map(String::as_str);
    paths.filter(refused).collect()
}

fn refused_paths(view: &View<'_>) -> Option<Decision> {
    let refused = paths_not_to_push(view);
    (!refused.is_empty()).then(|| {
        let place = view.worktree().map_or_else(String::new, |tree| {
            format!("; commit the mended branch in `{}`", tree.path.display())
        });
        let detail = format!(
            "the branch changes what it must not (`protected_paths`, files with secrets): {}{place}",
            refused.join(", ")
        );
        view.block(BlockedReason::DiffRefused, detail)
    })
}

/// Pushes what was verified, never over a commit that this worktree does not contain.
fn push(view: &View<'_>) -> Decision {
    let Some(tree) = view.worktree() else {
        return Decision::wait(Why::ClaimWithoutLease);
    };
    if view.remote_head().is_some() && view.seen.remote_contained != Some(true) {
        return view.block(
            BlockedReason::PushRefused,
            format!(
                "the branch `{}` on GitHub has commits that the worktree lacks; merge them there or \
                 delete the branch, then resume",
                view.branch
            ),
        );
    }
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
