//! Tests of the capped log.

use std::fs;

use super::*;

#[test]
fn a_flood_keeps_head_and_tail_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("output.log");
    let mut log = CappedLog::open(&path, 4000).unwrap();
    for line in 0..10_000 {
        log.append(format!("line {line}\n").as_bytes()).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.len() <= 4000, "{} bytes", text.len());
    assert!(text.starts_with("line 0\nline 1\n"));
    assert!(text.ends_with("line 9999\n"));
    assert_eq!(text.matches("bytes left out here").count(), 1, "{text}");
}

#[test]
fn one_write_larger_than_the_cap_is_cut_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("output.log");
    let mut log = CappedLog::open(&path, 1000).unwrap();
    log.append(&vec![b'x'; 50_000]).unwrap();
    log.append(b"the end").unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.len() <= 1000);
    assert!(text.ends_with("the end"));
}

#[test]
fn the_tail_is_text_without_terminal_codes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("output.log");
    let colours = "\u{1b}[1;31mred\u{1b}[0m \u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}\u{0}\r\n";
    fs::write(&path, format!("{colours}50%\r100%\n\t\u{1b}(Bok")).unwrap();
    assert_eq!(tail(&path, 1000).unwrap(), "red link\n50%\n100%\n\tok");
}

#[test]
fn the_tail_begins_with_a_whole_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("output.log");
    fs::write(&path, "first\nsecond\nthird\n").unwrap();
    assert_eq!(tail(&path, 9).unwrap(), "third\n");
    assert_eq!(tail(&folder.path().join("none"), 9).unwrap(), "");
}
