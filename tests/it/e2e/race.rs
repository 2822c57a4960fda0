//! Several engines on one issue at once: one works, the others leave no trace.

use std::process::Stdio;

use ghswarm::sim::github::Op;

use super::cycled::{Cycled, ended};
use super::rounds;
use super::world::{Home, Setup, World, body};

/// What people see of an engine's work on an issue.
const SEEN: &[Op] = &[
    Op::UpdateIssue,
    Op::AddLabels,
    Op::RemoveLabel,
    Op::AddAssignee,
    Op::RemoveAssignee,
    Op::CreateComment,
    Op::UpdateComment,
    Op::OpenPr,
    Op::UpdatePr,
    Op::MergePr,
    Op::GitPush,
];

/// Runs one `cycle` of each home at the same time.
pub(super) fn all_at_once(homes: &[&Home]) -> Vec<Cycled> {
    let children: Vec<_> = homes
        .iter()
        .map(|home| {
            home.ghswarm(&["cycle", "--json"])
                .stdin(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    children
        .into_iter()
        .map(|child| Cycled::of(ended(child)))
        .collect()
}

/// The homes whose cycle says that a run goes on.
fn running<'a>(homes: &[&'a Home], cycles: &[Cycled], issue: u64) -> Vec<&'a Home> {
    let pairs = homes.iter().zip(cycles);
    pairs
        .filter(|(_, cycled)| cycled.outcome(issue) == "running")
        .map(|(home, _)| *home)
        .collect()
}

/// What one engine alone writes from the first look to the running agent.
fn writes_of_one_alone() -> usize {
    let world = World::new(&Setup::default());
    world.hold("implement");
    let issue = world.open_issue("Do it", &body("[]"));
    let home = world.home("alone");
    let before = world.asked();
    assert_eq!(home.cycle().outcome(issue), "running");
    world.count(before, SEEN)
}

#[test]
fn of_eight_homes_at_once_one_works_and_the_others_write_nothing() {
    let alone = writes_of_one_alone();
    let world = World::new(&Setup::default());
    let homes: Vec<Home> = (1..=8).map(|n| world.home(&format!("home{n}"))).collect();
    let homes: Vec<&Home> = homes.iter().collect();
    for round in 0..rounds(5) {
        world.hold("implement");
        let runs_before = world.agent_runs().len();
        let issue = world.open_issue(&format!("Round {round}"), &body("[]"));
        let before = world.asked();
        let cycles = all_at_once(&homes);
        let winners = running(&homes, &cycles, issue);
        assert_eq!(winners.len(), 1, "round {round}: {cycles:#?}");
        let winner = winners[0];
        world.until_begun("implement", usize::try_from(round).unwrap() + 1);
        assert_eq!(
            world.count(before, SEEN),
            alone,
            "round {round}: losers wrote: {cycles:#?}"
        );
        let folders = homes.iter().map(|home| home.run_folders(issue).len());
        assert_eq!(folders.sum::<usize>(), 1, "one run folder in all homes");

        // The run goes on though its cycle has ended; nobody else touches it.
        let before = world.asked();
        let other = homes.iter().find(|home| home.dir != winner.dir).unwrap();
        let left_alone = other.cycle();
        let outcome = left_alone.outcome(issue);
        assert!(
            ["waiting", "claimed_elsewhere"].contains(&outcome),
            "{left_alone:#?}"
        );
        assert_eq!(winner.cycle().outcome(issue), "running", "the same run");
        assert_eq!(world.count(before, SEEN), 0);
        assert_eq!(world.agent_runs().len(), runs_before + 1);
        world.let_go("implement");
        winner.to_done(&world, issue);
        world.assert_done_once(issue);
        assert_eq!(world.agent_runs()[runs_before..], ["implement", "review"]);
    }
    world.assert_nothing_runs();
}

#[test]
fn of_two_cycles_of_one_home_one_works() {
    let world = World::new(&Setup::default());
    let home = world.home("one");
    for round in 0..rounds(5) {
        world.hold("implement");
        let runs_before = world.agent_runs().len();
        let issue = world.open_issue(&format!("Round {round}"), &body("[]"));
        let cycles = all_at_once(&[&home, &home]);
        for cycled in &cycles {
            let outcome = cycled.outcome(issue);
            assert!(["running", "locked"].contains(&outcome), "{cycled:#?}");
        }
        world.until_begun("implement", usize::try_from(round).unwrap() + 1);
        assert_eq!(home.run_folders(issue).len(), 1);
        world.let_go("implement");
        // Two that wait, too: each sees what the other did.
        let mut second = home.start(&["cycle", "--wait"]);
        home.to_done(&world, issue);
        assert!(second.wait().unwrap().success(), "{}", home.log());
        world.assert_done_once(issue);
        assert_eq!(world.agent_runs()[runs_before..], ["implement", "review"]);
    }
    world.assert_nothing_runs();
}
