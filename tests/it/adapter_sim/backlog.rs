//! The backlog through both faces: every lease, every open issue, and what holds an issue back.

use ghswarm::model::ids::IssueNumber;
use ghswarm::ports::backlog::Backlog;
use ghswarm::ports::github::GitHub;

use super::{World, swap, world};

#[tokio::test]
async fn both_faces_list_every_lease_of_the_namespace_whatever_the_pages() {
    let w = world().await;
    w.sim.set_page_max(2);
    let mut commit = w.lease(None).await;
    for name in [
        "leases/issue-1",
        "leases/issue-2",
        "leases/slot-1",
        "leases-2/issue-9",
    ] {
        let claim = [swap(&format!("refs/{name}"), None, Some(&commit))];
        w.far.swap_refs(&claim).await.unwrap();
        commit = w.lease(None).await;
    }
    let (near, far) = (w.near.leases("leases").await, w.far.leases("leases").await);
    let (near, far) = (near.unwrap(), far.unwrap());
    assert_eq!(near, far);
    let names: Vec<&str> = far.leases.iter().map(|one| one.name.as_str()).collect();
    let wanted = [
        "refs/leases/issue-1",
        "refs/leases/issue-2",
        "refs/leases/slot-1",
    ];
    assert_eq!(names, wanted);
    assert!(far.base.is_some());
}

#[tokio::test]
async fn both_faces_tell_what_holds_an_open_issue_back() {
    let w = world().await;
    w.sim.set_page_max(2);
    let open = |title: &str| IssueNumber(w.repo.open_issue("acme", title, "", &[]).unwrap());
    let (blocker, child, closed) = (open("First"), open("Part"), open("Over"));
    for number in [blocker, closed] {
        w.repo.block_by(1, number.0);
    }
    for number in [child, closed] {
        w.repo.add_sub_issue(1, number.0);
    }
    w.repo.block_elsewhere(1, 1);
    w.repo.set_milestone(child.0, Some("one"));
    w.repo.set_milestone(blocker.0, Some("two"));
    w.repo.close_issue("acme", closed.0).unwrap();
    let (near, far) = (w.near.open_issues().await, w.far.open_issues().await);
    let (near, far) = (near.unwrap(), far.unwrap());
    assert_eq!(near, far);
    let numbers: Vec<u64> = far.iter().map(|issue| issue.listed.number.0).collect();
    assert_eq!(numbers, [1, blocker.0, child.0]);
    let first = &far[0].listed;
    assert_eq!((first.open_dependencies, first.open_sub_issues), (2, 1));
    assert_eq!((far[0].body.as_str(), far[1].milestone), ("spec", Some(2)));
    for number in [IssueNumber(1), blocker, IssueNumber(99)] {
        assert_eq!(blockers(&w, number).await.is_empty(), number.0 != 1);
    }
    assert_eq!(blockers(&w, IssueNumber(1)).await, [blocker]);
    for (number, wanted) in [(1, Some(true)), (closed.0, Some(false)), (99, None)] {
        let number = IssueNumber(number);
        assert_eq!(w.far.is_open(number).await.unwrap(), wanted);
        assert_eq!(w.near.is_open(number).await.unwrap(), wanted);
    }
}

async fn blockers(w: &World, issue: IssueNumber) -> Vec<IssueNumber> {
    let far = w.far.blockers(issue).await.unwrap();
    assert_eq!(far, w.near.blockers(issue).await.unwrap());
    far
}
