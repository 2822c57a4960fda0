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
    /// Secrets in what it adds, in names of files, in its message and in who made it. Not more than `limits::SECRETS_NAMED_MAX`.
    pub secrets: Vec<OutgoingSecret>,
}

/// A secret that a commit would bring along: where, and what. Never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutgoingSecret {
    /// Where it stands.
    pub place: SecretPlace,
    /// The line there, from 1; of a file as the commit leaves it.
    pub line: usize,
    /// What it is, for people.
    pub kind: &'static str,
}

/// A part of a commit in which a secret can stand.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretPlace {
    /// The file of this path, from the repository's top.
    File(String),
    /// The path of a file; here without the secret.
    Name(String),
    /// The message.
    Message,
    /// What stands before the message: author, committer, signature.
    Header,
}

/// The secrets in the path of a file.
pub fn secrets_in_name(secrets: &Secrets, path: &str) -> Vec<OutgoingSecret> {
    let shown = || SecretPlace::Name(secrets.redact(path));
    let mut found: Vec<_> = secrets_in(secrets, shown, (1, path.as_bytes())).collect();
    found.dedup();
    found
}

/// The secrets in these lines, the first of which has the number `line`.
pub fn secrets_in<'a>(
    secrets: &Secrets,
    place: impl Fn() -> SecretPlace + 'a,
    (line, text): (usize, &'a [u8]),
) -> impl Iterator<Item = OutgoingSecret> + 'a {
    let found = secrets.find(text).into_iter();
    found.map(move |found| OutgoingSecret {
        place: place(),
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
