//! The simulated home, door by door.

mod lives;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{Repository, Signature};

use super::*;
use crate::model::claim::ClaimRecord;
use crate::model::ids::{BranchName, Epoch, IssueNumber, RefName, Sha, Timestamp};
use crate::model::run::{
    Clocks, Order, RunCommand, RunEnd, RunKey, RunKind, RunLease, RunSpec, RunStatus,
};
use crate::ports::clock::Clock as _;
use crate::ports::events::{Event, EventQuery, Events as _};
use crate::ports::folders::Folders as _;
use crate::ports::git::{Git as _, NewWorktree, Push, PushOutcome};
use crate::ports::memory::Memory as _;
use crate::ports::runs::{Runs as _, StartOutcome};
use crate::ports::{PortError, PortResult, Refusal};

const ISSUE: IssueNumber = IssueNumber(42);

struct World {
    home: SimHome,
    remote: tempfile::TempDir,
}

fn start() -> Timestamp {
    chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap()
}

fn remote() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let repo = Repository::init_bare(folder.path()).unwrap();
    let tree = repo
        .find_tree(repo.treebuilder(None).unwrap().write().unwrap())
        .unwrap();
    let who = Signature::new("Ann", "ann@example.com", &git2::Time::new(0, 0)).unwrap();
    repo.commit(Some("refs/heads/main"), &who, &who, "Start", &tree, &[])
        .unwrap();
    folder
}

fn world(faults: FaultPoints) -> World {
    let remote = remote();
    let home = SimHome::new("a", remote.path(), SimClock::at(start()), faults);
    home.script(|stage| match stage.spec().key.kind {
        RunKind::Implement => Performance::success().file("a.txt", "a\n").print("done"),
        RunKind::Review => Performance::success().review("APPROVED"),
        RunKind::Verify if !stage.has("a.txt") => Performance::failure(1).print("no a.txt"),
        RunKind::Setup | RunKind::Simplify | RunKind::Verify => Performance::success(),
    });
    World { home, remote }
}

fn branch(name: &str) -> BranchName {
    name.parse().unwrap()
}

fn record() -> ClaimRecord {
    ClaimRecord {
        repo: "acme/widget".parse().unwrap(),
        issue: ISSUE,
        claim: "c1".parse().unwrap(),
        epoch: Epoch(1),
        branch: branch("issue-42"),
        worktree: place(),
        at: start(),
        lease_oid: None,
        hand: None,
    }
}

fn place() -> PathBuf {
    PathBuf::from("/w/issue-42")
}

fn key(kind: RunKind) -> RunKey {
    RunKey {
        issue: ISSUE,
        epoch: Epoch(1),
        seq: 1,
        kind,
        again: 0,
    }
}

fn spec(kind: RunKind) -> RunSpec {
    let second = Duration::from_secs(1);
    RunSpec {
        key: key(kind),
        worktree: place(),
        commands: vec![RunCommand {
            label: "agent".to_owned(),
            shell: "agent".to_owned(),
            dir: PathBuf::new(),
            prompt_on_stdin: false,
            clocks: None,
            config: None,
            sandbox: None,
            agent: None,
        }],
        order: Order::Fallback,
        prompt: None,
        files: std::collections::BTreeMap::new(),
        tasks: vec!["Do it".to_owned()],
        fresh_files: Vec::new(),
        env: BTreeMap::new(),
        env_remove: Vec::new(),
        env_clear: None,
        clocks: Clocks {
            startup: second,
            idle: second,
            total: second,
            completion_grace: second,
            kill_grace: second,
        },
        allowance: crate::model::money::Allowance::default(),
        agent_box: None,
        head: None,
        lease: Some(RunLease {
            alias: "widget".to_owned(),
            claim: "c1".parse().unwrap(),
            refs: vec![RefName::new("refs/leases/issue-42").unwrap()],
            ttl: second,
            margin: second,
            tree: Sha::zero(),
            message: crate::model::lease::LeaseMessage::parse("{\"issue\":42}").unwrap(),
            good_since: None,
        }),
    }
}

impl World {
    async fn base(&self) -> Sha {
        self.home.git().fetch_base(&branch("main")).await.unwrap()
    }

    async fn add_worktree(&self) -> Sha {
        let start = self.base().await;
        let new = NewWorktree {
            path: place(),
            branch: branch("issue-42"),
            start: start.clone(),
        };
        self.home.git().add_worktree(&new).await.unwrap();
        start
    }

    fn status(&self, kind: RunKind) -> RunStatus {
        let facts = self.home.runs().facts(ISSUE).unwrap();
        facts
            .into_iter()
            .find(|f| f.key == key(kind))
            .unwrap()
            .status
    }

    fn remote_tip(&self, name: &str) -> Option<Sha> {
        let repo = Repository::open_bare(self.remote.path()).unwrap();
        repo.refname_to_id(name)
            .ok()
            .map(|id| Sha::new(id.to_string()).unwrap())
    }
}

#[tokio::test]
async fn a_dead_engine_gets_no_answer_and_a_new_one_finds_everything() {
    let world = world(FaultPoints::at_op(
        LocalOp::AddWorktree,
        1,
        LocalFault::CrashAfter,
    ));
    let home = &world.home;
    home.memory().save("cursor", "1");
    let guard = home.folders().lock(ISSUE).unwrap().unwrap();
    home.folders().create_claim(&record()).unwrap();
    let start = world.base().await;
    let new = NewWorktree {
        path: place(),
        branch: branch("issue-42"),
        start,
    };
    assert!(is_crash(&home.git().add_worktree(&new).await.unwrap_err()));
    assert!(is_crash(&home.folders().claim(ISSUE).unwrap_err()));
    assert!(is_crash(&home.runs().facts(ISSUE).unwrap_err()));
    assert!(is_crash(
        &home.git().fetch_base(&branch("main")).await.unwrap_err()
    ));
    home.memory().save("cursor", "2");
    home.restart();
    let new_guard = home.folders().lock(ISSUE).unwrap();
    assert!(
        new_guard.is_some(),
        "the kernel freed the dead engine's lock"
    );
    drop(guard);
    assert!(
        home.folders().lock(ISSUE).unwrap().is_none(),
        "the old guard frees no new lock"
    );
    assert_eq!(home.folders().claim(ISSUE).unwrap(), Some(record()));
    assert!(
        home.git()
            .worktree(&place(), &branch("main"))
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(home.memory().load("cursor").as_deref(), Some("1"));
}

#[tokio::test]
async fn a_claim_is_created_once_and_a_damaged_one_is_an_error() {
    let world = world(FaultPoints::none());
    let folders = world.home.folders();
    assert!(folders.create_claim(&record()).unwrap());
    assert!(!folders.create_claim(&record()).unwrap());
    assert_eq!(folders.claimed_issues().unwrap(), [ISSUE]);
    world.home.damage_claim(ISSUE);
    assert_eq!(
        folders.claim(ISSUE).unwrap_err().refusal(),
        Some(Refusal::Local)
    );
    folders.remove_claim(ISSUE).unwrap();
    assert_eq!(folders.claim(ISSUE).unwrap(), None);
    assert_eq!(folders.first_seen(ISSUE, "aa", start()).unwrap(), start());
    let later = start() + chrono::TimeDelta::hours(1);
    assert_eq!(folders.first_seen(ISSUE, "aa", later).unwrap(), start());
}

#[tokio::test]
async fn a_run_takes_as_long_as_its_script_says_and_survives_the_engine() {
    let world = world(FaultPoints::none());
    world.add_worktree().await;
    let home = &world.home;
    home.script(|stage| match stage.spec().key.kind {
        RunKind::Implement => Performance::success().takes(Takes::Time(Duration::from_secs(60))),
        RunKind::Simplify => Performance::success().takes(Takes::Looks(1)),
        RunKind::Setup | RunKind::Review | RunKind::Verify => {
            Performance::failure(3).takes(Takes::ForEver)
        }
    });
    for kind in [
        RunKind::Implement,
        RunKind::Simplify,
        RunKind::Review,
        RunKind::Verify,
    ] {
        assert_eq!(
            home.runs().start(&spec(kind)).unwrap(),
            StartOutcome::Started
        );
        assert_eq!(
            home.runs().start(&spec(kind)).unwrap(),
            StartOutcome::AlreadyThere
        );
    }
    home.kill_engine();
    home.restart();
    assert!(matches!(
        world.status(RunKind::Implement),
        RunStatus::Running { .. }
    ));
    assert!(matches!(world.status(RunKind::Simplify), RunStatus::Ended(exit) if exit.success()));
    home.clock().sleep(Duration::from_secs(60)).await;
    assert!(matches!(world.status(RunKind::Implement), RunStatus::Ended(exit) if exit.success()));
    assert_eq!(
        home.live_runs(),
        [key(RunKind::Review), key(RunKind::Verify)]
    );
    home.runs().stop(&key(RunKind::Review)).unwrap();
    assert!(
        matches!(world.status(RunKind::Review), RunStatus::Ended(e) if e.end == RunEnd::Stopped)
    );
    home.finish_run(&key(RunKind::Verify)).unwrap();
    assert!(matches!(world.status(RunKind::Verify), RunStatus::Ended(e) if e.code == Some(3)));
}

#[tokio::test]
async fn supervisors_keep_leases_until_they_are_relieved_or_dead() {
    let world = world(FaultPoints::none());
    world.add_worktree().await;
    let home = &world.home;
    home.script(|_| Performance::success().takes(Takes::ForEver));
    home.runs().start(&spec(RunKind::Implement)).unwrap();
    home.runs().relieve(ISSUE).unwrap();
    assert_eq!(home.kept_leases().len(), 1, "a running one is not relieved");
    home.finish_run(&key(RunKind::Implement)).unwrap();
    assert_eq!(home.kept_leases().len(), 1);
    home.runs().relieve(ISSUE).unwrap();
    assert_eq!(home.kept_leases(), []);
    home.runs().start(&spec(RunKind::Review)).unwrap();
    home.power_cut();
    assert_eq!(home.kept_leases(), []);
    assert!(
        matches!(world.status(RunKind::Review), RunStatus::Ended(e) if e.end == RunEnd::SupervisorDied)
    );
}

#[tokio::test]
async fn scripts_see_the_worktree_and_how_often_they_ran() {
    let world = world(FaultPoints::none());
    world.add_worktree().await;
    let home = &world.home;
    home.runs().start(&spec(RunKind::Verify)).unwrap();
    home.runs().start(&spec(RunKind::Implement)).unwrap();
    let again = RunSpec {
        key: RunKey {
            seq: 2,
            ..key(RunKind::Verify)
        },
        ..spec(RunKind::Verify)
    };
    home.runs().start(&again).unwrap();
    let facts = home.runs().facts(ISSUE).unwrap();
    let ends: Vec<_> = facts
        .iter()
        .map(|f| match &f.status {
            RunStatus::Ended(exit) => exit.code,
            RunStatus::Reserved | RunStatus::Running { .. } => None,
        })
        .collect();
    assert_eq!(ends, [Some(1), Some(0), Some(0)]);
    assert_eq!(facts[0].tail, "no a.txt\n");
    assert_eq!(
        (facts[1].label.as_str(), facts[1].tasks.len()),
        ("agent", 1)
    );
}

#[tokio::test]
async fn pushes_follow_the_lease_of_the_push_and_the_network() {
    let world = world(FaultPoints::none());
    let base = world.add_worktree().await;
    let (home, git) = (&world.home, world.home.git());
    home.put_file(Path::new("/w/issue-42"), "x", Some("1"))
        .unwrap();
    let head = git.commit_all(&place(), "X").await.unwrap();
    assert_eq!(git.commit_all(&place(), "X").await.unwrap(), head);
    let to = RefName::of_branch(&branch("issue-42"));
    let push = Push {
        sha: head.clone(),
        to,
        expected: None,
    };
    home.go_offline();
    assert!(matches!(
        git.push(&push).await,
        Err(PortError::Unavailable { .. })
    ));
    home.go_online();
    home.refuse_pushes(Some("GH006"));
    assert_eq!(
        git.push(&push).await.unwrap(),
        PushOutcome::Refused("GH006".to_owned())
    );
    home.refuse_pushes(None);
    let stale = Push {
        expected: Some(base.clone()),
        ..push.clone()
    };
    assert_eq!(git.push(&stale).await.unwrap(), PushOutcome::Stale);
    assert_eq!(git.push(&push).await.unwrap(), PushOutcome::Pushed);
    assert_eq!(git.push(&push).await.unwrap(), PushOutcome::Pushed);
    assert_eq!(
        git.push(&stale).await.unwrap(),
        PushOutcome::Pushed,
        "it is there already"
    );
    let back = Push {
        sha: base,
        expected: None,
        ..push
    };
    assert_eq!(git.push(&back).await.unwrap(), PushOutcome::Stale);
}

#[tokio::test]
async fn what_others_change_in_the_repository_is_seen() {
    let world = world(FaultPoints::none());
    let before = world.base().await;
    let repo = Repository::open_bare(world.remote.path()).unwrap();
    let parent = repo
        .find_commit(repo.refname_to_id("refs/heads/main").unwrap())
        .unwrap();
    let who = Signature::new("Bob", "bob@example.com", &git2::Time::new(9, 0)).unwrap();
    let tree = parent.tree().unwrap();
    repo.commit(
        Some("refs/heads/main"),
        &who,
        &who,
        "Next",
        &tree,
        &[&parent],
    )
    .unwrap();
    let after = world.base().await;
    assert_ne!(before, after);
    world.add_worktree().await;
    assert!(world.home.git().contains(&place(), &before).await.unwrap());
}

#[tokio::test]
async fn removing_a_worktree_saves_what_nobody_else_has() {
    let world = world(FaultPoints::none());
    let base = world.add_worktree().await;
    let (home, git) = (&world.home, world.home.git());
    home.put_file(Path::new("/w/issue-42"), "x", Some("1"))
        .unwrap();
    git.remove_worktree(&place(), None).await.unwrap();
    git.remove_worktree(&place(), None).await.unwrap();
    assert_eq!(home.salvaged().len(), 1);
    world.add_worktree().await;
    assert_eq!(
        git.worktree(&place(), &branch("main"))
            .await
            .unwrap()
            .unwrap()
            .head,
        base
    );
    git.remove_worktree(&place(), Some(&base)).await.unwrap();
    assert_eq!(home.salvaged().len(), 1);
}

#[test]
fn events_are_read_as_they_are_asked_for() {
    let world = world(FaultPoints::none());
    let event = |issue: u64| Event {
        at: start(),
        repository: "widget".to_owned(),
        issue: Some(IssueNumber(issue)),
        kind: "step".to_owned(),
        phase: None,
        what: "x".to_owned(),
        detail: serde_json::Value::Null,
    };
    let events = world.home.events();
    (1..=3).for_each(|issue| events.record(&event(issue)));
    let two = EventQuery {
        limit: Some(2),
        ..EventQuery::default()
    };
    assert_eq!(events.read(&two).unwrap(), [event(2), event(3)]);
    let one = EventQuery {
        issue: Some(IssueNumber(1)),
        ..EventQuery::default()
    };
    assert_eq!(events.read(&one).unwrap(), [event(1)]);
    assert_eq!(world.home.recorded().len(), 3);
}
