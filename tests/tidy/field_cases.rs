//! The table of field cases names tests that are there. It does not judge what they show.

use std::fs;

use regex::Regex;

use super::source::root;

/// The cases whose table this is: claims, processes, git, pull requests, text, safety.
const CASES: [u32; 35] = [
    1, 2, 3, 4, 5, 6, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 34, 37, 38, 40, 41, 42, 50,
    51, 52, 53, 54, 55, 56, 57, 58, 59, 60,
];

/// What is wrong with the table, a line each.
pub fn offences() -> Vec<String> {
    let table = fs::read_to_string(root().join("docs/field-cases.md")).unwrap();
    let row = Regex::new(r"^\| (\d+) \|").unwrap();
    let named = Regex::new(r"`([a-z0-9_/]+\.rs)::([a-z0-9_]+)`").unwrap();
    let mut found = Vec::new();
    let mut numbers = Vec::new();
    for line in table.lines() {
        let Some(number) = row.captures(line) else {
            continue;
        };
        let number: u32 = number[1].parse().unwrap();
        numbers.push(number);
        if !named.is_match(line) {
            found.push(format!("case {number} names no test"));
        }
        for test in named.captures_iter(line) {
            let text = fs::read_to_string(root().join(&test[1])).unwrap_or_default();
            let begins = format!(r"#\[(tokio::)?test(\(.*\))?\]\n(async )?fn {}\(", &test[2]);
            if !Regex::new(&begins)
                .unwrap()
                .is_match(&text.replace("\n    ", "\n"))
            {
                found.push(format!(
                    "case {number}: no test `{}` in {}",
                    &test[2], &test[1]
                ));
            }
        }
    }
    if numbers != CASES {
        found.push(format!("the cases are {CASES:?}, not {numbers:?}"));
    }
    found
}
