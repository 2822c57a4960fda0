//! The files of a box that are not committed, as a commit. Each is read as what it is: a link is a link
//! and is not followed, a pipe or a socket is none of git's business, and nothing that is called like git's
//! own folder, in whatever spelling, is taken along. libgit2 does it: it runs no filter and no hook.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry, IndexTime, Oid, Repository, Signature};

use crate::model::ids::{IdError, Sha};

const PLAIN: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

/// Why they could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilesError {
    #[error("the files of the box cannot be read: {0}")]
    Git(#[from] git2::Error),
    #[error("the files of the box cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Id(#[from] IdError),
}

/// A commit with the files of `tree` on top of `tip`; `tip` itself where all of them are committed. Written
/// into the repository of ours at `ours`. The files in `skip` are no work.
pub(super) fn commit(
    ours: &Path,
    tree: &Path,
    tip: &Sha,
    skip: &[PathBuf],
) -> Result<Sha, FilesError> {
    let repo = Repository::open_bare(ours)?;
    let head = repo.find_commit(Oid::from_str(tip.as_str())?)?;
    repo.set_workdir(tree, false)?;
    let links = set_rules_aside(tree)?;
    let mut committed = Index::new()?;
    committed.read_tree(&head.tree()?)?;
    let known: BTreeMap<Vec<u8>, u32> = committed
        .iter()
        .map(|entry| (entry.path, entry.mode))
        .collect();
    let mut walk = Walk {
        repo: &repo,
        root: tree,
        known: &known,
        skip: skip.iter().collect(),
        found: Index::new()?,
    };
    walk.folder(Path::new(""))?;
    for (path, target) in links {
        walk.link(&path, &target)?;
    }
    // A submodule is not filled in a box, so what is in its place says nothing about it.
    for entry in committed.iter().filter(|entry| entry.mode == SUBMODULE) {
        walk.found.add(&entry)?;
    }
    let id = walk.found.write_tree_to(&repo)?;
    if id == head.tree_id() {
        return Ok(tip.clone());
    }
    // The same files make the same commit, however often they are read.
    let who = Signature::new("ghswarm", "ghswarm@localhost", &head.time())?;
    let message = "ghswarm: work that was not committed in its box";
    let made = repo.commit(None, &who, &who, message, &repo.find_tree(id)?, &[&head])?;
    Ok(Sha::new(made.to_string())?)
}

/// Files by which git knows what to ignore and how to read the others. libgit2 would follow a link there,
/// and wait at a pipe for ever. Answers the links, which are entries of the tree like any other.
fn set_rules_aside(root: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut links = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let (path, kind) = (folder.join(entry.file_name()), entry.file_type()?);
            if kind.is_dir() && !is_gits(&entry.file_name()) {
                folders.push(path);
            } else if is_rules(&entry.file_name()) && !kind.is_file() && !kind.is_dir() {
                if kind.is_symlink() {
                    let target = fs::read_link(entry.path())?;
                    links.push((path, target.as_os_str().as_bytes().to_vec()));
                }
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(links)
}

fn is_rules(name: &OsStr) -> bool {
    name == ".gitignore" || name == ".gitattributes"
}

/// Is it called like git's own folder, on some file system? Those of macOS and Windows ignore case, some
/// characters that nobody sees, dots and spaces at the end, and know the folder by a short name.
pub(super) fn is_gits(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    let unseen = |c: &char| matches!(*c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let plain: String = text.chars().filter(|c| !unseen(c)).collect();
    let plain = plain.split(':').next().unwrap_or_default().to_lowercase();
    let plain = plain.trim_end_matches(['.', ' ']);
    plain == ".git" || plain == "git~1"
}

struct Walk<'a> {
    repo: &'a Repository,
    root: &'a Path,
    /// What the head has, by path.
    known: &'a BTreeMap<Vec<u8>, u32>,
    skip: BTreeSet<&'a PathBuf>,
    found: Index,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path) -> Result<(), FilesError> {
        for entry in fs::read_dir(self.root.join(folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if is_gits(&entry.file_name()) || self.skip.contains(&path) {
                continue;
            }
            let meta = fs::symlink_metadata(entry.path())?;
            if self.is_wanted(&path, &meta) {
                self.take(&path, &meta)?;
            }
        }
        Ok(())
    }

    /// Not what is ignored, unless the head has it.
    fn is_wanted(&self, path: &Path, meta: &Metadata) -> bool {
        let name = path.as_os_str().as_bytes();
        if self.known.get(name) == Some(&SUBMODULE) {
            return false;
        }
        let mut inside = name.to_vec();
        inside.push(b'/');
        let holds = |start: &[u8]| {
            let next = self.known.range(start.to_vec()..).next();
            next.is_some_and(|(path, _)| path.starts_with(start))
        };
        if self.known.contains_key(name) || (meta.is_dir() && holds(&inside)) {
            return true;
        }
        let asked = if meta.is_dir() {
            OsStr::from_bytes(&inside)
        } else {
            path.as_os_str()
        };
        // What cannot be asked about is rather shown than lost.
        !self.repo.is_path_ignored(Path::new(asked)).unwrap_or(false)
    }

    fn take(&mut self, path: &Path, meta: &Metadata) -> Result<(), FilesError> {
        if meta.is_dir() {
            return self.folder(path);
        }
        if meta.is_symlink() {
            let target = fs::read_link(self.root.join(path))?;
            return self.link(path, target.as_os_str().as_bytes());
        }
        if !meta.is_file() {
            return Ok(());
        }
        let mut file = File::open(self.root.join(path))?;
        // With its path, so that line ends are read as `.gitattributes` says.
        let mut blob = self.repo.blob_writer(Some(path))?;
        io::copy(&mut file, &mut blob)?;
        let id = blob.commit()?;
        let mode = if meta.mode() & 0o100 == 0 {
            PLAIN
        } else {
            PROGRAM
        };
        self.add(path, mode, id)
    }

    fn link(&mut self, path: &Path, target: &[u8]) -> Result<(), FilesError> {
        let id = self.repo.blob(target)?;
        self.add(path, LINK, id)
    }

    fn add(&mut self, path: &Path, mode: u32, id: Oid) -> Result<(), FilesError> {
        let never = IndexTime::new(0, 0);
        let entry = IndexEntry {
            ctime: never,
            mtime: never,
            dev: 0,
            ino: 0,
            mode,
            uid: 0,
            gid: 0,
            file_size: 0,
            id,
            flags: 0,
            flags_extended: 0,
            path: path.as_os_str().as_bytes().to_vec(),
        };
        Ok(self.found.add(&entry)?)
    }
}
