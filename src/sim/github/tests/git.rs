//! git's transport.

use std::path::Path;
use std::process::{Command, Output};

use super::super::model::{Access, Ban};
use super::super::{Fault, FaultPlan, Op};
use super::http_fixture::{Served, served};
use crate::model::pr::PrState;

#[expect(
    clippy::disallowed_methods,
    reason = "a client of the server under test"
)]
fn git_raw(folder: &Path, args: &[String]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=op", "-c", "user.email=op@example.org"])
        .args(["-c", "credential.helper=", "-c", "core.hooksPath=/dev/null"])
        .args(args)
        .current_dir(folder)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap()
}

async fn git(folder: &Path, args: &[&str]) -> Output {
    let (folder, args) = (
        folder.to_owned(),
        args.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>(),
    );
    tokio::task::spawn_blocking(move || git_raw(&folder, &args))
        .await
        .unwrap()
}

async fn done(folder: &Path, args: &[&str]) {
    let output = git(folder, args).await;
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn url(s: &Served, token: &str) -> String {
    let place = s
        .serving
        .url()
        .replace("http://", &format!("http://x-access-token:{token}@"));
    format!("{place}/acme/widget.git")
}

/// A clone with one commit on `issue-1`.
async fn clone(s: &Served) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    done(dir.path(), &["clone", "-q", &url(s, &s.token), "."]).await;
    done(dir.path(), &["switch", "-q", "-c", "issue-1"]).await;
    std::fs::write(dir.path().join("b.txt"), "b\n".repeat(100_000)).unwrap();
    done(dir.path(), &["add", "."]).await;
    done(dir.path(), &["commit", "-q", "-m", "b"]).await;
    dir
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_pushes_and_the_pull_request_follows() {
    let s = served().await;
    let clone = clone(&s).await;
    done(clone.path(), &["push", "-q", "origin", "issue-1"]).await;
    let n = s.f.repo.open_pr("op", "PR", "issue-1", "main").unwrap();
    done(
        clone.path(),
        &["commit", "-q", "--allow-empty", "-m", "more"],
    )
    .await;
    done(clone.path(), &["push", "-q", "origin", "issue-1"]).await;
    let head = s.f.repo.ref_id("refs/heads/issue-1").unwrap().unwrap();
    let pr = s.f.look(1).await.prs.remove(0);
    assert_eq!(
        (pr.number.0, pr.head_sha.as_str(), pr.state),
        (n, head.as_str(), PrState::Open)
    );
    done(
        clone.path(),
        &["push", "-q", "origin", "HEAD:refs/leases/wip/issue-1"],
    )
    .await;
    let wip = s.f.repo.ref_id("refs/leases/wip/issue-1").unwrap();
    assert_eq!(wip.as_deref(), Some(head.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_on_the_remote_branch_is_kept() {
    let s = served().await;
    let clone = clone(&s).await;
    done(clone.path(), &["push", "-q", "origin", "issue-1"]).await;
    s.f.repo
        .push_commit("eve", "issue-1", &[("c.txt", "c\n")])
        .unwrap();
    done(clone.path(), &["commit", "-q", "--amend", "-m", "other"]).await;
    let old = "--force-with-lease=issue-1:HEAD@{1}";
    assert!(
        !git(clone.path(), &["push", "-q", old, "origin", "issue-1"])
            .await
            .status
            .success()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_push_does_not() {
    let s = served().await;
    let clone = clone(&s).await;
    let eve = s.f.sim.token_for("eve");
    for token in [eve.as_str(), "nonsense"] {
        let output = git(clone.path(), &["push", "-q", &url(&s, token), "issue-1"]).await;
        assert!(!output.status.success(), "{token}");
    }
    let open = format!("{}/acme/widget.git", s.serving.url());
    done(clone.path(), &["ls-remote", "-q", &open]).await;
    assert!(
        !git(clone.path(), &["push", "-q", &open, "issue-1"])
            .await
            .status
            .success()
    );
    s.f.repo.make_private();
    assert!(
        !git(clone.path(), &["ls-remote", "-q", &open])
            .await
            .status
            .success()
    );
    s.f.repo.set_access("eve", Access::Write);
    done(clone.path(), &["push", "-q", &url(&s, &eve), "issue-1"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forbidden_refs_are_refused_to_pushes_too() {
    let s = served().await;
    let clone = clone(&s).await;
    s.f.repo.ban(Ban::OtherRefs).unwrap();
    let push = ["push", "-q", "origin", "HEAD:refs/leases/issue-1"];
    assert!(!git(clone.path(), &push).await.status.success());
    done(clone.path(), &["push", "-q", "origin", "issue-1"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_whose_answer_is_cut_is_done_all_the_same() {
    let s = served().await;
    let clone = clone(&s).await;
    s.f.sim
        .set_faults(FaultPlan::next(Op::GitPush, 1, Fault::CutAfter));
    assert!(
        !git(clone.path(), &["push", "-q", "origin", "issue-1"])
            .await
            .status
            .success()
    );
    assert!(s.f.repo.ref_id("refs/heads/issue-1").unwrap().is_some());
}
