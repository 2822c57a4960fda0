//! Deaths around a container: of its supervisor, of whoever waits for it, and what is left then.

use std::fs;
use std::time::Duration;

use ghswarm::model::run::RunEnd;
use ghswarm::ports::runs::Runs as _;
use rustix::process::{Pid, Signal, kill_process};

use super::{Home, ISSUE, docker, docker_quietly, until};
use crate::e2e::rounds;

/// Counts itself, then waits until it is let go.
const HELD: &str =
    "echo ran >> runs; while ! [ -e go ]; do sleep 0.02; done; echo done >> runs; exit 3";

fn runs(home: &Home) -> String {
    fs::read_to_string(home.tree().join("runs")).unwrap_or_default()
}

fn kill_supervisor(home: &Home) {
    let text = until("a supervisor", || {
        fs::read_to_string(home.facts().folder.join("started.json")).ok()
    });
    let started: serde_json::Value = serde_json::from_str(&text).unwrap();
    let pid = i32::try_from(started["pid"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    // Until nobody holds the folder's lock, nobody can follow.
    until("the supervisor is gone", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned());
        state
            .is_none_or(|rest| rest.starts_with(['Z', 'X']))
            .then_some(())
    });
}

#[test]
fn a_killed_supervisor_is_followed_by_one_that_uses_the_containers_result() {
    for round in 0..rounds(10) {
        let Some(home) = Home::new() else { return };
        home.started(&home.spec(&["echo first >> runs", HELD, "echo never >> runs"]));
        // Each round kills at another place of the container's life.
        match round % 4 {
            0 => until("the step ran", || runs(&home).contains("ran").then_some(())),
            1 => until("a container is there", || {
                (!home.containers().is_empty()).then_some(())
            }),
            2 => std::thread::sleep(Duration::from_millis(rand::random::<u64>() % 900)),
            _ => {
                until("the step ran", || runs(&home).contains("ran").then_some(()));
                fs::write(home.tree().join("go"), "").unwrap();
                std::thread::sleep(Duration::from_millis(rand::random::<u64>() % 60));
            }
        }
        if home.facts().folder.join("exit.json").exists() {
            continue;
        }
        kill_supervisor(&home);
        fs::write(home.tree().join("go"), "").unwrap();
        let other = Home::engine(home.dir.path(), &home.owner);
        // Again and again, as each step does: of a process of several threads the lock outlives the first.
        let (facts, exit) = until("the run has ended", || {
            other.adopt(ISSUE).unwrap();
            home.end()
        });
        assert_eq!(
            (exit.end, exit.code, exit.command),
            (RunEnd::Exited, Some(3), 1),
            "round {round}: {exit:?}\n{}",
            facts.tail
        );
        assert_eq!(
            runs(&home),
            "first\nran\ndone\n",
            "round {round}: {}",
            facts.tail
        );
        other.tidy().unwrap();
        home.cleared();
    }
}

#[test]
fn a_run_that_is_stopped_ends_its_container() {
    let Some(home) = Home::new() else { return };
    let spec = home.spec(&[
        "trap 'echo bye >> runs; exit 0' TERM; echo ran >> runs; while :; do sleep 0.05; done",
    ]);
    home.started(&spec);
    until("the step ran", || runs(&home).contains("ran").then_some(()));
    home.runs.stop(&spec.key).unwrap();
    let (_, exit) = home.ended();
    assert_eq!(exit.end, RunEnd::Stopped);
    assert!(!exit.quarantined);
    assert_eq!(runs(&home), "ran\nbye\n");
    home.cleared();
}

#[test]
fn containers_of_runs_that_are_over_are_removed_and_nobody_elses() {
    let Some(home) = Home::new() else { return };
    let Some(other) = Home::new() else { return };
    other.started(&other.spec(&[HELD]));
    until("theirs runs", || runs(&other).contains("ran").then_some(()));
    home.started(&home.spec(&[HELD]));
    until("ours runs", || runs(&home).contains("ran").then_some(()));
    home.runs.tidy().unwrap();
    assert_eq!(home.containers().len(), 1, "its supervisor waits for it");

    kill_supervisor(&home);
    home.runs.tidy().unwrap();
    assert_eq!(
        home.containers().len(),
        1,
        "the next supervisor will want it"
    );

    // A stranger with our image and no label of ours.
    let name = format!("stranger-{}", home.owner.instance);
    docker(&[
        "run",
        "-d",
        "--name",
        &name,
        &home.sandbox.image,
        "/bin/sleep",
        "600",
    ]);
    fs::remove_dir_all(home.dir.path().join("runs")).unwrap();
    home.runs.tidy().unwrap();
    assert_eq!(home.containers(), Vec::<String>::new());
    assert_eq!(other.containers().len(), 1);
    let there = docker(&["ps", "-q", "--filter", &format!("name={name}")]);
    docker_quietly(&["rm", "-f", &name]);
    assert!(!there.trim().is_empty());
    fs::write(other.tree().join("go"), "").unwrap();
    assert_eq!(other.ended().1.code, Some(3));
}

#[test]
fn an_image_that_is_missing_is_named_with_its_key() {
    let Some(mut home) = Home::new() else { return };
    home.sandbox.image = "ghswarm-test/is-not-there:1".to_owned();
    let trouble = home.runs.sandbox_trouble(&[&home.sandbox]).unwrap();
    for part in [
        "`ghswarm-test/is-not-there:1`",
        "`verify.sandbox.image`",
        "docker pull",
    ] {
        assert!(trouble.contains(part), "{trouble}");
    }
    let (facts, exit) = home.run(&home.spec(&["echo ran"]));
    assert_eq!(exit.end, RunEnd::SandboxUnavailable, "{}", facts.tail);
    assert!(exit.note.unwrap().contains("`verify.sandbox.image`"));
}

/// The supervisor that follows must not take the file for one of an earlier command.
#[test]
fn a_question_that_was_written_while_no_supervisor_lived_is_kept() {
    let Some(home) = Home::new() else { return };
    let mut spec = home.spec(&[
        "echo 'which one?' > QUESTION.md; echo ran > runs; while [ ! -e go ]; do sleep 0.02; done",
    ]);
    spec.fresh_files = vec!["QUESTION.md".into()];
    home.started(&spec);
    until("the step ran", || runs(&home).contains("ran").then_some(()));
    kill_supervisor(&home);
    let other = Home::engine(home.dir.path(), &home.owner);
    until("a new supervisor is there", || {
        other.adopt(ISSUE).unwrap();
        home.facts()
            .folder
            .join("started.json.dead-0")
            .exists()
            .then_some(())
    });
    until("it goes on", || {
        let said = home.facts().tail;
        said.contains("going on with the container").then_some(())
    });
    fs::write(home.tree().join("go"), "").unwrap();
    let (facts, exit) = until("the run has ended", || {
        other.adopt(ISSUE).unwrap();
        home.end()
    });
    assert!(exit.success(), "{exit:?}");
    assert_eq!(facts.question.as_deref(), Some("which one?\n"));
    home.cleared();
}
