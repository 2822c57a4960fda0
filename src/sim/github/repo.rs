//! A repository of the simulated GitHub as tests and the demo hold it: what it is made from, its
//! settings, and looks at it. None of these is a request: they are not counted and meet no faults.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::model::ids::{RepoSlug, Timestamp};
use crate::model::issue::Association;

use super::error::{SimError, SimResult};
use super::model::{Access, Ban, Issue, Pr, Protection, Repo};
use super::repo_git::{self, Before, Move, Stamp};
use super::world::{Ctx, World};
use super::{Sim, lock};

/// What a new repository holds.
#[derive(Debug, Clone, Copy)]
pub enum Seed<'a> {
    /// Nothing: no commit, no branch.
    Empty,
    /// One commit on `main` with these files.
    Files(&'a [(&'a str, &'a str)]),
    /// Branches and tags of a clone on this machine; its current branch is the default one.
    Clone(&'a Path),
}

impl Seed<'_> {
    pub(crate) fn plant(&self, path: &Path, owner: &str, now: Timestamp) -> SimResult<String> {
        let branch = match self {
            Self::Empty | Self::Files(_) => "main".to_owned(),
            Self::Clone(from) => repo_git::head_branch(from)?,
        };
        repo_git::init(path, &branch)?;
        match self {
            Self::Empty => {}
            Self::Files(files) => {
                let files: Vec<(&str, Option<&str>)> = files
                    .iter()
                    .map(|(name, text)| (*name, Some(*text)))
                    .collect();
                let tree = repo_git::tree_with(path, None, &files)?;
                let stamp = Stamp::of(owner, now);
                let sha =
                    repo_git::write_commit(path, "Initial commit", &tree, &[], (&stamp, &stamp))?;
                let name = format!("refs/heads/{branch}");
                let step = Move {
                    name,
                    before: Before::Absent,
                    after: Some(sha),
                    force: true,
                };
                repo_git::move_refs(path, &[step])?;
            }
            Self::Clone(from) => {
                let all = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
                repo_git::fetch(path, from, &all)?;
            }
        }
        Ok(branch)
    }
}

/// A repository of the simulated GitHub.
#[derive(Clone)]
pub struct SimRepo {
    sim: Arc<Sim>,
    key: String,
}

impl SimRepo {
    pub(crate) fn new(sim: Arc<Sim>, key: String) -> Self {
        Self { sim, key }
    }

    /// The GitHub it is on.
    pub fn sim(&self) -> &Arc<Sim> {
        &self.sim
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn act<T>(
        &self,
        login: &str,
        change: impl FnOnce(&mut World, &Ctx<'_>) -> SimResult<T>,
    ) -> SimResult<T> {
        self.sim.write(|world, now| {
            change(
                world,
                &Ctx {
                    key: &self.key,
                    login,
                    now,
                },
            )
        })
    }

    /// Settings and facts, straight into the records.
    pub(crate) fn set(&self, change: impl FnOnce(&mut Repo)) {
        if let Ok(repo) = lock(&self.sim.state).world.repo_mut(&self.key) {
            change(repo);
        }
    }

    /// The bare repository on disk.
    pub fn path(&self) -> PathBuf {
        lock(&self.sim.state)
            .world
            .find(&self.key)
            .map(|r| r.path.clone())
            .unwrap_or_default()
    }

    /// What a user may do.
    pub fn set_access(&self, login: &str, access: Access) {
        self.sim.add_user(login);
        self.set(|repo| {
            repo.access.insert(login.to_lowercase(), access);
        });
    }

    /// What a user is to the repository, where it does not follow from access.
    pub fn set_association(&self, login: &str, association: Association) {
        self.sim.add_user(login);
        self.set(|repo| {
            repo.associations.insert(login.to_lowercase(), association);
        });
    }

    /// Protection of a branch.
    pub fn set_protection(&self, branch: &str, protection: Protection) {
        self.set(|repo| {
            repo.protection.insert(branch.to_owned(), protection);
        });
    }

    /// What rulesets ask of a branch.
    pub fn set_ruleset(&self, branch: &str, rules: Protection) {
        self.set(|repo| {
            repo.rulesets.insert(branch.to_owned(), rules);
        });
    }

    /// Forbids something from now on.
    pub fn ban(&self, ban: Ban) -> SimResult<()> {
        let mut bans = BTreeSet::new();
        self.set(|repo| {
            repo.bans.insert(ban);
            bans.clone_from(&repo.bans);
        });
        repo_git::allow_other_refs(&self.path(), &bans)
    }

    /// Makes it read-only.
    pub fn archive(&self) {
        self.set(|repo| repo.archived = true);
    }

    /// Hides it from those without access.
    pub fn make_private(&self) {
        self.set(|repo| repo.private = true);
    }
    /// Where a ref points.
    pub fn ref_id(&self, name: &str) -> SimResult<Option<String>> {
        self.sim.read(|world| world.ref_id(&self.key, name))
    }

    /// The branches and where they are.
    pub fn heads(&self) -> SimResult<BTreeMap<String, String>> {
        let all = self.refs()?;
        Ok(all
            .into_iter()
            .filter(|(name, _)| name.starts_with("refs/heads/"))
            .collect())
    }

    /// The tip of the default branch.
    pub fn tip(&self) -> SimResult<Option<String>> {
        self.sim.read(|world| world.tip(&self.key))
    }

    /// All refs.
    pub fn refs(&self) -> SimResult<BTreeMap<String, String>> {
        self.sim.read(|world| world.refs(&self.key))
    }

    /// A file at a commit or branch tip, as people see it in the browser.
    pub fn file(&self, name: &str, path: &str) -> SimResult<Option<String>> {
        let repo = self.path();
        let id = self.ref_id(name)?.unwrap_or_else(|| name.to_owned());
        repo_git::file(&repo, &id, path)
    }

    /// The whole message of a commit.
    pub fn message(&self, sha: &str) -> SimResult<String> {
        let commit = repo_git::commit(&self.path(), sha)?;
        Ok(commit.ok_or_else(SimError::not_found)?.message)
    }

    /// An issue or pull request as it is now.
    pub fn issue(&self, number: u64) -> SimResult<Issue> {
        self.sim
            .read(|world| world.issue(&self.key, number).cloned())
    }

    /// All pull requests, oldest first.
    pub fn prs(&self) -> SimResult<Vec<(Issue, Pr)>> {
        self.sim.read(|world| {
            let issues = world.repo(&self.key)?.issues.values();
            Ok(issues
                .filter_map(|i| i.pr.clone().map(|pr| (i.clone(), pr)))
                .collect())
        })
    }

    /// The whole record.
    pub fn snapshot(&self) -> SimResult<Repo> {
        self.sim.read(|world| world.repo(&self.key).cloned())
    }

    /// Forks it to another owner.
    pub fn fork(&self, owner: &str) -> SimResult<Self> {
        let slug = RepoSlug {
            owner: owner.to_owned(),
            name: self.snapshot()?.slug.name,
        };
        let from = self.path();
        let fork = self.sim.create_repo(&slug, &Seed::Clone(&from))?;
        fork.set(|repo| repo.fork_of = Some(self.key.clone()));
        Ok(fork)
    }

    /// Renames or transfers it; the number stays, and the former name leads to it.
    #[must_use]
    pub fn rename(&self, slug: &RepoSlug) -> Self {
        lock(&self.sim.state).world.rename_repo(&self.key, slug);
        self.sim.repo(slug)
    }
}
