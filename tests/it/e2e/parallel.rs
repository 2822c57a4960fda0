//! `max_parallel_issues` above 1: so many agents at once, over all machines, and no more.

use super::race::all_at_once;
use super::until_so;
use super::world::{Setup, World, body};

fn two_slots() -> World {
    World::new(&Setup {
        extra: "    max_parallel_issues: 2\n",
        ..Setup::default()
    })
}

fn slots(world: &World) -> Vec<String> {
    let refs = world.repo.refs().unwrap();
    let slots = refs.keys().filter(|name| name.contains("/slot-"));
    slots.cloned().collect()
}

#[test]
fn two_agents_work_at_once_and_a_third_issue_waits_for_a_slot() {
    let world = two_slots();
    world.hold("implement");
    let issues = ["One", "Two", "Three"].map(|title| world.open_issue(title, &body("[]")));
    let home = world.home("one");
    let cycled = home.cycle();
    let outcomes = issues.map(|issue| cycled.outcome(issue).to_owned());
    assert_eq!(outcomes, ["running", "running", "waiting"]);
    world.until_begun("implement", 2);
    assert_eq!(slots(&world), ["refs/leases/slot-1", "refs/leases/slot-2"]);
    let other = world.home("two");
    assert_eq!(other.cycle().outcome(issues[2]), "waiting");
    assert_eq!(other.run_folders(issues[2]).len(), 0);
    assert_eq!(world.agent_runs(), ["implement", "implement"]);

    world.let_go("implement");
    for issue in issues {
        home.to_done(&world, issue);
        world.assert_done_once(issue);
    }
    world.assert_nothing_runs();
    assert_eq!(slots(&world), Vec::<String>::new());
}

#[test]
fn two_machines_share_two_slots_between_two_issues() {
    let world = two_slots();
    world.hold("implement");
    let issues = ["One", "Two"].map(|title| world.open_issue(title, &body("[]")));
    let homes = [world.home("one"), world.home("two")];
    all_at_once(&[&homes[0], &homes[1]]);
    // Whoever lost both races comes again.
    all_at_once(&[&homes[0], &homes[1]]);
    world.until_begun("implement", 2);
    for issue in issues {
        let folders = homes.iter().map(|home| home.run_folders(issue).len());
        assert_eq!(folders.sum::<usize>(), 1, "one run of #{issue}");
    }
    assert_eq!(slots(&world), ["refs/leases/slot-1", "refs/leases/slot-2"]);
    world.let_go("implement");
    until_so("both are done", || {
        all_at_once(&[&homes[0], &homes[1]]);
        issues.iter().all(|issue| !world.issue(*issue).open)
    });
    all_at_once(&[&homes[0], &homes[1]]);
    for issue in issues {
        world.assert_done_once(issue);
    }
    world.assert_nothing_runs();
}
