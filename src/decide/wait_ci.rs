//! `wait_ci`: checks and approval are awaited, then merged.

use crate::model::checks::CommitChecks;
use crate::model::labels::Status;
use crate::model::phase::Phase;
use crate::model::pr::{Mergeable, PrState, PullRequest, ReviewDecision, ReviewState};
use crate::model::state::BlockedReason;
use crate::model::trust::{Command, commands};

use super::checks::{Verdict, judge};
use super::effect::Effect;
use super::policy::ApprovalRule;
use super::signals::ClaimLabel;
use super::view::View;
use super::{Decision, Why};

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
        PrState::Open if view.state.head_sha.as_ref() != Some(&pr.head_sha) => moved(view, pr),
        PrState::Open => open(view, pr),
    }
}

/// A person closed it: that is an answer, not something to wait for.
fn closed(view: &View<'_>, pr: &PullRequest) -> Decision {
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
    match refusal(view, pr) {
        Some(Refusal::Block(reason, detail)) => view.block(reason, detail),
        Some(Refusal::Wait(decision)) => view.rest(Status::Idle, ClaimLabel::Keep, decision),
        None => view.under_claim(
            Effect::Merge {
                pr: pr.number,
                head: pr.head_sha.clone(),
            },
            Why::ReadyToMerge,
        ),
    }
}

/// Why it is not merged now.
enum Refusal {
    Block(BlockedReason, String),
    Wait(Decision),
}

/// Every rule of the gate in order; `None`: it may be merged.
fn refusal(view: &View<'_>, pr: &PullRequest) -> Option<Refusal> {
    if pr.merge_queue {
        let detail = "the base branch has a merge queue, which ghswarm does not use yet; add the \
                      pull request to the queue yourself";
        return Some(Refusal::Block(BlockedReason::MergeQueue, detail.to_owned()));
    }
    if pr.draft {
        return Some(Refusal::Wait(Decision::wait(Why::Draft { pr: pr.number })));
    }
    if pr.mergeable == Mergeable::Conflicting {
        let detail = format!(
            "pull request #{} conflicts with its base; merge the base into `{}` and push",
            pr.number, view.branch
        );
        return Some(Refusal::Block(BlockedReason::MergeConflict, detail));
    }
    // Checks of the head before say nothing about this one.
    if pr.checks.sha != pr.head_sha {
        let sha = pr.head_sha.clone();
        return Some(Refusal::Wait(Decision::wait(Why::NoChecksYet { sha })));
    }
    checks_refuse(view, &pr.checks)
        .or_else(|| reviews_refuse(view, pr))
        .or_else(|| {
            (pr.mergeable == Mergeable::Unknown)
                .then(|| Refusal::Wait(Decision::wait(Why::MergeabilityUnknown)))
        })
}

fn checks_refuse(view: &View<'_>, checks: &CommitChecks) -> Option<Refusal> {
    let at = checks.sha.short();
    match judge(checks) {
        Verdict::Green => None,
        Verdict::Pending { done, total } => {
            Some(Refusal::Wait(Decision::wait(Why::ChecksPending {
                done,
                total,
                sha: checks.sha.clone(),
            })))
        }
        Verdict::Red(names) => Some(Refusal::Block(
            BlockedReason::CiFailed,
            format!("red at {at}: {}", names.join(", ")),
        )),
        Verdict::Unclear(names) => Some(Refusal::Block(
            BlockedReason::CiUnclear,
            format!(
                "cancelled, stale or waiting for an approval at {at}: {}",
                names.join(", ")
            ),
        )),
        Verdict::NoneYet | Verdict::NothingRan => no_checks(view, checks),
    }
}

/// No checks is pending until the grace is over; then a verify step that succeeded at that very head
/// has to speak for it.
fn no_checks(view: &View<'_>, checks: &CommitChecks) -> Option<Refusal> {
    let until = view.state.head_since.unwrap_or(view.now) + view.policy.ci_start_grace;
    if view.now < until {
        let why = Why::NoChecksYet {
            sha: checks.sha.clone(),
        };
        return Some(Refusal::Wait(Decision::wait_until(until, why)));
    }
    if view.state.verified_sha.as_ref() == Some(&checks.sha) {
        return None;
    }
    Some(Refusal::Block(
        BlockedReason::NoChecks,
        format!(
            "no check succeeded at {} and no verify step did either",
            checks.sha.short()
        ),
    ))
}

fn reviews_refuse(view: &View<'_>, pr: &PullRequest) -> Option<Refusal> {
    let missing = || {
        let why = Why::ApprovalMissing {
            pr: pr.number,
            sha: pr.head_sha.clone(),
        };
        Some(Refusal::Wait(Decision::wait(why)))
    };
    let objects = pr.review_decision == Some(ReviewDecision::ChangesRequested)
        || latest_opinions(view, pr)
            .iter()
            .any(|(_, state)| *state == ReviewState::ChangesRequested);
    if objects {
        let detail = format!("a reviewer asks for changes on pull request #{}", pr.number);
        return Some(Refusal::Block(BlockedReason::ReviewFeedback, detail));
    }
    if pr.review_decision == Some(ReviewDecision::ReviewRequired) {
        return missing();
    }
    let by_command = merge_command(view, pr);
    let approved_here = |human: Human| {
        pr.reviews.iter().any(|review| {
            review.state == ReviewState::Approved
                && review.commit.as_ref() == Some(&pr.head_sha)
                && view.reviewer_counts(review)
                && review.author != pr.author
                && (human == Human::Any || review.author.as_ref().is_some_and(|a| !is_bot(a)))
        })
    };
    let github = pr.review_decision == Some(ReviewDecision::Approved) || approved_here(Human::Any);
    let enough = match view.policy.approval {
        ApprovalRule::None => true,
        ApprovalRule::GitHub => github || by_command,
        ApprovalRule::Human => (github && approved_here(Human::Only)) || by_command,
    };
    if enough { None } else { missing() }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Human {
    Any,
    Only,
}

fn is_bot(actor: &crate::model::issue::Actor) -> bool {
    actor.is_bot || actor.login.is_bot()
}

/// The last opinion of each trusted reviewer: a later approval takes an earlier objection back.
fn latest_opinions(view: &View<'_>, pr: &PullRequest) -> Vec<(String, ReviewState)> {
    let mut latest: Vec<(String, ReviewState)> = Vec::new();
    for review in &pr.reviews {
        let Some(author) = &review.author else {
            continue;
        };
        let opinion = matches!(
            review.state,
            ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed
        );
        if !opinion || !view.reviewer_counts(review) {
            continue;
        }
        let login = author.login.to_string();
        latest.retain(|(known, _)| *known != login);
        latest.push((login, review.state));
    }
    latest
}

/// `/ghswarm merge SHA` of a trusted person counts as approval of that head: the lone owner cannot
/// approve the pull request of their own token.
fn merge_command(view: &View<'_>, pr: &PullRequest) -> bool {
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

impl View<'_> {
    fn reviewer_counts(&self, review: &crate::model::pr::Review) -> bool {
        super::view::trust_policy(self.seen, self.policy)
            .trusts(review.author.as_ref(), review.association)
    }
}
