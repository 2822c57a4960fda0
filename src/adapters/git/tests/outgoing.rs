//! What a push would bring to the remote, as libgit2 and as git itself tell it.

use super::*;

/// `subject: paths` of each commit, oldest first.
pub(super) async fn outgoing(place: &Place, path: &Path) -> Vec<String> {
    let found = place.git().outgoing(path, &branch("main")).await.unwrap();
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
        let found = place
            .git()
            .outgoing(&new.path, &branch("main"))
            .await
            .unwrap();
        assert_eq!(found[0].message.trim_end(), message);
        let bytes = found[0].changes[0].bytes;
        let by_git = git2::Repository::open(&new.path).is_err();
        assert!(bytes == 4 || by_git, "{bytes}");
        close_to_libgit2(&place);
    }
}
