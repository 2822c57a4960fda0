//! REST: issues, comments, labels and assignees of issues.

use serde_json::{Value, json};

use super::super::error::{SimError, SimResult};
use super::super::issues::{IssuePatch, NewIssue};
use super::super::world::World;
use super::call::{Call, Reply};
use super::json;
use crate::model::ids::Timestamp;
use crate::ports::Refusal;

pub(crate) fn list(world: &World, call: &Call) -> SimResult<Reply> {
    let repo = world.may_read(&call.ctx())?;
    let since = match call.param("since") {
        Some(text) => {
            let wrong = |_| SimError::invalid("Invalid `since`");
            Some(text.parse::<Timestamp>().map_err(wrong)?)
        }
        None => None,
    };
    let state = call.param("state").unwrap_or("open");
    let labels: Vec<&str> = call
        .param("labels")
        .map(|text| text.split(',').collect())
        .unwrap_or_default();
    let mut found: Vec<_> = repo
        .issues
        .values()
        .filter(|issue| match state {
            "open" => issue.open,
            "closed" => !issue.open,
            _ => true,
        })
        .filter(|issue| since.is_none_or(|since| issue.updated_at >= since))
        .filter(|issue| labels.iter().all(|label| issue.has_label(label)))
        .collect();
    let updated = call.param("sort") == Some("updated");
    found.sort_by_key(|issue| {
        (
            if updated {
                issue.updated_at
            } else {
                issue.created_at
            },
            issue.number,
        )
    });
    if call.param("direction") != Some("asc") {
        found.reverse();
    }
    let shapes: SimResult<Vec<Value>> = found
        .iter()
        .map(|issue| json::issue(world, call, issue.number))
        .collect();
    Ok(call.page(&shapes?))
}

pub(crate) fn open(world: &mut World, call: &Call) -> SimResult<Reply> {
    let new = NewIssue {
        title: call.text("title").unwrap_or_default(),
        body: call.text("body").unwrap_or_default(),
        labels: call.texts("labels").unwrap_or_default(),
        assignees: call.texts("assignees").unwrap_or_default(),
    };
    let number = world.open_issue(&call.ctx(), new)?;
    Ok(Reply::new(201, json::issue(world, call, number)?))
}

/// A deleted issue is gone, which is not the same as one that never was.
fn number(world: &World, call: &Call) -> SimResult<u64> {
    let number = call.number(2)?;
    if world.may_read(&call.ctx())?.gone.contains(&number) {
        return Err(SimError::new(
            410,
            Refusal::NotFound,
            "This issue was deleted",
        ));
    }
    Ok(number)
}

pub(crate) fn issue(world: &World, call: &Call) -> SimResult<Reply> {
    Ok(Reply::new(
        200,
        json::issue(world, call, number(world, call)?)?,
    ))
}

pub(crate) fn blocked_by(world: &World, call: &Call) -> SimResult<Reply> {
    let blocked = world.issue(&call.key, number(world, call)?)?;
    let shapes: SimResult<Vec<Value>> = blocked
        .blocked_by
        .iter()
        .map(|number| json::issue(world, call, *number))
        .collect();
    Ok(call.page(&shapes?))
}

pub(crate) fn patch(world: &mut World, call: &Call) -> SimResult<Reply> {
    let number = number(world, call)?;
    let patch = IssuePatch {
        title: call.text("title"),
        body: call.text("body"),
        open: call.text("state").map(|state| state == "open"),
        state_reason: call.text("state_reason"),
        labels: call.texts("labels"),
        assignees: call.texts("assignees"),
    };
    world.patch_issue(&call.ctx(), number, &patch)?;
    Ok(Reply::new(200, json::issue(world, call, number)?))
}

pub(crate) fn comments(world: &World, call: &Call) -> SimResult<Reply> {
    let number = number(world, call)?;
    let issue = world.issue(&call.key, number)?;
    let shapes: SimResult<Vec<Value>> = issue
        .comments
        .iter()
        .map(|found| json::comment(world, call, number, found))
        .collect();
    Ok(call.page(&shapes?))
}

fn comment_shape(world: &World, call: &Call, id: u64) -> SimResult<Value> {
    let (number, comment) = world.comment_place(&call.key, id)?;
    json::comment(world, call, number, comment)
}

pub(crate) fn comment(world: &World, call: &Call) -> SimResult<Reply> {
    world.may_read(&call.ctx())?;
    Ok(Reply::new(
        200,
        comment_shape(world, call, call.number(2)?)?,
    ))
}

pub(crate) fn create_comment(world: &mut World, call: &Call) -> SimResult<Reply> {
    let number = number(world, call)?;
    let id = world.new_comment(&call.ctx(), number, &call.text("body").unwrap_or_default())?;
    Ok(Reply::new(201, comment_shape(world, call, id)?))
}

pub(crate) fn rewrite_comment(world: &mut World, call: &Call) -> SimResult<Reply> {
    let id = call.number(2)?;
    world.rewrite_comment(&call.ctx(), id, &call.text("body").unwrap_or_default())?;
    Ok(Reply::new(200, comment_shape(world, call, id)?))
}

fn labels_of(world: &World, call: &Call, number: u64) -> SimResult<Reply> {
    let repo = world.repo(&call.key)?;
    let issue = world.issue(&call.key, number)?;
    Ok(Reply::new(200, json!(json::labels(call, repo, issue))))
}

pub(crate) fn add_labels(world: &mut World, call: &Call) -> SimResult<Reply> {
    let number = number(world, call)?;
    world.put_labels(
        &call.ctx(),
        number,
        &call.texts("labels").unwrap_or_default(),
    )?;
    labels_of(world, call, number)
}

pub(crate) fn remove_label(world: &mut World, call: &Call) -> SimResult<Reply> {
    let number = number(world, call)?;
    world.take_label(&call.ctx(), number, call.part(3))?;
    labels_of(world, call, number)
}

pub(crate) fn assign(world: &mut World, call: &Call) -> SimResult<Reply> {
    let number = number(world, call)?;
    world.assign(
        &call.ctx(),
        number,
        &call.texts("assignees").unwrap_or_default(),
    )?;
    Ok(Reply::new(201, json::issue(world, call, number)?))
}

pub(crate) fn unassign(world: &mut World, call: &Call) -> SimResult<Reply> {
    let number = number(world, call)?;
    world.unassign(
        &call.ctx(),
        number,
        &call.texts("assignees").unwrap_or_default(),
    )?;
    Ok(Reply::new(200, json::issue(world, call, number)?))
}
