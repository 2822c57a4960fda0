use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_folder_that_others_may_write_to_is_no_place() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("a/b");
    put(&place, b"x").unwrap();
    set_mode(&place, 0o777);
    put(&place, b"x").unwrap_err();
    set_mode(&place, 0o1777);
    put(&place, b"x").unwrap_err();
    set_mode(&place, 0o700);
    set_mode(&dir.path().join("a"), 0o770);
    put(&place, b"x").unwrap_err();
    set_mode(&dir.path().join("a"), 0o1777);
    put(&place, b"x").unwrap();
}

#[test]
fn a_link_is_no_place() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("target");
    fs::create_dir(&target).unwrap();
    symlink(&target, dir.path().join("link")).unwrap();
    put(&dir.path().join("link"), b"x").unwrap_err();
    assert_eq!(fs::read_dir(target).unwrap().count(), 0);
}

#[test]
fn a_damaged_script_is_replaced_and_one_of_another_program_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let first = put(dir.path(), b"first").unwrap();
    let second = put(dir.path(), b"second").unwrap();
    assert_ne!(first, second);
    fs::write(&first, "something else").unwrap();
    assert_eq!(put(dir.path(), b"first").unwrap(), first);
    assert_eq!(fs::read(&first).unwrap(), b"first");
    assert_eq!(fs::read(&second).unwrap(), b"second");
}

#[test]
fn the_path_of_the_program_is_quoted() {
    let text = script(Path::new("/a b/'c$d")).unwrap();
    let text = String::from_utf8(text).unwrap();
    let quoted = shlex::try_quote("/a b/'c$d").unwrap();
    assert!(text.contains(&format!("exec {quoted} mutex ")), "{text}");
}
