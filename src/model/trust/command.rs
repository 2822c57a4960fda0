//! What people order in comments. It must not know who may: that is the reader's to check.

use crate::model::body::markdown;
use crate::model::comment;

/// Digits of a text hash that must be named: 48 bits, so that nobody finds another text with the same.
const APPROVE_DIGITS_MIN: usize = 12;
/// Digits of a commit that must be named, as git shortens.
const SHA_DIGITS_MIN: usize = 7;

/// A line `/ghswarm …` of a comment.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Command {
    /// `approve HEX`: the text with this hash may be acted on.
    Approve {
        /// At least 12 lower-case hex digits, the beginning of the hash.
        hex: String,
    },
    /// `merge SHA`: counts as approval of that head.
    Merge {
        /// At least 7 lower-case hex digits, the beginning of the head's id.
        sha_prefix: String,
    },
    /// `resume`: go on with a blocked issue.
    Resume,
    /// `retry`: do not wait until the next planned try.
    Retry,
    /// `stop`: end the run, keep its work.
    Stop,
    /// `status`: say where it stands.
    Status,
}

/// The commands in a comment: whole lines, outside code, quotes, HTML and `<details>`. A comment that
/// ghswarm posted holds none: it prints such lines for people, under the operator's trusted name.
pub fn commands(body: &str) -> Vec<Command> {
    if comment::is_posted_by_ghswarm(body) || !body.contains("/ghswarm") {
        return Vec::new();
    }
    let reading = markdown::read(body);
    let lines = markdown::lines(body).filter(|(at, _)| !reading.is_hidden(*at));
    lines.filter_map(|(_, line)| command(line)).collect()
}

fn command(line: &str) -> Option<Command> {
    let rest = line.strip_prefix("/ghswarm")?;
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    match words.as_slice() {
        ["approve", hex] => Some(Command::Approve {
            hex: digits(hex, APPROVE_DIGITS_MIN)?,
        }),
        ["merge", sha] => Some(Command::Merge {
            sha_prefix: digits(sha, SHA_DIGITS_MIN)?,
        }),
        ["resume"] => Some(Command::Resume),
        ["retry"] => Some(Command::Retry),
        ["stop"] => Some(Command::Stop),
        ["status"] => Some(Command::Status),
        _ => None,
    }
}

fn digits(text: &str, min: usize) -> Option<String> {
    let hex = (min..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    hex.then(|| text.to_ascii_lowercase())
}
