//! The clone of a simulated home: worktrees are values, commits are real.

use std::path::Path;

use async_trait::async_trait;

use crate::model::ids::{BranchName, RefName, Sha, Timestamp};
use crate::model::local::Worktree;
use crate::model::outgoing::OutgoingCommit;
use crate::model::secrets::Secrets;
use crate::ports::clock::Clock as _;
use crate::ports::git::{Git, NewWorktree, Push, PushOutcome};
use crate::ports::{PortError, PortResult, Refusal};

use super::faults::LocalOp;
use super::home::{SimHome, State};
use super::objects::{Files, Objects, ObjectsError};

/// A worktree: a branch, its head, and what is not committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimWorktree {
    pub(super) branch: BranchName,
    pub(super) head: Sha,
    pub(super) dirty: Files,
    pub(super) set_up: bool,
}

/// The clone's door of a simulated home.
#[derive(Clone)]
pub struct SimGit {
    pub(super) home: SimHome,
}

fn refused(what: &str, refusal: Refusal, words: &str) -> PortError {
    PortError::refused(what, refusal, words)
}

/// The worktree at a path.
pub(super) fn known<'a>(
    state: &'a mut State,
    path: &Path,
    what: &str,
) -> PortResult<&'a mut SimWorktree> {
    let none = || refused(what, Refusal::Local, "there is no worktree");
    state.worktrees.get_mut(path).ok_or_else(none)
}

/// Commits everything in a worktree, if there is something; answers its head.
pub(super) fn commit_all(
    objects: &Objects,
    state: &mut State,
    path: &Path,
    (message, at): (&str, Timestamp),
) -> PortResult<Sha> {
    let what = "commit";
    let tree = known(state, path, what)?;
    let changes = real_changes(objects, tree).map_err(|e| e.at(what))?;
    tree.dirty.clear();
    if changes.is_empty() {
        return Ok(tree.head.clone());
    }
    let made = objects
        .commit(&tree.head, &changes, message, at)
        .map_err(|e| e.at(what))?;
    tree.head = made.clone();
    let branch = tree.branch.clone();
    state.branches.insert(branch, made.clone());
    Ok(made)
}

/// Dirty files whose text differs from the head's.
fn real_changes(objects: &Objects, tree: &SimWorktree) -> Result<Files, ObjectsError> {
    let mut changes = Files::new();
    for (path, text) in &tree.dirty {
        if objects.file(&tree.head, path)? != *text {
            changes.insert(path.clone(), text.clone());
        }
    }
    Ok(changes)
}

impl SimGit {
    fn objects(&self) -> &Objects {
        &self.home.objects
    }

    fn reach_remote(&self, what: &str) -> PortResult<()> {
        self.home.read(what, |state| {
            if state.offline {
                return Err(PortError::unavailable(what, "simulated: no network", None));
            }
            Ok(())
        })
    }

    /// Where the branch of a new worktree is to be, as the real clone decides it.
    fn place_branch(&self, state: &mut State, new: &NewWorktree) -> Result<Sha, ObjectsError> {
        let Some(tip) = state.branches.get(&new.branch).cloned() else {
            return Ok(new.start.clone());
        };
        if self.objects().is_at_or_ahead(&tip, &new.start)? {
            return Ok(tip);
        }
        if !self.objects().is_at_or_ahead(&new.start, &tip)? && !self.objects().is_pushed(&tip)? {
            state.salvaged.push(tip);
        }
        Ok(new.start.clone())
    }

    fn add(&self, state: &mut State, new: &NewWorktree) -> PortResult<()> {
        let what = "create the worktree";
        if let Some(there) = state.worktrees.get(&new.path) {
            if there.branch == new.branch {
                return Ok(());
            }
            return Err(refused(
                what,
                Refusal::Local,
                "it has another branch checked out",
            ));
        }
        if let Some((path, _)) = state.worktrees.iter().find(|(_, t)| t.branch == new.branch) {
            let words = format!(
                "the branch `{}` is checked out at `{}`",
                new.branch,
                path.display()
            );
            return Err(refused(what, Refusal::Local, &words));
        }
        if !self
            .objects()
            .has_commit(&new.start)
            .map_err(|e| e.at(what))?
        {
            return Err(refused(
                what,
                Refusal::NotFound,
                "the clone does not have the commit",
            ));
        }
        let head = self.place_branch(state, new).map_err(|e| e.at(what))?;
        state.branches.insert(new.branch.clone(), head.clone());
        let tree = SimWorktree {
            branch: new.branch.clone(),
            head,
            dirty: Files::new(),
            set_up: false,
        };
        state.worktrees.insert(new.path.clone(), tree);
        Ok(())
    }

    fn remove(&self, state: &mut State, path: &Path, merged: Option<&Sha>) -> PortResult<()> {
        let what = "remove the worktree";
        if !state.worktrees.contains_key(path) {
            return Ok(());
        }
        let before = known(state, path, what)?.head.clone();
        // The rescue commit is not on the branch.
        let branch = known(state, path, what)?.branch.clone();
        let message = ("work that was not committed", self.home.clock.now());
        let tip = commit_all(self.objects(), state, path, message)?;
        state.branches.insert(branch.clone(), before.clone());
        let saved =
            merged == Some(&tip) || self.objects().is_pushed(&tip).map_err(|e| e.at(what))?;
        if !saved {
            state.salvaged.push(tip);
        }
        state.worktrees.remove(path);
        if merged == Some(&before) {
            state.branches.remove(&branch);
        }
        Ok(())
    }

    fn push_now(&self, state: &State, push: &Push) -> Result<PushOutcome, ObjectsError> {
        let name = push.to.as_str();
        let now = self.objects().ref_at(name)?;
        if now.as_ref() == Some(&push.sha) {
            return Ok(PushOutcome::Pushed);
        }
        if now != push.expected {
            return Ok(PushOutcome::Stale);
        }
        if let Some(words) = &state.push_refusal {
            return Ok(PushOutcome::Refused(words.clone()));
        }
        let moved = self
            .objects()
            .move_ref(name, push.expected.as_ref(), &push.sha)?;
        Ok(if moved {
            PushOutcome::Pushed
        } else {
            PushOutcome::Stale
        })
    }
}

#[async_trait]
impl Git for SimGit {
    async fn fetch_base(&self, base: &BranchName) -> PortResult<Sha> {
        let what = "fetch the base";
        self.reach_remote(what)?;
        let found = self.objects().base(base).map_err(|e| e.at(what))?;
        let local = self.home.with(|state| state.branches.get(base).cloned());
        found
            .or(local)
            .ok_or_else(|| refused(what, Refusal::NotFound, "there is no such branch"))
    }

    async fn fetch_ref(&self, name: &RefName) -> PortResult<Option<Sha>> {
        let what = "fetch a ref";
        self.reach_remote(what)?;
        self.objects().ref_at(name.as_str()).map_err(|e| e.at(what))
    }

    async fn worktree(&self, path: &Path, base: &BranchName) -> PortResult<Option<Worktree>> {
        let what = "look at the worktree";
        self.home.read(what, |state| {
            if let Some(words) = &state.broken_worktrees {
                return Err(refused(what, Refusal::Local, words));
            }
            let Some(tree) = state.worktrees.get(path) else {
                return Ok(None);
            };
            let failed = |e: ObjectsError| e.at(what);
            let base = self.objects().base(base).map_err(failed)?;
            let changed = self
                .objects()
                .changed(base.as_ref(), &tree.head)
                .map_err(failed)?;
            Ok(Some(Worktree {
                path: path.to_path_buf(),
                branch: Some(tree.branch.clone()),
                head: tree.head.clone(),
                dirty: !real_changes(self.objects(), tree)
                    .map_err(failed)?
                    .is_empty(),
                differs_from_base: !changed.is_empty(),
                set_up: tree.set_up,
                mid_operation: false,
                ours: true,
            }))
        })
    }

    async fn add_worktree(&self, new: &NewWorktree) -> PortResult<()> {
        self.home
            .write(LocalOp::AddWorktree, "create the worktree", |state| {
                self.add(state, new)
            })
    }

    async fn remove_worktree(&self, path: &Path, merged: Option<&Sha>) -> PortResult<()> {
        self.home
            .write(LocalOp::RemoveWorktree, "remove the worktree", |state| {
                self.remove(state, path, merged)
            })
    }

    async fn salvage(&self, path: &Path, branch: &BranchName) -> PortResult<Vec<RefName>> {
        let what = "save the work of a displaced claim";
        self.home.write(LocalOp::Salvage, what, |state| {
            let mut tips = Vec::new();
            if let Some(tree) = state.worktrees.get(path).cloned() {
                // A commit beside branch and worktree, which stay as they are.
                let changes = real_changes(self.objects(), &tree).map_err(|e| e.at(what))?;
                if !changes.is_empty() {
                    let at = self.home.clock.now();
                    let made = self.objects().commit(&tree.head, &changes, what, at);
                    tips.push(made.map_err(|e| e.at(what))?);
                }
            }
            if let (true, Some(tip)) = (tips.is_empty(), state.branches.get(branch))
                && !self.objects().is_pushed(tip).map_err(|e| e.at(what))?
            {
                tips.push(tip.clone());
            }
            let name = |tip: &Sha| RefName::new(format!("refs/leases/salvage/{}", tip.short()));
            let names = tips.iter().filter_map(|tip| name(tip).ok()).collect();
            state.salvaged.extend(tips);
            Ok(names)
        })
    }

    async fn contains(&self, path: &Path, commit: &Sha) -> PortResult<bool> {
        let what = "look for a commit";
        self.home.read(what, |state| {
            let head = &known(state, path, what)?.head;
            self.objects()
                .is_at_or_ahead(head, commit)
                .map_err(|e| e.at(what))
        })
    }

    async fn mark_set_up(&self, path: &Path) -> PortResult<()> {
        let what = "mark the worktree as set up";
        self.home.write(LocalOp::MarkSetUp, what, |state| {
            known(state, path, what)?.set_up = true;
            Ok(())
        })
    }

    async fn commit_all(&self, path: &Path, message: &str) -> PortResult<Sha> {
        let at = self.home.clock.now();
        self.home.write(LocalOp::Commit, "commit", |state| {
            commit_all(self.objects(), state, path, (message, at))
        })
    }

    async fn follow(&self, path: &Path, name: &RefName) -> PortResult<Sha> {
        let what = "move the worktree's branch";
        self.reach_remote(what)?;
        self.home.write(LocalOp::Follow, what, |state| {
            let failed = |e: ObjectsError| e.at(what);
            let to = self.objects().ref_at(name.as_str()).map_err(failed)?;
            let to = to.ok_or_else(|| refused(what, Refusal::NotFound, "no such branch"))?;
            let tree = known(state, path, what)?;
            let clean = real_changes(self.objects(), tree)
                .map_err(failed)?
                .is_empty();
            let ahead = self
                .objects()
                .is_at_or_ahead(&to, &tree.head)
                .map_err(failed)?;
            if !clean || !ahead {
                return Err(refused(
                    what,
                    Refusal::Local,
                    "not possible to fast-forward",
                ));
            }
            tree.head = to.clone();
            let branch = tree.branch.clone();
            state.branches.insert(branch, to.clone());
            Ok(to)
        })
    }

    async fn push(&self, push: &Push) -> PortResult<PushOutcome> {
        let what = "push";
        self.reach_remote(what)?;
        self.home.write(LocalOp::Push, what, |state| {
            self.push_now(state, push).map_err(|e| e.at(what))
        })
    }

    async fn outgoing(
        &self,
        path: &Path,
        base: &BranchName,
        secrets: &Secrets,
    ) -> PortResult<Vec<OutgoingCommit>> {
        let what = "compare with the base";
        self.home.read(what, |state| {
            let head = &known(state, path, what)?.head;
            let base = self.objects().base(base).map_err(|e| e.at(what))?;
            self.objects()
                .outgoing(base.as_ref(), head, secrets)
                .map_err(|e| e.at(what))
        })
    }
}
