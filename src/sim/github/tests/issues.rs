//! Issues, comments, labels, assignees, the listing.

use super::super::model::Access;
use super::super::{Fault, FaultPlan, Op};
use super::{fixture, look_at, proof};
use crate::model::ids::{CommentId, IssueNumber, Login};
use crate::model::issue::Association;
use crate::model::repo::Permission;
use crate::ports::github::{GitHub as _, IssueChange, ListCursor, Listed, NewLabel};
use crate::ports::{PortError, Refusal};

fn body(text: &str) -> IssueChange {
    IssueChange {
        body: Some(text.to_owned()),
        close: false,
        comment: None,
    }
}

#[tokio::test]
async fn an_unedited_body_has_no_history_and_the_first_edit_shows_the_creation_too() {
    let f = fixture();
    let n = f.issue("first");
    assert!(f.look(n).await.edits.is_empty());
    f.pass(60);
    let now =
        f.op.update_issue(&proof(), IssueNumber(n), &body("second"))
            .await
            .unwrap();
    assert_eq!(now, "second");
    f.repo.edit_body("acme", n, "third").unwrap();
    let look = f.look(n).await;
    let texts: Vec<_> = look
        .edits
        .iter()
        .map(|edit| edit.text.as_deref().unwrap())
        .collect();
    assert_eq!(texts, ["first", "second", "third"]);
    let editors: Vec<_> = look
        .edits
        .iter()
        .map(|edit| edit.editor.as_ref().unwrap().login.as_str())
        .collect();
    assert_eq!(editors, ["acme", "op", "acme"]);
    assert_eq!(look.issue.unwrap().updated_at, look.at);
}

#[tokio::test]
async fn the_same_body_again_is_no_edit() {
    let f = fixture();
    let n = f.issue("first");
    f.op.update_issue(&proof(), IssueNumber(n), &body("first"))
        .await
        .unwrap();
    assert!(f.look(n).await.edits.is_empty());
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_one_at_the_limit_is_taken() {
    let f = fixture();
    let n = f.issue("first");
    let long = body(&"ü".repeat(65_537));
    let error =
        f.op.update_issue(&proof(), IssueNumber(n), &long)
            .await
            .unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::Invalid));
    let fits = body(&"ü".repeat(65_536));
    f.op.update_issue(&proof(), IssueNumber(n), &fits)
        .await
        .unwrap();
}

#[tokio::test]
async fn titles_and_labels_leave_a_timeline() {
    let f = fixture();
    let n = f.issue("text");
    f.repo.edit_title("acme", n, "Do it well").unwrap();
    f.op.add_labels(
        &proof(),
        IssueNumber(n),
        &["Status: Idle".into(), "new".into()],
    )
    .await
    .unwrap();
    let look = f.look(n).await;
    assert_eq!(look.renames.len(), 1);
    let names: Vec<_> = look.labelled.iter().map(|l| l.label.as_str()).collect();
    assert_eq!(
        names,
        ["status: idle", "new"],
        "a label that is on stays as it is"
    );
    assert_eq!(look.issue.unwrap().labels, ["status: idle", "new"]);
    f.op.remove_label(&proof(), IssueNumber(n), "NEW")
        .await
        .unwrap();
    f.op.remove_label(&proof(), IssueNumber(n), "NEW")
        .await
        .unwrap();
    assert_eq!(f.look(n).await.issue.unwrap().labels, ["status: idle"]);
    assert_eq!(f.op.labels().await.unwrap(), ["status: idle", "new"]);
}

#[tokio::test]
async fn creating_a_label_that_is_there_leaves_it_as_it_is() {
    let f = fixture();
    let label = |colour: &str| NewLabel {
        name: "hold".into(),
        colour: colour.into(),
        description: "stop".into(),
    };
    f.op.create_label(&label("ff0000")).await.unwrap();
    f.op.create_label(&label("00ff00")).await.unwrap();
    assert_eq!(f.repo.snapshot().unwrap().labels[0].colour, "ff0000");
    assert!(
        f.op.create_label(&NewLabel {
            name: "x".into(),
            ..label("red")
        })
        .await
        .is_err()
    );
}

#[tokio::test]
async fn a_comment_shows_who_edited_it_and_when() {
    let f = fixture();
    let n = f.issue("text");
    let id = f.op.create_comment(&proof(), n, "one").await.unwrap();
    f.pass(60);
    f.op.update_comment(&proof(), id, "two").await.unwrap();
    f.repo.edit_comment("acme", id.0, "three").unwrap();
    let comment = f.look(n).await.comments.remove(0);
    assert_eq!((comment.id, comment.body.as_str()), (id, "three"));
    assert_eq!(comment.author.unwrap().login.as_str(), "op");
    assert_eq!(comment.association, Association::Collaborator);
    assert_eq!(comment.editor.unwrap().login.as_str(), "acme");
    assert!(comment.edited_at.unwrap() > comment.created_at);
    let error =
        f.op.update_comment(&proof(), CommentId(9), "x")
            .await
            .unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::NotFound));
}

#[tokio::test]
async fn a_comment_in_the_same_breath_is_part_of_one_write() {
    let f = fixture();
    let n = f.issue("text");
    let id = f.op.create_comment(&proof(), n, "one").await.unwrap();
    let change = |text: &str| IssueChange {
        comment: Some((id, text.to_owned())),
        ..body(text)
    };
    let writes = f.sim.counts().writes;
    f.op.update_issue(&proof(), IssueNumber(n), &change("two"))
        .await
        .unwrap();
    assert_eq!(f.sim.counts().writes - writes, 1);
    assert_eq!(f.look(n).await.comments[0].body, "two");
    f.sim
        .set_faults(FaultPlan::next(Op::UpdateIssue, 1, Fault::CutBefore));
    let lost =
        f.op.update_issue(&proof(), IssueNumber(n), &change("three"))
            .await;
    assert!(matches!(lost, Err(PortError::Unknown { .. })));
    let look = f.look(n).await;
    assert_eq!(
        (&*look.issue.unwrap().body, &*look.comments[0].body),
        ("two", "two")
    );
}

#[tokio::test]
async fn half_a_change_is_unknown_and_none_is_a_refusal() {
    let f = fixture();
    let n = f.issue("text");
    let id = f.op.create_comment(&proof(), n, "one").await.unwrap();
    let long = "x".repeat(65_537);
    let table = [
        (CommentId(9), "two", "c", "unknown", ("two", "one")),
        (id, &long, "two", "unknown", ("two", "two")),
        (id, &long, &long, "refused", ("two", "two")),
    ];
    for (comment, text, mirror, wanted, left) in table {
        let change = IssueChange {
            comment: Some((comment, mirror.to_owned())),
            ..body(text)
        };
        let kind = match f.op.update_issue(&proof(), IssueNumber(n), &change).await {
            Ok(_) => "done",
            Err(PortError::Unknown { .. }) => "unknown",
            Err(error) => {
                assert_eq!(error.refusal(), Some(Refusal::Invalid));
                "refused"
            }
        };
        assert_eq!(kind, wanted);
        let look = f.look(n).await;
        let there = look.issue.unwrap().body;
        assert_eq!((&*there, &*look.comments[0].body), left);
    }
}

#[tokio::test]
async fn who_may_only_read_may_speak_but_not_label_or_rewrite_others() {
    let f = fixture();
    let n = f.issue("text");
    let eve = f.repo.port("eve");
    eve.create_comment(&proof(), n, "hi").await.unwrap();
    let refusals = [
        eve.update_issue(&proof(), IssueNumber(n), &body("mine now"))
            .await
            .map(|_| ()),
        eve.add_labels(&proof(), IssueNumber(n), &["x".into()])
            .await
            .map(|_| ()),
    ];
    for answer in refusals {
        assert_eq!(answer.unwrap_err().refusal(), Some(Refusal::Forbidden));
    }
    assert_eq!(f.look(n).await.comments[0].association, Association::None);
    let own = f
        .repo
        .open_issue("eve", "Mine", "text", &["status: idle"])
        .unwrap();
    eve.update_issue(&proof(), IssueNumber(own), &body("better"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_private_repository_does_not_exist_for_others() {
    let f = fixture();
    f.repo.make_private();
    let error = f.repo.port("eve").repository().await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::NotFound));
    f.op.repository().await.unwrap();
}

#[tokio::test]
async fn an_archived_repository_takes_nothing() {
    let f = fixture();
    let n = f.issue("text");
    f.repo.archive();
    assert!(f.op.repository().await.unwrap().archived);
    let error = f.op.create_comment(&proof(), n, "hi").await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::RepositoryArchived));
}

#[tokio::test]
async fn permissions_and_assignees_follow_access() {
    let f = fixture();
    let n = f.issue("text");
    let login = |name: &str| Login::new(name).unwrap();
    assert_eq!(
        f.op.permission(&login("op")).await.unwrap(),
        Permission::Write
    );
    assert_eq!(
        f.op.permission(&login("eve")).await.unwrap(),
        Permission::Less
    );
    f.op.add_assignee(&proof(), n, &login("op")).await.unwrap();
    let error =
        f.op.add_assignee(&proof(), n, &login("eve"))
            .await
            .unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::Invalid));
    assert_eq!(f.look(n).await.issue.unwrap().assignees, [login("op")]);
    f.op.remove_assignee(&proof(), n, &login("op"))
        .await
        .unwrap();
    f.op.remove_assignee(&proof(), n, &login("op"))
        .await
        .unwrap();
    assert!(f.look(n).await.issue.unwrap().assignees.is_empty());
}

#[tokio::test]
async fn a_deleted_account_leaves_its_words_without_an_author() {
    let f = fixture();
    let n = f.repo.open_issue("eve", "Mine", "text", &[]).unwrap();
    f.repo.comment("eve", n, "hi").unwrap();
    f.sim.delete_user("eve");
    let look = f.look(n).await;
    assert!(look.issue.unwrap().author.is_none());
    assert!(look.comments[0].author.is_none());
}

#[tokio::test]
async fn bots_are_told_from_people() {
    let f = fixture();
    let n = f.issue("text");
    f.repo.comment("helper[bot]", n, "hi").unwrap();
    assert!(f.look(n).await.comments[0].author.as_ref().unwrap().is_bot);
}

#[tokio::test]
async fn a_deleted_issue_and_a_pull_request_are_no_issue() {
    let f = fixture();
    let n = f.issue("text");
    f.repo.delete_issue(n);
    assert!(f.op.look(&look_at(n)).await.unwrap().issue.is_none());
    assert_eq!(f.issue("next"), n + 1, "numbers are not used twice");
    f.repo
        .push_commit("op", "issue-1", &[("b.txt", "b")])
        .unwrap();
    let pr = f.repo.open_pr("op", "PR", "issue-1", "main").unwrap();
    assert!(f.op.look(&look_at(pr)).await.unwrap().issue.is_none());
}

async fn list(f: &super::Fixture, cursor: &ListCursor) -> Option<(Vec<u64>, ListCursor)> {
    match f.op.list_issues(cursor).await.unwrap() {
        Listed::Unchanged => None,
        Listed::Issues { issues, next } => {
            Some((issues.iter().map(|issue| issue.number.0).collect(), next))
        }
    }
}

#[tokio::test]
async fn the_listing_tells_what_changed_and_costs_nothing_when_nothing_did() {
    let f = fixture();
    let (one, two) = (f.issue("a"), f.issue("b"));
    f.pass(10);
    f.repo.comment("eve", one, "hi").unwrap();
    let (all, cursor) = list(&f, &ListCursor::default()).await.unwrap();
    assert_eq!(all, [one, two], "newest change first");
    let (again, cursor) = list(&f, &cursor).await.unwrap();
    assert_eq!(
        again,
        [one],
        "what changed at that very second is told again"
    );
    assert!(list(&f, &cursor).await.is_none());
    let before = f.sim.counts();
    assert!(list(&f, &cursor).await.is_none());
    let after = f.sim.counts();
    assert_eq!(
        (after.requests, after.charged),
        (before.requests + 1, before.charged)
    );
    f.pass(10);
    f.repo.close_issue("acme", two).unwrap();
    assert_eq!(
        list(&f, &cursor).await.unwrap().0,
        [two, one],
        "closed ones, too"
    );
    let (open, _) = list(&f, &ListCursor::default()).await.unwrap();
    assert_eq!(open, [one]);
}

#[tokio::test]
async fn facts_say_whose_token_it_is_and_what_it_may() {
    let f = fixture();
    let facts = f.op.repository().await.unwrap();
    assert_eq!(facts.operator.as_str(), "op");
    assert!(facts.can_push);
    assert_eq!(facts.default_branch.unwrap().as_str(), "main");
    assert!(!f.repo.port("eve").repository().await.unwrap().can_push);
    f.repo.set_access("eve", Access::Write);
    assert!(f.repo.port("eve").repository().await.unwrap().can_push);
}
