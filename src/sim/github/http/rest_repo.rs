//! REST: the repository, its people and its labels.

use serde_json::{Value, json};

use super::super::error::{SimError, SimResult};
use super::super::model::Access;
use super::super::world::World;
use super::call::{Call, Reply};
use super::json;

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
