//! What an agent that was killed, or that tidied up too much, leaves behind.

use std::sync::Mutex;

use async_trait::async_trait;

use super::*;
use crate::model::ids::Timestamp;

/// A clock on which every wait is over at once.
struct Hurry(Mutex<Duration>);

#[async_trait]
impl Clock for Hurry {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn boot_time(&self) -> Duration {
        *self.0.lock().unwrap()
    }

    async fn sleep(&self, time: Duration) {
        *self.0.lock().unwrap() += time;
    }
}

impl Place {
    fn admin(&self) -> PathBuf {
        self.clone().join(".git/worktrees/issue-42")
    }
}

/// A lock whose git died a minute ago.
fn old_lock(path: &Path) {
    let lock = fs::File::create(path).unwrap();
    let long_ago = lock.metadata().unwrap().modified().unwrap() - Duration::from_secs(60);
    lock.set_modified(long_ago).unwrap();
}

#[tokio::test]
async fn the_locks_of_an_agent_killed_in_a_commit_do_not_stop_ours() {
    let place = Place::new();
    let new = place.add(42).await;
    for (n, lock) in [
        place.admin().join("index.lock"),
        place.admin().join("HEAD.lock"),
        place.clone().join(".git/refs/heads/issue-42.lock"),
    ]
    .iter()
    .enumerate()
    {
        old_lock(lock);
        fs::write(new.path.join("work.txt"), format!("{n}")).unwrap();
        let head = place.git().commit_all(&new.path, "Work").await.unwrap();
        assert_eq!(git(&new.path, &["rev-parse", "HEAD"]), head.as_str(), "{n}");
        assert!(!lock.exists());
    }
}

#[tokio::test]
async fn a_removal_and_a_new_start_get_past_an_old_lock_on_the_branch() {
    let place = Place::new();
    let new = place.add(42).await;
    let lock = place.clone().join(".git/refs/heads/issue-42.lock");
    old_lock(&lock);
    place
        .git()
        .remove_worktree(&new.path, Some(&new.start))
        .await
        .unwrap();
    assert_eq!(git(&place.clone(), &["branch", "--list", "issue-42"]), "");
    old_lock(&lock);
    place.git().add_worktree(&new).await.unwrap();
}

#[tokio::test]
async fn a_lock_that_stays_is_named_with_the_command_that_removes_it() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::write(new.path.join("work.txt"), "").unwrap();
    let lock = place.admin().canonicalize().unwrap().join("index.lock");
    // It cannot be told how old it is: from the future.
    let file = fs::File::create(&lock).unwrap();
    let ahead = file.metadata().unwrap().modified().unwrap() + Duration::from_secs(3600);
    file.set_modified(ahead).unwrap();
    let git_here = CliGit::new(place.settings(), Arc::new(Hurry(Mutex::default())));
    let error = git_here.commit_all(&new.path, "Work").await.unwrap_err();
    refused_with(&error, "index.lock");
    do_as_told(&error, "rm ");
    git_here.commit_all(&new.path, "Work").await.unwrap();
}

#[tokio::test]
async fn each_way_to_spoil_a_worktree_is_named_with_the_way_out() {
    let spoil: [(&str, &str, &str, &str); 6] = [
        ("rm .git", "its file `.git` is gone", "git -C ", ""),
        ("echo x > .git", "`.git` is damaged", "git -C ", ""),
        (
            "rm .git && git init -q .",
            "a clone of its own",
            "mv ",
            "add",
        ),
        ("rm .git && ln -s / .git", "but a link", "mv ", "add"),
        (
            "cd .. && rm -r issue-42 && touch issue-42",
            "a file or a link lies there",
            "mv ",
            "add",
        ),
        (
            "rm -r $(git rev-parse --absolute-git-dir)",
            "administrative folder",
            "mv ",
            "add",
        ),
    ];
    for (command, words, way_out, then) in spoil {
        let place = Place::new();
        let new = place.add(42).await;
        shell(&format!("cd '{}' && {command}", new.path.display()));
        let git_here = place.git();
        for error in [
            git_here
                .worktree(&new.path, &branch("main"))
                .await
                .unwrap_err(),
            git_here.commit_all(&new.path, "Work").await.unwrap_err(),
            git_here.add_worktree(&new).await.unwrap_err(),
            git_here.remove_worktree(&new.path, None).await.unwrap_err(),
        ] {
            refused_with(&error, words);
            refused_with(&error, new.path.to_str().unwrap());
        }
        let error = git_here.add_worktree(&new).await.unwrap_err();
        do_as_told(&error, way_out);
        if then == "add" {
            git_here.add_worktree(&new).await.unwrap();
        }
        assert!(place.see(&new.path).await.unwrap().ours, "{command}");
    }
}

#[tokio::test]
async fn a_worktree_whose_proof_is_gone_is_named_with_the_file() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::remove_file(place.admin().join("ghswarm-worktree.json")).unwrap();
    let error = place.git().commit_all(&new.path, "Work").await.unwrap_err();
    refused_with(&error, "ghswarm-worktree.json");
    do_as_told(&error, "git -C ");
    place.git().add_worktree(&new).await.unwrap();
}

#[tokio::test]
async fn a_worktree_whose_folder_is_gone_says_so() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::remove_dir_all(&new.path).unwrap();
    let error = place.git().commit_all(&new.path, "Work").await.unwrap_err();
    refused_with(&error, "the folder is gone");
    refused_with(&error, new.path.to_str().unwrap());
}
