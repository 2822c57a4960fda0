//! Committing what a run left in the worktree.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::adapters::files;
use crate::model::ids::{BranchName, Sha, Timestamp};
use crate::ports::{PortError, PortResult, Refusal};

use super::command::{Call, Output, RunError};
use super::door::quoted;
use super::{CliGit, local, place};

/// A git of a killed engine or agent may still be finishing; so long its locks are waited out.
const LOCK_WAIT: Duration = Duration::from_secs(10);
const LOCK_RETRY: Duration = Duration::from_millis(100);

impl CliGit {
    pub(super) async fn perform_commit(&self, path: &Path, message: &str) -> PortResult<Sha> {
        let what = format!("commit in `{}`", path.display());
        let (admin, owner) = self.our_admin(path, &what).await?;
        let locks = Self::locks(&admin, self.common().await?, &owner.branch);
        if let Some(operation) = place::operation(&admin) {
            // `git add -A` would take files with conflict markers for resolved.
            let words = format!("a {operation} is under way there; finish or abort it first");
            return Err(PortError::refused(what, Refusal::Local, words));
        }
        self.good_when_unlocked(&what, &self.call(path, ["add", "-A"]), &locks)
            .await?;
        let staged = self.call(path, ["diff", "--cached", "--quiet", "--no-ext-diff"]);
        let staged = self
            .runner
            .run(&staged)
            .await
            .map_err(|e| local(&what, &e))?;
        if staged.code != Some(0) {
            let args = [
                "commit",
                "--quiet",
                "--no-verify",
                "--cleanup=whitespace",
                "-F",
                "-",
            ];
            let commit = self.call(path, args).input(message);
            self.good_when_unlocked(&what, &commit, &locks).await?;
        }
        let head = self
            .commit_of(path, "HEAD")
            .await
            .map_err(|e| local(&what, &e))?;
        head.ok_or_else(|| PortError::refused(what, Refusal::Local, "there is no commit"))
    }

    /// Files by which git keeps others out of one worktree and its branch. An agent that was killed
    /// in `git commit` leaves them behind.
    pub(super) fn locks(admin: &Path, common: &Path, branch: &BranchName) -> [PathBuf; 3] {
        [
            admin.join("index.lock"),
            admin.join("HEAD.lock"),
            branch_lock(common, branch),
        ]
    }

    /// Takes locks away whose git must be dead: it had its time. Only for a worktree in which nobody
    /// can be at work: the engine commits, fills and removes only where no run lives.
    pub(super) fn drop_old_locks(&self, locks: &[PathBuf]) -> io::Result<()> {
        for lock in locks {
            let Ok(meta) = std::fs::symlink_metadata(lock) else {
                continue;
            };
            let since = Timestamp::from(meta.modified()?);
            if self.clock.now() >= since + LOCK_WAIT {
                tracing::warn!(lock = %lock.display(), "removed a lock that a dead git left");
                files::remove_if_there(lock)?;
            }
        }
        Ok(())
    }

    /// Runs a command where one of these locks may be in the way: a living git is waited for, what a
    /// dead one left is removed.
    pub(super) async fn good_when_unlocked(
        &self,
        what: &str,
        call: &Call<'_>,
        locks: &[PathBuf],
    ) -> PortResult<Output> {
        let until = self.clock.boot_time() + LOCK_WAIT + LOCK_RETRY;
        loop {
            self.drop_old_locks(locks).map_err(|e| local(what, &e))?;
            match self.runner.good(call).await {
                Ok(output) => return Ok(output),
                Err(e) if is_locked(&e) && self.clock.boot_time() < until => {
                    self.clock.sleep(LOCK_RETRY).await;
                }
                Err(e) if is_locked(&e) => {
                    let left = locks.iter().find(|lock| lock.exists());
                    let words = left.map_or_else(String::new, |lock| {
                        format!("\nif no git runs there any more: `rm {}`", quoted(lock))
                    });
                    let words = format!("{e}{words}");
                    return Err(PortError::refused(what, Refusal::Local, words));
                }
                Err(e) => return Err(local(what, &e)),
            }
        }
    }
}

/// The lock on a branch: held for moments only, whoever holds it.
pub(super) fn branch_lock(common: &Path, branch: &BranchName) -> PathBuf {
    common.join(format!("refs/heads/{branch}.lock"))
}

fn is_locked(error: &RunError) -> bool {
    let words = error.stderr();
    words.contains(".lock'") && words.contains("File exists")
}
