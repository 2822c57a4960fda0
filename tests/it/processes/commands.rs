//! What commands do, and what the run makes of it.

use std::fs;
use std::time::Duration;

use ghswarm::model::run::{Order, RunEnd};
use ghswarm::ports::runs::Runs;

use super::{Home, ISSUE, gone, lives};

#[test]
fn a_run_ends_with_its_commands_exit_status_and_its_output() {
    let home = Home::new();
    let (facts, exit) = home.run(&home.spec(&["echo out; echo err >&2; exit 3"]));
    assert_eq!(
        (exit.end, exit.code, exit.signal),
        (RunEnd::Exited, Some(3), None)
    );
    assert!(!exit.quarantined);
    assert!(facts.tail.starts_with("── an agent on this host"));
    assert!(
        facts.tail.ends_with("\n── $ agent-0\nout\nerr\n"),
        "{}",
        facts.tail
    );
    assert_eq!(facts.label, "agent-0");
}

#[test]
fn a_killed_command_names_the_signal() {
    let home = Home::new();
    let (_, exit) = home.run(&home.spec(&["kill -9 $$"]));
    assert_eq!(
        (exit.end, exit.code, exit.signal),
        (RunEnd::Exited, None, Some(9))
    );
}

#[test]
fn a_grandchild_that_holds_the_pipe_does_not_spoil_the_success_and_is_ended() {
    let home = Home::new();
    let (_, exit) = home.run(&home.spec(&["sleep 600 & echo $! > child; echo done"]));
    assert!(exit.success(), "{exit:?}");
    assert!(exit.note.unwrap().contains("still held the output"));
    assert!(!lives(&home.file("child")));
}

#[test]
fn a_grandchild_may_finish_printing_within_the_completion_grace() {
    let home = Home::new();
    let mut spec = home.spec(&["(echo ready > child; sleep 0.5; echo late) & exit 0"]);
    spec.clocks.completion_grace = Duration::from_secs(60);
    let (facts, exit) = home.run(&spec);
    assert!(exit.success(), "{exit:?}");
    assert_eq!(exit.note, None);
    assert!(facts.tail.ends_with("late\n"), "{}", facts.tail);
}

#[test]
fn a_daemonised_grandchild_is_ended_too() {
    let home = Home::new();
    let script = "setsid sh -c 'echo $$ > child; exec sleep 600' > /dev/null 2>&1 < /dev/null & \
                  while ! [ -s child ]; do sleep 0.01; done";
    let (_, exit) = home.run(&home.spec(&[script]));
    assert!(exit.success(), "{exit:?}");
    assert!(!lives(&home.file("child")));
}

#[test]
fn a_flood_of_output_is_cut_in_the_middle() {
    let home = Home::new();
    let script = "echo first; yes 'a line of the flood' | head -c 90000000; echo last";
    let (facts, exit) = home.run(&home.spec(&[script]));
    assert!(exit.success());
    assert!(facts.tail.ends_with("last\n"));
    let log = facts.folder.join("output.log");
    assert!(fs::metadata(&log).unwrap().len() <= ghswarm::model::limits::RUN_LOG_BYTES_MAX);
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("── $ agent-0\nfirst\n") && text.contains("bytes left out here"));
}

#[test]
fn a_command_that_ignores_term_is_killed_after_the_grace() {
    let home = Home::new();
    let mut spec = home.spec(&["trap '' TERM; echo $$ > child; while :; do sleep 0.05; done"]);
    spec.clocks.kill_grace = Duration::from_millis(200);
    home.started(&spec);
    let child = home.file("child");
    home.runs.stop(&spec.key).unwrap();
    let (_, exit) = home.ended();
    assert_eq!(exit.end, RunEnd::Stopped);
    assert!(!exit.quarantined);
    assert!(!lives(&child));
}

#[test]
fn a_stopped_run_lets_its_command_clean_up() {
    let home = Home::new();
    let script =
        "trap 'echo bye > bye; exit 0' TERM; echo $$ > child; while :; do sleep 0.05; done";
    let spec = home.spec(&[script]);
    home.started(&spec);
    home.file("child");
    home.runs.stop(&spec.key).unwrap();
    let (_, exit) = home.ended();
    assert_eq!(exit.end, RunEnd::Stopped);
    assert_eq!(home.file("bye"), "bye");
}

#[test]
fn a_silent_start_ends_at_the_startup_clock() {
    let home = Home::new();
    let mut spec = home.spec(&["sleep 600"]);
    spec.clocks.startup = Duration::from_millis(200);
    let (_, exit) = home.run(&spec);
    assert_eq!(exit.end, RunEnd::StartupTimeout, "{exit:?}");
}

#[test]
fn silence_after_output_ends_at_the_idle_clock() {
    let home = Home::new();
    let mut spec = home.spec(&["echo begun; sleep 600"]);
    spec.clocks.idle = Duration::from_millis(200);
    let (facts, exit) = home.run(&spec);
    assert_eq!(exit.end, RunEnd::IdleTimeout, "{exit:?}");
    assert!(facts.tail.contains("begun"));
}

#[test]
fn a_healthy_run_that_is_silent_within_its_limit_lives() {
    let home = Home::new();
    let mut spec = home.spec(&["echo begun; sleep 1; echo done"]);
    spec.clocks.startup = Duration::from_secs(60);
    spec.clocks.idle = Duration::from_secs(60);
    let (_, exit) = home.run(&spec);
    assert!(exit.success(), "{exit:?}");
}

#[test]
fn an_agent_that_never_exits_ends_at_the_total_clock_with_all_its_children() {
    let home = Home::new();
    let mut spec =
        home.spec(&["sh -c 'echo $$ > child; sleep 600' & while :; do echo x; sleep 0.02; done"]);
    spec.clocks.total = Duration::from_millis(400);
    let (_, exit) = home.run(&spec);
    assert_eq!(exit.end, RunEnd::TotalTimeout, "{exit:?}");
    gone(&home.file("child"));
}

#[test]
fn a_fallback_chain_ends_with_the_first_success_and_only_its_question_counts() {
    let home = Home::new();
    let first = "echo 'of the failed one' > QUESTION.md; exit 1";
    let second = "test ! -e QUESTION.md || exit 9; echo 'which colour?' > QUESTION.md";
    let (facts, exit) = home.run(&home.spec(&[first, second, "echo not reached > third"]));
    assert!(exit.success(), "{exit:?}");
    assert_eq!(exit.command, 1);
    assert_eq!(facts.label, "agent-1");
    assert_eq!(facts.question.as_deref(), Some("which colour?\n"));
    assert_eq!(facts.review, None);
    assert!(!home.tree().join("QUESTION.md").exists());
    assert!(!home.tree().join("third").exists());
}

#[test]
fn a_question_of_a_failed_run_does_not_count_and_does_not_stay_in_the_worktree() {
    let home = Home::new();
    let (facts, exit) = home.run(&home.spec(&["echo why > QUESTION.md; exit 1"]));
    assert!(!exit.success());
    assert_eq!(facts.question, None);
    assert!(!home.tree().join("QUESTION.md").exists());
}

#[test]
fn a_sequence_ends_at_the_first_failure() {
    let home = Home::new();
    let mut spec = home.spec(&["echo 1 >> log", "echo 2 >> log; exit 4", "echo 3 >> log"]);
    spec.order = Order::Sequence;
    let (facts, exit) = home.run(&spec);
    assert_eq!((exit.command, exit.code), (1, Some(4)));
    assert_eq!(
        fs::read_to_string(home.tree().join("log")).unwrap(),
        "1\n2\n"
    );
    assert!(
        facts.tail.contains("── $ agent-0\n── $ agent-1\n"),
        "{}",
        facts.tail
    );
}

#[test]
fn a_working_directory_that_is_missing_is_not_started() {
    let home = Home::new();
    let mut spec = home.spec(&["true"]);
    spec.commands[0].dir = "missing".into();
    let (facts, exit) = home.run(&spec);
    assert_eq!(exit.end, RunEnd::NotStarted);
    assert!(facts.tail.contains("cannot be started"), "{}", facts.tail);
}

#[test]
fn a_prompt_over_128_kib_arrives_on_standard_input_and_in_a_file() {
    let home = Home::new();
    let mut spec = home.spec(&["cat > got; cat \"$GHSWARM_PROMPT_FILE\" > file"]);
    spec.commands[0].prompt_on_stdin = true;
    let prompt = "do it\n".repeat(50_000);
    spec.prompt = Some(prompt.clone());
    let (facts, exit) = home.run(&spec);
    assert!(exit.success(), "{exit:?}");
    assert_eq!(fs::read_to_string(home.tree().join("got")).unwrap(), prompt);
    assert_eq!(
        fs::read_to_string(home.tree().join("file")).unwrap(),
        prompt
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(facts.folder.join("prompt.md"))
            .unwrap()
            .permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn without_a_prompt_standard_input_is_empty() {
    let home = Home::new();
    let (_, exit) = home.run(&home.spec(&["test -z \"$(cat)\""]));
    assert!(exit.success(), "{exit:?}");
}

#[test]
fn the_environment_is_what_the_spec_says() {
    let home = Home::new();
    let mut spec = home.spec(&["env > env"]);
    spec.env.insert("AGENT_ID".to_owned(), "a 1".to_owned());
    spec.env_remove.push("CARGO_MANIFEST_DIR".to_owned());
    home.run(&spec);
    let env = fs::read_to_string(home.tree().join("env")).unwrap();
    assert!(env.lines().any(|line| line == "AGENT_ID=a 1"));
    assert!(
        env.lines()
            .any(|line| line == "GHSWARM_RUN=42/1000-1-implement")
    );
    assert!(env.lines().any(|line| line.starts_with("PATH=")));
    assert!(!env.contains("CARGO_MANIFEST_DIR="));
}

#[test]
fn an_allow_list_keeps_everything_else_out() {
    let home = Home::new();
    let mut spec = home.spec(&["/usr/bin/env > env"]);
    spec.env_clear = Some(vec!["HOME".to_owned()]);
    spec.env.insert("AGENT_ID".to_owned(), "7".to_owned());
    home.run(&spec);
    let env = fs::read_to_string(home.tree().join("env")).unwrap();
    let odd: Vec<&str> = env
        .lines()
        .filter(|line| {
            ![
                "HOME=",
                "AGENT_ID=",
                "GHSWARM_",
                "PWD=",
                "_=",
                "SHLVL=",
                "OLDPWD=",
            ]
            .iter()
            .any(|known| line.starts_with(known))
        })
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
}

#[test]
fn commands_of_a_run_do_not_hold_the_supervisors_lock() {
    let home = Home::new();
    home.run(&home.spec(&["ls -l /proc/self/fd > fds"]));
    let fds = fs::read_to_string(home.tree().join("fds")).unwrap();
    assert!(
        !fds.contains(".lock") && !fds.contains("output.log"),
        "{fds}"
    );
    assert_eq!(home.runs.facts(ISSUE).unwrap().len(), 1);
}

#[test]
fn a_token_that_a_command_prints_does_not_get_into_its_log_however_it_comes() {
    let home = Home::new();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let (first, second) = token.split_at(10);
    let shell = format!("echo x {token} y; printf 'z {first}'; sleep 0.3; printf '{second}'");
    let (facts, exit) = home.run(&home.spec(&[&shell]));
    assert!(exit.success(), "{exit:?}");
    assert!(
        facts.tail.ends_with("\nx [redacted] y\nz [redacted]"),
        "{}",
        facts.tail
    );
    let log = fs::read_to_string(facts.folder.join("output.log")).unwrap();
    assert!(!log.contains(&token), "{log}");
}
