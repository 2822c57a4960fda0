//! The images of the tests, made of this machine's own programs: no registry is asked.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::docker;

/// busybox with a shell and the usual tools.
pub fn busybox() -> &'static str {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| import("ghswarm-test/busybox:2", |_| {}));
    "ghswarm-test/busybox:2"
}

/// The same with git.
pub fn with_git() -> &'static str {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| import("ghswarm-test/git:3", |root| add(root, &which("git"))));
    "ghswarm-test/git:3"
}

/// Makes the image if it is not there.
fn import(name: &str, more: impl FnOnce(&Path)) {
    let there = Command::new("docker")
        .args(["image", "inspect", name])
        .output();
    if there.unwrap().status.success() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for folder in [
        "bin",
        "usr/bin",
        "etc",
        "tmp",
        "dev",
        "proc",
        "sys",
        "workspace",
    ] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    fs::set_permissions(root.join("tmp"), open).unwrap();
    fs::write(root.join("etc/passwd"), "root:x:0:0:root:/tmp:/bin/sh\n").unwrap();
    fs::write(root.join("etc/group"), "root:x:0:\n").unwrap();
    let busybox = which("busybox");
    fs::copy(&busybox, root.join("bin/busybox")).unwrap();
    let list = Command::new(&busybox).arg("--list").output().unwrap();
    for applet in String::from_utf8(list.stdout).unwrap().lines() {
        if applet != "busybox" {
            symlink("busybox", root.join("bin").join(applet)).unwrap();
        }
    }
    more(root);
    let mut tar = Command::new("tar")
        .args([
            "-C",
            root.to_str().unwrap(),
            "--owner=0",
            "--group=0",
            "-c",
            ".",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let imported = Command::new("docker")
        .args(["import", "-c", "ENV PATH=/usr/bin:/bin", "-", name])
        .stdin(tar.stdout.take().unwrap())
        .output()
        .unwrap();
    assert!(tar.wait().unwrap().success());
    assert!(imported.status.success(), "{imported:?}");
    docker(&["image", "inspect", name]);
}

/// Adds a program and the libraries it is linked with, at the same paths.
fn add(root: &Path, program: &Path) {
    let copy = |from: &Path| {
        let to = root.join(from.strip_prefix("/").unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    };
    copy(program);
    let linked = Command::new("ldd").arg(program).output().unwrap();
    for word in String::from_utf8(linked.stdout).unwrap().split_whitespace() {
        if word.starts_with('/') {
            copy(Path::new(word));
        }
    }
}

fn which(program: &str) -> PathBuf {
    // The system's own, before one that may need more than it is linked with.
    let path = std::env::var_os("PATH").unwrap_or_default();
    ["/usr/bin", "/bin"]
        .map(PathBuf::from)
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|dir| dir.join(program))
        .find(|file| file.exists())
        .unwrap_or_else(|| panic!("{program} is not installed; the images are made of it"))
}
