//! Commits, trees and refs of the bare repository that home and simulated GitHub share.
//!
//! The repository is opened once. What others change in it is seen all the same: libgit2 reads refs
//! anew and looks again for objects it does not find.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use git2::build::TreeUpdateBuilder;
use git2::{ErrorCode, FileMode, Oid, Repository, Signature, Sort, Time};

use crate::model::ids::{BranchName, Sha, Timestamp};
use crate::model::outgoing::{
    OutgoingChange, OutgoingCommit, SecretPlace, add_unexplained, secrets_in, secrets_in_name,
};
use crate::model::secrets::Secrets;
use crate::ports::{PortError, Refusal};

/// Files by path; `None`: deleted.
pub(super) type Files = BTreeMap<String, Option<String>>;

#[derive(Clone)]
pub(super) struct Objects {
    path: PathBuf,
    repository: Arc<OnceLock<Mutex<Repository>>>,
}

/// What libgit2 did not like; the doors turn it into their own error.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) enum ObjectsError {
    Git(#[from] git2::Error),
    Id(#[from] crate::model::ids::IdError),
}

type ObjectsResult<T> = Result<T, ObjectsError>;

impl ObjectsError {
    pub(super) fn at(&self, what: &str) -> PortError {
        PortError::refused(what, Refusal::Local, self.to_string())
    }
}

fn absent<T>(found: Result<T, git2::Error>) -> ObjectsResult<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn sha(oid: Oid) -> ObjectsResult<Sha> {
    Ok(Sha::new(oid.to_string())?)
}

fn oid(sha: &Sha) -> ObjectsResult<Oid> {
    Ok(Oid::from_str(sha.as_str())?)
}

impl Objects {
    pub(super) fn at(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            repository: Arc::default(),
        }
    }

    fn open(&self) -> ObjectsResult<MutexGuard<'_, Repository>> {
        if self.repository.get().is_none() {
            let opened = Repository::open_bare(&self.path)?;
            // Somebody else may have been faster; then theirs is used.
            let _ = self.repository.set(Mutex::new(opened));
        }
        let opened = self
            .repository
            .get()
            .ok_or_else(|| git2::Error::from_str("not open"))?;
        Ok(opened.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where a ref of the remote is.
    pub(super) fn ref_at(&self, name: &str) -> ObjectsResult<Option<Sha>> {
        absent(self.open()?.refname_to_id(name))?
            .map(sha)
            .transpose()
    }

    pub(super) fn base(&self, base: &BranchName) -> ObjectsResult<Option<Sha>> {
        self.ref_at(&format!("refs/heads/{base}"))
    }

    /// Moves a ref of the remote, only from `old`; `false`: it was elsewhere.
    pub(super) fn move_ref(&self, name: &str, old: Option<&Sha>, new: &Sha) -> ObjectsResult<bool> {
        let repo = self.open()?;
        let message = "push";
        let moved = match old {
            Some(old) => repo.reference_matching(name, oid(new)?, true, oid(old)?, message),
            None => repo.reference(name, oid(new)?, false, message),
        };
        match moved {
            Ok(_) => Ok(true),
            Err(e)
                if matches!(
                    e.code(),
                    ErrorCode::Modified | ErrorCode::Exists | ErrorCode::NotFound
                ) =>
            {
                Ok(false)
            }
            Err(e) => Err(e.into()),
        }
    }

    pub(super) fn has_commit(&self, commit: &Sha) -> ObjectsResult<bool> {
        Ok(absent(self.open()?.find_commit(oid(commit)?))?.is_some())
    }

    /// Is `newer` the same commit as `older` or a descendant of it?
    pub(super) fn is_at_or_ahead(&self, newer: &Sha, older: &Sha) -> ObjectsResult<bool> {
        if newer == older {
            return Ok(true);
        }
        let repo = self.open()?;
        let found = repo.graph_descendant_of(oid(newer)?, oid(older)?);
        Ok(absent(found)?.unwrap_or(false))
    }

    /// Does any branch of the remote contain the commit?
    pub(super) fn is_pushed(&self, commit: &Sha) -> ObjectsResult<bool> {
        let repo = self.open()?;
        let wanted = oid(commit)?;
        for found in repo.references()? {
            let Some(tip) = found?.target() else { continue };
            if tip == wanted || absent(repo.graph_descendant_of(tip, wanted))? == Some(true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A commit on top of `parent` with these files changed; no ref points at it.
    pub(super) fn commit(
        &self,
        parent: &Sha,
        files: &Files,
        message: &str,
        at: Timestamp,
    ) -> ObjectsResult<Sha> {
        let repo = self.open()?;
        let parent = repo.find_commit(oid(parent)?)?;
        let old = parent.tree()?;
        let mut update = TreeUpdateBuilder::new();
        for (path, text) in files {
            match text {
                Some(text) => {
                    update.upsert(path, repo.blob(text.as_bytes())?, FileMode::Blob);
                }
                None if old.get_path(Path::new(path)).is_ok() => {
                    update.remove(path);
                }
                None => {}
            }
        }
        let tree = repo.find_tree(update.create_updated(&repo, &old)?)?;
        let who = Signature::new("Ann", "ann@example.com", &Time::new(at.timestamp(), 0))?;
        sha(repo.commit(None, &who, &who, message, &tree, &[&parent])?)
    }

    /// A commit on `base` with all that `head` holds; no ref points at it.
    pub(super) fn squash(
        &self,
        base: &Sha,
        head: &Sha,
        (message, at): (&str, Timestamp),
    ) -> ObjectsResult<Sha> {
        let repo = self.open()?;
        let parent = repo.find_commit(oid(base)?)?;
        let tree = repo.find_commit(oid(head)?)?.tree()?;
        let who = Signature::new("Ann", "ann@example.com", &Time::new(at.timestamp(), 0))?;
        sha(repo.commit(None, &who, &who, message, &tree, &[&parent])?)
    }

    /// Commits that `head` has and the base has not, oldest first. Runs make no merges.
    pub(super) fn outgoing(
        &self,
        base: Option<&Sha>,
        head: &Sha,
        secrets: &Secrets,
    ) -> ObjectsResult<Vec<OutgoingCommit>> {
        let mut commits = Vec::new();
        for commit in self.between(base, head)? {
            let (parent, message) = {
                let repo = self.open()?;
                let found = repo.find_commit(oid(&commit)?)?;
                let parent = found.parent_ids().next().map(sha).transpose()?;
                (
                    parent,
                    String::from_utf8_lossy(found.message_bytes()).into_owned(),
                )
            };
            let changed = self.changed(parent.as_ref(), &commit)?;
            let mut found: Vec<_> =
                secrets_in(secrets, || SecretPlace::Message, (1, message.as_bytes())).collect();
            for path in &changed {
                // In memory a file is what one commit writes: all of it is new.
                let text = self.file(&commit, path)?.unwrap_or_default();
                let file = || SecretPlace::File(path.clone());
                found.extend(secrets_in(secrets, file, (1, text.as_bytes())));
                found.extend(secrets_in_name(secrets, path));
            }
            commits.push(OutgoingCommit {
                message,
                changes: changes(changed),
                sha: commit,
                secrets: found,
            });
        }
        add_unexplained(&mut commits, changes(self.changed(base, head)?));
        Ok(commits)
    }

    fn between(&self, base: Option<&Sha>, head: &Sha) -> ObjectsResult<Vec<Sha>> {
        let repo = self.open()?;
        let mut walk = repo.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
        walk.push(oid(head)?)?;
        if let Some(base) = base {
            walk.hide(oid(base)?)?;
        }
        walk.map(|found| sha(found?)).collect()
    }

    /// A file's text in a commit.
    pub(super) fn file(&self, commit: &Sha, path: &str) -> ObjectsResult<Option<String>> {
        let repo = self.open()?;
        let tree = repo.find_commit(oid(commit)?)?.tree()?;
        let Some(entry) = absent(tree.get_path(Path::new(path)))? else {
            return Ok(None);
        };
        let blob = repo.find_blob(entry.id())?;
        Ok(Some(String::from_utf8_lossy(blob.content()).into_owned()))
    }

    /// Paths that differ between the merge base of the two and `head`; everything without one.
    pub(super) fn changed(&self, base: Option<&Sha>, head: &Sha) -> ObjectsResult<Vec<String>> {
        let repo = self.open()?;
        let head = repo.find_commit(oid(head)?)?;
        let merge_base = match base {
            Some(base) => absent(repo.merge_base(oid(base)?, head.id()))?,
            None => None,
        };
        let old = match merge_base {
            Some(id) => Some(repo.find_commit(id)?.tree()?),
            None => None,
        };
        let diff = repo.diff_tree_to_tree(old.as_ref(), Some(&head.tree()?), None)?;
        let paths: BTreeSet<String> = diff
            .deltas()
            .flat_map(|delta| [delta.old_file().path_bytes(), delta.new_file().path_bytes()])
            .flatten()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect();
        Ok(paths.into_iter().collect())
    }
}

/// In memory every file is small.
fn changes(paths: Vec<String>) -> Vec<OutgoingChange> {
    let small = |path| OutgoingChange { path, bytes: 0 };
    paths.into_iter().map(small).collect()
}
