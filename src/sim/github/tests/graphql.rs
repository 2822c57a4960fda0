//! GraphQL: the shapes of the documents, pages, the compare-and-swap.

use serde_json::{Value, json};

use super::super::model::Ban;
use super::http_fixture::{Served, served};

#[tokio::test]
async fn update_refs_compares_and_swaps_and_can_be_missing() {
    let s = served().await;
    let (one, two) = (s.f.commit("one", None).await, s.f.commit("two", None).await);
    let facts = s.graphql("Facts", json!({})).await;
    let id = facts.body["data"]["repository"]["id"].clone();
    let zeros = "0".repeat(40);
    let swap = |before: &str, after: &str| {
        let update = json!({ "name": "refs/leases/issue-1", "beforeOid": before, "afterOid": after, "force": true });
        json!({ "repository": id, "updates": [update] })
    };
    let got = s.graphql("SwapRefs", swap(&zeros, one.as_str())).await;
    assert!(got.body.get("errors").is_none(), "{got:?}");
    for (before, kind) in [
        (zeros.as_str(), "UNPROCESSABLE"),
        (two.as_str(), "STALE_DATA"),
    ] {
        let got = s.graphql("SwapRefs", swap(before, two.as_str())).await;
        assert_eq!(
            (got.status, &got.body["errors"][0]["type"]),
            (200, &json!(kind))
        );
    }
    assert_eq!(
        s.f.repo.ref_id("refs/leases/issue-1").unwrap(),
        Some(one.to_string())
    );
    s.f.repo.ban(Ban::UpdateRefs).unwrap();
    let got = s.graphql("SwapRefs", swap(one.as_str(), &zeros)).await;
    assert_eq!(
        got.body["errors"][0]["extensions"]["code"],
        "undefinedField"
    );
    assert!(got.body.get("data").is_none());
}

#[tokio::test]
async fn mutations_of_one_document_are_done_and_refused_each_for_itself() {
    let s = served().await;
    let n = s.f.issue("text");
    let comment = s.f.repo.comment("op", n, "one").unwrap();
    let got = s.graphql("Look", look(n)).await;
    let issue = got.body["data"]["repository"]["issue"].clone();
    let node = issue["comments"]["nodes"][0]["id"].clone();
    assert_eq!(node, format!("IC_{comment}"));
    let write = |body: &str, comment: &Value| {
        let issue = &issue["id"];
        json!({ "issue": issue, "body": body, "comment": comment, "text": "two" })
    };
    let got = s.graphql("WriteState", write("new", &node)).await;
    let done = json!({
        "updateIssue": { "issue": { "body": "new" } },
        "updateIssueComment": { "issueComment": { "id": node } },
    });
    assert_eq!(got.body, json!({ "data": done }));
    let gone = json!("IC_9");
    let long = "x".repeat(65_537);
    let got = s.graphql("WriteState", write(&long, &gone)).await;
    let nothing = json!({ "updateIssue": null, "updateIssueComment": null });
    assert_eq!(got.body["data"], nothing);
    let errors = got.body["errors"].as_array().unwrap().iter();
    let kinds: Vec<Value> = errors
        .map(|one| json!([one["path"][0], one["type"]]))
        .collect();
    let wanted = [
        json!(["updateIssue", "UNPROCESSABLE"]),
        json!(["updateIssueComment", "NOT_FOUND"]),
    ];
    assert_eq!(kinds, wanted);
    let got = s.graphql("WriteAndClose", write("last", &gone)).await;
    assert_eq!(got.body["data"]["updateIssue"]["issue"]["body"], "last");
    assert!(!s.f.repo.issue(n).unwrap().open);
}

pub(super) fn look(issue: u64) -> Value {
    json!({
        "issue": issue, "branch": "issue-1", "base": "main", "withMerge": false, "merge": null,
        "r0": "refs/heads/main", "r1": "refs/leases/issue-1",
    })
}

#[tokio::test]
async fn a_look_has_the_shape_of_its_document() {
    let s = served().await;
    let n = s.f.issue("text");
    s.f.repo.comment("helper[bot]", n, "hi").unwrap();
    let head =
        s.f.repo
            .push_commit("op", "issue-1", &[("b.txt", "b\n")])
            .unwrap();
    s.f.repo.open_pr("op", "PR", "issue-1", "main").unwrap();
    let got = s.graphql("Look", look(n)).await;
    assert!(got.body.get("errors").is_none(), "{got:?}");
    let repo = &got.body["data"]["repository"];
    assert_eq!(
        repo["issue"]["comments"]["nodes"][0]["author"],
        json!({ "__typename": "Bot", "login": "helper" })
    );
    assert_eq!(
        repo["issue"]["timelineItems"]["nodes"][0]["label"]["name"],
        "status: idle"
    );
    assert_eq!(
        repo["pullRequests"]["nodes"][0]["headRefOid"],
        head.as_str()
    );
    assert_eq!(
        repo["pullRequests"]["nodes"][0]["statusCheckRollup"],
        Value::Null
    );
    assert_eq!(repo["r0"]["target"]["oid"], repo["base"]["target"]["oid"]);
    assert_eq!(repo["r1"], Value::Null);
    assert!(repo.get("mergeCommit").is_none());
    let got = s.graphql("Look", look(99)).await;
    assert_eq!(
        got.body["errors"][0]["path"],
        json!(["repository", "issue"])
    );
    assert_eq!(got.body["data"]["repository"]["issue"], Value::Null);
}

async fn pages(s: &Served, operation: &str, place: &str, variables: Value) -> usize {
    let (mut count, mut cursor) = (0, json!("cursor:0"));
    loop {
        let mut all = variables.clone();
        all["after"] = cursor;
        let got = s.graphql(operation, all).await;
        let list = got
            .body
            .pointer(&format!("/data/repository/{place}"))
            .cloned();
        let list = list.unwrap_or_else(|| panic!("{got:?}"));
        count += list["nodes"].as_array().unwrap().len();
        if list["pageInfo"]["hasNextPage"] != true {
            return count;
        }
        cursor = list["pageInfo"]["endCursor"].clone();
    }
}

#[tokio::test]
async fn long_lists_go_on_page_by_page() {
    let s = served().await;
    s.f.sim.set_page_max(2);
    let n = s.f.issue("0");
    let head =
        s.f.repo
            .push_commit("op", "issue-1", &[("b.txt", "b\n")])
            .unwrap();
    let pr = s.f.repo.open_pr("op", "PR", "issue-1", "main").unwrap();
    for i in 1..5 {
        s.f.repo.edit_body("acme", n, &format!("{i}")).unwrap();
        s.f.repo.edit_title("acme", n, &format!("{i}")).unwrap();
        s.f.repo.comment("eve", n, "hi").unwrap();
        s.f.repo.review("eve", pr, "COMMENTED", "hm").unwrap();
        s.f.repo
            .set_check(head.as_str(), &format!("ci {i}"), "queued", None)
            .unwrap();
    }
    let issue = json!({ "issue": n });
    assert_eq!(
        pages(&s, "EditsPage", "issue/userContentEdits", issue.clone()).await,
        5
    );
    assert_eq!(
        pages(&s, "TimelinePage", "issue/timelineItems", issue.clone()).await,
        5
    );
    assert_eq!(pages(&s, "CommentsPage", "issue/comments", issue).await, 4);
    assert_eq!(
        pages(
            &s,
            "ReviewsPage",
            "pullRequest/reviews",
            json!({ "pr": pr })
        )
        .await,
        4
    );
    let checks = "object/statusCheckRollup/contexts";
    assert_eq!(
        pages(&s, "ChecksPage", checks, json!({ "commit": head.as_str() })).await,
        4
    );
    assert_eq!(
        pages(
            &s,
            "PrsPage",
            "pullRequests",
            json!({ "branch": "issue-1" })
        )
        .await,
        1
    );
    let got = s
        .graphql("Leases", json!({ "r0": "refs/heads/main" }))
        .await;
    assert_eq!(
        got.body["data"]["repository"]["r0"]["target"]["message"],
        "Initial commit"
    );
    let edits = s
        .graphql("EditsPage", json!({ "issue": n, "after": "cursor:0" }))
        .await;
    let newest = &edits.body["data"]["repository"]["issue"]["userContentEdits"]["nodes"][0];
    assert_eq!(newest["diff"], "4", "newest first");
}
