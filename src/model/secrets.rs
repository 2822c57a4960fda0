//! What a secret looks like: exact values first, then the shapes of tokens. One table serves for taking
//! them out of texts and for finding them in what is to be pushed.
//!
//! Works on bytes, since logs and files are not always text.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// A kind of token and how it is known.
struct Shape {
    /// For people.
    kind: &'static str,
    /// What is taken out of a text: rather too much than too little.
    taken_out: &'static str,
    /// What keeps a commit from being pushed, where that must be stricter: a name that only looks like a
    /// token costs nothing in a log, and a person's time here.
    refused: Option<&'static str>,
}

const fn shape(kind: &'static str, taken_out: &'static str) -> Shape {
    Shape {
        kind,
        taken_out,
        refused: None,
    }
}

const fn strict(kind: &'static str, taken_out: &'static str, refused: &'static str) -> Shape {
    Shape {
        kind,
        taken_out,
        refused: Some(refused),
    }
}

/// Shapes of live tokens: GitHub's, cloud and model providers', private keys, basic credentials in URLs.
const SHAPES: &[Shape] = &[
    shape("a GitHub token", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    shape("a GitHub token", r"github_pat_[A-Za-z0-9_]{20,}"),
    // `task-…` and names of styles begin like it; keys have digits.
    strict(
        "an API key (`sk-…`)",
        r"sk-[A-Za-z0-9_-]{20,}",
        r"\bsk-[A-Za-z_-]*[0-9][A-Za-z0-9_-]{19,}",
    ),
    shape("a Slack token", r"xox[abeprs]-[A-Za-z0-9-]{10,}"),
    strict(
        "an AWS access key",
        r"AKIA[0-9A-Z]{16}",
        r"\bAKIA[0-9A-Z]{16}\b",
    ),
    shape("a Google API key", r"AIza[0-9A-Za-z_-]{35}"),
    shape("a GitLab token", r"glpat-[A-Za-z0-9_-]{20,}"),
    shape("an npm token", r"npm_[A-Za-z0-9]{36}"),
    shape(
        "a JSON Web Token",
        r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    ),
    // Without an end: up to what no key contains. A program that only names the heading is no key.
    strict(
        "a private key",
        concat!(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
            r"(?:[A-Za-z0-9+/=\s\\:,-]*?-----END [A-Z ]*PRIVATE KEY-----|[A-Za-z0-9+/=\s\\:,-]*)"
        ),
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9=\s\\:,-]*[A-Za-z0-9+/]{40}",
    ),
    // `https://user:$PASSWORD@host` and `<password>` are no passwords.
    strict(
        "a login in an address",
        r"(?i)https?://[^\s/:@]+:[^\s/@]+@",
        r"(?i)https?://[^\s/:@]+:[^\s/@$<{%*\[][^\s/@]*@",
    ),
];

/// The kind of a value that stands in the environment or the configuration.
const VALUE: &str = "the value of a secret variable";

const MASK: &[u8] = b"[redacted]";

/// Shorter values are words, not secrets: to blank them would blank the text.
const SECRET_BYTES_MIN: usize = 8;

/// Secrets that are known by value, and those that are known by shape.
#[derive(Clone)]
pub struct Secrets {
    /// Each with the search for it.
    values: Vec<(String, Regex)>,
    /// Kind, what is taken out, what is refused.
    shapes: Vec<(&'static str, Regex, Regex)>,
    /// Says in one pass which values, then which shapes, stand in a text at all: in most texts none does. `None`
    /// if there are too many for one: then each is looked for.
    any: OnceLock<Option<RegexSet>>,
}

/// A secret that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Where it begins.
    pub at: usize,
    /// What it is, for people. Never the secret itself.
    pub kind: &'static str,
}

impl Secrets {
    /// `values` are the exact values of secret variables.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = values
            .into_iter()
            .filter(|value| value.len() >= SECRET_BYTES_MIN)
            .collect();
        values.sort();
        values.dedup();
        let compiled = |shape: &Shape| {
            let taken_out = regex(shape.taken_out)?;
            let refused = shape.refused.map_or_else(|| Some(taken_out.clone()), regex);
            Some((shape.kind, taken_out, refused?))
        };
        let search = |value: String| {
            let found = Regex::new(&regex::escape(&value)).ok()?;
            Some((value, found))
        };
        Self {
            values: values.into_iter().filter_map(search).collect(),
            shapes: SHAPES.iter().filter_map(compiled).collect(),
            any: OnceLock::new(),
        }
    }

    /// The values that are known.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(value, _)| value.as_str())
    }

    /// The text without secrets. Before cutting, so that no half of one survives at an edge.
    pub fn redact(&self, text: &str) -> String {
        // Masks and what is between them are text: every secret begins and ends between characters.
        String::from_utf8_lossy(&self.redact_bytes(text.as_bytes())).into_owned()
    }

    /// The same where it may be no text.
    pub fn redact_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        Self::without(bytes, &self.spans(bytes))
    }

    /// The bytes without these spans, which `spans` found in them.
    pub fn without(bytes: &[u8], spans: &[Range<usize>]) -> Vec<u8> {
        let mut clean = Vec::with_capacity(bytes.len());
        let mut from = 0;
        for span in spans {
            clean.extend_from_slice(&bytes[from..span.start]);
            clean.extend_from_slice(MASK);
            from = span.end;
        }
        clean.extend_from_slice(&bytes[from..]);
        clean
    }

    /// Where secrets stand, in order. What overlaps is one: a secret that contains another must not leave
    /// its rest behind.
    pub fn spans(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let there = self.any().map(|set| set.matches(bytes));
        let there = |at: usize| there.as_ref().is_none_or(|there| there.matched(at));
        let all = self.taken_out().enumerate();
        let places = all
            .filter(|(at, _)| there(*at))
            .flat_map(|(_, one)| one.find_iter(bytes));
        let mut found: Vec<Range<usize>> = places.map(|place| place.range()).collect();
        found.sort_by_key(|span| (span.start, span.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for span in found {
            match merged.last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        merged
    }

    /// Values, then shapes.
    fn taken_out(&self) -> impl Iterator<Item = &Regex> {
        let values = self.values.iter().map(|(_, value)| value);
        values.chain(self.shapes.iter().map(|(_, shape, _)| shape))
    }

    fn any(&self) -> Option<&RegexSet> {
        let build = || {
            let mut all = RegexSetBuilder::new(self.taken_out().map(Regex::as_str));
            all.unicode(false).build().ok()
        };
        self.any.get_or_init(build).as_ref()
    }

    /// Secrets that keep a commit here, in no order.
    pub fn find(&self, bytes: &[u8]) -> Vec<Found> {
        let values = self.values.iter().filter(|(value, _)| !is_common(value));
        let values = values.map(|(_, value)| (VALUE, value));
        let shapes = self.shapes.iter().map(|(kind, _, shape)| (*kind, shape));
        let found = values.chain(shapes).flat_map(|(kind, one)| {
            let places = one.find_iter(bytes);
            places.map(move |place| Found {
                at: place.start(),
                kind,
            })
        });
        found.collect()
    }
}

fn regex(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}

/// Words (`postgres` as a password for tests) and paths to a file with a secret stand in many files
/// that are fit to be pushed.
fn is_common(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphabetic()) || value.starts_with(['/', '~', '.'])
}

/// Does a variable of this name hold a secret, as far as a name can tell?
pub fn names_a_secret(variable: &str) -> bool {
    let name = variable.to_ascii_uppercase();
    [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "API_KEY",
        "APIKEY",
        "PRIVATE_KEY",
        "CREDENTIAL",
    ]
    .iter()
    .any(|part| name.contains(part))
}

#[cfg(test)]
mod tests;
