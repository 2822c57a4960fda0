//! What is in a box's `.git`, read as data: its head, and its objects, copied as plain files. Nothing of its
//! configuration, hooks, alternates, indexes or caches is looked at, and no link is followed.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::private_dir;
use crate::model::ids::{BranchName, Sha};

/// A ref's file is a line; what is longer is something else.
const REF_BYTES_MAX: u64 = 4096;

/// The file of packed refs may be long: each branch that an agent makes is a line.
const PACKED_REFS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Something in a box is not what git leaves.
#[derive(Debug, thiserror::Error)]
pub(super) enum Odd {
    #[error("`{0}` of the box is no {1}, as git makes one")]
    Kind(String, &'static str),
    #[error("the head of the box names no commit: `{0}`")]
    Head(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A box and the repository of ours that its objects are copied into.
#[derive(Debug, Clone)]
pub(super) struct Import {
    /// The box's files.
    pub(super) tree: PathBuf,
    /// Ours.
    pub(super) to: PathBuf,
    /// The clone's objects, which need not be copied.
    pub(super) objects: PathBuf,
}

impl Import {
    /// Makes the repository anew. Answers the box's head and the packs that are to be indexed.
    pub(super) fn copy(&self, known: &BTreeSet<String>) -> Result<(Sha, Vec<PathBuf>), Odd> {
        super::forget(&self.to)?;
        for folder in ["objects/info", "objects/pack", "refs/heads"] {
            private_dir(&self.to.join(folder))?;
        }
        fs::write(self.to.join("HEAD"), "ref: refs/heads/tip\n")?;
        let config = "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n\tfileMode = true\n[gc]\n\tauto = 0\n";
        fs::write(self.to.join("config"), config)?;
        let objects = format!("{}\n", self.objects.display());
        fs::write(self.to.join("objects/info/alternates"), objects)?;
        // Where the clone's history ends, the box's does.
        let shallow = self.objects.with_file_name("shallow");
        if shallow.exists() {
            fs::copy(&shallow, self.to.join("shallow"))?;
        }
        let git = self.tree.join(".git");
        folder(&self.tree, ".git")?;
        folder(&git, "objects")?;
        let from = git.join("objects");
        for name in names(&from)? {
            if name.len() == 2 && is_hex(&name) {
                self.copy_loose(&from, &name)?;
            }
        }
        let packs = self.copy_packs(&from, known)?;
        Ok((head(&git)?, packs))
    }

    fn copy_loose(&self, from: &Path, part: &str) -> Result<(), Odd> {
        folder(from, part)?;
        private_dir(&self.to.join("objects").join(part))?;
        for name in names(&from.join(part))? {
            if name.len() == 38 && is_hex(&name) {
                let object = format!("{part}/{name}");
                copy_file(&from.join(&object), &self.to.join("objects").join(&object))?;
            }
        }
        Ok(())
    }

    fn copy_packs(&self, from: &Path, known: &BTreeSet<String>) -> Result<Vec<PathBuf>, Odd> {
        let mut copied = Vec::new();
        for name in pack_names(from)? {
            if !known.contains(&name) {
                let to = self.to.join("objects/pack").join(&name);
                copy_file(&from.join("pack").join(&name), &to)?;
                copied.push(to);
            }
        }
        Ok(copied)
    }

    /// Names what is to be fetched.
    pub(super) fn name(&self, tip: &Sha, files: &Sha) -> io::Result<()> {
        for (name, sha) in [("tip", tip), ("files", files)] {
            fs::write(self.to.join("refs/heads").join(name), format!("{sha}\n"))?;
        }
        Ok(())
    }
}

/// The packs of a box that was just made.
pub(super) fn packs(tree: &Path) -> io::Result<BTreeSet<String>> {
    let found = pack_names(&tree.join(".git/objects")).map_err(io::Error::other)?;
    Ok(found.into_iter().collect())
}

fn pack_names(objects: &Path) -> Result<Vec<String>, Odd> {
    if fs::symlink_metadata(objects.join("pack")).is_err() {
        return Ok(Vec::new());
    }
    folder(objects, "pack")?;
    let mut found = names(&objects.join("pack"))?;
    let is_pack = |name: &String| {
        let stem = name
            .strip_prefix("pack-")
            .and_then(|name| name.strip_suffix(".pack"));
        stem.is_some_and(is_hex)
    };
    found.retain(is_pack);
    Ok(found)
}

/// The commit that is checked out in the box, on whatever branch.
fn head(git: &Path) -> Result<Sha, Odd> {
    let text = small(&git.join("HEAD"), REF_BYTES_MAX)?;
    let Some(name) = text.trim().strip_prefix("ref:").map(str::trim) else {
        return Sha::new(text.trim()).map_err(|_| Odd::Head(text.trim().to_owned()));
    };
    let wrong = || Odd::Head(name.to_owned());
    let branch = name.strip_prefix("refs/heads/").ok_or_else(wrong)?;
    let branch = BranchName::new(branch).map_err(|_| wrong())?;
    if let Some(found) = loose_ref(git, &format!("refs/heads/{branch}"))? {
        return Sha::new(found.trim()).map_err(|_| wrong());
    }
    let packed = git.join("packed-refs");
    let packed = match fs::symlink_metadata(&packed) {
        Ok(_) => small(&packed, PACKED_REFS_BYTES_MAX)?,
        Err(_) => String::new(),
    };
    let found = packed
        .lines()
        .find_map(|line| line.strip_suffix(name)?.strip_suffix(' '));
    found.and_then(|sha| Sha::new(sha).ok()).ok_or_else(wrong)
}

fn loose_ref(git: &Path, name: &str) -> Result<Option<String>, Odd> {
    let mut path = git.to_owned();
    let mut parts = name.split('/').peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        if fs::symlink_metadata(path.join(part)).is_err() {
            return Ok(None);
        }
        if !last {
            folder(&path, part)?;
        }
        path.push(part);
    }
    small(&path, REF_BYTES_MAX).map(Some)
}

/// Proves that this is a folder and no link to one.
fn folder(above: &Path, name: &str) -> Result<(), Odd> {
    let meta = fs::symlink_metadata(above.join(name));
    if meta.is_ok_and(|meta| meta.is_dir()) {
        return Ok(());
    }
    Err(Odd::Kind(name.to_owned(), "folder"))
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        found.extend(entry?.file_name().into_string().ok());
    }
    Ok(found)
}

fn is_hex(text: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    !text.is_empty() && text.bytes().all(hex)
}

/// Opens a plain file; of a pipe that nobody writes to it does not wait.
fn open(path: &Path) -> Result<File, Odd> {
    let kind = || Odd::Kind(path.display().to_string(), "file");
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(kind());
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(kind())
    }
}

fn copy_file(from: &Path, to: &Path) -> Result<(), Odd> {
    io::copy(&mut open(from)?, &mut File::create(to)?)?;
    Ok(())
}

fn small(path: &Path, most: u64) -> Result<String, Odd> {
    let mut bytes = Vec::new();
    open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
