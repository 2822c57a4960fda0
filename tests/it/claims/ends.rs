//! How claims end: merged, given up, blocked; and what is not an end.

use super::*;

#[test]
fn merged_closes_the_issue_and_keeps_the_assignee_as_credit() {
    let (world, a, _, issue) = two_homes();
    let claimed = world.wins(&a, issue, PLAIN);
    let pr = world.opens_pr(ANN, issue, claimed.branch.as_str());
    // Not linked: it goes into a branch that closes nothing.
    world.edits_pr(ANN, pr, "no keyword");
    world.merges("bob", pr);
    world.gives_back(&a, issue, &merged(pr));
    let now = world.issue(issue);
    assert!(
        !now.open && now.state_reason.as_deref() == Some("completed"),
        "{now:#?}"
    );
    assert_eq!(now.assignees, [ANN]);
    let said = now.comments.last().unwrap().body.clone();
    assert!(said.contains(&format!("Resolved by PR #{pr}")), "{said}");
    assert!(
        said.contains(&format!("Session lock released — PR #{pr} merged.")),
        "{said}"
    );
    world.expect_free(issue);
}

#[test]
fn a_pull_request_that_is_not_merged_or_not_this_issues_releases_nothing() {
    let (world, a, _, issue) = two_homes();
    let other = plain_issue(&world);
    let claimed = world.wins(&a, issue, PLAIN);
    let refuse = |pr: u64, words: &str| {
        let before = world.sim().counts().writes;
        match world.release(&a, issue, &merged(pr)).unwrap() {
            ReleaseOutcome::WrongPr { because, .. } => {
                assert!(because.contains(words), "{because}");
            }
            outcome => panic!("{outcome:?}"),
        }
        assert_eq!(world.sim().counts().writes, before);
        world.expect_claimed(&a, issue);
    };
    refuse(99, "there is no pull request #99");
    // An issue is no pull request.
    refuse(other, "there is no pull request");
    let pr = world.opens_pr(ANN, issue, claimed.branch.as_str());
    refuse(pr, "it is open");
    world.repo.close_pr(ANN, pr).unwrap();
    refuse(pr, "closed without merging");
    let foreign = world.opens_pr("bob", other, "elsewhere");
    world.merges("bob", foreign);
    refuse(foreign, "is not for issue");
    // From another branch, but linked to this one.
    let linked = world.opens_pr("bob", issue, "another-branch");
    world.merges("bob", linked);
    world.gives_back(&a, issue, &merged(linked));
    world.expect_free(issue);
}

#[test]
fn given_up_takes_off_what_we_placed_and_nothing_else() {
    let (world, a, b, issue) = two_homes();
    world.wins(&a, issue, PLAIN);
    world.gives_back(&a, issue, &abandoned());
    let now = world.issue(issue);
    assert_eq!(now.assignees, Vec::<String>::new());
    assert!(now.open && now.has_label("bug"));
    assert!(
        now.comments
            .last()
            .unwrap()
            .body
            .contains("it does not work")
    );
    world.expect_free(issue);
    world.wins(&b, issue, PLAIN);
    world.gives_back(&b, issue, &abandoned());
    // Ann was assigned by a person before she claimed.
    world.repo.assign("bob", issue, ANN).unwrap();
    world.wins(&a, issue, PLAIN);
    world.gives_back(&a, issue, &abandoned());
    assert_eq!(world.issue(issue).assignees, [ANN]);
}

#[test]
fn blocked_keeps_the_assignee_and_is_followed_by_a_fresh_claim() {
    let (world, a, b, issue) = two_homes();
    let first = world.wins(&a, issue, PLAIN);
    let pr = world.opens_pr(ANN, issue, first.branch.as_str());
    world.gives_back(&a, issue, &blocked());
    let now = world.issue(issue);
    assert_eq!(now.assignees, [ANN]);
    assert_eq!(world.repo.issue(pr).unwrap().assignees, [ANN]);
    world.expect_free(issue);
    assert_eq!(world.loses(&b, issue, PLAIN).why.code(), "assigned_to");
    let second = world.wins(&a, issue, PLAIN);
    assert_ne!(first.claim, second.claim);
    let now = world.issue(issue);
    // Never an edited old one: the first comment says that it is over, a second one is there.
    let marks = now
        .comments
        .iter()
        .filter(|c| c.body.contains("claude-lock:"));
    assert_eq!(marks.count(), 2);
}

#[test]
fn what_is_not_claimed_here_is_not_released() {
    let (world, a, b, issue) = two_homes();
    world.wins(&a, issue, PLAIN);
    match world.release(&b, issue, &abandoned()).unwrap() {
        ReleaseOutcome::NotClaimed { holding } => {
            assert_eq!(holding.unwrap().operator.unwrap().as_str(), ANN);
        }
        outcome => panic!("{outcome:?}"),
    }
    world.expect_claimed(&a, issue);
}

#[test]
fn a_release_works_although_somebody_deleted_the_lease() {
    for end in [abandoned(), blocked()] {
        let (world, a, _, issue) = two_homes();
        world.wins(&a, issue, PLAIN);
        world.minutes(600);
        world
            .repo
            .delete_ref(&format!("refs/leases/issue-{issue}"))
            .unwrap();
        world.gives_back(&a, issue, &end);
        world.expect_free(issue);
    }
}

#[test]
fn the_claim_of_an_issue_that_is_gone_is_forgotten() {
    let (world, a, _, issue) = two_homes();
    world.wins(&a, issue, PLAIN);
    world.repo.delete_issue(issue);
    world.gives_back(&a, issue, &abandoned());
    assert_eq!(record(&a, issue), None);
    assert_eq!(world.leases(), Vec::<String>::new());
}
