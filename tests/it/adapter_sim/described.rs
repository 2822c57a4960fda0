//! The simulated GitHub answers as GitHub describes itself: REST against the kept part of its `OpenAPI`
//! file. What the answers *mean* is told elsewhere.

use ghswarm::ports::github::{GitHub, NewLabel};
use serde_json::Value;

use super::{World, at, world};

/// Asks for each line, `METHOD operation path [body]`, and says what GitHub's description does not
/// allow in the answer. Operations and paths begin below the repository, but for `~`.
async fn check(w: &World, calls: &str) {
    let contract: Value =
        serde_json::from_str(include_str!("../../contracts/openapi.json")).unwrap();
    let mut wrong = Vec::new();
    for call in calls.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let parts: Vec<&str> = call.splitn(4, ' ').collect();
        let (method, operation, path) = (parts[0], parts[1], parts[2]);
        let (operation, path) = match operation.strip_prefix('~') {
            Some(operation) => (operation.to_owned(), path.to_owned()),
            None => (
                format!("/repos/{{owner}}/{{repo}}{operation}"),
                format!("/repos/acme/widget{path}"),
            ),
        };
        let body = parts
            .get(3)
            .map_or(Value::Null, |body| serde_json::from_str(body).unwrap());
        let (status, answer) = w.raw(method, &path, body).await;
        assert!(
            (200..300).contains(&status),
            "{call} answered {status}: {answer}"
        );
        let responses = &contract["operations"][format!("{method} {operation}")]["responses"];
        assert!(responses.is_object(), "{call} is not in the contract");
        // 204 has no body, and the description no schema for it.
        if status == 204 {
            continue;
        }
        let mut schema = responses[status.to_string()].clone();
        assert!(schema.is_object(), "{call} answered {status}");
        schema["components"] = contract["components"].clone();
        let validator = jsonschema::draft4::new(&schema).unwrap();
        let errors = validator.iter_errors(&answer);
        wrong.extend(errors.map(|error| format!("{call}: {error} at {}", error.instance_path())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn answers_about_issues_are_those_github_describes() {
    let w = world().await;
    let label = NewLabel {
        name: "x".to_owned(),
        colour: "ededed".to_owned(),
        description: "d".to_owned(),
    };
    w.far.create_label(&label).await.unwrap();
    let id = w.repo.comment("op", 1, "c").unwrap();
    let comment =
        format!(r#"PATCH /issues/comments/{{comment_id}} /issues/comments/{id} {{"body":"d"}}"#);
    check(&w, &comment).await;
    let blocker = w.repo.open_issue("acme", "First", "", &[]).unwrap();
    w.repo.block_by(1, blocker);
    w.repo.add_sub_issue(1, blocker);
    let calls = r#"
        GET ~/user /user
        GET /issues /issues
        GET /issues/{issue_number} /issues/1
        GET /issues/{issue_number}/dependencies/blocked_by /issues/1/dependencies/blocked_by
        PATCH /issues/{issue_number} /issues/1 {"body":"n"}
        POST /issues/{issue_number}/labels /issues/1/labels {"labels":["x"]}
        DELETE /issues/{issue_number}/labels/{name} /issues/1/labels/x
        POST /issues/{issue_number}/assignees /issues/1/assignees {"assignees":["op"]}
        DELETE /issues/{issue_number}/assignees /issues/1/assignees {"assignees":["op"]}
        POST /issues/{issue_number}/comments /issues/1/comments {"body":"c"}
        GET /labels /labels
        POST /labels /labels {"name":"y","color":"ededed"}
        GET /collaborators/{username}/permission /collaborators/op/permission
    "#;
    check(&w, calls).await;
}

#[tokio::test]
async fn answers_about_git_and_pull_requests_are_those_github_describes() {
    let w = world().await;
    let lease = w.lease(None).await;
    let next = w.lease(Some(&lease)).await;
    w.repo
        .push_commit("op", "issue-1", &[("a.txt", "a\n")])
        .unwrap();
    let tree = w.near.look(&at(None)).await.unwrap().base.unwrap().tree;
    let calls = r#"
        POST /git/commits /git/commits {"message":"{}","tree":"TREE","parents":[]}
        GET /git/commits/{commit_sha} /git/commits/LEASE
        POST /git/refs /git/refs {"ref":"refs/leases/slot-2","sha":"LEASE"}
        PATCH /git/refs/{ref} /git/refs/leases/slot-2 {"sha":"NEXT","force":false}
        GET /git/ref/{ref} /git/ref/leases/slot-2
        DELETE /git/refs/{ref} /git/refs/leases/slot-2
        POST /pulls /pulls {"title":"t","body":"b","head":"issue-1","base":"main"}
        PUT /pulls/{pull_number}/merge /pulls/2/merge {}
    "#;
    let calls = calls
        .replace("TREE", tree.as_str())
        .replace("LEASE", lease.as_str());
    check(&w, &calls.replace("NEXT", next.as_str())).await;
}
