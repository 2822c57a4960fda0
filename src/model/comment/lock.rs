//! The lock marker, `<!-- claude-lock: … -->`: how people and other agents see who works on an issue.
//!
//! Fields are `name=value`, separated by blanks, in any order. In values that we write, blanks, control
//! characters, `%`, `<`, `>` and the second of two hyphens are percent-encoded (`%20`), so that a value
//! is one word and cannot close the comment; reading decodes them. Other tools do not encode: words
//! without `=` belong to the value before them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::str::FromStr;

use super::head_lines;
use crate::model::ids::{ClaimId, IssueNumber, Login, Timestamp};

/// A field of the marker whose operator was assigned before it claimed: that assignee is nobody's to take
/// off, whoever follows.
pub const ASSIGNED_BEFORE: (&str, &str) = ("assigned", "before");

/// Who placed a lock.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum LockBy {
    /// `by=loop`: as live as its lease.
    Loop,
    /// `by=manual`: live until stale.
    Manual,
    /// Another word, or none (empty): another tool, treated as `manual`.
    Other(String),
}

impl LockBy {
    /// The word in the marker.
    pub fn word(&self) -> &str {
        match self {
            Self::Loop => "loop",
            Self::Manual => "manual",
            Self::Other(word) => word,
        }
    }
}

/// A lock marker. What a tool left out or wrote in another form is `None`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LockMarker {
    /// Who.
    pub operator: Option<Login>,
    /// Where, on their machine.
    pub worktree: Option<String>,
    /// On which branch.
    pub branch: Option<String>,
    /// Since when.
    pub at: Option<Timestamp>,
    /// By what.
    pub by: LockBy,
    /// Under which claim.
    pub claim: Option<ClaimId>,
    /// The lead of the bundle this issue belongs to.
    pub bundled_with: Option<IssueNumber>,
    /// Fields that are none of these, or not of the form they should have.
    pub unknown: BTreeMap<String, String>,
}

/// The lock markers before the first `<details>`, each alone on its line, outside code and quotes.
pub fn lock_markers(body: &str, marker_word: &str) -> Vec<LockMarker> {
    let opens = format!("<!-- {marker_word}:");
    if !body.contains(&opens) {
        return Vec::new();
    }
    let fields = |line: &str| {
        let (fields, _) = line
            .trim_start()
            .strip_prefix(opens.as_str())?
            .split_once("-->")?;
        Some(parse(fields))
    };
    head_lines(body).filter_map(fields).collect()
}

/// The marker's line.
pub fn render_lock(marker: &LockMarker, marker_word: &str) -> String {
    let time = |at: Timestamp| at.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true);
    let by = marker.by.word();
    let known = [
        (
            "operator",
            marker.operator.as_ref().map(ToString::to_string),
        ),
        ("worktree", marker.worktree.clone()),
        ("branch", marker.branch.clone()),
        ("at", marker.at.map(time)),
        ("by", (!by.is_empty()).then(|| by.to_owned())),
        ("claim", marker.claim.as_ref().map(ToString::to_string)),
        (
            "bundled_with",
            marker.bundled_with.map(|lead| format!("#{lead}")),
        ),
    ];
    let mut line = format!("<!-- {marker_word}:");
    let known = known
        .iter()
        .filter_map(|(name, value)| Some((*name, value.as_deref()?)));
    let unknown = marker
        .unknown
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in known.chain(unknown) {
        line.push(' ');
        line.push_str(&encode(name).replace('=', "%3D"));
        line.push('=');
        line.push_str(&encode(value));
    }
    line.push_str(" -->");
    line
}

fn parse(fields: &str) -> LockMarker {
    let mut all: Vec<(&str, String)> = Vec::new();
    for word in fields.split_whitespace() {
        match (word.split_once('='), all.last_mut()) {
            (Some((name, value)), _) => all.push((name, value.to_owned())),
            (None, Some((_, value))) => {
                value.push(' ');
                value.push_str(word);
            }
            (None, None) => {}
        }
    }
    let mut marker = LockMarker {
        operator: None,
        worktree: None,
        branch: None,
        at: None,
        by: LockBy::Other(String::new()),
        claim: None,
        bundled_with: None,
        unknown: BTreeMap::new(),
    };
    for (name, value) in all {
        let (name, value) = (decode(name), decode(&value));
        if !set(&mut marker, &name, &value) {
            marker.unknown.insert(name, value);
        }
    }
    marker
}

/// Takes a field over; false if it is unknown or has another form.
fn set(marker: &mut LockMarker, name: &str, value: &str) -> bool {
    fn put<T: FromStr>(slot: &mut Option<T>, value: &str) -> bool {
        *slot = value.parse().ok();
        slot.is_some()
    }
    match name {
        "operator" => put(&mut marker.operator, value.trim_start_matches('@')),
        "worktree" => put(&mut marker.worktree, value),
        "branch" => put(&mut marker.branch, value),
        "at" => put(&mut marker.at, value),
        "claim" => put(&mut marker.claim, value),
        "bundled_with" => put(&mut marker.bundled_with, value),
        "by" => {
            marker.by = match value {
                "loop" => LockBy::Loop,
                "manual" => LockBy::Manual,
                other => LockBy::Other(other.to_owned()),
            };
            true
        }
        _ => false,
    }
}

fn encode(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for c in value.chars() {
        let hyphen = c == '-' && (encoded.ends_with('-') || encoded.is_empty());
        if hyphen || c.is_whitespace() || c.is_control() || matches!(c, '%' | '<' | '>') {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                // Writing to a `String` cannot fail.
                let _ = write!(encoded, "%{byte:02X}");
            }
        } else {
            encoded.push(c);
        }
    }
    encoded
}

/// Decodes `%XX`; what is not of that form, or would not be UTF-8, stays as it is.
fn decode(value: &str) -> String {
    let bytes = value.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| value.get(at + 1..at + 3))
            .flatten();
        let escaped = escaped.filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8(decoded).unwrap_or_else(|_| value.to_owned())
}
