//! The face over HTTP: what differs from the port, and each shape once.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::super::model::Ban;
use super::super::{Fault, FaultPlan, Op};
use super::graphql::look;
use super::http_fixture::served;

const REPO: &str = "/repos/acme/widget";

#[tokio::test]
async fn tokens_are_asked_for_and_checked() {
    let s = served().await;
    let user = s.get("/user").await;
    assert_eq!((user.status, &user.body["login"]), (200, &json!("op")));
    assert_eq!(s.get("/api/v3/user").await.body["login"], "op");
    s.f.sim.revoke(&s.token);
    let got = s.get("/user").await;
    assert_eq!(
        (got.status, &got.body["message"]),
        (401, &json!("Bad credentials"))
    );
}

#[tokio::test]
async fn answers_carry_the_servers_clock_and_the_budget() {
    let s = served().await;
    let got = s.get(REPO).await;
    assert_eq!(got.header("date"), "Fri, 02 Jan 2026 03:04:05 GMT");
    assert_eq!(got.header("x-ratelimit-remaining"), "4999");
    assert_eq!(got.body["full_name"], "acme/widget");
    assert_eq!(s.get("/repos/acme/none").await.status, 404);
}

#[tokio::test]
async fn lists_come_in_pages_with_links() {
    let s = served().await;
    for n in 0..5 {
        s.f.issue(&format!("{n}"));
    }
    let mut path = format!("{REPO}/issues?state=all&sort=updated&per_page=2");
    let mut seen = Vec::new();
    loop {
        let got = s.get(&path).await;
        seen.extend(
            got.body
                .as_array()
                .unwrap()
                .iter()
                .map(|i| i["number"].as_u64().unwrap()),
        );
        let link = got.header("link").to_owned();
        let Some(next) = link.split(", ").find(|part| part.ends_with("rel=\"next\"")) else {
            break;
        };
        let address = next.split_once('>').unwrap().0.trim_start_matches('<');
        path = address.strip_prefix(&s.serving.url()).unwrap().to_owned();
    }
    assert_eq!(seen, [5, 4, 3, 2, 1]);
}

#[tokio::test]
async fn a_matching_entity_tag_is_answered_by_304_and_costs_nothing() {
    let s = served().await;
    s.f.issue("text");
    let path = format!("{REPO}/issues?state=all");
    let tag = s.get(&path).await.header("etag").to_owned();
    let ask = || s.request(Method::GET, &path).header("if-none-match", &tag);
    let charged = s.f.sim.counts().charged;
    let got = s.send(ask()).await.unwrap();
    assert_eq!((got.status, got.body), (304, json!("")));
    assert_eq!(s.f.sim.counts().charged, charged);
    s.f.repo.comment("eve", 1, "hi").unwrap();
    assert_eq!(s.send(ask()).await.unwrap().status, 200);
}

#[tokio::test]
async fn issues_are_written_over_rest() {
    let s = served().await;
    let n = s.f.issue("text");
    let issue = format!("{REPO}/issues/{n}");
    let got = s
        .call(Method::PATCH, &issue, json!({ "body": "new" }))
        .await;
    assert_eq!((got.status, &got.body["body"]), (200, &json!("new")));
    let got = s
        .call(
            Method::POST,
            &format!("{issue}/labels"),
            json!({ "labels": ["a b"] }),
        )
        .await;
    assert_eq!(got.body.as_array().unwrap().len(), 2);
    let got = s
        .call(
            Method::DELETE,
            &format!("{issue}/labels/a%20b"),
            Value::Null,
        )
        .await;
    assert_eq!((got.status, got.body.as_array().unwrap().len()), (200, 1));
    let got = s
        .call(
            Method::DELETE,
            &format!("{issue}/labels/a%20b"),
            Value::Null,
        )
        .await;
    assert_eq!(
        (got.status, &got.body["message"]),
        (404, &json!("Label does not exist"))
    );
}

#[tokio::test]
async fn comments_and_assignees_are_written_over_rest_and_a_deleted_issue_is_gone() {
    let s = served().await;
    let n = s.f.issue("text");
    let issue = format!("{REPO}/issues/{n}");
    let got = s
        .call(
            Method::POST,
            &format!("{issue}/comments"),
            json!({ "body": "hi" }),
        )
        .await;
    assert_eq!(got.status, 201);
    let path = format!("{REPO}/issues/comments/{}", got.body["id"]);
    assert_eq!(
        s.call(Method::PATCH, &path, json!({ "body": "ho" }))
            .await
            .body["body"],
        "ho"
    );
    let got = s
        .call(
            Method::POST,
            &format!("{issue}/assignees"),
            json!({ "assignees": ["op"] }),
        )
        .await;
    assert_eq!(
        (got.status, &got.body["assignees"][0]["login"]),
        (201, &json!("op"))
    );
    let got = s
        .call(
            Method::POST,
            &format!("{REPO}/labels"),
            json!({ "name": "status: idle", "color": "ff0000" }),
        )
        .await;
    assert_eq!(
        (got.status, &got.body["errors"][0]["code"]),
        (422, &json!("already_exists"))
    );
    let closing = json!({ "state": "closed", "state_reason": "completed" });
    assert_eq!(
        s.call(Method::PATCH, &issue, closing).await.body["state"],
        "closed"
    );
    s.f.repo.delete_issue(n);
    assert_eq!(s.get(&issue).await.status, 410);
    assert_eq!(s.get(&format!("{REPO}/issues/99")).await.status, 404);
}

#[tokio::test]
async fn pull_requests_are_opened_and_merged_over_rest() {
    let s = served().await;
    let head =
        s.f.repo
            .push_commit("op", "issue-1", &[("b.txt", "b\n")])
            .unwrap();
    let new = json!({ "title": "PR", "head": "issue-1", "base": "main", "body": "" });
    let got = s
        .call(Method::POST, &format!("{REPO}/pulls"), new.clone())
        .await;
    assert_eq!(
        (got.status, &got.body["head"]["sha"]),
        (201, &json!(head.as_str()))
    );
    let pull = format!("{REPO}/pulls/{}", got.body["number"]);
    let got = s.call(Method::POST, &format!("{REPO}/pulls"), new).await;
    let words = got.body["errors"][0]["message"].as_str().unwrap();
    assert_eq!(
        (got.status, words),
        (422, "A pull request already exists for acme:issue-1.")
    );
    let merge = |sha: &str| json!({ "sha": sha, "merge_method": "squash", "commit_title": "T" });
    let path = format!("{pull}/merge");
    assert_eq!(
        s.call(Method::PUT, &path, merge(&"a".repeat(40)))
            .await
            .status,
        409
    );
    let got = s.call(Method::PUT, &path, merge(head.as_str())).await;
    assert_eq!((got.status, &got.body["merged"]), (200, &json!(true)));
    assert_eq!(
        s.call(Method::PUT, &path, merge(head.as_str()))
            .await
            .status,
        405
    );
    assert_eq!(s.get(&pull).await.body["merged"], true);
}

#[tokio::test]
async fn refs_move_over_rest_only_forward_unless_forced() {
    let s = served().await;
    let one = s.f.commit("one", None).await;
    let two = s.f.commit("two", Some(&one)).await;
    let refs = format!("{REPO}/git/refs");
    let new = json!({ "ref": "refs/leases/issue-1", "sha": one.as_str() });
    assert_eq!(s.call(Method::POST, &refs, new.clone()).await.status, 201);
    let got = s.call(Method::POST, &refs, new).await;
    assert_eq!(
        (got.status, &got.body["message"]),
        (422, &json!("Reference already exists"))
    );
    let lease = format!("{refs}/leases/issue-1");
    let to = |sha: &str| json!({ "sha": sha, "force": false });
    assert_eq!(
        s.call(Method::PATCH, &lease, to(two.as_str())).await.status,
        200
    );
    let got = s.call(Method::PATCH, &lease, to(one.as_str())).await;
    assert_eq!(
        (got.status, &got.body["message"]),
        (422, &json!("Update is not a fast forward"))
    );
    let got = s.get(&format!("{REPO}/git/ref/leases/issue-1")).await;
    assert_eq!(got.body["object"]["sha"], two.as_str());
    assert_eq!(
        s.get(&format!("{REPO}/git/matching-refs/leases/"))
            .await
            .body
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        s.get(&format!("{REPO}/git/commits/{two}")).await.body["message"],
        "two"
    );
    assert_eq!(
        s.call(Method::DELETE, &lease, Value::Null).await.status,
        204
    );
    assert_eq!(
        s.call(Method::DELETE, &lease, Value::Null).await.status,
        422
    );
    s.f.repo.ban(Ban::OtherRefs).unwrap();
    let new = json!({ "ref": "refs/leases/issue-1", "sha": one.as_str() });
    assert_eq!(s.call(Method::POST, &refs, new).await.status, 422);
}

#[tokio::test]
async fn faults_reach_the_client() {
    let s = served().await;
    let n = s.f.issue("text");
    let path = format!("{REPO}/issues/{n}/comments");
    let post = || {
        s.request(Method::POST, &path)
            .body(json!({ "body": "hi" }).to_string())
    };
    let comments = || s.f.repo.issue(n).unwrap().comments.len();
    let next = |fault| {
        s.f.sim
            .set_faults(FaultPlan::next(Op::CreateComment, 1, fault));
    };

    next(Fault::CutBefore);
    assert!(s.send(post()).await.is_err());
    assert_eq!(comments(), 0);
    next(Fault::CutAfter);
    assert!(s.send(post()).await.is_err());
    assert_eq!(comments(), 1);
    next(Fault::TruncatedJson);
    let got = s.send(post()).await.unwrap();
    assert_eq!((got.status, comments()), (201, 2));
    assert!(got.body.is_string(), "it is no JSON");
    next(Fault::RefuseBefore(502));
    assert_eq!(s.send(post()).await.unwrap().status, 502);
    next(Fault::PrimaryLimit(Duration::from_secs(60)));
    let got = s.send(post()).await.unwrap();
    assert_eq!(
        (got.status, got.header("x-ratelimit-remaining")),
        (403, "0")
    );
    next(Fault::TooMany(Duration::from_secs(7)));
    let got = s.send(post()).await.unwrap();
    assert_eq!((got.status, got.header("retry-after")), (429, "7"));
    assert_eq!(comments(), 2);
    next(Fault::Delay(Duration::from_millis(1)));
    assert_eq!(s.send(post()).await.unwrap().status, 201);
}

#[tokio::test]
async fn a_body_that_is_no_json_and_a_path_that_is_not_there_are_refused() {
    let s = served().await;
    let request = s.request(Method::POST, &format!("{REPO}/issues")).body("{");
    assert_eq!(s.send(request).await.unwrap().status, 400);
    assert_eq!(s.get("/nowhere").await.status, 404);
}

#[tokio::test]
async fn a_renamed_repository_redirects_and_keeps_its_pull_requests() {
    let s = served().await;
    s.f.repo
        .push_commit("op", "issue-1", &[("b.txt", "b\n")])
        .unwrap();
    let n = s.f.repo.open_pr("op", "PR", "issue-1", "main").unwrap();
    let renamed = s.f.repo.rename(&"acme/gadget".parse().unwrap());
    let got = s.get(&format!("{REPO}/pulls/{n}")).await;
    assert_eq!(
        (got.status, &got.body["state"]),
        (200, &json!("open")),
        "reqwest follows"
    );
    assert_eq!(got.body["base"]["repo"]["full_name"], "acme/gadget");
    let new = json!({ "title": "Over the old name" });
    let got = s.call(Method::POST, &format!("{REPO}/issues"), new).await;
    assert_eq!(got.status, 201);
    assert!(renamed.issue(n + 1).is_ok());
    let got = s.graphql("Look", look(n + 1)).await;
    assert_eq!(
        got.body["data"]["repository"]["pullRequests"]["nodes"][0]["state"],
        "OPEN"
    );
}
