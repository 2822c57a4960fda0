//! The clone, with real git in temporary folders.

mod boxes;
mod crashes;
mod door;
mod leftovers;
mod outgoing;
mod planted;
mod remotes;
mod saving;
mod worktrees;

use std::fs;
use std::process::Command;

use super::*;
use crate::adapters::clock::SystemClock;

/// A remote, a clone of it, and the folder that holds both.
struct Place {
    folder: tempfile::TempDir,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test is the user who runs git by hand"
)]
fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"])
        .args([
            "-c",
            "init.defaultBranch=main",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(args)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn sha(text: &str) -> Sha {
    Sha::new(text).unwrap()
}

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self { folder };
        git(
            place.folder.path(),
            &["init", "--quiet", "--bare", "remote.git"],
        );
        git(place.folder.path(), &["init", "--quiet", "clone"]);
        git(
            &place.clone(),
            &["remote", "add", "origin", "../remote.git"],
        );
        git(&place.clone(), &["config", "user.name", "Ann"]);
        git(&place.clone(), &["config", "user.email", "ann@example.com"]);
        fs::write(place.clone().join(".gitignore"), "*.ignored\n").unwrap();
        place.commit("file.txt", "one\n");
        git(&place.clone(), &["push", "--quiet", "origin", "main"]);
        place
    }

    fn clone(&self) -> PathBuf {
        self.folder.path().join("clone")
    }

    fn remote(&self) -> PathBuf {
        self.folder.path().join("remote.git")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("clone-worktrees").join(name)
    }

    /// A commit in the user's clone.
    fn commit(&self, file: &str, text: &str) -> Sha {
        fs::write(self.clone().join(file), text).unwrap();
        git(&self.clone(), &["add", "-A"]);
        git(
            &self.clone(),
            &["commit", "--quiet", "-m", &format!("change {file}")],
        );
        sha(&git(&self.clone(), &["rev-parse", "HEAD"]))
    }

    fn settings(&self) -> CliGitSettings {
        let home = Home {
            path: self.folder.path().join("home"),
            instance: "home-a".to_owned(),
        };
        CliGitSettings::of(&self.clone(), &home, RepoId(7))
    }

    fn git(&self) -> CliGit {
        CliGit::new(self.settings(), Arc::new(SystemClock))
    }

    /// The same clone, used by another home.
    fn other_home(&self) -> CliGit {
        let settings = CliGitSettings {
            home: "home-b".to_owned(),
            private: self.folder.path().join("home-b"),
            ..self.settings()
        };
        CliGit::new(settings, Arc::new(SystemClock))
    }

    fn new_worktree(&self, issue: u64, start: &Sha) -> NewWorktree {
        NewWorktree {
            path: self.at(&format!("issue-{issue}")),
            branch: branch(&format!("issue-{issue}")),
            start: start.clone(),
        }
    }

    /// A worktree for the issue at the fetched base.
    async fn add(&self, issue: u64) -> NewWorktree {
        let start = self.git().fetch_base(&branch("main")).await.unwrap();
        let new = self.new_worktree(issue, &start);
        self.git().add_worktree(&new).await.unwrap();
        new
    }

    /// With more in the environment of git.
    fn with_env(&self, env: &[(&str, &str)]) -> CliGit {
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let settings = CliGitSettings {
            env: env.collect(),
            ..self.settings()
        };
        CliGit::new(settings, Arc::new(SystemClock))
    }

    fn push_of_main(&self) -> Push {
        Push {
            sha: sha(&git(&self.clone(), &["rev-parse", "main"])),
            to: RefName::of_branch(&branch("issue-42")),
            expected: None,
        }
    }

    async fn see(&self, path: &Path) -> Option<Worktree> {
        self.git().worktree(path, &branch("main")).await.unwrap()
    }
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the test is the user at a shell")]
fn shell(command: &str) {
    let status = Command::new("sh").args(["-c", command]).status().unwrap();
    assert!(status.success(), "{command}");
}

/// Runs the command that an error names, as its reader would.
fn do_as_told(error: &PortError, start: &str) {
    let words = error.to_string();
    let command = words.split('`').find(|part| part.starts_with(start));
    shell(command.unwrap_or_else(|| panic!("no `{start}` in: {words}")));
}

fn salvaged(folder: &Path) -> Vec<Sha> {
    let refs = [
        "for-each-ref",
        "--format=%(objectname)",
        "refs/leases/salvage/",
    ];
    git(folder, &refs).lines().map(sha).collect()
}

fn refused_with(error: &PortError, words: &str) {
    assert!(error.to_string().contains(words), "{error}");
    assert_eq!(error.refusal(), Some(Refusal::Local), "{error}");
}
