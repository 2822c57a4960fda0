//! The look: whole or an error.

use std::collections::BTreeMap;

use ghswarm::model::checks::CheckOutcome;
use ghswarm::model::ids::{BranchName, IssueNumber, RefName};
use ghswarm::ports::github::{GitHub, LookAt};
use ghswarm::ports::{PortError, Refusal};
use serde_json::{Value, json};

use super::{ok, setup, sha};

fn list(nodes: Value, cursor: Option<&str>) -> Value {
    json!({
        "nodes": nodes,
        "pageInfo": { "hasNextPage": cursor.is_some(), "endCursor": cursor },
    })
}

fn comment(id: u64) -> Value {
    json!({
        "id": format!("IC_{id}"), "databaseId": id, "body": "b", "createdAt": "2026-11-30T11:00:00Z", "lastEditedAt": null,
        "url": "u", "authorAssociation": "OWNER", "author": null, "editor": null,
    })
}

fn check(name: &str) -> Value {
    json!({
        "__typename": "CheckRun", "databaseId": 5, "name": name, "status": "COMPLETED",
        "conclusion": "SUCCESS", "completedAt": "2026-11-30T11:00:00Z", "detailsUrl": null,
        "checkSuite": { "app": { "databaseId": 15368 }, "workflowRun": { "databaseId": 6 } },
    })
}

fn issue() -> Value {
    json!({
        "id": "I_1", "number": 1, "title": "t", "body": "b", "state": "OPEN",
        "createdAt": "2026-11-30T10:00:00Z", "updatedAt": "2026-11-30T11:00:00Z", "url": "u",
        "authorAssociation": "NEW_WORD", "author": { "__typename": "User", "login": "ann" },
        "milestone": null, "labels": list(json!([{ "name": "status: idle" }]), None),
        "assignees": list(json!([]), None), "userContentEdits": null,
        "timelineItems": list(json!([
            { "__typename": "LabeledEvent", "createdAt": "2026-11-30T10:00:00Z", "actor": null,
              "label": { "name": "status: idle" } },
            { "__typename": "RenamedTitleEvent", "createdAt": "2026-11-30T10:01:00Z",
              "actor": { "__typename": "User", "login": "ann" } },
        ]), None),
        "comments": list(json!([comment(1)]), Some("c1")),
        "closedByPullRequestsReferences": list(json!([
            { "number": 8, "url": "u", "headRefName": "fix", "headRepository": null },
        ]), None),
    })
}

fn pr() -> Value {
    json!({
        "id": "PR_7", "number": 7, "state": "OPEN", "isDraft": false, "headRefName": "issue-1",
        "headRefOid": sha('a').as_str(), "headRepository": { "databaseId": 9 },
        "baseRefName": "main", "mergeable": "MERGEABLE", "mergeStateStatus": "BEHIND",
        "reviewDecision": null, "isMergeQueueEnabled": false, "mergeQueueEntry": null, "url": "u", "createdAt": "2026-11-30T11:00:00Z",
        "mergedAt": null, "mergeCommit": null, "author": null, "assignees": { "nodes": [] },
        "reviews": list(json!([]), None),
        "statusCheckRollup": { "contexts": list(json!([check("one")]), Some("k1")) },
    })
}

fn repository() -> Value {
    json!({
        "issue": issue(),
        "pullRequests": list(json!([pr()]), None),
        "base": { "target": { "oid": sha('b').as_str(), "tree": { "oid": sha('c').as_str() } } },
        "r0": { "target": { "oid": sha('d').as_str(), "message": "m",
                "committedDate": "2026-11-30T11:00:00Z" } },
        "r1": null,
        "r2": { "target": { "oid": sha('a').as_str(), "message": "m",
                "committedDate": "2026-11-30T11:00:00Z" } },
    })
}

fn at() -> LookAt {
    LookAt {
        issue: IssueNumber(1),
        branch: BranchName::new("issue-1").unwrap(),
        base: BranchName::new("main").unwrap(),
        leases: vec![RefName::new("refs/leases/issue-1").unwrap()],
        refs: vec![RefName::new("refs/leases/wip/issue-1").unwrap()],
        merge_commit: None,
    }
}

fn data(repository: Value) -> Value {
    json!({ "data": { "repository": repository } })
}

#[tokio::test]
async fn a_look_reads_every_list_to_its_end() {
    let s = setup(vec![
        ok(data(repository())),
        ok(data(
            json!({ "issue": { "comments": list(json!([comment(2)]), Some("c2")) } }),
        )),
        ok(data(
            json!({ "issue": { "comments": list(json!([comment(3)]), None) } }),
        )),
        ok(data(json!({ "object": { "statusCheckRollup": {
            "contexts": list(json!([
                { "__typename": "StatusContext", "context": "red", "state": "FAILURE",
                  "description": "d", "targetUrl": null },
            ]), None),
        }}}))),
    ])
    .await;
    let look = s.github.look(&at()).await.unwrap();
    assert_eq!(
        look.at,
        "2026-11-30T12:00:00Z"
            .parse::<chrono::DateTime<chrono::Utc>>()
            .unwrap()
    );
    assert_eq!(
        look.comments.iter().map(|c| c.id.0).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert_eq!(look.prs[0].checks.checks[1].outcome, CheckOutcome::Failure);
    assert_eq!(look.prs[0].checks.sha, sha('a'));
    assert_eq!((look.labelled.len(), look.renames.len()), (1, 1));
    assert_eq!(look.issue.unwrap().linked_prs[0].number.0, 8);
    assert_eq!(look.base.unwrap().tree, sha('c'));
    assert_eq!(look.leases[&at().leases[0]].oid, sha('d'));
    let branch = RefName::of_branch(&at().branch);
    assert_eq!(look.refs, BTreeMap::from([(branch, sha('a'))]));
    let asked = s.server.asked();
    assert_eq!(asked[1].json()["operationName"], "CommentsPage");
    assert_eq!(asked[1].json()["variables"]["after"], "c1");
    assert_eq!(asked[3].json()["operationName"], "ChecksPage");
    assert_eq!(asked[3].json()["variables"]["commit"], sha('a').as_str());
}

#[tokio::test]
async fn an_issue_that_is_gone_is_none_and_a_repository_that_is_gone_is_an_error() {
    let mut without = repository();
    without["issue"] = Value::Null;
    without["pullRequests"] = list(json!([]), None);
    let s = setup(vec![
        ok(json!({
            "data": { "repository": without },
            "errors": [{ "type": "NOT_FOUND", "path": ["repository", "issue"],
                         "message": "Could not resolve to an Issue with the number of 1." }],
        })),
        ok(json!({
            "data": { "repository": null },
            "errors": [{ "type": "NOT_FOUND", "path": ["repository"], "message": "none" }],
        })),
        ok(data(Value::Null)),
    ])
    .await;
    assert_eq!(s.github.look(&at()).await.unwrap().issue, None);
    for _ in 0..2 {
        let error = s.github.look(&at()).await.unwrap_err();
        assert_eq!(error.refusal(), Some(Refusal::NotFound), "{error}");
    }
}

#[tokio::test]
async fn a_field_that_is_missing_for_lack_of_a_right_is_not_an_empty_one() {
    let mut partial = repository();
    partial["pullRequests"]["nodes"][0]["statusCheckRollup"] = Value::Null;
    let s = setup(vec![ok(json!({
        "data": { "repository": partial },
        "errors": [{ "type": "FORBIDDEN", "message": "Resource not accessible",
                     "path": ["repository", "pullRequests", "nodes", 0, "statusCheckRollup"] }],
    }))])
    .await;
    let error = s.github.look(&at()).await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::Forbidden), "{error}");
}

#[tokio::test]
async fn a_list_with_a_hole_is_not_believed() {
    let mut holed = repository();
    holed["issue"]["comments"]["nodes"] = json!([null]);
    let s = setup((0..4).map(|_| ok(data(holed.clone()))).collect()).await;
    let error = s.github.look(&at()).await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn a_page_that_fails_fails_the_look() {
    let s = setup(vec![
        ok(data(repository())),
        ok(data(json!({ "issue": null }))),
    ])
    .await;
    let error = s.github.look(&at()).await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn reading_leases_tells_githubs_clock() {
    let s = setup(vec![ok(data(json!({
        "id": "R_1",
        "r0": { "target": { "oid": sha('d').as_str() } },
        "r1": null,
    })))])
    .await;
    let names = [at().leases[0].clone(), at().refs[0].clone()];
    let (clock, found) = s.github.read_leases(&names).await.unwrap();
    assert_eq!(
        clock,
        "2026-11-30T12:00:00Z"
            .parse::<chrono::DateTime<chrono::Utc>>()
            .unwrap()
    );
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[&names[0]].message, "",
        "what is no commit has no message"
    );
}
