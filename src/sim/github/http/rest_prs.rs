//! REST: pull requests, reviews, check runs.

use serde_json::{Value, json};

use super::super::error::{SimError, SimResult};
use super::super::issues::IssuePatch;
use super::super::look::check_url;
use super::super::merge::MergeOrder;
use super::super::model::{Issue, Pr, PrStanding, Repo, Review};
use super::super::prs::{Merges, PrDraft};
use super::super::repo_git;
use super::super::world::World;
use super::call::{Call, Reply};
use super::json::{self, time};
use crate::ports::github::MergeMethod;

fn side(world: &World, call: &Call, repo: &Repo, at: (&str, &str)) -> Value {
    json!({
        "label": format!("{}:{}", repo.slug.owner, at.0),
        "ref": at.0,
        "sha": at.1,
        "user": json::user(world, call, &repo.slug.owner),
        "repo": json::repository(world, call, repo),
    })
}

fn links(urls: &[(&str, &Value)]) -> Value {
    let mut links = json!({});
    for (name, url) in urls {
        links[*name] = json!({ "href": url });
    }
    links
}

/// `pull-request`, which is also `pull-request-simple`.
fn shape(world: &World, call: &Call, number: u64) -> SimResult<Value> {
    let (issue, pr) = world.pr(&call.key, number)?;
    let repo = world.repo(&call.key)?;
    let api = format!("{}/repos/{}", call.api, repo.slug);
    let (url, web) = (
        format!("{api}/pulls/{number}"),
        world.web_url(&call.key, issue),
    );
    let base = world
        .ref_id(&call.key, &format!("refs/heads/{}", pr.base_ref))?
        .unwrap_or_default();
    let mut shape = Value::Object(json::common(world, call, issue)?);
    let addresses = [
        ("url", url.clone()),
        ("diff_url", format!("{web}.diff")),
        ("patch_url", format!("{web}.patch")),
        ("issue_url", format!("{api}/issues/{number}")),
        ("commits_url", format!("{url}/commits")),
        ("review_comments_url", format!("{url}/comments")),
        (
            "review_comment_url",
            format!("{api}/pulls/comments{{/number}}"),
        ),
        ("comments_url", format!("{api}/issues/{number}/comments")),
        ("statuses_url", format!("{api}/statuses/{}", pr.head_sha)),
    ];
    for (name, address) in addresses {
        shape[name] = json!(address);
    }
    shape["_links"] = links(&[
        ("self", &shape["url"]),
        ("html", &shape["html_url"]),
        ("issue", &shape["issue_url"]),
        ("comments", &shape["comments_url"]),
        ("review_comments", &shape["review_comments_url"]),
        ("review_comment", &shape["review_comment_url"]),
        ("commits", &shape["commits_url"]),
        ("statuses", &shape["statuses_url"]),
    ]);
    let head_repo = world.repo(&pr.head_repo)?;
    shape["head"] = side(world, call, head_repo, (&pr.head_ref, &pr.head_sha));
    shape["base"] = side(world, call, repo, (&pr.base_ref, &base));
    shape["draft"] = json!(pr.draft);
    shape["requested_reviewers"] = json!([]);
    shape["requested_teams"] = json!([]);
    shape["auto_merge"] = Value::Null;
    shape["maintainer_can_modify"] = json!(false);
    for name in ["review_comments", "additions", "deletions", "changed_files"] {
        shape[name] = json!(0);
    }
    let commits = repo_git::commits_between(&repo.path, Some(&base), &pr.head_sha);
    shape["commits"] = json!(commits.map_or(0, |commits| commits.len()));
    standing(world, call, (issue, pr), &mut shape)?;
    Ok(shape)
}

fn standing(
    world: &World,
    call: &Call,
    (issue, pr): (&Issue, &Pr),
    shape: &mut Value,
) -> SimResult<()> {
    let verdict = world.merges(&call.key, pr)?;
    let decision = world.review_decision(&call.key, issue, pr);
    shape["mergeable"] = match verdict {
        Merges::Cleanly => json!(true),
        Merges::WithConflicts => json!(false),
        Merges::NotAsked => Value::Null,
    };
    shape["mergeable_state"] = json!(match verdict {
        Merges::WithConflicts => "dirty",
        Merges::NotAsked => "unknown",
        Merges::Cleanly if pr.draft => "draft",
        Merges::Cleanly if matches!(decision, None | Some("APPROVED")) => "clean",
        Merges::Cleanly => "blocked",
    });
    let (merged, sha, at, by) = match &pr.standing {
        PrStanding::Merged(sha, at, by) => (
            true,
            json!(sha),
            json!(time(*at)),
            json::user(world, call, by),
        ),
        PrStanding::Open | PrStanding::Closed => (false, Value::Null, Value::Null, Value::Null),
    };
    shape["merged"] = json!(merged);
    shape["merge_commit_sha"] = sha;
    shape["merged_at"] = at;
    shape["merged_by"] = by;
    Ok(())
}

pub(crate) fn list(world: &World, call: &Call) -> SimResult<Reply> {
    let repo = world.may_read(&call.ctx())?;
    let state = call.param("state").unwrap_or("open");
    let mut found = Vec::new();
    for issue in repo.issues.values().rev() {
        let Some(pr) = &issue.pr else { continue };
        let owner = world
            .repo(&pr.head_repo)
            .map(|repo| repo.slug.owner.clone())?;
        let wanted = (state == "all" || (state == "open") == issue.open)
            && call.param("base").is_none_or(|base| base == pr.base_ref)
            && call
                .param("head")
                .is_none_or(|head| head == format!("{owner}:{}", pr.head_ref));
        if wanted {
            found.push(shape(world, call, issue.number)?);
        }
    }
    Ok(call.page(&found))
}

pub(crate) fn open(world: &mut World, call: &Call) -> SimResult<Reply> {
    let text = |field| call.text(field).unwrap_or_default();
    let draft = PrDraft {
        title: text("title"),
        body: text("body"),
        head: text("head"),
        base: text("base"),
        draft: call
            .body
            .get("draft")
            .and_then(Value::as_bool)
            .unwrap_or(false),
    };
    let number = world.open_pr(&call.ctx(), draft)?;
    Ok(Reply::new(201, shape(world, call, number)?))
}

pub(crate) fn pull(world: &World, call: &Call) -> SimResult<Reply> {
    world.may_read(&call.ctx())?;
    Ok(Reply::new(200, shape(world, call, call.number(2)?)?))
}

pub(crate) fn patch(world: &mut World, call: &Call) -> SimResult<Reply> {
    let number = call.number(2)?;
    world.pr(&call.key, number)?;
    let patch = IssuePatch {
        title: call.text("title"),
        body: call.text("body"),
        open: call.text("state").map(|state| state == "open"),
        ..IssuePatch::default()
    };
    world.patch_issue(&call.ctx(), number, &patch)?;
    Ok(Reply::new(200, shape(world, call, number)?))
}

pub(crate) fn merge(world: &mut World, call: &Call) -> SimResult<Reply> {
    let order = MergeOrder {
        method: match call.text("merge_method").as_deref() {
            Some("squash") => MergeMethod::Squash,
            Some("rebase") => MergeMethod::Rebase,
            Some("merge") | None => MergeMethod::Merge,
            Some(_) => return Err(SimError::invalid("Invalid merge method")),
        },
        expected_head: call.text("sha"),
        title: call.text("commit_title"),
        message: call.text("commit_message"),
    };
    let sha = world.merge_pr(&call.ctx(), call.number(2)?, &order)?;
    let words = "Pull Request successfully merged";
    Ok(Reply::new(
        200,
        json!({ "sha": sha, "merged": true, "message": words }),
    ))
}

pub(crate) fn update_branch(world: &mut World, call: &Call) -> SimResult<Reply> {
    let number = call.number(2)?;
    let expected = call.text("expected_head_sha");
    world.update_branch(&call.ctx(), number, expected.as_deref())?;
    let url = world.web_url(&call.key, world.issue(&call.key, number)?);
    Ok(Reply::new(
        202,
        json!({ "message": "Updating pull request branch.", "url": url }),
    ))
}

fn review_shape(world: &World, call: &Call, number: u64, review: &Review) -> SimResult<Value> {
    let repo = world.repo(&call.key)?;
    let web = world.web_url(&call.key, world.issue(&call.key, number)?);
    let html = format!("{web}#pullrequestreview-{}", review.id);
    let pull = format!("{}/repos/{}/pulls/{number}", call.api, repo.slug);
    Ok(json!({
        "id": review.id,
        "node_id": format!("PRR_{}", review.id),
        "user": json::user(world, call, &review.author),
        "body": review.body,
        "state": review.state,
        "html_url": html,
        "pull_request_url": pull,
        "_links": { "html": { "href": html }, "pull_request": { "href": pull } },
        "submitted_at": time(review.at),
        "commit_id": review.commit,
        "author_association": world.association(&call.key, &review.author),
    }))
}

pub(crate) fn reviews(world: &World, call: &Call) -> SimResult<Reply> {
    world.may_read(&call.ctx())?;
    let number = call.number(2)?;
    let reviews = world.pr(&call.key, number)?.1.reviews.iter();
    let shapes: SimResult<Vec<Value>> = reviews
        .map(|review| review_shape(world, call, number, review))
        .collect();
    Ok(call.page(&shapes?))
}

pub(crate) fn review(world: &mut World, call: &Call) -> SimResult<Reply> {
    let number = call.number(2)?;
    let state = match call.text("event").as_deref() {
        Some("APPROVE") => "APPROVED",
        Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
        _ => "COMMENTED",
    };
    let id = world.review(
        &call.ctx(),
        number,
        state,
        &call.text("body").unwrap_or_default(),
    )?;
    let reviews = world.pr(&call.key, number)?.1.reviews.iter();
    let made = reviews
        .clone()
        .find(|review| review.id == id)
        .ok_or_else(SimError::not_found)?;
    Ok(Reply::new(200, review_shape(world, call, number, made)?))
}

pub(crate) fn check_runs(world: &World, call: &Call) -> SimResult<Reply> {
    let repo = world.may_read(&call.ctx())?;
    let named = call.part(2);
    let sha = match world.ref_id(&call.key, &format!("refs/heads/{named}"))? {
        Some(sha) => sha,
        None => named.to_owned(),
    };
    let runs: Vec<Value> = repo
        .checks
        .iter()
        .filter(|check| check.sha == sha)
        .map(|check| {
            let url = format!("{}/repos/{}/check-runs/{}", call.api, repo.slug, check.id);
            json!({
                "id": check.id,
                "node_id": format!("CR_{}", check.id),
                "head_sha": check.sha,
                "external_id": "",
                "url": url,
                "html_url": check_url(world, repo, check),
                "details_url": check_url(world, repo, check),
                "status": check.status,
                "conclusion": check.conclusion,
                "started_at": time(check.started_at),
                "completed_at": check.completed_at.map(time),
                "output": {
                    "title": null,
                    "summary": check.output,
                    "text": null,
                    "annotations_count": 0,
                    "annotations_url": format!("{url}/annotations"),
                },
                "name": check.name,
                "check_suite": { "id": check.id },
                "app": null,
                "pull_requests": [],
            })
        })
        .collect();
    Ok(Reply::new(
        200,
        json!({ "total_count": runs.len(), "check_runs": runs }),
    ))
}
