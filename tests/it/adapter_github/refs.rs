//! Compare-and-swap of refs, by GraphQL and by REST.

use ghswarm::model::ids::RefName;
use ghswarm::model::lease::{RefSwap, SwapOutcome, Way};
use ghswarm::ports::github::GitHub;
use ghswarm::ports::{PortError, Refusal};
use serde_json::{Value, json};

use super::scripted::Reply;
use super::{Setup, ok, setup, sha, status};

fn facts() -> Reply {
    ok(json!({ "data": {
        "viewer": { "login": "ann" },
        "repository": {
            "id": "R_1", "databaseId": 1, "nameWithOwner": "o/r", "isArchived": false,
            "isEmpty": false, "viewerPermission": "WRITE", "defaultBranchRef": { "name": "main" },
        },
    }}))
}

fn swap(name: &str, before: Option<char>, after: Option<char>) -> RefSwap {
    RefSwap {
        name: RefName::new(name).unwrap(),
        before: before.map(sha),
        after: after.map(sha),
    }
}

fn refs_at(at: &[Option<char>]) -> Reply {
    let mut repository = json!({ "id": "R_1" });
    for (index, at) in at.iter().enumerate() {
        repository[format!("r{index}")] = at.map_or(Value::Null, |digit| {
            json!({ "target": {
                "oid": sha(digit).as_str(), "message": "m",
                "committedDate": "2026-11-30T11:00:00Z",
            }})
        });
    }
    ok(json!({ "data": { "repository": repository } }))
}

fn graphql_error(kind: &str) -> Reply {
    ok(json!({ "data": { "updateRefs": null }, "errors": [{ "type": kind, "message": "no" }] }))
}

fn commit(digit: char, message: &str) -> Value {
    json!({
        "sha": sha(digit).as_str(), "message": message, "tree": { "sha": sha('f').as_str() },
        "committer": { "date": "2026-11-30T11:00:00Z" },
    })
}

/// An adapter that knows already that only REST works.
async fn rest(replies: Vec<Reply>) -> Setup {
    let s = setup(replies).await;
    s.github.set_way(Way::Rest);
    s
}

const ISSUE: &str = "refs/leases/issue-42";
const SLOT: &str = "refs/leases/slot-1";

#[tokio::test]
async fn two_refs_move_in_one_request_and_zeros_mean_absent() {
    let done = ok(json!({ "data": { "updateRefs": { "clientMutationId": null } } }));
    let s = setup(vec![facts(), done]).await;
    let swaps = [swap(ISSUE, None, Some('a')), swap(SLOT, Some('b'), None)];
    assert_eq!(
        s.github.swap_refs(&swaps).await.unwrap(),
        SwapOutcome::Swapped
    );
    let sent = s.server.asked()[1].json();
    assert_eq!(sent["variables"]["repository"], "R_1");
    let updates = &sent["variables"]["updates"];
    assert_eq!(updates[0]["beforeOid"], "0".repeat(40));
    assert_eq!(updates[0]["afterOid"], sha('a').as_str());
    assert_eq!(updates[1]["beforeOid"], sha('b').as_str());
    assert_eq!(updates[1]["afterOid"], "0".repeat(40));
    assert_eq!(s.github.way(), Way::GraphQl);
}

#[tokio::test]
async fn a_ref_that_moved_is_stale_whatever_word_github_has_for_it() {
    let one = [swap(ISSUE, Some('a'), Some('b'))];
    let s = setup(vec![facts(), graphql_error("STALE_DATA")]).await;
    assert_eq!(s.github.swap_refs(&one).await.unwrap(), SwapOutcome::Stale);
    let s = setup(vec![
        facts(),
        graphql_error("UNPROCESSABLE"),
        refs_at(&[Some('c')]),
    ])
    .await;
    assert_eq!(s.github.swap_refs(&one).await.unwrap(), SwapOutcome::Stale);
    assert_eq!(s.github.way(), Way::GraphQl);
}

#[tokio::test]
async fn where_graphql_refuses_the_operation_rest_is_used_and_remembered() {
    let s = setup(vec![
        facts(),
        graphql_error("FORBIDDEN"),
        refs_at(&[None]),
        status(201, json!({})),
        ok(json!({})),
    ])
    .await;
    let claim = [swap(ISSUE, None, Some('a'))];
    assert_eq!(
        s.github.swap_refs(&claim).await.unwrap(),
        SwapOutcome::Swapped
    );
    assert_eq!(s.github.way(), Way::Rest);
    let renew = [swap(ISSUE, Some('a'), Some('b'))];
    assert_eq!(
        s.github.swap_refs(&renew).await.unwrap(),
        SwapOutcome::Swapped
    );
    let asked = s.server.asked();
    assert_eq!(asked.len(), 5, "GraphQL is not tried again");
    assert_eq!(asked[4].path, "/repos/o/r/git/refs/leases/issue-42");
    assert_eq!(asked[4].json()["force"], false);
}

#[tokio::test]
async fn a_swap_whose_answer_is_lost_is_unknown() {
    let s = setup(vec![facts(), Reply::Cut]).await;
    let error = s
        .github
        .swap_refs(&[swap(ISSUE, None, Some('a'))])
        .await
        .unwrap_err();
    assert!(matches!(error, PortError::Unknown { .. }), "{error}");
    assert_eq!(s.server.asked().len(), 2);
}

#[tokio::test]
async fn rest_refuses_a_taken_and_a_moved_ref() {
    let s = rest(vec![status(
        422,
        json!({ "message": "Reference already exists" }),
    )])
    .await;
    let taken = [swap(ISSUE, None, Some('a'))];
    assert_eq!(
        s.github.swap_refs(&taken).await.unwrap(),
        SwapOutcome::Stale
    );
    let moved = [swap(ISSUE, Some('a'), Some('b'))];
    for message in ["Update is not a fast forward", "Reference does not exist"] {
        s.server
            .then(vec![status(422, json!({ "message": message }))]);
        assert_eq!(
            s.github.swap_refs(&moved).await.unwrap(),
            SwapOutcome::Stale
        );
    }
    s.server.then(vec![status(
        422,
        json!({ "message": "Repository rule violations found" }),
    )]);
    let error = s.github.swap_refs(&taken).await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::RefsRestricted));
}

#[tokio::test]
async fn a_release_by_rest_leaves_a_tombstone_on_top() {
    let s = rest(vec![
        ok(commit('a', "{}")),
        status(201, commit('b', "{}")),
        ok(json!({})),
    ])
    .await;
    let release = [swap(ISSUE, Some('a'), None)];
    assert_eq!(
        s.github.swap_refs(&release).await.unwrap(),
        SwapOutcome::Swapped
    );
    let asked = s.server.asked();
    let made = asked[1].json();
    assert_eq!(
        made["message"],
        r#"{"v":1,"issue":42,"owner":null,"ttlMin":0}"#
    );
    assert_eq!(made["parents"], json!([sha('a').as_str()]));
    assert_eq!(made["tree"], sha('f').as_str());
    assert_eq!(
        asked[2].json(),
        json!({ "sha": sha('b').as_str(), "force": false })
    );
}

#[tokio::test]
async fn a_branch_is_deleted_only_where_it_was_read() {
    let at = |digit| ok(json!({ "object": { "sha": sha(digit).as_str() } }));
    let s = rest(vec![
        at('b'),
        at('a'),
        Reply::Http(204, Vec::new(), String::new()),
    ])
    .await;
    let delete = [swap("refs/heads/issue-42", Some('a'), None)];
    assert_eq!(
        s.github.swap_refs(&delete).await.unwrap(),
        SwapOutcome::Stale
    );
    assert_eq!(
        s.github.swap_refs(&delete).await.unwrap(),
        SwapOutcome::Swapped
    );
    let asked = s.server.asked();
    assert_eq!(asked[2].method, "DELETE");
    assert_eq!(asked[2].path, "/repos/o/r/git/refs/heads/issue-42");
}

#[tokio::test]
async fn rest_moves_back_what_moved_when_the_second_ref_is_stale() {
    let s = rest(vec![
        status(201, json!({})),
        status(422, json!({ "message": "Update is not a fast forward" })),
        ok(commit('a', "{}")),
        status(201, commit('d', "{}")),
        ok(json!({})),
    ])
    .await;
    let swaps = [
        swap(ISSUE, None, Some('a')),
        swap(SLOT, Some('b'), Some('c')),
    ];
    assert_eq!(
        s.github.swap_refs(&swaps).await.unwrap(),
        SwapOutcome::Stale
    );
    let asked = s.server.asked();
    assert_eq!(asked.len(), 5);
    assert_eq!(asked[4].path, "/repos/o/r/git/refs/leases/issue-42");
    assert_eq!(asked[4].json()["sha"], sha('d').as_str());
}
