//! Holders that cannot renew: a machine that stands still, a network that is gone.

use std::collections::BTreeMap;
use std::process::Command;

use ghswarm::sim::github::Op;
use rustix::process::Signal;

use super::proxy::Proxy;
use super::until_so;
use super::world::{Home, SHORT_LEASE, Setup, World, body, signal};

fn world() -> World {
    World::new(&Setup {
        extra: SHORT_LEASE,
        ..Setup::default()
    })
}

/// Pids of the agent's processes: those with the run's tag, the supervisor left out.
fn group(world: &World, supervisor: u32) -> Vec<u32> {
    world
        .processes()
        .into_iter()
        .filter(|pid| *pid != supervisor)
        .collect()
}

/// All refs but those where work that would be lost is kept.
fn refs(world: &World) -> BTreeMap<String, String> {
    let mut refs = world.repo.refs().unwrap();
    refs.retain(|name, _| !name.starts_with("refs/leases/salvage/"));
    refs
}

fn heads(home: &Home) -> String {
    let at = home.clone.display().to_string();
    let done = Command::new("git")
        .args(["-C", &at, "for-each-ref", "refs/heads"])
        .output()
        .unwrap();
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_frozen_holder_is_replaced_and_awake_again_writes_nothing() {
    let world = world();
    let issue = world.open_issue("Do it", &body("[]"));
    let (first, second) = (world.home("first"), world.home("second"));
    world.hold("implement");
    assert_eq!(first.cycle().outcome(issue), "running");
    world.until_begun("implement", 1);
    let (supervisor, folder) = first.supervisor(issue, "implement");
    signal(supervisor, Signal::STOP);
    for pid in group(&world, supervisor) {
        signal(pid, Signal::STOP);
    }
    world.let_go("implement");

    // The second waits until the lease has run out, and says so.
    second.to_done(&world, issue);
    let comments = world.issue(issue).comments;
    let said = comments
        .iter()
        .any(|c| c.body.contains("/reclaim") && c.body.contains("run out"));
    assert!(said, "{comments:#?}");

    // The first wakes up in a world that has gone on.
    let before = world.asked();
    let refs = refs(&world);
    let seen = world.issue(issue);
    for pid in world.processes() {
        signal(pid, Signal::CONT);
    }
    until_so("the run is ended", || folder.join("exit.json").exists());
    world.assert_nothing_runs();
    first.cycle_wait();
    let writes = world.sim.requests().split_off(before);
    let mut writes: Vec<_> = writes.iter().filter(|r| r.op.is_write()).collect();
    // Where it fell asleep in the middle of a renewal, its swap of what it had read is refused; the refs
    // below prove it.
    writes.retain(|r| ![Op::GitPush, Op::CreateCommit, Op::SwapRefs].contains(&r.op));
    assert!(writes.is_empty(), "{writes:#?}");
    assert_eq!(self::refs(&world), refs, "nothing is pushed but saved work");
    assert_eq!(world.issue(issue).updated_at, seen.updated_at);
    assert_eq!(world.agent_runs(), ["implement", "implement", "review"]);
    world.assert_done_once(issue);
    assert!(heads(&first).contains("issue-"), "its work is kept");
}

#[test]
fn a_dead_machines_saved_work_is_taken_over_and_not_paid_twice() {
    let world = world();
    let issue = world.open_issue("Do it", &body("[]"));
    let (first, second) = (world.home("first"), world.home("second"));
    world.hold("review");
    let mut engine = first.start(&["cycle", "--wait"]);
    world.until_begun("review", 1);
    // One after the other: an engine that lives longer than a run's supervisor would start another.
    engine.kill().unwrap();
    engine.wait().unwrap();
    for pid in world.processes() {
        signal(pid, Signal::KILL);
    }
    world.let_go("review");
    second.to_done(&world, issue);
    world.assert_done_once(issue);
    assert_eq!(
        world.agent_runs(),
        ["implement", "review", "review"],
        "what was implemented is used"
    );
    // The first comes back to an issue that is done.
    let writes = world.count(0, &[Op::UpdateIssue, Op::CreateComment, Op::UpdateComment]);
    first.cycle_wait();
    let after = world.count(0, &[Op::UpdateIssue, Op::CreateComment, Op::UpdateComment]);
    assert_eq!(writes, after);
    world.assert_nothing_runs();
}

#[test]
fn a_network_that_is_away_at_the_start_is_waited_for() {
    let world = world();
    let proxy = Proxy::before(&world.url());
    let issue = world.open_issue("Do it", &body("[]"));
    let home = world.home_behind("one", &proxy.url());
    proxy.cut();
    let cycle = home.cycle();
    assert_eq!(cycle.status, Some(4), "one cycle does not wait: {cycle:#?}");
    let mut waiting = home.start(&["cycle", "--wait"]);
    let mut looping = home.start(&["loop"]);
    until_so("both say that they wait", || {
        home.log().matches("tried again until it answers").count() == 2
    });
    assert!(waiting.try_wait().unwrap().is_none());
    assert!(looping.try_wait().unwrap().is_none());
    proxy.mend();
    until_so("the issue is done", || !world.issue(issue).open);
    assert!(waiting.wait().unwrap().success(), "{}", home.log());
    signal(looping.id(), Signal::TERM);
    looping.wait().unwrap();
    world.assert_done_once(issue);

    // What a person has to mend is told at once.
    let mut command = home.ghswarm(&["cycle", "--wait"]);
    let output = command.env("GITHUB_TOKEN", "ghp_wrong").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("the token is wrong or expired"), "{said}");
}

#[test]
fn a_run_without_github_is_paused_and_goes_on() {
    let world = world();
    let proxy = Proxy::before(&world.url());
    let issue = world.open_issue("Do it", &body("[]"));
    let home = world.home_behind("one", &proxy.url());
    world.hold("implement");
    assert_eq!(home.cycle().outcome(issue), "running");
    world.until_begun("implement", 1);
    let (_, folder) = home.supervisor(issue, "implement");
    proxy.cut();
    until_so("the run is frozen", || folder.join("frozen").exists());
    let cycled = home.cycle();
    assert_eq!(cycled.status, Some(4), "{cycled:#?}");
    world.let_go("implement");
    assert!(!folder.join("exit.json").exists(), "it stands still");
    // Longer than anybody would have to wait for this lease.
    let commits = world.count(0, &[Op::CreateCommit]);
    world.sim.clock.advance(std::time::Duration::from_secs(20));
    proxy.mend();
    home.to_done(&world, issue);
    assert!(
        world.count(0, &[Op::CreateCommit]) > commits,
        "the lease was renewed"
    );
    assert_eq!(
        world.agent_runs(),
        ["implement", "review"],
        "nothing is paid twice"
    );
    world.assert_done_once(issue);
    world.assert_nothing_runs();
}
