//! The working directory as the hooks see it: which branch is checked out, for which issue, and the note that
//! says that this agent holds it. Reads files and starts nothing: a hook runs before every edit.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::ids::IssueNumber;
use crate::model::ids::Timestamp;
use crate::model::limits::LEASE_TTL_MIN_MAX;

/// The note's name in the worktree's git folder. gh-issue-lease reads and writes the same one.
const NOTE: &str = "gh-issue-lease-hold.json";

/// A worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// Its own git folder, not the clone's.
    pub git_dir: PathBuf,
    /// The branch that is checked out.
    pub branch: Option<String>,
}

impl Checkout {
    /// The worktree around a folder.
    pub fn around(dir: &Path) -> Option<Self> {
        let git_dir = dir.ancestors().find_map(git_dir_in)?;
        let head = std::fs::read_to_string(git_dir.join("HEAD")).ok()?;
        let branch = head.trim().strip_prefix("ref: refs/heads/");
        Some(Self {
            branch: branch.map(ToOwned::to_owned),
            git_dir,
        })
    }

    /// The issue that the branch's name says it is for.
    pub fn issue(&self) -> Option<IssueNumber> {
        issue_of_branch(self.branch.as_deref()?)
    }

    /// The note, if it is there and can be read.
    pub fn note(&self) -> Option<Note> {
        let text = std::fs::read_to_string(self.git_dir.join(NOTE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes the note; one that cannot be written costs requests, nothing else.
    pub fn write(&self, note: &Note) {
        if let Ok(text) = serde_json::to_string(note) {
            let _ = std::fs::write(self.git_dir.join(NOTE), text);
        }
    }

    /// Takes the notes of this issue away, here and in the clone's other worktrees: an edit must not be let
    /// through there by one that is no longer true.
    pub fn forget_everywhere(&self, issue: IssueNumber) {
        let common = std::fs::read_to_string(self.git_dir.join("commondir"));
        let common = common.map_or_else(
            |_| self.git_dir.clone(),
            |path| self.git_dir.join(path.trim()),
        );
        let others = std::fs::read_dir(common.join("worktrees")).into_iter();
        let others = others.flatten().flatten().map(|entry| entry.path());
        for git_dir in std::iter::once(common.clone()).chain(others) {
            let one = Self {
                git_dir,
                branch: None,
            };
            if one.note().is_some_and(|note| note.issue == issue) {
                one.forget();
            }
        }
    }

    /// Takes the note away.
    pub fn forget(&self) {
        let _ = std::fs::remove_file(self.git_dir.join(NOTE));
    }
}

/// `.git`: a folder, or a file that names one.
fn git_dir_in(dir: &Path) -> Option<PathBuf> {
    let path = dir.join(".git");
    if path.is_dir() {
        return Some(path);
    }
    let text = std::fs::read_to_string(&path).ok()?;
    let named = text.trim().strip_prefix("gitdir:")?.trim();
    Some(dir.join(named))
}

/// That an agent holds an issue here, by the clock of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The issue.
    pub issue: IssueNumber,
    /// `AGENT_ID`.
    pub owner: String,
    /// The lease's time to live in minutes.
    pub ttl_min: u64,
    /// When the lease was stamped, in milliseconds since 1970.
    pub at: i64,
}

impl Note {
    /// Does it say that this owner holds this issue, stamped within this part of its time?
    pub fn holds(&self, issue: IssueNumber, owner: &str, now: Timestamp, part: i64) -> bool {
        // Times that no lease can have are a damaged note's, and such a note says nothing.
        let Some(age) = now.timestamp_millis().checked_sub(self.at) else {
            return false;
        };
        let ttl_min = u32::try_from(self.ttl_min).unwrap_or(u32::MAX);
        if ttl_min > LEASE_TTL_MIN_MAX {
            return false;
        }
        let ttl = i64::from(ttl_min) * 60_000;
        // A note from the future is one of another clock.
        self.issue == issue && self.owner == owner && age >= 0 && age < ttl / part
    }
}

/// `fix/42-slow-start`, `issue-42`, `me/issue-42-slow-start`: the branches of gh-issue-lease.
pub fn issue_of_branch(branch: &str) -> Option<IssueNumber> {
    let leading = |text: &str| {
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, rest) = text.split_at(end);
        digits
            .parse::<IssueNumber>()
            .ok()
            .map(|issue| (issue, rest.starts_with('-')))
    };
    let segment = |part: &str| {
        let bare = part.strip_prefix("issue-").unwrap_or(part);
        leading(bare)
            .filter(|(_, goes_on)| *goes_on)
            .map(|(issue, _)| issue)
    };
    branch.split('/').find_map(segment).or_else(|| {
        let (_, rest) = branch.split_once("issue-")?;
        leading(rest).map(|(issue, _)| issue)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_for_the_issue_its_name_begins_with() {
        let of = |branch| issue_of_branch(branch).map(|issue| issue.0);
        for branch in [
            "fix/42-slow",
            "42-slow",
            "issue-42",
            "me/issue-42",
            "issue-42-slow",
            "a/b/42-c",
        ] {
            assert_eq!(of(branch), Some(42), "{branch}");
        }
        for branch in [
            "main",
            "fix/slow-42",
            "release/1.2",
            "42",
            "v2-x",
            "issue-0",
            "issue-",
        ] {
            assert_eq!(of(branch), None, "{branch}");
        }
    }

    #[test]
    fn a_worktree_has_a_git_folder_and_a_note_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("clone/.git/worktrees/w");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir_all(dir.path().join("w/src")).unwrap();
        std::fs::write(inner.join("HEAD"), "ref: refs/heads/issue-7\n").unwrap();
        std::fs::write(
            dir.path().join("w/.git"),
            "gitdir: ../clone/.git/worktrees/w\n",
        )
        .unwrap();
        let checkout = Checkout::around(&dir.path().join("w/src")).unwrap();
        assert_eq!(checkout.issue(), Some(IssueNumber(7)));
        let note = Note {
            issue: IssueNumber(7),
            owner: "a".to_owned(),
            ttl_min: 240,
            at: 1000,
        };
        checkout.write(&note);
        let text = std::fs::read_to_string(inner.join(NOTE)).unwrap();
        assert_eq!(text, r#"{"issue":7,"owner":"a","ttlMin":240,"at":1000}"#);
        assert_eq!(checkout.note(), Some(note));
        std::fs::write(inner.join("HEAD"), format!("{}\n", "a".repeat(40))).unwrap();
        assert_eq!(
            Checkout::around(&dir.path().join("w")).unwrap().issue(),
            None,
            "no branch"
        );
        assert_eq!(Checkout::around(Path::new("/")), None);
    }

    #[test]
    fn a_note_counts_for_its_issue_its_owner_and_its_time() {
        let note = Note {
            issue: IssueNumber(7),
            owner: "a".to_owned(),
            ttl_min: 3,
            at: 0,
        };
        let at = |secs| Timestamp::from_timestamp(secs, 0).unwrap();
        assert!(note.holds(IssueNumber(7), "a", at(179), 1));
        assert!(!note.holds(IssueNumber(7), "a", at(180), 1));
        assert!(
            !note.holds(IssueNumber(7), "a", at(60), 3)
                && note.holds(IssueNumber(7), "a", at(59), 3)
        );
        assert!(
            !note.holds(IssueNumber(7), "b", at(0), 1)
                && !note.holds(IssueNumber(8), "a", at(0), 1)
        );
        assert!(
            !note.holds(IssueNumber(7), "a", at(-1), 1),
            "from the future"
        );
    }

    #[test]
    fn a_note_whose_times_no_lease_can_have_is_not_believed() {
        let now = Timestamp::from_timestamp(1_764_500_000, 0).unwrap();
        let stamped = now.timestamp_millis();
        let (longest, endless) = (u64::from(LEASE_TTL_MIN_MAX), u64::MAX);
        for (at, ttl_min, believed) in [
            (stamped, longest, true),
            (stamped, longest + 1, false),
            (stamped, endless, false),
            (i64::MIN, longest, false),
            (i64::MIN, endless, false),
            (i64::MAX, longest, false),
            (0, longest, false),
            (0, endless, false),
        ] {
            let note = Note {
                issue: IssueNumber(7),
                owner: "a".to_owned(),
                ttl_min,
                at,
            };
            let holds = note.holds(IssueNumber(7), "a", now, 1);
            assert_eq!(holds, believed, "{at} {ttl_min}");
        }
    }
}
