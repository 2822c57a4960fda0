//! From GitHub's words to the model's nouns. A word we do not know becomes the variant that lets
//! nothing through; a list is never shortened here.

use crate::model::checks::{Check, CheckOutcome, CommitChecks, Job};
use crate::model::ids::{CommentId, IssueNumber, Login, PrNumber, RefName, RepoId, Timestamp};
use crate::model::issue::{Actor, BodyEdit, Comment, Issue, Labelled, LinkedPr, Rename};
use crate::model::lease::LeaseCommit;
use crate::model::pr::{Mergeable, PrState, PullRequest, Review, ReviewDecision, ReviewState};

use super::wire::{
    WireActor, WireCheck, WireComment, WireEdit, WireEvent, WireIssue, WireIssueLine, WireLinked,
    WireLogin, WirePr, WireReview, WireTarget,
};

/// An actor. A login we cannot read is like a deleted account: nobody trusts it.
pub(super) fn actor(wire: WireActor) -> Option<Actor> {
    let is_bot = wire.kind == "Bot";
    // GraphQL leaves the suffix off that REST and the web show.
    let name = if is_bot && !wire.login.ends_with("[bot]") {
        format!("{}[bot]", wire.login)
    } else {
        wire.login
    };
    let login = Login::new(name).ok()?;
    Some(Actor {
        is_bot: is_bot || login.is_bot(),
        login,
    })
}

/// Logins; one that cannot be read is an error, since an assignee who is left out is a gate that is
/// open.
pub(super) fn logins(wire: Vec<WireLogin>) -> Result<Vec<Login>, String> {
    wire.into_iter()
        .map(|one| Login::new(one.login).map_err(|error| error.to_string()))
        .collect()
}

/// The issue without its lists.
pub(super) fn issue(wire: WireIssue) -> Result<Issue, String> {
    Ok(Issue {
        number: IssueNumber(wire.number),
        node_id: wire.id,
        title: wire.title,
        body: wire.body,
        open: wire.state == "OPEN",
        labels: wire
            .labels
            .map(|labels| labels.nodes.into_iter().map(|label| label.name).collect())
            .unwrap_or_default(),
        assignees: logins(wire.assignees.nodes)?,
        milestone: wire.milestone.map(|milestone| milestone.title),
        author: wire.author.and_then(actor),
        association: wire.author_association,
        created_at: wire.created_at,
        updated_at: wire.updated_at,
        url: wire.url,
        linked_prs: Vec::new(),
    })
}

/// A pull request that is linked to the issue.
pub(super) fn linked(wire: WireLinked) -> LinkedPr {
    LinkedPr {
        number: PrNumber(wire.number),
        head_repo: wire
            .head_repository
            .and_then(|repo| repo.database_id)
            .map(RepoId),
        head_ref: wire.head_ref_name,
        url: wire.url,
    }
}

/// Edits, oldest first. GitHub lists them newest first; where two share a second its order is the
/// only one there is.
pub(super) fn edits(wire: Vec<WireEdit>) -> Vec<BodyEdit> {
    let mut edits: Vec<BodyEdit> = wire
        .into_iter()
        .rev()
        .map(|edit| BodyEdit {
            id: edit.id,
            editor: edit.editor.and_then(actor),
            edited_at: edit.edited_at,
            text: edit.diff,
        })
        .collect();
    edits.sort_by_key(|edit| edit.edited_at);
    edits
}

/// Renames and labels put on.
pub(super) fn events(wire: Vec<WireEvent>) -> (Vec<Rename>, Vec<Labelled>) {
    let mut renames = Vec::new();
    let mut labelled = Vec::new();
    for event in wire {
        match event {
            WireEvent::RenamedTitleEvent {
                created_at,
                actor: who,
            } => {
                renames.push(Rename {
                    actor: who.and_then(actor),
                    at: created_at,
                });
            }
            WireEvent::LabeledEvent {
                created_at,
                actor: who,
                label,
            } => labelled.push(Labelled {
                label: label.name,
                actor: who.and_then(actor),
                at: created_at,
            }),
            WireEvent::Other => {}
        }
    }
    (renames, labelled)
}

/// A comment.
pub(super) fn comment(wire: WireComment) -> Comment {
    Comment {
        id: CommentId(wire.database_id),
        author: wire.author.and_then(actor),
        association: wire.author_association,
        body: wire.body,
        created_at: wire.created_at,
        edited_at: wire.last_edited_at,
        editor: wire.editor.and_then(actor),
        url: wire.url,
    }
}

/// A pull request, its reviews and checks read to the end by the caller.
pub(super) fn pull_request(
    wire: WirePr,
    reviews: Vec<WireReview>,
    checks: Vec<WireCheck>,
) -> Result<PullRequest, String> {
    let state = pr_state(&wire.state, wire.merge_commit, wire.merged_at);
    let state = state
        .map_err(|word| format!("pull request #{} is {word} without its commit", wire.number))?;
    Ok(PullRequest {
        number: PrNumber(wire.number),
        node_id: wire.id,
        state,
        draft: wire.is_draft,
        head_repo: wire
            .head_repository
            .and_then(|repo| repo.database_id)
            .map(RepoId),
        head_ref: wire.head_ref_name,
        head_sha: wire.head_ref_oid.clone(),
        base_ref: wire.base_ref_name,
        author: wire.author.and_then(actor),
        mergeable: mergeable(&wire.mergeable),
        review_decision: wire.review_decision.as_deref().map(review_decision),
        reviews: reviews.into_iter().map(review).collect(),
        checks: CommitChecks {
            sha: wire.head_ref_oid,
            checks: checks.into_iter().map(check).collect(),
        },
        // GitHub says so only where the base's rules ask for a branch that is up to date.
        behind: wire.merge_state_status == "BEHIND",
        merge_queue: wire.is_merge_queue_enabled,
        queued: wire.merge_queue_entry.map(|entry| entry.position),
        assignees: logins(wire.assignees.nodes)?,
        created_at: wire.created_at,
        url: wire.url,
    })
}

/// The state; the error is a word that does not fit what stands beside it.
pub(super) fn pr_state(
    word: &str,
    commit: Option<super::wire::WireOid>,
    at: Option<Timestamp>,
) -> Result<PrState, String> {
    match (word, commit, at) {
        ("OPEN", ..) => Ok(PrState::Open),
        ("CLOSED", ..) => Ok(PrState::Closed),
        ("MERGED", Some(commit), Some(at)) => Ok(PrState::Merged {
            commit: commit.oid,
            at,
        }),
        (word, ..) => Err(word.to_owned()),
    }
}

/// A line of the board; its lists are read to the end by the caller.
pub(super) fn board_issue(wire: WireIssueLine) -> Result<Issue, String> {
    Ok(Issue {
        number: IssueNumber(wire.number),
        node_id: wire.id,
        title: wire.title,
        body: wire.body,
        open: true,
        labels: wire
            .labels
            .map(|labels| labels.nodes.into_iter().map(|label| label.name).collect())
            .unwrap_or_default(),
        assignees: logins(wire.assignees.nodes)?,
        milestone: wire.milestone.map(|milestone| milestone.title),
        author: wire.author.and_then(actor),
        association: wire.author_association,
        created_at: wire.created_at,
        updated_at: wire.updated_at,
        url: wire.url,
        linked_prs: Vec::new(),
    })
}

fn review(wire: WireReview) -> Review {
    Review {
        author: wire.author.and_then(actor),
        association: wire.author_association,
        state: review_state(&wire.state),
        commit: wire.commit.map(|commit| commit.oid),
        submitted_at: wire.submitted_at,
        body: wire.body,
    }
}

/// A check.
pub(super) fn check(wire: WireCheck) -> Check {
    match wire {
        WireCheck::CheckRun {
            database_id,
            name,
            status,
            conclusion,
            completed_at,
            details_url,
            check_suite,
        } => {
            let run = check_suite.workflow_run.and_then(|run| run.database_id);
            Check {
                url: details_url,
                app: check_suite.app.and_then(|app| app.database_id),
                job: database_id.zip(run).map(|(id, run)| Job { id, run }),
                ended_at: completed_at,
                ..Check::new(name, check_run(&status, conclusion.as_deref()))
            }
        }
        WireCheck::StatusContext {
            context,
            state,
            description,
            target_url,
        } => Check {
            url: target_url,
            description,
            ..Check::new(context, status_context(&state))
        },
        WireCheck::Other => Check::new("a check of an unknown kind", CheckOutcome::Unknown),
    }
}

fn check_run(status: &str, conclusion: Option<&str>) -> CheckOutcome {
    if status != "COMPLETED" {
        return CheckOutcome::Pending;
    }
    match conclusion {
        Some("SUCCESS") => CheckOutcome::Success,
        Some("NEUTRAL") => CheckOutcome::Neutral,
        Some("SKIPPED") => CheckOutcome::Skipped,
        Some("FAILURE" | "STARTUP_FAILURE") => CheckOutcome::Failure,
        Some("TIMED_OUT") => CheckOutcome::TimedOut,
        Some("CANCELLED") => CheckOutcome::Cancelled,
        Some("ACTION_REQUIRED") => CheckOutcome::ActionRequired,
        Some("STALE") => CheckOutcome::Stale,
        Some(_) | None => CheckOutcome::Unknown,
    }
}

fn status_context(state: &str) -> CheckOutcome {
    match state {
        "EXPECTED" | "PENDING" => CheckOutcome::Pending,
        "SUCCESS" => CheckOutcome::Success,
        "FAILURE" | "ERROR" => CheckOutcome::Failure,
        _ => CheckOutcome::Unknown,
    }
}

fn mergeable(word: &str) -> Mergeable {
    match word {
        "MERGEABLE" => Mergeable::Yes,
        "CONFLICTING" => Mergeable::Conflicting,
        _ => Mergeable::Unknown,
    }
}

fn review_decision(word: &str) -> ReviewDecision {
    match word {
        "APPROVED" => ReviewDecision::Approved,
        "CHANGES_REQUESTED" => ReviewDecision::ChangesRequested,
        _ => ReviewDecision::ReviewRequired,
    }
}

fn review_state(word: &str) -> ReviewState {
    match word {
        "APPROVED" => ReviewState::Approved,
        "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
        "DISMISSED" => ReviewState::Dismissed,
        "PENDING" => ReviewState::Pending,
        _ => ReviewState::Commented,
    }
}

/// What a lease ref points at. Of something that is no commit neither message nor date is known; an
/// empty message reads as an odd lease, which has its own expiry.
pub(super) fn lease(name: &RefName, target: WireTarget, at: Timestamp) -> LeaseCommit {
    LeaseCommit {
        name: name.clone(),
        oid: target.oid,
        date: target.committed_date.unwrap_or(at),
        message: target.message.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
