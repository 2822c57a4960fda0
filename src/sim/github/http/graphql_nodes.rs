//! The nodes of GraphQL answers: issues, edits, comments, pull requests, reviews, checks, by page.

use serde_json::{Value, json};

use super::super::error::SimResult;
use super::super::look::check_url;
use super::super::model::{Comment, Edit, Event, Happened, Issue, Pr, PrStanding, Review};
use super::super::prs::Merges;
use super::super::repo_git;
use super::graphql::Question;
use super::json::time;

/// One page of a list.
pub(crate) fn page(
    question: &Question<'_>,
    items: &[Value],
    first: usize,
    after: Option<&str>,
) -> Value {
    let start = after
        .and_then(|cursor| cursor.strip_prefix("cursor:"))
        .and_then(|at| at.parse::<usize>().ok())
        .unwrap_or(0);
    let size = first.min(question.call.page_max());
    let end = (start + size).min(items.len());
    let shown = items.get(start..end).unwrap_or_default();
    json!({
        "nodes": shown,
        "pageInfo": {
            "hasNextPage": end < items.len(),
            "endCursor": (!shown.is_empty()).then(|| format!("cursor:{end}")),
        },
    })
}

/// Somebody who acts: bots lose their `[bot]` here, unlike in REST; a deleted account is nobody.
fn actor(question: &Question<'_>, login: &str) -> Value {
    let Some(user) = question.world.user(login) else {
        return Value::Null;
    };
    match user.login.strip_suffix("[bot]") {
        Some(name) => json!({ "__typename": "Bot", "login": name }),
        None => json!({ "__typename": "User", "login": user.login }),
    }
}

fn association(question: &Question<'_>, login: &str) -> Value {
    json!(question.world.association(&question.key, login))
}

fn logins(issue: &Issue) -> Vec<Value> {
    let logins = issue.assignees.iter();
    logins.map(|login| json!({ "login": login })).collect()
}

pub(crate) fn issue(question: &Question<'_>, issue: &Issue) -> SimResult<Value> {
    let labels: Vec<Value> = issue
        .labels
        .iter()
        .map(|name| json!({ "name": name }))
        .collect();
    Ok(json!({
        "id": issue.node_id(),
        "number": issue.number,
        "title": issue.title,
        "body": issue.body,
        "state": if issue.open { "OPEN" } else { "CLOSED" },
        "createdAt": time(issue.created_at),
        "updatedAt": time(issue.updated_at),
        "url": question.world.web_url(&question.key, issue),
        "authorAssociation": association(question, &issue.author),
        "author": actor(question, &issue.author),
        "milestone": issue.milestone.as_ref().map(|title| json!({ "title": title })),
        "labels": page(question, &labels, 100, None),
        "assignees": page(question, &logins(issue), 100, None),
        "userContentEdits": edits(question, issue, None),
        "timelineItems": timeline(question, issue, None),
        "comments": comments(question, issue, None),
        "closedByPullRequestsReferences": linked(question, issue, None)?,
    }))
}

/// Open pull requests that say they close the issue.
pub(crate) fn linked(
    question: &Question<'_>,
    issue: &Issue,
    after: Option<&str>,
) -> SimResult<Value> {
    let world = question.world;
    let linked = world.linked_prs(&question.key, issue.number)?.into_iter();
    let all: Vec<Value> = linked
        .map(|(found, pr)| linked_pr(question, found, pr))
        .collect();
    Ok(page(question, &all, 50, after))
}

/// A pull request as a line.
pub(crate) fn linked_pr(question: &Question<'_>, found: &Issue, pr: &Pr) -> Value {
    json!({
        "number": found.number,
        "url": question.world.web_url(&question.key, found),
        "headRefName": pr.head_ref,
        "headRepository": head_repository(question, pr),
    })
}

pub(crate) fn head_repository(question: &Question<'_>, pr: &Pr) -> Value {
    let repo = question.world.repo(&pr.head_repo).ok();
    repo.map_or(Value::Null, |repo| json!({ "databaseId": repo.id }))
}

/// Newest first, as GitHub lists them.
pub(crate) fn edits(question: &Question<'_>, issue: &Issue, after: Option<&str>) -> Value {
    let node = |edit: &Edit| {
        json!({
            "id": edit.id,
            "editedAt": time(edit.at),
            "diff": edit.text,
            "editor": actor(question, &edit.editor),
        })
    };
    let all: Vec<Value> = issue.edits.iter().rev().map(node).collect();
    page(question, &all, 100, after)
}

pub(crate) fn timeline(question: &Question<'_>, issue: &Issue, after: Option<&str>) -> Value {
    let node = |event: &Event| {
        let (at, actor) = (time(event.at), actor(question, &event.actor));
        match &event.what {
            Happened::Renamed => {
                json!({ "__typename": "RenamedTitleEvent", "createdAt": at, "actor": actor })
            }
            Happened::Labelled(label) => json!({
                "__typename": "LabeledEvent",
                "createdAt": at,
                "actor": actor,
                "label": { "name": label },
            }),
        }
    };
    let all: Vec<Value> = issue.timeline.iter().map(node).collect();
    page(question, &all, 100, after)
}

pub(crate) fn comments(question: &Question<'_>, issue: &Issue, after: Option<&str>) -> Value {
    let url = question.world.web_url(&question.key, issue);
    let node = |comment: &Comment| {
        let editor = comment
            .edited
            .as_ref()
            .map_or(Value::Null, |(_, by)| actor(question, by));
        json!({
            "id": comment.node_id(),
            "databaseId": comment.id,
            "body": comment.body,
            "createdAt": time(comment.created_at),
            "lastEditedAt": comment.edited.as_ref().map(|(at, _)| time(*at)),
            "url": format!("{url}#issuecomment-{}", comment.id),
            "authorAssociation": association(question, &comment.author),
            "author": actor(question, &comment.author),
            "editor": editor,
        })
    };
    let all: Vec<Value> = issue.comments.iter().map(node).collect();
    page(question, &all, 100, after)
}

/// The end of the comments, with the word whether there are older ones.
pub(crate) fn newest_comments(question: &Question<'_>, issue: &Issue, last: usize) -> Value {
    let older = issue.comments.len().saturating_sub(last);
    let cut = Issue {
        comments: issue.comments.iter().skip(older).cloned().collect(),
        ..issue.clone()
    };
    let mut shown = comments(question, &cut, None);
    shown["pageInfo"] = json!({
        "hasNextPage": false, "endCursor": null, "hasPreviousPage": older > 0,
    });
    shown
}

/// Pull requests whose head branch has the asked name, oldest first.
pub(crate) fn prs(question: &Question<'_>, after: Option<&str>) -> SimResult<Value> {
    let branch = question.text("branch").unwrap_or_default();
    let mut all = Vec::new();
    for issue in question.repo()?.issues.values() {
        if let Some(pr) = &issue.pr
            && pr.head_ref == branch
        {
            all.push(pull(question, issue, pr)?);
        }
    }
    Ok(page(question, &all, 50, after))
}

fn pull(question: &Question<'_>, issue: &Issue, pr: &Pr) -> SimResult<Value> {
    let world = question.world;
    let (state, merged_at, merge_commit) = match &pr.standing {
        PrStanding::Open => ("OPEN", None, None),
        PrStanding::Closed => ("CLOSED", None, None),
        PrStanding::Merged(sha, at, _) => ("MERGED", Some(time(*at)), Some(json!({ "oid": sha }))),
    };
    Ok(json!({
        "id": issue.node_id(),
        "number": issue.number,
        "state": state,
        "isDraft": pr.draft,
        "headRefName": pr.head_ref,
        "headRefOid": pr.head_sha,
        "headRepository": head_repository(question, pr),
        "baseRefName": pr.base_ref,
        "mergeable": match world.merges(&question.key, pr)? {
            Merges::Cleanly => "MERGEABLE",
            Merges::WithConflicts => "CONFLICTING",
            Merges::NotAsked => "UNKNOWN",
        },
        "mergeStateStatus": world.merge_state(&question.key, issue, pr)?,
        "reviewDecision": world.review_decision(&question.key, issue, pr),
        "isMergeQueueEnabled": question.repo()?.protection_of(&pr.base_ref).merge_queue,
        "mergeQueueEntry": world
            .place_in_queue(&question.key, issue.number)?
            .map(|position| json!({ "position": position })),
        "url": world.web_url(&question.key, issue),
        "createdAt": time(issue.created_at),
        "mergedAt": merged_at,
        "mergeCommit": merge_commit,
        "author": actor(question, &issue.author),
        // Nobody asks whether there are more.
        "assignees": { "nodes": logins(issue) },
        "reviews": reviews(question, pr, None),
        "statusCheckRollup": rollup(question, &pr.head_sha, None)?,
    }))
}

pub(crate) fn reviews(question: &Question<'_>, pr: &Pr, after: Option<&str>) -> Value {
    let node = |review: &Review| {
        json!({
            "state": review.state,
            "body": review.body,
            "submittedAt": time(review.at),
            "authorAssociation": association(question, &review.author),
            "author": actor(question, &review.author),
            "commit": { "oid": review.commit },
        })
    };
    let all: Vec<Value> = pr.reviews.iter().map(node).collect();
    page(question, &all, 100, after)
}

/// A commit with its checks; nothing if there is no such commit.
pub(crate) fn checked(question: &Question<'_>, sha: &str) -> SimResult<Value> {
    if repo_git::commit(&question.repo()?.path, sha)?.is_none() {
        return Ok(Value::Null);
    }
    Ok(json!({ "oid": sha, "statusCheckRollup": rollup(question, sha, None)? }))
}

/// The checks of a commit; GitHub has no rollup at all where there are none.
pub(crate) fn rollup(question: &Question<'_>, sha: &str, after: Option<&str>) -> SimResult<Value> {
    let repo = question.repo()?;
    let runs = repo
        .checks
        .iter()
        .filter(|check| check.sha == sha)
        .map(|check| {
            json!({
                "__typename": "CheckRun",
                "databaseId": check.id,
                "name": check.name,
                "status": check.status.to_uppercase(),
                "conclusion": check.conclusion.as_ref().map(|word| word.to_uppercase()),
                "completedAt": check.completed_at.map(time),
                "detailsUrl": check_url(question.world, repo, check),
                "checkSuite": {
                    "app": { "databaseId": check.app },
                    "workflowRun": check.run().map(|run| json!({ "databaseId": run })),
                },
            })
        });
    let statuses = repo
        .statuses
        .iter()
        .filter(|status| status.sha == sha)
        .map(|status| {
            json!({
                "__typename": "StatusContext",
                "context": status.context,
                "state": status.state.to_uppercase(),
                "description": status.description,
                "targetUrl": null,
            })
        });
    let all: Vec<Value> = runs.chain(statuses).collect();
    if all.is_empty() {
        return Ok(Value::Null);
    }
    Ok(json!({ "contexts": page(question, &all, 100, after) }))
}
