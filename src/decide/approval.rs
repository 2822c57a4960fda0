//! Whose word a merge needs, and whose objection stops it. Only trusted reviewers count, each by the last
//! opinion; outsiders and pending reviews say nothing.

use crate::model::pr::{PullRequest, Review, ReviewDecision, ReviewState};
use crate::model::trust::{Command, commands};

use super::policy::ApprovalRule;
use super::view::View;

/// Does somebody whose word counts ask for changes?
pub(super) fn has_objection(view: &View<'_>, pr: &PullRequest) -> bool {
    pr.review_decision == Some(ReviewDecision::ChangesRequested)
        || latest_opinions(view, pr)
            .iter()
            .any(|review| review.state == ReviewState::ChangesRequested)
}

/// Is it approved as `require_approval` says?
pub(super) fn is_approved(view: &View<'_>, pr: &PullRequest) -> bool {
    // GitHub would refuse the merge.
    if pr.review_decision == Some(ReviewDecision::ReviewRequired) {
        return false;
    }
    let approvals: Vec<&Review> = latest_opinions(view, pr)
        .into_iter()
        .filter(|review| {
            review.state == ReviewState::Approved
                && review.commit.as_ref() == Some(&pr.head_sha)
                && review.author != pr.author
        })
        .collect();
    let human = approvals
        .iter()
        .any(|review| review.author.as_ref().is_some_and(|author| !is_bot(author)));
    let github = pr.review_decision == Some(ReviewDecision::Approved) || !approvals.is_empty();
    match view.policy.approval {
        ApprovalRule::None => true,
        ApprovalRule::GitHub => github || is_ordered(view, pr),
        ApprovalRule::Human => (github && human) || is_ordered(view, pr),
    }
}

fn is_bot(actor: &crate::model::issue::Actor) -> bool {
    actor.is_bot || actor.login.is_bot()
}

/// The last opinion of each trusted reviewer: a later approval takes an earlier objection back, and the other
/// way round.
fn latest_opinions<'a>(view: &View<'_>, pr: &'a PullRequest) -> Vec<&'a Review> {
    let mut latest: Vec<&Review> = Vec::new();
    for review in &pr.reviews {
        let opinion = matches!(
            review.state,
            ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed
        );
        if opinion && review.author.is_some() && counts(view, review) {
            latest.retain(|known| known.author != review.author);
            latest.push(review);
        }
    }
    latest
}

fn counts(view: &View<'_>, review: &Review) -> bool {
    super::view::trust_policy(view.seen, view.policy)
        .trusts(review.author.as_ref(), review.association)
}

/// `/ghswarm merge SHA` of a trusted person counts as approval of that head: the lone owner cannot
/// approve the pull request of their own token.
pub(super) fn is_ordered(view: &View<'_>, pr: &PullRequest) -> bool {
    view.seen
        .look
        .comments
        .iter()
        .filter(|comment| view.counts(comment))
        .any(|comment| {
            let human = comment
                .author
                .as_ref()
                .is_some_and(|author| !is_bot(author));
            human
                && crate::model::comment::key_of(&comment.body).is_none()
                && commands(&comment.body).iter().any(|command| match command {
                    Command::Merge { sha_prefix } => {
                        sha_prefix.len() >= 7
                            && pr.head_sha.as_str().starts_with(sha_prefix.as_str())
                    }
                    Command::Approve { .. }
                    | Command::Resume
                    | Command::Retry
                    | Command::Stop
                    | Command::Status => false,
                })
        })
}
