//! What a container may use and see, and what is said when it wants more.

use std::time::Duration;

use ghswarm::model::run::RunEnd;
use ghswarm::model::sandbox::{Caps, Network};

use super::{Home, patient_clocks};

#[test]
fn without_a_network_there_is_only_the_loopback() {
    let Some(mut home) = Home::new() else { return };
    let count = "ls /sys/class/net | grep -vc '^lo$'";
    home.sandbox.network = Network::None;
    let (facts, _) = home.run_steps(1, &[count]);
    assert!(facts.tail.ends_with("\n0\n"), "{}", facts.tail);
    home.sandbox.network = Network::Default;
    let (facts, _) = home.run_steps(2, &[count]);
    assert!(!facts.tail.ends_with("\n0\n"), "{}", facts.tail);
}

#[test]
fn too_much_memory_is_said_with_the_key_that_allows_more() {
    let Some(mut home) = Home::new() else { return };
    home.sandbox.caps = Caps {
        memory: Some(32 << 20),
        ..Caps::default()
    };
    let (facts, exit) =
        home.run(&home.spec(&["x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo $?"]));
    assert_eq!(exit.end, RunEnd::OutOfMemory, "{exit:?}\n{}", facts.tail);
    let note = exit.note.unwrap();
    assert!(
        note.contains("`verify.sandbox.memory`") && note.contains("32m"),
        "{note}"
    );
    assert!(facts.tail.contains(&note), "{}", facts.tail);
    home.cleared();
}

#[test]
fn a_child_that_ran_out_of_memory_is_no_success_of_its_parent() {
    let Some(mut home) = Home::new() else { return };
    home.sandbox.caps.memory = Some(32 << 20);
    let step = "sh -c 'x=$(head -c 200000000 /dev/zero | tr \"\\0\" x)'; exit 0";
    let (facts, exit) = home.run(&home.spec(&[step]));
    assert_eq!(exit.end, RunEnd::OutOfMemory, "{exit:?}\n{}", facts.tail);
}

#[test]
fn too_many_processes_are_said_with_the_key_that_allows_more() {
    let Some(mut home) = Home::new() else { return };
    home.sandbox.caps.pids = Some(8);
    let step = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; wait";
    let (facts, exit) = home.run(&home.spec(&[step]));
    assert!(!exit.success(), "{exit:?}\n{}", facts.tail);
    assert!(
        facts.tail.contains("`verify.sandbox.pids`"),
        "{}",
        facts.tail
    );
}

#[test]
fn a_step_has_its_own_time_limit_and_says_which_key_it_is() {
    let Some(home) = Home::new() else { return };
    let mut spec = home.spec(&["echo quick", "echo begun; sleep 600", "echo never"]);
    let mut clocks = patient_clocks();
    clocks.total = Duration::from_millis(400);
    clocks.kill_grace = Duration::from_millis(200);
    spec.commands[1].clocks = Some(clocks);
    let (facts, exit) = home.run(&spec);
    assert_eq!(
        (exit.end, exit.command),
        (RunEnd::TotalTimeout, 1),
        "{}",
        facts.tail
    );
    assert!(exit.note.unwrap().contains("`verify.sandbox.timeout`"));
    assert!(!exit.quarantined);
    home.cleared();
}

#[test]
fn a_step_has_no_capability_and_cannot_get_any() {
    let Some(home) = Home::new() else { return };
    let (facts, exit) =
        home.run(&home.spec(&["grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status"]));
    assert!(exit.success(), "{exit:?}");
    for line in [
        "CapEff:\t0000000000000000",
        "CapBnd:\t0000000000000000",
        "NoNewPrivs:\t1",
    ] {
        assert!(facts.tail.contains(line), "{}", facts.tail);
    }
}

#[test]
fn only_the_variables_that_are_named_come_in() {
    let Some(mut home) = Home::new() else { return };
    home.sandbox.env.insert("OWN".to_owned(), "a b".to_owned());
    home.sandbox.env_passthrough = vec!["CARGO_PKG_NAME".to_owned(), "NOT_SET_ANYWHERE".to_owned()];
    let mut spec = home.spec(&["env | sort"]);
    spec.env.insert("GHSWARM_ISSUE".to_owned(), "42".to_owned());
    let (facts, exit) = home.run(&spec);
    assert!(exit.success(), "{exit:?}");
    for line in [
        "OWN=a b",
        "HOME=/tmp",
        "GHSWARM_ISSUE=42",
        "GIT_CONFIG_VALUE_0=*",
    ] {
        assert!(
            facts.tail.lines().any(|found| found == line),
            "{line}: {}",
            facts.tail
        );
    }
    assert!(
        facts.tail.contains("CARGO_PKG_NAME=ghswarm\n"),
        "{}",
        facts.tail
    );
    assert!(facts.tail.contains("`NOT_SET_ANYWHERE`"), "{}", facts.tail);
    assert!(
        !facts.tail.contains("CARGO_MANIFEST_DIR="),
        "{}",
        facts.tail
    );
}
