//! Markers and harmless text, by example and by property.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::model::ids::{ClaimId, Login};

fn slug() -> RepoSlug {
    "acme/site".parse().unwrap()
}

fn lock() -> LockMarker {
    LockMarker {
        operator: Some(Login::new("mona").unwrap()),
        worktree: Some("/home/mona/site-worktrees/issue-42".into()),
        branch: Some("issue-42".into()),
        at: Some("2026-01-02T03:04:05Z".parse().unwrap()),
        by: LockBy::Loop,
        claim: Some(ClaimId::new("c-9b1e").unwrap()),
        bundled_with: None,
        unknown: BTreeMap::new(),
    }
}

fn checkpoint(prose: &str, state: &IssueState) -> String {
    let run = render_run(&slug(), IssueNumber(42));
    let lock = render_lock(&lock(), MARKER_WORD);
    let mirror = render_mirrored_state(state).unwrap();
    format!("{run}\n{lock}\n\n{prose}\n\n{mirror}")
}

#[test]
fn a_key_is_read_from_the_first_bytes_only() {
    let marker = key_marker("42/1764497000-3/blocked");
    assert_eq!(marker, "<!-- ghswarm:key=42/1764497000-3/blocked -->");
    assert_eq!(
        key_of(&format!("{marker}\nText")),
        Some("42/1764497000-3/blocked")
    );
    assert_eq!(key_of(&format!(" {marker}")), None);
    assert_eq!(key_of(&format!("> {marker}")), None);
    assert_eq!(key_of("<!-- ghswarm:key= -->"), None);
    assert_eq!(key_of("<!-- ghswarm:key=open"), None);
    assert_eq!(key_marker("a --> b"), "<!-- ghswarm:key=a_--__b -->");
    assert!(is_posted_by_ghswarm(&marker));
}

#[test]
fn a_checkpoint_says_whose_it_is_and_mirrors_the_state() {
    let state = IssueState {
        rev: 9,
        pending_questions: Some("why --> ?".into()),
        ..Default::default()
    };
    let body = checkpoint("**Working** on it.", &state);
    let read = parse_checkpoint(&body, MARKER_WORD).unwrap();
    let lock = Some(lock());
    let expected = Checkpoint {
        repo: slug(),
        issue: IssueNumber(42),
        lock,
        finished: false,
        state: Some(state),
    };
    assert_eq!(read, expected);
    assert_eq!(
        parse_checkpoint(&body.replace('\n', "\r\n"), MARKER_WORD),
        Some(expected)
    );
    assert_eq!(parse_checkpoint(&body, "other-word").unwrap().lock, None);
    assert_eq!(parse_checkpoint(&format!("\n{body}"), MARKER_WORD), None);
    assert_eq!(
        parse_checkpoint("<!-- ghswarm:run acme#42 -->\n", MARKER_WORD),
        None
    );
    assert_eq!(parse_checkpoint("", MARKER_WORD), None);
}

#[test]
fn a_run_is_finished_by_its_marker_or_by_the_bare_word() {
    let state = IssueState::default();
    let finished = |prose: &str| {
        parse_checkpoint(&checkpoint(prose, &state), MARKER_WORD)
            .unwrap()
            .finished
    };
    assert!(finished(FINISHED_MARKER));
    assert!(finished("**Finished**"));
    assert!(!finished("**Finished** soon"));
    assert!(!finished("> **Finished**"));
    assert!(!finished("```\n**Finished**\n```"));
    assert!(!finished("<details>\n\n**Finished**\n</details>"));
}

#[test]
fn a_state_that_somebody_smuggled_into_the_prose_is_not_the_mirrored_one() {
    let forged = IssueState {
        rev: 666,
        ..Default::default()
    };
    let forgery = render_mirrored_state(&forged).unwrap();
    let state = IssueState {
        rev: 1,
        ..Default::default()
    };
    assert_eq!(
        mirrored_state(&checkpoint(&forgery, &state)),
        Some(state.clone())
    );
    let cut = checkpoint(&forgery, &state).replace(MIRROR_CLOSES, "");
    assert_eq!(mirrored_state(&cut), None);
    assert_eq!(
        mirrored_state(&format!("{}\nmore", checkpoint("", &state))),
        None
    );
    let opened = format!("{STATE_OPENS}\n{{}}\n{STATE_CLOSES}\n{MIRROR_CLOSES}\n");
    assert_eq!(mirrored_state(&opened), None);
}

#[test]
fn a_state_too_large_for_a_comment_is_an_error() {
    let state = IssueState {
        pending_questions: Some("x".repeat(60_000)),
        ..Default::default()
    };
    assert!(render_mirrored_state(&state).unwrap_err().bytes > 60_000);
}

#[test]
fn a_lock_marker_is_one_line_as_the_protocol_has_it() {
    let line = "<!-- claude-lock: operator=mona worktree=/home/mona/site-worktrees/issue-42 branch=issue-42 at=2026-01-02T03:04:05Z by=loop claim=c-9b1e -->";
    assert_eq!(render_lock(&lock(), MARKER_WORD), line);
    assert_eq!(lock_markers(line, MARKER_WORD), [lock()]);
}

#[test]
fn a_lock_marker_of_another_tool_is_read_leniently() {
    let body = "Session started\r\n<!-- agent-lock: at=2026-01-02T05:04:05+02:00 by=robot  worktree=/Users/Mona Lisa/w operator=@mona bundled_with=#7 pid=12 claim=!! -->\r\n<!-- agent-lock: -->\r\n";
    let read = lock_markers(body, "agent-lock");
    assert_eq!(read.len(), 2);
    assert_eq!(read[0].operator, lock().operator);
    assert_eq!(read[0].at, lock().at);
    assert_eq!(read[0].worktree.as_deref(), Some("/Users/Mona Lisa/w"));
    assert_eq!(read[0].by, LockBy::Other("robot".into()));
    assert_eq!(read[0].bundled_with, Some(IssueNumber(7)));
    assert_eq!(
        (read[0].branch.as_ref(), read[0].claim.as_ref()),
        (None, None)
    );
    assert_eq!(read[0].unknown["pid"], "12");
    assert_eq!(read[0].unknown["claim"], "!!");
    assert_eq!(read[1].by, LockBy::Other(String::new()));
}

#[test]
fn a_quoted_or_folded_lock_marker_locks_nothing() {
    let line = render_lock(&lock(), MARKER_WORD);
    for body in [
        format!("> {line}"),
        format!("```\n{line}\n```"),
        format!("    {line}"),
        format!("text {line}"),
        format!("`{line}`"),
        format!("<details>\n{line}\n</details>"),
        format!("<Details open>\n\n{line}"),
        line.replace(" -->", ""),
    ] {
        assert_eq!(lock_markers(&body, MARKER_WORD), [], "{body}");
    }
    assert_eq!(
        lock_markers(&format!("text\n{line}\n<details>"), MARKER_WORD).len(),
        1
    );
}

#[test]
fn mentions_commands_keywords_and_html_of_others_do_nothing() {
    let b = "\u{200b}";
    let cases = [
        (
            "ask @mona or @acme/team",
            format!("ask @{b}mona or @{b}acme/team"),
        ),
        ("/ghswarm approve 0123", format!("/{b}ghswarm approve 0123")),
        (
            "a\n  /close\n> /close\n- /close",
            format!("a\n  /{b}close\n> /{b}close\n- /{b}close"),
        ),
        (
            "see a/b and https://x/y",
            "see a/b and https://x/y".to_owned(),
        ),
        ("Fixes #9", format!("F{b}ixes #9")),
        ("fix: #9, CLOSED #10", format!("f{b}ix: #9, C{b}LOSED #10")),
        ("closes owner/repo.x#3", format!("c{b}loses owner/repo.x#3")),
        (
            "resolved https://github.com/o/r/issues/1",
            format!("r{b}esolved https://github.com/o/r/issues/1"),
        ),
        (
            "Resolves **#9** closes GH-4",
            format!("R{b}esolves **#9** c{b}loses GH-4"),
        ),
        ("fixes\n\n#9", format!("f{b}ixes\n\n#9")),
        (
            "this fixes the bug, prefixes #1",
            "this fixes the bug, prefixes #1".to_owned(),
        ),
        (
            "<!-- GHSWARM_STATE_START -->",
            format!("<{b}!-- GHSWARM_STATE_START --{b}>"),
        ),
        (
            "</details><details open>",
            format!("<{b}/details><{b}details open>"),
        ),
        (
            "&#64;mona &commat;mona &lt; a && b",
            format!("&{b}#64;mona &{b}commat;mona &{b}lt; a && b"),
        ),
        ("1 < 2 -> 3", "1 < 2 -> 3".to_owned()),
    ];
    for (text, harmless) in cases {
        assert_eq!(neutralise(text), harmless, "{text}");
    }
}

#[test]
fn a_fence_is_longer_than_what_it_holds() {
    assert_eq!(fence("no code"), "```");
    assert_eq!(fence("a ```` b"), "`````");
}

#[test]
fn colours_and_other_escapes_leave_the_text() {
    let cases = [
        ("\u{1b}[31merror\u{1b}[0m: x\u{1b}[K", "error: x"),
        (
            "\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\",
            "alink",
        ),
        ("\u{1b}(Bplain\u{1b}7 \u{1b}=", "plain "),
        ("\u{9b}1mbold\u{9b}m", "bold"),
        ("\u{1b}]never ends\nstill here", "never ends\nstill here"),
        ("cut \u{1b}", "cut "),
        ("cut \u{1b}[31", "cut "),
        ("\u{1b}[31\u{e9}", "\u{e9}"),
        ("a\tb\r\nc\u{0}\u{8}d", "a\tb\r\ncd"),
    ];
    for (raw, plain) in cases {
        assert_eq!(strip_ansi(raw), plain, "{raw:?}");
    }
}

#[test]
fn a_tail_is_whole_lines_where_it_can_be() {
    assert_eq!(tail("a\nb\nc\n", 100), "a\nb\nc\n");
    assert_eq!(tail("aaa\nbbb\nccc\n", 9), "bbb\nccc\n");
    assert_eq!(tail("aaa\nbbb\nccc\n", 8), "bbb\nccc\n");
    assert_eq!(tail("aaa\nbbb", 3), "bbb");
    assert_eq!(tail("aaaabbbb", 4), "bbbb");
    assert_eq!(tail("aaaabbbb\n", 4), "bbb\n");
    assert_eq!(tail("🦀🦀", 5), "🦀");
    assert_eq!(tail("abc", 0), "");
}

proptest! {
    #[test]
    fn a_lock_marker_is_read_back_whatever_its_values(
        worktree in prop::option::of("\\PC{1,30}"),
        branch in prop::option::of("[ -~]{1,30}"),
        odd in prop::option::of(any::<String>().prop_filter("not empty", |s| !s.is_empty())),
    ) {
        let unknown = odd.into_iter().map(|value| ("odd".to_owned(), value)).collect();
        let marker = LockMarker { worktree, branch, unknown, ..lock() };
        let line = render_lock(&marker, MARKER_WORD);
        prop_assert_eq!(line.lines().count(), 1);
        prop_assert_eq!(line.matches("-->").count(), 1);
        prop_assert_eq!(lock_markers(&line, MARKER_WORD), [marker]);
    }

    #[test]
    fn a_mirrored_state_is_read_back(question in any::<String>(), rev in any::<u64>(), prose in any::<String>()) {
        let state = IssueState { rev, pending_questions: Some(question), ..Default::default() };
        prop_assert_eq!(mirrored_state(&checkpoint(&prose, &state)), Some(state));
    }

    #[test]
    fn neutral_text_stays_as_it_is(text in "[@/#a-z<>&; \\n-]{0,30}|(Fix|closes| #|@a|/b|<!--|-->|\\n|&#64;){0,9}") {
        let once = neutralise(&text);
        prop_assert_eq!(neutralise(&once), once.clone());
        prop_assert!(!once.contains("<!--") && !once.contains("-->"));
        prop_assert_eq!(once.replace('\u{200b}', ""), text);
    }

    #[test]
    fn a_tail_is_an_end_that_fits(text in any::<String>(), max in 0_usize..40) {
        let tail = tail(&text, max);
        prop_assert!(text.ends_with(tail) && tail.len() <= max.max(text.len().min(max)));
    }

    #[test]
    fn stripped_text_has_no_escapes(text in "[\u{1b}\u{9b}\\[\\]a-z0-9;\u{7}\n\\\\]{0,40}") {
        let stripped = strip_ansi(&text);
        let bare = !stripped.contains(['\u{1b}', '\u{9b}']);
        prop_assert!(bare);
        prop_assert_eq!(strip_ansi(&stripped), stripped.clone());
    }
}
