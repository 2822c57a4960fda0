//! Homes and their locks, on a real file system.

use super::*;

#[test]
fn a_new_home_is_private_and_keeps_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/home");
    let made = ensure_home(&path).unwrap();
    let bits = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(bits & 0o777, 0o700);
    assert_eq!(ensure_home(&path).unwrap(), made);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    ensure_home(&path).unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn another_machines_home_is_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    ensure_home_of(folder.path(), "laptop").unwrap();
    let error = ensure_home_of(folder.path(), "desktop").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("belongs to the machine `laptop`"),
        "{error}"
    );
}

#[test]
fn a_damaged_home_file_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("home.json"), "{").unwrap();
    let error = ensure_home(folder.path()).unwrap_err();
    assert!(error.to_string().contains("move it away"), "{error}");
}

#[test]
fn a_home_that_cannot_be_made_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(matches!(
        ensure_home(&folder.path().join("file/home")),
        Err(HomeError::Io { .. })
    ));
}

#[cfg(target_os = "linux")]
#[test]
fn a_remote_fuse_mount_is_told_from_a_local_one() {
    let mounts = "/dev/sda1 / ext4 rw 0 0\nme@host:/ /mnt/far fuse.sshfs rw 0 0\n\
                  /dev/sdb1 /mnt/usb fuseblk rw 0 0\n";
    assert_eq!(
        remote_fuse(mounts, Path::new("/mnt/far/x")),
        Some("fuse.sshfs".to_owned())
    );
    assert_eq!(remote_fuse(mounts, Path::new("/mnt/usb/x")), None);
    assert_eq!(remote_fuse(mounts, Path::new("/mnt/farther")), None);
}

#[test]
fn the_daemons_lock_is_held_once_and_a_number_without_a_lock_is_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ghswarm.pid");
    assert_eq!(HomeLock::holder(&path).unwrap(), None);
    let HomeLockOutcome::Taken(lock) = HomeLock::take(&path).unwrap() else {
        panic!("not taken")
    };
    let me = Some(std::process::id());
    assert!(matches!(HomeLock::take(&path).unwrap(), HomeLockOutcome::Held(n) if n == me));
    assert_eq!(HomeLock::holder(&path).unwrap(), Some(me));
    drop(lock);
    assert!(path.exists());
    assert_eq!(HomeLock::holder(&path).unwrap(), None);
    fs::write(&path, "1\n").unwrap();
    assert!(matches!(
        HomeLock::take(&path).unwrap(),
        HomeLockOutcome::Taken(_)
    ));
}
