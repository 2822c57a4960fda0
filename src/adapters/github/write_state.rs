//! A state write in one request: the body and the comment that mirrors it, over GraphQL. Where that
//! is not possible the caller goes the REST way; what half a write means is decided here.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use http::HeaderMap;
use serde_json::{Value, json};

use crate::model::ids::{CommentId, IssueNumber};
use crate::ports::github::IssueChange;
use crate::ports::{PortError, PortResult, Refusal};

use super::GitHubAdapter;
use super::answers::{Failure, GraphqlError, graphql_failure};
use super::send::{Kind, Query};
use super::wire::{WireWritten, WriteData};

/// Node ids are kept of so many issues; beyond that all are forgotten, which costs a request each.
const ISSUES_MAX: usize = 64;

/// GraphQL's names of issues and comments, as the last looks told them.
#[derive(Default)]
pub(super) struct NodeIds {
    issues: BTreeMap<IssueNumber, IssueNodes>,
    /// This token may write over REST and not over GraphQL.
    rest_only: bool,
}

struct IssueNodes {
    id: String,
    comments: BTreeMap<CommentId, String>,
}

/// What became of a write over GraphQL.
pub(super) enum AtOnce {
    /// Both parts are done; the body as GitHub has it now.
    Written(String),
    /// It was not tried: the REST way.
    NotTried,
    /// GitHub took neither part and does not let this token write so: the REST way may be open.
    NotAllowed,
}

/// What an answer says of the two parts.
enum Parts {
    Both(String),
    Half { message: String, forbidden: bool },
    NotSupported,
}

impl GitHubAdapter {
    fn nodes(&self) -> MutexGuard<'_, NodeIds> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what a look told.
    pub(super) fn note_nodes(
        &self,
        issue: IssueNumber,
        id: &str,
        comments: BTreeMap<CommentId, String>,
    ) {
        let mut known = self.nodes();
        if known.issues.len() >= ISSUES_MAX && !known.issues.contains_key(&issue) {
            known.issues.clear();
        }
        let id = id.to_owned();
        known.issues.insert(issue, IssueNodes { id, comments });
    }

    /// Keeps what GitHub answered to a new comment.
    pub(super) fn note_comment_node(&self, number: u64, comment: CommentId, id: String) {
        if let Some(issue) = self.nodes().issues.get_mut(&IssueNumber(number)) {
            issue.comments.insert(comment, id);
        }
    }

    /// From now on state writes go over REST.
    pub(super) fn note_rest_only(&self) {
        self.nodes().rest_only = true;
    }

    /// Writes body and comment in one request, if both are to be written and their ids are known.
    pub(super) async fn write_at_once(
        &self,
        what: &str,
        issue: IssueNumber,
        change: &IssueChange,
    ) -> PortResult<AtOnce> {
        let Some(variables) = self.variables_of(issue, change) else {
            return Ok(AtOnce::NotTried);
        };
        let query = Query {
            what,
            kind: Kind::Write,
            operation: if change.close {
                "WriteAndClose"
            } else {
                "WriteState"
            },
            refs: &[],
            variables,
        };
        match self.sender.graphql_parts(&query, parts).await {
            Ok(Parts::Both(body)) => Ok(AtOnce::Written(body)),
            Ok(Parts::NotSupported) => Ok(AtOnce::NotAllowed),
            Ok(Parts::Half { message, forbidden }) => {
                if forbidden {
                    // Again would be half again; REST says of each part whether it is allowed.
                    self.note_rest_only();
                }
                Err(PortError::unknown(what, message))
            }
            Err(error) if error.refusal() == Some(Refusal::Forbidden) => Ok(AtOnce::NotAllowed),
            Err(error) => Err(error),
        }
    }

    fn variables_of(&self, issue: IssueNumber, change: &IssueChange) -> Option<Value> {
        let body = change.body.as_ref()?;
        let (comment, text) = change.comment.as_ref()?;
        let known = self.nodes();
        let nodes = known.issues.get(&issue).filter(|_| !known.rest_only)?;
        let comment = nodes.comments.get(comment)?;
        Some(json!({ "issue": nodes.id, "body": body, "comment": comment, "text": text }))
    }
}

/// Half a write is told apart from none before anything else: a refusal would say that nothing
/// happened.
fn parts(data: Value, errors: &[GraphqlError], headers: &HeaderMap) -> Result<Parts, Failure> {
    let unreadable = |words: &str| Failure::Stumbled(format!("the answer cannot be read: {words}"));
    let answered = !data.is_null();
    let (issue, comment) = if answered {
        let data: WriteData =
            serde_json::from_value(data).map_err(|error| unreadable(&error.to_string()))?;
        (data.update_issue, data.update_issue_comment)
    } else {
        (None, None)
    };
    let some = issue.is_some() || comment.is_some();
    let Some(failure) = graphql_failure(errors, headers) else {
        let body = issue.and_then(|WireWritten { issue }| issue);
        return match (body, comment) {
            (Some(issue), Some(_)) => Ok(Parts::Both(issue.body)),
            _ => Err(unreadable("a part of it is missing")),
        };
    };
    if some {
        let words: Vec<&str> = errors.iter().map(|one| one.message.as_str()).collect();
        return Ok(Parts::Half {
            message: format!("only a part was written: {}", words.join("; ")),
            forbidden: errors.iter().any(GraphqlError::is_forbidden),
        });
    }
    match failure {
        // A document that does not fit the schema has no data at all, not even empty parts.
        Failure::Refused(Refusal::Invalid, _) if !answered => Ok(Parts::NotSupported),
        failure @ (Failure::Refused(..) | Failure::Limited { .. } | Failure::Stumbled(_)) => {
            Err(failure)
        }
    }
}

#[cfg(test)]
mod tests;
