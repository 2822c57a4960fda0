//! Making, looking at and removing worktrees. Touches only what this home can prove it made.

use std::io;
use std::path::{Path, PathBuf};

use crate::model::ids::{BranchName, Sha};
use crate::model::local::Worktree;
use crate::ports::git::NewWorktree;
use crate::ports::{PortError, PortResult, Refusal};

use super::command::{Call, RunError};
use super::commit::branch_lock;
use super::door::quoted;
use super::place::{self, Intent, Owner, Place};
use super::{CliGit, local, look};

/// May `git worktree add` pass over a registration whose folder is gone?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leftover {
    None,
    PassOver,
}

impl CliGit {
    pub(super) async fn observe_worktree(
        &self,
        path: &Path,
        base: &BranchName,
    ) -> PortResult<Option<Worktree>> {
        let what = format!("look at the worktree `{}`", path.display());
        let common = self.common().await?;
        let admin = match place::look(path, common).map_err(|e| local(&what, &e))? {
            Place::Nothing => return Ok(None),
            Place::Worktree { admin } => admin,
            Place::Other(words) => return Err(in_the_way(&what, &words)),
        };
        let owner = place::owner(&admin).map_err(|e| local(&what, &e))?;
        let ours = owner.as_ref().is_some_and(|o| self.made(o));
        // What a crash left half made is nothing yet: `add_worktree` finishes it.
        if owner.as_ref().is_some_and(|o| ours && !o.ready)
            || (owner.is_none() && self.is_begun(path, common).map_err(|e| local(&what, &e))?)
        {
            return Ok(None);
        }
        let target = look::target(path, &self.settings.remote, base);
        let seen = look::see(&self.runner, self.call(path, []), &target);
        let seen = seen.await.map_err(|e| local(&what, &e))?;
        Ok(Some(Worktree {
            path: path.to_path_buf(),
            branch: seen.branch,
            head: seen.head,
            dirty: seen.dirty,
            differs_from_base: seen.differs_from_base,
            set_up: place::is_set_up(&admin),
            mid_operation: place::operation(&admin).is_some(),
            ours,
        }))
    }

    fn made(&self, owner: &Owner) -> bool {
        owner.home == self.settings.home && owner.repo == self.settings.repo
    }

    /// Did this home begin a worktree at `path` and was cut off before it could sign it?
    fn is_begun(&self, path: &Path, common: &Path) -> io::Result<bool> {
        if !place::is_bare_of_files(path)? {
            return Ok(false);
        }
        place::intent_for(common, path, &self.settings.home)
    }

    /// The private folder of a worktree that this home made, and what it was made for.
    pub(super) async fn our_admin(&self, path: &Path, what: &str) -> PortResult<(PathBuf, Owner)> {
        let place = place::look(path, self.common().await?).map_err(|e| local(what, &e))?;
        let admin = match place {
            Place::Worktree { admin } => admin,
            Place::Nothing => {
                let words = "the folder is gone or empty, and with it what was not committed; it is \
                             made again from its branch";
                return Err(in_the_way(what, words));
            }
            Place::Other(words) => return Err(in_the_way(what, &words)),
        };
        let owner = place::owner(&admin).map_err(|e| local(what, &e))?;
        let owner = self.only_ours(what, path, &admin, owner)?;
        Ok((admin, owner))
    }

    fn only_ours(
        &self,
        what: &str,
        path: &Path,
        admin: &Path,
        owner: Option<Owner>,
    ) -> PortResult<Owner> {
        let words = match owner {
            Some(owner) if self.made(&owner) => return Ok(owner),
            Some(owner) => format!("the worktree belongs to another home, `{}`", owner.home),
            None => format!(
                "a worktree that ghswarm did not make, or whose `{}` is gone; if nobody needs it: \
                 `git -C {} worktree remove {}`",
                place::owner_file(admin).display(),
                quoted(&self.settings.clone),
                quoted(path),
            ),
        };
        Err(in_the_way(what, &words))
    }

    pub(super) async fn perform_add(&self, new: &NewWorktree) -> PortResult<()> {
        let what = format!("create the worktree at `{}`", new.path.display());
        let common = self.common().await?;
        let _turn = self.serial.turn(common).await?;
        let failed = |e: io::Error| local(&what, &e);
        if let Place::Worktree { admin } = place::look(&new.path, common).map_err(failed)? {
            if place::owner(&admin).map_err(failed)?.is_some() {
                return self.resume(&what, new, &admin).await;
            }
            if !self.is_begun(&new.path, common).map_err(failed)? {
                return self.only_ours(&what, &new.path, &admin, None).map(drop);
            }
            // Only git's own `.git` file lies there.
            std::fs::remove_dir_all(&new.path).map_err(failed)?;
        }
        if let Place::Other(words) = place::look(&new.path, common).map_err(failed)? {
            return Err(in_the_way(&what, &words));
        }
        self.make(&what, new).await
    }

    async fn make(&self, what: &str, new: &NewWorktree) -> PortResult<()> {
        let common = self.common().await?;
        let failed = |e: io::Error| local(what, &e);
        let leftover = self.refuse_checked_out(what, new).await?;
        self.place_branch(what, new).await?;
        let force: &[&str] = if leftover == Leftover::PassOver {
            &["--force", "--force"]
        } else {
            &[]
        };
        let add = self.in_clone(["worktree", "add", "--quiet", "--no-checkout"]);
        let add = force.iter().fold(add, Call::arg);
        let add = add.arg("--").arg(&new.path).arg(new.branch.as_str());
        self.runner.good(&add).await.map_err(|e| local(what, &e))?;
        let Place::Worktree { admin } = place::look(&new.path, common).map_err(failed)? else {
            return Err(in_the_way(what, "git made something unexpected"));
        };
        self.fill(what, new, &admin).await
    }

    /// A worktree with an owner lies there: ours is finished or used, another's refused.
    async fn resume(&self, what: &str, new: &NewWorktree, admin: &Path) -> PortResult<()> {
        let owner = place::owner(admin).map_err(|e| local(what, &e))?;
        if !self.only_ours(what, &new.path, admin, owner)?.ready {
            return self.fill(what, new, admin).await;
        }
        let call = self.call(&new.path, ["symbolic-ref", "-q", "--short", "HEAD"]);
        let branch = self
            .runner
            .run(&call)
            .await
            .map_err(|e| local(what, &e))?
            .text();
        if branch == new.branch.as_str() {
            return Ok(());
        }
        let words = if branch.is_empty() {
            format!("it is detached instead of on `{}`", new.branch)
        } else {
            format!("it has `{branch}` checked out instead of `{}`", new.branch)
        };
        Err(PortError::refused(what, Refusal::Local, words))
    }

    /// Signs the worktree as ours, then checks everything out. Repeatable: nobody worked in it yet.
    async fn fill(&self, what: &str, new: &NewWorktree, admin: &Path) -> PortResult<()> {
        let mut owner = Owner {
            home: self.settings.home.clone(),
            repo: self.settings.repo,
            branch: new.branch.clone(),
            ready: false,
        };
        place::write_owner(admin, &owner).map_err(|e| local(what, &e))?;
        self.check_out(what, new, admin).await?;
        if new.path.join(".gitmodules").exists() {
            self.fill_submodules(what, &new.path).await?;
        }
        owner.ready = true;
        place::write_owner(admin, &owner).map_err(|e| local(what, &e))
    }

    /// A git that died with the machine has left its lock on the index; one that a dead engine left
    /// behind is waited out.
    async fn check_out(&self, what: &str, new: &NewWorktree, admin: &Path) -> PortResult<()> {
        // The clone's filters work here, planted ones too: git-crypt and the like need them, and
        // without a token they can do nothing that the agent could not. LFS, which needs the
        // network, is told to wait.
        let reset = self.call(&new.path, ["reset", "--hard", "--quiet"]);
        let reset = reset
            .within(self.settings.network_timeout)
            .env("GIT_LFS_SKIP_SMUDGE", "1");
        let locks = Self::locks(admin, self.common().await?, &new.branch);
        self.good_when_unlocked(what, &reset, &locks).await?;
        self.fill_lfs(what, &new.path).await
    }

    /// Submodules are fetched as the clone's configuration says, so without the token.
    async fn fill_submodules(&self, what: &str, path: &Path) -> PortResult<()> {
        let args = ["submodule", "--quiet", "update", "--init", "--recursive"];
        let update = self.call(path, args).within(self.settings.network_timeout);
        let Err(error) = self.runner.good(&update).await else {
            return Ok(());
        };
        let words = format!(
            "{error}\nSubmodules are fetched without GITHUB_TOKEN, since an agent may have written \
             their addresses; git needs a login of its own for them: `gh auth login`, then `gh auth \
             setup-git`"
        );
        Err(PortError::refused(what, Refusal::Local, words))
    }

    /// git refuses a branch that another worktree has; so do we, naming it.
    async fn refuse_checked_out(&self, what: &str, new: &NewWorktree) -> PortResult<Leftover> {
        let common = self.common().await?;
        let list = self.in_clone(["worktree", "list", "--porcelain", "-z"]);
        let list = self.runner.good(&list).await.map_err(|e| local(what, &e))?;
        let branch_line = format!("branch refs/heads/{}", new.branch);
        let mut leftover = Leftover::None;
        let mut at = PathBuf::new();
        for line in list.fields() {
            if let Some(path) = line.strip_prefix("worktree ") {
                at = PathBuf::from(path);
                if same_place(&at, &new.path) {
                    leftover = Leftover::PassOver;
                }
            } else if line == branch_line && !same_place(&at, &new.path) {
                if self
                    .is_lost_and_ours(common, &at)
                    .map_err(|e| local(what, &e))?
                {
                    leftover = Leftover::PassOver;
                    continue;
                }
                let words = format!(
                    "the branch `{}` is checked out at `{}`",
                    new.branch,
                    at.display()
                );
                return Err(PortError::refused(what, Refusal::Local, words));
            }
        }
        Ok(leftover)
    }

    /// A worktree of ours whose folder somebody deleted or moved away.
    fn is_lost_and_ours(&self, common: &Path, path: &Path) -> io::Result<bool> {
        if path.exists() {
            return Ok(false);
        }
        let Some(admin) = place::admin_of_missing(common, path)? else {
            return Ok(false);
        };
        Ok(place::owner(&admin)?.is_some_and(|o| self.made(&o)))
    }

    /// Brings the branch to `start`, and writes down beforehand that this home is about to.
    pub(super) async fn place_branch(&self, what: &str, new: &NewWorktree) -> PortResult<()> {
        let common = self.common().await?;
        let failed = |e: RunError| local(what, &e);
        if self
            .commit_of(&self.settings.clone, new.start.as_str())
            .await
            .map_err(failed)?
            .is_none()
        {
            let words = format!("the clone does not have the commit {}", new.start);
            return Err(PortError::refused(what, Refusal::NotFound, words));
        }
        let name = format!("refs/heads/{}", new.branch);
        let tip = self
            .commit_of(&self.settings.clone, &name)
            .await
            .map_err(failed)?;
        let known = place::intent(common, &new.branch).map_err(|e| local(what, &e))?;
        let known = known.filter(|i| i.home == self.settings.home);
        let made_branch = tip.is_none() || known.is_some_and(|i| i.made_branch);
        let target = self
            .branch_target(what, new, tip.as_ref(), made_branch)
            .await?;
        let intent = Intent {
            home: self.settings.home.clone(),
            path: new.path.clone(),
            made_branch,
        };
        place::write_intent(common, &new.branch, &intent).map_err(|e| local(what, &e))?;
        if tip.as_ref() == Some(&target) {
            return Ok(());
        }
        // The empty old value: only if it does not exist.
        let old = tip.as_ref().map_or("", Sha::as_str);
        let update = self.in_clone(["update-ref", "--no-deref", &name, target.as_str(), old]);
        let lock = [branch_lock(common, &new.branch)];
        self.good_when_unlocked(what, &update, &lock)
            .await
            .map(drop)
    }

    /// Where the branch is to be: at `start`, or where it is if that is ahead.
    async fn branch_target(
        &self,
        what: &str,
        new: &NewWorktree,
        tip: Option<&Sha>,
        made_branch: bool,
    ) -> PortResult<Sha> {
        let Some(tip) = tip else {
            return Ok(new.start.clone());
        };
        if self.is_ancestor(what, &new.start, tip).await? {
            return Ok(tip.clone());
        }
        if self.is_ancestor(what, tip, &new.start).await? {
            return Ok(new.start.clone());
        }
        if !made_branch {
            let words = format!(
                "there is a branch `{}` already, with work that ghswarm did not make: rename it \
                 (`git branch -m {} …`) or delete it",
                new.branch, new.branch
            );
            return Err(PortError::refused(what, Refusal::Local, words));
        }
        // Our own work of an earlier claim, on another base: kept, but not built upon.
        if self
            .is_unsaved(tip, None)
            .await
            .map_err(|e| local(what, &e))?
        {
            self.keep(what, &new.path, tip).await?;
        }
        Ok(new.start.clone())
    }

    async fn is_ancestor(&self, what: &str, older: &Sha, newer: &Sha) -> PortResult<bool> {
        let args = [
            "merge-base",
            "--is-ancestor",
            older.as_str(),
            newer.as_str(),
        ];
        let answer = self
            .runner
            .run(&self.in_clone(args))
            .await
            .map_err(|e| local(what, &e))?;
        Ok(answer.code == Some(0))
    }

    pub(super) async fn perform_remove(&self, path: &Path, merged: Option<&Sha>) -> PortResult<()> {
        let what = format!("remove the worktree `{}`", path.display());
        let common = self.common().await?;
        let _turn = self.serial.turn(common).await?;
        let failed = |e: io::Error| local(&what, &e);
        let admin = match place::look(path, common).map_err(failed)? {
            Place::Worktree { admin } => admin,
            Place::Nothing => return self.forget_lost(&what, path, merged).await,
            Place::Other(words) => return Err(in_the_way(&what, &words)),
        };
        let owner = place::owner(&admin).map_err(failed)?;
        let owner = self.only_ours(&what, path, &admin, owner)?;
        // One that was never checked out looks as if every file had been deleted in it.
        if owner.ready {
            self.salvage(path, &admin, merged).await?;
        }
        // Forced, since what git would refuse for has just been saved.
        let remove = self.in_clone(["worktree", "remove", "--force", "--force", "--"]);
        self.runner
            .good(&remove.arg(path))
            .await
            .map_err(|e| local(&what, &e))?;
        self.delete_branch(&what, &owner.branch, merged).await
    }

    /// The folder is gone already; so goes git's registration of it, if it was ours.
    async fn forget_lost(&self, what: &str, path: &Path, merged: Option<&Sha>) -> PortResult<()> {
        let common = self.common().await?;
        let lost = place::admin_of_missing(common, path).map_err(|e| local(what, &e))?;
        let Some(admin) = lost else { return Ok(()) };
        let owner = place::owner(&admin).map_err(|e| local(what, &e))?;
        let Some(owner) = owner.filter(|o| self.made(o)) else {
            return Ok(());
        };
        let remove = self.in_clone(["worktree", "remove", "--force", "--force", "--"]);
        self.runner
            .good(&remove.arg(path))
            .await
            .map_err(|e| local(what, &e))?;
        self.delete_branch(what, &owner.branch, merged).await
    }

    /// Deletes the local branch if its tip is exactly what was merged.
    async fn delete_branch(
        &self,
        what: &str,
        branch: &BranchName,
        merged: Option<&Sha>,
    ) -> PortResult<()> {
        let Some(merged) = merged else { return Ok(()) };
        let name = format!("refs/heads/{branch}");
        let tip = self
            .commit_of(&self.settings.clone, &name)
            .await
            .map_err(|e| local(what, &e))?;
        if tip.as_ref() != Some(merged) {
            return Ok(());
        }
        // With the old value: a commit made meanwhile keeps the branch.
        let delete = self.in_clone(["update-ref", "-d", &name, merged.as_str()]);
        let lock = [branch_lock(self.common().await?, branch)];
        self.good_when_unlocked(what, &delete, &lock).await?;
        place::forget_intent(self.common().await?, branch).map_err(|e| local(what, &e))
    }
}

fn in_the_way(what: &str, words: &str) -> PortError {
    PortError::refused(what, Refusal::Local, words)
}

/// git lists canonical paths; ours may go through a symbolic link, and its end may not exist yet.
fn same_place(listed: &Path, ours: &Path) -> bool {
    let resolved = |path: &Path| {
        let name = path.file_name()?;
        Some(path.parent()?.canonicalize().ok()?.join(name))
    };
    listed == ours || (resolved(listed).is_some() && resolved(listed) == resolved(ours))
}
