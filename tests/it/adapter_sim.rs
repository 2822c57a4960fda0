//! The adapter against the simulated GitHub over HTTP: both faces of one world must say the same, the
//! answers must be those GitHub describes, and faults must end in the right kind of failure.

mod backlog;
mod described;
mod overview;
mod rules;
mod slow;
mod writing;

use std::sync::Arc;
use std::time::Duration;

use ghswarm::adapters::github::{GitHubAdapter, GitHubSettings};
use ghswarm::model::ids::{
    BranchName, ClaimId, CommentId, IssueNumber, Login, PrNumber, RefName, RepoSlug, Sha,
};
use ghswarm::model::lease::{ClaimProof, LeaseCommit, RefSwap, SwapOutcome, Way};
use ghswarm::model::repo::Permission;
use ghswarm::ports::github::{
    GitHub, IssueChange, ListCursor, Listed, Look, LookAt, MergeMethod, MergePr, NewCommit, NewPr,
};
use ghswarm::ports::{PortError, Refusal};
use ghswarm::sim::github::model::{Access, Ban};
use ghswarm::sim::github::{Fault, FaultPlan, Op, Seed, Serving, Sim, SimGitHub, SimRepo, serve};
use serde_json::{Value, json};

use crate::adapter_github::scripted::TestClock;

/// One world with both faces.
struct World {
    sim: Arc<Sim>,
    repo: SimRepo,
    /// The face in the process.
    near: SimGitHub,
    /// The face over HTTP.
    far: GitHubAdapter,
    token: String,
    serving: Serving,
    _dir: tempfile::TempDir,
}

fn slug() -> RepoSlug {
    "acme/widget".parse().unwrap()
}

async fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let sim = Sim::new(dir.path().join("github"));
    sim.clock.set("2026-01-02T03:04:05Z".parse().unwrap());
    let repo = sim
        .create_repo(&slug(), &Seed::Files(&[("README.md", "hello\n")]))
        .unwrap();
    repo.set_access("op", Access::Write);
    repo.open_issue("acme", "Do it", "spec", &["status: idle"])
        .unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let serving = serve(&sim, listener).unwrap();
    let token = sim.token_for("op");
    let settings = GitHubSettings {
        api_url: serving.url(),
        write_spacing: Duration::ZERO,
        ..GitHubSettings::new(slug(), token.clone().into())
    };
    let far = GitHubAdapter::new(settings, Arc::new(TestClock::default())).unwrap();
    World {
        near: repo.port("op"),
        sim,
        repo,
        far,
        token,
        serving,
        _dir: dir,
    }
}

fn name(text: &str) -> RefName {
    RefName::new(text).unwrap()
}

fn at(merge_commit: Option<Sha>) -> LookAt {
    LookAt {
        issue: IssueNumber(1),
        branch: BranchName::new("issue-1").unwrap(),
        base: BranchName::new("main").unwrap(),
        leases: vec![name("refs/leases/issue-1"), name("refs/leases/slot-1")],
        refs: vec![name("refs/leases/wip/issue-1")],
        merge_commit,
    }
}

impl World {
    /// Looks through both faces, which must see the same.
    async fn look(&self, merge_commit: Option<Sha>) -> Look {
        let near = self.near.look(&at(merge_commit.clone())).await.unwrap();
        let far = self.far.look(&at(merge_commit)).await.unwrap();
        let (near, seen) = (json!(near), json!(far));
        for (part, value) in near.as_object().unwrap() {
            assert_eq!(value, &seen[part], "{part}");
        }
        far
    }

    async fn lease(&self, parent: Option<&Sha>) -> Sha {
        let tree = self.far.look(&at(None)).await.unwrap().base.unwrap().tree;
        // Two commits of one second shall not share a sha.
        let n = self.far.requests();
        let message = json!({ "v": 1, "issue": 1, "owner": "a", "ttlMin": 30, "claim": "c-1", "epoch": 1, "n": n });
        let commit = NewCommit {
            message: message.to_string(),
            tree,
            parents: parent.into_iter().cloned().collect(),
        };
        self.far.create_commit(&commit).await.unwrap().0
    }

    async fn raw(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = client
            .request(method, format!("{}{path}", self.serving.url()))
            .header("authorization", format!("Bearer {}", self.token));
        if !body.is_null() {
            request = request.body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }
}

fn swap(of: &str, before: Option<&Sha>, after: Option<&Sha>) -> RefSwap {
    RefSwap {
        name: name(of),
        before: before.cloned(),
        after: after.cloned(),
    }
}

fn proof(oid: &Sha) -> ClaimProof {
    let commit = LeaseCommit {
        name: name("refs/leases/issue-1"),
        oid: oid.clone(),
        date: "2026-01-02T03:04:05Z".parse().unwrap(),
        message: r#"{"v":1,"issue":1,"owner":"a","ttlMin":30,"claim":"c-1","epoch":1}"#.to_owned(),
    };
    ClaimProof::verify(&commit, &ClaimId::new("c-1").unwrap()).unwrap()
}

#[tokio::test]
async fn both_faces_tell_the_same_of_the_whole_life_of_an_issue() {
    let w = world().await;
    let far = &w.far;
    assert_eq!(
        far.repository().await.unwrap(),
        w.near.repository().await.unwrap()
    );
    let lease = w.lease(None).await;
    let claim = [swap("refs/leases/issue-1", None, Some(&lease))];
    for outcome in [SwapOutcome::Swapped, SwapOutcome::Stale] {
        assert_eq!(far.swap_refs(&claim).await.unwrap(), outcome);
    }
    let look = w.look(None).await;
    assert_eq!(look.leases[&name("refs/leases/issue-1")].oid, lease);
    let proof = proof(&lease);
    let one = IssueNumber(1);
    let op = Login::new("op").unwrap();
    far.add_labels(&proof, one, &["status: busy-x".to_owned()])
        .await
        .unwrap();
    far.remove_label(&proof, one, "status: idle").await.unwrap();
    far.remove_label(&proof, one, "status: idle").await.unwrap();
    far.add_assignee(&proof, 1, &op).await.unwrap();
    let id = far
        .create_comment(&proof, 1, "<!-- key --> hello")
        .await
        .unwrap();
    w.sim.clock.advance(Duration::from_secs(5));
    far.update_comment(&proof, id, "<!-- key --> again")
        .await
        .unwrap();
    let change = IssueChange {
        body: Some("new\r\ntext".to_owned()),
        ..IssueChange::default()
    };
    assert_eq!(w.look(None).await.issue.unwrap().body, "spec");
    far.update_issue(&proof, one, &change).await.unwrap();
    w.repo.edit_title("acme", 1, "Do it now").unwrap();
    let look = w.look(None).await;
    assert_eq!(look.edits.len(), 2);
    assert_eq!(look.comments[0].body, "<!-- key --> again");
    assert!(look.comments[0].edited_at.is_some());
    open_and_review(&w, &proof).await;
}

async fn open_and_review(w: &World, proof: &ClaimProof) {
    let far = &w.far;
    let head = w
        .repo
        .push_commit("op", "issue-1", &[("a.txt", "a\n")])
        .unwrap();
    let pr = NewPr {
        title: "t".to_owned(),
        body: "b".to_owned(),
        head: BranchName::new("issue-1").unwrap(),
        base: BranchName::new("main").unwrap(),
    };
    let (number, _) = far.open_pr(proof, &pr).await.unwrap();
    assert_eq!(
        far.open_pr(proof, &pr).await.unwrap_err().refusal(),
        Some(Refusal::Exists)
    );
    w.repo
        .set_check(head.as_str(), "ci", "completed", Some("success"))
        .unwrap();
    w.repo
        .set_check(head.as_str(), "slow", "in_progress", None)
        .unwrap();
    w.repo
        .set_status(head.as_str(), "lint", "failure", Some("no"))
        .unwrap();
    w.repo.review("acme", number.0, "APPROVED", "fine").unwrap();
    let look = w.look(None).await;
    assert_eq!(look.prs[0].checks.checks.len(), 3);
    assert_eq!(look.prs[0].reviews.len(), 1);
    merge_and_finish(w, proof, number, head).await;
}

async fn merge_and_finish(w: &World, proof: &ClaimProof, pr: PrNumber, head: Sha) {
    let far = &w.far;
    let mut merge = MergePr {
        pr,
        head: Sha::new("e".repeat(40)).unwrap(),
        method: MergeMethod::Squash,
        title: "t (#2)".to_owned(),
        message: "m".to_owned(),
    };
    assert_eq!(
        far.merge_pr(proof, &merge).await.unwrap_err().refusal(),
        Some(Refusal::Stale)
    );
    merge.head = head;
    let merged = far.merge_pr(proof, &merge).await.unwrap();
    w.repo
        .set_check(merged.as_str(), "ci", "completed", Some("cancelled"))
        .unwrap();
    let look = w.look(Some(merged)).await;
    assert_eq!(look.merge_checks.unwrap().checks.len(), 1);
    let close = IssueChange {
        close: true,
        ..IssueChange::default()
    };
    far.update_issue(proof, IssueNumber(1), &close)
        .await
        .unwrap();
    far.remove_assignee(proof, 1, &Login::new("op").unwrap())
        .await
        .unwrap();
    let lease = look.leases[&name("refs/leases/issue-1")].oid.clone();
    let release = [swap("refs/leases/issue-1", Some(&lease), None)];
    assert_eq!(far.swap_refs(&release).await.unwrap(), SwapOutcome::Swapped);
    let look = w.look(None).await;
    assert!(look.leases.is_empty() && !look.issue.unwrap().open);
}

#[tokio::test]
async fn small_pages_change_nothing() {
    let w = world().await;
    w.sim.set_page_max(2);
    let head = w
        .repo
        .push_commit("op", "issue-1", &[("a.txt", "a\n")])
        .unwrap();
    w.repo.open_pr("op", "t", "issue-1", "main").unwrap();
    for n in 0..5 {
        w.sim.clock.advance(Duration::from_secs(1));
        w.repo.comment("acme", 1, &format!("c{n}")).unwrap();
        w.repo.edit_body("acme", 1, &format!("b{n}")).unwrap();
        w.repo.edit_title("acme", 1, &format!("t{n}")).unwrap();
        w.repo
            .set_check(
                head.as_str(),
                &format!("ci{n}"),
                "completed",
                Some("success"),
            )
            .unwrap();
        w.repo.review("eve", 2, "COMMENTED", "x").unwrap();
        w.repo.open_issue("acme", "Another", "b", &[]).unwrap();
    }
    let look = w.look(None).await;
    let texts: Vec<&str> = look.comments.iter().map(|c| c.body.as_str()).collect();
    assert_eq!(texts, ["c0", "c1", "c2", "c3", "c4"]);
    assert_eq!((look.edits.len(), look.renames.len()), (6, 5));
    assert_eq!(
        (look.prs[0].checks.checks.len(), look.prs[0].reviews.len()),
        (5, 5)
    );
    let listed = w.far.list_issues(&ListCursor::default()).await.unwrap();
    let Listed::Issues { issues, .. } = &listed else {
        panic!("{listed:?}")
    };
    assert_eq!(issues.len(), 6, "the pull request is left out");
}

#[tokio::test]
async fn listings_of_both_faces_agree_and_idling_is_free() {
    let w = world().await;
    let mut cursor = ListCursor::default();
    for _ in 0..2 {
        let far = w.far.list_issues(&cursor).await.unwrap();
        let Listed::Issues { issues, next } = far else {
            panic!("unchanged")
        };
        let Listed::Issues { issues: near, .. } = w.near.list_issues(&cursor).await.unwrap() else {
            panic!("unchanged")
        };
        assert_eq!(issues, near);
        cursor = next;
    }
    for _ in 0..3 {
        let before = w.far.requests();
        assert_eq!(w.far.list_issues(&cursor).await.unwrap(), Listed::Unchanged);
        assert_eq!(w.far.requests() - before, 1);
    }
    w.sim.clock.advance(Duration::from_secs(60));
    w.repo.close_issue("acme", 1).unwrap();
    let listed = w.far.list_issues(&cursor).await.unwrap();
    let Listed::Issues { issues, .. } = listed else {
        panic!("unchanged")
    };
    assert!(!issues[0].open);
}

#[tokio::test]
async fn where_update_refs_is_missing_leases_live_on_rest() {
    let w = world().await;
    w.repo.ban(Ban::UpdateRefs).unwrap();
    let first = w.lease(None).await;
    let issue = "refs/leases/issue-1";
    let claim = [swap(issue, None, Some(&first))];
    assert_eq!(w.far.swap_refs(&claim).await.unwrap(), SwapOutcome::Swapped);
    assert_eq!(w.far.way(), Way::Rest);
    assert_eq!(w.far.swap_refs(&claim).await.unwrap(), SwapOutcome::Stale);
    let second = w.lease(Some(&first)).await;
    let renew = [swap(issue, Some(&first), Some(&second))];
    assert_eq!(w.far.swap_refs(&renew).await.unwrap(), SwapOutcome::Swapped);
    let third = w.lease(Some(&first)).await;
    let late = [swap(issue, Some(&first), Some(&third))];
    assert_eq!(w.far.swap_refs(&late).await.unwrap(), SwapOutcome::Stale);
    let release = [swap(issue, Some(&second), None)];
    assert_eq!(
        w.far.swap_refs(&release).await.unwrap(),
        SwapOutcome::Swapped
    );
    let (_, left) = w.far.read_leases(&[name(issue)]).await.unwrap();
    assert!(left[&name(issue)].message.contains(r#""owner":null"#));
}

#[tokio::test]
async fn refusals_have_their_names() {
    let w = world().await;
    let lease = w.lease(None).await;
    w.repo.ban(Ban::UpdateRefs).unwrap();
    w.repo.ban(Ban::OtherRefs).unwrap();
    let claim = [swap("refs/leases/issue-1", None, Some(&lease))];
    let error = w.far.swap_refs(&claim).await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::RefsRestricted), "{error}");
    assert_eq!(
        w.far.way(),
        Way::GraphQl,
        "a way that did not work either is not remembered"
    );
    let may = |login: &str| Login::new(login).unwrap();
    w.sim.add_user("eve");
    assert_eq!(
        w.far.permission(&may("op")).await.unwrap(),
        Permission::Write
    );
    assert_eq!(
        w.far.permission(&may("eve")).await.unwrap(),
        Permission::Less
    );
    assert_eq!(
        w.far.permission(&may("nobody")).await.unwrap(),
        Permission::Less
    );
    w.repo.archive();
    let error = w
        .far
        .create_comment(&proof(&lease), 1, "x")
        .await
        .unwrap_err();
    assert_eq!(
        error.refusal(),
        Some(Refusal::RepositoryArchived),
        "{error}"
    );
    w.sim.revoke(&w.token);
    let error = w.far.repository().await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::Unauthorised), "{error}");
}

#[tokio::test]
async fn each_fault_of_a_write_ends_in_the_right_kind_of_failure() {
    let minute = Duration::from_secs(60);
    let table = [
        (Fault::RefuseBefore(502), "unknown", 0),
        (Fault::CutBefore, "unknown", 0),
        (Fault::CutAfter, "unknown", 1),
        (Fault::TruncatedJson, "unknown", 1),
        (Fault::PrimaryLimit(minute), "unavailable", 0),
        (Fault::SecondaryLimit(minute), "unavailable", 0),
        (Fault::TooMany(minute), "unavailable", 0),
    ];
    for (fault, wanted, comments) in table {
        let w = world().await;
        let proof = proof(&w.lease(None).await);
        w.sim
            .set_faults(FaultPlan::next(Op::CreateComment, 1, fault.clone()));
        let kind = match w.far.create_comment(&proof, 1, "x").await {
            Ok(CommentId(_)) => "done",
            Err(PortError::Unknown { .. }) => "unknown",
            Err(PortError::Unavailable { retry_at, .. }) => {
                assert!(retry_at.is_some(), "{fault:?}");
                "unavailable"
            }
            Err(PortError::Refused { .. }) => "refused",
        };
        assert_eq!(kind, wanted, "{fault:?}");
        let seen = w.near.look(&at(None)).await.unwrap().comments.len();
        assert_eq!(seen, comments, "{fault:?}");
    }
}

#[tokio::test]
async fn a_read_outlives_a_hiccup() {
    for fault in [
        Fault::RefuseBefore(503),
        Fault::CutBefore,
        Fault::TruncatedJson,
    ] {
        let w = world().await;
        w.sim.set_faults(FaultPlan::next(Op::Look, 2, fault));
        assert!(w.far.look(&at(None)).await.unwrap().issue.is_some());
    }
}
