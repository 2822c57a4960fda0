//! The shapes that many REST answers share. Every field is there that GitHub's `OpenAPI` file requires.

use serde_json::{Map, Value, json};

use super::super::error::SimResult;
use super::super::model::{Access, Comment, Issue, Label, PrStanding, Repo};
use super::super::repo_git::CommitInfo;
use super::super::world::World;
use super::call::Call;
use super::call::encode;
use crate::model::ids::Timestamp;

pub(crate) fn time(at: Timestamp) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `simple-user`; a deleted account is shown as `ghost`.
pub(crate) fn user(world: &World, call: &Call, login: &str) -> Value {
    let (login, id) = match world.user(login) {
        Some(user) => (user.login.as_str(), user.id),
        None => ("ghost", 10_137),
    };
    let bot = login.ends_with("[bot]");
    let url = format!("{}/users/{}", call.api, encode(login));
    let mut shape = json!({
        "login": login,
        "id": id,
        "node_id": format!("U_{id}"),
        "avatar_url": format!("https://avatars.githubusercontent.com/u/{id}?v=4"),
        "gravatar_id": "",
        "url": url,
        "html_url": format!("{}/{}", world.web(), encode(login)),
        "type": if bot { "Bot" } else { "User" },
        "user_view_type": "public",
        "site_admin": false,
    });
    let more = [
        ("followers_url", "/followers"),
        ("following_url", "/following{/other_user}"),
        ("gists_url", "/gists{/gist_id}"),
        ("starred_url", "/starred{/owner}{/repo}"),
        ("subscriptions_url", "/subscriptions"),
        ("organizations_url", "/orgs"),
        ("repos_url", "/repos"),
        ("events_url", "/events{/privacy}"),
        ("received_events_url", "/received_events"),
    ];
    for (name, rest) in more {
        shape[name] = json!(format!("{url}{rest}"));
    }
    shape
}

/// Addresses of a repository's parts, as every repository shape lists them.
const REPO_URLS: [(&str, &str); 37] = [
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    (
        "notifications_url",
        "/notifications{?since,all,participating}",
    ),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
    ("url", ""),
];

/// `full-repository`, which is also every lesser shape of one.
pub(crate) fn repository(world: &World, call: &Call, repo: &Repo) -> Value {
    let api = format!("{}/repos/{}", call.api, repo.slug);
    let web = format!("{}/{}", world.web(), repo.slug);
    let open = repo.issues.values().filter(|issue| issue.open).count();
    let access = world.access(&repo.slug.to_string().to_lowercase(), &call.login);
    let mut shape = json!({
        "id": repo.id,
        "node_id": repo.node_id(),
        "name": repo.slug.name,
        "full_name": repo.slug.to_string(),
        "owner": user(world, call, &repo.slug.owner),
        "private": repo.private,
        "html_url": web,
        "description": null,
        "fork": repo.fork_of.is_some(),
        "git_url": format!("git://github.com/{}.git", repo.slug),
        "ssh_url": format!("git@github.com:{}.git", repo.slug),
        "clone_url": format!("{web}.git"),
        "svn_url": web,
        "mirror_url": null,
        "homepage": null,
        "language": null,
        "license": null,
        "default_branch": repo.default_branch,
        "archived": repo.archived,
        "disabled": false,
        "visibility": if repo.private { "private" } else { "public" },
        "created_at": time(repo.created_at),
        "updated_at": time(repo.created_at),
        "pushed_at": time(call.now),
        "open_issues": open,
        "open_issues_count": open,
        "permissions": {
            "admin": access == Access::Admin,
            "maintain": access == Access::Admin,
            "push": access >= Access::Write,
            "triage": access >= Access::Write,
            "pull": access >= Access::Read,
        },
    });
    for name in [
        "size",
        "forks",
        "forks_count",
        "stargazers_count",
        "watchers",
        "watchers_count",
        "network_count",
        "subscribers_count",
    ] {
        shape[name] = json!(0);
    }
    for name in ["has_issues", "has_projects", "has_wiki", "has_downloads"] {
        shape[name] = json!(true);
    }
    for name in ["has_pages", "has_discussions"] {
        shape[name] = json!(false);
    }
    for (name, rest) in REPO_URLS {
        shape[name] = json!(format!("{api}{rest}"));
    }
    shape
}

/// `label`.
pub(crate) fn label(call: &Call, repo: &Repo, label: &Label) -> Value {
    json!({
        "id": label.id,
        "node_id": format!("LA_{}", label.id),
        "url": format!("{}/repos/{}/labels/{}", call.api, repo.slug, encode(&label.name)),
        "name": label.name,
        "color": label.colour,
        "default": false,
        "description": label.description,
    })
}

/// The labels of an issue.
pub(crate) fn labels(call: &Call, repo: &Repo, issue: &Issue) -> Vec<Value> {
    let known = repo
        .labels
        .iter()
        .filter(|known| issue.has_label(&known.name));
    known.map(|known| label(call, repo, known)).collect()
}

fn milestone(world: &World, call: &Call, repo: &Repo, issue: &Issue) -> Value {
    let Some(title) = &issue.milestone else {
        return Value::Null;
    };
    let number = repo.milestone_number(title).unwrap_or(1);
    let api = format!("{}/repos/{}/milestones/{number}", call.api, repo.slug);
    json!({
        "id": number,
        "node_id": format!("MI_{number}"),
        "number": number,
        "url": api,
        "html_url": format!("{}/{}/milestone/{number}", world.web(), repo.slug),
        "labels_url": format!("{api}/labels"),
        "title": title,
        "description": null,
        "state": "open",
        "creator": user(world, call, &repo.slug.owner),
        "open_issues": 1,
        "closed_issues": 0,
        "created_at": time(repo.created_at),
        "updated_at": time(repo.created_at),
        "closed_at": null,
        "due_on": null,
    })
}

/// What issues and pull requests have in common.
pub(crate) fn common(world: &World, call: &Call, issue: &Issue) -> SimResult<Map<String, Value>> {
    let repo = world.repo(&call.key)?;
    let people: Vec<Value> = issue
        .assignees
        .iter()
        .map(|login| user(world, call, login))
        .collect();
    let web = world.web_url(&call.key, issue);
    let shape = json!({
        "id": issue.id,
        "node_id": issue.node_id(),
        "number": issue.number,
        "title": issue.title,
        "body": issue.body,
        "state": if issue.open { "open" } else { "closed" },
        "locked": false,
        "active_lock_reason": null,
        "user": user(world, call, &issue.author),
        "labels": labels(call, repo, issue),
        "assignee": people.first().cloned().unwrap_or(Value::Null),
        "assignees": people,
        "milestone": milestone(world, call, repo, issue),
        "comments": issue.comments.len(),
        "created_at": time(issue.created_at),
        "updated_at": time(issue.updated_at),
        "closed_at": issue.closed.as_ref().map(|(at, _)| time(*at)),
        "author_association": world.association(&call.key, &issue.author),
        "html_url": web,
    });
    Ok(shape.as_object().cloned().unwrap_or_default())
}

/// `issue`; a pull request is one, too, and says so.
pub(crate) fn issue(world: &World, call: &Call, number: u64) -> SimResult<Value> {
    let repo = world.repo(&call.key)?;
    let found = world.issue(&call.key, number)?;
    let api = format!("{}/repos/{}", call.api, repo.slug);
    let url = format!("{api}/issues/{number}");
    let mut shape = Value::Object(common(world, call, found)?);
    shape["url"] = json!(url);
    shape["repository_url"] = json!(api);
    shape["labels_url"] = json!(format!("{url}/labels{{/name}}"));
    shape["comments_url"] = json!(format!("{url}/comments"));
    shape["events_url"] = json!(format!("{url}/events"));
    shape["timeline_url"] = json!(format!("{url}/timeline"));
    shape["state_reason"] = json!(found.state_reason);
    shape["closed_by"] = match &found.closed {
        Some((_, login)) => user(world, call, login),
        None => Value::Null,
    };
    shape["performed_via_github_app"] = Value::Null;
    shape["issue_dependencies_summary"] = json!({
        "blocked_by": repo.open_blockers(found),
        "total_blocked_by": found.blocked_by.len() as u64 + found.blocked_elsewhere,
        "blocking": repo.issues.values().filter(|one| one.open && one.blocked_by.contains(&number)).count(),
        "total_blocking": repo.issues.values().filter(|one| one.blocked_by.contains(&number)).count(),
    });
    let (total, open) = (
        found.sub_issues.len(),
        repo.still_open(&found.sub_issues).count(),
    );
    shape["sub_issues_summary"] = json!({
        "total": total,
        "completed": total - open,
        "percent_completed": ((total - open) * 100).checked_div(total).unwrap_or(0),
    });
    if let Some(pr) = &found.pr {
        let web = world.web_url(&call.key, found);
        let merged_at = match &pr.standing {
            PrStanding::Merged(_, at, _) => json!(time(*at)),
            PrStanding::Open | PrStanding::Closed => Value::Null,
        };
        shape["draft"] = json!(pr.draft);
        shape["pull_request"] = json!({
            "url": format!("{api}/pulls/{number}"),
            "html_url": web,
            "diff_url": format!("{web}.diff"),
            "patch_url": format!("{web}.patch"),
            "merged_at": merged_at,
        });
    }
    Ok(shape)
}

/// `issue-comment`.
pub(crate) fn comment(
    world: &World,
    call: &Call,
    number: u64,
    comment: &Comment,
) -> SimResult<Value> {
    let repo = world.repo(&call.key)?;
    let issue = world.issue(&call.key, number)?;
    let api = format!("{}/repos/{}/issues", call.api, repo.slug);
    let changed = comment
        .edited
        .as_ref()
        .map_or(comment.created_at, |(at, _)| *at);
    Ok(json!({
        "id": comment.id,
        "node_id": comment.node_id(),
        "url": format!("{api}/comments/{}", comment.id),
        "html_url": format!("{}#issuecomment-{}", world.web_url(&call.key, issue), comment.id),
        "issue_url": format!("{api}/{number}"),
        "body": comment.body,
        "user": user(world, call, &comment.author),
        "created_at": time(comment.created_at),
        "updated_at": time(changed),
        "author_association": world.association(&call.key, &comment.author),
        "performed_via_github_app": null,
    }))
}

/// `git-commit`.
pub(crate) fn commit(world: &World, call: &Call, info: &CommitInfo) -> SimResult<Value> {
    let repo = world.repo(&call.key)?;
    let api = format!("{}/repos/{}/git", call.api, repo.slug);
    let web = format!("{}/{}/commit", world.web(), repo.slug);
    let person = |(name, email): &(String, String)| json!({ "name": name, "email": email, "date": time(info.date) });
    let parents: Vec<Value> = info
        .parents
        .iter()
        .map(|sha| {
            json!({
                "sha": sha,
                "url": format!("{api}/commits/{sha}"),
                "html_url": format!("{web}/{sha}"),
            })
        })
        .collect();
    Ok(json!({
        "sha": info.sha,
        "node_id": format!("C_{}", info.sha),
        "url": format!("{api}/commits/{}", info.sha),
        "html_url": format!("{web}/{}", info.sha),
        "author": person(&info.author),
        "committer": person(&info.committer),
        "tree": { "sha": info.tree, "url": format!("{api}/trees/{}", info.tree) },
        "message": info.message,
        "parents": parents,
        "verification": {
            "verified": false,
            "reason": "unsigned",
            "signature": null,
            "payload": null,
            "verified_at": null,
        },
    }))
}

/// `git-ref`.
pub(crate) fn git_ref(call: &Call, repo: &Repo, name: &str, sha: &str) -> Value {
    let api = format!("{}/repos/{}/git", call.api, repo.slug);
    json!({
        "ref": name,
        "node_id": format!("REF_{name}"),
        "url": format!("{api}/{name}"),
        "object": { "type": "commit", "sha": sha, "url": format!("{api}/commits/{sha}") },
    })
}
