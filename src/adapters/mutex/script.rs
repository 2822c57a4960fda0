//! The script that nested calls go through: `sh "$LOCAL_MUTEX_CLI" NAME COMMAND [LOCK-DIR]`, as with
//! the published `local-mutex`. It is run by every nested call, so it must stand where no other user
//! can put another one in its place.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::variable;
use crate::adapters::files;

/// The script, as a file, while this lives.
#[derive(Debug)]
pub struct NestedCall {
    path: PathBuf,
    // Only where nothing lasting was to be had; gone with this.
    _folder: Option<TempDir>,
}

impl NestedCall {
    /// Finds the script or writes it. The first safe place is taken: ghswarm's home, the cache, the
    /// session's folder, a folder of this user among the temporary files, and at last a new folder
    /// there, which is removed in the end.
    pub fn prepare() -> io::Result<Self> {
        let text = script(&program()?)?;
        let places = places();
        for place in &places {
            if let Ok(path) = put(place, &text) {
                return Ok(Self {
                    path,
                    _folder: None,
                });
            }
        }
        let folder = tempfile::Builder::new()
            .prefix("ghswarm-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir()?;
        let path = put(folder.path(), &text)?;
        Ok(Self {
            path,
            _folder: Some(folder),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// This program. An update puts another file in its place, and Linux then says so behind the path.
fn program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let replaced = path.as_os_str().as_bytes().strip_suffix(b" (deleted)");
    let replaced = replaced.map(|bytes| PathBuf::from(OsString::from_vec(bytes.to_vec())));
    Ok(replaced.filter(|new| new.exists()).unwrap_or(path))
}

/// Options with `=`, so that a name or a command that begins with `-` stays what it is.
fn script(program: &Path) -> io::Result<Vec<u8>> {
    let quoted =
        shlex::bytes::try_quote(program.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let mut text = b"#!/bin/sh\n\
        # Written by ghswarm mutex. Usage: sh \"$LOCAL_MUTEX_CLI\" NAME COMMAND [LOCK-DIR]\n\
        if [ \"$#\" -lt 2 ] || [ \"$#\" -gt 3 ]; then\n\
        \x20   echo 'usage: sh \"$LOCAL_MUTEX_CLI\" NAME COMMAND [LOCK-DIR]' >&2\n\
        \x20   exit 2\n\
        fi\n\
        exec "
        .to_vec();
    text.extend_from_slice(&quoted);
    text.extend_from_slice(b" mutex --name=\"$1\" --script=\"$2\" ${3:+\"--lock-dir=$3\"}\n");
    Ok(text)
}

fn places() -> Vec<PathBuf> {
    let user = geteuid().as_raw();
    let beneath = |name: &str, inner: &str| variable(name).map(|v| PathBuf::from(v).join(inner));
    let cache = beneath("XDG_CACHE_HOME", "ghswarm").or_else(|| beneath("HOME", ".cache/ghswarm"));
    let temporary = std::env::temp_dir().join(format!("ghswarm-{user}"));
    [
        beneath("GHSWARM_HOME", "mutex"),
        cache,
        beneath("XDG_RUNTIME_DIR", "ghswarm"),
        Some(temporary),
    ]
    .into_iter()
    .flatten()
    .filter(|place| place.is_absolute())
    .collect()
}

/// Puts the script into a folder, which is made. It is named by its text, so that several programs
/// of ours do not overwrite each other's.
fn put(folder: &Path, text: &[u8]) -> io::Result<PathBuf> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Err(io::Error::other("a link"));
    }
    let folder = folder.canonicalize()?;
    if !is_ours_alone(&folder)? {
        return Err(io::Error::other("not safe against other users"));
    }
    let hash = Sha256::digest(text);
    let short = hash[..8]
        .iter()
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let path = folder.join(format!("mutex-cli-{short:016x}.sh"));
    if fs::read(&path).ok().as_deref() != Some(text) {
        files::replace(&path, text)?;
    }
    Ok(path)
}

/// Can nobody but us and root change what this path leads to? Whoever owns a folder above, or may
/// write to it, could put another one in its place; in a sticky one only owners move things.
fn is_ours_alone(folder: &Path) -> io::Result<bool> {
    let user = geteuid().as_raw();
    for (depth, place) in folder.ancestors().enumerate() {
        let found = fs::symlink_metadata(place)?;
        let owned = found.uid() == user || (depth > 0 && found.uid() == 0);
        let closed = found.mode() & 0o022 == 0 || (depth > 0 && found.mode() & 0o1000 != 0);
        if !owned || !closed {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
