//! The verify block: shapes, and errors with their place.

use super::*;

#[test]
fn an_arrow_in_a_command_does_not_end_the_verify_block() {
    let yaml = "verify:\n  - echo 'a --> b'\n  - |\n    cat <<'X'\n    ```\n    <details>\n    - [ ] no task\n    X";
    let body = format!(
        "{}\n- [ ] real\n\n{}\n",
        verify_of(yaml),
        render_state_block(&state())
    );
    assert_eq!(steps(&body).len(), 2);
    assert_eq!(steps(&body)[0].1, "echo 'a --> b'");
    assert_eq!(tasks(&body), [("real".to_owned(), false)]);
    assert_eq!(found(&body), state());
    assert!(without_our_blocks(&body).contains("a --> b"));
}

#[test]
fn verify_may_be_a_text_a_list_or_steps_with_paths() {
    let step = |path: Option<&str>, command: &str| (path.map(str::to_owned), command.to_owned());
    assert_eq!(
        steps(&verify_of("verify: make test")),
        [step(None, "make test")]
    );
    assert_eq!(steps(&verify_of("verify: []")), []);
    assert_eq!(
        steps(&verify_of("verify: [a, 'b: c', true]")),
        ["a", "b: c", "true"].map(|c| step(None, c))
    );
    assert_eq!(
        steps(&verify_of(
            "# why\nverify:\n- {path: ./a/b, command: x}\n- path: .\n  command: \"y\\nz\""
        )),
        [step(Some("./a/b"), "x"), step(Some("."), "y\nz")]
    );
}

#[test]
fn a_wrong_verify_block_says_what_and_where() {
    let cases = [
        ("verify:\n  - a\n  - [b]", 6, "command"),
        ("verify:\n  - a\n  - {path: x, command: b}", 6, "do not mix"),
        ("verify:\n  - {path: x, command: b}\n  - a", 6, "do not mix"),
        ("verify:\n  - {path: ../x, command: b}", 5, "without `..`"),
        ("verify:\n  - {path: /x, command: b}", 5, "without `..`"),
        ("verify:\n  - {path: '', command: b}", 5, "without `..`"),
        ("verify:\n  - {path: x}", 5, "command"),
        ("verify:\n  - {command: x}", 5, "path"),
        ("verify:\n  - {path: x, command: y, shell: z}", 5, "shell"),
        ("verify:\n  - {path: x, path: y, command: y}", 5, "path"),
        ("verify: a\nverify: b", 5, "verify"),
        ("verify: a\ntests: b", 5, "tests"),
        ("verify: 7", 4, "command"),
        ("verify: {command: x}", 4, "command"),
        ("verify:", 4, "command"),
        ("verify: ''", 4, "empty"),
        ("verify:\n  - ok\n  - ' '", 6, "empty"),
        ("verify: [a", 4, ""),
        ("just text", 4, ""),
        ("", 4, ""),
        ("verify: a\n---\nverify: b", 5, ""),
        ("verify: *nobody", 4, ""),
        ("verify: \"a\tb\n\u{0}", 4, ""),
    ];
    for (yaml, line, word) in cases {
        let (message, at, _) = verify_error(yaml);
        assert!(message.contains(word), "{yaml:?}: {message}");
        assert!(at.abs_diff(line) <= 1, "{yaml:?}: {message} at line {at}");
    }
    assert_eq!(verify_error("verify:\n  - {path: ../x, command: b}").1, 5);
}

#[test]
fn a_verify_block_that_stands_twice_or_is_never_closed_is_invalid() {
    let twice = verify_of("verify: a").repeat(2);
    assert!(matches!(
        parse(&twice).verify,
        VerifyBlock::Invalid {
            line: 8,
            column: 1,
            ..
        }
    ));
    let open = "x\n<!-- GHSWARM_VERIFY_START\nverify: a\n";
    assert!(matches!(
        parse(open).verify,
        VerifyBlock::Invalid {
            line: 2,
            column: 1,
            ..
        }
    ));
}

#[test]
fn an_alias_bomb_is_an_error_and_costs_nothing() {
    let mut lines = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x]".to_owned()];
    for n in 1..30 {
        let list = vec![format!("*a{}", n - 1); 6].join(", ");
        lines.push(format!("a{n}: &a{n} [{list}]"));
    }
    lines.push("verify: *a29".to_owned());
    verify_error(&lines.join("\n"));
}
