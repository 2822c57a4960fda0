//! Small files that a crash leaves either old or new, never half-written. Knows nothing of what is
//! in them.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Writes `bytes` under a temporary name next to `path` and puts it in place with `put`.
fn write_beside(
    path: &Path,
    bytes: &[u8],
    put: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    // Without this a power cut can leave a name that points to an empty file.
    temporary.as_file().sync_all()?;
    put(temporary.path())?;
    // After a rename the temporary name is gone; after a link it has to go.
    drop(temporary);
    sync_folder(folder)
}

/// Makes a rename or link in `folder` survive a power cut.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Replaces the file at `path`, or makes it.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_beside(path, bytes, |from| fs::rename(from, path))
}

/// Makes the file at `path` if there is none; `false`: there is one, and it stays as it is.
///
/// `O_CREAT|O_EXCL` on the name itself would be exclusive too, but a crash between create and write
/// would leave an empty file that looks like somebody's claim for ever. So the whole file is written
/// first and then linked, which fails if the name exists.
pub(super) fn create_exclusively(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let put = write_beside(path, bytes, |from| match fs::hard_link(from, path) {
        // File systems without hard links (exFAT, some FUSE ones) have an exclusive rename.
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => rename_exclusively(from, path),
        other => other,
    });
    match put {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e),
    }
}

fn rename_exclusively(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

/// Makes a folder that only the user may look into, and what is missing above it likewise.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Reads a text; `None`: there is no such file.
pub(super) fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Removes a file; one that is not there is fine.
pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A file name for any text: what is not a letter, digit, `-`, `_` or an inner `.` becomes `%XX`.
pub(super) fn file_name(text: &str) -> PathBuf {
    use std::fmt::Write as _;
    let mut name = String::with_capacity(text.len());
    for (at, byte) in text.bytes().enumerate() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) || (byte == b'.' && at > 0) {
            name.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(name, "%{byte:02X}");
        }
    }
    PathBuf::from(name)
}
