//! What a push would bring to the remote, as libgit2 and as git itself tell it.

use super::*;

use crate::model::outgoing::{OutgoingCommit, SecretPlace};
use crate::model::secrets::Secrets;

async fn commits(place: &Place, path: &Path) -> Vec<OutgoingCommit> {
    let secrets = Secrets::new(["hunter2-hunter2".to_owned()]);
    let git = place.git();
    git.outgoing(path, &branch("main"), &secrets).await.unwrap()
}

/// `subject: place of each secret` of each commit that has any.
async fn secrets(place: &Place, path: &Path) -> Vec<String> {
    let found = commits(place, path).await;
    let told = found.iter().filter(|one| !one.secrets.is_empty());
    let told = told.map(|commit| {
        let place = |one: &crate::model::outgoing::OutgoingSecret| {
            let at = match &one.place {
                SecretPlace::File(path) => path,
                SecretPlace::Name(path) => &format!("name {path}"),
                SecretPlace::Message => "message",
                SecretPlace::Header => "header",
            };
            format!("{at}:{}", one.line)
        };
        let places: Vec<String> = commit.secrets.iter().map(place).collect();
        let subject = commit.message.lines().next().unwrap_or_default();
        format!("{subject}: {}", places.join(" "))
    });
    told.collect()
}

/// `subject: paths` of each commit, oldest first.
pub(super) async fn outgoing(place: &Place, path: &Path) -> Vec<String> {
    let found = commits(place, path).await;
    let told = found.iter().map(|commit| {
        let paths: Vec<&str> = commit.changes.iter().map(|c| c.path.as_str()).collect();
        let subject = commit.message.lines().next().unwrap_or_default();
        format!("{subject}: {}", paths.join(" "))
    });
    told.collect()
}

/// From now on only git itself can read the clone: a format that libgit2 refuses.
fn close_to_libgit2(place: &Place) {
    git(
        &place.clone(),
        &["config", "core.repositoryFormatVersion", "1"],
    );
    git(
        &place.clone(),
        &["config", "extensions.refStorage", "files"],
    );
}

/// Commits a file of the worktree, or takes it out.
fn commit(tree: &Path, file: &str, text: Option<&str>) {
    match text {
        Some(text) => fs::write(tree.join(file), text).unwrap(),
        None => fs::remove_file(tree.join(file)).unwrap(),
    }
    git(tree, &["add", "-A"]);
    git(tree, &["commit", "--quiet", "-m", &format!("touch {file}")]);
}

#[tokio::test]
async fn every_commit_is_told_with_what_it_changes_also_what_is_gone_at_the_head() {
    let place = Place::new();
    let new = place.add(42).await;
    commit(&new.path, ".env", Some("x"));
    commit(&new.path, ".env", None);
    commit(&new.path, "ü b.txt", Some("x"));
    let expected = [
        "touch .env: .env",
        "touch .env: .env",
        "touch ü b.txt: ü b.txt",
    ];
    assert_eq!(outgoing(&place, &new.path).await, expected);
    close_to_libgit2(&place);
    assert_eq!(outgoing(&place, &new.path).await, expected);
}

#[tokio::test]
async fn a_merge_of_the_base_is_not_told_as_our_change_and_taking_it_back_is() {
    let place = Place::new();
    let new = place.add(42).await;
    commit(&new.path, "ours.txt", Some("x"));
    place.commit("ci.yml", "new\n");
    git(&place.clone(), &["push", "--quiet", "origin", "main"]);
    git(&place.clone(), &["fetch", "--quiet", "origin"]);
    git(
        &new.path,
        &[
            "merge",
            "--quiet",
            "--no-edit",
            "-m",
            "merge",
            "origin/main",
        ],
    );
    assert_eq!(
        outgoing(&place, &new.path).await,
        ["touch ours.txt: ours.txt", "merge: "]
    );
    git(&new.path, &["reset", "--quiet", "--hard", "HEAD^"]);
    git(
        &new.path,
        &[
            "merge",
            "--quiet",
            "-s",
            "ours",
            "-m",
            "undo",
            "origin/main",
        ],
    );
    let expected = ["touch ours.txt: ours.txt", "undo: ci.yml"];
    assert_eq!(outgoing(&place, &new.path).await, expected);
    close_to_libgit2(&place);
    assert_eq!(outgoing(&place, &new.path).await, expected);
}

#[tokio::test]
async fn messages_are_told_whole_and_sizes_of_files_are_known() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::write(new.path.join("a"), "four").unwrap();
    let message = "One\n\ncommit 1\n\nFixes #9";
    place.git().commit_all(&new.path, message).await.unwrap();
    for _ in 0..2 {
        let found = commits(&place, &new.path).await;
        assert_eq!(found[0].message.trim_end(), message);
        let bytes = found[0].changes[0].bytes;
        let by_git = git2::Repository::open(&new.path).is_err();
        assert!(bytes == 4 || by_git, "{bytes}");
        close_to_libgit2(&place);
    }
}

/// A token that stands nowhere in one piece here.
fn token() -> String {
    format!("ghp_{}", "a1B2".repeat(9))
}

#[tokio::test]
async fn what_a_commit_adds_is_searched_for_secrets_and_what_was_there_is_not() {
    let place = Place::new();
    place.commit("fixture.txt", &format!("{}\n", token()));
    git(&place.clone(), &["push", "--quiet", "origin", "main"]);
    let new = place.add(42).await;
    commit(
        &new.path,
        "a b.txt",
        Some(&format!("one\ntwo {}\n+++ three", token())),
    );
    commit(&new.path, "a b.txt", None);
    commit(
        &new.path,
        "fixture.txt",
        Some(&format!("{}\nnew line\n", token())),
    );
    git(&new.path, &["mv", "fixture.txt", "moved.txt"]);
    git(&new.path, &["commit", "--quiet", "-m", "move"]);
    fs::write(new.path.join(".gitattributes"), "* -diff\n").unwrap();
    commit(&new.path, "data", Some("\0\0\nx hunter2-hunter2 y\n"));
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}\n", "a1B2".repeat(16));
    commit(&new.path, "key.txt", Some(&format!("x\n{key}")));
    let message = format!("say it\n\nwith {}", token());
    git(
        &new.path,
        &["commit", "--quiet", "--allow-empty", "-m", &message],
    );
    let expected = [
        "touch a b.txt: a b.txt:2",
        "touch data: data:2",
        "touch key.txt: key.txt:2",
        "say it: message:3",
    ];
    assert_eq!(secrets(&place, &new.path).await, expected);
    close_to_libgit2(&place);
    assert_eq!(secrets(&place, &new.path).await, expected);
}

#[tokio::test]
async fn of_a_merge_only_what_no_parent_has_is_searched() {
    let place = Place::new();
    let new = place.add(42).await;
    commit(&new.path, "both.txt", Some("ours\n"));
    place.commit("both.txt", &format!("theirs {}\n", token()));
    git(&place.clone(), &["push", "--quiet", "origin", "main"]);
    git(&place.clone(), &["fetch", "--quiet", "origin"]);
    let merged = |text: &str, message: &str| {
        // A conflict, which is what the text settles.
        let merge = [
            "merge",
            "--quiet",
            "--no-commit",
            "-s",
            "ours",
            "origin/main",
        ];
        git(&new.path, &merge);
        fs::write(new.path.join("both.txt"), text).unwrap();
        git(&new.path, &["add", "-A"]);
        git(&new.path, &["commit", "--quiet", "-m", message]);
    };
    merged(&format!("ours\ntheirs {}\n", token()), "merge");
    assert_eq!(secrets(&place, &new.path).await, [""; 0]);
    git(&new.path, &["reset", "--quiet", "--hard", "HEAD^"]);
    merged("ours\nhunter2-hunter2\n", "mine");
    let expected = ["mine: both.txt:2"];
    assert_eq!(secrets(&place, &new.path).await, expected);
    close_to_libgit2(&place);
    assert_eq!(secrets(&place, &new.path).await, expected);
}

#[tokio::test]
async fn the_search_in_a_flood_comes_to_an_end() {
    let place = Place::new();
    let new = place.add(42).await;
    let flood = "0123456789abcde\n".repeat(crate::model::limits::SEARCHED_FILE_BYTES_MAX / 16 + 1);
    commit(
        &new.path,
        "flood.txt",
        Some(&format!("{flood}{}\n", token())),
    );
    commit(&new.path, "small.txt", Some(&token()));
    let expected = ["touch small.txt: small.txt:1"];
    assert_eq!(secrets(&place, &new.path).await, expected);
}

#[tokio::test]
async fn names_of_new_files_and_of_who_made_a_commit_are_searched_for_secrets() {
    let place = Place::new();
    let old = format!("old-{}", token());
    place.commit(&old, "known\n");
    git(&place.clone(), &["push", "--quiet", "origin", "main"]);
    let new = place.add(42).await;
    commit(&new.path, &old, Some("changed\n"));
    let name = format!("new-{}.txt", token());
    commit(&new.path, &name, Some("x"));
    commit(&new.path, "plain.txt", Some("x"));
    let author = format!("--author={} <a@example.com>", token());
    git(
        &new.path,
        &["commit", "--quiet", "--amend", "--no-edit", &author],
    );
    let committer = ["-c", "user.email=hunter2-hunter2@example.com"];
    let empty = ["commit", "--quiet", "--allow-empty", "-m", "empty"];
    git(&new.path, &[&committer[..], &empty[..]].concat());
    for _ in 0..2 {
        let found = commits(&place, &new.path).await;
        let mut places: Vec<(&str, &SecretPlace)> = found
            .iter()
            .flat_map(|commit| {
                let subject = commit.message.lines().next().unwrap_or_default();
                commit.secrets.iter().map(move |one| (subject, &one.place))
            })
            .collect();
        // The subjects are ours, and name the files.
        places.retain(|(_, place)| **place != SecretPlace::Message);
        places.dedup();
        let shown = SecretPlace::Name("new-[redacted].txt".to_owned());
        let [named, author, email] = places.as_slice() else {
            panic!("{places:?}");
        };
        assert_eq!(named.1, &shown);
        assert_eq!(author, &("touch plain.txt", &SecretPlace::Header));
        assert_eq!(email, &("empty", &SecretPlace::Header));
        close_to_libgit2(&place);
    }
}
