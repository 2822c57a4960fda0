//! Paths that get into each other's way: a clone under two names, worktrees over the clone, files of
//! ours that are directories. It looks at the disk, for links and directories, and changes nothing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::problem::{Fault, Problems};
use super::read::Reader;
use super::tree::Node;

/// The path as the kernel would find it, as far as it is there; the rest by its words.
fn resolve(path: &Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    let there = plain
        .ancestors()
        .skip(1)
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        Some((above, found)) => match plain.strip_prefix(above) {
            Ok(rest) => found.join(rest),
            Err(_) => plain.clone(),
        },
        None => plain,
    }
}

/// Where worktrees of a repository are made, and the value that says so.
fn worktrees(all: Reader<'_>) -> Option<(PathBuf, &Node)> {
    let path = all.full_path("path")?;
    let name = all.text("repo").split_once('/')?.1.to_owned();
    match all.full_path("worktree_dir") {
        Some(dir) => Some((dir, all.get("worktree_dir"))),
        None => Some((super::read::beside(&path, &name), all.get("path"))),
    }
}

/// Checks the paths of one repository.
pub(super) fn check_paths(node: &Node, problems: &mut Problems) {
    let all = Reader::of(node);
    check_file(all, "event_db", problems);
    let (Some(clone), Some((dir, at))) = (all.full_path("path"), worktrees(all)) else {
        return;
    };
    let (clone, dir) = (resolve(&clone), resolve(&dir));
    let fault = if dir.parent().is_none() {
        "is the root of the file system"
    } else if dir == clone {
        "is the clone itself"
    } else if dir.starts_with(clone.join(".git")) {
        "lies inside the clone's `.git`"
    } else if clone.starts_with(&dir) {
        "holds the clone itself"
    } else {
        return;
    };
    let hint =
        "leave it out for `../<repo>-worktrees` beside the clone, or name a directory of its own";
    let fault = Fault::new(format!("`worktree_dir` {fault}"));
    problems.add(at.at, fault.hint(hint));
}

/// The files that the loop keeps for itself.
pub(super) fn check_top(top: &Node, problems: &mut Problems) {
    for key in ["daemon_log", "daemon_pid"] {
        check_file(Reader::of(top), key, problems);
    }
}

/// Opening it would fail in the middle of the night, or with words that name no key.
fn check_file(all: Reader<'_>, key: &str, problems: &mut Problems) {
    let node = all.get(key);
    let Some(path) = all.full_path(key) else {
        return;
    };
    let ends = node.text().is_some_and(|text| text.ends_with('/'));
    if ends || path.is_dir() {
        let fault = Fault::new(format!("`{key}` is a directory: `{}`", node.shown()));
        problems.add(node.at, fault.hint("name a file in it"));
    }
}

/// Two names for one thing would work on the same issues, or in the same files, twice.
pub(super) fn check_shared(laid_out: &BTreeMap<String, Node>, problems: &mut Problems) {
    let mut seen: Vec<(&str, Reader<'_>)> = Vec::new();
    for (alias, node) in laid_out {
        let all = Reader::of(node);
        for &(earlier, other) in &seen {
            check_pair((earlier, other), (alias, all), problems);
        }
        seen.push((alias, all));
    }
}

type Named<'a> = (&'a str, Reader<'a>);

fn check_pair((earlier, other): Named<'_>, (alias, all): Named<'_>, problems: &mut Problems) {
    let slug = |all: Reader<'_>| {
        let host = all.at("github").text("api_url");
        let host = host.trim_end_matches('/').to_ascii_lowercase();
        (host, all.text("repo").to_ascii_lowercase())
    };
    if slug(all) == slug(other) && !all.text("repo").is_empty() {
        let node = all.get("repo");
        let message = format!(
            "`{alias}` is the same repository as `{earlier}`: `{}`",
            node.shown()
        );
        let hint = "remove one of them: its issues would be worked on twice";
        problems.add(node.at, Fault::new(message).hint(hint));
        return;
    }
    let clone = |all: Reader<'_>| all.full_path("path").map(|path| resolve(&path));
    if clone(all).is_some() && clone(all) == clone(other) {
        let node = all.get("path");
        let message = format!("`{alias}` has the clone of `{earlier}`: `{}`", node.shown());
        let hint = "give each repository a clone of its own";
        problems.add(node.at, Fault::new(message).hint(hint));
    }
    let dir = |all| worktrees(all).map(|(dir, _)| resolve(&dir));
    if let Some((_, at)) = worktrees(all).filter(|_| dir(all) == dir(other)) {
        // The way there may hold a variable, the name of the directory is ours.
        let shown = dir(all).unwrap_or_default();
        let shown = if at.variables.is_empty() {
            shown.display().to_string()
        } else {
            let name = shown.file_name().map(OsStr::to_string_lossy);
            format!("…/{}", name.unwrap_or_default())
        };
        let message = format!("`{alias}` makes its worktrees where `{earlier}` does: `{shown}`");
        let hint = "give each a `worktree_dir` of its own";
        problems.add(at.at, Fault::new(message).hint(hint));
    }
}
