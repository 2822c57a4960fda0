//! The process table: which processes belong to a run. It only looks and signals, it never decides.
//!
//! A process belongs to a run if it is in the command's process group, descends from the supervisor
//! (which is the subreaper, so that a double fork does not get away), or carries the run's tag in
//! its environment (which is how the next step finds what a dead supervisor left). What the supervisor
//! started for its own sake does not.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::adapters::own;
use crate::model::run::RunKey;
use crate::ports::processes::Force;

/// Names a run in the environment of its processes.
pub(super) const TAG_KEY: &str = "GHSWARM_RUN";
/// Its folder: two repositories, or two homes, may have a run of the same name.
pub(super) const TAG_FOLDER: &str = "GHSWARM_RUN_FOLDER";

/// What marks the processes of one run.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub key: String,
    pub folder: String,
}

impl Tag {
    /// The tag of the run in `folder`, the same however the path was spelled.
    pub(super) fn of(key: &RunKey, folder: &Path) -> Self {
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Self {
            key: key.to_string(),
            folder: whole.display().to_string(),
        }
    }
}

/// One row of the table; zombies are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
}

/// Where to look for a run's processes.
#[derive(Debug, Clone, Default)]
pub(super) struct Roots {
    /// The command's process group.
    pub group: Option<i32>,
    /// The supervisor, whose descendants count.
    pub supervisor: Option<i32>,
}

/// The living processes of a run.
pub(super) fn members(tag: &Tag, roots: &Roots) -> io::Result<Vec<Row>> {
    let rows = rows()?;
    let parents: HashMap<i32, i32> = rows.iter().map(|row| (row.pid, row.parent)).collect();
    let tagged = tagged(&rows, tag);
    let this = i32::try_from(std::process::id()).unwrap_or_default();
    let of_ours = own::all();
    let is_ours = |pid: i32| {
        of_ours
            .iter()
            .any(|root| *root == pid || descends(&parents, pid, *root))
    };
    let belongs = |row: &Row| {
        row.pid != this
            && !is_ours(row.pid)
            && roots.supervisor != Some(row.pid)
            && (roots.group == Some(row.group)
                || roots
                    .supervisor
                    .is_some_and(|root| descends(&parents, row.pid, root))
                || tagged.contains(&row.pid))
    };
    Ok(rows.iter().copied().filter(belongs).collect())
}

fn descends(parents: &HashMap<i32, i32>, mut pid: i32, root: i32) -> bool {
    // The table is not read in one moment, so it may seem to hold a circle.
    for _ in 0..parents.len() {
        match parents.get(&pid) {
            Some(parent) if *parent == root => return true,
            Some(parent) => pid = *parent,
            None => return false,
        }
    }
    false
}

/// Signals the members of a run: the group at once, so that a fork does not slip through, then each
/// process. One that is gone already is fine.
pub(super) fn signal(members: &[Row], roots: &Roots, force: Force) {
    let signal = match force {
        Force::Freeze => Signal::STOP,
        Force::Thaw => Signal::CONT,
        Force::Terminate => Signal::TERM,
        Force::Kill => Signal::KILL,
    };
    // Only while the table still lists a member: the number of an empty group may be given away.
    let group = roots
        .group
        .filter(|group| members.iter().any(|row| row.group == *group));
    if let Some(group) = group.and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
    for row in members.iter().filter(|row| Some(row.group) != group) {
        if let Some(pid) = Pid::from_raw(row.pid) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Takes away zombies that came to the subreaper, all but `but` and our own children, whose status is
/// still wanted.
pub(super) fn reap_adopted(but: Option<i32>) {
    use rustix::process::{WaitOptions, waitpid};
    let this = i32::try_from(std::process::id()).unwrap_or_default();
    let ours = own::all();
    for row in all_rows().unwrap_or_default() {
        if is_adopted(&row, this, but, &ours) {
            let _ = waitpid(Pid::from_raw(row.row.pid), WaitOptions::NOHANG);
        }
    }
}

fn is_adopted(any: &AnyRow, this: i32, but: Option<i32>, ours: &BTreeSet<i32>) -> bool {
    let pid = any.row.pid;
    any.zombie && any.row.parent == this && Some(pid) != but && !ours.contains(&pid)
}

/// A row that may be a zombie.
struct AnyRow {
    row: Row,
    zombie: bool,
}

fn rows() -> io::Result<Vec<Row>> {
    Ok(all_rows()?
        .into_iter()
        .filter(|any| !any.zombie)
        .map(|any| any.row)
        .collect())
}

#[cfg(target_os = "linux")]
fn all_rows() -> io::Result<Vec<AnyRow>> {
    let mut rows = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // A process that ended since the listing is no error.
        if let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) {
            rows.extend(parse_stat(pid, &stat));
        }
    }
    Ok(rows)
}

/// `pid (name) state ppid pgrp …`; the name may hold spaces and parentheses.
#[cfg(target_os = "linux")]
fn parse_stat(pid: i32, stat: &str) -> Option<AnyRow> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some(AnyRow {
        row: Row { pid, parent, group },
        zombie: matches!(state, "Z" | "X"),
    })
}

#[cfg(target_os = "linux")]
fn tagged(rows: &[Row], tag: &Tag) -> HashSet<i32> {
    let wanted = [
        format!("{TAG_KEY}={}", tag.key),
        format!("{TAG_FOLDER}={}", tag.folder),
    ];
    let is_tagged = |row: &&Row| {
        // Unreadable means another user's, or gone: not ours.
        std::fs::read(format!("/proc/{}/environ", row.pid)).is_ok_and(|environment| {
            let has = |entry: &String| {
                environment
                    .split(|byte| *byte == 0)
                    .any(|found| found == entry.as_bytes())
            };
            wanted.iter().all(has)
        })
    };
    rows.iter().filter(is_tagged).map(|row| row.pid).collect()
}

#[cfg(not(target_os = "linux"))]
fn all_rows() -> io::Result<Vec<AnyRow>> {
    let row = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let mut number = || fields.next().and_then(|field| field.parse::<i32>().ok());
        let row = Row {
            pid: number()?,
            parent: number()?,
            group: number()?,
        };
        Some(AnyRow {
            row,
            zombie: fields.next().is_some_and(|stat| stat.starts_with('Z')),
        })
    };
    Ok(ps(&["-A", "-o", "pid=,ppid=,pgid=,stat="])?
        .lines()
        .filter_map(row)
        .collect())
}

/// Best effort: macOS shows a process's environment behind its command, to its owner, and hides that
/// of protected programs. One `ps` for all of them, since each costs milliseconds.
#[cfg(not(target_os = "linux"))]
fn tagged(_rows: &[Row], tag: &Tag) -> HashSet<i32> {
    let (key, folder) = (
        format!("{TAG_KEY}={}", tag.key),
        format!("{TAG_FOLDER}={}", tag.folder),
    );
    let pid = |line: &str| {
        line.split_ascii_whitespace()
            .next()
            .and_then(|pid| pid.parse().ok())
    };
    ps(&["-A", "-E", "-ww", "-o", "pid=,command="])
        .unwrap_or_default()
        .lines()
        .filter(|line| line.contains(&key) && line.contains(&folder))
        .filter_map(pid)
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn ps(arguments: &[&str]) -> io::Result<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the adapter that owns child processes"
    )]
    let mut command = std::process::Command::new("ps");
    let output = command.args(arguments).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The boot this machine is in, where the system names it.
pub(super) fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests;
