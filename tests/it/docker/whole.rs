//! The whole of ghswarm with verify steps in containers: the real binary, killed in the middle.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::{docker, docker_quietly, engine_is_there, images, until};
use crate::e2e::rounds;
use crate::e2e::world::{Home, Setup, World, body, signal};

/// A world whose verify steps run in containers, count themselves there and may be held.
struct Boxed {
    world: World,
    counts: tempfile::TempDir,
}

/// The verify block of its issues.
const STEPS: &str = "['echo ran >> /counts/runs; while [ -e /counts/hold ]; do sleep 0.02; done', 'test -e done-1.txt']";

impl Boxed {
    fn new(keys: &str) -> Option<Self> {
        if !engine_is_there() {
            return None;
        }
        let counts = tempfile::tempdir().unwrap();
        let at = counts.path().display();
        let extra = format!(
            "    verify: {{sandbox: {{driver: docker, image: '{}', network: none, volumes: ['{at}:/counts'], {keys}}}}}\n",
            images::busybox()
        );
        let world = World::new(&Setup {
            extra: Box::leak(extra.into_boxed_str()),
            ..Setup::default()
        });
        Some(Self { world, counts })
    }

    fn hold(&self) {
        fs::write(self.counts.path().join("hold"), "").unwrap();
    }

    fn let_go(&self) {
        fs::remove_file(self.counts.path().join("hold")).unwrap();
    }

    fn runs(&self) -> usize {
        let text = fs::read_to_string(self.counts.path().join("runs")).unwrap_or_default();
        text.lines().count()
    }

    fn until_it_ran(&self) {
        until("the step ran in its container", || {
            (self.runs() > 0).then_some(())
        });
    }
}

fn instance(home: &Home) -> String {
    let text = fs::read_to_string(home.dir.join("home.json"))
        .or_else(|_| fs::read_to_string(home.dir.join("home/home.json")))
        .unwrap();
    let home: serde_json::Value = serde_json::from_str(&text).unwrap();
    home["instance"].as_str().unwrap().to_owned()
}

/// Nothing of the home is left at the engine.
pub fn assert_cleared(home: &Home) {
    let label = format!("label=ghswarm.instance={}", instance(home));
    until("no container is left", || {
        docker(&["ps", "-aq", "--filter", &label])
            .is_empty()
            .then_some(())
    });
    assert_eq!(docker(&["volume", "ls", "-q", "--filter", &label]), "");
}

/// An engine that is not there.
const NOWHERE: &str = "unix:///nowhere/docker.sock";

/// Cycles with the engine at `host` until a container is waited for; answers the report.
pub fn waits(home: &Home, host: &str) -> String {
    until("an issue that waits for a container", || {
        let mut cycle = home.ghswarm(&["cycle", "--json"]);
        let done = cycle.env("DOCKER_HOST", host).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        said.contains("sandbox_unavailable").then_some(said)
    })
}

#[test]
fn an_issue_is_verified_in_a_container_and_done() {
    let Some(boxed) = Boxed::new("isolate_dirs: [.cache]") else {
        return;
    };
    let issue = boxed.world.open_issue("Do it", &body(STEPS));
    let home = boxed.world.home("one");
    home.to_done(&boxed.world, issue);
    boxed.world.assert_done_once(issue);
    assert_eq!(boxed.runs(), 1, "{}", home.log());
    boxed.world.assert_nothing_runs();
    assert_cleared(&home);
}

#[test]
fn an_engine_killed_while_a_container_works_runs_nothing_twice() {
    for round in 0..rounds(10) {
        let Some(boxed) = Boxed::new("pull: never") else {
            return;
        };
        let world = &boxed.world;
        let issue = world.open_issue("Do it", &body(STEPS));
        let home = world.home("one");
        boxed.hold();
        let mut engine = home.start(&["cycle", "--wait"]);
        boxed.until_it_ran();
        std::thread::sleep(Duration::from_millis(rand::random::<u64>() % 200));
        engine.kill().unwrap();
        engine.wait().unwrap();
        // Every other time its supervisor dies, too.
        if round % 2 == 1 {
            signal(home.supervisor(issue, "verify").0, Signal::KILL);
        }
        boxed.let_go();
        home.to_done(world, issue);
        world.assert_done_once(issue);
        assert_eq!(boxed.runs(), 1, "round {round}\n{}", home.log());
        assert_eq!(world.agent_runs(), ["implement", "review"]);
        world.assert_nothing_runs();
        assert_cleared(&home);
    }
}

#[test]
fn a_killed_supervisor_costs_neither_an_agent_run_nor_a_second_verify_run() {
    let Some(boxed) = Boxed::new("pull: never") else {
        return;
    };
    let world = &boxed.world;
    let issue = world.open_issue("Do it", &body(STEPS));
    let home = world.home("one");
    boxed.hold();
    let mut engine = home.start(&["cycle", "--wait"]);
    boxed.until_it_ran();
    signal(home.supervisor(issue, "verify").0, Signal::KILL);
    boxed.let_go();
    engine.wait().unwrap();
    home.to_done(world, issue);
    assert_eq!(
        (boxed.runs(), world.state(issue).total_agent_runs),
        (1, 2),
        "{}",
        home.log()
    );
    assert_cleared(&home);
}

#[test]
fn without_an_engine_the_issue_waits_and_no_agent_is_paid() {
    let Some(boxed) = Boxed::new("pull: never") else {
        return;
    };
    let world = &boxed.world;
    let issue = world.open_issue("Do it", &body(STEPS));
    let home = world.home("one");
    let said = waits(&home, NOWHERE);
    assert!(said.contains("/nowhere/docker.sock"), "{said}");
    assert_eq!(world.agent_runs(), Vec::<String>::new());
    let text = world.issue(issue).body;
    assert!(
        !text.contains("GHSWARM_STATE"),
        "nothing was claimed: {text}"
    );
    assert!(
        world
            .issue(issue)
            .labels
            .contains(&"status: idle".to_owned())
    );
    home.to_done(world, issue);
    world.assert_done_once(issue);
}

#[test]
fn an_engine_that_goes_away_after_the_agent_costs_no_second_agent_run() {
    let Some(boxed) = Boxed::new("pull: never") else {
        return;
    };
    let world = &boxed.world;
    let issue = world.open_issue("Do it", &body(STEPS));
    let home = world.home("one");
    world.hold("implement");
    home.cycle();
    world.until_begun("implement", 1);
    world.let_go("implement");
    waits(&home, NOWHERE);
    home.to_done(world, issue);
    world.assert_done_once(issue);
    assert_eq!(world.agent_runs(), ["implement", "review"]);
    assert_eq!(world.state(issue).total_agent_runs, 2);
}

#[test]
fn the_demo_verifies_in_a_container() {
    if !engine_is_there() {
        return;
    }
    let tmp = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_ghswarm"))
        .args(["demo", "--json", "--keep", "--docker", images::busybox()])
        .env("TMPDIR", tmp.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let line: serde_json::Value = serde_json::from_slice(&done.stdout).expect(&said);
    assert_eq!(
        (done.status.code(), &line["outcome"]),
        (Some(0), &"done".into()),
        "{said}"
    );
    let home = PathBuf::from(line["home"].as_str().unwrap()).join("home");
    // Proved before the first step: the steps did run in containers.
    let proved = fs::read_dir(home.join("runs"))
        .unwrap()
        .flatten()
        .any(|repository| repository.path().join("containers-proved").exists());
    assert!(proved, "{said}");
}

/// A registry that nobody reaches is no verdict about the work.
#[test]
fn an_image_that_cannot_be_pulled_is_no_failed_verify() {
    if !engine_is_there() {
        return;
    }
    let world = World::new(&Setup {
        extra: "    verify: {sandbox: {driver: docker, image: 'localhost:1/ghswarm-test/none:1'}}\n",
        ..Setup::default()
    });
    let issue = world.open_issue("Do it", &body("['true']"));
    let home = world.home("one");
    let said = waits(&home, "");
    assert!(said.contains("`verify.sandbox.image`"), "{said}");
    assert_eq!(world.agent_runs(), ["implement"]);
    let name = "localhost:1/ghswarm-test/none:1";
    docker(&["tag", images::busybox(), name]);
    let forced = home
        .ghswarm(&["run", &issue.to_string(), "--force"])
        .output()
        .unwrap();
    home.to_done(&world, issue);
    docker_quietly(&["rmi", name]);
    assert_eq!(world.agent_runs(), ["implement", "review"], "{forced:?}");
    assert_cleared(&home);
    assert!(Path::new(&home.dir).exists());
}
