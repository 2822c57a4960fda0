//! `done`: what was placed is cleared away, the issue is closed last, so that any machine can finish
//! an interrupted end.

use crate::model::ids::RefName;
use crate::model::labels::Status;
use crate::model::pr::PrState;

use super::effect::Effect;
use super::view::{ClaimView, View};
use super::{Decision, Why};

pub(super) fn decide(view: &View<'_>) -> Decision {
    // GitHub may have closed it at the merge; ours is the close that the state knows of.
    if !view.issue.open && view.state.closed {
        return closed(view);
    }
    // Closed before and open now: a person reopened it, and it stays theirs.
    if view.state.closed {
        return let_go(view);
    }
    if let Some(change) = view.status_change_unclaimed(Status::Completed) {
        return view.under_claim(Effect::SetStatus(change), Why::LabelsDiffer);
    }
    let refs = leftovers(view);
    if !refs.is_empty() {
        return view.under_claim(
            Effect::DeleteRefs(refs),
            Why::Next {
                what: "delete the merged branch and the saved work",
            },
        );
    }
    let mut state = view.next_state();
    state.closed = true;
    let write = view.state_write(state, Vec::new());
    view.under_claim(
        Effect::CloseIssue(Box::new(write)),
        Why::Next {
            what: "close the issue",
        },
    )
}

fn closed(view: &View<'_>) -> Decision {
    if view.worktree().is_some_and(|tree| tree.ours) {
        let merged = view.state.head_sha.clone();
        let effect = Effect::RemoveWorktree { merged };
        return Decision::act(
            effect,
            Why::Next {
                what: "remove the worktree",
            },
        );
    }
    let_go(view)
}

/// Nothing is left to do, so nothing may stay claimed.
fn let_go(view: &View<'_>) -> Decision {
    match view.claim {
        ClaimView::Ours(_) => Decision::act(Effect::Release, Why::Done),
        ClaimView::WithoutLease | ClaimView::Lost => {
            Decision::act(Effect::DropClaim, Why::ClaimWithoutLease)
        }
        ClaimView::None => Decision::Finished(Why::Done),
    }
}

/// Remote refs of ours that still point at what was merged or saved. A branch that moved is a
/// person's work and stays.
fn leftovers(view: &View<'_>) -> Vec<(RefName, crate::model::ids::Sha)> {
    let merged = view
        .pr()
        .filter(|pr| matches!(pr.state, PrState::Merged { .. }));
    let branch = RefName::of_branch(&view.branch);
    let head = view.remote_head();
    let gone = merged
        .zip(head)
        .filter(|(pr, head)| pr.head_sha == **head)
        .map(|(_, h)| h.clone());
    // A state block may name any branch; only one of the name that we give is ours to delete.
    let named_by_us = view.policy.branch(view.issue.number).as_ref() == Some(&view.branch);
    let branch = gone
        .filter(|_| view.policy.delete_branch && named_by_us)
        .map(|head| (branch, head));
    let saved = view.policy.wip_ref(view.issue.number);
    let saved = saved.and_then(|name| {
        let sha = view.seen.look.refs.get(&name)?.clone();
        Some((name, sha))
    });
    branch.into_iter().chain(saved).collect()
}
