//! Starting runs: once, by whomever, and going on alone.

use std::fs;
use std::path::PathBuf;
use std::sync::Barrier;

use ghswarm::adapters::processes::ProcessRuns;
use ghswarm::model::ids::IssueNumber;
use ghswarm::model::run::{RunKind, RunStatus};
use ghswarm::ports::PortError;
use ghswarm::ports::runs::{Runs, StartOutcome};

use super::{Home, ISSUE};

#[test]
fn eight_starts_at_once_start_one_run() {
    let home = Home::new();
    let spec = home.spec(&["echo run >> runs"]);
    let barrier = Barrier::new(8);
    let outcomes: Vec<StartOutcome> = std::thread::scope(|scope| {
        let start = || {
            let engine = Home::engine(home.dir.path());
            barrier.wait();
            engine.start(&spec).unwrap()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let started = outcomes
        .iter()
        .filter(|one| **one == StartOutcome::Started)
        .count();
    assert_eq!(started, 1, "{outcomes:?}");
    home.ended();
    assert_eq!(
        fs::read_to_string(home.tree().join("runs")).unwrap(),
        "run\n"
    );
}

#[test]
fn a_run_that_is_over_is_not_started_again() {
    let home = Home::new();
    let spec = home.spec(&["echo run >> runs"]);
    home.run(&spec);
    assert_eq!(home.runs.start(&spec).unwrap(), StartOutcome::AlreadyThere);
    assert_eq!(
        fs::read_to_string(home.tree().join("runs")).unwrap(),
        "run\n"
    );
}

#[test]
fn a_start_that_was_cut_off_is_reserved_and_used_by_the_next_one() {
    let home = Home::new();
    let spec = home.spec(&["echo run >> runs"]);
    fs::create_dir_all(home.runs.run_folder(&spec.key)).unwrap();
    assert_eq!(home.facts().status, RunStatus::Reserved);
    let (_, exit) = home.run(&spec);
    assert!(exit.success(), "{exit:?}");
}

#[test]
fn a_run_goes_on_when_its_starter_is_gone_and_the_next_engine_reads_it() {
    let home = Home::new();
    let spec = home.spec(&["while ! [ -e go ]; do sleep 0.02; done; echo done"]);
    drop({
        let starter = Home::engine(home.dir.path());
        assert_eq!(starter.start(&spec).unwrap(), StartOutcome::Started);
        starter
    });
    assert!(matches!(
        home.facts().status,
        RunStatus::Running { frozen: false, .. }
    ));
    fs::write(home.tree().join("go"), "").unwrap();
    let (facts, exit) = home.ended();
    assert!(exit.success());
    assert!(facts.tail.ends_with("done\n"));
}

#[test]
fn a_supervisor_that_cannot_start_says_why_and_reserves_nothing() {
    let home = Home::new();
    let exe = PathBuf::from(env!("CARGO_BIN_EXE_ghswarm"));
    let runs = ProcessRuns::new(home.dir.path().join("runs/7"), exe, b"not json".to_vec());
    let error = runs.start(&home.spec(&["true"])).unwrap_err();
    assert!(matches!(error, PortError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("GitHub"), "{error}");
    assert_eq!(home.facts().status, RunStatus::Reserved);
}

#[test]
fn a_program_that_is_missing_is_an_error() {
    let home = Home::new();
    let root = home.dir.path().join("runs/7");
    let runs = ProcessRuns::new(root, PathBuf::from("/nonexistent/ghswarm"), b"{}".to_vec());
    assert!(runs.start(&home.spec(&["true"])).is_err());
}

#[test]
fn the_facts_list_runs_in_the_order_of_their_start_and_leave_strangers_alone() {
    let home = Home::new();
    assert_eq!(home.runs.facts(IssueNumber(43)).unwrap(), []);
    let mut spec = home.spec(&["true"]);
    spec.key.kind = RunKind::Verify;
    home.run(&spec);
    spec.key.kind = RunKind::Setup;
    home.run(&spec);
    spec.key.seq = 2;
    home.run(&spec);
    fs::create_dir(home.runs.issue_folder(ISSUE).join("superseded")).unwrap();
    let names: Vec<String> = home
        .runs
        .facts(ISSUE)
        .unwrap()
        .iter()
        .map(|run| run.key.to_string())
        .collect();
    assert_eq!(
        names,
        ["42/1000-1-verify", "42/1000-1-setup", "42/1000-2-setup"]
    );
}
