//! The markers in comments (protocol.md, section 5 and 7): keys, the checkpoint, lock markers; and making
//! the text of others harmless before we post it.
//!
//! It must not write prose: what people read in our comments is composed elsewhere, around these parts.

mod harmless;
mod lock;

use std::str::FromStr;

pub use harmless::{fence, head, neutralise, one_line, strip_ansi, tail};
pub use lock::{ASSIGNED_BEFORE, LockBy, LockMarker, lock_markers, render_lock};

use super::body::{parse_state, render_state_block};
use super::ids::{IssueNumber, RepoSlug};
use super::limits;
use super::state::IssueState;

/// The word of the lock marker unless the configuration says another.
pub const MARKER_WORD: &str = "claude-lock";

/// The line that says a run is finished.
pub const FINISHED_MARKER: &str = "<!-- ghswarm:finished -->";

const OURS: &str = "<!-- ghswarm:";
const KEY: &str = "<!-- ghswarm:key=";
const RUN: &str = "<!-- ghswarm:run ";
const MIRROR_OPENS: &str = "<details><summary>State</summary>";
const MIRROR_CLOSES: &str = "</details>";
const STATE_OPENS: &str = "<!-- GHSWARM_STATE_START";
const STATE_CLOSES: &str = "GHSWARM_STATE_END -->";

/// Does the body begin as every comment of ghswarm does? Whether it *is* ours also needs its author.
pub fn is_posted_by_ghswarm(body: &str) -> bool {
    body.starts_with(OURS)
}

/// What an agent's question begins with, in the line after the key.
pub const QUESTION: &str = "**The agent asks before it goes on:**";

/// What an answer begins with that was given on the command line, in the line after the key.
pub const ANSWER: &str = "**Answer:**\n\n";

/// Is it an agent's question, as ghswarm posts it? Whether it *is* ours also needs its author.
pub fn asks(body: &str) -> bool {
    is_posted_by_ghswarm(body)
        && body
            .lines()
            .nth(1)
            .is_some_and(|line| line.trim() == QUESTION)
}

/// The answer in a comment that says one from the command line.
pub fn answer_in(body: &str) -> Option<&str> {
    let (_, text) = body.split_once('\n')?;
    key_of(body)?.contains("/answer-").then_some(())?;
    text.strip_prefix(ANSWER).map(str::trim_end)
}

/// The first line of a comment that must not be posted twice. Keys are made of ASCII letters, digits
/// and `._/:-`; any other character becomes `_`, so that no key can close the marker.
pub fn key_marker(key: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || "._/:-".contains(c) {
            c
        } else {
            '_'
        }
    };
    let key: String = key.chars().map(safe).collect();
    format!("{KEY}{key} -->")
}

/// The key of a comment, if a key marker is its first bytes.
pub fn key_of(body: &str) -> Option<&str> {
    let (key, _) = body.strip_prefix(KEY)?.split_once(" -->")?;
    (!key.is_empty() && !key.contains(char::is_whitespace)).then_some(key)
}

/// What the checkpoint says: our one comment on an issue that is rewritten as work goes on.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Checkpoint {
    /// The repository it was written for.
    pub repo: RepoSlug,
    /// The issue it was written for.
    pub issue: IssueNumber,
    /// Who claims it.
    pub lock: Option<LockMarker>,
    /// Is the run over?
    pub finished: bool,
    /// The mirrored state.
    pub state: Option<IssueState>,
}

/// The first line of a checkpoint.
pub fn render_run(repo: &RepoSlug, issue: IssueNumber) -> String {
    format!("{RUN}{repo}#{issue} -->")
}

/// Reads a checkpoint; `None` if the body does not begin as one. Whether to believe it depends on its
/// author, which the caller checks.
pub fn parse_checkpoint(body: &str, marker_word: &str) -> Option<Checkpoint> {
    let first = body.lines().next()?.trim_end();
    let name = first.strip_prefix(RUN)?.strip_suffix(" -->")?.trim();
    let (repo, issue) = name.split_once('#')?;
    Some(Checkpoint {
        repo: RepoSlug::from_str(repo).ok()?,
        issue: IssueNumber::from_str(issue).ok()?,
        lock: lock_markers(body, marker_word).into_iter().next(),
        finished: is_finished(body),
        state: mirrored_state(body),
    })
}

/// Does the part before the first `<details>` say that the run is over?
pub fn is_finished(body: &str) -> bool {
    head_lines(body).any(|line| matches!(line.trim_end(), FINISHED_MARKER | "**Finished**"))
}

/// The lines before the first line that begins with `<details>`; code and quotes left out, so that who
/// shows a marker does not set one.
fn head_lines(body: &str) -> impl Iterator<Item = &str> {
    use super::body::markdown;
    let folds = |line: &str| {
        line.get(..8)
            .is_some_and(|l| l.eq_ignore_ascii_case("<details"))
    };
    let end = markdown::lines(body)
        .find(|(_, line)| folds(line))
        .map_or(body.len(), |(at, _)| at);
    let head = &body[..end];
    let reading = markdown::read(head);
    markdown::lines(head)
        .filter(move |(at, line)| !reading.is_quoted(at + line.len() - line.trim_start().len()))
        .map(|(_, line)| line)
}

/// The state does not fit a comment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the state would have {bytes} bytes, the limit is {max}", max = limits::STATE_BYTES_MAX)]
pub struct MirrorError {
    /// Its size.
    pub bytes: usize,
}

/// The mirrored state. It has to be the last thing in the comment: what stands elsewhere in it is never
/// read as state, whoever wrote it.
///
/// # Errors
/// The state is larger than what we post.
pub fn render_mirrored_state(state: &IssueState) -> Result<String, MirrorError> {
    let block = render_state_block(state);
    if block.len() > limits::STATE_BYTES_MAX {
        return Err(MirrorError { bytes: block.len() });
    }
    Ok(format!("{MIRROR_OPENS}\n\n{block}\n{MIRROR_CLOSES}\n"))
}

/// The state that the end of a checkpoint mirrors.
pub fn mirrored_state(body: &str) -> Option<IssueState> {
    let body = body.trim_end().strip_suffix(MIRROR_CLOSES)?.trim_end();
    let body = body.strip_suffix(STATE_CLOSES)?;
    let start = body.rfind(STATE_OPENS)?;
    let before = body[..start].trim_end().strip_suffix(MIRROR_OPENS)?;
    if !(before.is_empty() || before.ends_with('\n')) {
        return None;
    }
    let json = &body[start + STATE_OPENS.len()..];
    if json.len() > limits::STATE_BYTES_MAX {
        return None;
    }
    parse_state(json).ok()
}

#[cfg(test)]
mod tests;
