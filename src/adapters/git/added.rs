//! The lines that commits add, searched for secrets. Changes nothing, and keeps nothing of what it reads but
//! where a secret stands.
//!
//! What the repository says about its files (`-diff` in `.gitattributes`) does not keep them from being
//! searched: whoever commits a secret can commit that, too. A file that only moved is not new.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use git2::{Commit, DiffDelta, DiffFindOptions, DiffHunk, DiffLine, DiffOptions, Repository, Tree};

use crate::model::limits::{SEARCHED_BYTES_MAX, SEARCHED_FILE_BYTES_MAX};
use crate::model::outgoing::{OutgoingCommit, OutgoingSecret, SecretPlace, secrets_in};
use crate::model::secrets::Secrets;

use super::command::{Call, Runner};
use super::look::LookError;

/// A search over all commits of a branch, with a limit to what it reads.
pub(super) struct Search<'a> {
    secrets: &'a Secrets,
    /// Bytes that may still be read.
    left: Cell<usize>,
}

/// Lines that follow one another.
#[derive(Default)]
struct Lines {
    path: String,
    /// The number of the first one.
    first: usize,
    next: usize,
    /// Bytes of this file so far.
    of_file: usize,
    text: Vec<u8>,
}

impl<'a> Search<'a> {
    pub(super) fn new(secrets: &'a Secrets) -> Self {
        let left = Cell::new(SEARCHED_BYTES_MAX);
        Self { secrets, left }
    }

    /// What this commit adds; of a merge what it adds to every parent, since the rest is another commit's.
    pub(super) fn commit(
        &mut self,
        repo: &Repository,
        commit: &Commit<'_>,
    ) -> Result<Vec<OutgoingSecret>, LookError> {
        let tree = commit.tree()?;
        let mut parents = commit.parents();
        let first = parents.next().map(|parent| parent.tree()).transpose()?;
        let mut found = self.between(repo, first.as_ref(), &tree)?;
        for parent in parents {
            if found.is_empty() {
                break;
            }
            let others = self.between(repo, Some(&parent.tree()?), &tree)?;
            found.retain(|secret| others.contains(secret));
        }
        Ok(found.into_iter().collect())
    }

    fn between(
        &self,
        repo: &Repository,
        old: Option<&Tree<'_>>,
        new: &Tree<'_>,
    ) -> Result<BTreeSet<OutgoingSecret>, LookError> {
        let mut options = DiffOptions::new();
        options.context_lines(0).force_text(true);
        options.max_size(i64::try_from(SEARCHED_FILE_BYTES_MAX).unwrap_or(i64::MAX));
        let mut diff = repo.diff_tree_to_tree(old, Some(new), Some(&mut options))?;
        let mut moved = DiffFindOptions::new();
        diff.find_similar(Some(moved.renames(true).exact_match_only(true)))?;
        let found = RefCell::new(BTreeSet::new());
        let lines = RefCell::new(Lines::default());
        diff.foreach(
            &mut |_, _| true,
            None,
            None::<&mut dyn FnMut(DiffDelta<'_>, DiffHunk<'_>) -> bool>,
            Some(&mut |delta: DiffDelta<'_>, _, line: DiffLine<'_>| {
                if let ('+', Some(number)) = (line.origin(), line.new_lineno()) {
                    let path = delta.new_file().path_bytes().unwrap_or_default();
                    let path = String::from_utf8_lossy(path);
                    let at = (&*path, usize::try_from(number).unwrap_or(usize::MAX));
                    self.line(&mut lines.borrow_mut(), at, line.content(), &found);
                }
                true
            }),
        )?;
        self.end(&mut lines.borrow_mut(), &mut found.borrow_mut());
        Ok(found.into_inner())
    }

    fn line(
        &self,
        lines: &mut Lines,
        (path, number): (&str, usize),
        text: &[u8],
        found: &RefCell<BTreeSet<OutgoingSecret>>,
    ) {
        if lines.path != path || lines.next != number {
            self.end(lines, &mut found.borrow_mut());
            if lines.path != path {
                path.clone_into(&mut lines.path);
                lines.of_file = 0;
            }
            lines.first = number;
        }
        lines.next = number.saturating_add(1);
        let room = self.left.get().min(SEARCHED_FILE_BYTES_MAX - lines.of_file);
        let text = &text[..text.len().min(room)];
        lines.text.extend_from_slice(text);
        lines.of_file += text.len();
        self.left.set(self.left.get() - text.len());
    }

    /// Lines are searched together, since a key has many of them.
    fn end(&self, lines: &mut Lines, found: &mut BTreeSet<OutgoingSecret>) {
        let place = (lines.first, lines.text.as_slice());
        let file = || SecretPlace::File(lines.path.clone());
        found.extend(secrets_in(self.secrets, file, place));
        lines.text.clear();
    }
}

/// The same by git itself: one command for all commits.
pub(super) async fn search_with_cli(
    runner: &Runner,
    call: &Call<'_>,
    (ids, commits): (&str, &mut [OutgoingCommit]),
    secrets: &Secrets,
) -> Result<(), LookError> {
    let call = call
        .clone()
        .arg("-c")
        .arg(format!("core.bigFileThreshold={SEARCHED_FILE_BYTES_MAX}"));
    let call = call.arg("-c").arg("core.quotePath=false");
    let call = call
        .arg("diff-tree")
        .arg("--stdin")
        .arg("-r")
        .arg("--root")
        .arg("-c")
        .arg("-p");
    let call = call
        .arg("--unified=0")
        .arg("--no-color")
        .arg("--no-ext-diff")
        .arg("--no-textconv");
    let call = call
        .arg("--text")
        .arg("--find-renames=100%")
        .arg("--no-prefix")
        .input(ids);
    let answer = runner.good(&call).await?.stdout;
    let search = Search::new(secrets);
    let found = RefCell::new(BTreeSet::new());
    let mut reader = Patch::default();
    let mut lines = Lines::default();
    for line in answer.split_inclusive(|byte| *byte == b'\n') {
        if let Some(id) = reader.commit_of(line) {
            let next = commits.iter().position(|commit| commit.sha.as_str() == id);
            search.end(&mut lines, &mut found.borrow_mut());
            lines.path.clear();
            give(commits, reader.place, &found);
            reader.place = next;
        } else if let Some((number, text)) = reader.added(line) {
            search.line(&mut lines, (&reader.path, number), text, &found);
        }
    }
    search.end(&mut lines, &mut found.borrow_mut());
    give(commits, reader.place, &found);
    Ok(())
}

fn give(
    commits: &mut [OutgoingCommit],
    place: Option<usize>,
    found: &RefCell<BTreeSet<OutgoingSecret>>,
) {
    let found = std::mem::take(&mut *found.borrow_mut());
    if let Some(commit) = place.and_then(|place| commits.get_mut(place)) {
        commit.secrets.extend(found);
    }
}

/// Where a reader of `diff-tree -p` is. The heading of a hunk says how many lines are in it, so none of them
/// can look like a heading.
#[derive(Default)]
struct Patch {
    place: Option<usize>,
    path: String,
    /// One sign for each parent stands in front of a line.
    parents: usize,
    /// Lines of the new file that this hunk still has.
    left: usize,
    number: usize,
}

impl Patch {
    /// A line between two commits' changes: the next one's id.
    fn commit_of<'a>(&self, line: &'a [u8]) -> Option<&'a str> {
        let id = std::str::from_utf8(line).ok()?.trim_end();
        let named = self.left == 0 && id.len() >= 40;
        (named && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
    }

    /// Number and text, where it is a line that every parent lacks.
    fn added<'a>(&mut self, line: &'a [u8]) -> Option<(usize, &'a [u8])> {
        if self.left == 0 {
            self.heading(line);
            return None;
        }
        let signs = line.get(..self.parents)?;
        if signs.contains(&b'-') || signs.first() == Some(&b'\\') {
            return None;
        }
        let number = self.number;
        self.number += 1;
        self.left -= 1;
        let everywhere = signs.iter().all(|sign| *sign == b'+');
        everywhere.then(|| (number, &line[self.parents..]))
    }

    /// `+++ PATH`, or `@@ -1,0 +2,3 @@` with one more `@` for each further parent.
    fn heading(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches('\n');
        if let Some(path) = text.strip_prefix("+++ ") {
            path.trim_end_matches('\t').clone_into(&mut self.path);
        }
        let signs = text.bytes().take_while(|byte| *byte == b'@').count();
        let new = text.split(' ').find_map(|word| word.strip_prefix('+'));
        if let (2.., Some(new)) = (signs, new) {
            let (first, count) = new.split_once(',').unwrap_or((new, "1"));
            self.parents = signs - 1;
            self.number = first.parse().unwrap_or(1);
            self.left = count.parse().unwrap_or(0);
        }
    }
}
