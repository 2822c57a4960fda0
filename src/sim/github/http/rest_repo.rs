//! REST: the repository, its people and its labels.

use serde_json::{Value, json};

use super::super::error::{SimError, SimResult};
use super::super::model::Access;
use super::super::repo_git;
use super::super::world::World;
use super::call::{Call, Reply};
use super::{json, rest_git};

pub(crate) fn user(world: &World, call: &Call) -> SimResult<Reply> {
    world.user(&call.login).ok_or_else(SimError::not_found)?;
    let mut shape = json::user(world, call, &call.login);
    for name in [
        "name", "company", "blog", "location", "email", "hireable", "bio",
    ] {
        shape[name] = Value::Null;
    }
    for name in ["public_repos", "public_gists", "followers", "following"] {
        shape[name] = json!(0);
    }
    shape["created_at"] = json!("2020-01-01T00:00:00Z");
    shape["updated_at"] = json!("2020-01-01T00:00:00Z");
    Ok(Reply::new(200, shape))
}

pub(crate) fn repository(world: &World, call: &Call) -> SimResult<Reply> {
    let repo = world.may_read(&call.ctx())?;
    Ok(Reply::new(200, json::repository(world, call, repo)))
}

/// A branch. Whoever may read it is told which checks are required, not who may push.
pub(crate) fn branch(world: &World, call: &Call) -> SimResult<Reply> {
    let repo = world.may_read(&call.ctx())?;
    let name = call.part(2);
    let tip = world
        .ref_id(&call.key, &format!("refs/heads/{name}"))?
        .ok_or_else(SimError::not_found)?;
    let info = repo_git::commit(&repo.path, &tip)?.ok_or_else(SimError::not_found)?;
    let rules = repo.protection.get(name);
    let required = rules
        .map(|rules| rules.required.clone())
        .unwrap_or_default();
    let names: Vec<&String> = required.iter().map(|(name, _)| name).collect();
    let checks: Vec<Value> = required
        .iter()
        .map(|(name, app)| json!({ "context": name, "app_id": app }))
        .collect();
    let url = format!("{}/repos/{}/branches/{name}", call.api, repo.slug);
    Ok(Reply::new(
        200,
        json!({
            "name": name,
            "commit": rest_git::whole(world, call, repo, &info)?,
            "_links": { "self": url, "html": format!("{}/{}/tree/{name}", world.web(), repo.slug) },
            "protected": rules.is_some(),
            "protection": {
                "enabled": rules.is_some(),
                "required_status_checks": {
                    "enforcement_level": if required.is_empty() { "off" } else { "non_admins" },
                    "contexts": names,
                    "checks": checks,
                },
            },
            "protection_url": format!("{url}/protection"),
        }),
    ))
}

/// The rules that rulesets have for a branch, which need not exist.
pub(crate) fn rules(world: &World, call: &Call) -> SimResult<Reply> {
    let repo = world.may_read(&call.ctx())?;
    let Some(rules) = repo.rulesets.get(call.part(2)) else {
        return Ok(call.page(&[]));
    };
    let rule = |kind: &str, parameters: Value| {
        json!({
            "type": kind,
            "parameters": parameters,
            "ruleset_source_type": "Repository",
            "ruleset_source": repo.slug.to_string(),
            "ruleset_id": 42,
        })
    };
    let checks: Vec<Value> = rules
        .required
        .iter()
        .map(|(name, app)| match app {
            Some(app) => json!({ "context": name, "integration_id": app }),
            None => json!({ "context": name }),
        })
        .collect();
    // One rule a check: several rulesets may each have theirs.
    let mut all: Vec<Value> = checks
        .into_iter()
        .map(|check| {
            let strict = rules.strict;
            let parameters = json!({
                "required_status_checks": [check],
                "strict_required_status_checks_policy": strict,
            });
            rule("required_status_checks", parameters)
        })
        .collect();
    if rules.merge_queue {
        all.push(rule("merge_queue", json!({})));
    }
    Ok(call.page(&all))
}

pub(crate) fn permission(world: &World, call: &Call) -> SimResult<Reply> {
    world.may_push(&call.ctx())?;
    let login = call.part(2);
    world.user(login).ok_or_else(SimError::not_found)?;
    let access = world.access(&call.key, login);
    let role = match access {
        Access::None => "none",
        Access::Read => "read",
        Access::Write => "write",
        Access::Admin => "admin",
    };
    let mut user = json::user(world, call, login);
    user["role_name"] = json!(role);
    user["permissions"] = json!({
        "admin": access == Access::Admin,
        "maintain": access == Access::Admin,
        "push": access >= Access::Write,
        "triage": access >= Access::Write,
        "pull": access >= Access::Read,
    });
    Ok(Reply::new(
        200,
        json!({ "permission": role, "role_name": role, "user": user }),
    ))
}

pub(crate) fn labels(world: &World, call: &Call) -> SimResult<Reply> {
    let repo = world.may_read(&call.ctx())?;
    let shapes: Vec<Value> = repo
        .labels
        .iter()
        .map(|label| json::label(call, repo, label))
        .collect();
    Ok(call.page(&shapes))
}

pub(crate) fn create_label(world: &mut World, call: &Call) -> SimResult<Reply> {
    let text = |field| call.text(field).unwrap_or_default();
    let colour = call.text("color").unwrap_or_else(|| "ededed".to_owned());
    let name = world.new_label(&call.ctx(), &text("name"), &colour, &text("description"))?;
    let label = world
        .find_label(&call.key, &name)?
        .ok_or_else(SimError::not_found)?;
    Ok(Reply::new(
        201,
        json::label(call, world.repo(&call.key)?, label),
    ))
}
