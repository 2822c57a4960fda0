//! The listing of issues as the port gives it: what changed since, with the tag of the answer.

use sha2::{Digest as _, Sha256};

use crate::ports::github::{ListCursor, Listed};

use super::error::SimResult;
use super::look::listed;
use super::world::{Ctx, World};

fn etag(issues: &[crate::model::issue::ListedIssue]) -> String {
    let text = serde_json::to_string(issues).unwrap_or_default();
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(16)
        .fold("W/".to_owned(), |tag, byte| format!("{tag}{byte:02x}"))
}

pub(super) fn list(world: &World, ctx: &Ctx<'_>, cursor: &ListCursor) -> SimResult<Listed> {
    let repo = world.may_read(ctx)?;
    let mut issues = Vec::new();
    for issue in repo.issues.values().filter(|issue| issue.pr.is_none()) {
        let wanted = cursor
            .since
            .map_or(issue.open, |since| issue.updated_at >= since);
        if wanted {
            issues.push(listed(repo, issue)?);
        }
    }
    issues.sort_by_key(|issue| std::cmp::Reverse((issue.updated_at, issue.number)));
    let etag = etag(&issues);
    if cursor.etag.as_ref() == Some(&etag) {
        return Ok(Listed::Unchanged);
    }
    let newest = issues.first().map(|issue| issue.updated_at);
    let since = newest.max(cursor.since).unwrap_or(ctx.now);
    // The tag belongs to the question: another `since` is another one.
    let etag = (cursor.since == Some(since)).then_some(etag);
    Ok(Listed::Issues {
        issues,
        next: ListCursor {
            since: Some(since),
            etag,
        },
    })
}
