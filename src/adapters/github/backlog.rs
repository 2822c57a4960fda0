//! The backlog: all leases in one GraphQL list, open issues and their dependencies over REST. Every page
//! or an error.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use crate::model::ids::{IssueNumber, RefName, Timestamp};
use crate::model::issue::OpenIssue;
use crate::model::limits::{PAGE_SIZE, PAGES_MAX};
use crate::ports::backlog::{AllLeases, Backlog};
use crate::ports::{PortError, PortResult, Refusal};

use super::GitHubAdapter;
use super::convert;
use super::listing::{RestIssue, listed};
use super::look::{base_of, unreadable};
use super::send::{Kind, Query};
use super::wire::{Connection, WireBase, WireTarget};

#[derive(Debug, Deserialize)]
struct LeaseRefsData {
    repository: Option<WireLeaseRefs>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireLeaseRefs {
    id: String,
    default_branch_ref: Option<WireBase>,
    refs: Option<Connection<WireNamedRef>>,
}

#[derive(Debug, Deserialize)]
struct WireNamedRef {
    name: String,
    prefix: String,
    target: Option<WireTarget>,
}

#[derive(Debug, Deserialize)]
struct RestBlocker {
    number: u64,
    state: String,
    repository_url: String,
}

#[derive(Debug, Deserialize)]
struct RestState {
    state: String,
}

#[async_trait]
impl Backlog for GitHubAdapter {
    async fn leases(&self, namespace: &str) -> PortResult<AllLeases> {
        let what = "list leases";
        let mut after = None;
        let mut all = AllLeases {
            at: Timestamp::default(),
            base: None,
            leases: Vec::new(),
        };
        for _ in 0..PAGES_MAX {
            let query = Query {
                what,
                kind: Kind::Read,
                operation: "LeaseRefs",
                refs: &[],
                variables: json!({
                    "owner": self.slug.owner,
                    "name": self.slug.name,
                    "prefix": format!("refs/{namespace}/"),
                    "after": after,
                }),
            };
            let (clock, data): (Timestamp, LeaseRefsData) = self.sender.graphql(&query).await?;
            let found = data.repository.ok_or_else(|| self.no_repository(what))?;
            self.remember_node_id(&found.id);
            all.at = clock;
            all.base = base_of(what, found.default_branch_ref)?;
            // GitHub answers no list at all for an empty repository.
            let Some(refs) = found.refs else {
                return Ok(all);
            };
            for node in refs.nodes {
                all.leases.push(lease(what, node, clock)?);
            }
            if !refs.page_info.has_next_page {
                return Ok(all);
            }
            after = refs.page_info.end_cursor;
        }
        Err(unreadable(what, "a list that does not end"))
    }

    async fn open_issues(&self) -> PortResult<Vec<OpenIssue>> {
        let what = "list open issues";
        let path = format!(
            "/repos/{}/issues?state=open&sort=created&direction=asc&per_page={PAGE_SIZE}",
            self.slug
        );
        let call = self.read(what, &path);
        let pages = self.pages_of::<RestIssue>(&call).await?;
        let items = pages.map(|(items, ..)| items).unwrap_or_default();
        let mut issues: Vec<OpenIssue> = Vec::new();
        for item in items {
            // An issue that is closed while pages are read shifts the others.
            let seen = issues
                .iter()
                .any(|issue| issue.listed.number.0 == item.number);
            if item.pull_request.is_none() && !seen {
                let issue = open_issue(item)
                    .map_err(|message| PortError::unavailable(what, message, None))?;
                issues.push(issue);
            }
        }
        Ok(issues)
    }

    async fn blockers(&self, issue: IssueNumber) -> PortResult<Vec<IssueNumber>> {
        let what = format!("list what blocks issue #{issue}");
        let path = format!(
            "/repos/{}/issues/{issue}/dependencies/blocked_by?per_page={PAGE_SIZE}",
            self.slug
        );
        let here = format!("/repos/{}", self.slug).to_lowercase();
        let pages = self.pages_of::<RestBlocker>(&self.read(&what, &path)).await;
        let blockers = match pages {
            Ok(pages) => pages.map(|(items, ..)| items).unwrap_or_default(),
            // A server without dependencies, or no such issue: nothing blocks it.
            Err(error) if error.refusal() == Some(Refusal::NotFound) => Vec::new(),
            Err(error) => return Err(error),
        };
        let is_here = |one: &RestBlocker| one.repository_url.to_lowercase().ends_with(&here);
        Ok(blockers
            .iter()
            .filter(|one| one.state == "open" && is_here(one))
            .map(|one| IssueNumber(one.number))
            .collect())
    }

    async fn is_open(&self, issue: IssueNumber) -> PortResult<Option<bool>> {
        let what = format!("read issue #{issue}");
        let path = format!("/repos/{}/issues/{issue}", self.slug);
        match self
            .sender
            .json::<RestState>(&self.read(&what, &path))
            .await
        {
            Ok(found) => Ok(Some(found.state == "open")),
            Err(error) if error.refusal() == Some(Refusal::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn lease(
    what: &str,
    node: WireNamedRef,
    clock: Timestamp,
) -> PortResult<crate::model::lease::LeaseCommit> {
    let name = RefName::new(format!("{}{}", node.prefix, node.name))
        .map_err(|error| unreadable(what, &error.to_string()))?;
    // A ref without a target is not an absent one.
    let target = node
        .target
        .ok_or_else(|| unreadable(what, &format!("`{name}` points at nothing")))?;
    Ok(convert::lease(&name, target, clock))
}

fn open_issue(mut wire: RestIssue) -> Result<OpenIssue, String> {
    let body = wire.body.take().unwrap_or_default();
    let milestone = wire.milestone.as_ref().map(|milestone| milestone.number);
    Ok(OpenIssue {
        listed: listed(wire)?,
        body,
        milestone,
    })
}
