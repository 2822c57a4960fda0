//! Committing, and removing worktrees without losing work.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_hook_planted_in_the_clone_does_not_run() {
    let place = Place::new();
    let sign = place.folder.path().join("hook-ran");
    let text = format!("#!/bin/sh\necho $0 >> '{}'\nexit 1\n", sign.display());
    for hook in [
        "post-checkout",
        "pre-commit",
        "commit-msg",
        "post-commit",
        "pre-push",
    ] {
        script(&place.clone().join(".git/hooks").join(hook), &text);
    }
    script(&place.folder.path().join("monitor"), &text);
    let monitor = place.folder.path().join("monitor");
    git(
        &place.clone(),
        &["config", "core.fsmonitor", monitor.to_str().unwrap()],
    );
    let new = place.add(42).await;
    fs::write(new.path.join("work.txt"), "").unwrap();
    place.see(&new.path).await.unwrap();
    let head = place.git().commit_all(&new.path, "Work").await.unwrap();
    let push = Push {
        sha: head,
        to: RefName::of_branch(&new.branch),
        expected: None,
    };
    assert_eq!(place.git().push(&push).await.unwrap(), PushOutcome::Pushed);
    place.git().remove_worktree(&new.path, None).await.unwrap();
    assert!(!sign.exists(), "{}", fs::read_to_string(&sign).unwrap());
}

#[tokio::test]
async fn a_filter_planted_in_the_clone_sees_no_credentials() {
    let place = Place::new();
    let seen = place.folder.path().join("seen");
    let filter = place.folder.path().join("filter");
    let text = format!("#!/bin/sh\nenv >> '{}'\ncat\n", seen.display());
    script(&filter, &text);
    let settings = CliGitSettings {
        env: BTreeMap::from([("GITHUB_TOKEN".to_owned(), "ghp_secret".to_owned())]),
        http_header: Some(HttpHeader {
            url: "http://127.0.0.1:9/".to_owned(),
            header: "Authorization: basic c2VjcmV0".to_owned().into(),
        }),
        ..place.settings()
    };
    let ours = CliGit::new(settings, Arc::new(SystemClock));
    let new = place.add(42).await;
    let command = filter.to_str().unwrap();
    git(&place.clone(), &["config", "filter.planted.clean", command]);
    fs::write(new.path.join(".gitattributes"), "* filter=planted\n").unwrap();
    fs::write(new.path.join("work.txt"), "work\n").unwrap();
    ours.commit_all(&new.path, "Work").await.unwrap();
    let seen = fs::read_to_string(&seen).unwrap();
    assert!(!seen.contains("ghp_secret"), "{seen}");
    assert!(!seen.contains("c2VjcmV0"), "{seen}");
}

#[tokio::test]
async fn a_failed_commit_is_an_error_in_gits_words() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::write(new.path.join("work.txt"), "").unwrap();
    git(&place.clone(), &["config", "commit.gpgSign", "true"]);
    git(&place.clone(), &["config", "gpg.program", "/nowhere/gpg"]);
    let error = place.git().commit_all(&new.path, "Work").await.unwrap_err();
    refused_with(&error, "/nowhere/gpg");
    assert_eq!(place.see(&new.path).await.unwrap().head, new.start);
}

#[tokio::test]
async fn a_hanging_signing_program_is_ended_and_named() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::write(new.path.join("work.txt"), "").unwrap();
    let gpg = place.folder.path().join("gpg");
    let pid = place.folder.path().join("pid");
    script(
        &gpg,
        &format!("#!/bin/sh\necho $$ > '{}'\nexec sleep 600\n", pid.display()),
    );
    git(&place.clone(), &["config", "commit.gpgSign", "true"]);
    git(
        &place.clone(),
        &["config", "gpg.program", gpg.to_str().unwrap()],
    );
    let settings = CliGitSettings {
        local_timeout: Duration::from_secs(3),
        ..place.settings()
    };
    let git_here = CliGit::new(settings, Arc::new(SystemClock));
    let error = git_here.commit_all(&new.path, "Work").await.unwrap_err();
    refused_with(&error, "did not end within 3 s");
    refused_with(&error, "signing probably waits");
    let pid: i32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    let clock = SystemClock;
    let until = clock.boot_time() + Duration::from_secs(20);
    while rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid).unwrap()).is_ok()
        && !fs::read_to_string(format!("/proc/{pid}/stat"))
            .unwrap_or_default()
            .contains(") Z ")
    {
        assert!(clock.boot_time() < until, "the signing program still lives");
        clock.sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn unsaved_work_is_kept_under_a_ref_here_and_on_the_remote_before_removal() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::write(new.path.join("file.txt"), "changed\n").unwrap();
    place.git().commit_all(&new.path, "Work").await.unwrap();
    fs::write(new.path.join("untracked.txt"), "u").unwrap();
    fs::write(new.path.join("secret.ignored"), "s").unwrap();
    place.git().remove_worktree(&new.path, None).await.unwrap();
    place.git().remove_worktree(&new.path, None).await.unwrap();
    assert!(!new.path.exists());
    let saved = salvaged(&place.clone());
    assert_eq!(saved.len(), 1);
    assert_eq!(salvaged(&place.remote()), saved);
    let tree = git(
        &place.clone(),
        &["ls-tree", "--name-only", saved[0].as_str()],
    );
    assert_eq!(
        tree.lines().collect::<Vec<_>>(),
        [".gitignore", "file.txt", "untracked.txt"]
    );
    let parent = format!("{}^", saved[0]);
    let kept = git(&place.clone(), &["rev-parse", "issue-42"]);
    assert_eq!(
        git(&place.clone(), &["rev-parse", &parent]),
        kept,
        "the branch stays, unmerged"
    );
}

#[tokio::test]
async fn work_is_kept_here_where_the_remote_cannot_be_reached() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::write(new.path.join("work.txt"), "").unwrap();
    let work = place.git().commit_all(&new.path, "Work").await.unwrap();
    fs::rename(place.remote(), place.folder.path().join("away")).unwrap();
    place.git().remove_worktree(&new.path, None).await.unwrap();
    assert_eq!(salvaged(&place.clone()), [work]);
}

#[tokio::test]
async fn pushed_and_merged_work_needs_no_saving_and_its_branch_goes_along() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::write(new.path.join("work.txt"), "").unwrap();
    let head = place.git().commit_all(&new.path, "Work").await.unwrap();
    let push = Push {
        sha: head.clone(),
        to: RefName::of_branch(&new.branch),
        expected: None,
    };
    place.git().push(&push).await.unwrap();
    place
        .git()
        .remove_worktree(&new.path, Some(&head))
        .await
        .unwrap();
    assert_eq!(salvaged(&place.clone()), []);
    assert_eq!(git(&place.clone(), &["branch", "--list", "issue-42"]), "");
}

#[tokio::test]
async fn a_branch_whose_tip_is_not_what_was_merged_stays() {
    let place = Place::new();
    let new = place.add(42).await;
    fs::write(new.path.join("work.txt"), "").unwrap();
    let merged = place.git().commit_all(&new.path, "Work").await.unwrap();
    fs::write(new.path.join("more.txt"), "").unwrap();
    let more = place.git().commit_all(&new.path, "More").await.unwrap();
    place
        .git()
        .remove_worktree(&new.path, Some(&merged))
        .await
        .unwrap();
    assert_eq!(
        git(&place.clone(), &["rev-parse", "issue-42"]),
        more.as_str()
    );
    assert_eq!(salvaged(&place.clone()), [more]);
}
