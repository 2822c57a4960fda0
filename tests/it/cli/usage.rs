//! Wrong words on the command line: status 2, one clear error, nothing changed.

use super::Machine;

#[test]
fn help_needs_no_configuration_and_tells_the_exit_statuses() {
    insta::assert_snapshot!(Machine::new().run(&["--help"]));
}

#[test]
fn every_command_has_help_that_needs_nothing() {
    let machine = Machine::new();
    let commands = [
        "cycle",
        "loop",
        "run",
        "explain",
        "status",
        "history",
        "logs",
        "resume",
        "init",
        "config",
        "doctor",
        "demo",
        "mutex",
        "claim",
        "board",
        "lease",
        "hooks",
        "service",
        "skills",
        "completions",
        "man",
    ];
    for command in commands {
        let page = machine.run(&[command, "--help"]);
        assert!(
            page.ends_with("exit status 0") && page.contains("Usage:"),
            "{page}"
        );
    }
    let left: Vec<_> = std::fs::read_dir(machine.home.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_version_needs_no_configuration() {
    let page = Machine::new().run(&["--version"]);
    assert!(
        page.contains(concat!("ghswarm ", env!("CARGO_PKG_VERSION"))),
        "{page}"
    );
}

#[test]
fn wrong_words_are_usage_errors() {
    let machine = Machine::new();
    let wrong: [&[&str]; 9] = [
        &["frobnicate"],
        &["run"],
        &["run", "abc"],
        &["run", "0"],
        &["run", "1", "--step", "--dry-run"],
        &["history", "--since", "yesterday"],
        &["history", "--since", "-3h"],
        &["logs", "1", "--run", "nonsense"],
        &["resume", "1", "--more-runs", "many"],
    ];
    let pages: Vec<String> = wrong.iter().map(|words| machine.run(words)).collect();
    for page in &pages {
        assert!(page.ends_with("exit status 2"), "{page}");
    }
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn an_empty_answer_is_refused_before_anything_is_asked() {
    insta::assert_snapshot!(Machine::new().run(&["resume", "1", "--answer", "  "]));
}

#[test]
fn an_issue_without_a_title_is_said_and_leaves_nothing_behind() {
    let machine = Machine::new();
    let issue = machine.write("issue.md", "\n- [ ] a\n");
    let page = machine.run(&[
        "demo",
        "--serve",
        "--repo",
        "nowhere",
        "--issue",
        &issue.display().to_string(),
        "--agent",
        "true",
        "--review",
        "true",
    ]);
    assert!(page.contains("it is the title"), "{page}");
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "it starts the program as a user does"
)]
fn an_error_that_cannot_be_printed_keeps_its_exit_status() {
    // Every write to it fails, as to a log on a full disk.
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_ghswarm"))
        .env_clear()
        .args(["--config", "/nonexistent.yaml", "cycle"])
        .stderr(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(3));
}
