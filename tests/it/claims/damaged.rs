//! A folder that cannot be read, or that came here from another repository, speaks for its own issue alone.

use ghswarm::engine::claims::{DryRun, Swept, SweptHow};
use ghswarm::engine::renew::RenewOutcome;

use super::*;

impl World {
    fn sweeps(&self, host: &Host) -> Vec<Swept> {
        let engine = host.engine();
        self.wait(engine.sweep_by_hand(host.port(), DryRun::No))
            .unwrap()
    }
}

/// Ann's claims on two issues, the second damaged.
fn one_is_damaged() -> (World, Arc<Host>, u64, u64) {
    let (world, a, _, good) = two_homes();
    let bad = plain_issue(&world);
    world.wins(&a, good, PLAIN);
    world.wins(&a, bad, PLAIN);
    a.home.damage_claim(IssueNumber(bad));
    (world, a, good, bad)
}

#[test]
fn a_damaged_record_of_one_issue_stops_no_other() {
    let (world, a, good, bad) = one_is_damaged();
    let engine = a.engine();
    let claims = engine.claims_by_hand().unwrap();
    assert_eq!(claims.len(), 1);
    let unreadable = engine.unreadable_claims().unwrap();
    assert_eq!(unreadable[0].0, IssueNumber(bad));
    assert!(unreadable[0].1.to_string().contains("damaged"));
    let renewed = world.wait(engine.renew_by_hand(IssueNumber(good))).unwrap();
    assert!(matches!(renewed, Some(RenewOutcome::Renewed { .. })));
    assert_eq!(world.gives_back(&a, good, &abandoned()), [good]);
    // The damaged one itself is an error, not an absence.
    let error = world.release(&a, bad, &abandoned()).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[test]
fn a_sweep_names_a_damaged_record_and_goes_on() {
    let (world, a, good, bad) = one_is_damaged();
    world.repo.close_issue(ANN, good).unwrap();
    let swept = world.sweeps(&a);
    assert_eq!(swept.len(), 2, "{swept:?}");
    assert!(matches!(swept[0].how, SweptHow::Dead { .. }), "{swept:?}");
    assert_eq!(swept[1].issue, IssueNumber(bad));
    let SweptHow::Skipped { because } = &swept[1].how else {
        panic!("{swept:?}")
    };
    assert!(because.contains("damaged"), "{because}");
}

#[test]
fn a_folder_that_came_from_another_repository_is_believed_by_no_command() {
    let (world, a, b, issue) = two_homes();
    let other = plain_issue(&world);
    world.wins(&a, issue, PLAIN);
    let mut copied = record(&a, issue).unwrap();
    world.gives_back(&a, issue, &abandoned());
    (copied.repo, copied.claim) = ("someone/else".parse().unwrap(), "c-9".parse().unwrap());
    a.home.folders().create_claim(&copied).unwrap();
    world.wins(&a, other, PLAIN);
    let before = world.sim().counts().writes;
    let number = IssueNumber(issue);
    let engine = a.engine();
    let errors = [
        world.wait(engine.check_by_hand(number)).map(drop),
        world.wait(engine.renew_by_hand(number)).map(drop),
        world.release(&a, issue, &abandoned()).map(drop),
        world.claim(&a, issue, PLAIN).map(drop),
        world.claim(&a, issue, ORDERED).map(drop),
    ]
    .map(|outcome| outcome.unwrap_err().to_string());
    for error in &errors {
        assert!(error.contains("`someone/else`"), "{error}");
    }
    let swept = world.sweeps(&a);
    assert!(
        matches!(swept[0].how, SweptHow::Skipped { .. }),
        "{swept:?}"
    );
    assert_eq!(swept[1].how, SweptHow::Active);
    assert_eq!(world.sim().counts().writes, before, "it was believed");
    assert_eq!(record(&a, issue), Some(copied), "nothing was moved");
    // It keeps nobody else off.
    world.wins(&b, issue, PLAIN);
}

#[test]
fn checking_writes_nothing() {
    let (world, a, b, issue) = two_homes();
    let claimed = world.wins(&a, issue, PLAIN);
    world.opens_pr(ANN, issue, claimed.branch.as_str());
    let (writes, local) = (world.sim().counts().writes, world.points.reached().len());
    for host in [&a, &b] {
        let engine = host.engine();
        world
            .wait(engine.check_by_hand(IssueNumber(issue)))
            .unwrap();
    }
    assert_eq!(world.sim().counts().writes, writes);
    assert_eq!(world.points.reached().len(), local);
}
