//! Steps in containers: their order, their results, their limits.

use std::fs;

use ghswarm::model::run::RunEnd;

use super::Home;

#[test]
fn a_step_runs_in_a_container_and_ends_with_its_status_and_its_output() {
    let Some(home) = Home::new() else { return };
    let (facts, exit) = home.run(&home.spec(&["echo out; echo err >&2; ls /bin/busybox; exit 3"]));
    assert_eq!(
        (exit.end, exit.code, exit.command),
        (RunEnd::Exited, Some(3), 0),
        "{exit:?}\n{}",
        facts.tail
    );
    assert!(
        facts.tail.ends_with("exit 3\nout\nerr\n/bin/busybox\n"),
        "{}",
        facts.tail
    );
    assert!(!exit.quarantined);
    home.cleared();
}

#[test]
fn steps_run_in_order_and_stop_at_the_first_failure() {
    let Some(home) = Home::new() else { return };
    let steps = ["echo 1 >> log", "echo 2 >> log; exit 4", "echo 3 >> log"];
    let (facts, exit) = home.run(&home.spec(&steps));
    assert_eq!((exit.command, exit.code), (1, Some(4)), "{}", facts.tail);
    assert_eq!(
        fs::read_to_string(home.tree().join("log")).unwrap(),
        "1\n2\n"
    );
    assert_eq!(facts.label, steps[1]);
    assert!(
        facts.tail.contains("── $ echo 1 >> log\n── $ echo 2"),
        "{}",
        facts.tail
    );
    home.cleared();
}
