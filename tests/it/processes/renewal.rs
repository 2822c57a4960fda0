//! One renewal, answer by answer.

use std::sync::Arc;
use std::time::Duration;

use ghswarm::engine::renew::{IfMissing, LeaseLook, RenewOutcome, look, renew};
use ghswarm::model::ids::Epoch;
use ghswarm::model::lease::LeaseMessage;
use ghswarm::model::run::RunLease;

use super::fakes::{Fault, LeaseGitHub, OURS, lease};
use super::hours::JumpClock;

fn ours() -> RunLease {
    lease(Duration::from_secs(1800), Duration::from_secs(60))
}

async fn renewal(github: &LeaseGitHub, missing: IfMissing) -> RenewOutcome {
    renew(github, &ours(), &|| "fresh".to_owned(), &|| missing).await
}

#[tokio::test]
async fn a_renewal_moves_both_refs_to_a_child_that_says_the_same() {
    let github = LeaseGitHub::claimed(JumpClock::new());
    let (before, _) = github.at("issue-42").unwrap();
    let RenewOutcome::Renewed { oid } = renewal(&github, IfMissing::Create).await else {
        panic!("not renewed")
    };
    let (issue, commit) = github.at("issue-42").unwrap();
    assert_eq!(
        (&issue, Some(&oid)),
        (&oid, github.at("slot-1").map(|at| at.0).as_ref())
    );
    assert_eq!(commit.parents, vec![before]);
    let says = LeaseMessage::parse(&commit.message).unwrap();
    assert_eq!(
        says,
        LeaseMessage {
            n: Some("fresh".to_owned()),
            ..ours().message
        }
    );
    assert_eq!(github.world().requests, 3);
}

#[tokio::test]
async fn another_claim_with_a_higher_or_the_same_epoch_is_a_loss_and_stays() {
    for (at, epoch) in [
        ("issue-42", Epoch(1001)),
        ("issue-42", OURS),
        ("slot-1", Epoch(1001)),
    ] {
        let github = LeaseGitHub::claimed(JumpClock::new());
        github.put(at, "c-theirs", epoch);
        let before = github.at(at).unwrap();
        let outcome = renewal(&github, IfMissing::Create).await;
        assert!(
            matches!(&outcome, RenewOutcome::Lost { holder } if holder.contains("c-theirs")),
            "{outcome:?}"
        );
        assert_eq!(github.at(at).unwrap(), before);
        let seen = look(&github, &ours()).await;
        assert!(matches!(seen, LeaseLook::Lost { .. }), "{seen:?}");
    }
}

#[tokio::test]
async fn a_claim_with_a_lower_epoch_is_lag_and_is_written_over() {
    let github = LeaseGitHub::claimed(JumpClock::new());
    github.put("issue-42", "c-theirs", Epoch(999));
    assert_eq!(look(&github, &ours()).await, LeaseLook::Shaken);
    assert!(matches!(
        renewal(&github, IfMissing::Create).await,
        RenewOutcome::Renewed { .. }
    ));
    assert_eq!(
        look(&github, &ours()).await,
        LeaseLook::Ours {
            age: Duration::ZERO
        }
    );
}

#[tokio::test]
async fn a_ref_that_somebody_deleted_is_created_again_while_the_run_lives() {
    let github = LeaseGitHub::claimed(JumpClock::new());
    github.world().refs.clear();
    assert_eq!(look(&github, &ours()).await, LeaseLook::Shaken);
    assert!(matches!(
        renewal(&github, IfMissing::Create).await,
        RenewOutcome::Renewed { .. }
    ));
    assert!(github.at("issue-42").is_some() && github.at("slot-1").is_some());
}

#[tokio::test]
async fn a_released_lease_does_not_come_back() {
    let github = LeaseGitHub::claimed(JumpClock::new());
    github.world().refs.clear();
    assert_eq!(
        renewal(&github, IfMissing::LetGo).await,
        RenewOutcome::Released
    );
    assert!(github.world().refs.is_empty());
    github.put_message("issue-42", r#"{"v":1,"issue":42,"owner":null,"ttlMin":0}"#);
    assert_eq!(
        renewal(&github, IfMissing::LetGo).await,
        RenewOutcome::Released
    );
}

/// A lease that runs out, by this machine's clock, after so many requests of its renewal.
async fn standing_still(github: &LeaseGitHub, requests: u32) -> RenewOutcome {
    let missing = || {
        if github.world().requests < requests {
            IfMissing::Create
        } else {
            IfMissing::LetGo
        }
    };
    renew(github, &ours(), &|| "fresh".to_owned(), &missing).await
}

#[tokio::test]
async fn a_lease_that_ran_out_in_the_middle_of_its_renewal_does_not_come_back() {
    let github = LeaseGitHub::claimed(JumpClock::new());
    github.world().faults.push(Fault::GivenBackMeanwhile);
    // Read and ours, then a long sleep before the swap, which is refused.
    assert_eq!(standing_still(&github, 3).await, RenewOutcome::Released);
    assert!(github.world().refs.is_empty());

    let github = LeaseGitHub::claimed(JumpClock::new());
    github.world().refs.clear();
    // Read and not there, then a long sleep before the swap, which succeeds.
    assert_eq!(standing_still(&github, 3).await, RenewOutcome::Released);
    assert!(github.world().refs.is_empty());
}

#[tokio::test]
async fn a_tombstone_is_replaced_by_its_child_while_the_run_lives() {
    let github = LeaseGitHub::claimed(JumpClock::new());
    github.put_message("issue-42", r#"{"v":1,"issue":42,"owner":null,"ttlMin":0}"#);
    let (tombstone, _) = github.at("issue-42").unwrap();
    assert!(matches!(
        renewal(&github, IfMissing::Create).await,
        RenewOutcome::Renewed { .. }
    ));
    assert!(
        github
            .at("issue-42")
            .unwrap()
            .1
            .parents
            .contains(&tombstone)
    );
}

#[tokio::test]
async fn a_refused_renewal_reads_again() {
    let github = LeaseGitHub::claimed(JumpClock::new());
    github.world().faults.push(Fault::RefusedOnce);
    assert!(matches!(
        renewal(&github, IfMissing::Create).await,
        RenewOutcome::Renewed { .. }
    ));
    assert_eq!(github.world().swaps, 1);
}

#[tokio::test]
async fn a_lost_answer_is_no_answer_and_the_next_look_finds_the_renewal() {
    let clock = JumpClock::new();
    let github = LeaseGitHub::claimed(Arc::clone(&clock) as _);
    clock.jump(Duration::from_secs(700));
    github.world().faults.push(Fault::AnswerLost);
    let outcome = renewal(&github, IfMissing::Create).await;
    assert!(
        matches!(outcome, RenewOutcome::Unanswered(_)),
        "{outcome:?}"
    );
    clock.jump(Duration::from_secs(5));
    assert_eq!(
        look(&github, &ours()).await,
        LeaseLook::Ours {
            age: Duration::from_secs(5)
        }
    );
}

#[tokio::test]
async fn gh_issue_lease_takes_over_with_a_later_date_and_our_own_owner_is_no_rival() {
    let github = LeaseGitHub::claimed(JumpClock::new());
    github.put_message(
        "issue-42",
        r#"{"v":1,"issue":42,"owner":"beef","ttlMin":30}"#,
    );
    assert!(matches!(
        look(&github, &ours()).await,
        LeaseLook::Lost { .. }
    ));
    github.put_message(
        "issue-42",
        r#"{"v":1,"issue":42,"owner":"7f3a","ttlMin":30}"#,
    );
    assert!(matches!(
        renewal(&github, IfMissing::Create).await,
        RenewOutcome::Renewed { .. }
    ));
}
