//! GraphQL's reads, by the name of the operation and its variables: the shape of the answer is that of the
//! documents the adapter sends, whose text is not parsed.

use serde_json::{Map, Value, json};

use super::super::error::{SimError, SimResult};
use super::super::faults::Op;
use super::super::model::{Access, Repo};
use super::super::repo_git;
use super::super::world::{Ctx, World};
use super::call::{Call, Reply};
use super::graphql_board as board;
use super::graphql_nodes as nodes;
use super::json::time;
use crate::ports::Refusal;

pub(crate) fn op_of(name: &str) -> Op {
    match name {
        "Look" => Op::Look,
        "Board" | "PrSummary" => Op::Read,
        "Facts" => Op::Facts,
        "Leases" | "LeaseRefs" => Op::Leases,
        "TipChecks" => Op::Checks,
        "SwapRefs" => Op::SwapRefs,
        "Enqueue" => Op::MergePr,
        "WriteState" | "WriteAndClose" => Op::UpdateIssue,
        _ if name.ends_with("Page") => Op::Page,
        _ => Op::Other,
    }
}

/// Who asks for what: the variables and the repository they name.
pub(crate) struct Question<'a> {
    pub(crate) world: &'a World,
    pub(crate) call: &'a Call,
    pub(crate) key: String,
}

impl<'a> Question<'a> {
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.call.body.get("variables")?.get(name)?.as_str()
    }

    pub(crate) fn number(&self, name: &str) -> SimResult<u64> {
        let number = self
            .call
            .body
            .get("variables")
            .and_then(|all| all.get(name));
        let wrong = || {
            SimError::invalid(format!(
                "Variable ${name} of type Int! was provided invalid value"
            ))
        };
        number.and_then(Value::as_u64).ok_or_else(wrong)
    }

    pub(crate) fn ctx(&self) -> Ctx<'_> {
        Ctx {
            key: &self.key,
            login: &self.call.login,
            now: self.call.now,
        }
    }

    pub(crate) fn repo(&self) -> SimResult<&'a Repo> {
        let world = self.world;
        world.may_read(&self.ctx())?;
        world.repo(&self.key)
    }

    /// Where the page that is asked for begins.
    pub(crate) fn after(&self) -> Option<&'a str> {
        self.text("after").or_else(|| self.text("cursor"))
    }
}

pub(crate) fn answer(world: &World, call: &Call, name: &str) -> Reply {
    let mut question = Question {
        world,
        call,
        key: String::new(),
    };
    let part = |name| question.text(name).unwrap_or_default().to_owned();
    let repo = question.text("name").or_else(|| question.text("repo"));
    question.key = format!("{}/{}", part("owner"), repo.unwrap_or_default()).to_lowercase();
    let done = match name {
        "Look" => look(&question),
        "Board" | "BoardIssuesPage" | "BoardPrsPage" => board::board(&question, name),
        "PrSummary" => board::pr_summary(&question),
        "Facts" => facts(&question),
        "TipChecks" => tip_checks(&question),
        "Leases" => leases(&question),
        "LeaseRefs" => lease_refs(&question),
        "IssueByNumber" => issue_state(&question),
        "EditsPage" | "TimelinePage" | "CommentsPage" | "LinkedPage" => issue_page(&question, name),
        "ReviewsPage" | "ChecksPage" | "PrsPage" => pr_page(&question, name),
        _ => {
            let words = format!("No operation named \"{name}\"");
            return Reply::new(200, json!({ "errors": [{ "message": words }] }));
        }
    };
    done.unwrap_or_else(|error| {
        let words = if error.refusal == Refusal::NotFound {
            let key = &question.key;
            format!("Could not resolve to a Repository with the name '{key}'.")
        } else {
            error.message.clone()
        };
        let mut data = json!({ "repository": null });
        if name == "Facts" {
            data["viewer"] = json!({ "login": call.login });
        }
        failed(&data, &error, &words, &json!(["repository"]))
    })
}

/// An answer with one error.
pub(crate) fn failed(data: &Value, error: &SimError, words: &str, path: &Value) -> Reply {
    let errors = [error_entry(error, words, path)];
    Reply::new(200, json!({ "data": data, "errors": errors }))
}

/// An entry of `errors`.
pub(crate) fn error_entry(error: &SimError, words: &str, path: &Value) -> Value {
    let kind = match error.refusal {
        Refusal::NotFound => "NOT_FOUND",
        Refusal::Stale => "STALE_DATA",
        Refusal::Unauthorised
        | Refusal::Forbidden
        | Refusal::NoContentsWrite
        | Refusal::RepositoryArchived => "FORBIDDEN",
        Refusal::Exists
        | Refusal::Invalid
        | Refusal::RepositoryEmpty
        | Refusal::RefsRestricted
        | Refusal::Local => "UNPROCESSABLE",
    };
    json!({
        "type": kind,
        "path": path,
        "locations": [{ "line": 2, "column": 3 }],
        "message": words,
    })
}

/// What `gh issue view N --json state` asks (gh 2.23), with a document of its own.
fn issue_state(question: &Question<'_>) -> SimResult<Reply> {
    let number = question.number("number")?;
    let repo = question.repo()?;
    let issue = repo.issues.get(&number).ok_or_else(SimError::not_found)?;
    let (kind, state) = match (&issue.pr, issue.open) {
        (None, true) => ("Issue", "OPEN"),
        (None, false) => ("Issue", "CLOSED"),
        (Some(_), true) => ("PullRequest", "OPEN"),
        (Some(_), false) => ("PullRequest", "CLOSED"),
    };
    Ok(good(&json!({
        "hasIssuesEnabled": true,
        "issue": { "__typename": kind, "state": state, "id": format!("I_{number}") },
    })))
}

pub(crate) fn good(repository: &Value) -> Reply {
    Reply::new(200, json!({ "data": { "repository": repository } }))
}

fn facts(question: &Question<'_>) -> SimResult<Reply> {
    let repo = question.repo()?;
    let tip = question.world.tip(&question.key)?;
    let permission = match question.world.access(&question.key, &question.call.login) {
        Access::None => Value::Null,
        Access::Read => json!("READ"),
        Access::Write => json!("WRITE"),
        Access::Admin => json!("ADMIN"),
    };
    let data = json!({
        "viewer": { "login": question.call.login },
        "repository": {
            "id": repo.node_id(),
            "databaseId": repo.id,
            "nameWithOwner": repo.slug.to_string(),
            "isArchived": repo.archived,
            "isEmpty": tip.is_none(),
            "viewerPermission": permission,
            "defaultBranchRef": tip.map(|_| json!({ "name": repo.default_branch })),
        },
    });
    Ok(Reply::new(200, json!({ "data": data })))
}

/// Fills in `r0`, `r1`, … : one for each variable of such a name.
fn fill_refs(question: &Question<'_>, into: &mut Map<String, Value>) -> SimResult<()> {
    let path = &question.repo()?.path;
    for index in 0.. {
        let alias = format!("r{index}");
        let Some(name) = question.text(&alias) else {
            break;
        };
        let found = match question.world.ref_id(&question.key, name)? {
            Some(sha) => json!({ "target": target(path, &sha)? }),
            None => Value::Null,
        };
        into.insert(alias, found);
    }
    Ok(())
}

fn target(path: &std::path::Path, sha: &str) -> SimResult<Value> {
    Ok(match repo_git::commit(path, sha)? {
        Some(commit) => json!({
            "oid": sha,
            "message": commit.message,
            "committedDate": time(commit.date),
        }),
        None => json!({ "oid": sha }),
    })
}

fn leases(question: &Question<'_>) -> SimResult<Reply> {
    let mut shape = Map::new();
    shape.insert("id".to_owned(), json!(question.repo()?.node_id()));
    fill_refs(question, &mut shape)?;
    Ok(good(&Value::Object(shape)))
}

fn tip_checks(question: &Question<'_>) -> SimResult<Reply> {
    let name = question.text("base").unwrap_or_default();
    let base = match question.world.ref_id(&question.key, name)? {
        Some(sha) => json!({ "target": nodes::checked(question, &sha)? }),
        None => Value::Null,
    };
    Ok(good(&json!({ "base": base })))
}

fn lease_refs(question: &Question<'_>) -> SimResult<Reply> {
    let (repo, world) = (question.repo()?, question.world);
    let prefix = question.text("prefix").unwrap_or_default();
    let mut found = Vec::new();
    for (name, sha) in world.refs(&question.key)? {
        if let Some(short) = name.strip_prefix(prefix) {
            let target = target(&repo.path, &sha)?;
            found.push(json!({ "name": short, "prefix": prefix, "target": target }));
        }
    }
    let tip = match world.tip(&question.key)? {
        Some(sha) => base(repo, &sha)?,
        None => Value::Null,
    };
    Ok(good(&json!({
        "id": repo.node_id(),
        "defaultBranchRef": tip,
        "refs": nodes::page(question, &found, 100, question.after()),
    })))
}

/// A branch with its commit's tree.
pub(crate) fn base(repo: &Repo, sha: &str) -> SimResult<Value> {
    let tree = repo_git::commit(&repo.path, sha)?.map(|commit| json!({ "oid": commit.tree }));
    Ok(json!({ "target": { "oid": sha, "tree": tree } }))
}

fn look(question: &Question<'_>) -> SimResult<Reply> {
    let (repo, world) = (question.repo()?, question.world);
    let number = question.number("issue")?;
    let issue = repo.issues.get(&number).filter(|issue| issue.pr.is_none());
    let mut shape = Map::new();
    let node = match issue {
        Some(issue) => nodes::issue(question, issue)?,
        None => Value::Null,
    };
    shape.insert("issue".to_owned(), node);
    shape.insert("pullRequests".to_owned(), nodes::prs(question, None)?);
    // Written `base: ref(qualifiedName: $base)`: a short name is looked up among the branches.
    let asked = question.text("base").unwrap_or_default();
    let full = if asked.starts_with("refs/") {
        asked.to_owned()
    } else {
        format!("refs/heads/{asked}")
    };
    let tip = match world.ref_id(&question.key, &full)? {
        Some(sha) => base(repo, &sha)?,
        None => Value::Null,
    };
    shape.insert("base".to_owned(), tip);
    let with_merge = question.call.body["variables"]["withMerge"].as_bool() == Some(true);
    if with_merge {
        let sha = question.text("merge").unwrap_or_default();
        shape.insert("mergeCommit".to_owned(), nodes::checked(question, sha)?);
    }
    fill_refs(question, &mut shape)?;
    if issue.is_some() {
        return Ok(good(&Value::Object(shape)));
    }
    let words = format!("Could not resolve to an Issue with the number of {number}.");
    let data = json!({ "repository": shape });
    Ok(failed(
        &data,
        &SimError::not_found(),
        &words,
        &json!(["repository", "issue"]),
    ))
}

fn issue_page(question: &Question<'_>, name: &str) -> SimResult<Reply> {
    let number = question.number("issue")?;
    let Some(issue) = question
        .repo()?
        .issues
        .get(&number)
        .filter(|issue| issue.pr.is_none())
    else {
        let words = format!("Could not resolve to an Issue with the number of {number}.");
        let data = json!({ "repository": { "issue": null } });
        return Ok(failed(
            &data,
            &SimError::not_found(),
            &words,
            &json!(["repository", "issue"]),
        ));
    };
    let after = question.after();
    let list = match name {
        "EditsPage" => json!({ "userContentEdits": nodes::edits(question, issue, after) }),
        "TimelinePage" => json!({ "timelineItems": nodes::timeline(question, issue, after) }),
        "LinkedPage" => {
            let linked = nodes::linked(question, issue, after)?;
            json!({ "closedByPullRequestsReferences": linked })
        }
        _ => json!({ "comments": nodes::comments(question, issue, after) }),
    };
    Ok(good(&json!({ "issue": list })))
}

fn pr_page(question: &Question<'_>, name: &str) -> SimResult<Reply> {
    question.repo()?;
    let after = question.after();
    Ok(good(&match name {
        "PrsPage" => json!({ "pullRequests": nodes::prs(question, after)? }),
        "ReviewsPage" => {
            let (_, pr) = question.world.pr(&question.key, question.number("pr")?)?;
            json!({ "pullRequest": { "reviews": nodes::reviews(question, pr, after) } })
        }
        _ => {
            let sha = question
                .text("commit")
                .or_else(|| question.text("sha"))
                .unwrap_or_default();
            let rollup = nodes::rollup(question, sha, after)?;
            json!({ "object": { "statusCheckRollup": rollup } })
        }
    }))
}
