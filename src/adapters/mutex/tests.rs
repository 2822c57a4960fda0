use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn name() -> MutexName {
    MutexName::parse(b"a").unwrap()
}

#[test]
fn a_folder_must_be_absolute_and_there() {
    let open = |folder: &str| LockFile::open(Path::new(folder), &name()).unwrap_err();
    assert!(matches!(open("locks"), MutexError::RelativeFolder(_)));
    assert!(matches!(open("/no/such"), MutexError::NoFolder(_)));
    let file = tempfile::NamedTempFile::new().unwrap();
    let file = file.path().to_str().unwrap();
    assert!(matches!(open(file), MutexError::NoFolder(_)));
}

#[test]
fn what_is_not_a_plain_file_is_no_lock() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name().file_name());
    symlink(dir.path().join("target"), &path).unwrap();
    let error = LockFile::open(dir.path(), &name()).unwrap_err();
    assert!(matches!(error, MutexError::NotAFile(_)), "{error}");
    assert!(!dir.path().join("target").exists());
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = LockFile::open(dir.path(), &name()).unwrap_err();
    assert!(matches!(error, MutexError::NotAFile(_)), "{error}");
}

#[test]
fn a_lock_file_that_was_unlinked_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let opened = LockFile::open(dir.path(), &name()).unwrap();
    let path = dir.path().join(name().file_name());
    fs::remove_file(&path).unwrap();
    let held = opened.take().unwrap();
    let there = File::open(&path).unwrap();
    assert_eq!(identity(&held.file).unwrap(), identity(&there).unwrap());
    assert!(matches!(there.try_lock(), Err(TryLockError::WouldBlock)));
    drop(held);
    there.try_lock().unwrap();
}

#[test]
fn a_lock_file_keeps_what_is_in_it_and_is_open_to_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name().file_name());
    drop(LockFile::open(dir.path(), &name()).unwrap().take().unwrap());
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o600, 0o600);
    fs::write(&path, "x").unwrap();
    drop(LockFile::open(dir.path(), &name()).unwrap().take().unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "x");
}
