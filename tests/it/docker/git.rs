//! The worktree's git, seen from inside: read, not written.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Home, images};

fn git(dir: &Path, words: &[&str]) {
    let done = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"])
        .args(words)
        .output()
        .unwrap();
    assert!(done.status.success(), "git {words:?}: {done:?}");
}

/// A home whose worktree is one of a real repository.
fn home() -> Option<Home> {
    let mut home = Home::new()?;
    images::with_git().clone_into(&mut home.sandbox.image);
    let clone = home.dir.path().join("clone");
    fs::create_dir(&clone).unwrap();
    git(&clone, &["init", "-q", "-b", "main"]);
    fs::write(clone.join("file"), "text\n").unwrap();
    git(&clone, &["add", "."]);
    git(&clone, &["commit", "-q", "-m", "The first one"]);
    fs::remove_dir(home.tree()).unwrap();
    let tree = home.tree().display().to_string();
    git(&clone, &["worktree", "add", "-q", "-b", "issue-42", &tree]);
    Some(home)
}

#[test]
fn git_reads_the_history_inside() {
    let Some(home) = home() else { return };
    let step = "git log --format=%s && git branch --show-current && git status --short && \
                git diff --stat main && git rev-parse --show-toplevel";
    let (facts, exit) = home.run(&home.spec(&[step]));
    assert!(exit.success(), "{exit:?}\n{}", facts.tail);
    let tail = facts.tail;
    assert!(
        tail.ends_with("The first one\nissue-42\n/workspace\n"),
        "{tail}"
    );
}

#[test]
fn a_worktree_whose_git_file_is_relative_is_read_too() {
    let Some(home) = home() else { return };
    let file = home.tree().join(".git");
    fs::write(&file, "gitdir: ../clone/.git/worktrees/tree\n").unwrap();
    let (facts, exit) = home.run(&home.spec(&["git log --format=%s"]));
    assert!(
        exit.success() && facts.tail.ends_with("The first one\n"),
        "{}",
        facts.tail
    );
}

#[test]
fn nothing_is_written_into_git_from_inside() {
    let Some(home) = home() else { return };
    let common = home.dir.path().join("clone/.git").display().to_string();
    let tries = [
        format!("echo evil > {common}/hooks/post-checkout"),
        "git config core.fsmonitor /workspace/evil".to_owned(),
        "echo evil | git hash-object -w --stdin".to_owned(),
        "git commit --allow-empty -m evil".to_owned(),
        "git branch evil".to_owned(),
        // The host follows this file.
        "echo 'gitdir: /workspace/evil' > .git".to_owned(),
        "rm -f .git && ! [ -e .git ]".to_owned(),
        "mv .git elsewhere".to_owned(),
    ];
    let guarded: Vec<String> = tries
        .iter()
        .map(|step| format!("if {step}; then echo 'it went through'; exit 9; fi"))
        .collect();
    let guarded: Vec<&str> = guarded.iter().map(String::as_str).collect();
    let before = fs::read_to_string(home.tree().join(".git")).unwrap();
    let (facts, exit) = home.run(&home.spec(&guarded));
    assert!(exit.success(), "{exit:?}\n{}", facts.tail);
    assert_eq!(
        fs::read_to_string(home.tree().join(".git")).unwrap(),
        before
    );
    assert!(!Path::new(&common).join("hooks/post-checkout").exists());
    git(&home.tree(), &["fsck", "--strict"]);
}
