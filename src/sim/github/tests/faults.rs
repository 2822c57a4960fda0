//! Faults on the port.

use std::time::Duration;

use super::super::{Fault, FaultPlan, Op};
use super::{fixture, proof};
use crate::ports::github::GitHub as _;
use crate::ports::{PortError, Refusal};

#[tokio::test]
async fn a_cut_before_a_write_leaves_nothing_and_a_cut_after_leaves_it_done() {
    let f = fixture();
    let n = f.issue("text");
    f.sim.set_faults(FaultPlan::at_write(1, Fault::CutBefore));
    let error = f.op.create_comment(&proof(), n, "one").await.unwrap_err();
    assert!(matches!(error, PortError::Unknown { .. }));
    assert!(f.repo.issue(n).unwrap().comments.is_empty());
    for fault in [Fault::CutAfter, Fault::TruncatedJson] {
        let write = f.sim.counts().writes + 1;
        f.sim.set_faults(FaultPlan::at_write(write, fault));
        let error = f.op.create_comment(&proof(), n, "two").await.unwrap_err();
        assert!(matches!(error, PortError::Unknown { .. }));
    }
    assert_eq!(f.repo.issue(n).unwrap().comments.len(), 2);
    f.op.create_comment(&proof(), n, "three").await.unwrap();
}

#[tokio::test]
async fn a_read_that_is_cut_is_only_unavailable() {
    let f = fixture();
    f.sim
        .set_faults(FaultPlan::next(Op::Facts, 1, Fault::CutAfter));
    let error = f.op.repository().await.unwrap_err();
    assert!(matches!(
        error,
        PortError::Unavailable { retry_at: None, .. }
    ));
    f.op.repository().await.unwrap();
}

#[tokio::test]
async fn refusals_and_limits_do_nothing_and_say_when_to_come_back() {
    let f = fixture();
    let n = f.issue("text");
    let limits = [Fault::PrimaryLimit, Fault::SecondaryLimit, Fault::TooMany];
    for limit in limits {
        f.sim.set_faults(FaultPlan::next(
            Op::CreateComment,
            1,
            limit(Duration::from_secs(90)),
        ));
        match f.op.create_comment(&proof(), n, "x").await.unwrap_err() {
            PortError::Unavailable {
                retry_at: Some(at), ..
            } => {
                assert_eq!((at - f.sim.clock.now()).num_seconds(), 90);
            }
            other @ (PortError::Refused { .. }
            | PortError::Unknown { .. }
            | PortError::Unavailable { .. }) => panic!("{other:?}"),
        }
    }
    f.sim.set_faults(FaultPlan::next(
        Op::CreateComment,
        1,
        Fault::RefuseBefore(403),
    ));
    let error = f.op.create_comment(&proof(), n, "x").await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::Forbidden));
    f.sim.set_faults(FaultPlan::next(
        Op::CreateComment,
        1,
        Fault::RefuseBefore(502),
    ));
    let error = f.op.create_comment(&proof(), n, "x").await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }));
    assert!(f.repo.issue(n).unwrap().comments.is_empty());
}

#[tokio::test]
async fn a_stale_read_shows_the_state_before_the_last_write() {
    let f = fixture();
    let n = f.issue("text");
    let writes = f.sim.counts().writes;
    f.sim
        .set_faults(FaultPlan::stale_after_write(writes + 1, 2));
    f.op.create_comment(&proof(), n, "one").await.unwrap();
    f.repo
        .push_commit("op", "issue-1", &[("b.txt", "b")])
        .unwrap();
    assert!(f.look(n).await.refs.is_empty(), "refs are old, too");
    assert_eq!(
        f.look(n).await.comments.len(),
        1,
        "the push was the last write"
    );
    let look = f.look(n).await;
    assert_eq!((look.comments.len(), look.refs.len()), (1, 1));
}

#[tokio::test]
async fn every_request_is_written_down() {
    let f = fixture();
    let n = f.issue("text");
    f.op.create_comment(&proof(), n, "one").await.unwrap();
    f.look(n).await;
    let ops: Vec<Op> = f.sim.requests().iter().map(|request| request.op).collect();
    assert_eq!(ops, [Op::CreateComment, Op::Look]);
    let counts = f.sim.counts();
    assert_eq!((counts.requests, counts.charged, counts.writes), (2, 2, 1));
}
