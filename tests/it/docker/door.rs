//! The door itself, without a supervisor.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ghswarm::adapters::docker::{DockerContainers, Places};
use ghswarm::model::ids::Epoch;
use ghswarm::model::run::{RunKey, RunKind};
use ghswarm::ports::PortError;
use ghswarm::ports::containers::{ContainerJob, Containers as _};
use ghswarm::ports::processes::{ChildEnd, Force};

use super::{Home, ISSUE, containers, docker, sandbox, until};

fn job(home: &Home, shell: &str) -> ContainerJob {
    let folder = home.dir.path().join("runs/7/issue-42/1-1-verify");
    std::fs::create_dir_all(&folder).unwrap();
    ContainerJob {
        key: RunKey {
            issue: ISSUE,
            epoch: Epoch(1),
            seq: 1,
            kind: RunKind::Verify,
            again: 0,
        },
        index: 0,
        folder,
        worktree: home.tree(),
        agent: None,
        dir: PathBuf::new(),
        shell: shell.to_owned(),
        env: BTreeMap::new(),
        sandbox: home.sandbox.clone(),
        owner: home.owner.clone(),
    }
}

#[test]
fn a_frozen_container_stands_still_until_it_is_let_go() {
    let Some(home) = Home::new() else { return };
    let engine = containers();
    let text = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&text);
    let job = job(
        &home,
        "echo begun; while ! [ -e go ]; do sleep 0.02; done; echo over; exit 5",
    );
    let container = engine.start(
        job,
        Arc::new(move |bytes| sink.lock().unwrap().extend(bytes)),
    );
    until("it began", || {
        (container.facts().unwrap().output_bytes > 0).then_some(())
    });
    container.force(Force::Freeze).unwrap();
    let name = home.containers().pop().unwrap();
    assert_eq!(
        docker(&["inspect", "-f", "{{.State.Paused}}", &name]).trim(),
        "true"
    );
    std::fs::write(home.tree().join("go"), "").unwrap();
    container.force(Force::Freeze).unwrap();
    assert!(container.facts().unwrap().end.is_none() && container.alive());
    container.force(Force::Thaw).unwrap();
    until("it ended", || container.facts().unwrap().end);
    let facts = container.facts().unwrap();
    assert_eq!(facts.end, Some(ChildEnd::Code(5)));
    assert!(!container.alive() && !facts.output_open);
    container.remove();
    assert_eq!(home.containers(), Vec::<String>::new());
    assert_eq!(
        String::from_utf8(text.lock().unwrap().clone()).unwrap(),
        "begun\nover\n"
    );
}

#[test]
fn a_frozen_container_can_be_killed() {
    let Some(home) = Home::new() else { return };
    let engine = containers();
    let container = engine.start(job(&home, "echo begun; sleep 600"), Arc::new(|_| ()));
    until("it began", || {
        (container.facts().unwrap().output_bytes > 0).then_some(())
    });
    container.force(Force::Freeze).unwrap();
    until("it is dead", || {
        container.force(Force::Kill).unwrap();
        (!container.alive()).then_some(())
    });
    container.remove();
}

#[test]
fn an_engine_that_is_not_there_is_told_with_what_to_do() {
    let var =
        |name: &str| (name == "DOCKER_HOST").then(|| "unix:///nowhere/docker.sock".to_owned());
    let engine = DockerContainers::new(Places::of(&var), BTreeMap::new()).unwrap();
    let error = engine.standing(&[&sandbox("any")]).unwrap_err();
    let PortError::Unavailable { message, .. } = error else {
        panic!("{error}")
    };
    assert!(
        message.contains("/nowhere/docker.sock") && message.contains("DOCKER_HOST="),
        "{message}"
    );
}
