//! `kill -9` of the engine and of supervisors, in the middle of real work.

use std::time::Duration;

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use rustix::process::Signal;

use super::real_demo::RealDemo;
use super::world::{Setup, World, body, signal};
use super::{rounds, seed};

/// The project of the demo, whose agent fails its verify step once.
fn demo_world() -> World {
    World::new(&Setup {
        files: &[
            (
                "greet.sh",
                include_str!("../../../examples/greeter/greet.sh"),
            ),
            ("test.sh", include_str!("../../../examples/greeter/test.sh")),
            (
                "tests/test_greeting.sh",
                include_str!("../../../examples/greeter/tests/test_greeting.sh"),
            ),
            (
                "README.md",
                include_str!("../../../examples/greeter/README.md"),
            ),
        ],
        ci: Some("sh test.sh"),
        work: concat!(
            "sleep 0.1\nset -- \"$prompt\"\n",
            include_str!("../../../examples/demo/demo-agent")
        ),
        extra: "",
    })
}

fn demo_issue(world: &World) -> u64 {
    let text = include_str!("../../../examples/demo/issue.md");
    let (title, body) = text.split_once('\n').unwrap();
    world.open_issue(title, body)
}

#[test]
fn an_engine_of_the_real_demo_killed_at_any_moment_pays_nothing_twice() {
    let seed = seed();
    for round in 0..rounds(5) {
        let mut random = StdRng::seed_from_u64(seed ^ round);
        let mut demo = RealDemo::start();
        let mut moments = Vec::new();
        // Each life is shorter than the work, so some kill meets every part of it.
        for _ in 0..random.random_range(1..6) {
            let mut engine = demo.engine();
            let moment = random.random_range(20..1200);
            moments.push(moment);
            std::thread::sleep(Duration::from_millis(moment));
            engine.kill().unwrap();
            engine.wait().unwrap();
        }
        println!("seed {seed}, round {round}: killed after {moments:?} ms");
        let mut last = demo.cycle_wait();
        let mut summary = demo.summary();
        // Another process of this home may have had the issue's lock when it looked.
        for _ in 0..20 {
            if summary["issue_open"] == false {
                break;
            }
            last = demo.cycle_wait();
            summary = demo.summary();
        }
        let what = format!("{summary}\n{last:#?}");
        assert_eq!(summary["issue_open"], false, "{what}");
        assert_eq!(summary["pr_merged"], true, "{what}");
        assert_eq!(summary["agent_runs"], 3, "{what}");
        assert_eq!(summary["post_merge_checks"], "success", "{what}");
        let answered = |line: &str| demo.answered(line);
        assert_eq!(
            answered("POST /repos/{owner}/{repo}/pulls 201"),
            1,
            "{what}"
        );
        let merge = "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge 200";
        assert_eq!(answered(merge), 1, "{what}");
        let runs = ["implement", "implement", "review"];
        assert_eq!(demo.agent_runs(), runs, "every agent run is used\n{what}");
        let quiet = || demo.processes().is_empty();
        assert!(super::comes_true(quiet), "{:?}", demo.processes());
    }
}

#[test]
fn a_machine_that_loses_its_power_goes_on_where_it_was() {
    let seed = seed();
    for round in 0..rounds(3) {
        let mut random = StdRng::seed_from_u64(seed ^ (round << 32));
        let world = demo_world();
        let issue = demo_issue(&world);
        let home = world.home("one");
        let mut engine = home.start(&["cycle", "--wait"]);
        let moment = random.random_range(100..2500);
        println!("seed {seed}, round {round}: everything dies after {moment} ms");
        std::thread::sleep(Duration::from_millis(moment));
        // Whoever was being born in that moment dies, too.
        while !world.processes().is_empty() {
            for pid in world.processes() {
                signal(pid, Signal::KILL);
            }
            let _ = engine.try_wait();
        }
        engine.wait().unwrap();
        home.to_done(&world, issue);
        world.assert_done_once(issue);
        assert_eq!(world.merges(), 1);
        // The run that died is paid again; the try after it may lack the log that died with it, and then
        // this agent makes its first mistake once more.
        let runs = world.agent_runs().len();
        assert!((3..=5).contains(&runs), "{:?}", world.agent_runs());
        assert!(world.state(issue).total_agent_runs >= u32::try_from(runs).unwrap());
        world.assert_nothing_runs();
    }
}

/// Kills the supervisor of the first run of a kind, which has left a stray outside its group, then goes
/// on to done; answers the roles of all runs that began.
fn kill_supervisor_of(kind: &str) -> Vec<String> {
    let world = World::new(&Setup {
        work: "setsid sh -c 'exec sleep 600' > /dev/null 2>&1 &\n\
               echo done > done.txt\ngit add -A\ngit commit -q -m 'Do it' || true",
        ..Setup::default()
    });
    let issue = world.open_issue("Do it", &body(&world.verify_step()));
    let home = world.home("one");
    world.hold(kind);
    let mut engine = home.start(&["cycle", "--wait"]);
    world.until_begun(kind, 1);
    let (pid, folder) = home.supervisor(issue, kind);
    signal(pid, Signal::KILL);
    world.let_go(kind);
    engine.wait().unwrap();
    home.to_done(&world, issue);
    assert!(
        !folder.join("exit.json").exists(),
        "nobody wrote its last word"
    );
    world.assert_done_once(issue);
    assert_eq!(world.merges(), 1);
    world.assert_nothing_runs();
    world.agent_runs()
}

#[test]
fn a_killed_supervisor_of_an_implementing_agent_is_one_failed_run() {
    let runs = kill_supervisor_of("implement");
    assert_eq!(runs, ["implement", "implement", "verify", "review"]);
}

#[test]
fn a_killed_supervisor_of_a_verify_run_costs_no_agent_run_more_than_its_retry() {
    let runs = kill_supervisor_of("verify");
    let without_more = ["implement", "verify", "verify", "review"];
    let with_retry = ["implement", "verify", "implement", "verify", "review"];
    assert!(runs == without_more || runs == with_retry, "{runs:?}");
}

#[test]
fn a_killed_supervisor_of_a_reviewing_agent_is_one_failed_run() {
    let runs = kill_supervisor_of("review");
    assert_eq!(runs, ["implement", "verify", "review", "review"]);
}
