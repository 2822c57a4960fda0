//! The board in two requests and their further pages, and one pull request by its number. Every page or
//! an error.

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::model::board::{Board, BoardIssue, PrSummary};
use crate::model::ids::{IssueNumber, PrNumber, RepoId, Timestamp};
use crate::ports::backlog::Backlog as _;
use crate::ports::overview::Overview;
use crate::ports::{PortError, PortResult};

use super::GitHubAdapter;
use super::convert;
use super::look::{Pages, base_of, unreadable};
use super::send::{Kind, Query};
use super::wire::{
    BoardData, Connection, NewestComments, PrSummaryData, WireBoardIssue, WireComment,
    WirePrSummary,
};

impl GitHubAdapter {
    fn variables(&self, more: &Value) -> Value {
        let mut variables = json!({ "owner": self.slug.owner, "name": self.slug.name });
        if let (Some(all), Some(more)) = (variables.as_object_mut(), more.as_object()) {
            all.extend(more.clone());
        }
        variables
    }

    async fn board_issue(&self, what: &str, wire: WireBoardIssue) -> PortResult<BoardIssue> {
        let number = wire.issue.number;
        let cut = |list: Option<bool>| list.unwrap_or(false);
        let labels = wire.issue.labels.as_ref();
        if wire.issue.assignees.page_info.has_next_page
            || cut(labels.map(|labels| labels.page_info.has_next_page))
        {
            return Err(unreadable(what, "more than 100 labels or assignees"));
        }
        let comments = self.whole_comments(what, number, wire.comments).await?;
        let pages = Pages {
            what,
            operation: "LinkedPage",
            variables: json!({ "issue": number }),
            pointer: "/repository/issue/closedByPullRequestsReferences",
        };
        let linked = match wire.closed_by_pull_requests_references {
            Some(linked) => self.all_pages(linked, &pages).await?,
            None => Vec::new(),
        };
        let mut issue =
            convert::board_issue(wire.issue).map_err(|message| unreadable(what, &message))?;
        issue.linked_prs = linked.into_iter().map(convert::linked).collect();
        let summary = wire.sub_issues_summary;
        Ok(BoardIssue {
            issue,
            comments: comments.into_iter().map(convert::comment).collect(),
            open_sub_issues: summary.total.saturating_sub(summary.completed),
        })
    }

    /// A list that was cut short is not a list: what claims the issue may be older than what was asked for.
    async fn whole_comments(
        &self,
        what: &str,
        issue: u64,
        newest: NewestComments,
    ) -> PortResult<Vec<WireComment>> {
        if !newest.page_info.has_previous_page {
            return Ok(newest.nodes);
        }
        let pages = Pages {
            what,
            operation: "CommentsPage",
            variables: json!({ "issue": issue }),
            pointer: "/repository/issue/comments",
        };
        let query = Query {
            what,
            kind: Kind::Read,
            operation: pages.operation,
            refs: &[],
            variables: self.variables(&json!({ "issue": issue, "after": null })),
        };
        let (_, data): (Timestamp, Value) = self.sender.graphql(&query).await?;
        let first: Connection<WireComment> = data
            .pointer(pages.pointer)
            .and_then(|list| serde_json::from_value(list.clone()).ok())
            .ok_or_else(|| unreadable(what, "comments that are missing"))?;
        self.all_pages(first, &pages).await
    }
}

#[async_trait]
impl Overview for GitHubAdapter {
    async fn board(&self, namespace: &str) -> PortResult<Board> {
        let what = "read the board";
        let query = Query {
            what,
            kind: Kind::Read,
            operation: "Board",
            refs: &[],
            variables: self.variables(&json!({})),
        };
        let (_, data): (Timestamp, BoardData) = self.sender.graphql(&query).await?;
        let found = data.repository.ok_or_else(|| self.no_repository(what))?;
        let pages = |operation, pointer| Pages {
            what,
            operation,
            variables: json!({}),
            pointer,
        };
        let base = base_of(what, found.default_branch_ref)?;
        let issues = found.issues.unwrap_or_else(Connection::empty);
        let issues = self
            .all_pages(issues, &pages("BoardIssuesPage", "/repository/issues"))
            .await?;
        let prs = found.pull_requests.unwrap_or_else(Connection::empty);
        let prs = self
            .all_pages(prs, &pages("BoardPrsPage", "/repository/pullRequests"))
            .await?;
        let mut all: Vec<BoardIssue> = Vec::new();
        for wire in issues {
            // An issue that is closed while pages are read shifts the others.
            let seen = all
                .iter()
                .any(|one| one.issue.number.0 == wire.issue.number);
            if !seen {
                all.push(self.board_issue(what, wire).await?);
            }
        }
        // Last, so that a claim which was released meanwhile shows as free rather than as stale.
        let leases = self.leases(namespace).await?;
        Ok(Board {
            at: leases.at,
            base,
            issues: all,
            prs: prs.into_iter().map(convert::linked).collect(),
            leases: leases.leases,
        })
    }

    async fn pull_request(&self, pr: PrNumber) -> PortResult<Option<PrSummary>> {
        let what = format!("read pull request #{pr}");
        let query = Query {
            what: &what,
            kind: Kind::Read,
            operation: "PrSummary",
            refs: &[],
            variables: self.variables(&json!({ "pr": pr.0 })),
        };
        let (_, data): (Timestamp, PrSummaryData) = self.sender.graphql(&query).await?;
        let found = data.repository.ok_or_else(|| self.no_repository(&what))?;
        let here = found.database_id;
        found
            .pull_request
            .map(|wire| summary(&what, wire, here))
            .transpose()
    }
}

fn summary(what: &str, wire: WirePrSummary, here: u64) -> Result<PrSummary, PortError> {
    let head_repo = wire.head_repository.and_then(|repo| repo.database_id);
    let state = convert::pr_state(&wire.state, wire.merge_commit, wire.merged_at);
    let state = state.map_err(|word| unreadable(what, &format!("{word} without its commit")))?;
    let closed = wire.closing_issues_references;
    let closed = closed.map(|closed| closed.nodes).unwrap_or_default();
    Ok(PrSummary {
        number: PrNumber(wire.number),
        state,
        head_repo: head_repo.map(RepoId),
        head_ref: wire.head_ref_name,
        base_ref: wire.base_ref_name,
        // Issues of another repository have the same numbers.
        closes: closed
            .into_iter()
            .filter(|one| one.repository.database_id == Some(here))
            .map(|one| IssueNumber(one.number))
            .collect(),
    })
}
