//! Tests of what gets into a log.

use super::*;

const LINES: &str = "first-line-5ecre7\nsecond-line-5ecre7";

fn token() -> String {
    format!("ghp_{}", "a1B2".repeat(9))
}

fn scrubber() -> Scrubber {
    let values = ["hunter2-hunter2".to_owned(), LINES.to_owned()];
    Scrubber::new(Arc::new(Secrets::new(values)))
}

/// All that is written of this output, which comes in pieces of this size.
fn written(output: &[u8], piece: usize) -> String {
    let mut scrubber = scrubber();
    let mut all = Vec::new();
    for piece in output.chunks(piece) {
        all.extend(scrubber.pass(piece));
    }
    all.extend(scrubber.finish());
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn a_secret_does_not_get_into_the_log_however_the_output_is_split() {
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\nabc=\n-----END PRIVATE KEY-----";
    let output = format!("a {} b\r\nc hunter2-hunter2\n{LINES} d\n{key}\ne", token());
    let clean = "a [redacted] b\r\nc [redacted]\n[redacted] d\n[redacted]\ne";
    for piece in 1..=output.len() {
        assert_eq!(
            written(output.as_bytes(), piece),
            clean,
            "pieces of {piece}"
        );
    }
}

#[test]
fn whole_lines_are_written_at_once() {
    let mut scrubber = scrubber();
    assert_eq!(scrubber.pass(b"one\ntw"), b"one\n");
    assert_eq!(scrubber.pass(b"o\r"), b"two\r");
    assert_eq!(scrubber.finish(), b"");
}

#[test]
fn output_without_any_lines_is_kept_back_up_to_a_limit_and_loses_nothing_but_secrets() {
    let filler = "x ".repeat(LOG_HELD_BYTES_MAX);
    let output = format!("{filler}{} {filler}", token());
    for piece in [1000, 64 * 1024] {
        let expected = format!("{filler}[redacted] {filler}");
        assert!(written(output.as_bytes(), piece) == expected);
    }
    let mut scrubber = scrubber();
    scrubber.pass(filler.as_bytes());
    assert!(scrubber.held.len() <= LOG_HELD_BYTES_MAX);
}

#[test]
fn a_heading_of_a_key_that_never_ends_does_not_keep_the_rest_back() {
    let heading = "-----BEGIN PRIVATE KEY-----\n";
    let output = format!("{heading}{}", "abc\n".repeat(LOG_HELD_BYTES_MAX));
    let mut scrubber = scrubber();
    for piece in output.as_bytes().chunks(4096) {
        scrubber.pass(piece);
        assert!(scrubber.held.len() <= LOG_HELD_BYTES_MAX + 4096);
    }
}
