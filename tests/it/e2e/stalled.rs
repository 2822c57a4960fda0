//! A remote that takes a push and says nothing, and an engine that is asked to end meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ghswarm::sim::github::{Asked, Fault, FaultPlan, Op};
use rustix::process::Signal;

use super::world::{Setup, World, body, signal};

#[test]
fn an_engine_that_is_ended_takes_its_git_along_and_the_next_one_goes_on() {
    let world = World::new(&Setup::default());
    let issue = world.open_issue("Do it", &body(&world.verify_step()));
    let home = world.home("one");
    let pushes = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&pushes);
    world.sim.set_faults(FaultPlan::ask(move |asked: &Asked| {
        let stalls = asked.op == Op::GitPush;
        seen.fetch_or(stalls, Ordering::Relaxed);
        stalls.then_some(Fault::Delay(Duration::from_secs(3600)))
    }));
    for (ending, status) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        pushes.store(false, Ordering::Relaxed);
        let mut engine = home.start(&["cycle", "--wait"]);
        let pushing = || pushes.load(Ordering::Relaxed);
        assert!(super::comes_true(pushing), "{}", home.log());
        signal(engine.id(), ending);
        assert_eq!(engine.wait().unwrap().code(), Some(status));
        let no_git = || {
            let is_git = |pid: &u32| {
                let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
                name.is_ok_and(|name| name.starts_with("git"))
            };
            !world.processes().iter().any(is_git)
        };
        assert!(super::comes_true(no_git), "git goes on");
    }
    world.sim.set_faults(FaultPlan::none());
    home.to_done(&world, issue);
    world.assert_done_once(issue);
    world.assert_nothing_runs();
}
