//! Writes to issues, pull requests and labels: over REST, but for a state write, which GraphQL takes
//! in one request. What a write means is the caller's business.

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::model::ids::{CommentId, IssueNumber, Login, PrNumber, Sha, Timestamp};
use crate::ports::github::{IssueChange, MergeMethod, MergePr, NewLabel, NewPr};
use crate::ports::{PortError, PortResult, Refusal};

use super::GitHubAdapter;
use super::address::segment;
use super::send::{Kind, Query};
use super::wire::{EnqueueData, WireLogin};
use super::write_state::AtOnce;

#[derive(Deserialize)]
struct WrittenIssue {
    #[serde(default)]
    body: Option<String>,
}

#[derive(Deserialize)]
struct WrittenAssignees {
    #[serde(default)]
    assignees: Vec<WireLogin>,
}

#[derive(Deserialize)]
struct WrittenLabel {
    name: String,
}

#[derive(Deserialize)]
struct WrittenComment {
    id: u64,
    #[serde(default)]
    node_id: Option<String>,
}

#[derive(Deserialize)]
struct WrittenPr {
    number: u64,
    html_url: String,
}

#[derive(Deserialize)]
struct WrittenMerge {
    sha: Sha,
}

impl GitHubAdapter {
    /// Body and state first, then the comment. Half a change is no refusal: it has to be looked at.
    pub(super) async fn change_issue(
        &self,
        issue: IssueNumber,
        change: &IssueChange,
    ) -> PortResult<String> {
        let what = format!("change issue #{issue}");
        match self.write_at_once(&what, issue, change).await? {
            AtOnce::Written(body) => Ok(body),
            AtOnce::NotTried => self.change_over_rest(&what, issue, change).await,
            AtOnce::NotAllowed => {
                let written = self.change_over_rest(&what, issue, change).await?;
                self.note_rest_only();
                Ok(written)
            }
        }
    }

    /// Two requests where both the issue and the comment change.
    async fn change_over_rest(
        &self,
        what: &str,
        issue: IssueNumber,
        change: &IssueChange,
    ) -> PortResult<String> {
        let path = format!("/repos/{}/issues/{issue}", self.slug);
        let call = match fields_of(change) {
            Some(fields) => self.write(what, Method::PATCH, &path, Some(fields)),
            None => self.read(what, &path),
        };
        let written: WrittenIssue = self.sender.json(&call).await?;
        if let Some((id, text)) = &change.comment {
            let changed = call.body.is_some();
            self.rewrite_comment(*id, text)
                .await
                .map_err(|error| match error {
                    error if changed => PortError::unknown(what, error.to_string()),
                    error => error,
                })?;
        }
        Ok(written.body.unwrap_or_default())
    }

    pub(super) async fn put_labels(
        &self,
        issue: IssueNumber,
        labels: &[String],
    ) -> PortResult<Vec<String>> {
        let path = format!("/repos/{}/issues/{issue}/labels", self.slug);
        let what = format!("label issue #{issue}");
        let body = json!({ "labels": labels });
        let call = self.write(&what, Method::POST, &path, Some(body));
        let all: Vec<WrittenLabel> = self.sender.json(&call).await?;
        Ok(all.into_iter().map(|label| label.name).collect())
    }

    pub(super) async fn take_label(&self, issue: IssueNumber, label: &str) -> PortResult<()> {
        let path = format!(
            "/repos/{}/issues/{issue}/labels/{}",
            self.slug,
            segment(label)
        );
        let what = format!("take `{label}` off issue #{issue}");
        let result = self
            .sender
            .done(&self.write(&what, Method::DELETE, &path, None))
            .await;
        match result {
            // A 404 of the issue itself reads "Not Found".
            Err(PortError::Refused {
                refusal: Refusal::NotFound,
                message,
                ..
            }) if message.to_lowercase().contains("label does not exist") => Ok(()),
            result => result,
        }
    }

    /// GitHub drops logins that cannot be assigned without a word, so the answer is read.
    pub(super) async fn assign(&self, number: u64, login: &Login) -> PortResult<()> {
        let path = format!("/repos/{}/issues/{number}/assignees", self.slug);
        let what = format!("assign `{login}` to #{number}");
        let body = json!({ "assignees": [login.as_str()] });
        let call = self.write(&what, Method::POST, &path, Some(body));
        let written: WrittenAssignees = self.sender.json(&call).await?;
        if written.assignees.iter().any(|one| login.is(&one.login)) {
            return Ok(());
        }
        let message = format!("GitHub does not let `{login}` be assigned here");
        Err(PortError::refused(what, Refusal::Invalid, message))
    }

    pub(super) async fn unassign(&self, number: u64, login: &Login) -> PortResult<()> {
        let path = format!("/repos/{}/issues/{number}/assignees", self.slug);
        let what = format!("take `{login}` off #{number}");
        let body = json!({ "assignees": [login.as_str()] });
        self.sender
            .done(&self.write(&what, Method::DELETE, &path, Some(body)))
            .await
    }

    pub(super) async fn comment(&self, number: u64, text: &str) -> PortResult<CommentId> {
        let path = format!("/repos/{}/issues/{number}/comments", self.slug);
        let what = format!("comment on #{number}");
        let call = self.write(&what, Method::POST, &path, Some(json!({ "body": text })));
        let written: WrittenComment = self.sender.json(&call).await?;
        let id = CommentId(written.id);
        if let Some(node) = written.node_id {
            self.note_comment_node(number, id, node);
        }
        Ok(id)
    }

    pub(super) async fn rewrite_comment(&self, id: CommentId, text: &str) -> PortResult<()> {
        let path = format!("/repos/{}/issues/comments/{id}", self.slug);
        let what = format!("rewrite comment {id}");
        let call = self.write(&what, Method::PATCH, &path, Some(json!({ "body": text })));
        self.sender.done(&call).await
    }

    pub(super) async fn pull(&self, pr: &NewPr) -> PortResult<(PrNumber, String)> {
        let path = format!("/repos/{}/pulls", self.slug);
        let what = format!("open a pull request from `{}`", pr.head);
        let body = json!({
            "title": pr.title,
            "body": pr.body,
            "head": pr.head.as_str(),
            "base": pr.base.as_str(),
        });
        let call = self.write(&what, Method::POST, &path, Some(body));
        let written: WrittenPr = self.sender.json(&call).await?;
        Ok((PrNumber(written.number), written.html_url))
    }

    pub(super) async fn merge(&self, merge: &MergePr) -> PortResult<Sha> {
        let path = format!("/repos/{}/pulls/{}/merge", self.slug, merge.pr);
        let what = format!("merge pull request #{}", merge.pr);
        let method = match merge.method {
            MergeMethod::Squash => "squash",
            MergeMethod::Merge => "merge",
            MergeMethod::Rebase => "rebase",
        };
        let body = json!({
            "sha": merge.head.as_str(),
            "merge_method": method,
            "commit_title": merge.title,
            "commit_message": merge.message,
        });
        let call = self.write(&what, Method::PUT, &path, Some(body));
        let written: WrittenMerge = self.sender.json(&call).await?;
        Ok(written.sha)
    }

    pub(super) async fn enqueue(&self, node_id: &str, head: &Sha) -> PortResult<u64> {
        let query = Query {
            what: "put the pull request into the merge queue",
            kind: Kind::Write,
            operation: "Enqueue",
            refs: &[],
            variables: json!({ "pr": node_id, "head": head.as_str() }),
        };
        let (_, data): (Timestamp, EnqueueData) = self.sender.graphql(&query).await?;
        let entry = data
            .enqueue_pull_request
            .and_then(|done| done.merge_queue_entry);
        // It is in the queue without a place that we know.
        Ok(entry.map_or(1, |entry| entry.position))
    }

    /// GitHub answers before it has merged; the next looks see the new head.
    pub(super) async fn bring_up_to_date(&self, pr: PrNumber, head: &Sha) -> PortResult<()> {
        let path = format!("/repos/{}/pulls/{pr}/update-branch", self.slug);
        let what = format!("update the branch of pull request #{pr}");
        let body = json!({ "expected_head_sha": head.as_str() });
        let call = self.write(&what, Method::PUT, &path, Some(body));
        match self.sender.done(&call).await {
            // Another head than the expected one, and one that has been updated meanwhile.
            Err(PortError::Refused {
                what,
                refusal: Refusal::Invalid,
                message,
            }) if is_outdated(&message) => Err(PortError::refused(what, Refusal::Stale, message)),
            done => done,
        }
    }

    pub(super) async fn new_label(&self, label: &NewLabel) -> PortResult<()> {
        let path = format!("/repos/{}/labels", self.slug);
        let what = format!("create the label `{}`", label.name);
        let body = json!({
            "name": label.name,
            "color": label.colour,
            "description": label.description,
        });
        let result = self
            .sender
            .done(&self.write(&what, Method::POST, &path, Some(body)))
            .await;
        match result {
            Err(error) if error.refusal() == Some(Refusal::Exists) => Ok(()),
            result => result,
        }
    }
}

fn is_outdated(message: &str) -> bool {
    let words = message.to_lowercase();
    words.contains("expected head sha") || words.contains("no new commits on the base")
}

/// What a change says of the issue itself, if anything.
fn fields_of(change: &IssueChange) -> Option<Value> {
    let mut fields = Map::new();
    if let Some(text) = &change.body {
        fields.insert("body".to_owned(), json!(text));
    }
    if change.close {
        fields.insert("state".to_owned(), json!("closed"));
        fields.insert("state_reason".to_owned(), json!("completed"));
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}
