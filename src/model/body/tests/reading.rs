//! What counts as a block and as a task.

use super::*;

#[test]
fn a_plain_spec_has_steps_and_tasks_and_no_state() {
    let parsed = parse(SPEC);
    assert_eq!(parsed.state, StateBlock::Absent);
    assert_eq!(
        steps(SPEC),
        [(None, "cargo test".into()), (None, "cargo clippy".into())]
    );
    assert_eq!(parsed.open_tasks().collect::<Vec<_>>(), ["Write it"]);
    assert!(
        parsed
            .tasks
            .iter()
            .all(|t| matches!(SPEC.as_bytes()[t.box_at], b' ' | b'x'))
    );
    assert_eq!(parsed.pr_link, None);
}

#[test]
fn checkboxes_in_code_details_quotes_and_comments_are_not_ours() {
    for quoted in [
        "```\n- [ ] a\n```\n",
        "~~~md\n- [ ] a\n",
        "    - [ ] a\n",
        "> - [ ] a\n",
        "> x\n>\n> 1. [ ] a\n",
        "<details>\n\n- [ ] a\n\n</details>\n",
        "<DETAILS open>\n\n- [ ] a\n\n</DETAILS>\n",
        "<details><summary>x</summary>\n\n<details>\n\n</details>\n\n- [ ] a\n\n</details>\n",
        "text <details>\n\n- [ ] a\n",
        "<!--\n- [ ] a\n\n- [ ] b\n-->\n",
        "<pre>\n- [ ] a\n</pre>\n",
        "`- [ ] a`\n",
        "- [] a\n- [y] b\n- [ ]c\n",
        "\\- [ ] a\n",
    ] {
        assert_eq!(tasks(quoted), [], "{quoted}");
        let after = format!("{quoted}\n</details>\n\n```\n```\n\n- [ ] real\n");
        if !quoted.contains("~~~") {
            assert_eq!(tasks(&after), [("real".into(), false)], "{after}");
        }
    }
}

#[test]
fn every_kind_of_list_item_can_be_a_task() {
    let body = "- [ ] dash\n\n* [X] star **bold** `code`\n\n+ [ ] plus\n\n1. [x] one\n2) [ ] no\n   wrapped line\n   - [ ] nested\n\n- [ ] loose\n\n  more\n\n- [ ] [link](x)\n";
    let expected = [
        ("dash", false),
        ("star **bold** `code`", true),
        ("plus", false),
        ("one", true),
        ("no wrapped line", false),
        ("nested", false),
        ("loose", false),
        ("[link](x)", false),
    ];
    assert_eq!(
        tasks(body),
        expected.map(|(text, done)| (text.to_owned(), done))
    );
}

#[test]
fn blocks_in_code_details_and_quotes_are_not_ours() {
    let block = render_state_block(&state());
    let verify = "<!-- GHSWARM_VERIFY_START\nverify: x\nGHSWARM_VERIFY_END -->";
    let link = "<!-- GHSWARM_PR_LINK_START -->\nPR: x\n<!-- GHSWARM_PR_LINK_END -->";
    let all = format!("{block}\n{verify}\n{link}");
    let indent = |by: &str| {
        let lines: Vec<String> = all.lines().map(|line| format!("{by}{line}")).collect();
        lines.join("\n") + "\n"
    };
    for quoted in [
        format!("```html\n{all}\n```\n"),
        format!("~~~~\n~~~\n{all}\n"),
        indent("    "),
        indent("\t"),
        indent("> "),
        indent(" "),
        format!("<details>\n\n{all}\n\n</details>\n"),
        format!("<details>\n{all}\n</details>\n"),
        format!("<pre>\n{all}\n</pre>\n"),
        format!("<!-- an example\n{block}\n"),
        format!("- item\n\n  ```\n{}  ```\n", indent("  ")),
        all.replace("<!-- ", "see <!-- "),
        all.replace("_START", "_STARTED"),
    ] {
        let parsed = parse(&quoted);
        assert_eq!(parsed.state, StateBlock::Absent, "{quoted}");
        assert_eq!(parsed.verify, VerifyBlock::Missing, "{quoted}");
        assert_eq!(parsed.pr_link, None, "{quoted}");
        assert_eq!(without_our_blocks(&quoted), quoted);
        assert_eq!(without_our_blocks(&with_state(&quoted, &state())), quoted);
    }
}

#[test]
fn a_block_right_behind_other_html_counts() {
    for before in [
        "</details>\n",
        "<p align=center>x</p>\n",
        "<!-- template -->\n",
        "- item\n",
        "> q\n",
    ] {
        let body = format!("{before}{}\ntext", render_state_block(&state()));
        assert_eq!(found(&body), state(), "{body}");
    }
}

#[test]
fn bodies_made_to_be_slow_are_read_all_the_same() {
    let size = 262_145;
    for piece in [
        "<!-- GHSWARM_STATE_START\n",
        "<!-- GHSWARM_PR_LINK_START -->\n",
        "<!-- GHSWARM_VERIFY_START\n-->\nGHSWARM_VERIFY_END -->\n",
        "GHSWARM_STATE_END -->\n",
        "<details>",
        "> ",
        "- ",
        "[",
        "`a``",
        "<",
        "<!--",
        "- [ ] a\n",
    ] {
        let body = piece.repeat(size / piece.len());
        parse(&body);
        without_our_blocks(&body);
    }
}
