//! Whose worktree lies in a place. Reads and writes git's administrative folders as files, and
//! proves by a file of ours in them what ghswarm made; runs no git.
//!
//! Two kinds of files of ours:
//! - `ghswarm-worktree.json` in the worktree's private folder (`<common>/worktrees/<name>/`, outside
//!   of the working tree, where neither agent nor `git add -A` meets it): who made it.
//! - `<common>/ghswarm/<branch>.json`: written before the worktree is made. So a crash in between
//!   leaves something that is known to be ours, and a branch that we made is known as ours after its
//!   worktree went away.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::adapters::files;
use crate::model::ids::{BranchName, RepoId};

use super::door::quoted;

const OWNER_FILE: &str = "ghswarm-worktree.json";
const SET_UP_FILE: &str = "ghswarm-set-up";

/// Who made a worktree: `ghswarm-worktree.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    /// Random name of the home.
    pub(super) home: String,
    /// Id of the repository on GitHub.
    pub(super) repo: RepoId,
    /// The branch it was made for; the issue is in its name.
    pub(super) branch: BranchName,
    /// Was everything checked out, submodules too? Nobody has worked in it before that.
    pub(super) ready: bool,
}

/// What this home set out to make: `<common>/ghswarm/<branch>.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Intent {
    /// Random name of the home.
    pub(super) home: String,
    /// Where the worktree was to be.
    pub(super) path: PathBuf,
    /// Did the branch come into being with it?
    pub(super) made_branch: bool,
}

/// What lies at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing, or an empty folder.
    Nothing,
    /// A worktree of this clone.
    Worktree {
        /// Its private folder.
        admin: PathBuf,
    },
    /// Something else, in words.
    Other(String),
}

/// Looks at a path. `common` is the clone's common git folder, canonical.
pub(super) fn look(path: &Path, common: &Path) -> io::Result<Place> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Place::Nothing),
        Err(e) => return Err(e),
    };
    let away = away(path);
    if !meta.is_dir() {
        let words = format!("a file or a link lies there, not a folder; {away}");
        return Ok(Place::Other(words));
    }
    if fs::read_dir(path)?.next().is_none() {
        return Ok(Place::Nothing);
    }
    let dot_git = path.join(".git");
    let Some(meta) = if_there(fs::symlink_metadata(&dot_git))? else {
        let words = match admin_of_missing(common, path)? {
            Some(_) => format!("its file `.git` is gone; {}", repair(common)),
            None => format!("a folder that is no git worktree; {away}"),
        };
        return Ok(Place::Other(words));
    };
    if meta.is_dir() {
        let words = format!("its `.git` is a folder, so it is a clone of its own; {away}");
        return Ok(Place::Other(words));
    }
    if !meta.is_file() {
        let words = format!("its `.git` is not a file of git's but a link or the like; {away}");
        return Ok(Place::Other(words));
    }
    let text = fs::read(&dot_git)?;
    let text = String::from_utf8_lossy(&text);
    let Some(target) = text.strip_prefix("gitdir:").map(str::trim) else {
        let words = format!("its file `.git` is damaged; {}", repair(common));
        return Ok(Place::Other(words));
    };
    let Some(admin) = if_there(path.join(target).canonicalize())? else {
        let words = format!(
            "a worktree whose administrative folder `{target}` is gone; {away}, and `git -C {} \
             worktree prune`",
            quoted(common)
        );
        return Ok(Place::Other(words));
    };
    if admin.parent() == Some(&common.join("worktrees")) {
        return Ok(Place::Worktree { admin });
    }
    let words = format!("a worktree of another clone, whose folder is `{target}`; {away}");
    Ok(Place::Other(words))
}

/// The way out where what lies there is not ours to touch.
fn away(path: &Path) -> String {
    let mut to = path.as_os_str().to_owned();
    to.push(".away");
    format!(
        "move it away: `mv {} {}`",
        quoted(path),
        quoted(Path::new(&to))
    )
}

/// The way out where git still has the worktree's private folder.
fn repair(common: &Path) -> String {
    format!(
        "have git write it again: `git -C {} worktree repair`",
        quoted(common)
    )
}

/// Does the folder hold nothing but the `.git` file? So git was cut off before the checkout.
pub(super) fn is_bare_of_files(path: &Path) -> io::Result<bool> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name());
    }
    Ok(names == [".git"])
}

pub(super) fn owner_file(admin: &Path) -> PathBuf {
    admin.join(OWNER_FILE)
}

pub(super) fn owner(admin: &Path) -> io::Result<Option<Owner>> {
    let text = files::read_if_there(&owner_file(admin))?;
    // A damaged proof proves nothing: the worktree counts as not ours.
    Ok(text.and_then(|t| serde_json::from_str(&t).ok()))
}

pub(super) fn write_owner(admin: &Path, owner: &Owner) -> io::Result<()> {
    files::replace(&owner_file(admin), &serde_json::to_vec_pretty(owner)?)
}

pub(super) fn is_set_up(admin: &Path) -> bool {
    admin.join(SET_UP_FILE).exists()
}

pub(super) fn mark_set_up(admin: &Path) -> io::Result<()> {
    files::replace(&admin.join(SET_UP_FILE), b"")
}

fn intent_path(common: &Path, branch: &BranchName) -> PathBuf {
    let mut name = files::file_name(branch.as_str()).into_os_string();
    name.push(".json");
    common.join("ghswarm").join(name)
}

pub(super) fn intent(common: &Path, branch: &BranchName) -> io::Result<Option<Intent>> {
    let text = files::read_if_there(&intent_path(common, branch))?;
    Ok(text.and_then(|t| serde_json::from_str(&t).ok()))
}

pub(super) fn write_intent(common: &Path, branch: &BranchName, intent: &Intent) -> io::Result<()> {
    fs::create_dir_all(common.join("ghswarm"))?;
    files::replace(
        &intent_path(common, branch),
        &serde_json::to_vec_pretty(intent)?,
    )
}

/// Did this home set out to make a worktree at `path`?
pub(super) fn intent_for(common: &Path, path: &Path, home: &str) -> io::Result<bool> {
    let Some(entries) = if_there(fs::read_dir(common.join("ghswarm")))? else {
        return Ok(false);
    };
    for entry in entries {
        let text = files::read_if_there(&entry?.path())?.unwrap_or_default();
        let intent = serde_json::from_str::<Intent>(&text).ok();
        if intent.is_some_and(|i| i.path == path && i.home == home) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn forget_intent(common: &Path, branch: &BranchName) -> io::Result<()> {
    if_there(fs::remove_file(intent_path(common, branch))).map(|_| ())
}

/// The private folder that git keeps for a worktree at `path`, even if that is gone.
pub(super) fn admin_of_missing(common: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    let Some(entries) = if_there(fs::read_dir(common.join("worktrees")))? else {
        return Ok(None);
    };
    for entry in entries {
        let admin = entry?.path();
        let target = files::read_if_there(&admin.join("gitdir"))?.unwrap_or_default();
        if admin.join(target.trim()) == path.join(".git") {
            return Ok(Some(admin));
        }
    }
    Ok(None)
}

/// Files that git leaves while a merge, rebase or the like is under way (`git status` reads them).
const OPERATIONS: [(&str, &str); 6] = [
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase or am"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

/// What is under way in a worktree.
pub(super) fn operation(admin: &Path) -> Option<&'static str> {
    OPERATIONS
        .iter()
        .find(|(file, _)| admin.join(file).exists())
        .map(|(_, name)| *name)
}

fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}
