//! git is cut off at every single command; the next try brings everything to its end.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::adapters::git::place;

/// When the chosen command is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Before,
    After,
}

/// A git whose `n`th call fails, and which leaves a mark when it did.
fn cut_git(place: &Place, n: u32, cut: Cut) -> CliGit {
    let program = place.folder.path().join("cut-git");
    let count = place.folder.path().join("count");
    let first = if cut == Cut::After { "git \"$@\"" } else { ":" };
    let text = format!(
        "#!/bin/sh\nn=$(($(cat '{0}') + 1)); echo $n > '{0}'\n\
         if [ $n -eq {n} ]; then {first}; exit 137; fi\nexec git \"$@\"\n",
        count.display()
    );
    fs::write(&count, "0").unwrap();
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let settings = CliGitSettings {
        git_program: program,
        ..place.settings()
    };
    CliGit::new(settings, Arc::new(SystemClock))
}

fn calls(place: &Place) -> u32 {
    fs::read_to_string(place.folder.path().join("count"))
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

#[tokio::test]
async fn a_worktree_cut_off_anywhere_is_made_by_the_next_try() {
    let place = Place::new();
    let start = place.git().fetch_base(&branch("main")).await.unwrap();
    for cut in [Cut::Before, Cut::After] {
        for n in 1.. {
            let new = place.new_worktree(u64::from(n), &start);
            let cut_off = cut_git(&place, n, cut).add_worktree(&new).await;
            let over = calls(&place) < n;
            let before = place.see(&new.path).await;
            assert!(cut_off.is_err() || before.is_some(), "{cut:?} {n}");
            place.git().add_worktree(&new).await.unwrap();
            let seen = place.see(&new.path).await.unwrap();
            assert!(seen.ours && !seen.dirty, "{cut:?} {n}");
            place
                .git()
                .remove_worktree(&new.path, Some(&start))
                .await
                .unwrap();
            if over {
                assert!(n > 5, "{n} commands were cut off");
                break;
            }
        }
    }
    assert_eq!(git(&place.clone(), &["branch", "--list", "issue-*"]), "");
    assert_eq!(salvaged(&place.clone()), []);
}

#[tokio::test]
async fn a_worktree_whose_checkout_died_with_the_machine_is_made_by_the_next_try() {
    let place = Place::new();
    let new = place.add(1).await;
    let mut all = fs::read_dir(place.clone().join(".git/worktrees")).unwrap();
    let admin = all.next().unwrap().unwrap().path();
    let mut owner = place::owner(&admin).unwrap().unwrap();
    owner.ready = false;
    place::write_owner(&admin, &owner).unwrap();
    assert!(place.see(&new.path).await.is_none(), "not finished");
    let lock = fs::File::create(admin.join("index.lock")).unwrap();
    let long_ago = lock.metadata().unwrap().modified().unwrap() - Duration::from_secs(60);
    lock.set_modified(long_ago).unwrap();
    place.git().add_worktree(&new).await.unwrap();
    assert!(!place.see(&new.path).await.unwrap().dirty);
}

#[tokio::test]
async fn a_removal_cut_off_anywhere_loses_no_work() {
    for cut in [Cut::Before, Cut::After] {
        let place = Place::new();
        for n in 1.. {
            let new = place.add(u64::from(n)).await;
            fs::write(new.path.join("work.txt"), format!("{cut:?} {n}")).unwrap();
            let _ = cut_git(&place, n, cut)
                .remove_worktree(&new.path, None)
                .await;
            let over = calls(&place) < n;
            place.git().remove_worktree(&new.path, None).await.unwrap();
            assert!(!new.path.exists());
            let space = format!("refs/leases/salvage/issue-{n}/");
            let refs = [
                "for-each-ref",
                "--sort=-creatordate",
                "--format=%(refname)",
                &space,
            ];
            let kept = git(&place.clone(), &refs);
            let file = format!("{}:work.txt", kept.lines().next().unwrap());
            let saved = git(&place.clone(), &["show", &file]) == format!("{cut:?} {n}");
            assert!(saved, "{cut:?} {n}");
            if over {
                assert!(n > 5, "{n} commands were cut off");
                break;
            }
        }
    }
}

#[tokio::test]
async fn gits_version_is_known() {
    let place = Place::new();
    assert!(place.git().version().await.unwrap() >= GIT_VERSION_MIN);
}
