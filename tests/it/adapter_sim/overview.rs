//! The overview through both faces: the board to the end of every list, and a pull request by its number.

use ghswarm::model::ids::PrNumber;
use ghswarm::model::pr::{MergeMethod, PrState};
use ghswarm::ports::overview::Overview;

use super::{swap, world};

#[tokio::test]
async fn both_faces_show_the_same_board_whatever_the_pages() {
    let w = world().await;
    w.sim.set_page_max(2);
    let titles = ["First", "Second", "Third", "Fourth"];
    let open = |title| w.repo.open_issue("acme", title, "", &["bug"]).unwrap();
    let numbers: Vec<u64> = titles.into_iter().map(open).collect();
    for n in 0..7 {
        w.repo
            .comment("acme", numbers[1], &format!("comment {n}"))
            .unwrap();
    }
    w.repo.assign("acme", numbers[2], "acme").unwrap();
    w.repo.add_sub_issue(numbers[0], numbers[3]);
    w.repo.close_issue("acme", numbers[3]).unwrap();
    for (branch, text) in [("one", "Closes #1"), ("two", ""), ("three", "")] {
        w.repo
            .push_commit("acme", branch, &[(branch, "x")])
            .unwrap();
        let pr = w.repo.open_pr("acme", branch, branch, "main").unwrap();
        w.repo.edit_body("acme", pr, text).unwrap();
    }
    for name in ["issue-1", "issue-2", "slot-1"] {
        let commit = w.lease(None).await;
        let claim = [swap(&format!("refs/leases/{name}"), None, Some(&commit))];
        ghswarm::ports::github::GitHub::swap_refs(&w.far, &claim)
            .await
            .unwrap();
    }
    let (near, far) = (w.near.board("leases").await, w.far.board("leases").await);
    let (near, far) = (near.unwrap(), far.unwrap());
    assert_eq!(near, far);
    assert_eq!(far.issues.len(), 4, "the closed one is not on it");
    assert_eq!(far.issues[0].issue.linked_prs.len(), 1);
    assert_eq!(far.issues[1].open_sub_issues, 0);
    assert_eq!(far.issues[2].comments.len(), 7);
    assert_eq!((far.prs.len(), far.leases.len()), (3, 3));
    assert!(far.base.is_some());
}

#[tokio::test]
async fn both_faces_tell_a_pull_request_by_its_number() {
    let w = world().await;
    w.repo.push_commit("acme", "topic", &[("x", "x")]).unwrap();
    let pr = w.repo.open_pr("acme", "Topic", "topic", "main").unwrap();
    w.repo.edit_body("acme", pr, "Closes #1").unwrap();
    let both = async |pr: u64| {
        let far = w.far.pull_request(PrNumber(pr)).await.unwrap();
        assert_eq!(far, w.near.pull_request(PrNumber(pr)).await.unwrap());
        far
    };
    let open = both(pr).await.unwrap();
    assert_eq!(
        (open.state, open.head_ref.as_str()),
        (PrState::Open, "topic")
    );
    assert_eq!(open.closes.len(), 1);
    w.repo.merge_pr_as("acme", pr, MergeMethod::Squash).unwrap();
    assert!(matches!(
        both(pr).await.unwrap().state,
        PrState::Merged { .. }
    ));
    assert_eq!(both(1).await, None, "an issue is none");
    assert_eq!(both(99).await, None);
}
