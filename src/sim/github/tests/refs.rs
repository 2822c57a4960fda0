//! Commits and the compare-and-swap of refs.

use super::super::model::Ban;
use super::super::{Seed, Sim};
use super::{fixture, lease_ref, slot_ref, slug, swap};
use crate::model::ids::{RefName, Sha};
use crate::model::lease::SwapOutcome;
use crate::ports::Refusal;
use crate::ports::github::{GitHub as _, NewCommit};

#[tokio::test]
async fn a_commit_carries_the_servers_clock_in_whole_seconds() {
    let f = fixture();
    f.sim.clock.set("2026-05-06T07:08:09.987Z".parse().unwrap());
    let sha = f.commit("lease", None).await;
    f.op.swap_refs(&[swap(&lease_ref(), None, Some(&sha))])
        .await
        .unwrap();
    f.pass(5);
    let (at, leases) = f.op.read_leases(&[lease_ref(), slot_ref()]).await.unwrap();
    assert_eq!(at.to_rfc3339(), "2026-05-06T07:08:14+00:00");
    let lease = &leases[&lease_ref()];
    assert_eq!(lease.date.to_rfc3339(), "2026-05-06T07:08:09+00:00");
    assert_eq!((lease.oid.clone(), lease.message.as_str()), (sha, "lease"));
    assert_eq!(leases.len(), 1);
}

#[tokio::test]
async fn a_ref_moves_only_from_where_it_was_read() {
    let f = fixture();
    let (one, two) = (f.commit("one", None).await, f.commit("two", None).await);
    let claim = [swap(&lease_ref(), None, Some(&one))];
    assert_eq!(f.op.swap_refs(&claim).await.unwrap(), SwapOutcome::Swapped);
    assert_eq!(f.op.swap_refs(&claim).await.unwrap(), SwapOutcome::Stale);
    let steal = [swap(&lease_ref(), Some(&one), Some(&two))];
    assert_eq!(
        f.op.swap_refs(&steal).await.unwrap(),
        SwapOutcome::Swapped,
        "no descent needed"
    );
    assert_eq!(f.op.swap_refs(&steal).await.unwrap(), SwapOutcome::Stale);
    let release = [swap(&lease_ref(), Some(&two), None)];
    assert_eq!(
        f.op.swap_refs(&release).await.unwrap(),
        SwapOutcome::Swapped
    );
    assert_eq!(f.op.swap_refs(&release).await.unwrap(), SwapOutcome::Stale);
    assert_eq!(f.repo.ref_id(lease_ref().as_str()).unwrap(), None);
}

#[tokio::test]
async fn several_refs_move_together_or_not_at_all() {
    let f = fixture();
    let (one, two) = (f.commit("one", None).await, f.commit("two", None).await);
    f.op.swap_refs(&[swap(&slot_ref(), None, Some(&two))])
        .await
        .unwrap();
    let both = [
        swap(&lease_ref(), None, Some(&one)),
        swap(&slot_ref(), None, Some(&one)),
    ];
    assert_eq!(f.op.swap_refs(&both).await.unwrap(), SwapOutcome::Stale);
    assert_eq!(
        f.repo.ref_id(lease_ref().as_str()).unwrap(),
        None,
        "the first did not move"
    );
    let both = [
        swap(&lease_ref(), None, Some(&one)),
        swap(&slot_ref(), Some(&two), Some(&one)),
    ];
    assert_eq!(f.op.swap_refs(&both).await.unwrap(), SwapOutcome::Swapped);
    assert_eq!(
        f.repo.ref_id(slot_ref().as_str()).unwrap(),
        Some(one.to_string())
    );
}

#[tokio::test]
async fn one_of_many_claims_at_once_wins() {
    let f = fixture();
    let mut claims = Vec::new();
    for n in 0..8 {
        claims.push(f.commit(&format!("claim {n}"), None).await);
    }
    let mut tasks = tokio::task::JoinSet::new();
    for sha in claims {
        let port = f.repo.port("op");
        tasks.spawn(async move {
            port.swap_refs(&[swap(&lease_ref(), None, Some(&sha))])
                .await
                .unwrap()
        });
    }
    let outcomes = tasks.join_all().await;
    assert_eq!(
        outcomes
            .iter()
            .filter(|o| **o == SwapOutcome::Swapped)
            .count(),
        1
    );
}

#[tokio::test]
async fn writing_contents_needs_the_right_to() {
    let f = fixture();
    let sha = f.commit("one", None).await;
    let eve = f.repo.port("eve");
    let error = eve
        .swap_refs(&[swap(&lease_ref(), None, Some(&sha))])
        .await
        .unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::NoContentsWrite));
}

#[tokio::test]
async fn an_empty_repository_takes_no_lease() {
    let dir = tempfile::tempdir().unwrap();
    let sim = Sim::new(dir.path());
    let repo = sim.create_repo(&slug(), &Seed::Empty).unwrap();
    let port = repo.port("acme");
    assert_eq!(port.repository().await.unwrap().default_branch, None);
    let tree = Sha::new("4b825dc642cb6eb9a060e54bf8d69288fbee4904").unwrap();
    let commit = NewCommit {
        message: "x".into(),
        tree,
        parents: Vec::new(),
    };
    let error = port.create_commit(&commit).await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::RepositoryEmpty));
}

#[tokio::test]
async fn refs_outside_branches_and_tags_can_be_forbidden() {
    let f = fixture();
    let sha = f.commit("one", None).await;
    f.repo.ban(Ban::OtherRefs).unwrap();
    let error =
        f.op.swap_refs(&[swap(&lease_ref(), None, Some(&sha))])
            .await
            .unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::RefsRestricted));
    let branch = RefName::new("refs/heads/x").unwrap();
    f.op.swap_refs(&[swap(&branch, None, Some(&sha))])
        .await
        .unwrap();
}

#[tokio::test]
async fn a_commit_on_a_tree_that_is_not_there_is_refused() {
    let f = fixture();
    let tree = Sha::new("b".repeat(40)).unwrap();
    let commit = NewCommit {
        message: "x".into(),
        tree,
        parents: Vec::new(),
    };
    let error = f.op.create_commit(&commit).await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::Invalid));
}

#[tokio::test]
async fn a_rename_keeps_the_number() {
    let f = fixture();
    let id = f.op.repository().await.unwrap().id;
    let renamed = f.repo.rename(&"acme/gadget".parse().unwrap());
    assert_eq!(renamed.port("op").repository().await.unwrap().id, id);
    let former = f.op.repository().await.unwrap();
    assert_eq!(
        (former.id, former.slug.name.as_str()),
        (id, "gadget"),
        "the old name leads there"
    );
}
