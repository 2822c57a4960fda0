//! Making and looking at worktrees.

use super::*;

#[tokio::test]
async fn a_new_worktree_is_at_the_base_clean_and_ours() {
    let place = Place::new();
    let new = place.add(42).await;
    let seen = place.see(&new.path).await.unwrap();
    let expected = Worktree {
        path: new.path.clone(),
        branch: Some(new.branch.clone()),
        head: new.start.clone(),
        dirty: false,
        differs_from_base: false,
        set_up: false,
        mid_operation: false,
        ours: true,
    };
    assert_eq!(seen, expected);
    assert_eq!(
        fs::read_to_string(new.path.join("file.txt")).unwrap(),
        "one\n"
    );
    place.git().add_worktree(&new).await.unwrap();
    place.git().mark_set_up(&new.path).await.unwrap();
    assert_eq!(
        place.see(&new.path).await.unwrap(),
        Worktree {
            set_up: true,
            ..expected
        }
    );
    assert!(
        git(&new.path, &["status", "--porcelain"]).is_empty(),
        "our files are not in the tree"
    );
}

#[tokio::test]
async fn dirt_commits_and_a_merge_under_way_are_seen() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::write(new.path.join("build.ignored"), "").unwrap();
    assert!(!place.see(&new.path).await.unwrap().dirty);
    fs::write(new.path.join("file.txt"), "two\n").unwrap();
    fs::write(new.path.join("new.txt"), "").unwrap();
    let seen = place.see(&new.path).await.unwrap();
    assert!(seen.dirty && !seen.differs_from_base);
    let head = place
        .git()
        .commit_all(&new.path, "Two\n\nBody")
        .await
        .unwrap();
    let seen = place.see(&new.path).await.unwrap();
    assert_eq!(
        (seen.head, seen.dirty, seen.differs_from_base),
        (head.clone(), false, true)
    );
    let changed = place
        .git()
        .changed_paths(&new.path, &branch("main"))
        .await
        .unwrap();
    assert_eq!(changed, ["file.txt", "new.txt"]);
    let none = sha(&"1".repeat(40));
    for (commit, answer) in [(&head, true), (&new.start, true), (&none, false)] {
        assert_eq!(
            place.git().contains(&new.path, commit).await.unwrap(),
            answer
        );
    }
    assert_eq!(
        place.git().commit_all(&new.path, "again").await.unwrap(),
        head
    );
    place.commit("other.txt", "other\n");
    git(
        &new.path,
        &["merge", "--quiet", "--no-commit", "--no-ff", "main"],
    );
    assert!(place.see(&new.path).await.unwrap().mid_operation);
    let error = place.git().commit_all(&new.path, "x").await.unwrap_err();
    refused_with(&error, "a merge is under way");
}

#[tokio::test]
async fn git_itself_is_asked_where_libgit2_fails() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::write(new.path.join("new.txt"), "").unwrap();
    let head = place.git().commit_all(&new.path, "New").await.unwrap();
    // A format that git reads and libgit2 refuses.
    git(
        &place.clone(),
        &["config", "core.repositoryFormatVersion", "1"],
    );
    git(
        &place.clone(),
        &["config", "extensions.refStorage", "files"],
    );
    assert!(git2::Repository::open(&new.path).is_err());
    let seen = place.see(&new.path).await.unwrap();
    assert_eq!((seen.head, seen.branch), (head, Some(new.branch)));
    assert!(!seen.dirty && seen.differs_from_base);
    let changed = place
        .git()
        .changed_paths(&new.path, &branch("main"))
        .await
        .unwrap();
    assert_eq!(changed, ["new.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_worktrees_made_at_once_by_several_homes_all_succeed() {
    let place = Place::new();
    let start = place.git().fetch_base(&branch("main")).await.unwrap();
    let tasks: Vec<_> = (1..=8)
        .map(|issue| {
            let git = if issue % 2 == 0 {
                place.git()
            } else {
                place.other_home()
            };
            let new = place.new_worktree(issue, &start);
            tokio::spawn(async move {
                git.fetch_base(&branch("main")).await?;
                git.add_worktree(&new).await
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(
        git(&place.clone(), &["worktree", "list"]).lines().count(),
        9
    );
}

#[tokio::test]
async fn another_homes_worktree_is_refused_and_not_reused() {
    let place = Place::new();
    let new = place.add(42).await;
    let other = place.other_home();
    assert!(
        !other
            .worktree(&new.path, &branch("main"))
            .await
            .unwrap()
            .unwrap()
            .ours
    );
    refused_with(
        &other.add_worktree(&new).await.unwrap_err(),
        "another home, `home-a`",
    );
    refused_with(
        &other.remove_worktree(&new.path, None).await.unwrap_err(),
        "another home",
    );
    refused_with(
        &other.commit_all(&new.path, "x").await.unwrap_err(),
        "another home",
    );
    let elsewhere = NewWorktree {
        path: place.at("elsewhere"),
        ..new.clone()
    };
    let error = other.add_worktree(&elsewhere).await.unwrap_err();
    refused_with(&error, "the branch `issue-42` is checked out at");
    assert!(new.path.exists() && !elsewhere.path.exists());
}

#[tokio::test]
async fn what_ghswarm_did_not_make_is_refused_and_left_alone() {
    let place = Place::new();
    let start = place.git().fetch_base(&branch("main")).await.unwrap();
    fs::create_dir_all(place.at("issue-1")).unwrap();
    fs::write(place.at("issue-1").join("notes"), "mine").unwrap();
    git(
        &place.clone(),
        &[
            "worktree",
            "add",
            "--quiet",
            place.at("issue-2").to_str().unwrap(),
        ],
    );
    git(
        place.folder.path(),
        &["clone", "--quiet", "remote.git", "clone-worktrees/issue-3"],
    );
    fs::write(place.at("issue-4"), "a file").unwrap();
    for (issue, words) in [
        (1, "a folder that is no git worktree"),
        (2, "a worktree that ghswarm did not make"),
        (3, "a clone of its own"),
        (4, "not a folder"),
    ] {
        let new = place.new_worktree(issue, &start);
        refused_with(&place.git().add_worktree(&new).await.unwrap_err(), words);
        refused_with(
            &place
                .git()
                .remove_worktree(&new.path, None)
                .await
                .unwrap_err(),
            words,
        );
        assert!(new.path.exists());
    }
    assert!(
        place
            .git()
            .worktree(&place.at("issue-1"), &branch("main"))
            .await
            .is_err()
    );
    assert!(!place.see(&place.at("issue-2")).await.unwrap().ours);
}

#[tokio::test]
async fn a_branch_that_is_checked_out_in_the_clone_is_named_with_its_place() {
    let place = Place::new();
    git(&place.clone(), &["checkout", "--quiet", "-b", "issue-42"]);
    let start = place.git().fetch_base(&branch("main")).await.unwrap();
    let error = place
        .git()
        .add_worktree(&place.new_worktree(42, &start))
        .await
        .unwrap_err();
    refused_with(&error, "the branch `issue-42` is checked out at");
    refused_with(
        &error,
        place.clone().canonicalize().unwrap().to_str().unwrap(),
    );
}

#[tokio::test]
async fn an_existing_branch_is_used_if_it_is_ahead_moved_if_behind_and_refused_if_foreign() {
    let place = Place::new();
    let old = place.git().fetch_base(&branch("main")).await.unwrap();
    let ahead = place.commit("file.txt", "two\n");
    git(&place.clone(), &["branch", "issue-1", ahead.as_str()]);
    git(&place.clone(), &["branch", "issue-2", old.as_str()]);
    git(
        &place.clone(),
        &["checkout", "--quiet", "-b", "issue-3", old.as_str()],
    );
    let foreign = place.commit("other.txt", "");
    git(&place.clone(), &["checkout", "--quiet", "main"]);
    for (issue, start, head) in [(1, &old, &ahead), (2, &ahead, &ahead)] {
        let new = place.new_worktree(issue, start);
        place.git().add_worktree(&new).await.unwrap();
        assert_eq!(&place.see(&new.path).await.unwrap().head, head);
    }
    let error = place
        .git()
        .add_worktree(&place.new_worktree(3, &ahead))
        .await
        .unwrap_err();
    refused_with(&error, "work that ghswarm did not make");
    assert_eq!(
        git(&place.clone(), &["rev-parse", "issue-3"]),
        foreign.as_str()
    );
}

#[tokio::test]
async fn our_own_branch_of_an_earlier_claim_is_saved_and_starts_anew() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::write(new.path.join("work.txt"), "").unwrap();
    let work = place.git().commit_all(&new.path, "Work").await.unwrap();
    // The user deletes the folder by hand: git still has it registered.
    fs::remove_dir_all(&new.path).unwrap();
    assert_eq!(place.see(&new.path).await, None);
    let newer = place.commit("file.txt", "two\n");
    let again = NewWorktree {
        start: newer.clone(),
        ..new
    };
    place.git().add_worktree(&again).await.unwrap();
    assert_eq!(place.see(&again.path).await.unwrap().head, newer);
    assert_eq!(salvaged(&place.clone()), [work]);
}

#[tokio::test]
async fn a_lost_worktree_elsewhere_does_not_hold_the_branch() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::remove_dir_all(&new.path).unwrap();
    let moved = NewWorktree {
        path: place.at("moved"),
        ..new
    };
    place.git().add_worktree(&moved).await.unwrap();
    assert!(place.see(&moved.path).await.unwrap().ours);
}

#[tokio::test]
async fn removing_a_worktree_whose_folder_is_gone_forgets_it() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::remove_dir_all(&new.path).unwrap();
    place
        .git()
        .remove_worktree(&new.path, Some(&new.start))
        .await
        .unwrap();
    assert_eq!(
        git(&place.clone(), &["worktree", "list"]).lines().count(),
        1
    );
    assert_eq!(git(&place.clone(), &["branch", "--list", "issue-42"]), "");
}

#[tokio::test]
async fn a_worktree_that_a_crash_left_half_made_is_finished() {
    let place = Place::new();
    let start = place.git().fetch_base(&branch("main")).await.unwrap();
    let new = place.new_worktree(42, &start);
    let git_here = place.git();
    git_here.place_branch("test", &new).await.unwrap();
    // Cut off after git's own part, before the owner was written.
    let path = new.path.to_str().unwrap();
    git(
        &place.clone(),
        &[
            "worktree",
            "add",
            "--quiet",
            "--no-checkout",
            path,
            "issue-42",
        ],
    );
    assert_eq!(place.see(&new.path).await, None);
    git_here.add_worktree(&new).await.unwrap();
    assert!(new.path.join("file.txt").exists());
    // Cut off in the middle of the checkout.
    let (admin, owner) = git_here.our_admin(&new.path, "test").await.unwrap();
    place::write_owner(
        &admin,
        &place::Owner {
            ready: false,
            ..owner
        },
    )
    .unwrap();
    fs::remove_file(new.path.join("file.txt")).unwrap();
    assert_eq!(place.see(&new.path).await, None);
    git_here.add_worktree(&new).await.unwrap();
    let seen = place.see(&new.path).await.unwrap();
    assert!(!seen.dirty && seen.ours);
}

#[tokio::test]
async fn submodules_are_filled() {
    let place = Place::new();
    git(
        place.folder.path(),
        &["clone", "--quiet", "--bare", "remote.git", "lib.git"],
    );
    let url = place.folder.path().join("lib.git");
    git(
        &place.clone(),
        &["submodule", "--quiet", "add", url.to_str().unwrap(), "lib"],
    );
    let start = place.commit("file.txt", "with lib\n");
    let settings = CliGitSettings {
        env: BTreeMap::from([("GIT_ALLOW_PROTOCOL".to_owned(), "file".to_owned())]),
        ..place.settings()
    };
    let git_here = CliGit::new(settings, Arc::new(SystemClock));
    let new = place.new_worktree(42, &start);
    git_here.add_worktree(&new).await.unwrap();
    assert!(new.path.join("lib/file.txt").exists());
    fs::write(new.path.join("lib/unsaved"), "x").unwrap();
    let error = git_here.remove_worktree(&new.path, None).await.unwrap_err();
    refused_with(&error, "unsaved changes in the submodules: lib");
    fs::remove_file(new.path.join("lib/unsaved")).unwrap();
    git_here.remove_worktree(&new.path, None).await.unwrap();
    assert!(!new.path.exists());
}

#[tokio::test]
async fn a_clone_that_is_none_is_named() {
    let place = Place::new();
    let none = place.folder.path().join("none");
    for path in [none.clone(), place.folder.path().to_path_buf()] {
        let settings = CliGitSettings {
            clone: path.clone(),
            ..place.settings()
        };
        let git_here = CliGit::new(settings, Arc::new(SystemClock));
        let error = git_here.fetch_base(&branch("main")).await.unwrap_err();
        refused_with(&error, &format!("use the clone `{}`", path.display()));
    }
    let settings = CliGitSettings {
        git_program: none,
        ..place.settings()
    };
    let git_here = CliGit::new(settings, Arc::new(SystemClock));
    let error = git_here.fetch_base(&branch("main")).await.unwrap_err();
    refused_with(&error, "could not be started");
}
