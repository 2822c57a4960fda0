//! The look: one GraphQL request for everything that concerns an issue, and further pages where a
//! list is longer. A list that cannot be read to its end is an error, never a shorter list.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::model::checks::CommitChecks;
use crate::model::ids::{BranchName, CommentId, IssueNumber, RefName, Sha, Timestamp};
use crate::model::lease::LeaseCommit;
use crate::model::limits::PAGES_MAX;
use crate::ports::github::{BaseTip, Look, LookAt};
use crate::ports::{PortError, PortResult, Refusal};

use super::GitHubAdapter;
use super::convert;
use super::send::{Kind, Query};
use super::wire::{
    Connection, LeasesData, LookData, TipData, WireChecked, WireIssue, WireLook, WirePr, WireRef,
    WireRollup, WireTarget,
};

/// Where the further pages of a list come from.
pub(super) struct Pages<'a> {
    pub(super) what: &'a str,
    pub(super) operation: &'static str,
    /// Variables besides the repository and the cursor.
    pub(super) variables: Value,
    /// The list in the answer's data.
    pub(super) pointer: &'static str,
}

impl GitHubAdapter {
    pub(super) async fn look_at(&self, at: &LookAt) -> PortResult<Look> {
        let what = format!("look at issue #{}", at.issue);
        let branch_ref = RefName::of_branch(&at.branch);
        let mut names = at.leases.clone();
        for name in at.refs.iter().chain([&branch_ref]) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let mut variables = json!({
            "issue": at.issue.0,
            "branch": at.branch.as_str(),
            "base": RefName::of_branch(&at.base).as_str(),
            "merge": at.merge_commit.as_ref().map(Sha::as_str),
            "withMerge": at.merge_commit.is_some(),
        });
        self.add_variables(&mut variables, &names);
        let query = Query {
            what: &what,
            kind: Kind::Read,
            operation: "Look",
            refs: &names,
            variables,
        };
        let (clock, data): (Timestamp, LookData) = self.sender.graphql(&query).await?;
        let Some(found) = data.repository else {
            return Err(self.no_repository(&what));
        };
        self.look_of(at, &what, clock, (names, found)).await
    }

    async fn look_of(
        &self,
        at: &LookAt,
        what: &str,
        clock: Timestamp,
        (names, found): (Vec<RefName>, WireLook),
    ) -> PortResult<Look> {
        let mut look = Look {
            at: clock,
            issue: None,
            edits: Vec::new(),
            renames: Vec::new(),
            labelled: Vec::new(),
            comments: Vec::new(),
            prs: Vec::new(),
            leases: BTreeMap::new(),
            refs: BTreeMap::new(),
            base: base_of(what, found.base)?,
            merge_checks: None,
        };
        for (name, target) in targets(what, &names, found.refs)? {
            if at.leases.contains(&name) {
                look.leases
                    .insert(name.clone(), convert::lease(&name, target, clock));
            } else {
                look.refs.insert(name, target.oid);
            }
        }
        if let Some(issue) = found.issue {
            self.add_issue(&mut look, what, issue).await?;
        }
        let pages = Pages {
            what,
            operation: "PrsPage",
            variables: json!({ "branch": at.branch.as_str() }),
            pointer: "/repository/pullRequests",
        };
        for pr in self.all_pages(found.pull_requests, &pages).await? {
            look.prs.push(self.whole_pr(what, pr).await?);
        }
        if let Some(commit) = found.merge_commit {
            look.merge_checks = Some(self.checks_of(what, commit).await?);
        }
        Ok(look)
    }

    /// Reads the issue's lists to their ends.
    async fn add_issue(&self, look: &mut Look, what: &str, wire: WireIssue) -> PortResult<()> {
        let cut = wire.assignees.page_info.has_next_page
            || wire
                .labels
                .as_ref()
                .is_some_and(|labels| labels.page_info.has_next_page);
        if cut {
            let message = "more than 100 labels or assignees, which GitHub does not allow";
            return Err(PortError::refused(what, Refusal::Invalid, message));
        }
        let mut wire = wire;
        let number = wire.number;
        let pages = |operation, pointer| Pages {
            what,
            operation,
            variables: json!({ "issue": number }),
            pointer,
        };
        let edit_pages = pages("EditsPage", "/repository/issue/userContentEdits");
        let event_pages = pages("TimelinePage", "/repository/issue/timelineItems");
        let comment_pages = pages("CommentsPage", "/repository/issue/comments");
        let linked_pages = pages(
            "LinkedPage",
            "/repository/issue/closedByPullRequestsReferences",
        );
        if let Some(edits) = wire.user_content_edits.take() {
            look.edits = convert::edits(self.all_pages(edits, &edit_pages).await?);
        }
        let events = std::mem::replace(&mut wire.timeline_items, Connection::empty());
        (look.renames, look.labelled) =
            convert::events(self.all_pages(events, &event_pages).await?);
        let comments = std::mem::replace(&mut wire.comments, Connection::empty());
        let comments = self.all_pages(comments, &comment_pages).await?;
        let nodes = comments
            .iter()
            .map(|comment| (CommentId(comment.database_id), comment.id.clone()))
            .collect();
        self.note_nodes(IssueNumber(number), &wire.id, nodes);
        look.comments = comments.into_iter().map(convert::comment).collect();
        let linked = match wire.closed_by_pull_requests_references.take() {
            Some(linked) => self.all_pages(linked, &linked_pages).await?,
            None => Vec::new(),
        };
        let mut issue = convert::issue(wire).map_err(|message| unreadable(what, &message))?;
        issue.linked_prs = linked.into_iter().map(convert::linked).collect();
        look.issue = Some(issue);
        Ok(())
    }

    async fn whole_pr(
        &self,
        what: &str,
        mut wire: WirePr,
    ) -> PortResult<crate::model::pr::PullRequest> {
        let review_pages = Pages {
            what,
            operation: "ReviewsPage",
            variables: json!({ "pr": wire.number }),
            pointer: "/repository/pullRequest/reviews",
        };
        let reviews = match wire.reviews.take() {
            Some(reviews) => self.all_pages(reviews, &review_pages).await?,
            None => Vec::new(),
        };
        let rollup = wire.status_check_rollup.take();
        let checks = self.all_checks(what, &wire.head_ref_oid, rollup).await?;
        convert::pull_request(wire, reviews, checks).map_err(|message| unreadable(what, &message))
    }

    pub(super) async fn tip_checks_of(&self, base: &BranchName) -> PortResult<CommitChecks> {
        let what = format!("read the checks of `{base}`");
        let mut variables = json!({ "base": RefName::of_branch(base).as_str() });
        self.add_variables(&mut variables, &[]);
        let query = Query {
            what: &what,
            kind: Kind::Read,
            operation: "TipChecks",
            refs: &[],
            variables,
        };
        let (_, data): (Timestamp, TipData) = self.sender.graphql(&query).await?;
        let Some(found) = data.repository else {
            return Err(self.no_repository(&what));
        };
        match found.base.and_then(|base| base.target) {
            Some(commit) => self.checks_of(&what, commit).await,
            None => Err(unreadable(&what, "the branch has no commit")),
        }
    }

    async fn checks_of(&self, what: &str, commit: WireChecked) -> PortResult<CommitChecks> {
        let checks = self
            .all_checks(what, &commit.oid, commit.status_check_rollup)
            .await?;
        Ok(CommitChecks {
            sha: commit.oid,
            checks: checks.into_iter().map(convert::check).collect(),
        })
    }

    async fn all_checks(
        &self,
        what: &str,
        commit: &Sha,
        rollup: Option<WireRollup>,
    ) -> PortResult<Vec<super::wire::WireCheck>> {
        let Some(rollup) = rollup else {
            return Ok(Vec::new());
        };
        let pages = Pages {
            what,
            operation: "ChecksPage",
            variables: json!({ "commit": commit.as_str() }),
            pointer: "/repository/object/statusCheckRollup/contexts",
        };
        self.all_pages(rollup.contexts, &pages).await
    }

    /// A list to its end, the first page being there.
    pub(super) async fn all_pages<T: DeserializeOwned + Send>(
        &self,
        first: Connection<T>,
        pages: &Pages<'_>,
    ) -> PortResult<Vec<T>> {
        let mut items = first.nodes;
        let mut info = first.page_info;
        let mut read = 1;
        while info.has_next_page {
            let Some(cursor) = info.end_cursor.take().filter(|_| read < PAGES_MAX) else {
                return Err(unreadable(pages.what, "a list that does not end"));
            };
            let mut variables = pages.variables.clone();
            variables["after"] = json!(cursor);
            self.add_variables(&mut variables, &[]);
            let query = Query {
                what: pages.what,
                kind: Kind::Read,
                operation: pages.operation,
                refs: &[],
                variables,
            };
            let (_, data): (Timestamp, Value) = self.sender.graphql(&query).await?;
            let next: Connection<T> = data
                .pointer(pages.pointer)
                .and_then(|list| serde_json::from_value(list.clone()).ok())
                .ok_or_else(|| unreadable(pages.what, "a page that is missing"))?;
            items.extend(next.nodes);
            info = next.page_info;
            read += 1;
        }
        Ok(items)
    }

    pub(super) async fn leases_of(
        &self,
        what: &str,
        names: &[RefName],
    ) -> PortResult<(Timestamp, BTreeMap<RefName, LeaseCommit>)> {
        let mut variables = json!({});
        self.add_variables(&mut variables, names);
        let query = Query {
            what,
            kind: Kind::Read,
            operation: "Leases",
            refs: names,
            variables,
        };
        let (clock, data): (Timestamp, LeasesData) = self.sender.graphql(&query).await?;
        let Some(found) = data.repository else {
            return Err(self.no_repository(what));
        };
        let leases = targets(what, names, found)?
            .into_iter()
            .map(|(name, target)| (name.clone(), convert::lease(&name, target, clock)))
            .collect();
        Ok((clock, leases))
    }

    fn add_variables(&self, variables: &mut Value, refs: &[RefName]) {
        variables["owner"] = json!(self.slug.owner);
        variables["name"] = json!(self.slug.name);
        for (index, name) in refs.iter().enumerate() {
            variables[format!("r{index}")] = json!(name.as_str());
        }
    }

    pub(super) fn no_repository(&self, what: &str) -> PortError {
        let message = format!("there is no repository `{}` for this token", self.slug);
        PortError::refused(what, Refusal::NotFound, message)
    }
}

impl<T> Connection<T> {
    pub(super) fn empty() -> Self {
        Self {
            nodes: Vec::new(),
            page_info: super::wire::PageInfo {
                has_next_page: false,
                end_cursor: None,
            },
        }
    }
}

/// The refs that exist. An alias that is missing altogether is an answer to another question.
fn targets(
    what: &str,
    names: &[RefName],
    mut found: BTreeMap<String, Value>,
) -> PortResult<Vec<(RefName, WireTarget)>> {
    let mut targets = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let value = found
            .remove(&format!("r{index}"))
            .ok_or_else(|| unreadable(what, &format!("no answer about `{name}`")))?;
        let wire: Option<WireRef> = serde_json::from_value(value)
            .map_err(|error| unreadable(what, &format!("`{name}`: {error}")))?;
        if let Some(wire) = wire {
            // A ref without a target is not an absent one.
            let target = wire
                .target
                .ok_or_else(|| unreadable(what, &format!("`{name}` points at nothing")))?;
            targets.push((name.clone(), target));
        }
    }
    Ok(targets)
}

pub(super) fn base_of(
    what: &str,
    base: Option<super::wire::WireBase>,
) -> PortResult<Option<BaseTip>> {
    let Some(base) = base else { return Ok(None) };
    base.target
        .and_then(|target| {
            Some(BaseTip {
                sha: target.oid,
                tree: target.tree?.oid,
            })
        })
        .map(Some)
        .ok_or_else(|| unreadable(what, "the base branch has no commit"))
}

pub(super) fn unreadable(what: &str, message: &str) -> PortError {
    PortError::unavailable(what, format!("the answer has a gap: {message}"), None)
}
