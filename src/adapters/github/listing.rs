//! REST lists: the conditional listing of issues, and labels. Every page or an error.

use chrono::TimeDelta;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::issue::ListedIssue;
use crate::model::limits::{PAGE_SIZE, PAGES_MAX};
use crate::ports::github::{ListCursor, Listed};
use crate::ports::{PortError, PortResult};

use super::GitHubAdapter;
use super::address::next_link;
use super::answers::{Failure, date_of};
use super::convert;
use super::send::{Answer, Call, parse};
use super::wire::{WireLogin, WireName};

/// A repository without open issues gives no time to go on from but the answer's own; what changed
/// while it was being made must not fall between two looks.
const EMPTY_LIST_MARGIN: TimeDelta = TimeDelta::seconds(10);

#[derive(Debug, Deserialize)]
pub(super) struct RestIssue {
    pub(super) number: u64,
    title: String,
    state: String,
    #[serde(default)]
    labels: Vec<RestLabel>,
    #[serde(default)]
    assignees: Option<Vec<WireLogin>>,
    #[serde(default)]
    pub(super) milestone: Option<RestMilestone>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// There for pull requests, which this list mixes in.
    #[serde(default)]
    pub(super) pull_request: Option<serde_json::Value>,
    #[serde(default)]
    pub(super) body: Option<String>,
    /// Servers without dependencies or sub-issues leave these out.
    #[serde(default)]
    issue_dependencies_summary: Option<RestDependencies>,
    #[serde(default)]
    sub_issues_summary: Option<RestSubIssues>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RestMilestone {
    pub(super) title: String,
    pub(super) number: u64,
}

#[derive(Debug, Deserialize)]
struct RestDependencies {
    /// The open ones; `total_blocked_by` counts the closed ones, too.
    blocked_by: u64,
}

#[derive(Debug, Deserialize)]
struct RestSubIssues {
    total: u64,
    completed: u64,
}

/// GitHub's description allows both shapes.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RestLabel {
    Object { name: Option<String> },
    Text(String),
}

/// A page of a list, or "not modified".
enum Page<T> {
    Unchanged,
    Items { items: Vec<T>, headers: HeaderMap },
}

impl GitHubAdapter {
    pub(super) async fn list(&self, cursor: &ListCursor) -> PortResult<Listed> {
        let what = "list issues";
        let question = match cursor.since {
            None => "state=open".to_owned(),
            Some(since) => format!("state=all&since={}", since.format("%Y-%m-%dT%H:%M:%SZ")),
        };
        let path = format!(
            "/repos/{}/issues?{question}&sort=updated&direction=desc&per_page={PAGE_SIZE}",
            self.slug
        );
        let call = Call {
            etag: cursor.etag.clone(),
            ..self.read(what, &path)
        };
        let Some((items, first, pages)) = self.pages_of::<RestIssue>(&call).await? else {
            return Ok(Listed::Unchanged);
        };
        let newest = items.iter().map(|issue| issue.updated_at).max();
        let next = next_cursor(cursor, newest, &first, pages)
            .ok_or_else(|| PortError::unavailable(what, "the answer has no `Date`", None))?;
        let mut issues: Vec<ListedIssue> = Vec::new();
        for item in items {
            // An issue that changes while pages are read moves to the front and shifts the others.
            let seen = issues.iter().any(|issue| issue.number.0 == item.number);
            if item.pull_request.is_none() && !seen {
                let issue =
                    listed(item).map_err(|message| PortError::unavailable(what, message, None))?;
                issues.push(issue);
            }
        }
        Ok(Listed::Issues { issues, next })
    }

    pub(super) async fn label_names(&self) -> PortResult<Vec<String>> {
        let path = format!("/repos/{}/labels?per_page={PAGE_SIZE}", self.slug);
        let call = self.read("list labels", &path);
        let pages = self.pages_of::<WireName>(&call).await?;
        let labels = pages.map(|(labels, ..)| labels).unwrap_or_default();
        Ok(labels.into_iter().map(|label| label.name).collect())
    }

    /// All pages, the first one's headers, and how many there were; `None` for "not modified".
    pub(super) async fn pages_of<T: DeserializeOwned>(
        &self,
        first: &Call,
    ) -> PortResult<Option<(Vec<T>, HeaderMap, u32)>> {
        let mut call = first.clone();
        let mut all = Vec::new();
        let mut first_headers = None;
        let mut pages = 0;
        loop {
            let page = self.sender.ask(&call, read_page::<T>).await?;
            let Page::Items { items, headers } = page else {
                return Ok(None);
            };
            all.extend(items);
            pages += 1;
            let next = headers
                .get(header::LINK)
                .and_then(|link| link.to_str().ok())
                .and_then(next_link)
                .map(ToOwned::to_owned);
            let first_headers = first_headers.get_or_insert(headers);
            let Some(next) = next else {
                return Ok(Some((all, first_headers.clone(), pages)));
            };
            let path = self
                .sender
                .address
                .relative(&next)
                .filter(|_| pages < PAGES_MAX);
            let Some(path) = path else {
                return Err(PortError::unavailable(
                    &call.what,
                    "a list without an end",
                    None,
                ));
            };
            call = Call {
                path,
                etag: None,
                ..call
            };
        }
    }
}

fn read_page<T: DeserializeOwned>(answer: &Answer) -> Result<Page<T>, Failure> {
    if answer.status == StatusCode::NOT_MODIFIED {
        return Ok(Page::Unchanged);
    }
    Ok(Page::Items {
        items: parse(&answer.body)?,
        headers: answer.headers.clone(),
    })
}

/// The next question. Its entity tag is worth something only if this answer was to that very
/// question and the whole of it: the tag covers one page.
fn next_cursor(
    asked: &ListCursor,
    newest: Option<Timestamp>,
    headers: &HeaderMap,
    pages: u32,
) -> Option<ListCursor> {
    let since = match newest.max(asked.since) {
        Some(since) => since,
        None => date_of(headers)? - EMPTY_LIST_MARGIN,
    };
    let same = asked.since == Some(since) && pages == 1;
    let etag = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
    Some(ListCursor {
        since: Some(since),
        etag: etag.filter(|_| same).map(ToOwned::to_owned),
    })
}

pub(super) fn listed(wire: RestIssue) -> Result<ListedIssue, String> {
    let dependencies = wire.issue_dependencies_summary;
    let sub_issues = wire.sub_issues_summary;
    Ok(ListedIssue {
        number: IssueNumber(wire.number),
        title: wire.title,
        open: wire.state == "open",
        labels: wire
            .labels
            .into_iter()
            .filter_map(|label| match label {
                RestLabel::Object { name } => name,
                RestLabel::Text(name) => Some(name),
            })
            .collect(),
        assignees: convert::logins(wire.assignees.unwrap_or_default())?,
        milestone: wire.milestone.map(|milestone| milestone.title),
        updated_at: wire.updated_at,
        created_at: wire.created_at,
        open_dependencies: dependencies.map_or(0, |summary| summary.blocked_by),
        open_sub_issues: sub_issues
            .map_or(0, |summary| summary.total.saturating_sub(summary.completed)),
    })
}

#[cfg(test)]
mod tests;
