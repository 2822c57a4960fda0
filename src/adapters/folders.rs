//! The issue folders of one repository: `lock`, `run.json`, `first-seen.json`.
//!
//! What is in a claim and what it means is the engine's; this file must only make sure that a claim
//! is there whole or not at all, and that of many who create it one wins.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::model::claim::ClaimRecord;
use crate::model::ids::{IssueNumber, RepoId, Timestamp};
use crate::ports::folders::{Folders, StepGuard};
use crate::ports::{PortError, PortResult, Refusal};

use super::files;

/// So many lease commits are remembered an issue; older ones were replaced long ago.
const FIRST_SEEN_MAX: usize = 32;

/// The folders under `<home>/runs/<repository id>/`.
#[derive(Debug, Clone)]
pub struct LocalFolders {
    root: PathBuf,
}

/// What an archive leaves in its place: the lock (whoever held the old one would not exclude who makes a
/// new one), the claim (it is copied, and replaced in one move), what is known of leases, and earlier archives.
const STAYS: [&str; 4] = ["lock", "run.json", "first-seen.json", "superseded"];

struct FlockGuard {
    // Held for its lock: closing the file frees it.
    _file: File,
}

impl StepGuard for FlockGuard {}

impl LocalFolders {
    /// `run_root` is the user's `AGENT_RUN_ROOT`, which takes the place of `<home>/runs`.
    pub fn new(home: &Path, run_root: Option<&Path>, repo: RepoId) -> Self {
        let runs = run_root.map_or_else(|| home.join("runs"), Path::to_path_buf);
        Self {
            root: runs.join(repo.to_string()),
        }
    }

    /// The folder that holds everything of one issue, run folders too.
    pub fn folder(&self, issue: IssueNumber) -> PathBuf {
        self.root.join(format!("issue-{issue}"))
    }

    fn claim_path(&self, issue: IssueNumber) -> PathBuf {
        self.folder(issue).join("run.json")
    }

    fn made_folder(&self, issue: IssueNumber) -> PortResult<PathBuf> {
        let folder = self.folder(issue);
        files::make_folder(&folder).map_err(|e| failed("make the folder", &folder, &e))?;
        Ok(folder)
    }

    fn read_first_seen(path: &Path) -> BTreeMap<String, Timestamp> {
        let text = files::read_if_there(path).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "cannot read");
            None
        });
        // A damaged file is forgotten: the lease is then seen "for the first time" later than in
        // truth, which only waits longer before it is taken for dead.
        text.and_then(|t| serde_json::from_str(&t).ok())
            .unwrap_or_default()
    }
}

impl Folders for LocalFolders {
    fn lock(&self, issue: IssueNumber) -> PortResult<Option<Box<dyn StepGuard>>> {
        let path = self.made_folder(issue)?.join("lock");
        let file = open_lock(&path).map_err(|e| failed("open the lock", &path, &e))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(FlockGuard { _file: file }))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(failed("lock", &path, &e)),
        }
    }

    fn claim(&self, issue: IssueNumber) -> PortResult<Option<ClaimRecord>> {
        let path = self.claim_path(issue);
        let what = "read the claim at";
        let Some(text) = files::read_if_there(&path).map_err(|e| failed(what, &path, &e))? else {
            return Ok(None);
        };
        let record: ClaimRecord = serde_json::from_str(&text).map_err(|e| {
            refused(
                what,
                &path,
                format!(
                    "the file is damaged ({e}); move it away: mv {at} {at}.damaged; the lease of that \
                     claim keeps everybody off, this home too, until it runs out",
                    at = path.display()
                ),
            )
        })?;
        if record.issue != issue {
            let words = format!("the file names issue #{}, not #{issue}", record.issue);
            return Err(refused(what, &path, words));
        }
        Ok(Some(record))
    }

    fn create_claim(&self, record: &ClaimRecord) -> PortResult<bool> {
        self.made_folder(record.issue)?;
        let path = self.claim_path(record.issue);
        files::create_exclusively(&path, &render(record, &path)?)
            .map_err(|e| failed("create the claim at", &path, &e))
    }

    fn replace_claim(&self, record: &ClaimRecord) -> PortResult<()> {
        self.made_folder(record.issue)?;
        let path = self.claim_path(record.issue);
        files::replace(&path, &render(record, &path)?)
            .map_err(|e| failed("replace the claim at", &path, &e))
    }

    fn remove_claim(&self, issue: IssueNumber) -> PortResult<()> {
        let path = self.claim_path(issue);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove the claim at", &path, &e))
            }
            _ => Ok(()),
        }
    }

    fn supersede(&self, issue: IssueNumber, now: Timestamp) -> PortResult<PathBuf> {
        let folder = self.made_folder(issue)?;
        // To the millisecond, and never one that is there: what was displaced twice in a second stays two.
        let stamp = now.format("%Y%m%dT%H%M%S%3fZ").to_string();
        let all = folder.join("superseded");
        files::make_folder(&all).map_err(|e| failed("make the folder", &all, &e))?;
        let mut archive = all.join(&stamp);
        let mut again = 1;
        while let Err(e) = fs::create_dir(&archive) {
            if e.kind() != io::ErrorKind::AlreadyExists {
                return Err(failed("make the folder", &archive, &e));
            }
            again += 1;
            archive = all.join(format!("{stamp}-{again}"));
        }
        let entries = fs::read_dir(&folder).map_err(|e| failed("list", &folder, &e))?;
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.map_err(|e| failed("list", &folder, &e))?.file_name());
        }
        names.retain(|name| !STAYS.iter().any(|stays| *name == *stays));
        for name in names {
            let (from, to) = (folder.join(&name), archive.join(&name));
            fs::rename(&from, &to).map_err(|e| failed("archive", &from, &e))?;
        }
        let claim = self.claim_path(issue);
        let text =
            files::read_if_there(&claim).map_err(|e| failed("read the claim at", &claim, &e))?;
        if let Some(text) = text {
            let copy = archive.join("run.json");
            files::replace(&copy, text.as_bytes()).map_err(|e| failed("archive", &copy, &e))?;
        }
        Ok(archive)
    }

    fn first_seen(&self, issue: IssueNumber, oid: &str, now: Timestamp) -> PortResult<Timestamp> {
        let path = self.made_folder(issue)?.join("first-seen.json");
        let mut seen = Self::read_first_seen(&path);
        if let Some(at) = seen.get(oid) {
            return Ok(*at);
        }
        while seen.len() >= FIRST_SEEN_MAX {
            let oldest = seen
                .iter()
                .min_by_key(|(_, at)| **at)
                .map(|(oid, _)| oid.clone());
            oldest.map(|oid| seen.remove(&oid));
        }
        seen.insert(oid.to_owned(), now);
        let text =
            serde_json::to_vec_pretty(&seen).map_err(|e| refused("write", &path, e.to_string()))?;
        files::replace(&path, &text).map_err(|e| failed("write", &path, &e))?;
        Ok(now)
    }

    fn claimed_issues(&self) -> PortResult<Vec<IssueNumber>> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(failed("list", &self.root, &e)),
        };
        let mut issues = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| failed("list", &self.root, &e))?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|n| n.strip_prefix("issue-"));
            if let Some(issue) = number.and_then(|n| n.parse::<IssueNumber>().ok())
                && self.claim_path(issue).exists()
            {
                issues.push(issue);
            }
        }
        issues.sort_unstable();
        Ok(issues)
    }
}

/// The lock file is never unlinked: whoever held the old one would not exclude who makes a new one.
fn open_lock(path: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn render(record: &ClaimRecord, path: &Path) -> PortResult<Vec<u8>> {
    serde_json::to_vec_pretty(record)
        .map_err(|e| refused("write the claim to", path, e.to_string()))
}

fn refused(what: &str, path: &Path, words: String) -> PortError {
    PortError::refused(
        format!("{what} `{}`", path.display()),
        Refusal::Local,
        words,
    )
}

fn failed(what: &str, path: &Path, error: &io::Error) -> PortError {
    refused(what, path, error.to_string())
}

#[cfg(test)]
mod tests;
