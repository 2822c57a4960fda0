//! The log of a CI job, made fit to read: without colours and time stamps, and of a long one the parts that tell
//! what failed.

use super::comment::{strip_ansi, tail};

/// Lines before and behind one that names an error.
const BEFORE: usize = 3;
const BEHIND: usize = 15;

/// GitHub writes such a stamp before each line: `2026-01-02T03:04:05.1234567Z `.
const STAMP_LEN: usize = 28;

/// Stands where something is left out.
const GAP: &str = "[…]\n";

/// Words that a tool writes before or about a failure, not just anywhere.
const LOUD: &[&str] = &[
    "##[error]",
    "error:",
    "error[",
    "FAILED",
    "FAIL:",
    "--- FAIL",
    "panicked at",
    "Traceback",
    "Error:",
    "Exception",
    "fatal:",
    "not ok ",
];

/// The whole log without control sequences, carriage returns and GitHub's time stamps.
pub fn readable(log: &str) -> String {
    let plain = strip_ansi(log.trim_start_matches('\u{feff}'));
    let mut text = String::with_capacity(plain.len());
    for line in plain.lines() {
        // What a progress bar has overwritten is not there any more.
        let line = line
            .rsplit('\r')
            .find(|part| !part.is_empty())
            .unwrap_or("");
        text.push_str(without_stamp(line));
        text.push('\n');
    }
    text
}

fn without_stamp(line: &str) -> &str {
    match line.split_at_checked(STAMP_LEN) {
        Some((stamp, rest)) if is_stamp(stamp) => rest.strip_prefix(' ').unwrap_or(rest),
        Some(_) | None => line,
    }
}

fn is_stamp(text: &str) -> bool {
    text.ends_with('Z')
        && text.chars().enumerate().all(|(at, c)| match at {
            4 | 7 => c == '-',
            10 => c == 'T',
            13 | 16 => c == ':',
            19 => c == '.',
            27 => c == 'Z',
            _ => c.is_ascii_digit(),
        })
}

/// At most `max_bytes` of a readable log: all of it, or the surroundings of the first errors and the end.
pub fn excerpt(log: &str, max_bytes: usize) -> String {
    if log.len() <= max_bytes {
        return log.to_owned();
    }
    let lines: Vec<&str> = log.lines().collect();
    let half = max_bytes / 2;
    let mut shown = String::new();
    let mut next = 0;
    let loud = |line: &str| LOUD.iter().any(|word| line.contains(word));
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| loud(line)) {
        let from = at.saturating_sub(BEFORE).max(next);
        let until = (at + BEHIND + 1).min(lines.len());
        let part = lines.get(from..until).unwrap_or_default();
        let bytes: usize = part.iter().map(|line| line.len() + 1).sum();
        if shown.len() + bytes + GAP.len() > half {
            break;
        }
        if from > next {
            shown.push_str(GAP);
        }
        for line in part {
            shown.push_str(line);
            shown.push('\n');
        }
        next = next.max(until);
    }
    let rest = max_bytes.saturating_sub(shown.len() + GAP.len());
    let end = tail(log, rest);
    // The end may begin before the place where the errors ended.
    let told: usize = lines.iter().take(next).map(|line| line.len() + 1).sum();
    let begins = log.len() - end.len();
    if let Some(twice) = told.checked_sub(begins) {
        shown.push_str(end.get(twice..).unwrap_or_default());
    } else {
        shown.push_str(GAP);
        shown.push_str(end);
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn colours_stamps_and_overwritten_progress_are_gone() {
        let log = "\u{feff}2026-01-02T03:04:05.1234567Z \u{1b}[31mred\u{1b}[0m\r\n\
                   2026-01-02T03:04:05.1234567Z 10%\r100%\n2026-01-02 no stamp\n";
        assert_eq!(readable(log), "red\n100%\n2026-01-02 no stamp\n");
        assert_eq!(readable("\u{1b}[31m\n"), "\n");
    }

    #[test]
    fn a_short_log_is_shown_whole() {
        assert_eq!(excerpt("a\nb\n", 100), "a\nb\n");
    }

    #[test]
    fn the_first_error_and_the_end_of_a_long_log_are_shown() {
        let mut log = String::new();
        for line in 0..5000 {
            let _ = writeln!(log, "line {line}");
            if line == 2000 {
                log.push_str("error: it broke\n");
            }
        }
        let shown = excerpt(&log, 4000);
        assert!(shown.len() <= 4000, "{}", shown.len());
        assert!(shown.contains("line 1998\n") && shown.contains("error: it broke\nline 2001\n"));
        assert!(shown.ends_with("line 4999\n") && !shown.contains("line 1000\n"));
    }

    #[test]
    fn an_error_at_the_very_end_is_shown_once() {
        let mut log = "x\n".repeat(5000);
        log.push_str("error: last\n");
        let shown = excerpt(&log, 1000);
        assert_eq!(shown.matches("error: last").count(), 1, "{shown}");
        let many = "error: again and again\n".repeat(5000);
        assert!(excerpt(&many, 1000).len() <= 1000);
    }
}
