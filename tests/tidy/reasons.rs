//! README's table of reasons against the reasons that there are.

use std::collections::BTreeSet;
use std::fs;

use regex::Regex;

use super::source::root;

/// What is in one of the two and not in the other.
pub fn amiss() -> Vec<String> {
    let state = fs::read_to_string(root().join("src/model/state.rs")).unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let there = codes(&state);
    let told = rows(&readme);
    assert!(there.len() > 20, "no reasons found in the source");
    there
        .symmetric_difference(&told)
        .map(|code| format!("`{code}` is not both a reason and a row of README.md"))
        .collect()
}

/// The variants of `BlockedReason`, as they are written everywhere.
fn codes(source: &str) -> BTreeSet<String> {
    let from = source.split("pub enum BlockedReason {").nth(1).unwrap();
    let body = from.split("\n}").next().unwrap();
    let variant = Regex::new(r"(?m)^    ([A-Z]\w+),$").unwrap();
    let word = Regex::new(r"[A-Z][a-z]*").unwrap();
    let snake = |name: &str| {
        let words: Vec<String> = word
            .find_iter(name)
            .map(|word| word.as_str().to_lowercase())
            .collect();
        words.join("_")
    };
    variant
        .captures_iter(body)
        .map(|found| snake(&found[1]))
        .collect()
}

/// The first column of the table under its heading; each row says what to do.
fn rows(readme: &str) -> BTreeSet<String> {
    let from = readme.split("## When an issue is blocked").nth(1).unwrap();
    let section = from.split("\nWhat is counted").next().unwrap();
    let row =
        Regex::new(r"(?m)^\| `(\w+)` \| [^|]+ \| [^|]+ \| (?:–|`ghswarm [^|]+`) \|$").unwrap();
    row.captures_iter(section)
        .map(|found| found[1].to_owned())
        .collect()
}
