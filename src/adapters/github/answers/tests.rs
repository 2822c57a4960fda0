//! Canned answers of GitHub's and what each means.

use crate::model::limits::RATE_LIMIT_WAIT_MAX;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::json;

use super::{Failure, GraphqlError, failure_of, graphql_failure};
use crate::ports::Refusal;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect()
}

fn refusal(status: u16, path: &str, message: &str) -> Option<Refusal> {
    let body = json!({ "message": message }).to_string();
    let status = StatusCode::from_u16(status).unwrap();
    match failure_of(status, &HeaderMap::new(), body.as_bytes(), path) {
        Failure::Refused(refusal, _) => Some(refusal),
        Failure::Limited { .. } | Failure::Stumbled(_) => None,
    }
}

#[test]
fn each_refusal_has_its_name() {
    let issue = "/repos/o/r/issues/1";
    let commits = "/repos/o/r/git/commits";
    let archived = "Repository was archived so is read-only.";
    let not_accessible = "Resource not accessible by personal access token";
    let table = [
        (401, issue, "Bad credentials", Refusal::Unauthorised),
        (
            403,
            issue,
            "Must have admin rights to Repository.",
            Refusal::Forbidden,
        ),
        (403, issue, archived, Refusal::RepositoryArchived),
        (403, commits, not_accessible, Refusal::NoContentsWrite),
        (403, issue, not_accessible, Refusal::Forbidden),
        (404, issue, "Not Found", Refusal::NotFound),
        (410, issue, "This issue was deleted", Refusal::NotFound),
        (
            409,
            issue,
            "Head branch was modified. Review and try the merge again.",
            Refusal::Stale,
        ),
        (
            409,
            commits,
            "Git Repository is empty.",
            Refusal::RepositoryEmpty,
        ),
        (422, issue, "Reference already exists", Refusal::Exists),
        (422, issue, "Validation Failed", Refusal::Invalid),
        (
            405,
            issue,
            "Pull Request is not mergeable",
            Refusal::Invalid,
        ),
        (400, issue, "Problems parsing JSON", Refusal::Invalid),
    ];
    for (status, path, message, wanted) in table {
        assert_eq!(
            refusal(status, path, message),
            Some(wanted),
            "{status} {message}"
        );
    }
}

#[test]
fn the_whole_reason_is_kept() {
    let body = json!({
        "message": "Validation Failed",
        "errors": [
            { "message": "A pull request already exists for o:issue-1." },
            { "resource": "Label", "code": "already_exists", "field": "name" },
            "plain",
        ],
    });
    let failure = failure_of(
        StatusCode::UNPROCESSABLE_ENTITY,
        &HeaderMap::new(),
        body.to_string().as_bytes(),
        "/",
    );
    let text = "Validation Failed; A pull request already exists for o:issue-1.; \
                Label name already_exists; plain";
    assert_eq!(failure, Failure::Refused(Refusal::Exists, text.to_owned()));
}

#[test]
fn a_server_error_is_neither_yes_nor_no() {
    for status in [500, 502, 503, 504, 408] {
        let status = StatusCode::from_u16(status).unwrap();
        let failure = failure_of(status, &HeaderMap::new(), b"<html>", "/");
        assert!(matches!(failure, Failure::Stumbled(_)), "{status}");
    }
}

#[test]
fn each_sign_of_a_rate_limit_is_seen() {
    let date = ("date", "Mon, 30 Nov 2026 12:00:00 GMT");
    let reset = (chrono::DateTime::parse_from_rfc3339("2026-11-30T12:05:00Z").unwrap())
        .timestamp()
        .to_string();
    let secondary = "You have exceeded a secondary rate limit.";
    let spent = [
        date,
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", reset.as_str()),
    ];
    let table: [(u16, HeaderMap, &str, Option<u64>); 6] = [
        (403, headers(&spent), "API rate limit exceeded", Some(301)),
        (
            403,
            headers(&[date, ("retry-after", "30")]),
            "anything",
            Some(30),
        ),
        (
            429,
            headers(&[date, ("retry-after", "Mon, 30 Nov 2026 12:01:00 GMT")]),
            "",
            Some(60),
        ),
        (429, headers(&[date]), "", None),
        (403, headers(&[date]), secondary, None),
        // A secondary limit has nothing to do with the budget's reset.
        (403, headers(&spent), secondary, None),
    ];
    for (status, headers, message, wanted) in table {
        let body = json!({ "message": message }).to_string();
        let status = StatusCode::from_u16(status).unwrap();
        match failure_of(status, &headers, body.as_bytes(), "/") {
            Failure::Limited { wait, .. } => {
                assert_eq!(wait, wanted.map(Duration::from_secs), "{status} {message}");
            }
            other @ (Failure::Refused(..) | Failure::Stumbled(_)) => {
                panic!("{status} {message}: {other:?}")
            }
        }
    }
}

#[test]
fn a_rate_limit_that_cannot_be_is_cut_to_one_that_can() {
    let date = ("date", "Mon, 30 Nov 2026 12:00:00 GMT");
    let spent = ("x-ratelimit-remaining", "0");
    let table = [
        (("retry-after", "31536000"), RATE_LIMIT_WAIT_MAX),
        (("retry-after", "9999999999999"), RATE_LIMIT_WAIT_MAX),
        (("retry-after", "18446744073709551615"), RATE_LIMIT_WAIT_MAX),
        (
            ("retry-after", "Tue, 30 Nov 9999 12:00:00 GMT"),
            RATE_LIMIT_WAIT_MAX,
        ),
        (("x-ratelimit-reset", "99999999999999"), RATE_LIMIT_WAIT_MAX),
        (
            ("x-ratelimit-reset", "9223372036854775807"),
            RATE_LIMIT_WAIT_MAX,
        ),
        (
            ("x-ratelimit-reset", "-9223372036854775808"),
            Duration::from_secs(1),
        ),
    ];
    for (header, wanted) in table {
        let headers = headers(&[date, spent, header]);
        let failure = failure_of(StatusCode::FORBIDDEN, &headers, b"{}", "/");
        let wait = match failure {
            Failure::Limited { wait, .. } => wait,
            other @ (Failure::Refused(..) | Failure::Stumbled(_)) => panic!("{other:?}"),
        };
        assert_eq!(wait, Some(wanted), "{header:?}");
    }
}

fn graphql(error: serde_json::Value) -> Failure {
    let error: GraphqlError = serde_json::from_value(error).unwrap();
    graphql_failure(&[error], &HeaderMap::new()).unwrap()
}

#[test]
fn graphql_errors_are_told_apart() {
    let table = [
        ("NOT_FOUND", Refusal::NotFound),
        ("FORBIDDEN", Refusal::Forbidden),
        ("INSUFFICIENT_SCOPES", Refusal::Forbidden),
        ("STALE_DATA", Refusal::Stale),
        ("UNPROCESSABLE", Refusal::Invalid),
    ];
    for (kind, wanted) in table {
        let failure = graphql(json!({ "type": kind, "message": "m" }));
        assert_eq!(failure, Failure::Refused(wanted, "m".to_owned()), "{kind}");
    }
    assert!(matches!(
        graphql(json!({ "type": "RATE_LIMITED", "message": "API rate limit exceeded" })),
        Failure::Limited { wait: None, .. }
    ));
    assert!(matches!(
        graphql(json!({ "message": "Something went wrong while executing your query." })),
        Failure::Stumbled(_)
    ));
    assert!(matches!(
        graphql(json!({ "message": "Field 'updateRefs' doesn't exist on type 'Mutation'" })),
        Failure::Refused(Refusal::Invalid, _)
    ));
}

#[test]
fn only_a_missing_issue_is_an_absence() {
    let missing = |path: serde_json::Value| {
        let error = json!({ "type": "NOT_FOUND", "path": path, "message": "m" });
        serde_json::from_value::<GraphqlError>(error)
            .unwrap()
            .is_missing_thing()
    };
    assert!(missing(json!(["repository", "issue"])));
    assert!(!missing(json!(["repository"])));
    assert!(!missing(json!(["repository", "issue", "author"])));
}
