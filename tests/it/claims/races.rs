//! Several at once: the lease decides between tools that have one; between the others the earlier marker.

use ghswarm::sim::github::Op;

use super::*;

fn foreign_mark(at: &str) -> String {
    format!("<!-- claude-lock: operator=bob worktree=/w branch=bobs at={at} -->")
}

#[test]
fn the_loser_of_the_swap_writes_nothing_and_is_told_who_won() {
    let (world, a, b, issue) = two_homes();
    // Both have looked and found it free; Bob is faster with his swap.
    let engine = b.engine();
    let runtime = std::sync::Mutex::new(Some(engine));
    a.door.right_before(Op::SwapRefs, move || {
        let engine = runtime.lock().unwrap().take().unwrap();
        let outcome = crate::claims::alone(engine.claim_by_hand(IssueNumber(issue), PLAIN));
        assert!(
            matches!(outcome, Ok(ClaimOutcome::Claimed(_))),
            "{outcome:?}"
        );
    });
    let before = world.issue(issue);
    let ClaimOutcome::Refused(refused) = world.claim(&a, issue, PLAIN).unwrap() else {
        panic!("two winners");
    };
    assert_eq!(refused.holding.unwrap().operator.unwrap().as_str(), "bob");
    assert_eq!(before.comments.len() + 1, world.issue(issue).comments.len());
    assert_eq!(world.issue(issue).assignees, ["bob"]);
    assert_eq!(record(&a, issue), None);
    world.expect_claimed(&b, issue);
}

#[test]
fn an_order_does_not_displace_who_won_the_race_for_it() {
    let (world, a, b, issue) = two_homes();
    let engine = b.engine();
    let runtime = std::sync::Mutex::new(Some(engine));
    a.door.right_before(Op::SwapRefs, move || {
        let engine = runtime.lock().unwrap().take().unwrap();
        let outcome = crate::claims::alone(engine.claim_by_hand(IssueNumber(issue), ORDERED));
        assert!(
            matches!(outcome, Ok(ClaimOutcome::Claimed(_))),
            "{outcome:?}"
        );
    });
    let ClaimOutcome::Refused(_) = world.claim(&a, issue, ORDERED).unwrap() else {
        panic!("the winner was displaced");
    };
    world.expect_claimed(&b, issue);
}

#[test]
fn somebody_who_claims_by_comment_before_ours_stands_keeps_the_issue() {
    let (world, a, _, issue) = two_homes();
    let repo = world.repo.clone();
    let clock = world.clock.clone();
    a.door.right_before(Op::SwapRefs, move || {
        clock.advance(std::time::Duration::from_secs(1));
        repo.comment("bob", issue, &foreign_mark("2026-03-02T09:00:01Z"))
            .unwrap();
    });
    let ClaimOutcome::Refused(refused) = world.claim(&a, issue, PLAIN).unwrap() else {
        panic!("two winners");
    };
    assert_eq!(refused.why.code(), "claimed_by_comment");
    assert_eq!(record(&a, issue), None);
    assert_eq!(world.lease_text(issue), None);
    let now = world.issue(issue);
    assert!(
        now.comments.len() == 1 && now.assignees.is_empty(),
        "{now:#?}"
    );
}

/// A tool without leases places its marker right before ours, dated `at`.
fn at_the_same_time(at: &str) -> (World, Arc<Host>, u64, ClaimOutcome) {
    let (world, a, _, issue) = two_homes();
    let repo = world.repo.clone();
    let text = foreign_mark(at);
    a.door.right_before(Op::CreateComment, move || {
        repo.comment("bob", issue, &text).unwrap();
        repo.assign("bob", issue, "bob").unwrap();
    });
    let outcome = world.claim(&a, issue, PLAIN).unwrap();
    (world, a, issue, outcome)
}

#[test]
fn of_two_markers_at_once_the_earlier_one_wins_and_the_loser_takes_its_own_back() {
    let (world, a, issue, outcome) = at_the_same_time("2026-03-02T09:00:00Z");
    assert!(matches!(outcome, ClaimOutcome::Refused(_)), "{outcome:?}");
    let now = world.issue(issue);
    assert_eq!(now.assignees, ["bob"]);
    assert!(!now.has_label("agent-claimed"));
    assert_eq!(open_marks(&now).len(), 1, "bob's alone is open: {now:#?}");
    assert_eq!((record(&a, issue), world.lease_text(issue)), (None, None));
}

#[test]
fn a_rival_that_is_later_is_left_to_yield_itself() {
    let (world, a, issue, outcome) = at_the_same_time("2026-03-02T09:59:00Z");
    assert!(matches!(outcome, ClaimOutcome::Claimed(_)), "{outcome:?}");
    world.expect_claimed(&a, issue);
}
