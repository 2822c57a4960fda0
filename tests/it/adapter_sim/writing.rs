//! State writes over HTTP: body and comment in one request where GraphQL takes them, in two where only
//! REST does, and what is left of a write of which a part was refused.

use ghswarm::model::ids::{CommentId, IssueNumber};
use ghswarm::model::lease::ClaimProof;
use ghswarm::ports::github::{GitHub, IssueChange};
use ghswarm::ports::{PortError, PortResult, Refusal};
use ghswarm::sim::github::model::Ban;
use ghswarm::sim::github::{Fault, FaultPlan, Op};

use super::{World, at, proof, world};

/// A world with a comment of ours on the issue, which was looked at.
struct Desk {
    w: World,
    proof: ClaimProof,
    comment: CommentId,
}

async fn desk() -> Desk {
    let w = world().await;
    let proof = proof(&w.lease(None).await);
    let comment = w.far.create_comment(&proof, 1, "c0").await.unwrap();
    w.far.look(&at(None)).await.unwrap();
    Desk { w, proof, comment }
}

impl Desk {
    async fn write(&self, body: &str, comment: (CommentId, &str)) -> PortResult<String> {
        let change = IssueChange {
            body: Some(body.to_owned()),
            close: false,
            comment: Some((comment.0, comment.1.to_owned())),
        };
        let issue = IssueNumber(1);
        self.w.far.update_issue(&self.proof, issue, &change).await
    }

    /// Body and first comment as they are now.
    async fn there(&self) -> (String, String) {
        let look = self.w.near.look(&at(None)).await.unwrap();
        (look.issue.unwrap().body, look.comments[0].body.clone())
    }

    /// What the requests since the first `past` did, reads left out.
    fn writes(&self, past: usize) -> Vec<Op> {
        let asked = self.w.sim.requests().into_iter().skip(past);
        asked.map(|one| one.op).filter(|op| op.is_write()).collect()
    }

    fn past(&self) -> usize {
        self.w.sim.requests().len()
    }
}

fn pair(body: &str, comment: &str) -> (String, String) {
    (body.to_owned(), comment.to_owned())
}

#[tokio::test]
async fn body_and_comment_are_written_in_one_request() {
    let d = desk().await;
    let before = d.w.sim.counts();
    let body = d.write("b1", (d.comment, "c1")).await.unwrap();
    let after = d.w.sim.counts();
    assert_eq!(body, "b1");
    assert_eq!(after.requests - before.requests, 1);
    assert_eq!(after.writes - before.writes, 1);
    assert_eq!(d.there().await, pair("b1", "c1"));
    let look = d.w.look(None).await;
    assert_eq!(look.edits.len(), 2, "creation and edit");
    assert!(look.comments[0].edited_at.is_some());
}

#[tokio::test]
async fn a_comment_of_ours_needs_no_look_before_it_is_rewritten() {
    let d = desk().await;
    let new = d.w.far.create_comment(&d.proof, 1, "c0").await.unwrap();
    let past = d.past();
    d.write("b1", (new, "c1")).await.unwrap();
    assert_eq!(d.writes(past), [Op::UpdateIssue]);
}

#[tokio::test]
async fn the_issue_is_closed_with_the_last_write() {
    let d = desk().await;
    let change = IssueChange {
        body: Some("b1".to_owned()),
        close: true,
        comment: Some((d.comment, "c1".to_owned())),
    };
    let past = d.past();
    d.w.far
        .update_issue(&d.proof, IssueNumber(1), &change)
        .await
        .unwrap();
    assert_eq!(d.writes(past), [Op::UpdateIssue]);
    let issue = d.w.repo.issue(1).unwrap();
    assert!(!issue.open);
    assert_eq!(issue.state_reason.as_deref(), Some("completed"));
    assert_eq!(d.there().await, pair("b1", "c1"));
}

#[tokio::test]
async fn where_the_comment_is_not_known_two_requests_do_it() {
    let d = desk().await;
    let other = d.w.repo.comment("op", 1, "x").unwrap();
    let past = d.past();
    d.write("b1", (CommentId(other), "c1")).await.unwrap();
    assert_eq!(d.writes(past), [Op::UpdateIssue, Op::UpdateComment]);
}

#[tokio::test]
async fn a_token_that_may_only_use_rest_is_remembered() {
    let d = desk().await;
    d.w.repo.ban(Ban::IssueMutations).unwrap();
    let past = d.past();
    d.write("b1", (d.comment, "c1")).await.unwrap();
    let (tried, rest) = (Op::UpdateIssue, [Op::UpdateIssue, Op::UpdateComment]);
    assert_eq!(d.writes(past), [tried, rest[0], rest[1]]);
    let past = d.past();
    d.write("b2", (d.comment, "c2")).await.unwrap();
    assert_eq!(d.writes(past), rest, "GraphQL is not tried again");
    assert_eq!(d.there().await, pair("b2", "c2"));
}

#[tokio::test]
async fn half_a_write_is_unknown_and_none_is_a_refusal() {
    let d = desk().await;
    let long = "x".repeat(65_537);
    let error = d.write(&long, (d.comment, &long)).await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::Invalid), "{error}");
    assert_eq!(d.there().await, pair("spec", "c0"));
    let error = d.write(&long, (d.comment, "c1")).await.unwrap_err();
    assert!(matches!(error, PortError::Unknown { .. }), "{error}");
    assert_eq!(d.there().await, pair("spec", "c1"));
    let error = d.write("b1", (d.comment, &long)).await.unwrap_err();
    assert!(matches!(error, PortError::Unknown { .. }), "{error}");
    assert_eq!(d.there().await, pair("b1", "c1"));
}

#[tokio::test]
async fn an_archived_repository_is_not_asked_a_second_time() {
    let d = desk().await;
    d.w.repo.archive();
    let past = d.past();
    let error = d.write("b1", (d.comment, "c1")).await.unwrap_err();
    assert_eq!(
        error.refusal(),
        Some(Refusal::RepositoryArchived),
        "{error}"
    );
    assert_eq!(d.writes(past), [Op::UpdateIssue]);
}

#[tokio::test]
async fn a_lost_answer_to_a_state_write_is_unknown_and_is_sent_once() {
    for (fault, left) in [
        (Fault::CutBefore, pair("spec", "c0")),
        (Fault::CutAfter, pair("b1", "c1")),
        (Fault::TruncatedJson, pair("b1", "c1")),
        (Fault::RefuseBefore(502), pair("spec", "c0")),
    ] {
        let d = desk().await;
        d.w.sim
            .set_faults(FaultPlan::next(Op::UpdateIssue, 1, fault.clone()));
        let past = d.past();
        let error = d.write("b1", (d.comment, "c1")).await.unwrap_err();
        let unknown = matches!(error, PortError::Unknown { .. });
        assert!(unknown, "{fault:?}: {error}");
        assert_eq!(d.writes(past), [Op::UpdateIssue], "{fault:?}");
        assert_eq!(d.there().await, left, "{fault:?}");
    }
}
