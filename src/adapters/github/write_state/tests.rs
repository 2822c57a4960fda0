//! What each answer to a state write means.

use http::HeaderMap;
use serde_json::{Value, json};

use super::super::answers::{Failure, GraphqlError};
use super::{Parts, parts};
use crate::ports::Refusal;

fn read(data: Value, errors: Value) -> Result<Parts, Failure> {
    let errors: Vec<GraphqlError> = serde_json::from_value(errors).unwrap();
    parts(data, &errors, &HeaderMap::new())
}

fn error(kind: &str) -> Value {
    json!({ "type": kind, "message": "no", "path": ["updateIssue"] })
}

fn issue() -> Value {
    json!({ "issue": { "body": "b" } })
}

fn comment() -> Value {
    json!({ "issueComment": { "id": "IC_1" } })
}

#[test]
fn both_parts_make_a_write() {
    let data = json!({ "updateIssue": issue(), "updateIssueComment": comment() });
    assert!(matches!(read(data, json!([])), Ok(Parts::Both(body)) if body == "b"));
}

#[test]
fn one_part_is_half_whatever_the_error_says() {
    let first = json!({ "updateIssue": issue(), "updateIssueComment": null });
    let second = json!({ "updateIssue": null, "updateIssueComment": comment() });
    // Done, but its answer is kept from us.
    let hidden = json!({ "updateIssue": { "issue": null }, "updateIssueComment": null });
    for data in [first, second, hidden] {
        for (kind, wanted) in [
            ("NOT_FOUND", false),
            ("RATE_LIMITED", false),
            ("STALE_DATA", false),
            ("FORBIDDEN", true),
        ] {
            let found = read(data.clone(), json!([error(kind)]));
            let half = matches!(found, Ok(Parts::Half { forbidden, .. }) if forbidden == wanted);
            assert!(half, "{kind} {data}");
        }
    }
}

#[test]
fn no_part_is_what_the_errors_say() {
    let nothing = json!({ "updateIssue": null, "updateIssueComment": null });
    for (kind, wanted) in [
        ("FORBIDDEN", Refusal::Forbidden),
        ("NOT_FOUND", Refusal::NotFound),
        ("UNPROCESSABLE", Refusal::Invalid),
    ] {
        let found = read(nothing.clone(), json!([error(kind), error(kind)]));
        let refused = matches!(found, Err(Failure::Refused(refusal, _)) if refusal == wanted);
        assert!(refused, "{kind}");
    }
    let found = read(nothing, json!([error("RATE_LIMITED")]));
    assert!(matches!(found, Err(Failure::Limited { .. })));
}

#[test]
fn a_document_that_the_server_does_not_know_is_not_supported() {
    let words = "Field 'updateIssue' doesn't exist on type 'Mutation'";
    let errors = json!([{ "message": words, "path": ["mutation WriteState", "updateIssue"] }]);
    assert!(matches!(read(Value::Null, errors), Ok(Parts::NotSupported)));
    let errors = json!([{ "message": "Something went wrong while executing your query." }]);
    assert!(matches!(
        read(Value::Null, errors),
        Err(Failure::Stumbled(_))
    ));
}

#[test]
fn an_answer_with_a_gap_and_no_error_tells_nothing() {
    for data in [
        Value::Null,
        json!({}),
        json!({ "updateIssue": issue(), "updateIssueComment": null }),
        json!({ "updateIssue": { "issue": null }, "updateIssueComment": comment() }),
        json!("text"),
    ] {
        let found = read(data.clone(), json!([]));
        assert!(matches!(found, Err(Failure::Stumbled(_))), "{data}");
    }
}
