//! Bundles: siblings go along with their lead.

use super::*;

fn with(lead: u64) -> Wish {
    Wish {
        lead: Some(IssueNumber(lead)),
        ..PLAIN
    }
}

#[test]
fn siblings_point_at_their_lead_and_are_released_with_it() {
    let (world, a, b, lead) = two_homes();
    let [second, third] = [plain_issue(&world), plain_issue(&world)];
    let claimed = world.wins(&a, lead, PLAIN);
    for sibling in [second, third] {
        let bundled = world.wins(&a, sibling, with(lead));
        assert_eq!(bundled.branch, claimed.branch);
        assert_eq!(bundled.worktree, claimed.worktree);
        let now = world.issue(sibling);
        let [comment] = now.comments.as_slice() else {
            panic!("{now:#?}");
        };
        let lock = lock_markers(&comment.body, "claude-lock").pop().unwrap();
        assert_eq!(lock.bundled_with, Some(IssueNumber(lead)));
        assert!(comment.body.contains(&format!("Bundled with #{lead}")));
        world.loses(&b, sibling, PLAIN);
    }
    let pr = world.opens_pr(ANN, lead, claimed.branch.as_str());
    world.merges(ANN, pr);
    assert_eq!(
        world.gives_back(&a, lead, &merged(pr)),
        [second, third, lead]
    );
    for issue in [lead, second, third] {
        let now = world.issue(issue);
        assert!(!now.open && now.assignees == [ANN], "{now:#?}");
        assert!(
            now.comments
                .last()
                .unwrap()
                .body
                .contains(&format!("PR #{pr} merged"))
        );
        world.expect_free(issue);
    }
}

#[test]
fn a_siblings_claim_is_as_live_as_its_leads() {
    let (world, a, b, lead) = two_homes();
    let sibling = plain_issue(&world);
    let claimed = world.wins(&a, lead, PLAIN);
    world.wins(&a, sibling, with(lead));
    world.opens_pr(ANN, lead, claimed.branch.as_str());
    world.minutes(72 * 60);
    assert_eq!(
        world.loses(&b, sibling, PLAIN).why.code(),
        "claimed_by_comment"
    );
    // The pull request keeps the lead, and the lead the sibling, here as well.
    a.engine();
    world.run_until_waits();
    assert!(record(&a, sibling).is_some());
    world.gives_back(&a, lead, &abandoned());
    world.expect_free(sibling);
    world.wins(&b, sibling, PLAIN);
}

#[test]
fn a_bundle_needs_a_lead_that_is_claimed_here() {
    let (world, a, b, lead) = two_homes();
    let sibling = plain_issue(&world);
    let refused = |host: &Host, issue: u64, lead: u64, words: &str| {
        let before = world.sim().counts().writes;
        match world.claim(host, issue, with(lead)).unwrap() {
            ClaimOutcome::NoLead { because, .. } => assert!(because.contains(words), "{because}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(world.sim().counts().writes, before);
    };
    refused(&a, sibling, lead, "claim the lead first");
    world.wins(&b, lead, PLAIN);
    refused(&a, sibling, lead, "claim the lead first");
    let third = plain_issue(&world);
    world.wins(&b, sibling, with(lead));
    refused(&b, third, sibling, "part of a bundle");
    refused(&b, lead, lead, "does not lead itself");
}

#[test]
fn a_sibling_may_be_given_back_alone() {
    let (world, a, _, lead) = two_homes();
    let sibling = plain_issue(&world);
    world.wins(&a, lead, PLAIN);
    world.wins(&a, sibling, with(lead));
    assert_eq!(world.gives_back(&a, sibling, &abandoned()), [sibling]);
    world.expect_free(sibling);
    world.expect_claimed(&a, lead);
}
