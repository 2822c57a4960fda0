//! GraphQL's mutations, by the name of the operation and its variables. Those of one document run in
//! order, and one that is refused leaves the others as they are.

use serde_json::{Map, Value, json};

use super::super::error::{SimError, SimResult};
use super::super::issues::{IssuePatch, key_of};
use super::super::model::{Ban, Repo};
use super::super::repo_git::{Before, Move};
use super::super::world::{Ctx, World};
use super::call::{Call, Reply};
use super::graphql::error_entry;
use crate::ports::Refusal;

pub(crate) fn answer(world: &mut World, call: &Call, name: &str) -> Reply {
    if name == "SwapRefs" {
        return swap_refs(world, call);
    }
    if name == "Enqueue" {
        return answered(&[("enqueuePullRequest", enqueue(world, call))]);
    }
    let open = (name == "WriteAndClose").then_some(false);
    let issue = update_issue(world, call, open);
    let comment = update_comment(world, call);
    answered(&[("updateIssue", issue), ("updateIssueComment", comment)])
}

/// One field a mutation, null where it was refused.
fn answered(parts: &[(&str, SimResult<Value>)]) -> Reply {
    let mut data = Map::new();
    let mut errors = Vec::new();
    for (field, part) in parts {
        let value = match part {
            Ok(value) => value.clone(),
            Err(error) => {
                errors.push(error_entry(error, &error.words(), &json!([field])));
                Value::Null
            }
        };
        data.insert((*field).to_owned(), value);
    }
    let mut body = json!({ "data": data });
    if !errors.is_empty() {
        body["errors"] = json!(errors);
    }
    Reply::new(200, body)
}

fn no_node(id: &str) -> SimError {
    let words = format!("Could not resolve to a node with the global id of '{id}'");
    SimError::new(404, Refusal::NotFound, words)
}

fn text<'a>(call: &'a Call, name: &str) -> &'a str {
    call.body["variables"][name].as_str().unwrap_or_default()
}

/// The repository in which something is found, by the token that may see it and use GraphQL there.
fn place<T>(
    world: &World,
    call: &Call,
    id: &str,
    find: impl Fn(&Repo) -> Option<T>,
) -> SimResult<(String, T)> {
    let found = world
        .repos
        .values()
        .find_map(|repo| Some((repo, find(repo)?)));
    let (repo, found) = found.ok_or_else(|| no_node(id))?;
    let key = key_of(&repo.slug);
    world.may_read(&ctx(call, &key)).map_err(|_| no_node(id))?;
    if repo.bans.contains(&Ban::IssueMutations) {
        let words = "Resource not accessible by personal access token";
        return Err(SimError::new(403, Refusal::Forbidden, words));
    }
    Ok((key, found))
}

fn ctx<'a>(call: &'a Call, key: &'a str) -> Ctx<'a> {
    Ctx {
        key,
        login: &call.login,
        now: call.now,
    }
}

fn update_issue(world: &mut World, call: &Call, open: Option<bool>) -> SimResult<Value> {
    let id = text(call, "issue");
    let (key, number) = place(world, call, id, |repo| {
        let mut issues = repo.issues.values();
        let issue = issues.find(|issue| issue.pr.is_none() && issue.node_id() == id)?;
        Some(issue.number)
    })?;
    let patch = IssuePatch {
        body: Some(text(call, "body").to_owned()),
        open,
        ..IssuePatch::default()
    };
    world.patch_issue(&ctx(call, &key), number, &patch)?;
    let body = &world.issue(&key, number)?.body;
    Ok(json!({ "issue": { "body": body } }))
}

fn enqueue(world: &mut World, call: &Call) -> SimResult<Value> {
    let id = text(call, "pr");
    let (key, number) = place(world, call, id, |repo| {
        let mut issues = repo.issues.values();
        let pr = issues.find(|issue| issue.pr.is_some() && issue.node_id() == id)?;
        Some(pr.number)
    })?;
    let position = world.enqueue(&ctx(call, &key), number, Some(text(call, "head")))?;
    Ok(json!({ "mergeQueueEntry": { "position": position } }))
}

fn update_comment(world: &mut World, call: &Call) -> SimResult<Value> {
    let id = text(call, "comment");
    let (key, comment) = place(world, call, id, |repo| {
        let mut comments = repo.issues.values().flat_map(|issue| &issue.comments);
        let comment = comments.find(|comment| comment.node_id() == id)?;
        Some(comment.id)
    })?;
    world.rewrite_comment(&ctx(call, &key), comment, text(call, "text"))?;
    Ok(json!({ "issueComment": { "id": id } }))
}

fn swap_refs(world: &World, call: &Call) -> Reply {
    let variables = &call.body["variables"];
    let id = variables["repository"].as_str().unwrap_or_default();
    let repo = world.repos.values().find(|repo| repo.node_id() == id);
    let Some(repo) = repo else {
        return answered(&[("updateRefs", Err(no_node(id)))]);
    };
    if repo.bans.contains(&Ban::UpdateRefs) {
        let error = json!({
            "path": ["mutation SwapRefs", "updateRefs"],
            "extensions": { "code": "undefinedField", "typeName": "Mutation", "fieldName": "updateRefs" },
            "locations": [{ "line": 2, "column": 3 }],
            "message": "Field 'updateRefs' doesn't exist on type 'Mutation'",
        });
        return Reply::new(200, json!({ "errors": [error] }));
    }
    let key = key_of(&repo.slug);
    let ctx = Ctx {
        key: &key,
        login: &call.login,
        now: call.now,
    };
    let updates = variables["updates"].as_array().cloned().unwrap_or_default();
    let moves: Vec<Move> = updates.iter().map(move_of).collect();
    let done = world.swap(&ctx, &moves);
    let done = done.map(|()| json!({ "clientMutationId": null }));
    answered(&[("updateRefs", done)])
}

fn move_of(update: &Value) -> Move {
    let there = |oid: &str| (!oid.bytes().all(|b| b == b'0')).then(|| oid.to_owned());
    Move {
        name: update["name"].as_str().unwrap_or_default().to_owned(),
        before: match update["beforeOid"].as_str() {
            Some(oid) => there(oid).map_or(Before::Absent, Before::At),
            None => Before::Whatever,
        },
        after: update["afterOid"].as_str().and_then(there),
        force: update["force"].as_bool().unwrap_or(false),
    }
}
