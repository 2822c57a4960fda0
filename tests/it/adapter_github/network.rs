//! Pages, conditions, limits, refusals, and a network that fails.

use std::sync::Arc;
use std::time::Duration;

use ghswarm::adapters::github::{GitHubAdapter, GitHubSettings};
use ghswarm::model::ids::{CommentId, IssueNumber, Login};
use ghswarm::ports::github::{GitHub, IssueChange, ListCursor, Listed, MergeMethod, MergePr};
use ghswarm::ports::{PortError, Refusal};
use serde_json::{Value, json};

use super::scripted::{Reply, TestClock};
use super::{ok, proof, settings, setup, sha, status, with_headers};

fn issue(number: u64, minute: u32) -> Value {
    json!({
        "number": number, "title": "t", "state": "open", "labels": [{ "name": "status: idle" }],
        "assignees": [{ "login": "ann" }], "milestone": { "title": "m1", "number": 1 },
        "created_at": "2026-11-30T10:00:00Z",
        "updated_at": format!("2026-11-30T11:{minute:02}:00Z"),
    })
}

fn numbers(listed: &Listed) -> Vec<u64> {
    match listed {
        Listed::Unchanged => panic!("unchanged"),
        Listed::Issues { issues, .. } => issues.iter().map(|issue| issue.number.0).collect(),
    }
}

fn next(listed: Listed) -> ListCursor {
    match listed {
        Listed::Unchanged => panic!("unchanged"),
        Listed::Issues { next, .. } => next,
    }
}

async fn a_comment(github: &GitHubAdapter) -> Result<CommentId, PortError> {
    github
        .create_comment(&proof(), 1, "<!-- first --> text")
        .await
}

#[tokio::test]
async fn all_pages_are_read_and_the_next_page_on_another_host_is_asked_of_ours() {
    let link = r#"<https://elsewhere.example/repositories/9/issues?page=2>; rel="next""#;
    let mut pull = issue(3, 20);
    pull["pull_request"] = json!({ "url": "u" });
    let s = setup(vec![
        with_headers(
            200,
            &[("link", link), ("etag", "\"a\"")],
            json!([issue(4, 30), pull]),
        ),
        ok(json!([issue(4, 30), issue(2, 10)])),
    ])
    .await;
    let listed = s.github.list_issues(&ListCursor::default()).await.unwrap();
    assert_eq!(numbers(&listed), [4, 2]);
    let asked = s.server.asked();
    assert!(
        asked[0].path.starts_with("/repos/o/r/issues?state=open&"),
        "{}",
        asked[0].path
    );
    assert_eq!(asked[1].path, "/repositories/9/issues?page=2");
    for request in &asked {
        assert_eq!(request.header("authorization"), ["Bearer t0ken"]);
        assert_eq!(request.header("user-agent").len(), 1);
    }
    let cursor = next(listed);
    assert_eq!(cursor.since, Some("2026-11-30T11:30:00Z".parse().unwrap()));
    assert_eq!(cursor.etag, None);
}

#[tokio::test]
async fn an_idle_cycle_costs_one_304() {
    let page = || with_headers(200, &[("etag", "W/\"a\"")], json!([issue(4, 30)]));
    let s = setup(vec![
        page(),
        page(),
        Reply::Http(304, Vec::new(), String::new()),
    ])
    .await;
    let cursor = next(s.github.list_issues(&ListCursor::default()).await.unwrap());
    let cursor = next(s.github.list_issues(&cursor).await.unwrap());
    let before = s.github.requests();
    assert_eq!(
        s.github.list_issues(&cursor).await.unwrap(),
        Listed::Unchanged
    );
    assert_eq!(s.github.requests() - before, 1);
    let asked = s.server.asked();
    assert!(
        asked[2]
            .path
            .contains("state=all&since=2026-11-30T11:30:00Z"),
        "{}",
        asked[2].path
    );
    assert_eq!(asked[1].header("if-none-match"), Vec::<&str>::new());
    assert_eq!(asked[2].header("if-none-match"), ["W/\"a\""]);
}

#[tokio::test]
async fn a_read_is_repeated_and_then_given_up() {
    let s = setup(vec![
        status(502, json!({})),
        Reply::Cut,
        ok(json!([{ "name": "bug" }])),
    ])
    .await;
    assert_eq!(s.github.labels().await.unwrap(), ["bug"]);
    s.server.then(vec![
        Reply::Cut,
        Reply::Cut,
        status(500, json!({})),
        Reply::Short("[".into()),
    ]);
    let error = s.github.labels().await.unwrap_err();
    assert!(
        matches!(error, PortError::Unavailable { retry_at: None, .. }),
        "{error}"
    );
    assert_eq!(s.server.asked().len(), 7);
    assert_eq!(s.clock.slept().len(), 5);
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_unknown_and_is_sent_once() {
    for reply in [
        Reply::Cut,
        Reply::Short(r#"{"id": 7"#.into()),
        Reply::Http(201, Vec::new(), r#"{"id": 7"#.into()),
        status(500, json!({ "message": "boom" })),
        status(502, json!({})),
    ] {
        let s = setup(vec![reply]).await;
        let error = a_comment(&s.github).await.unwrap_err();
        assert!(matches!(error, PortError::Unknown { .. }), "{error}");
        assert_eq!(s.server.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_write_that_was_never_sent_did_not_happen() {
    // Bound and dropped: nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let clock = Arc::new(TestClock::default());
    let github = GitHubAdapter::new(settings(&format!("http://{free}")), clock).unwrap();
    let error = a_comment(&github).await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_cut() {
    // Accepts connections into its backlog and never reads.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let settings = GitHubSettings {
        timeout: Duration::from_millis(200),
        ..settings(&url)
    };
    let github = GitHubAdapter::new(settings, Arc::new(TestClock::default())).unwrap();
    let error = a_comment(&github).await.unwrap_err();
    assert!(matches!(error, PortError::Unknown { .. }), "{error}");
}

#[tokio::test]
async fn a_rate_limit_stops_every_request_until_it_is_over() {
    let reset = ("x-ratelimit-reset", "1796040300"); // 2026-11-30T12:05:00Z
    let table = [
        (403, vec![("retry-after", "120")], 120),
        (429, vec![("retry-after", "120")], 120),
        (403, vec![("x-ratelimit-remaining", "0"), reset], 301),
    ];
    for (code, headers, seconds) in table {
        let body = json!({ "message": "API rate limit exceeded" });
        let s = setup(vec![with_headers(code, &headers, body)]).await;
        let until = "2026-11-30T13:00:00Z"
            .parse::<chrono::DateTime<chrono::Utc>>()
            .unwrap()
            + Duration::from_secs(seconds);
        for _ in 0..2 {
            let error = a_comment(&s.github).await.unwrap_err();
            let PortError::Unavailable { retry_at, .. } = error else {
                panic!("{error}")
            };
            assert_eq!(retry_at, Some(until));
        }
        let error = s.github.labels().await.unwrap_err();
        assert!(matches!(
            error,
            PortError::Unavailable {
                retry_at: Some(_),
                ..
            }
        ));
        assert_eq!(
            s.server.asked().len(),
            1,
            "nothing is sent while the limit lasts"
        );
        s.clock.pass(Duration::from_secs(seconds));
        s.server.then(vec![ok(json!([]))]);
        assert!(s.github.labels().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_secondary_limit_without_a_time_waits_longer_each_time() {
    let body = || json!({ "message": "You have exceeded a secondary rate limit. Wait." });
    let s = setup(vec![status(403, body()), status(403, body())]).await;
    let mut waits = Vec::new();
    for _ in 0..2 {
        let error = s.github.labels().await.unwrap_err();
        let PortError::Unavailable {
            retry_at: Some(at), ..
        } = error
        else {
            panic!("{error}")
        };
        let wait = (at - ghswarm::ports::clock::Clock::now(&*s.clock))
            .to_std()
            .unwrap();
        s.clock.pass(wait);
        waits.push(wait.as_secs());
    }
    assert!((60..71).contains(&waits[0]), "{waits:?}");
    assert!((120..131).contains(&waits[1]), "{waits:?}");
}

#[tokio::test]
async fn refusals_of_a_merge_have_names_and_the_whole_reason() {
    let merge = MergePr {
        pr: "12".parse().unwrap(),
        head: sha('a'),
        method: MergeMethod::Squash,
        title: "t".to_owned(),
        message: "m".to_owned(),
    };
    let table = [
        (409, "Head branch was modified.", Refusal::Stale),
        (
            405,
            "Required status check \"ci\" is expected.",
            Refusal::Invalid,
        ),
        (422, "Validation Failed", Refusal::Invalid),
        (404, "Not Found", Refusal::NotFound),
        (401, "Bad credentials", Refusal::Unauthorised),
    ];
    for (code, message, wanted) in table {
        let s = setup(vec![status(code, json!({ "message": message }))]).await;
        let error = s.github.merge_pr(&proof(), &merge).await.unwrap_err();
        assert_eq!(error.refusal(), Some(wanted), "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
    let s = setup(vec![ok(
        json!({ "sha": sha('b').as_str(), "merged": true }),
    )])
    .await;
    assert_eq!(s.github.merge_pr(&proof(), &merge).await.unwrap(), sha('b'));
    let asked = &s.server.asked()[0];
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("PUT", "/repos/o/r/pulls/12/merge")
    );
    assert_eq!(asked.json()["sha"], sha('a').as_str());
    assert_eq!(asked.json()["merge_method"], "squash");
}

#[tokio::test]
async fn what_is_there_or_gone_already_is_no_failure() {
    let exists = json!({
        "message": "Validation Failed",
        "errors": [{ "resource": "Label", "code": "already_exists", "field": "name" }],
    });
    let s = setup(vec![
        status(404, json!({ "message": "Label does not exist" })),
        status(404, json!({ "message": "Not Found" })),
        status(422, exists),
        ok(json!({ "assignees": [] })),
    ])
    .await;
    let one = IssueNumber(1);
    s.github
        .remove_label(&proof(), one, "status: idle")
        .await
        .unwrap();
    let gone = s
        .github
        .remove_label(&proof(), one, "status: idle")
        .await
        .unwrap_err();
    assert_eq!(gone.refusal(), Some(Refusal::NotFound));
    let label = ghswarm::ports::github::NewLabel {
        name: "x".to_owned(),
        colour: "ededed".to_owned(),
        description: String::new(),
    };
    s.github.create_label(&label).await.unwrap();
    let bob = Login::new("bob").unwrap();
    let refused = s.github.add_assignee(&proof(), 1, &bob).await.unwrap_err();
    assert_eq!(
        refused.refusal(),
        Some(Refusal::Invalid),
        "GitHub dropped the assignee silently"
    );
    assert_eq!(
        s.server.asked()[0].path,
        "/repos/o/r/issues/1/labels/status%3A%20idle"
    );
}

#[tokio::test]
async fn a_body_that_begins_with_a_comment_arrives_whole() {
    let text = "<!-- GHSWARM_STATE_START\r\n{}\r\nGHSWARM_STATE_END -->\r\n@text";
    let s = setup(vec![ok(json!({ "body": text }))]).await;
    let change = IssueChange {
        body: Some(text.to_owned()),
        close: true,
        comment: None,
    };
    let back = s
        .github
        .update_issue(&proof(), IssueNumber(1), &change)
        .await
        .unwrap();
    assert_eq!(back, text);
    let sent = s.server.asked()[0].json();
    assert_eq!(sent["body"], text);
    assert_eq!(
        (&sent["state"], &sent["state_reason"]),
        (&json!("closed"), &json!("completed"))
    );
}

#[tokio::test]
async fn half_a_change_has_to_be_looked_at() {
    let s = setup(vec![
        ok(json!({ "body": "new" })),
        status(404, json!({ "message": "Not Found" })),
        ok(json!({ "body": "old" })),
        status(404, json!({ "message": "Not Found" })),
    ])
    .await;
    let comment = Some((CommentId(5), "text".to_owned()));
    let both = IssueChange {
        body: Some("new".to_owned()),
        close: false,
        comment: comment.clone(),
    };
    let error = s
        .github
        .update_issue(&proof(), IssueNumber(1), &both)
        .await
        .unwrap_err();
    assert!(matches!(error, PortError::Unknown { .. }), "{error}");
    let alone = IssueChange {
        comment,
        ..IssueChange::default()
    };
    let error = s
        .github
        .update_issue(&proof(), IssueNumber(1), &alone)
        .await
        .unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::NotFound));
    assert_eq!(s.server.asked()[2].method, "GET");
}

#[tokio::test]
async fn writes_keep_their_distance() {
    let s = setup((0..3).map(|id| status(201, json!({ "id": id }))).collect()).await;
    let spaced = GitHubSettings {
        write_spacing: Duration::from_secs(1),
        ..settings(&s.server.url)
    };
    let github = GitHubAdapter::new(spaced, s.clock.clone()).unwrap();
    let (a, b, c) = tokio::join!(a_comment(&github), a_comment(&github), a_comment(&github));
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert_eq!(
        s.clock.slept(),
        [Duration::from_secs(1), Duration::from_secs(1)]
    );
}

#[tokio::test]
async fn a_renamed_repository_is_followed_but_never_to_another_host() {
    let here = [("location", "/repositories/9/labels?per_page=100")];
    let there = [("location", "https://elsewhere.example/x")];
    let s = setup(vec![
        with_headers(301, &here, json!({})),
        ok(json!([{ "name": "bug" }])),
        with_headers(
            307,
            &[("location", "/repositories/9/issues/1/comments")],
            json!({}),
        ),
        status(201, json!({ "id": 5 })),
        with_headers(307, &there, json!({})),
        with_headers(301, &there, json!({})),
    ])
    .await;
    assert_eq!(s.github.labels().await.unwrap(), ["bug"]);
    assert_eq!(a_comment(&s.github).await.unwrap(), CommentId(5));
    assert_eq!(s.server.asked()[3].method, "POST");
    assert!(s.server.asked()[3].body.contains("first"));
    assert_eq!(
        a_comment(&s.github).await.unwrap_err().refusal(),
        Some(Refusal::Invalid)
    );
    assert_eq!(
        s.github.labels().await.unwrap_err().refusal(),
        Some(Refusal::Invalid)
    );
}

#[tokio::test]
async fn a_token_that_no_header_may_carry_is_refused_without_showing_it() {
    for token in ["s3cret\nx", "s3cret\n", "", "s3cret x", "s3cret\u{e9}\u{0}"] {
        let settings = GitHubSettings {
            token: token.to_owned().into(),
            ..settings("http://127.0.0.1:1")
        };
        let error = GitHubAdapter::new(settings, Arc::new(TestClock::default()))
            .err()
            .unwrap();
        assert_eq!(error.refusal(), Some(Refusal::Unauthorised));
        assert!(!error.to_string().contains("s3cret"));
    }
}
