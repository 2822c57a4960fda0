//! Random worlds: homes, issues, agents, people and faults as a seed says. Then the faults stop, people
//! answer for a while, and every issue ends done, blocked with a reason, or stopped by an order. The laws
//! are checked after every effect.
//!
//! `GHSWARM_SEED=… GHSWARM_ROUNDS=1 cargo test --test it random::` replays one world.

use std::time::Duration;

use ghswarm::model::run::RunKind;
use ghswarm::sim::github::{Fault, FaultPlan};
use ghswarm::sim::local::{FaultPoints, LocalFault, Performance, Takes};
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use crate::e2e::{number_from_env, rounds};
use crate::world::{ANN, Deed, Ending, Host, World, body};

/// Worlds in the suite. They are the same every time: a new one is for `just random`.
const WORLDS: u64 = 8;

/// What happens while there are faults.
const HAPPENINGS: usize = 40;

/// So often people answer before an issue may stay blocked.
const ANSWERS: usize = 8;

#[test]
fn every_random_world_ends_well() {
    let seed = number_from_env("GHSWARM_SEED").unwrap_or(1);
    for seed in seed..seed + rounds(WORLDS) {
        live(seed);
    }
}

fn live(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut local = StdRng::seed_from_u64(random.random());
    let points = FaultPoints::ask(move |_, _| {
        let hit = local.random_bool(0.03);
        hit.then(|| *LocalFault::ALL.choose(&mut local).unwrap())
    });
    let slots = random.random_range(1..=2);
    let simplify = random.random_bool(0.3);
    let mut world = World::failing(points.clone(), |rules| {
        rules.policy.slots = slots;
        rules.policy.simplify = simplify;
    });
    // The trace is printed where the world fails.
    world
        .laws
        .tell(format!("replay with GHSWARM_SEED={seed} GHSWARM_ROUNDS=1"));
    // Whatever comes of it, what is said about it need not be read here.
    world.reads_everything();
    world.ci_is_green();
    for name in ["b", "c"].iter().take(random.random_range(1..=2)) {
        world.add_host(name, ANN);
    }
    let issues: Vec<u64> = (0..random.random_range(2..=3))
        .map(|_| world.opens(ANN, "Sell fruit", &body(&["apples", "plums"])))
        .collect();
    directs(&world, &mut random);
    world.sim().set_faults(remote_faults(random.random()));
    for _ in 0..HAPPENINGS {
        happens(&world, &issues, &mut random);
    }
    points.stop();
    world.sim().set_faults(FaultPlan::none());
    calms_down(&world);
    ends(&world, &issues);
}

fn remote_faults(seed: u64) -> FaultPlan {
    let mut random = StdRng::seed_from_u64(seed);
    let faults = [
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::RefuseBefore(502),
        Fault::TruncatedJson,
        Fault::StaleRead,
        Fault::SecondaryLimit(Duration::from_secs(60)),
    ];
    FaultPlan::ask(move |_| {
        let hit = random.random_bool(0.03);
        hit.then(|| faults.choose(&mut random).unwrap().clone())
    })
}

/// What the first runs of each kind do, where it is not the usual.
fn directs(world: &World, random: &mut StdRng) {
    for nth in 1..=8 {
        let file = format!("random-{nth}.txt");
        let works = Performance::success().file(&file, "left\n");
        let implement = match random.random_range(0..10) {
            0 => Some(Performance::failure(1)),
            1 => Some(Performance::success().question("Red or green?")),
            2 => Some(Performance::success()),
            3 => Some(works.takes(Takes::Looks(2))),
            4 => Some(works.takes(Takes::Time(Duration::from_secs(300)))),
            _ => None,
        };
        let review = match random.random_range(0..6) {
            0 => Some(Performance::success().review("Wash them.")),
            1 => Some(Performance::failure(2)),
            _ => None,
        };
        let verify = random.random_bool(0.2).then(|| Performance::failure(1));
        let planned = [
            (RunKind::Implement, implement),
            (RunKind::Review, review),
            (RunKind::Verify, verify),
        ];
        for (kind, what) in planned {
            if let Some(what) = what {
                world.agent.does(kind, nth, what);
            }
        }
    }
}

fn happens(world: &World, issues: &[u64], random: &mut StdRng) {
    let hosts = world.hosts();
    let host = hosts.choose(random).unwrap();
    let issue = *issues.choose(random).unwrap();
    match random.random_range(0..100) {
        0..50 => steps(world, host),
        50..65 => world.pass(Duration::from_secs(random.random_range(1..900))),
        65..68 => world.pass(Duration::from_secs(60 * 35)),
        68..80 => world
            .person()
            .does(*Deed::ALL.choose(random).unwrap(), issue),
        80..88 => world.is_let_go_on(issue, &world.ending(issue)),
        88..91 => {
            world.says(ANN, issue, "Green ones.");
        }
        91..93 => goes_red(world, issue),
        93..95 => host.home.kill_engine(),
        95..97 => host.dies(),
        97..99 => host.loses_network(),
        _ => host.finds_network(),
    }
}

fn steps(world: &World, host: &Host) {
    if host.home.is_dead() {
        host.restart();
    }
    if host.is_on() {
        world.cycle(host);
    }
}

fn goes_red(world: &World, issue: u64) {
    if !world.prs(issue).is_empty() && !world.is_merged(issue) {
        world.ci_says(issue, "test", "failure");
    }
}

fn calms_down(world: &World) {
    world.laws.tell("         the faults stop".to_owned());
    world.agent.calms_down();
    for host in world.hosts() {
        host.finds_network();
        if host.home.is_dead() {
            host.restart();
        }
    }
}

fn ends(world: &World, issues: &[u64]) {
    for _ in 0..ANSWERS {
        world.comes_to_rest();
        for issue in issues {
            world.is_let_go_on(*issue, &world.ending(*issue));
        }
    }
    world.comes_to_rest();
    for &issue in issues {
        let ending = world.ending(issue);
        world.laws.tell(format!("#{issue} {ending:?}"));
        match ending {
            Ending::Done => world.expect_over(issue),
            Ending::Blocked(_) | Ending::Stopped(_) => world.expect_released(issue),
            Ending::Waits(codes) => panic!("#{issue} comes to no end: {codes:?}"),
        }
    }
}
