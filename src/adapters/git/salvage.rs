//! Saving work before its worktree is removed: a commit of everything, under a ref of ours.

use std::path::Path;

use crate::model::ids::{BranchName, RefName, Sha};
use crate::ports::git::Push;
use crate::ports::{PortError, PortResult, Refusal};

use super::command::{Call, RunError};
use super::place::{self, Place};
use super::{CliGit, local};

/// Who the rescue commit is from: the user's identity may be missing, and that must not lose work.
const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "ghswarm"),
    ("GIT_AUTHOR_EMAIL", "ghswarm@localhost"),
    ("GIT_COMMITTER_NAME", "ghswarm"),
    ("GIT_COMMITTER_EMAIL", "ghswarm@localhost"),
];

impl CliGit {
    /// Saves what would be lost with the worktree at `path`. In our turn. Whatever cannot be saved
    /// is an error: the worktree then stays.
    pub(super) async fn salvage(
        &self,
        path: &Path,
        admin: &Path,
        merged: Option<&Sha>,
    ) -> PortResult<Option<RefName>> {
        let what = format!("save the work in `{}`", path.display());
        let failed = |e: RunError| local(&what, &e);
        self.refuse_dirty_submodules(path, &what).await?;
        let head = self.commit_of(path, "HEAD").await.map_err(failed)?;
        let status = self.call(
            path,
            ["status", "--porcelain", "-z", "--untracked-files=all"],
        );
        let dirty = !self
            .runner
            .good(&status)
            .await
            .map_err(failed)?
            .stdout
            .is_empty();
        let tip = match (head, dirty) {
            (head, true) => self
                .commit_dirt(path, admin, head.as_ref())
                .await
                .map_err(failed)?,
            (Some(head), false) => head,
            (None, false) => return Ok(None),
        };
        if dirty || self.is_unsaved(&tip, merged).await.map_err(failed)? {
            return self.keep(&what, path, &tip).await.map(Some);
        }
        Ok(None)
    }

    /// Saves the work of a claim that is displaced, where it lies: of a worktree that is gone, the
    /// branch's commits alone.
    pub(super) async fn save_displaced(
        &self,
        path: &Path,
        branch: &BranchName,
    ) -> PortResult<Vec<RefName>> {
        let what = format!("save the work on `{branch}`");
        let common = self.common().await?;
        let _turn = self.serial.turn(common).await?;
        let place = place::look(path, common).map_err(|e| local(&what, &e))?;
        let mut kept = Vec::new();
        if let Place::Worktree { admin } = place {
            kept.extend(self.salvage(path, &admin, None).await?);
        }
        let failed = |e: RunError| local(&what, &e);
        let clone = self.settings.clone.clone();
        let name = RefName::of_branch(branch);
        let tip = self
            .commit_of(&clone, name.as_str())
            .await
            .map_err(failed)?;
        if let Some(tip) = tip
            && self.is_unsaved(&tip, None).await.map_err(failed)?
        {
            kept.push(self.keep(&what, path, &tip).await?);
        }
        Ok(kept)
    }

    /// Keeps a commit under `refs/<namespace>/salvage/<name of the folder>/<time>-<commit>`, here and,
    /// if it can be, on the remote.
    pub(super) async fn keep(&self, what: &str, path: &Path, tip: &Sha) -> PortResult<RefName> {
        let folder = path
            .file_name()
            .map_or_else(|| "work".into(), |n| n.to_string_lossy());
        let time = self.clock.now().format("%Y%m%dT%H%M%S%3fZ");
        let space = &self.settings.namespace;
        let name = format!("refs/{space}/salvage/{folder}/{time}-{}", tip.short());
        let name = RefName::new(name).map_err(|e| local(what, &e))?;
        let update = self.in_clone(["update-ref", name.as_str(), tip.as_str()]);
        self.runner
            .good(&update)
            .await
            .map_err(|e| local(what, &e))?;
        let push = Push {
            sha: tip.clone(),
            to: name.clone(),
            expected: None,
        };
        match self.push_ref(what, &push).await {
            Ok(outcome) => tracing::info!(%name, ?outcome, "saved work under a ref"),
            // It is safe on this machine.
            Err(error) => tracing::warn!(%name, %error, "saved work on this machine only"),
        }
        Ok(name)
    }

    /// Would the commit be lost if its branch went? Not if the remote has it, or an earlier rescue.
    pub(super) async fn is_unsaved(
        &self,
        tip: &Sha,
        merged: Option<&Sha>,
    ) -> Result<bool, RunError> {
        if merged == Some(tip) {
            return Ok(false);
        }
        let call = self.in_clone(["rev-list", "--max-count=1", tip.as_str(), "--not"]);
        let call = call
            .arg(format!("--remotes={}", self.settings.remote))
            .arg(format!("--glob=refs/{}/salvage/*", self.settings.namespace));
        Ok(!self.runner.good(&call).await?.text().is_empty())
    }

    /// A commit of the worktree as it is, made beside its index and branch.
    pub(super) async fn commit_dirt(
        &self,
        path: &Path,
        admin: &Path,
        head: Option<&Sha>,
    ) -> Result<Sha, RunError> {
        let index = admin.join("ghswarm-salvage-index");
        let call = |args: &[&str]| {
            let call = self.call(path, []).env("GIT_INDEX_FILE", index.as_os_str());
            args.iter().fold(call, Call::arg)
        };
        match head {
            Some(head) => {
                self.runner
                    .good(&call(&["read-tree", head.as_str()]))
                    .await?
            }
            None => self.runner.good(&call(&["read-tree", "--empty"])).await?,
        };
        self.runner.good(&call(&["add", "-A"])).await?;
        let tree = self.runner.good(&call(&["write-tree"])).await?.text();
        let message = "ghswarm: work that was not committed when its worktree was removed";
        let commit = call(&["commit-tree", tree.as_str(), "-m", message]);
        let commit = match head {
            Some(head) => commit.arg("-p").arg(head.as_str()),
            None => commit,
        };
        let commit = IDENTITY
            .iter()
            .fold(commit, |c, (name, value)| c.env(name, value));
        let made = self.runner.good(&commit).await?.text();
        // A leftover would only be read over by the next rescue.
        let _ = std::fs::remove_file(&index);
        Sha::new(made).map_err(|e| RunError::Failed {
            command: "commit-tree".to_owned(),
            code: Some(0),
            stderr: e.to_string(),
        })
    }

    /// A submodule's repository lies in the worktree's private folder and goes with it, and a commit
    /// of ours would only name its commits.
    async fn refuse_dirty_submodules(&self, path: &Path, what: &str) -> PortResult<()> {
        let status = self.call(
            path,
            ["status", "--porcelain=v2", "-z", "--ignore-submodules=none"],
        );
        let status = self
            .runner
            .good(&status)
            .await
            .map_err(|e| local(what, &e))?;
        let changed: Vec<String> = status
            .fields()
            .iter()
            .filter_map(|line| changed_submodule(line))
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        let words = format!("unsaved changes in the submodules: {}", changed.join(", "));
        Err(PortError::refused(what, Refusal::Local, words))
    }
}

/// The path of a changed submodule, from a line `1 <XY> <sub> <5 fields> <path>` whose `<sub>`
/// starts with `S` (`git-status(1)`).
fn changed_submodule(line: &str) -> Option<String> {
    let mut fields = line.splitn(9, ' ');
    let ordinary = fields.next()? == "1";
    let sub = fields.nth(1)?;
    (ordinary && sub.starts_with('S') && sub != "S...").then(|| fields.nth(5).map(str::to_owned))?
}
