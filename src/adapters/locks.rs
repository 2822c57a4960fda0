//! The home folder: made private, proved to be this machine's, and the lock of its daemon.
//!
//! `<home>/home.json` holds `{"instance": …, "machine": …}`. `instance` is a random name made with
//! the home; worktrees name it as their maker. `machine` says where the home lives: the text of
//! `/etc/machine-id` where there is one, else `host:<host name>` (macOS, small containers). The boot
//! id is no part of it, since a home outlives a reboot. Two machines on one home would each believe
//! the other's locks, which `flock` does not carry over a network file system; so both the other
//! machine's home and the network file system are refused.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files;

/// A home that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// Where it is.
    pub path: PathBuf,
    /// Its random name.
    pub instance: String,
}

/// Why a home may not be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The file system does not let us.
    #[error("cannot use the home `{path}`")]
    Io {
        /// The home, or the file in it.
        path: PathBuf,
        /// Its words.
        source: io::Error,
    },
    /// `flock` is not to be trusted there.
    #[error("the home `{path}` lies on a network file system ({kind}), where locks do not hold")]
    NetworkFileSystem {
        /// The home.
        path: PathBuf,
        /// Which one.
        kind: String,
    },
    /// It was made on another machine.
    #[error(
        "the home `{path}` belongs to the machine `{machine}`; if it moved here for good, delete \
         `home.json` in it"
    )]
    OtherMachine {
        /// The home.
        path: PathBuf,
        /// Whose it is.
        machine: String,
    },
    /// `home.json` is not what we wrote.
    #[error("`{path}` is damaged ({words}); move it away to give the home a new name")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        words: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct HomeFile {
    instance: String,
    machine: String,
}

/// Makes the home if it is not there (mode 0700), and refuses one that cannot be used safely.
pub fn ensure_home(path: &Path) -> Result<Home, HomeError> {
    ensure_home_of(path, &machine())
}

fn ensure_home_of(path: &Path, machine: &str) -> Result<Home, HomeError> {
    let failed = |at: &Path| {
        let path = at.to_path_buf();
        move |source| HomeError::Io { path, source }
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(failed(path))?;
    let mode = fs::metadata(path)
        .map_err(failed(path))?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        // Prompts and logs in it may quote private code; others on the machine must not read them.
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed(path))?;
    }
    if let Some(kind) = network_file_system(path).map_err(failed(path))? {
        return Err(HomeError::NetworkFileSystem {
            path: path.to_path_buf(),
            kind,
        });
    }
    let file = path.join("home.json");
    let fresh = HomeFile {
        instance: random_name(),
        machine: machine.to_owned(),
    };
    let text = serde_json::to_vec_pretty(&fresh).map_err(|e| HomeError::Damaged {
        path: file.clone(),
        words: e.to_string(),
    })?;
    if !file.exists() {
        // Of two processes that make the home at once one writes the name, and both read it.
        files::create_exclusively(&file, &text).map_err(failed(&file))?;
    }
    let text = fs::read_to_string(&file).map_err(failed(&file))?;
    let found: HomeFile = serde_json::from_str(&text).map_err(|e| HomeError::Damaged {
        path: file.clone(),
        words: e.to_string(),
    })?;
    if found.machine != machine {
        return Err(HomeError::OtherMachine {
            path: path.to_path_buf(),
            machine: found.machine,
        });
    }
    Ok(Home {
        path: path.to_path_buf(),
        instance: found.instance,
    })
}

fn random_name() -> String {
    format!("{:016x}", rand::random::<u64>())
}

/// Which machine this is.
fn machine() -> String {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let id = id.trim();
    // systemd writes this word while an image is not yet set up: it names no machine.
    if id.is_empty() || id == "uninitialized" {
        let names = rustix::system::uname();
        return format!("host:{}", names.nodename().to_string_lossy());
    }
    id.to_owned()
}

/// Magic numbers of `statfs(2)` for file systems whose locks or caches are not this machine's alone.
#[cfg(target_os = "linux")]
const NETWORK_MAGICS: [(u64, &str); 13] = [
    (0x6969, "nfs"),
    (0x517B, "smb"),
    (0xFF53_4D42, "cifs"),
    (0xFE53_4D42, "smb2"),
    (0x7375_7245, "coda"),
    (0x5346_414F, "afs"),
    (0x6B41_4653, "kafs"),
    (0x564C, "ncp"),
    (0x0102_1997, "9p"),
    (0x00C3_6400, "ceph"),
    (0x0BD0_0BD0, "lustre"),
    (0x0116_1970, "gfs2"),
    (0x7461_636F, "ocfs2"),
];

/// FUSE says nothing of what is behind it; the mount table does.
#[cfg(target_os = "linux")]
const FUSE_MAGIC: u64 = 0x6573_5546;

/// FUSE file systems that are remote.
#[cfg(target_os = "linux")]
const REMOTE_FUSE: [&str; 6] = [
    "fuse.sshfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.davfs",
];

#[cfg(target_os = "linux")]
fn network_file_system(path: &Path) -> io::Result<Option<String>> {
    #[expect(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        reason = "a magic number is 32 bits, in a field whose width and sign depend on the platform"
    )]
    let magic = u64::from(rustix::fs::statfs(path)?.f_type as u32);
    if magic == FUSE_MAGIC {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        return Ok(remote_fuse(&mounts, &path.canonicalize()?));
    }
    Ok(NETWORK_MAGICS
        .iter()
        .find(|(m, _)| *m == magic)
        .map(|(_, kind)| (*kind).to_owned()))
}

/// The type of the mount that holds `path`, if it is one of the remote FUSE ones.
#[cfg(target_os = "linux")]
fn remote_fuse(mounts: &str, path: &Path) -> Option<String> {
    let kind = mounts
        .lines()
        .filter_map(|line| {
            let mut parts = line.split(' ');
            Some((parts.nth(1)?, parts.next()?))
        })
        .filter(|(place, _)| path.starts_with(place))
        .max_by_key(|(place, _)| place.len())
        .map(|(_, kind)| kind)?;
    REMOTE_FUSE.contains(&kind).then(|| kind.to_owned())
}

/// macOS marks local mounts (`MNT_LOCAL` of `statfs(2)`).
#[cfg(target_os = "macos")]
fn network_file_system(path: &Path) -> io::Result<Option<String>> {
    const MNT_LOCAL: u32 = 0x1000;
    let local = rustix::fs::statfs(path)?.f_flags & MNT_LOCAL != 0;
    Ok((!local).then(|| "not local".to_owned()))
}

/// Elsewhere we cannot tell.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn network_file_system(_path: &Path) -> io::Result<Option<String>> {
    Ok(None)
}

/// The lock of a home's daemon. The kernel, not the number in the file, says whether it lives.
#[derive(Debug)]
pub struct HomeLock {
    // Held for its lock: closing the file frees it.
    _file: File,
}

/// How asking for the daemon's lock went.
#[derive(Debug)]
pub enum HomeLockOutcome {
    /// We are the daemon while this lives.
    Taken(HomeLock),
    /// Another process is; its number, as far as it wrote one.
    Held(Option<u32>),
}

impl HomeLock {
    /// Takes the lock at `path` (`<home>/ghswarm.pid` by default) without waiting, and writes our
    /// number into the file. The file is never unlinked.
    pub fn take(path: &Path) -> io::Result<HomeLockOutcome> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(HomeLockOutcome::Held(number_in(&file))),
            Err(TryLockError::Error(e)) => return Err(e),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(HomeLockOutcome::Taken(Self { _file: file }))
    }

    /// Does a daemon live? Answers its number; `None` if nobody holds the lock.
    pub fn holder(path: &Path) -> io::Result<Option<Option<u32>>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        // Shared, so that two who ask at once do not take each other for the daemon.
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(number_in(&file))),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }
}

fn number_in(mut file: &File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests;
