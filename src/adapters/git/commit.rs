//! Committing what a run left in the worktree.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::model::ids::{Sha, Timestamp};
use crate::ports::{PortError, PortResult, Refusal};

use super::command::{Call, Output, RunError};
use super::{CliGit, local, place};

/// A git of a killed engine may still be finishing; so long its lock on the index is waited out.
const INDEX_LOCK_WAIT: Duration = Duration::from_secs(10);
const INDEX_LOCK_RETRY: Duration = Duration::from_millis(100);

impl CliGit {
    pub(super) async fn perform_commit(&self, path: &Path, message: &str) -> PortResult<Sha> {
        let what = format!("commit in `{}`", path.display());
        let admin = self.our_admin(path, &what).await?;
        if let Some(operation) = place::operation(&admin) {
            // `git add -A` would take files with conflict markers for resolved.
            let words = format!("a {operation} is under way there; finish or abort it first");
            return Err(PortError::refused(what, Refusal::Local, words));
        }
        self.good_when_unlocked(&self.call(path, ["add", "-A"]))
            .await
            .map_err(|e| local(&what, &e))?;
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
            self.good_when_unlocked(&commit)
                .await
                .map_err(|e| local(&what, &e))?;
        }
        let head = self
            .commit_of(path, "HEAD")
            .await
            .map_err(|e| local(&what, &e))?;
        head.ok_or_else(|| PortError::refused(what, Refusal::Local, "there is no commit"))
    }

    /// Takes the lock on an index away whose git must be dead: it had its time. Only for a worktree
    /// in which nobody else can be at work.
    pub(super) fn drop_old_index_lock(&self, admin: &Path) -> io::Result<()> {
        let lock = admin.join("index.lock");
        let since = match std::fs::symlink_metadata(&lock) {
            Ok(meta) => Timestamp::from(meta.modified()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if self.clock.now() < since + INDEX_LOCK_WAIT {
            return Ok(());
        }
        match std::fs::remove_file(&lock) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(super) async fn good_when_unlocked(&self, call: &Call<'_>) -> Result<Output, RunError> {
        let until = self.clock.boot_time() + INDEX_LOCK_WAIT;
        loop {
            match self.runner.good(call).await {
                Err(e) if e.stderr().contains("index.lock") && self.clock.boot_time() < until => {
                    self.clock.sleep(INDEX_LOCK_RETRY).await;
                }
                other => return other,
            }
        }
    }
}
