//! GraphQL answers as GitHub sends them. Strict where a gap would look like an absence (a list with
//! a hole, a comment without an id), lenient about words that GitHub may add.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::model::ids::{BranchName, Sha, Timestamp};
use crate::model::issue::Association;

/// One page of a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Connection<T> {
    pub nodes: Vec<T>,
    pub page_info: PageInfo,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    pub has_next_page: bool,
    pub end_cursor: Option<String>,
}

/// A list that GitHub keeps so short that one page is all of it.
#[derive(Debug, Deserialize)]
pub(super) struct Nodes<T> {
    pub nodes: Vec<T>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireActor {
    #[serde(rename = "__typename")]
    pub kind: String,
    pub login: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireLogin {
    pub login: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireName {
    pub name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireTitle {
    pub title: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireOid {
    pub oid: Sha,
}

#[derive(Debug, Deserialize)]
pub(super) struct LookData {
    pub repository: Option<WireLook>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireLook {
    pub issue: Option<WireIssue>,
    pub pull_requests: Connection<WirePr>,
    pub base: Option<WireBase>,
    #[serde(default)]
    pub merge_commit: Option<WireChecked>,
    /// `r0`, `r1`, …
    #[serde(flatten)]
    pub refs: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct LeasesData {
    pub repository: Option<BTreeMap<String, Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireIssue {
    pub id: String,
    pub number: u64,
    pub title: String,
    pub body: String,
    pub state: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub url: String,
    pub author_association: Association,
    pub author: Option<WireActor>,
    pub milestone: Option<WireTitle>,
    pub labels: Option<Connection<WireName>>,
    pub assignees: Connection<WireLogin>,
    pub user_content_edits: Option<Connection<WireEdit>>,
    pub timeline_items: Connection<WireEvent>,
    pub comments: Connection<WireComment>,
    pub closed_by_pull_requests_references: Option<Connection<WireLinked>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireLinked {
    pub number: u64,
    pub url: String,
    pub head_ref_name: BranchName,
    pub head_repository: Option<WireRepositoryId>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireEdit {
    pub id: String,
    pub edited_at: Timestamp,
    pub diff: Option<String>,
    pub editor: Option<WireActor>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "__typename", rename_all_fields = "camelCase")]
pub(super) enum WireEvent {
    RenamedTitleEvent {
        created_at: Timestamp,
        actor: Option<WireActor>,
    },
    LabeledEvent {
        created_at: Timestamp,
        actor: Option<WireActor>,
        label: WireName,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireComment {
    pub id: String,
    pub database_id: u64,
    pub body: String,
    pub created_at: Timestamp,
    pub last_edited_at: Option<Timestamp>,
    pub url: String,
    pub author_association: Association,
    pub author: Option<WireActor>,
    pub editor: Option<WireActor>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePr {
    pub id: String,
    pub number: u64,
    pub state: String,
    pub is_draft: bool,
    pub head_ref_name: BranchName,
    pub head_ref_oid: Sha,
    pub head_repository: Option<WireRepositoryId>,
    pub base_ref_name: BranchName,
    pub mergeable: String,
    pub merge_state_status: String,
    pub review_decision: Option<String>,
    pub is_merge_queue_enabled: bool,
    pub merge_queue_entry: Option<WireQueued>,
    pub url: String,
    pub created_at: Timestamp,
    pub merged_at: Option<Timestamp>,
    pub merge_commit: Option<WireOid>,
    pub author: Option<WireActor>,
    pub assignees: Nodes<WireLogin>,
    pub reviews: Option<Connection<WireReview>>,
    pub status_check_rollup: Option<WireRollup>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireQueued {
    pub position: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EnqueueData {
    pub enqueue_pull_request: Option<WireEnqueued>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireEnqueued {
    pub merge_queue_entry: Option<WireQueued>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireDatabaseId {
    pub database_id: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireSuite {
    pub app: Option<WireDatabaseId>,
    pub workflow_run: Option<WireDatabaseId>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireRepositoryId {
    pub database_id: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireReview {
    pub state: String,
    pub body: String,
    pub submitted_at: Option<Timestamp>,
    pub author_association: Association,
    pub author: Option<WireActor>,
    pub commit: Option<WireOid>,
}

#[derive(Debug, Deserialize)]
pub(super) struct BoardData {
    pub repository: Option<WireBoard>,
}

/// A list that was not asked for is absent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireBoard {
    pub default_branch_ref: Option<WireBase>,
    #[serde(default)]
    pub issues: Option<Connection<WireBoardIssue>>,
    #[serde(default)]
    pub pull_requests: Option<Connection<WireLinked>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireBoardIssue {
    #[serde(flatten)]
    pub issue: WireIssueLine,
    pub comments: NewestComments,
    pub closed_by_pull_requests_references: Option<Connection<WireLinked>>,
    pub sub_issues_summary: WireSubIssues,
}

/// What the board needs of an issue, its lists apart.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireIssueLine {
    pub id: String,
    pub number: u64,
    pub title: String,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub url: String,
    pub author_association: Association,
    pub author: Option<WireActor>,
    pub milestone: Option<WireTitle>,
    pub labels: Option<Connection<WireName>>,
    pub assignees: Connection<WireLogin>,
}

/// The end of a list: what is older has to be read from its beginning.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewestComments {
    pub nodes: Vec<WireComment>,
    pub page_info: PageBefore,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageBefore {
    pub has_previous_page: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireSubIssues {
    pub total: u64,
    pub completed: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct PrSummaryData {
    pub repository: Option<WireSummaryOf>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireSummaryOf {
    pub database_id: u64,
    pub pull_request: Option<WirePrSummary>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePrSummary {
    pub number: u64,
    pub state: String,
    pub head_ref_name: BranchName,
    pub head_repository: Option<WireRepositoryId>,
    pub base_ref_name: BranchName,
    pub merged_at: Option<Timestamp>,
    pub merge_commit: Option<WireOid>,
    pub closing_issues_references: Option<Connection<WireClosed>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireClosed {
    pub number: u64,
    pub repository: WireRepositoryId,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireRollup {
    pub contexts: Connection<WireCheck>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "__typename", rename_all_fields = "camelCase")]
pub(super) enum WireCheck {
    CheckRun {
        database_id: Option<u64>,
        name: String,
        status: String,
        conclusion: Option<String>,
        completed_at: Option<Timestamp>,
        details_url: Option<String>,
        check_suite: WireSuite,
    },
    StatusContext {
        context: String,
        state: String,
        description: Option<String>,
        target_url: Option<String>,
    },
    #[serde(other)]
    Other,
}

/// A commit with its checks; an object that is no commit has none.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireChecked {
    pub oid: Sha,
    #[serde(default)]
    pub status_check_rollup: Option<WireRollup>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireBase {
    pub target: Option<WireBaseTarget>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireBaseTarget {
    pub oid: Sha,
    pub tree: Option<WireOid>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TipData {
    pub repository: Option<WireTipOf>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireTipOf {
    pub base: Option<WireTip>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireTip {
    pub target: Option<WireChecked>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireRef {
    pub target: Option<WireTarget>,
}

/// What a ref points at; message and date only if that is a commit.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireTarget {
    pub oid: Sha,
    pub message: Option<String>,
    pub committed_date: Option<Timestamp>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FactsData {
    pub viewer: WireLogin,
    pub repository: Option<WireFacts>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireFacts {
    pub id: String,
    pub database_id: u64,
    pub name_with_owner: String,
    pub is_archived: bool,
    pub is_empty: bool,
    pub viewer_permission: Option<String>,
    pub default_branch_ref: Option<WireName>,
}

/// Both parts of a state write; one that was refused is null.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteData {
    pub update_issue: Option<WireWritten>,
    pub update_issue_comment: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireWritten {
    pub issue: Option<WireBody>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireBody {
    pub body: String,
}
