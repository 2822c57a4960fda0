//! The merge gate: what has to be so before a pull request is merged, in one fixed order. `ghswarm explain`
//! prints the same list. It looks at one head; that the head has not moved, GitHub checks with the merge.

use crate::model::checks::CommitChecks;
use crate::model::ids::Timestamp;
use crate::model::labels::Status;
use crate::model::pr::{Mergeable, PullRequest};
use crate::model::rules::BaseRules;
use crate::model::state::BlockedReason;

use super::checks::{Verdict, judge};
use super::effect::Effect;
use super::guards::{Guard, GuardReport, guard, in_full};
use super::signals::ClaimLabel;
use super::view::View;
use super::{Decision, Why, approval, ci_red};

type Rule = fn(&View<'_>, &PullRequest) -> Option<Decision>;

/// What a trusted reviewer asks for comes before red checks: both lead to another run, and the reviewer's word
/// may change what is to be mended. The branch is updated last, since that voids approvals and costs CI.
const GATE: &[(Guard, Rule)] = &[
    (guard("ready", "its pull request is no draft"), draft),
    (
        guard("conflicts", "it does not conflict with its base"),
        conflicts,
    ),
    (
        guard("reviews", "no reviewer who counts asks for changes"),
        reviews,
    ),
    (
        guard("checks", "each check that counts succeeded at its head"),
        checks,
    ),
    (
        guard("approval", "it is approved as `require_approval` says"),
        approved,
    ),
    (guard("base", "the base branch is not red"), base_green),
    (guard("mergeable", "GitHub knows that it merges"), mergeable),
    (
        guard("queue", "no merge queue stands before the base"),
        queue,
    ),
    (
        guard(
            "up to date",
            "it contains its base where the rules ask for that",
        ),
        up_to_date,
    ),
];

/// The first rule that stops the merge, and what is done about it; `None`: it may be merged.
pub(super) fn first(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    GATE.iter().find_map(|(_, rule)| rule(view, pr))
}

/// Every rule, and the reason of each one that stops the merge.
pub(super) fn reports(view: &View<'_>, pr: &PullRequest) -> Vec<GuardReport> {
    let report = |(guard, rule): &(Guard, Rule)| GuardReport {
        guard: *guard,
        stops: rule(view, pr).map(|decision| in_full(&decision)),
    };
    GATE.iter().map(report).collect()
}

/// Nothing is held while it is waited.
fn rest(view: &View<'_>, decision: Decision) -> Decision {
    view.rest(Status::Idle, ClaimLabel::Keep, decision)
}

/// A draft is its author's word that it is not finished; who marked it so is not our business.
fn draft(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    let wait = || Decision::wait(Why::Draft { pr: pr.number });
    pr.draft.then(wait).map(|wait| rest(view, wait))
}

fn conflicts(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    let conflicting = pr.mergeable == Mergeable::Conflicting;
    conflicting.then(|| {
        let detail = format!(
            "pull request #{} conflicts with its base; merge the base into `{}` and push",
            pr.number, view.branch
        );
        view.block(BlockedReason::MergeConflict, detail)
    })
}

fn reviews(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    approval::has_objection(view, pr).then(|| {
        let detail = format!("a reviewer asks for changes on pull request #{}", pr.number);
        view.block(BlockedReason::ReviewFeedback, detail)
    })
}

fn checks(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    // Checks of the head before say nothing about this one.
    if pr.checks.sha != pr.head_sha {
        let sha = pr.head_sha.clone();
        return Some(rest(view, Decision::wait(Why::NoChecksYet { sha })));
    }
    // Without the rules an optional check would stop it, or a required one that is absent would not.
    let Some(rules) = &view.seen.rules else {
        return Some(Decision::wait(Why::RulesUnknown));
    };
    by_verdict(view, pr, rules)
}

fn by_verdict(view: &View<'_>, pr: &PullRequest, rules: &BaseRules) -> Option<Decision> {
    let checks = &pr.checks;
    let (at, sha) = (checks.sha.short(), checks.sha.clone());
    match judge(checks, &rules.required) {
        Verdict::Green => None,
        Verdict::Pending { done, total } => {
            let wait = Decision::wait(Why::ChecksPending { done, total, sha });
            Some(rest(view, wait))
        }
        Verdict::Red(names) => Some(ci_red::mend(view, pr, &names)),
        Verdict::Unclear(names) => {
            let detail = format!(
                "cancelled, skipped, stale or waiting for an approval at {at}: {}",
                names.join(", ")
            );
            Some(view.block(BlockedReason::CiUnclear, detail))
        }
        Verdict::Missing(names) => Some(missing(view, checks, names)),
        Verdict::NoneYet | Verdict::NothingRan => none(view, checks),
    }
}

/// A required check that does not begin: given time, since those that need others begin after them.
fn missing(view: &View<'_>, checks: &CommitChecks, names: Vec<String>) -> Decision {
    let ended = checks.checks.iter().filter_map(|check| check.ended_at);
    let since: Timestamp = ended
        .chain([view.state.head_since.unwrap_or(view.now)])
        .max()
        .unwrap_or(view.now);
    let (until, sha) = (since + view.policy.ci_start_grace, checks.sha.clone());
    if view.now < until {
        let why = Why::ChecksMissing { names, sha };
        return rest(view, Decision::wait_until(until, why));
    }
    let detail = format!(
        "required checks that never began at {}: {}; see which workflow reports them",
        sha.short(),
        names.join(", ")
    );
    view.block(BlockedReason::NoChecks, detail)
}

/// No checks is pending until the grace is over; then a verify step that succeeded at that very head
/// has to speak for it.
fn none(view: &View<'_>, checks: &CommitChecks) -> Option<Decision> {
    let until = view.state.head_since.unwrap_or(view.now) + view.policy.ci_start_grace;
    let sha = checks.sha.clone();
    if view.now < until {
        let wait = Decision::wait_until(until, Why::NoChecksYet { sha });
        return Some(rest(view, wait));
    }
    let spoken_for = view.state.verified_sha.as_ref() == Some(&checks.sha);
    (!spoken_for).then(|| {
        let detail = format!(
            "no check succeeded at {} and no verify step did either",
            sha.short()
        );
        view.block(BlockedReason::NoChecks, detail)
    })
}

fn approved(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    if approval::is_approved(view, pr) {
        return None;
    }
    let why = Why::ApprovalMissing {
        pr: pr.number,
        sha: pr.head_sha.clone(),
    };
    Some(rest(view, Decision::wait(why)))
}

/// Each merge into a red base hides what made it red a little more. Who wants this one all the same, as when it
/// is the mend, says so by `/ghswarm merge`.
fn base_green(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    if !view.policy.post_merge_ci || approval::is_ordered(view, pr) {
        return None;
    }
    let Some(checks) = &view.seen.base_checks else {
        return Some(Decision::wait(Why::BaseUnknown));
    };
    let required = view
        .seen
        .rules
        .as_ref()
        .map_or(&[][..], |rules| &rules.required);
    let Verdict::Red(names) = judge(checks, required) else {
        return None;
    };
    let sha = checks.sha.clone();
    Some(rest(view, Decision::wait(Why::BaseRed { names, sha })))
}

fn mergeable(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    let unknown = pr.mergeable == Mergeable::Unknown;
    let wait = || Decision::wait(Why::MergeabilityUnknown);
    unknown.then(wait).map(|wait| rest(view, wait))
}

/// A base with a queue takes no direct merge, and brings what it merges up to date itself.
fn queue(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    let enqueue = || {
        let effect = Effect::Enqueue {
            pr: pr.number,
            node_id: pr.node_id.clone(),
            head: pr.head_sha.clone(),
        };
        view.under_claim(effect, Why::ReadyToMerge)
    };
    pr.merge_queue.then(enqueue)
}

/// Only where the rules ask for it: elsewhere it would cost a CI run for each merge of somebody else.
fn up_to_date(view: &View<'_>, pr: &PullRequest) -> Option<Decision> {
    let update = || {
        let effect = Effect::UpdateBranch {
            pr: pr.number,
            head: pr.head_sha.clone(),
            noting: None,
        };
        view.under_claim(effect, Why::BranchBehind)
    };
    pr.behind.then(update)
}
