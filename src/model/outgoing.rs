//! What a push would bring to GitHub, commit by commit: a later commit takes nothing back out of the
//! history. Facts only; what must not leave is `decide`'s question.

use std::collections::BTreeSet;

use super::ids::Sha;
use super::secrets::Secrets;

/// A commit of the branch that the base does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingCommit {
    /// Its id.
    pub sha: Sha,
    /// Its whole message.
    pub message: String,
    /// What it changes against its parent; of a merge, what it changes against every parent.
    pub changes: Vec<OutgoingChange>,
    /// Secrets in what it adds, and in its message. Not more than `limits::SECRETS_NAMED_MAX`.
    pub secrets: Vec<OutgoingSecret>,
}

/// A secret that a commit would bring along: where, and what. Never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutgoingSecret {
    /// The file, from the repository's top; `None`: the message.
    pub path: Option<String>,
    /// The line in it as the commit leaves it, from 1.
    pub line: usize,
    /// What it is, for people.
    pub kind: &'static str,
}

/// The secrets in these lines, the first of which has the number `line`.
pub fn secrets_in<'a>(
    secrets: &Secrets,
    path: Option<&'a str>,
    (line, text): (usize, &'a [u8]),
) -> impl Iterator<Item = OutgoingSecret> + 'a {
    let found = secrets.find(text).into_iter();
    found.map(move |found| OutgoingSecret {
        path: path.map(str::to_owned),
        line: line + text[..found.at].split(|byte| *byte == b'\n').count() - 1,
        kind: found.kind,
    })
}

/// A path that a commit adds, changes or deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingChange {
    /// From the repository's top.
    pub path: String,
    /// How large the file is there, bytes; 0 where it is gone or not known.
    pub bytes: u64,
}

/// Paths that differ between base and head without any commit that changes them belong to the head: a
/// merge that takes the base's changes back consists of old files alone.
pub fn add_unexplained(commits: &mut [OutgoingCommit], differing: Vec<OutgoingChange>) {
    let explained: BTreeSet<String> = commits
        .iter()
        .flat_map(|commit| &commit.changes)
        .map(|change| change.path.clone())
        .collect();
    if let Some(head) = commits.last_mut() {
        let unexplained = |change: &OutgoingChange| !explained.contains(&change.path);
        head.changes
            .extend(differing.into_iter().filter(unexplained));
    }
}
