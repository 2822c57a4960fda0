//! `--take-over`: what is displaced is named, kept, and never lost.

use std::path::Path;

use ghswarm::model::ids::RefName;
use ghswarm::model::run::RunKind;
use ghswarm::ports::git::{Git as _, NewWorktree};
use ghswarm::sim::local::{Performance, Takes};

use super::*;

/// A worktree of the home's claim with a commit that nobody else has.
fn works(world: &World, host: &Host, path: &Path, branch: &str) -> ghswarm::model::ids::Sha {
    let git = host.home.git();
    let base = world
        .wait(git.fetch_base(&"main".parse().unwrap()))
        .unwrap();
    let new = NewWorktree {
        path: path.to_path_buf(),
        branch: branch.parse().unwrap(),
        start: base,
    };
    world.wait(git.add_worktree(&new)).unwrap();
    host.home.put_file(path, "a.txt", Some("apples")).unwrap();
    world.wait(git.commit_all(path, "Apples")).unwrap()
}

#[test]
fn a_live_foreign_claim_is_displaced_and_its_owner_named() {
    let (world, a, b, issue) = two_homes();
    world.wins(&b, issue, PLAIN);
    world.loses(&a, issue, PLAIN);
    let claimed = world.wins(&a, issue, ORDERED);
    assert!(claimed.displaced.unwrap().by_order);
    assert_eq!(claimed.archived, None, "nothing of it is on this machine");
    let now = world.issue(issue);
    assert_eq!(now.assignees, [ANN]);
    let said = now
        .comments
        .iter()
        .find(|c| c.body.contains("Taking over the claim of"));
    let said = &said.unwrap().body;
    assert!(
        said.contains("bob") && said.contains("2026-03-02"),
        "{said}"
    );
    // The old marker is over for everybody, and the old session writes nothing any more.
    assert_eq!(
        world
            .loses(&b, issue, PLAIN)
            .holding
            .unwrap()
            .operator
            .unwrap()
            .as_str(),
        ANN
    );
    assert!(matches!(
        world.release(&b, issue, &abandoned()).unwrap(),
        ReleaseOutcome::Lost { .. } | ReleaseOutcome::NotClaimed { .. }
    ));
    world.gives_back(&a, issue, &abandoned());
    world.expect_free(issue);
}

/// Bob displaced Ann's claim and gave the issue back: nobody has it.
fn displaced_and_given_back() -> (World, Arc<Host>, Arc<Host>, u64) {
    let (world, a, b, issue) = two_homes();
    world.wins(&a, issue, PLAIN);
    world.wins(&b, issue, ORDERED);
    world.gives_back(&b, issue, &abandoned());
    assert_eq!(world.lease_text(issue), None);
    (world, a, b, issue)
}

#[test]
fn a_displaced_claim_does_not_come_back_to_life_when_the_other_is_released() {
    use ghswarm::engine::claims::Verdict;
    use ghswarm::engine::renew::RenewOutcome;
    let (world, a, b, issue) = displaced_and_given_back();
    let engine = a.engine();
    let number = IssueNumber(issue);
    let before = world.sim().counts().writes;
    let checked = world.wait(engine.check_by_hand(number)).unwrap();
    assert_eq!(checked.verdict, Verdict::Displaced);
    let renewed = world.wait(engine.renew_by_hand(number)).unwrap();
    assert_eq!(renewed, Some(RenewOutcome::Released));
    assert!(matches!(
        world.release(&a, issue, &abandoned()).unwrap(),
        ReleaseOutcome::Lost { .. }
    ));
    assert_eq!(world.sim().counts().writes, before, "a lost claim wrote");
    world.expect_free(issue);
    world.wins(&b, issue, PLAIN);
}

#[test]
fn who_was_displaced_may_claim_the_issue_again() {
    let (world, a, _, issue) = displaced_and_given_back();
    let old = record(&a, issue).unwrap().claim;
    assert_ne!(world.wins(&a, issue, PLAIN).claim, old);
}

#[test]
fn a_sweep_archives_the_record_of_a_displaced_claim() {
    use ghswarm::engine::claims::{DryRun, SweptHow};
    let (world, a, _, issue) = displaced_and_given_back();
    let engine = a.engine();
    let sweep = |dry| world.wait(engine.sweep_by_hand(a.port(), dry)).unwrap();
    assert_eq!(sweep(DryRun::Yes)[0].how, SweptHow::Displaced);
    assert!(record(&a, issue).is_some(), "a dry run changes nothing");
    assert_eq!(sweep(DryRun::No)[0].how, SweptHow::Displaced);
    assert_eq!(a.home.superseded().len(), 1);
    world.expect_free(issue);
}

#[test]
fn a_claim_of_this_home_is_archived_and_its_unpushed_work_saved() {
    let (world, a, _, issue) = two_homes();
    let first = world.wins(&a, issue, PLAIN);
    let head = works(&world, &a, &first.worktree, first.branch.as_str());
    let second = world.wins(&a, issue, ORDERED);
    assert_ne!(first.claim, second.claim);
    let archive = second.archived.expect("an archive");
    assert!(
        archive.display().to_string().contains("superseded"),
        "{archive:?}"
    );
    assert_eq!(a.home.superseded()[0].claim, first.claim);
    assert_eq!(a.home.salvaged(), [head]);
    assert_eq!(second.salvaged.len(), 1);
    assert!(a.has_worktree(issue), "nothing is removed");
    let marks = world.issue(issue).comments;
    let said = marks
        .iter()
        .filter(|c| c.body.contains("Taking over the claim of"));
    assert_eq!(said.count(), 1);
}

#[test]
fn the_work_of_a_branch_is_saved_although_its_worktree_is_gone() {
    let (world, a, _, issue) = two_homes();
    let first = world.wins(&a, issue, PLAIN);
    let head = works(&world, &a, &first.worktree, first.branch.as_str());
    // Somebody removed the folder by hand; the branch is still there.
    a.home.lose_worktree(&first.worktree);
    let second = world.wins(&a, issue, ORDERED);
    assert_eq!(a.home.salvaged(), [head]);
    assert_eq!(second.salvaged.len(), 1);
    // And where nothing is there at all, nothing is saved and nothing fails.
    let other = plain_issue(&world);
    world.wins(&a, other, PLAIN);
    assert_eq!(
        world.wins(&a, other, ORDERED).salvaged,
        Vec::<RefName>::new()
    );
}

#[test]
fn a_folder_of_another_repository_or_issue_is_refused_before_anything_moves() {
    let (world, a, _, issue) = two_homes();
    let first = world.wins(&a, issue, PLAIN);
    // Renamed: the lease still carries the claim, so it is this repository's.
    let mut foreign = record(&a, issue).unwrap();
    foreign.repo = "someone/else".parse().unwrap();
    a.home.folders().replace_claim(&foreign).unwrap();
    assert_eq!(world.loses(&a, issue, PLAIN).why.code(), "claimed_by_hand");
    foreign.claim = "c-elsewhere".parse().unwrap();
    a.home.folders().replace_claim(&foreign).unwrap();
    let before = world.sim().counts().writes;
    let error = world.claim(&a, issue, ORDERED).unwrap_err().to_string();
    assert!(error.contains("`someone/else`"), "{error}");
    assert_eq!(world.sim().counts().writes, before);
    assert_eq!(record(&a, issue), Some(foreign));
    assert_eq!(a.home.superseded(), []);
    assert!(
        world
            .lease_text(issue)
            .unwrap()
            .contains(first.claim.as_str())
    );
}

#[test]
fn the_loop_of_this_home_is_stopped_first_and_goes_on_afterwards() {
    let (world, a, _, _) = two_homes();
    let long = Performance::success().takes(Takes::ForEver).file("a", "a");
    world.agent.does(RunKind::Implement, 1, long);
    let issue = world.opens_issue("Sell pears");
    world.run_until_waits();
    assert_eq!(a.why(issue), "run_going");
    assert_eq!(world.loses(&a, issue, PLAIN).why.code(), "run_going");
    world.wins(&a, issue, ORDERED);
    assert_eq!(a.home.live_runs(), []);
    assert_eq!(a.home.superseded().len(), 1);
    world.run_until_waits();
    assert_eq!(a.why(issue), "claimed_by_hand");
    assert_eq!(a.home.live_runs(), []);
    world.gives_back(&a, issue, &abandoned());
    world.ci_is_green().settle();
    assert!(world.is_merged(issue), "{}", world.trace());
}

/// Two homes of one person.
fn two_of_ann() -> (World, Arc<Host>, Arc<Host>, u64) {
    let mut world = World::new();
    world.reads_everything();
    let b = world.add_host("b", ANN);
    let a = world.a();
    let issue = plain_issue(&world);
    (world, a, b, issue)
}

#[test]
fn the_assignee_of_a_claim_goes_with_whichever_home_of_its_login_ends_it() {
    let (world, a, b, issue) = two_of_ann();
    world.wins(&a, issue, PLAIN);
    world.wins(&b, issue, ORDERED);
    world.gives_back(&b, issue, &abandoned());
    assert_eq!(world.issue(issue).assignees, Vec::<String>::new());
    // One home after itself, and after another one whose claim went stale.
    world.wins(&a, issue, PLAIN);
    world.wins(&a, issue, ORDERED);
    world.gives_back(&a, issue, &abandoned());
    assert_eq!(world.issue(issue).assignees, Vec::<String>::new());
    world.wins(&a, issue, PLAIN);
    world.minutes(25 * 60);
    world.wins(&b, issue, PLAIN);
    world.gives_back(&b, issue, &abandoned());
    assert_eq!(world.issue(issue).assignees, Vec::<String>::new());
    // A person's assignment is nobody's to take off, however often the claim changes hands.
    world.repo.assign("bob", issue, ANN).unwrap();
    world.wins(&a, issue, PLAIN);
    world.wins(&b, issue, ORDERED);
    world.wins(&a, issue, ORDERED);
    world.gives_back(&a, issue, &abandoned());
    assert_eq!(world.issue(issue).assignees, [ANN]);
}

#[test]
fn a_take_over_that_was_cut_off_before_its_lease_is_taken_back_to_the_claim_it_archived() {
    use ghswarm::engine::claims::{DryRun, SweptHow};
    use ghswarm::sim::github::{Fault, FaultPlan};
    let (world, a, b, issue) = two_homes();
    let first = world.wins(&a, issue, PLAIN);
    let next = world.sim().counts().writes + 1;
    world
        .sim()
        .set_faults(FaultPlan::from_write(next, 9, Fault::CutBefore));
    world.claim(&a, issue, ORDERED).unwrap_err();
    world.sim().set_faults(FaultPlan::none());
    let half = record(&a, issue).unwrap();
    assert_eq!(half.replaces().unwrap().record.claim, first.claim);
    assert_eq!(a.home.superseded().len(), 1);
    let engine = a.engine();
    let swept = world
        .wait(engine.sweep_by_hand(a.port(), DryRun::No))
        .unwrap();
    assert_eq!(swept[0].how, SweptHow::Finished);
    assert_eq!(record(&a, issue).unwrap().claim, first.claim);
    world.expect_claimed(&a, issue);
    world.loses(&b, issue, PLAIN);
    world.gives_back(&a, issue, &abandoned());
    world.expect_free(issue);
}

#[test]
fn a_take_over_that_was_cut_off_goes_on_by_any_claim_and_ends_by_any_release() {
    use ghswarm::sim::github::{Fault, FaultPlan};
    for goes_on in [true, false] {
        let (world, a, _, issue) = two_homes();
        let first = world.wins(&a, issue, PLAIN);
        let next = world.sim().counts().writes + 1;
        world
            .sim()
            .set_faults(FaultPlan::from_write(next, 9, Fault::CutBefore));
        world.claim(&a, issue, ORDERED).unwrap_err();
        world.sim().set_faults(FaultPlan::none());
        if goes_on {
            let second = world.wins(&a, issue, PLAIN);
            assert_ne!(second.claim, first.claim);
            assert!(second.archived.is_some() && second.displaced.unwrap().by_order);
        }
        world.gives_back(&a, issue, &abandoned());
        world.expect_free(issue);
        assert_eq!(world.issue(issue).assignees, Vec::<String>::new());
    }
}

#[test]
fn what_another_home_has_not_pushed_stays_with_it() {
    let (world, a, b, issue) = two_homes();
    let first = world.wins(&b, issue, PLAIN);
    let head = works(&world, &b, &first.worktree, first.branch.as_str());
    let second = world.wins(&a, issue, ORDERED);
    assert_eq!((second.archived, second.salvaged.len()), (None, 0));
    assert_eq!(a.home.salvaged(), []);
    assert!(
        b.has_worktree(issue),
        "nothing of the other home is touched"
    );
    // Neither its sweep nor its next claim takes it away; its own order saves it first.
    let engine = b.engine();
    let dry = ghswarm::engine::claims::DryRun::No;
    world.wait(engine.sweep_by_hand(b.port(), dry)).unwrap();
    world.gives_back(&a, issue, &abandoned());
    let third = world.wins(&b, issue, PLAIN);
    assert!(third.has_worktree && b.has_worktree(issue));
    world.wins(&b, issue, ORDERED);
    assert_eq!(b.home.salvaged(), [head]);
}
