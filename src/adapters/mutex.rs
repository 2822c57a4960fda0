//! A lock that processes of one machine share: an exclusive `flock` on a file, held while one command
//! runs. The kernel frees it however the holder ends, so nothing here recovers stale locks, and no
//! file is ever unlinked: a new file under the same name would be a second lock.
//!
//! The command does not inherit the descriptor, as with `flock -o`: what it leaves behind does not
//! hold the lock. So a holder that is killed with KILL frees the lock at once, and its command, which
//! nobody can tell, runs on without it.

mod ancestry;
mod command;
mod script;

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, OFlags, access};

use crate::model::mutex::MutexName;

pub use command::{Ending, StartError, Work};
pub use script::NestedCall;

/// Names the folder of the locks, for nested calls too.
pub const LOCK_DIR: &str = "LOCAL_MUTEX_LOCK_DIR";
/// Names the script for nested calls.
pub const CLI: &str = "LOCAL_MUTEX_CLI";

/// Where the locks are unless somebody says something else.
const USUAL_FOLDER: &str = "/tmp";

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum MutexError {
    /// Two callers in different working folders would hold different locks.
    #[error("the lock folder `{0}` is not an absolute path")]
    RelativeFolder(PathBuf),
    /// It is not there, or no folder.
    #[error("there is no lock folder `{0}`")]
    NoFolder(PathBuf),
    /// We may not make files in it.
    #[error("the lock folder `{0}` is not writable")]
    ReadOnlyFolder(PathBuf),
    /// A link could lead anywhere, and nothing else than a file is sure to be one lock for all.
    #[error("`{0}` is not a plain file")]
    NotAFile(PathBuf),
    /// A process that waits for us holds it.
    #[error("process {holder}, from which this one descends, holds the lock already")]
    Nested {
        /// Which.
        holder: i32,
    },
    /// The file system does not let us.
    #[error("cannot lock `{path}`")]
    Io {
        /// The lock file.
        path: PathBuf,
        /// Its words.
        source: io::Error,
    },
}

/// A variable of this process, unless it is empty.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The folder of the locks where the command line names none.
pub fn usual_folder() -> PathBuf {
    variable(LOCK_DIR).map_or_else(|| PathBuf::from(USUAL_FOLDER), PathBuf::from)
}

/// Do we run in a step of GitHub Actions, whose log takes workflow commands?
pub fn in_github_actions() -> bool {
    variable("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// A lock file, open and not locked.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    file: File,
}

/// The lock, until it is dropped.
#[derive(Debug)]
pub struct HeldLock {
    folder: PathBuf,
    file: File,
}

impl LockFile {
    /// Opens the file of a lock, or makes it.
    pub fn open(folder: &Path, name: &MutexName) -> Result<Self, MutexError> {
        check_folder(folder)?;
        let path = folder.join(name.file_name());
        let file = open(&path)?;
        Ok(Self { path, file })
    }

    /// Waits for the lock without a limit, unless that could never end.
    pub fn take(mut self) -> Result<HeldLock, MutexError> {
        loop {
            lock(&self.path, &self.file)?;
            // Somebody who tidies the folder may have unlinked it while we waited: then it locks
            // nobody else out.
            let ours = identity(&self.file).map_err(|source| failed(&self.path, source))?;
            match fs::symlink_metadata(&self.path) {
                Ok(there) if (there.dev(), there.ino()) == ours => break,
                _ => self.file = open(&self.path)?,
            }
        }
        let folder = self.path.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(HeldLock {
            folder,
            file: self.file,
        })
    }
}

fn failed(path: &Path, source: io::Error) -> MutexError {
    MutexError::Io {
        path: path.to_owned(),
        source,
    }
}

fn check_folder(folder: &Path) -> Result<(), MutexError> {
    if !folder.is_absolute() {
        return Err(MutexError::RelativeFolder(folder.to_owned()));
    }
    if !folder.is_dir() {
        return Err(MutexError::NoFolder(folder.to_owned()));
    }
    access(folder, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|_| MutexError::ReadOnlyFolder(folder.to_owned()))
}

/// Opens the lock file so that no link is followed and no pipe or terminal is waited for.
fn open(path: &Path) -> Result<File, MutexError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let own = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        // Other users shall be able to lock it too, as far as the umask lets them.
        .mode(0o666)
        .custom_flags(flags)
        .open(path);
    let opened = match own {
        // Another user's file: one that may be read may be locked. (In a sticky folder Linux also
        // refuses `O_CREAT` on it, see `fs.protected_regular` in `proc_sys_fs(5)`.)
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            File::options().read(true).custom_flags(flags).open(path)
        }
        other => other,
    };
    let linked = || fs::symlink_metadata(path).is_ok_and(|found| !found.is_file());
    let file = opened.map_err(|source| {
        if linked() {
            MutexError::NotAFile(path.to_owned())
        } else {
            failed(path, source)
        }
    })?;
    let kind = file.metadata().map_err(|source| failed(path, source))?;
    if !kind.is_file() {
        return Err(MutexError::NotAFile(path.to_owned()));
    }
    Ok(file)
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}

fn lock(path: &Path, file: &File) -> Result<(), MutexError> {
    match file.try_lock() {
        Ok(()) => return Ok(()),
        Err(TryLockError::Error(source)) => return Err(failed(path, source)),
        Err(TryLockError::WouldBlock) => {}
    }
    let ours = identity(file).map_err(|source| failed(path, source))?;
    if let Some(holder) = ancestry::holder_above(ours) {
        return Err(MutexError::Nested { holder });
    }
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done.map_err(|source| failed(path, source)),
        }
    }
}

#[cfg(test)]
mod tests;
