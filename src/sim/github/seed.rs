//! What a new repository of the simulated GitHub holds.

use std::path::Path;

use crate::model::ids::Timestamp;

use super::error::SimResult;
use super::repo_git::{self, Move, Stamp};

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
                    before: Some(None),
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
