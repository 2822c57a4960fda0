//! `service`, `completions` and `man`, as people type them. The system's keeper of services is a script that
//! writes down what it was told.

#![allow(
    clippy::print_stdout,
    reason = "a test that is left out says so by name"
)]

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::Machine;

/// A machine with a configuration that is right, whose `systemctl` and `launchctl` only write down their words.
struct Kept {
    machine: Machine,
}

impl Kept {
    fn new(keeper: &str) -> Self {
        let mut machine = Machine::new();
        let bin = machine.path("bin");
        std::fs::create_dir_all(&bin).unwrap();
        for name in ["systemctl", "launchctl"] {
            let script = format!("#!/bin/sh\necho \"{name} $*\" >>\"$HOME/told\"\n{keeper}\n");
            std::fs::write(bin.join(name), script).unwrap();
            std::fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        machine.set("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
        let clone = machine.path("clone");
        git2::Repository::init(&clone).unwrap();
        machine.write(
            ".ghswarm.yaml",
            &format!(
                "repositories:\n  demo:\n    repo: acme/demo\n    path: {}\n    agents:\n      \
                 implement: {{command: 'true'}}\n      review: {{command: 'true'}}\n",
                clone.display()
            ),
        );
        Self { machine }
    }

    fn told(&self) -> String {
        std::fs::read_to_string(self.machine.path("told")).unwrap_or_default()
    }

    fn unit(&self) -> std::path::PathBuf {
        let name = if cfg!(target_os = "macos") {
            "Library/LaunchAgents/ghswarm.loop.plist"
        } else {
            ".config/systemd/user/ghswarm.service"
        };
        self.machine.path(name)
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_service_is_installed_looked_at_and_taken_out() {
    let kept = Kept::new(
        "case \"$*\" in *show*) printf 'ActiveState=active\\nSubState=running\\n';; esac",
    );
    let pages = [
        &["service", "install"] as &[&str],
        &["service", "status"],
        &["service", "status", "--json"],
        &["service", "install"],
        &["service", "uninstall"],
        &["service", "uninstall"],
    ]
    .map(|words| kept.machine.run(words));
    assert!(!kept.unit().exists());
    insta::assert_snapshot!(format!(
        "{}\n\n--- systemctl was told\n{}",
        pages.join("\n\n"),
        kept.told()
    ));
}

#[test]
fn what_is_printed_is_what_would_be_installed_and_nothing_is_changed() {
    let kept = Kept::new("exit 1");
    let page = kept.machine.run(&["service", "install", "--print"]);
    assert!(
        page.contains("\"loop\"") || page.contains("<string>loop</string>"),
        "{page}"
    );
    assert!(page.contains("[HOME]/.ghswarm/service.env"), "{page}");
    assert!(!kept.unit().exists() && kept.told().is_empty());
}

#[test]
fn a_unit_of_somebody_else_is_neither_replaced_nor_removed() {
    let kept = Kept::new("exit 0");
    std::fs::create_dir_all(kept.unit().parent().unwrap()).unwrap();
    std::fs::write(kept.unit(), "mine\n").unwrap();
    for word in ["install", "uninstall"] {
        let page = kept.machine.run(&["service", word]);
        assert!(page.contains("was not written by ghswarm"), "{page}");
        assert!(page.ends_with("exit status 4"), "{page}");
    }
    assert_eq!(std::fs::read_to_string(kept.unit()).unwrap(), "mine\n");
    assert!(kept.told().is_empty(), "{}", kept.told());
}

#[test]
fn a_wrong_configuration_is_told_before_anything_is_installed() {
    let kept = Kept::new("exit 0");
    kept.machine.write(".ghswarm.yaml", "repositories: 7\n");
    let page = kept.machine.run(&["service", "install"]);
    assert!(page.ends_with("exit status 3"), "{page}");
    assert!(!kept.unit().exists());
}

#[test]
fn a_keeper_that_refuses_is_quoted_with_the_command_to_try() {
    let kept = Kept::new("echo 'Failed to connect to bus' >&2; exit 1");
    let page = kept.machine.run(&["service", "install"]);
    assert!(
        page.contains("Failed to connect to bus") && page.contains("hint: try it yourself"),
        "{page}"
    );
    assert!(page.ends_with("exit status 4"), "{page}");
    let page = kept.machine.run(&["service", "status"]);
    assert!(page.ends_with("exit status 1"), "{page}");
}

/// A real bash completes with what we print.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a shell reads it as a user's would"
)]
fn bash_completes_commands_and_options() {
    let machine = Machine::new();
    let script = machine.command(&["completions", "bash"]).output().unwrap();
    let file = machine.path("completions");
    std::fs::write(&file, script.stdout).unwrap();
    let ask = |words: &str| {
        let line = format!(
            ". {}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _ghswarm ghswarm \"${{COMP_WORDS[COMP_CWORD]}}\"; echo \"${{COMPREPLY[@]}}\"",
            file.display()
        );
        let bash = Command::new("bash")
            .args(["--norc", "-c", &line])
            .stdin(Stdio::null())
            .output();
        match bash {
            Ok(output) => Some(String::from_utf8(output.stdout).unwrap()),
            Err(error) => {
                println!("skipped: there is no bash: {error}");
                None
            }
        }
    };
    let Some(commands) = ask("ghswarm exp") else {
        return;
    };
    assert_eq!(commands.trim(), "explain");
    let options = ask("ghswarm run --dry").unwrap();
    assert_eq!(options.trim(), "--dry-run");
}

#[test]
fn a_man_page_is_printed_and_a_wrong_name_is_answered() {
    let machine = Machine::new();
    let page = machine.run(&["man", "service", "install"]);
    assert!(page.contains(".TH ghswarm-service-install 1"), "{page}");
    let page = machine.run(&["man", "frobnicate"]);
    assert!(page.ends_with("exit status 2"), "{page}");
}

#[test]
fn the_two_machines_of_the_example_have_valid_configurations() {
    for (name, clone) in [("laptop", "src/widgets"), ("server", "widgets")] {
        let machine = Machine::new();
        git2::Repository::init(machine.path(clone)).unwrap();
        let example = format!(
            "{}/examples/two-machines/{name}.yaml",
            env!("CARGO_MANIFEST_DIR")
        );
        let page = machine.run(&["--config", &example, "config", "check"]);
        assert!(page.ends_with("exit status 0"), "{page}");
    }
}
