//! `claim`: what it places, whom it refuses, and what is reclaimed.

use ghswarm::ports::Refusal;
use ghswarm::sim::github::{Fault, FaultPlan, Op};

use super::*;

#[test]
fn a_claim_shows_everything_and_touches_no_status_label() {
    let (world, a, _, issue) = two_homes();
    let labels = world.issue(issue).labels;
    let claimed = world.wins(&a, issue, PLAIN);
    assert_eq!(claimed.branch.as_str(), format!("issue-{issue}"));
    let now = world.issue(issue);
    assert_eq!(
        now.labels,
        [labels, vec!["agent-claimed".to_owned()]].concat()
    );
    assert_eq!(now.assignees, [ANN]);
    let [comment] = now.comments.as_slice() else {
        panic!("{now:#?}");
    };
    let lock = lock_markers(&comment.body, "claude-lock").pop().unwrap();
    assert_eq!(lock.by.word(), "manual");
    assert_eq!(lock.worktree.as_deref(), claimed.worktree.to_str());
    assert!(comment.body.starts_with("<!-- ghswarm:run ann/shop#"));
    let lease = world.lease_text(issue).unwrap();
    assert!(
        lease.contains("\"ttlMin\":240") && lease.contains("\"by\":\"manual\""),
        "{lease}"
    );
}

#[test]
fn who_comes_second_is_told_where_the_first_is() {
    let (world, a, b, issue) = two_homes();
    world.wins(&a, issue, PLAIN);
    let same = world.loses(&a, issue, PLAIN);
    assert_eq!(same.why.code(), "claimed_by_hand");
    assert!(same.holding.unwrap().ours);
    let other = world.loses(&b, issue, PLAIN);
    assert_eq!(other.why.code(), "claimed_elsewhere");
    let held = other.holding.unwrap();
    assert_eq!(held.operator.unwrap().as_str(), ANN);
    assert_eq!(held.host.as_deref(), Some("host-a"));
    assert!(
        held.worktree.unwrap().starts_with("/sim/a/"),
        "the worktree"
    );
    assert!(held.url.unwrap().contains("#issuecomment-"));
    assert!(held.since.is_some() && held.expires.is_some() && !held.ours);
    // Once the lease ran out the comment goes on keeping others away.
    world.minutes(5 * 60);
    let later = world.loses(&b, issue, PLAIN);
    assert_eq!(later.why.code(), "claimed_by_comment");
}

#[test]
fn an_issue_that_is_not_to_be_worked_on_is_refused() {
    let (world, a, _, issue) = two_homes();
    world.labels(ANN, issue, "do-not-dispatch");
    assert_eq!(world.loses(&a, issue, PLAIN).why.code(), "on_hold");
    assert_eq!(world.loses(&a, issue, ORDERED).why.code(), "on_hold");
    world.unlabels(ANN, issue, "do-not-dispatch");
    world.repo.assign(ANN, issue, "bob").unwrap();
    assert_eq!(world.loses(&a, issue, PLAIN).why.code(), "assigned_to");
    world.repo.unassign(ANN, issue, "bob").unwrap();
    world.closes(ANN, issue);
    assert_eq!(world.loses(&a, issue, PLAIN).why.code(), "issue_closed");
    assert_eq!(world.loses(&a, 99, PLAIN).why.code(), "issue_gone");
}

#[test]
fn a_stale_claim_is_reclaimed_politely() {
    let (world, a, b, issue) = two_homes();
    world.wins(&b, issue, PLAIN);
    world.minutes(23 * 60);
    world.loses(&a, issue, PLAIN);
    world.minutes(61);
    let claimed = world.wins(&a, issue, PLAIN);
    assert!(claimed.displaced.unwrap().who.contains("@bob"));
    let now = world.issue(issue);
    assert_eq!(now.assignees, [ANN], "the prior assignee is off");
    let said = now
        .comments
        .iter()
        .find(|c| c.body.contains("last sign of life 2026-03-02"));
    let said = &said.unwrap().body;
    assert!(
        said.contains("Reclaiming stale lock from") && said.contains("bob"),
        "{said}"
    );
    // Bob's session notices that it lost, and writes nothing.
    let before = world.sim().counts().writes;
    let outcome = world.release(&b, issue, &abandoned()).unwrap();
    assert!(
        matches!(outcome, ReleaseOutcome::Lost { .. }),
        "{outcome:?}"
    );
    assert_eq!(world.sim().counts().writes, before);
    world.expect_claimed(&a, issue);
}

#[test]
fn an_old_claim_with_an_open_pull_request_is_active() {
    let (world, a, b, issue) = two_homes();
    let claimed = world.wins(&b, issue, PLAIN);
    let pr = world.opens_pr("bob", issue, claimed.branch.as_str());
    world.minutes(72 * 60);
    assert_eq!(
        world.loses(&a, issue, PLAIN).why.code(),
        "claimed_by_comment"
    );
    world.repo.close_pr("bob", pr).unwrap();
    world.wins(&a, issue, PLAIN);
}

#[test]
fn our_own_stale_claim_is_followed_by_a_fresh_one() {
    let (world, a, _, issue) = two_homes();
    let first = world.wins(&a, issue, PLAIN);
    world.minutes(25 * 60);
    let second = world.wins(&a, issue, PLAIN);
    assert_ne!(first.claim, second.claim);
    assert_eq!(world.issue(issue).assignees, [ANN]);
}

#[test]
fn what_github_refuses_takes_the_other_signals_back() {
    for refused in [Op::CreateComment, Op::AddAssignee, Op::AddLabels] {
        let (world, a, _, issue) = two_homes();
        world.sim().set_faults(FaultPlan::ask(move |asked| {
            (asked.op == refused).then_some(Fault::RefuseBefore(403))
        }));
        let error = world.claim(&a, issue, PLAIN).unwrap_err();
        assert_eq!(error.refusal(), Some(Refusal::Forbidden), "{error}");
        world.sim().set_faults(FaultPlan::none());
        world.expect_free(issue);
        assert_eq!(world.issue(issue).assignees, Vec::<String>::new());
        world.wins(&a, issue, PLAIN);
    }
}

#[test]
fn renewing_moves_the_lease_and_nothing_else() {
    let (world, a, b, issue) = two_homes();
    world.wins(&a, issue, PLAIN);
    let before = world.issue(issue);
    world.minutes(200);
    let engine = a.engine();
    let renewed = world
        .wait(engine.renew_by_hand(IssueNumber(issue)))
        .unwrap();
    assert!(renewed.is_some());
    world.minutes(200);
    assert_eq!(
        world.loses(&b, issue, PLAIN).why.code(),
        "claimed_elsewhere"
    );
    assert_eq!(world.issue(issue).comments.len(), before.comments.len());
    // A lease that somebody deleted comes back.
    world
        .repo
        .delete_ref(&format!("refs/leases/issue-{issue}"))
        .unwrap();
    world
        .wait(engine.renew_by_hand(IssueNumber(issue)))
        .unwrap();
    world.expect_claimed(&a, issue);
    let none = world
        .wait(b.engine().renew_by_hand(IssueNumber(issue)))
        .unwrap();
    assert_eq!(none, None);
}

#[test]
fn checking_tells_free_ours_and_held_and_renewing_assigns_the_pull_request() {
    use ghswarm::engine::claims::Verdict;
    let (world, a, b, issue) = two_homes();
    let check = |host: &Host| {
        let engine = host.engine();
        world
            .wait(engine.check_by_hand(IssueNumber(issue)))
            .unwrap()
    };
    assert_eq!(check(&a).verdict, Verdict::Free);
    let claimed = world.wins(&a, issue, PLAIN);
    assert_eq!(check(&a).verdict, Verdict::Ours);
    let held = check(&b);
    assert_eq!(held.verdict, Verdict::Held);
    assert_eq!(held.holding.unwrap().operator.unwrap().as_str(), ANN);
    let pr = world.opens_pr(ANN, issue, claimed.branch.as_str());
    assert_eq!(
        world.repo.issue(pr).unwrap().assignees,
        Vec::<String>::new()
    );
    let ours = check(&a);
    assert!(ours.expires.is_some() && !ours.unfinished);
    let engine = a.engine();
    let number = IssueNumber(issue);
    world.wait(engine.renew_by_hand(number)).unwrap().unwrap();
    assert_eq!(world.repo.issue(pr).unwrap().assignees, [ANN]);
}

#[test]
fn what_no_order_overrides_is_told_beside_who_has_it_and_where() {
    let (world, a, b, issue) = two_homes();
    let claimed = world.wins(&a, issue, PLAIN);
    assert_eq!(world.loses(&b, issue, PLAIN).stops, None);
    world.labels(ANN, issue, "do-not-dispatch");
    let refused = world.loses(&a, issue, PLAIN);
    assert_eq!(refused.why.code(), "claimed_by_hand");
    assert_eq!(refused.stops.unwrap().code(), "on_hold");
    assert_eq!(refused.place.unwrap().worktree, claimed.worktree);
    assert_eq!(world.loses(&b, issue, ORDERED).why.code(), "on_hold");
}
