//! Is a failure of the verify steps the one that the agent has seen already? What differs between two runs of
//! the same failure is left out: times, durations, counters, addresses, temporary paths, the order of lines.

use std::collections::BTreeSet;

use crate::model::run::{RunExit, RunFacts};
use crate::model::trust::text_hash;

/// The last lines say what went wrong; those before them, how far it came.
const LINES: usize = 40;

/// A run of letters and digits that is all hexadecimal and at least so long is an id or an address.
const HEX_CHARS_MIN: usize = 7;

/// Roots of paths that are new each time.
const TEMPORARY: [&str; 3] = ["/tmp/", "/var/folders/", "/var/tmp/"];

/// The step, how it ended, and what it printed last: a short hash.
pub(super) fn of(run: &RunFacts, exit: &RunExit) -> String {
    let lines: BTreeSet<String> = run.tail.lines().rev().take(LINES).map(plain).collect();
    let lines: Vec<String> = lines.into_iter().collect();
    let how = format!("{:?} {:?} {:?}", exit.end, exit.code, exit.signal);
    let text = format!("{}\n{how}\n{}", run.label, lines.join("\n"));
    text_hash("failed verify", &text)[..16].to_owned()
}

/// A line without what is new each time.
fn plain(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        match TEMPORARY.iter().find_map(|root| word.find(root)) {
            Some(at) => format!("{}/tmp", letters(&word[..at])),
            None => letters(word),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Numbers, with what hangs on them (`12.5s`, `10:04:05`), become one `0`.
fn letters(word: &str) -> String {
    let mut plain = String::new();
    for part in word.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let run = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_hex = run.len() >= HEX_CHARS_MIN && run.chars().all(|c| c.is_ascii_hexdigit());
        if is_hex || run.starts_with(|c: char| c.is_ascii_digit()) {
            let before = plain.trim_end_matches(['.', ':', ',', '-', '+']);
            if before.ends_with('0') {
                plain.truncate(before.len());
            } else {
                plain.push('0');
            }
        } else {
            plain.push_str(run);
        }
        plain.push_str(&part[run.len()..]);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_each_time_is_left_out() {
        let first =
            "2026-11-30T10:04:05Z FAIL test_apples (1.25s) at 0x7fffdead in /tmp/a1b2/x.rs:12";
        let again =
            "2026-12-01T09:00:59Z FAIL test_apples (950ms) at 0x12345678 in /tmp/zz/x.rs:12";
        assert_eq!(plain(first), plain(again));
        assert_eq!(
            plain("commit 1a2b3c4d5e6f done"),
            plain("commit ffffffffff done")
        );
    }

    #[test]
    fn another_failure_is_another_one() {
        assert_ne!(plain("FAIL test_apples"), plain("FAIL test_pears"));
        assert_ne!(plain("error: no apples"), plain("error: no pears"));
    }
}
