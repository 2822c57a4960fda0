//! Each behaviour of the simulated GitHub once, on the port; a smaller set over HTTP.

mod actors;
mod faults;
mod git;
mod graphql;
mod http;
mod http_fixture;
mod issues;
mod prs;
mod refs;

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::model::Access;
use super::{Seed, Sim, SimGitHub, SimRepo};
use crate::model::ids::{BranchName, ClaimId, IssueNumber, RefName, RepoSlug, Sha};
use crate::model::lease::{ClaimProof, LeaseCommit, RefSwap};
use crate::ports::github::{GitHub as _, LookAt, NewCommit};

/// A GitHub with the repository `acme/widget`, the operator `op` who may push, and `eve` who may not.
pub(super) struct Fixture {
    pub(super) sim: Arc<Sim>,
    pub(super) repo: SimRepo,
    pub(super) op: SimGitHub,
    _dir: TempDir,
}

pub(super) fn slug() -> RepoSlug {
    "acme/widget".parse().unwrap()
}

pub(super) fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let sim = Sim::new(dir.path().join("github"));
    sim.clock.set("2026-01-02T03:04:05Z".parse().unwrap());
    let seed = Seed::Files(&[("README.md", "hello\n"), ("src/a.txt", "1\n2\n3\n")]);
    let repo = sim.create_repo(&slug(), &seed).unwrap();
    repo.set_access("op", Access::Write);
    sim.add_user("eve");
    let op = repo.port("op");
    Fixture {
        sim,
        repo,
        op,
        _dir: dir,
    }
}

impl Fixture {
    pub(super) fn issue(&self, body: &str) -> u64 {
        self.repo
            .open_issue("acme", "Do it", body, &["status: idle"])
            .unwrap()
    }

    pub(super) fn pass(&self, seconds: u64) {
        self.sim.clock.advance(Duration::from_secs(seconds));
    }

    pub(super) async fn look(&self, number: u64) -> crate::ports::github::Look {
        self.op.look(&look_at(number)).await.unwrap()
    }

    /// A dangling commit on the base's tree, as leases are.
    pub(super) async fn commit(&self, message: &str, parent: Option<&Sha>) -> Sha {
        let base = self.look(1).await.base.unwrap();
        let commit = NewCommit {
            message: message.to_owned(),
            tree: base.tree,
            parents: parent.into_iter().cloned().collect(),
        };
        self.op.create_commit(&commit).await.unwrap().0
    }
}

pub(super) fn look_at(number: u64) -> LookAt {
    LookAt {
        issue: IssueNumber(number),
        branch: BranchName::new("issue-1").unwrap(),
        base: BranchName::new("main").unwrap(),
        leases: vec![lease_ref(), slot_ref()],
        refs: Vec::new(),
        merge_commit: None,
    }
}

pub(super) fn lease_ref() -> RefName {
    RefName::new("refs/leases/issue-1").unwrap()
}

pub(super) fn slot_ref() -> RefName {
    RefName::new("refs/leases/slot-1").unwrap()
}

pub(super) fn swap(name: &RefName, before: Option<&Sha>, after: Option<&Sha>) -> RefSwap {
    RefSwap {
        name: name.clone(),
        before: before.cloned(),
        after: after.cloned(),
    }
}

pub(super) fn proof() -> ClaimProof {
    let commit = LeaseCommit {
        name: lease_ref(),
        oid: Sha::new("a".repeat(40)).unwrap(),
        date: "2026-01-02T03:04:05Z".parse().unwrap(),
        message: r#"{"v":1,"issue":1,"owner":"x","ttlMin":30,"claim":"c-1","epoch":5}"#.to_owned(),
    };
    ClaimProof::verify(&commit, &ClaimId::new("c-1").unwrap()).unwrap()
}
