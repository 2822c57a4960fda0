//! Death of the supervisor: the run counts as failed, nothing else is lost.

use std::fs;

use ghswarm::model::run::{RunEnd, RunStatus};
use ghswarm::ports::runs::{Runs, StartOutcome};
use rustix::process::Signal;

use super::{Home, ISSUE, gone, lives, signal, until};

/// Prints its own pid and that of a grandchild that has left the group.
const AGENT: &str = "setsid sh -c 'echo $$ > stray; exec sleep 600' > /dev/null 2>&1 & \
                     echo $$ > child; echo begun; sleep 600";

#[test]
fn a_killed_supervisor_is_a_failed_run_and_its_strays_are_swept() {
    let home = Home::new();
    home.started(&home.spec(&[AGENT]));
    let (child, stray) = (home.file("child"), home.file("stray"));
    until("output", || {
        home.facts().tail.contains("begun").then_some(())
    });
    signal(home.supervisor(), Signal::KILL);
    let (facts, exit) = home.ended();
    assert_eq!(exit.end, RunEnd::SupervisorDied);
    assert!(facts.tail.contains("begun"));
    // The kernel takes the command itself along.
    gone(&child);
    assert!(lives(&stray));
    assert!(
        home.ended().1.quarantined,
        "the stray may still write into the worktree"
    );
    home.runs.sweep(ISSUE).unwrap();
    assert!(!lives(&stray));
    assert!(!home.ended().1.quarantined);
}

#[test]
fn a_living_process_of_the_same_number_without_the_lock_is_no_supervisor() {
    let home = Home::new();
    let spec = home.spec(&["true"]);
    let folder = home.runs.run_folder(&spec.key);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("spec.json"), serde_json::to_vec(&spec).unwrap()).unwrap();
    // As after a reboot: the mark of a supervisor, and somebody else under its number.
    let mut other = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    let mark = format!(
        r#"{{"pid":{},"boot":"another","at":"2026-01-02T12:00:00Z"}}"#,
        other.id()
    );
    fs::write(folder.join("started.json"), mark).unwrap();
    assert_eq!(home.ended().1.end, RunEnd::SupervisorDied);
    home.runs.stop(&spec.key).unwrap();
    home.runs.sweep(ISSUE).unwrap();
    assert_eq!(other.try_wait().unwrap(), None, "nobody signalled it");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_supervisor_whose_own_log_cannot_be_written_writes_its_last_word_all_the_same() {
    let home = Home::new();
    let mut spec = home.spec(&[""]);
    let folder = home.runs.run_folder(&spec.key);
    fs::create_dir_all(&folder).unwrap();
    // Every write to it fails, as on a full disk.
    std::os::unix::fs::symlink("/dev/full", folder.join("supervisor.log")).unwrap();
    // Without the room there is something to complain about.
    let room = folder.join("exit.json.room");
    spec.commands[0].shell = format!("rm {}; echo worked", room.display());
    let (facts, exit) = home.run(&spec);
    assert!(exit.success(), "{exit:?}");
    assert!(facts.tail.contains("worked"), "{}", facts.tail);
}

#[test]
fn the_next_run_of_the_issue_sweeps_first() {
    let home = Home::new();
    let mut spec = home.spec(&[AGENT]);
    home.started(&spec);
    let stray = home.file("stray");
    home.file("child");
    signal(home.supervisor(), Signal::KILL);
    home.ended();
    spec.key.seq = 2;
    spec.commands[0].shell = "true".to_owned();
    home.started(&spec);
    assert!(!lives(&stray));
}

#[test]
fn a_sweep_leaves_other_homes_alone() {
    let (home, other) = (Home::new(), Home::new());
    other.started(&other.spec(&[AGENT]));
    let theirs = other.file("stray");
    home.started(&home.spec(&[AGENT]));
    home.file("stray");
    home.file("child");
    signal(home.supervisor(), Signal::KILL);
    home.ended();
    home.runs.sweep(ISSUE).unwrap();
    assert!(lives(&theirs));
}

#[test]
fn a_dead_supervisors_run_is_not_started_again() {
    let home = Home::new();
    let spec = home.spec(&[AGENT]);
    home.started(&spec);
    home.file("child");
    signal(home.supervisor(), Signal::KILL);
    home.ended();
    assert_eq!(home.runs.start(&spec).unwrap(), StartOutcome::AlreadyThere);
}

#[test]
fn a_supervisor_asked_by_signal_ends_the_run_and_writes_its_last_word() {
    let home = Home::new();
    home.started(&home.spec(&[AGENT]));
    let (child, stray) = (home.file("child"), home.file("stray"));
    signal(home.supervisor(), Signal::TERM);
    let (_, exit) = home.ended();
    assert_eq!(exit.end, RunEnd::Stopped);
    assert!(!lives(&child) && !lives(&stray));
}

#[test]
fn a_supervisor_signalled_as_soon_as_it_is_seen_writes_its_last_word_too() {
    for _ in 0..5 {
        let home = Home::new();
        home.started(&home.spec(&["sleep 600"]));
        signal(home.supervisor(), Signal::TERM);
        assert_eq!(home.ended().1.end, RunEnd::Stopped);
    }
}

#[test]
fn a_damaged_exit_file_is_a_failed_run() {
    let home = Home::new();
    let (facts, _) = home.run(&home.spec(&["true"]));
    fs::write(facts.folder.join("exit.json"), "{\"end\":").unwrap();
    let RunStatus::Ended(exit) = home.facts().status else {
        panic!("not ended")
    };
    assert_eq!(exit.end, RunEnd::SupervisorDied);
    assert!(exit.note.unwrap().contains("damaged"));
}
