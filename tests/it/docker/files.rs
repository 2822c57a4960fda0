//! Files of the worktree, seen from inside and outside.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ghswarm::model::run::RunEnd;
use ghswarm::model::sandbox::User;
use ghswarm::ports::runs::Runs as _;

use super::{Home, ISSUE};

/// Gives everything there to a user; only root can.
fn give(path: &Path, user: u32) {
    let done = std::process::Command::new("chown")
        .args(["-R", &format!("{user}:{user}")])
        .arg(path)
        .status();
    assert!(done.unwrap().success());
}

fn am_root() -> bool {
    rustix::process::getuid().is_root()
}

#[test]
fn files_written_in_the_container_belong_to_the_caller() {
    let Some(home) = Home::new() else { return };
    let (facts, exit) = home.run(&home.spec(&["mkdir made && echo hello > made/file"]));
    assert!(exit.success(), "{exit:?}\n{}", facts.tail);
    let file = home.tree().join("made/file");
    assert_eq!(fs::read_to_string(&file).unwrap(), "hello\n");
    let me = fs::metadata(home.dir.path()).unwrap();
    let meta = fs::metadata(&file).unwrap();
    assert_eq!((meta.uid(), meta.gid()), (me.uid(), me.gid()));
}

#[test]
fn a_directory_of_the_containers_own_never_shows_on_the_host_and_lasts_from_step_to_step() {
    let Some(mut home) = Home::new() else { return };
    home.sandbox.isolate_dirs = vec![PathBuf::from(".venv"), PathBuf::from("web/modules")];
    fs::create_dir(home.tree().join("web")).unwrap();
    if am_root() {
        // Anybody but root has to be let in by the volume itself.
        home.sandbox.user = User::Fixed {
            uid: 1000,
            gid: 1000,
        };
        give(&home.tree(), 1000);
    }
    let make = "mkdir .venv/bin && echo tool > .venv/bin/tool && echo lib > web/modules/lib";
    let (facts, exit) = home.run_steps(1, &[make, "cat .venv/bin/tool"]);
    assert!(exit.success(), "{exit:?}\n{}", facts.tail);
    super::until("the mount points are gone", || {
        let left = [".venv", "web/modules"].map(|dir| home.tree().join(dir).exists());
        (left == [false, false]).then_some(())
    });
    // The next run of the issue finds what the set-up made.
    let (facts, exit) = home.run_steps(2, &["cat .venv/bin/tool web/modules/lib"]);
    assert!(
        exit.success() && facts.tail.ends_with("tool\nlib\n"),
        "{}",
        facts.tail
    );
    home.cleared();
    assert_eq!(home.volumes().len(), 2);
    home.runs.forget(ISSUE).unwrap();
    assert_eq!(home.volumes(), Vec::<String>::new());
}

#[test]
fn volumes_go_when_their_worktree_is_gone() {
    let Some(mut home) = Home::new() else { return };
    home.sandbox.isolate_dirs = vec![PathBuf::from("cache")];
    let (facts, exit) = home.run(&home.spec(&["true"]));
    assert!(exit.success(), "{exit:?}\n{}", facts.tail);
    home.cleared();
    home.runs.tidy().unwrap();
    assert_eq!(home.volumes().len(), 1, "the worktree is there");
    fs::remove_dir_all(home.tree()).unwrap();
    home.runs.tidy().unwrap();
    assert_eq!(home.volumes(), Vec::<String>::new());
}

#[test]
fn a_link_in_the_place_of_an_isolated_directory_is_refused() {
    let Some(mut home) = Home::new() else { return };
    home.sandbox.isolate_dirs = vec![PathBuf::from("out/cache")];
    let elsewhere = home.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, home.tree().join("out")).unwrap();
    let (facts, exit) = home.run(&home.spec(&["true"]));
    assert_eq!(exit.end, RunEnd::NotStarted, "{}", facts.tail);
    assert!(exit.note.unwrap().contains("isolate_dirs"));
    assert!(!elsewhere.join("cache").exists());
}

#[test]
fn a_step_in_its_directory_reaches_its_siblings() {
    let Some(home) = Home::new() else { return };
    fs::create_dir(home.tree().join("api")).unwrap();
    fs::create_dir(home.tree().join("shared")).unwrap();
    fs::write(home.tree().join("shared/lib"), "shared\n").unwrap();
    let mut spec = home.spec(&["pwd; cat ../shared/lib"]);
    spec.commands[0].dir = PathBuf::from("api");
    let (facts, exit) = home.run(&spec);
    assert!(exit.success(), "{exit:?}\n{}", facts.tail);
    assert!(
        facts.tail.ends_with("/workspace/api\nshared\n"),
        "{}",
        facts.tail
    );
}

#[test]
fn a_directory_that_is_missing_or_leads_out_of_the_worktree_is_not_started_in() {
    let Some(home) = Home::new() else { return };
    std::os::unix::fs::symlink("/etc", home.tree().join("out")).unwrap();
    for (seq, dir) in [(1, "missing"), (2, "out")] {
        let mut spec = home.spec(&["true"]);
        spec.key.seq = seq;
        spec.commands[0].dir = PathBuf::from(dir);
        let (facts, exit) = home.run(&spec);
        assert_eq!(exit.end, RunEnd::NotStarted, "{dir}: {}", facts.tail);
        assert!(exit.note.unwrap().contains(dir));
        assert!(!home.tree().join("missing").exists());
    }
}

#[test]
fn a_user_who_may_not_write_is_told_before_any_step_runs() {
    let Some(mut home) = Home::new() else { return };
    home.sandbox.user = User::Fixed {
        uid: 1234,
        gid: 1234,
    };
    let (facts, exit) = home.run(&home.spec(&["echo ran"]));
    assert_eq!(exit.end, RunEnd::SandboxUnavailable, "{}", facts.tail);
    let note = exit.note.unwrap();
    assert!(
        note.contains("cannot write") && note.contains("`verify.sandbox.user`"),
        "{note}"
    );
    assert!(!facts.tail.contains("\nran"), "{}", facts.tail);
    home.cleared();
    // Nothing of it ran, so the same run may be started anew.
    home.sandbox.user = User::Auto;
    let (facts, exit) = home.run(&home.spec(&["echo ran"]));
    assert!(
        exit.success() && facts.tail.ends_with("ran\n"),
        "{exit:?}\n{}",
        facts.tail
    );
}
