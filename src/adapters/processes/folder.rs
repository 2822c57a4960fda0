//! A run folder: its file names, its lock, and how its files are written. It decides nothing about
//! the run; `facts` reads the folder, `start` and `host` write it.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::model::ids::Timestamp;
use crate::model::limits::EXIT_ROOM_BYTES;
use crate::ports::{PortError, Refusal};

/// `started.json`: written once, exclusively, by the one supervisor that has the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Started {
    /// The supervisor.
    pub pid: u32,
    /// The boot it runs in; information, the lock is the proof.
    pub boot: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// The path of a run folder.
#[derive(Debug, Clone)]
pub(super) struct RunFolder(PathBuf);

/// Does somebody hold the folder's supervisor lock?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// A supervisor lives.
    Alive,
    /// Nobody.
    Nobody,
}

impl RunFolder {
    pub(super) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn spec(&self) -> PathBuf {
        self.0.join("spec.json")
    }

    pub(super) fn prompt(&self) -> PathBuf {
        self.0.join("prompt.md")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.join("output.log")
    }

    pub(super) fn exit(&self) -> PathBuf {
        self.0.join("exit.json")
    }

    /// Room for `exit.json`, held from the start: a disk that is full at the end must not cost the result.
    pub(super) fn exit_room(&self) -> PathBuf {
        self.0.join("exit.json.room")
    }

    /// Reserves the room, with bytes and not with a hole.
    pub(super) fn reserve_exit(&self) -> io::Result<()> {
        let there = fs::metadata(self.exit_room()).map_or(0, |meta| meta.len());
        if there >= EXIT_ROOM_BYTES as u64 {
            return Ok(());
        }
        write_whole(&self.exit_room(), &vec![b'\n'; EXIT_ROOM_BYTES])
    }

    /// Writes `exit.json`, whole or not at all: in the room that is reserved for it, else in a new file.
    pub(super) fn write_exit(&self, text: &[u8]) -> io::Result<()> {
        if let Err(error) = self.write_exit_in_place(text) {
            tracing::warn!("cannot use `{}`: {error}", self.exit_room().display());
            write_whole(&self.exit(), text)?;
        }
        Ok(())
    }

    fn write_exit_in_place(&self, text: &[u8]) -> io::Result<()> {
        if text.len() > EXIT_ROOM_BYTES {
            return Err(io::Error::other("the result is larger than its room"));
        }
        let mut room = OpenOptions::new().write(true).open(self.exit_room())?;
        room.write_all(text)?;
        // JSON may end with white space, so that a cut which fails does no harm.
        let _ = room.set_len(text.len() as u64);
        room.sync_all()?;
        put_in_place(&self.exit_room(), &self.exit())
    }

    /// What the agents of the run said.
    pub(super) fn reports(&self) -> PathBuf {
        self.0.join("reports.json")
    }

    pub(super) fn started(&self) -> PathBuf {
        self.0.join("started.json")
    }

    /// Where the mark of a supervisor goes that died and has a successor.
    fn dead(&self, number: usize) -> PathBuf {
        self.0.join(format!("started.json.dead-{number}"))
    }

    /// How many supervisors of this run died and were followed by another one.
    pub(super) fn predecessors(&self) -> io::Result<usize> {
        let mut number = 0;
        while self.dead(number).try_exists()? {
            number += 1;
        }
        Ok(number)
    }

    /// Makes room for a successor, whose predecessor is known to be dead.
    pub(super) fn bury(&self) -> io::Result<()> {
        fs::rename(self.started(), self.dead(self.predecessors()?))
    }

    /// Forgets the run that was in the folder. Its log stays, and its end goes last: whoever is cut off
    /// here leaves a folder that is still to be forgotten.
    pub(super) fn forget(&self) -> io::Result<()> {
        for mark in [
            self.collected(),
            self.reports(),
            self.frozen(),
            self.current(),
            self.started(),
            self.exit_room(),
            self.exit(),
        ] {
            remove(&mark)?;
        }
        Ok(())
    }

    /// Held by the supervisor while it lives. Never unlinked: a lock on a file that has lost its
    /// name excludes nobody.
    pub(super) fn lock(&self) -> PathBuf {
        self.0.join("supervisor.lock")
    }

    /// Held by the process that starts the supervisor, while it does.
    pub(super) fn start_lock(&self) -> PathBuf {
        self.0.join("start.lock")
    }

    pub(super) fn supervisor_log(&self) -> PathBuf {
        self.0.join("supervisor.log")
    }

    pub(super) fn stop(&self) -> PathBuf {
        self.0.join("stop")
    }

    pub(super) fn collected(&self) -> PathBuf {
        self.0.join("collected")
    }

    pub(super) fn frozen(&self) -> PathBuf {
        self.0.join("frozen")
    }

    /// Index of the command that was started last.
    pub(super) fn current(&self) -> PathBuf {
        self.0.join("current")
    }

    /// The box of an agent in a container.
    pub(super) fn agent_box(&self) -> PathBuf {
        self.0.join("box")
    }

    pub(super) fn question(&self) -> PathBuf {
        self.0.join("question.md")
    }

    pub(super) fn review(&self) -> PathBuf {
        self.0.join("review.md")
    }

    /// Probes the supervisor's lock with a shared one, so that two probes never meet; a supervisor
    /// that tries in that very moment tries again.
    pub(super) fn holder(&self) -> io::Result<Holder> {
        let file = match File::open(self.lock()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Holder::Nobody),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => {
                // Unlocked by hand: a child that another thread forks right now has a copy of the
                // descriptor until its exec, and closing ours would leave the lock with it.
                file.unlock()?;
                Ok(Holder::Nobody)
            }
            Err(TryLockError::WouldBlock) => Ok(Holder::Alive),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The supervisor's mark, if one ever took the folder. A damaged mark counts: somebody wrote it.
    pub(super) fn read_started(&self) -> io::Result<Option<Started>> {
        match fs::symlink_metadata(self.started()) {
            Ok(meta) => Ok(Some(read_json(&self.started()).unwrap_or_else(|_| {
                Started {
                    pid: 0,
                    boot: None,
                    at: meta.modified().map(Timestamp::from).unwrap_or_default(),
                }
            }))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Reads a JSON file.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let text = fs::read_to_string(path)?;
    serde_json::from_str(&text).map_err(io::Error::from)
}

/// Writes a file so that a reader sees all of it or nothing, also after a power cut. Readable by
/// the owner alone: prompts and logs may hold what the readers may not see.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    put_in_place(&new, path)
}

fn put_in_place(new: &Path, path: &Path) -> io::Result<()> {
    fs::rename(new, path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Creates an empty or filled marker file; one that is there is fine.
pub(super) fn mark(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))
}

/// Removes a file; absent is fine.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A write that failed. What a person mends by making room is waited for, the rest is refused.
pub(super) fn unwritten(what: impl Into<String>, error: &io::Error) -> PortError {
    let full = matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    );
    if full {
        PortError::unavailable(what, format!("the disk is full: {error}"), None)
    } else {
        local(what, error)
    }
}

/// The refusal of the local side.
pub(super) fn local(what: impl Into<String>, error: impl std::fmt::Display) -> PortError {
    PortError::refused(what, Refusal::Local, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing new can be written beside `exit.json`, as on a full disk.
    fn full(folder: &RunFolder) {
        fs::create_dir(folder.path().join("exit.json.new")).unwrap();
        assert!(write_whole(&folder.exit(), b"1").is_err());
    }

    #[test]
    fn a_full_disk_does_not_cost_the_result_whose_room_is_reserved() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(dir.path());
        folder.reserve_exit().unwrap();
        full(&folder);
        folder.write_exit(b"{\"end\":1}").unwrap();
        assert_eq!(fs::read(folder.exit()).unwrap(), b"{\"end\":1}");
        assert!(!folder.exit_room().exists());
    }

    #[test]
    fn a_result_without_its_room_is_written_anew_or_told_as_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(dir.path());
        folder.write_exit(b"1").unwrap();
        assert_eq!(fs::read(folder.exit()).unwrap(), b"1");
        folder.reserve_exit().unwrap();
        let long = vec![b' '; EXIT_ROOM_BYTES + 1];
        folder.write_exit(&long).unwrap();
        assert_eq!(fs::read(folder.exit()).unwrap(), long);
        fs::remove_file(folder.exit_room()).unwrap();
        full(&folder);
        assert!(folder.write_exit(b"2").is_err());
    }

    #[test]
    fn a_full_disk_is_a_wait_and_other_failures_are_none() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let error = unwritten("write", &full);
        assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
        let other = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(unwritten("write", &other).refusal(), Some(Refusal::Local));
    }
}
