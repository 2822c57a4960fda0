//! `claim sweep`: stale claims are reconciled with what became of their pull requests.

use ghswarm::engine::claims::{DryRun, Swept, SweptHow};

use super::*;

fn sweep(world: &World, host: &Host, dry: DryRun) -> Vec<Swept> {
    let engine = host.engine();
    let before = world.sim().counts().writes;
    let swept = world.wait(engine.sweep_by_hand(host.port(), dry)).unwrap();
    if dry == DryRun::Yes {
        assert_eq!(world.sim().counts().writes, before, "a dry run wrote");
    }
    swept
}

#[track_caller]
fn how(swept: &[Swept], issue: u64) -> SweptHow {
    let found = swept.iter().find(|one| one.issue.0 == issue);
    found.unwrap_or_else(|| panic!("{swept:#?}")).how.clone()
}

#[test]
fn another_operators_stale_claim_whose_pull_request_merged_is_closed_in_their_name() {
    let (world, a, b, issue) = two_homes();
    let claimed = world.wins(&b, issue, PLAIN);
    let pr = world.opens_pr("bob", issue, claimed.branch.as_str());
    world.edits_pr("bob", pr, "no keyword");
    world.merges("bob", pr);
    assert_eq!(
        how(&sweep(&world, &a, DryRun::No), issue),
        SweptHow::Active,
        "it is young"
    );
    world.minutes(25 * 60);
    let merged = SweptHow::Merged { pr: PrNumber(pr) };
    assert_eq!(how(&sweep(&world, &a, DryRun::Yes), issue), merged);
    world.expect_open_claim(issue);
    assert_eq!(how(&sweep(&world, &a, DryRun::No), issue), merged);
    let now = world.issue(issue);
    assert!(!now.open && !now.has_label("agent-claimed"), "{now:#?}");
    assert_eq!(now.assignees, ["bob"], "the credit stays");
    let said = &now.comments.last().unwrap().body;
    assert!(
        said.contains("Releasing stale lock held by `bob`"),
        "{said}"
    );
    assert!(
        said.contains(&format!("Session lock released — PR #{pr} merged.")),
        "{said}"
    );
    assert_eq!((record(&a, issue), world.lease_text(issue)), (None, None));
    assert_eq!(sweep(&world, &a, DryRun::No), []);
}

#[test]
fn a_stale_claim_whose_pull_request_died_is_released_whole() {
    let (world, a, b, issue) = two_homes();
    let claimed = world.wins(&b, issue, PLAIN);
    let pr = world.opens_pr("bob", issue, claimed.branch.as_str());
    world.repo.close_pr("bob", pr).unwrap();
    world.minutes(25 * 60);
    assert!(matches!(
        how(&sweep(&world, &a, DryRun::No), issue),
        SweptHow::Dead { .. }
    ));
    let now = world.issue(issue);
    assert!(now.open && now.assignees.is_empty() && !now.has_label("agent-claimed"));
    assert!(now.comments.last().unwrap().body.contains("held by `bob`"));
    world.wins(&a, issue, PLAIN);
}

#[test]
fn what_is_active_or_cannot_be_told_is_left_alone() {
    let (world, a, b, issue) = two_homes();
    let claimed = world.wins(&b, issue, PLAIN);
    let quiet = plain_issue(&world);
    world.wins(&b, quiet, PLAIN);
    world.opens_pr("bob", issue, claimed.branch.as_str());
    world.minutes(72 * 60);
    let swept = sweep(&world, &a, DryRun::No);
    assert_eq!(
        how(&swept, issue),
        SweptHow::Active,
        "a healthy pull request is open"
    );
    assert_eq!(how(&swept, quiet), SweptHow::Stale, "nobody can tell");
    assert!(world.issue(quiet).has_label("agent-claimed"));
    assert_eq!(world.issue(quiet).assignees, ["bob"]);
}

#[test]
fn our_own_claim_ends_with_its_pull_request_at_once() {
    let (world, a, _, issue) = two_homes();
    let sibling = plain_issue(&world);
    let claimed = world.wins(&a, issue, PLAIN);
    let lead = Some(IssueNumber(issue));
    world.wins(&a, sibling, Wish { lead, ..PLAIN });
    let pr = world.opens_pr(ANN, issue, claimed.branch.as_str());
    let swept = sweep(&world, &a, DryRun::No);
    assert_eq!(how(&swept, issue), SweptHow::Active);
    world.merges(ANN, pr);
    let swept = sweep(&world, &a, DryRun::No);
    assert_eq!(how(&swept, issue), SweptHow::Merged { pr: PrNumber(pr) });
    for issue in [issue, sibling] {
        world.expect_free(issue);
        assert!(!world.issue(issue).open);
    }
}

#[test]
fn our_own_claim_of_an_issue_that_was_closed_is_given_up() {
    let (world, a, _, issue) = two_homes();
    world.wins(&a, issue, PLAIN);
    world.closes("bob", issue);
    assert!(matches!(
        how(&sweep(&world, &a, DryRun::No), issue),
        SweptHow::Dead { .. }
    ));
    world.expect_free(issue);
}

impl World {
    fn expect_open_claim(&self, issue: u64) {
        let now = self.issue(issue);
        assert!(now.open && now.has_label("agent-claimed"), "{now:#?}");
    }
}
