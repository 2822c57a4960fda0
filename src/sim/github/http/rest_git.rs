//! REST: commits and refs.

use serde_json::{Value, json};

use super::super::error::{SimError, SimResult};
use super::super::model::Repo;
use super::super::repo_git;
use super::super::world::World;
use super::call::{Call, Reply};
use super::json;
use crate::ports::Refusal;

pub(crate) fn create_commit(world: &mut World, call: &Call) -> SimResult<Reply> {
    let message = call
        .text("message")
        .ok_or_else(|| SimError::invalid("Invalid request.\n\n\"message\" wasn't supplied."))?;
    let tree = call
        .text("tree")
        .ok_or_else(|| SimError::invalid("Invalid request.\n\n\"tree\" wasn't supplied."))?;
    let parents = call.texts("parents").unwrap_or_default();
    let info = world.new_commit(&call.ctx(), &message, &tree, &parents)?;
    Ok(Reply::new(201, json::commit(world, call, &info)?))
}

pub(crate) fn commit(world: &World, call: &Call) -> SimResult<Reply> {
    let path = &world.may_read(&call.ctx())?.path;
    let info = repo_git::commit(path, call.part(2))?.ok_or_else(SimError::not_found)?;
    Ok(Reply::new(200, json::commit(world, call, &info)?))
}

pub(crate) fn create_ref(world: &mut World, call: &Call) -> SimResult<Reply> {
    let name = call.text("ref").unwrap_or_default();
    let sha = call.text("sha").unwrap_or_default();
    world.may_write_refs_by_rest(&call.ctx())?;
    world.create_ref(&call.ctx(), &name, &sha)?;
    let repo = world.repo(&call.key)?;
    Ok(Reply::new(201, json::git_ref(call, repo, &name, &sha)))
}

pub(crate) fn one_ref(world: &World, call: &Call) -> SimResult<Reply> {
    let repo = world.may_read(&call.ctx())?;
    if world.tip(&call.key)?.is_none() {
        return Err(SimError::new(
            409,
            Refusal::RepositoryEmpty,
            "Git Repository is empty.",
        ));
    }
    let name = format!("refs/{}", call.part(2));
    let sha = world
        .ref_id(&call.key, &name)?
        .ok_or_else(SimError::not_found)?;
    Ok(Reply::new(200, json::git_ref(call, repo, &name, &sha)))
}

pub(crate) fn matching_refs(world: &World, call: &Call) -> SimResult<Reply> {
    let repo = world.may_read(&call.ctx())?;
    let front = format!("refs/{}", call.part(2));
    let refs = world.refs(&call.key)?;
    let found: Vec<Value> = refs
        .iter()
        .filter(|(name, _)| name.starts_with(&front))
        .map(|(name, sha)| json::git_ref(call, repo, name, sha))
        .collect();
    // Whole, as GitHub documents it; in pages for those who ask for pages.
    if call.param("per_page").is_some() {
        return Ok(call.page(&found));
    }
    Ok(Reply::new(200, json!(found)))
}

/// `GET commits/{ref}` as far as its commit: a branch, `HEAD` or a sha.
pub(crate) fn commit_of(world: &World, call: &Call) -> SimResult<Reply> {
    let repo = world.may_read(&call.ctx())?;
    let named = match call.part(2) {
        "HEAD" => repo.default_branch.as_str(),
        other => other,
    };
    let sha = match world.ref_id(&call.key, &format!("refs/heads/{named}"))? {
        Some(sha) => sha,
        None => named.to_owned(),
    };
    let info = repo_git::commit(&repo.path, &sha)?
        .ok_or_else(|| SimError::invalid(format!("No commit found for SHA: {named}")))?;
    Ok(Reply::new(200, whole(world, call, repo, &info)?))
}

/// A commit as REST shows it outside of `git/`.
pub(crate) fn whole(
    world: &World,
    call: &Call,
    repo: &Repo,
    info: &repo_git::CommitInfo,
) -> SimResult<Value> {
    let whole = json::commit(world, call, info)?;
    let mut inner = whole.clone();
    for outside in ["sha", "node_id", "html_url", "parents"] {
        inner.as_object_mut().map(|fields| fields.remove(outside));
    }
    inner["comment_count"] = json!(0);
    Ok(json!({
        "sha": info.sha,
        "node_id": whole["node_id"],
        "url": format!("{}/repos/{}/commits/{}", call.api, repo.slug, info.sha),
        "html_url": whole["html_url"],
        "comments_url": format!("{}/repos/{}/commits/{}/comments", call.api, repo.slug, info.sha),
        "commit": inner,
        "author": null,
        "committer": null,
        "parents": whole["parents"],
    }))
}

pub(crate) fn patch_ref(world: &mut World, call: &Call) -> SimResult<Reply> {
    let name = format!("refs/{}", call.part(2));
    let sha = call.text("sha").unwrap_or_default();
    let force = call
        .body
        .get("force")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    world.may_write_refs_by_rest(&call.ctx())?;
    world.patch_ref(&call.ctx(), (&name, &sha), force)?;
    let repo = world.repo(&call.key)?;
    Ok(Reply::new(200, json::git_ref(call, repo, &name, &sha)))
}

pub(crate) fn delete_ref(world: &mut World, call: &Call) -> SimResult<Reply> {
    world.may_write_refs_by_rest(&call.ctx())?;
    world.delete_ref(&call.ctx(), &format!("refs/{}", call.part(2)))?;
    Ok(Reply::new(204, Value::Null))
}
