//! The blocks in an issue's body (protocol.md, section 1): finding, reading and rewriting them.
//!
//! It must not decide anything, and it must never change a byte outside our own two blocks but the
//! boxes it is told to tick.

mod blocks;
pub(crate) mod markdown;
mod rewrite;
mod verify;

use std::ops::Range;

use blocks::{Kind, Layout};

pub use rewrite::{BodyChange, RewriteError, restore, rewrite, without_our_blocks};
pub use verify::VerifyStep;

use super::state::IssueState;

/// What a body says. All ranges are bytes of that body.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ParsedBody {
    /// Our state block.
    pub state: StateBlock,
    /// The people's verify block.
    pub verify: VerifyBlock,
    /// Our PR link block, markers included.
    pub pr_link: Option<Range<usize>>,
    /// Task list items outside code, quotes, `<details>` and blocks, in the order of the text.
    pub tasks: Vec<Task>,
}

impl ParsedBody {
    /// The texts of the open tasks.
    pub fn open_tasks(&self) -> impl Iterator<Item = &str> {
        self.tasks
            .iter()
            .filter(|task| !task.done)
            .map(|task| task.text.as_str())
    }
}

/// How the state block reads.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum StateBlock {
    /// There is none.
    Absent,
    /// It is fine. Whether it belongs to this issue is the reader's to ask.
    Found {
        /// Its content.
        state: Box<IssueState>,
        /// Where it stands, markers included.
        span: Range<usize>,
    },
    /// A newer ghswarm wrote it: hands off.
    Newer {
        /// Its major version.
        version: u64,
    },
    /// It is damaged or stands twice.
    Invalid {
        /// What is wrong, a lower-case fragment.
        message: String,
        /// Line in the body, from 1.
        line: usize,
        /// Column in that line, in characters, from 1.
        column: usize,
    },
}

/// How the verify block reads.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum VerifyBlock {
    /// There is none: nobody wrote down what done means.
    Missing,
    /// It is not valid YAML or has another shape.
    Invalid {
        /// What is wrong, a lower-case fragment.
        message: String,
        /// Line in the body, from 1.
        line: usize,
        /// Column in that line, in characters, from 1.
        column: usize,
    },
    /// The steps in their order; none means that CI alone is the gate.
    Steps(Vec<VerifyStep>),
}

/// One `- [ ]` item.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Task {
    /// The first paragraph of the item as it was written, runs of white space made one blank.
    pub text: String,
    /// Is it ticked?
    pub done: bool,
    /// Byte offset of the character between the brackets; it is one byte long.
    pub box_at: usize,
}

/// Reads a body. Total and linear: whatever people paste has a reading.
pub fn parse(body: &str) -> ParsedBody {
    let layout = blocks::find(body);
    ParsedBody {
        state: read_state(body, &layout),
        verify: read_verify(body, &layout),
        pr_link: layout
            .of(Kind::PrLink)
            .next()
            .map(|block| block.span.clone()),
        tasks: read_tasks(body, &layout),
    }
}

fn read_tasks(body: &str, layout: &Layout) -> Vec<Task> {
    let text = |range: &Range<usize>| body[range.clone()].split_whitespace().collect::<Vec<_>>();
    let tasks = layout.reading.tasks.iter();
    tasks
        .map(|task| Task {
            text: text(&task.text).join(" "),
            done: task.done,
            box_at: task.box_at,
        })
        .collect()
}

fn read_state(body: &str, layout: &Layout) -> StateBlock {
    let mut all = layout.of(Kind::State);
    let Some(block) = all.next() else {
        return StateBlock::Absent;
    };
    if let Some(second) = all.next() {
        return invalid_state(
            body,
            second.span.start,
            "the state block stands twice".to_owned(),
        );
    }
    let Some(content) = block.content.clone() else {
        let message = format!("no line `{} -->` closes the state block", Kind::State.end());
        return invalid_state(body, block.span.start, message);
    };
    match parse_state(&body[content.clone()]) {
        Ok(state) => StateBlock::Found {
            state: Box::new(state),
            span: block.span.clone(),
        },
        Err(StateError::Newer(version)) => StateBlock::Newer { version },
        Err(StateError::Invalid { message, at }) => {
            invalid_state(body, content.start + at, message)
        }
    }
}

fn invalid_state(body: &str, at: usize, message: String) -> StateBlock {
    let (line, column) = position(body, at);
    StateBlock::Invalid {
        message,
        line,
        column,
    }
}

fn read_verify(body: &str, layout: &Layout) -> VerifyBlock {
    let mut all = layout.of(Kind::Verify);
    let Some(block) = all.next() else {
        return VerifyBlock::Missing;
    };
    let (at, message) = match (all.next(), &block.content) {
        (Some(second), _) => (
            second.span.start,
            "the verify block stands twice".to_owned(),
        ),
        (None, None) => {
            let message = format!(
                "no line `{} -->` closes the verify block",
                Kind::Verify.end()
            );
            (block.span.start, message)
        }
        (None, Some(content)) => match verify::parse(&body[content.clone()]) {
            Ok(steps) => return VerifyBlock::Steps(steps),
            Err(error) => {
                let (first, offset) = position(body, content.start);
                let (line, column) = (first + error.line - 1, error.column);
                let column = if error.line == 1 {
                    offset + column - 1
                } else {
                    column
                };
                return VerifyBlock::Invalid {
                    message: error.message,
                    line,
                    column,
                };
            }
        },
    };
    let (line, column) = position(body, at);
    VerifyBlock::Invalid {
        message,
        line,
        column,
    }
}

/// Why a state's JSON is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StateError {
    /// Of a newer major version.
    Newer(u64),
    /// Not JSON, or of another shape; `at` is a byte offset into the JSON.
    Invalid { message: String, at: usize },
}

/// Reads the JSON of a state.
pub(crate) fn parse_state(json: &str) -> Result<IssueState, StateError> {
    let invalid = |error: &serde_json::Error| StateError::Invalid {
        message: bare_message(error),
        at: json_offset(json, error),
    };
    let value: serde_json::Value = serde_json::from_str(json).map_err(|error| invalid(&error))?;
    match value.get("v").and_then(serde_json::Value::as_u64) {
        Some(0) => {
            let at = json.find('{').unwrap_or(0);
            return Err(StateError::Invalid {
                message: "`v` is 0".to_owned(),
                at,
            });
        }
        Some(version) if version > 1 => return Err(StateError::Newer(version)),
        Some(_) | None => {}
    }
    serde_json::from_str(json).map_err(|error| invalid(&error))
}

/// The JSON of a state, one field a line, in a form that no HTML comment can be closed by.
pub(crate) fn render_state(state: &IssueState) -> String {
    // A state holds nothing that JSON cannot say, so there is no error to hand on.
    let json = serde_json::to_string_pretty(state).unwrap_or_default();
    json.replace('<', "\\u003c").replace('>', "\\u003e")
}

/// The state block, markers included, without a line end behind it.
pub(crate) fn render_state_block(state: &IssueState) -> String {
    format!(
        "{}\n{}\n{} -->",
        Kind::State.start(),
        render_state(state),
        Kind::State.end()
    )
}

/// The message without the position, which is that of the JSON and not of the body.
fn bare_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    message
        .strip_suffix(&suffix)
        .map(str::to_owned)
        .unwrap_or(message)
}

/// Where in the JSON the error is, as a byte offset on a character's edge.
fn json_offset(json: &str, error: &serde_json::Error) -> usize {
    let before: usize = json
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let at = (before + error.column().saturating_sub(1)).min(json.len());
    (0..=at)
        .rev()
        .find(|at| json.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Line and column of a byte, both from 1, the column in characters.
fn position(body: &str, at: usize) -> (usize, usize) {
    let before = &body[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests;
