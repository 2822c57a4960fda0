//! Rewriting a body: our two blocks and the boxes of finished tasks. It must not touch another byte.

use std::ops::Range;

use super::blocks::{self, Kind, Layout};
use super::{StateBlock, read_state, read_tasks, render_state_block};
use crate::model::limits;
use crate::model::state::IssueState;

/// What to change; whatever is left out stays as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct BodyChange<'a> {
    /// The new state.
    pub state: Option<&'a IssueState>,
    /// The web address for the PR link block.
    pub pr_url: Option<&'a str>,
    /// The texts of the tasks to tick, as `Task::text` has them.
    pub tick: &'a [String],
}

/// Why a body was not rewritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// The state block is damaged: only `restore` may replace it.
    #[error("the state block is not valid at line {line}, column {column}: {message}")]
    StateInvalid {
        /// What is wrong.
        message: String,
        /// Line in the body, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// A newer ghswarm owns this issue.
    #[error("the state block is of the newer format {version}")]
    Newer {
        /// Its major version.
        version: u64,
    },
    /// GitHub would refuse the body.
    #[error("the body would have {chars} characters, GitHub takes {max}", max = limits::BODY_CHARS_MAX)]
    TooLarge {
        /// Length with our blocks.
        chars: usize,
    },
    /// Our own blocks are larger than what we allow ourselves.
    #[error("our blocks would have {bytes} bytes, the limit is {max}", max = limits::STATE_BYTES_MAX)]
    BlocksTooLarge {
        /// Their size.
        bytes: usize,
    },
    /// Not a web address that can stand in the block.
    #[error("`{url}` is no address for the PR link block")]
    PrUrl {
        /// As it was given.
        url: String,
    },
}

/// The body with the change made. Doing it again changes nothing more.
///
/// # Errors
/// A damaged or newer state block, and sizes.
pub fn rewrite(body: &str, change: &BodyChange<'_>) -> Result<String, RewriteError> {
    let layout = blocks::find(body);
    match read_state(body, &layout) {
        StateBlock::Absent | StateBlock::Found { .. } => edit(body, &layout, change),
        StateBlock::Newer { version } => Err(RewriteError::Newer { version }),
        StateBlock::Invalid {
            message,
            line,
            column,
        } => Err(RewriteError::StateInvalid {
            message,
            line,
            column,
        }),
    }
}

/// As `rewrite`, but also over a damaged state block, or over several of which the first is replaced
/// and the others go: for the state that was restored from the checkpoint.
///
/// # Errors
/// As `rewrite`; a block that is never closed stays `StateInvalid`, since nobody can say where it ends
/// and a person's text begins.
pub fn restore(body: &str, change: &BodyChange<'_>) -> Result<String, RewriteError> {
    let layout = blocks::find(body);
    let torn = layout.of(Kind::State).any(|block| {
        block
            .content
            .as_ref()
            .is_none_or(|inner| body[inner.clone()].contains(Kind::State.start()))
    });
    match read_state(body, &layout) {
        StateBlock::Newer { version } => Err(RewriteError::Newer { version }),
        StateBlock::Invalid {
            message,
            line,
            column,
        } if torn || change.state.is_none() => Err(RewriteError::StateInvalid {
            message,
            line,
            column,
        }),
        StateBlock::Absent | StateBlock::Found { .. } | StateBlock::Invalid { .. } => {
            edit(body, &layout, change)
        }
    }
}

/// The people's text: the body without our two blocks and the line end behind each.
pub fn without_our_blocks(body: &str) -> String {
    let layout = blocks::find(body);
    let mine = layout.blocks.iter().filter(|block| is_ours(block));
    apply(
        body,
        mine.map(|block| (with_line_end(body, &block.span), String::new()))
            .collect(),
    )
}

fn is_ours(block: &blocks::Block) -> bool {
    // Of an unclosed block nobody can say which text is ours.
    block.kind != Kind::Verify && block.content.is_some()
}

fn with_line_end(body: &str, span: &Range<usize>) -> Range<usize> {
    let rest = &body[span.end..];
    let end = if rest.starts_with("\r\n") {
        2
    } else {
        usize::from(rest.starts_with('\n'))
    };
    span.start..span.end + end
}

fn edit(body: &str, layout: &Layout, change: &BodyChange<'_>) -> Result<String, RewriteError> {
    let newline = dominant_newline(&without_our_blocks(body));
    let state = change
        .state
        .map(|state| render_state_block(state).replace('\n', newline));
    let link = change
        .pr_url
        .map(|url| render_pr_link(url, newline))
        .transpose()?;
    let mut edits = Vec::new();
    let state_at = replace(body, layout, Kind::State, (state.as_deref(), &mut edits));
    let link_at = replace(body, layout, Kind::PrLink, (link.as_deref(), &mut edits));
    let mut top = String::new();
    if let (None, Some(state)) = (state_at, &state) {
        top.push_str(state);
        top.push_str(newline);
    }
    if let (None, Some(link)) = (link_at, &link) {
        if let Some(at) = state_at {
            edits.push((at..at, format!("{newline}{link}")));
        } else {
            top.push_str(link);
            top.push_str(newline);
        }
    }
    edits.push((0..0, top));
    for task in read_tasks(body, layout) {
        if !task.done && change.tick.contains(&task.text) {
            edits.push((task.box_at..task.box_at + 1, "x".to_owned()));
        }
    }
    let rewritten = apply(body, edits);
    check(&rewritten, change)?;
    Ok(rewritten)
}

/// Replaces the first block of this kind and takes any further one out. Where the first one ends now.
fn replace(
    body: &str,
    layout: &Layout,
    kind: Kind,
    (text, edits): (Option<&str>, &mut Vec<(Range<usize>, String)>),
) -> Option<usize> {
    let mut all = layout.of(kind);
    let first = all.next()?;
    if let Some(text) = text {
        edits.push((first.span.clone(), text.to_owned()));
        edits.extend(all.map(|more| (with_line_end(body, &more.span), String::new())));
    }
    Some(first.span.end)
}

fn render_pr_link(url: &str, newline: &str) -> Result<String, RewriteError> {
    let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>');
    if url.is_empty() || url.contains(bad) {
        return Err(RewriteError::PrUrl {
            url: url.to_owned(),
        });
    }
    let (start, end) = (Kind::PrLink.start(), Kind::PrLink.end());
    Ok(format!("{start} -->{newline}PR: {url}{newline}{end} -->"))
}

fn check(body: &str, change: &BodyChange<'_>) -> Result<(), RewriteError> {
    let chars = body.chars().count();
    if chars > limits::BODY_CHARS_MAX {
        return Err(RewriteError::TooLarge { chars });
    }
    let layout = blocks::find(body);
    let bytes = layout
        .blocks
        .iter()
        .filter(|block| is_ours(block))
        .map(|b| b.span.len())
        .sum();
    if bytes > limits::STATE_BYTES_MAX {
        return Err(RewriteError::BlocksTooLarge { bytes });
    }
    match read_state(body, &layout) {
        // Where a second block was taken out, what stood around it may read as a block now.
        StateBlock::Invalid {
            message,
            line,
            column,
        } if change.state.is_some() => Err(RewriteError::StateInvalid {
            message,
            line,
            column,
        }),
        StateBlock::Invalid { .. }
        | StateBlock::Absent
        | StateBlock::Found { .. }
        | StateBlock::Newer { .. } => Ok(()),
    }
}

/// CRLF if most lines end so: GitHub's web editor writes CRLF, its API keeps what it gets.
fn dominant_newline(text: &str) -> &'static str {
    let all = text.bytes().filter(|byte| *byte == b'\n').count();
    if text.matches("\r\n").count() * 2 > all {
        "\r\n"
    } else {
        "\n"
    }
}

/// Makes the edits. Of two at one place the shorter range comes first; one that overlaps an earlier
/// one is left out.
fn apply(body: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut result = String::with_capacity(body.len() + 1024);
    let mut done = 0;
    for (range, text) in edits {
        if range.start < done {
            continue;
        }
        result.push_str(&body[done..range.start]);
        result.push_str(&text);
        done = range.end;
    }
    result.push_str(&body[done..]);
    result
}
