//! The ways to move refs, tried one by one on a simulated GitHub: in process, and over HTTP with a real
//! clone behind `git push`.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base64::Engine as _;
use ghswarm::adapters::clock::SystemClock;
use ghswarm::adapters::git::{CliGit, CliGitSettings, HttpHeader};
use ghswarm::adapters::github::{GitHubAdapter, GitHubSettings};
use ghswarm::adapters::locks::Home;
use ghswarm::engine::probe::{
    Check, ProbeParts, ProbeReport, Verdict, probe, remember_way, remembered_way,
};
use ghswarm::model::ids::{RefName, RepoId, RepoSlug, Sha};
use ghswarm::model::lease::{RefSwap, SwapOutcome, Way};
use ghswarm::ports::backlog::Backlog as _;
use ghswarm::ports::git::PushOutcome;
use ghswarm::ports::github::{GitHub, NewCommit};
use ghswarm::ports::memory::Memory as _;
use ghswarm::ports::ref_ways::RefPush;
use ghswarm::ports::{PortResult, Refusal};
use ghswarm::sim::github::model::{Access, Ban};
use ghswarm::sim::github::{Fault, FaultPlan, Op, Seed, Serving, Sim, SimGitHub, SimRepo, serve};

use crate::adapter_github::scripted::TestClock;

struct World {
    sim: Arc<Sim>,
    repo: SimRepo,
    near: SimGitHub,
    far: Arc<GitHubAdapter>,
    git: Arc<CliGit>,
    clock: TestClock,
    _dir: tempfile::TempDir,
    _serving: Serving,
}

#[expect(clippy::disallowed_methods, reason = "the user's own git")]
fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

async fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let sim = Sim::new(dir.path().join("github"));
    sim.clock.set("2026-01-02T03:04:05Z".parse().unwrap());
    let slug: RepoSlug = "acme/widget".parse().unwrap();
    let repo = sim
        .create_repo(&slug, &Seed::Files(&[("README.md", "hello\n")]))
        .unwrap();
    repo.set_access("op", Access::Write);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let serving = serve(&sim, listener).unwrap();
    let token = sim.token_for("op");
    let settings = GitHubSettings {
        api_url: serving.url(),
        write_spacing: Duration::ZERO,
        ..GitHubSettings::new(slug, token.clone().into())
    };
    let far = GitHubAdapter::new(settings, Arc::new(TestClock::default())).unwrap();
    // Nothing of the repository is in the clone: moving refs needs its address alone.
    let clone = dir.path().join("clone");
    std::fs::create_dir(&clone).unwrap();
    git(&clone, &["init", "--quiet"]);
    let url = format!("{}/acme/widget.git", serving.url());
    git(&clone, &["remote", "add", "origin", &url]);
    let home = Home {
        path: dir.path().join("home"),
        instance: "home-a".to_owned(),
    };
    let pair = format!("x-access-token:{token}");
    let code = base64::engine::general_purpose::STANDARD.encode(pair);
    let settings = CliGitSettings {
        http_header: Some(HttpHeader {
            url: format!("{}/", serving.url()),
            header: format!("Authorization: basic {code}").into(),
        }),
        ..CliGitSettings::of(&clone, &home, RepoId(7))
    };
    let git = Arc::new(CliGit::new(settings, Arc::new(SystemClock)));
    far.push_refs_through(git.clone());
    World {
        near: repo.port("op"),
        sim,
        repo,
        far: Arc::new(far),
        git,
        clock: TestClock::default(),
        _dir: dir,
        _serving: serving,
    }
}

fn random() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("r{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

impl World {
    async fn near(&self) -> PortResult<ProbeReport> {
        let parts = ProbeParts {
            ways: &self.near,
            github: &self.near,
            backlog: &self.near,
            clock: &self.clock,
            random: &random,
        };
        probe(&parts, "leases").await
    }

    async fn far(&self) -> PortResult<ProbeReport> {
        let parts = ProbeParts {
            ways: &*self.far,
            github: &*self.far,
            backlog: &*self.far,
            clock: &self.clock,
            random: &random,
        };
        probe(&parts, "leases").await
    }

    async fn leases(&self) -> Vec<String> {
        let found = self.near.leases("leases").await.unwrap().leases;
        found.into_iter().map(|c| c.name.to_string()).collect()
    }
}

fn name(text: &str) -> RefName {
    RefName::new(text).unwrap()
}

fn swap(name: &RefName, before: Option<&Sha>, after: Option<&Sha>) -> RefSwap {
    RefSwap {
        name: name.clone(),
        before: before.cloned(),
        after: after.cloned(),
    }
}

fn working(report: &ProbeReport) -> Vec<Way> {
    let ways = report.ways.iter().filter(|way| way.works());
    ways.map(|way| way.way).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_works_on_both_faces_and_nothing_is_left() {
    let w = world().await;
    for report in [w.near().await.unwrap(), w.far().await.unwrap()] {
        assert_eq!(working(&report), Way::ALL, "{report:#?}");
        assert_eq!(report.to_remember(), Some(Way::GraphQl));
        assert_eq!(report.left, []);
    }
    assert_eq!(w.leases().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_forbidden_fails_alone_and_the_next_best_is_chosen() {
    let table: [(&[Ban], &[Way]); 4] = [
        (&[Ban::UpdateRefs], &[Way::GitPush, Way::Rest]),
        (&[Ban::UpdateRefs, Ban::Pushes], &[Way::Rest]),
        (&[Ban::UpdateRefs, Ban::RestRefs], &[Way::GitPush]),
        (&[Ban::Pushes, Ban::RestRefs], &[Way::GraphQl]),
    ];
    for (bans, wanted) in table {
        let w = world().await;
        for ban in bans {
            w.repo.ban(*ban).unwrap();
        }
        for report in [w.near().await.unwrap(), w.far().await.unwrap()] {
            assert_eq!(working(&report), wanted, "{bans:?}: {report:#?}");
            assert_eq!(report.to_remember(), wanted.first().copied());
            assert_eq!(report.left, [], "{bans:?}");
        }
        assert_eq!(w.leases().await, Vec::<String>::new(), "{bans:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_refs_outside_branches_are_forbidden_the_refusal_has_its_name() {
    let w = world().await;
    w.repo.ban(Ban::OtherRefs).unwrap();
    for report in [w.near().await.unwrap(), w.far().await.unwrap()] {
        assert_eq!(working(&report), [], "{report:#?}");
        assert_eq!(report.refusal(), Some("refs_restricted"), "{report:#?}");
        let tried = report.ways.iter().map(|way| &way.checks[1].1);
        assert!(
            tried
                .into_iter()
                .all(|verdict| *verdict == Verdict::NotTried)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_repository_is_named_before_anything_is_written() {
    let w = world().await;
    let empty = w
        .sim
        .create_repo(&"acme/empty".parse().unwrap(), &Seed::Empty)
        .unwrap();
    empty.set_access("op", Access::Write);
    let near = empty.port("op");
    let parts = ProbeParts {
        ways: &near,
        github: &near,
        backlog: &near,
        clock: &w.clock,
        random: &random,
    };
    let error = probe(&parts, "leases").await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::RepositoryEmpty));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_way_that_was_not_answered_is_open_and_no_worse_one_is_remembered() {
    let w = world().await;
    w.sim
        .set_faults(FaultPlan::next(Op::SwapRefs, 1, Fault::CutAfter));
    let report = w.far().await.unwrap();
    let (check, verdict) = &report.ways[0].checks[0];
    assert_eq!(*check, Check::Create);
    assert!(matches!(verdict, Verdict::Unanswered(_)), "{verdict:?}");
    assert_eq!(report.best(), Some(Way::GitPush));
    assert_eq!(report.to_remember(), None);
    assert_eq!(w.leases().await, Vec::<String>::new(), "it had been made");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_earlier_probe_left_goes_after_an_hour() {
    let w = world().await;
    let base = w.near.leases("leases").await.unwrap().base.unwrap();
    let commit = NewCommit {
        message: "{}".to_owned(),
        tree: base.tree,
        parents: Vec::new(),
    };
    let (sha, _) = w.near.create_commit(&commit).await.unwrap();
    let names = ["refs/leases/probe-old", "refs/leases/issue-1"].map(name);
    let made = names.clone().map(|name| swap(&name, None, Some(&sha)));
    w.near.swap_refs(&made).await.unwrap();
    w.sim.clock.advance(Duration::from_secs(3500));
    let report = w.far().await.unwrap();
    assert_eq!(report.removed, [], "another probe may still be at it");
    w.sim.clock.advance(Duration::from_secs(200));
    let report = w.far().await.unwrap();
    assert_eq!(report.removed, [names[0].clone()]);
    assert_eq!(w.leases().await, ["refs/leases/issue-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_by_git_push_is_dated_by_github_and_read_as_any_other() {
    let w = world().await;
    w.repo.ban(Ban::UpdateRefs).unwrap();
    w.repo.ban(Ban::RestRefs).unwrap();
    w.far.set_way(Way::GitPush);
    let issue = name("refs/leases/issue-1");
    let base = w.near.leases("leases").await.unwrap().base.unwrap();
    let commit = NewCommit {
        message: r#"{"v":1,"issue":1,"owner":"é","ttlMin":30}"#.to_owned(),
        tree: base.tree,
        parents: Vec::new(),
    };
    let (sha, date) = w.far.create_commit(&commit).await.unwrap();
    assert_eq!(date, w.sim.clock.now());
    let claim = [swap(&issue, None, Some(&sha))];
    assert_eq!(w.far.swap_refs(&claim).await.unwrap(), SwapOutcome::Swapped);
    let (_, seen) = w
        .far
        .read_leases(std::slice::from_ref(&issue))
        .await
        .unwrap();
    assert_eq!(seen[&issue].date, date, "not this machine's clock");
    assert_eq!(seen[&issue].message, commit.message);
    // The same claim again, since its answer was lost: it stands.
    assert_eq!(w.far.swap_refs(&claim).await.unwrap(), SwapOutcome::Swapped);
    let other = NewCommit {
        message: "{}".to_owned(),
        ..commit
    };
    let (other, _) = w.far.create_commit(&other).await.unwrap();
    let late = [swap(&issue, None, Some(&other))];
    assert_eq!(w.far.swap_refs(&late).await.unwrap(), SwapOutcome::Stale);
    let release = [swap(&issue, Some(&sha), None)];
    let released = w.far.swap_refs(&release).await.unwrap();
    assert_eq!(released, SwapOutcome::Swapped);
    assert_eq!(w.far.swap_refs(&release).await.unwrap(), SwapOutcome::Stale);
    assert_eq!(w.far.way(), Way::GitPush);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_moves_by_whatever_way_comes_next() {
    let w = world().await;
    let issue = name("refs/leases/issue-1");
    let tree = w.near.leases("leases").await.unwrap().base.unwrap().tree;
    let mut at: Option<Sha> = None;
    let ways = [
        Way::GraphQl,
        Way::GitPush,
        Way::Rest,
        Way::GitPush,
        Way::GraphQl,
        Way::Rest,
    ];
    for way in ways {
        w.far.set_way(way);
        let commit = NewCommit {
            message: random(),
            tree: tree.clone(),
            parents: at.iter().cloned().collect(),
        };
        let (next, _) = w.far.create_commit(&commit).await.unwrap();
        let step = [swap(&issue, at.as_ref(), Some(&next))];
        assert_eq!(w.far.swap_refs(&step).await.unwrap(), SwapOutcome::Swapped);
        at = Some(next);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_whose_answer_is_cut_off_is_never_called_refused() {
    let w = world().await;
    let sha = w.git.make_commit("{}", w.sim.clock.now()).await.unwrap();
    let issue = name("refs/leases/issue-1");
    let claim = [swap(&issue, None, Some(&sha))];
    w.sim
        .set_faults(FaultPlan::next(Op::GitPush, 1, Fault::CutAfter));
    // git's HTTP library sends it again on a new connection, and then comes second to itself.
    match w.git.push_refs(&claim).await {
        Ok(outcome) => assert_eq!(outcome, PushOutcome::Stale),
        Err(error) => assert_eq!(error.refusal(), None, "{error}"),
    }
    let (_, seen) = w
        .near
        .read_leases(std::slice::from_ref(&issue))
        .await
        .unwrap();
    assert_eq!(seen[&issue].oid, sha);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_pushes_at_once_one_wins() {
    let w = world().await;
    let issue = name("refs/leases/issue-1");
    let mut racers = Vec::new();
    for n in 0..4 {
        let git = w.git.clone();
        let (issue, now) = (issue.clone(), w.sim.clock.now());
        racers.push(tokio::spawn(async move {
            let sha = git.make_commit(&n.to_string(), now).await.unwrap();
            git.push_refs(&[swap(&issue, None, Some(&sha))])
                .await
                .unwrap()
        }));
    }
    let mut won = 0;
    for racer in racers {
        won += u32::from(racer.await.unwrap() == PushOutcome::Pushed);
    }
    assert_eq!(won, 1);
}

#[test]
fn the_best_way_is_remembered_and_nonsense_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let memory = ghswarm::adapters::memory::FileMemory::new(dir.path());
    assert_eq!(remembered_way(&memory), None);
    for way in Way::ALL {
        remember_way(&memory, way);
        assert_eq!(remembered_way(&memory), Some(way));
    }
    memory.save("ref_way", "\"pigeon\"");
    assert_eq!(remembered_way(&memory), None);
}
