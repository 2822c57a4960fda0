//! What holds for every body.

use proptest::prelude::*;

use super::*;

fn bodies() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("\n"),
        Just("\r\n"),
        Just("\n\n"),
        Just("```\n"),
        Just("    "),
        Just("> "),
        Just("- [ ] "),
        Just("- [x] do\n"),
        Just("* "),
        Just("<details>\n"),
        Just("</details>\n"),
        Just("<!-- "),
        Just("-->"),
        Just("<!-- GHSWARM_STATE_START\n"),
        Just("GHSWARM_STATE_END -->\n"),
        Just("{\"rev\":7}\n"),
        Just("<!-- GHSWARM_VERIFY_START\nverify: x\nGHSWARM_VERIFY_END -->\n"),
        Just("GHSWARM_VERIFY_END -->"),
        Just("<!-- GHSWARM_VERIFY_START\n"),
        Just("<!-- GHSWARM_PR_LINK_START -->\n"),
        Just("PR: http://x\n"),
        Just("<!-- GHSWARM_PR_LINK_END -->\n"),
        Just("text"),
        Just("🦀\u{0}\u{202e}"),
        Just("`"),
        Just("<pre>"),
        Just("\t"),
        Just("\r"),
        Just("[a]: b\n"),
        Just("1. "),
        Just("| a |\n|---|\n"),
        Just("<div>\n"),
    ];
    prop::collection::vec(pieces, 0..25).prop_map(|pieces| pieces.concat())
}

fn states() -> impl Strategy<Value = IssueState> {
    (
        any::<u64>(),
        any::<u32>(),
        prop::option::of(any::<String>()),
        "[ -~\\n<>]{0,40}",
        any::<i64>(),
    )
        .prop_map(|(rev, attempt, question, text, number)| {
            let mut unknown = serde_json::Map::new();
            unknown.insert(
                "later".to_owned(),
                serde_json::json!({ text.clone(): [number, null, true] }),
            );
            let owner = Some(text);
            IssueState {
                rev,
                attempt,
                pending_questions: question,
                busy_owner: owner,
                unknown,
                ..state()
            }
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_and_the_rest_survives(
        body in bodies(),
        state in states(),
        link in prop::option::of("https://[a-z]{1,9}/pull/[0-9]{1,4}"),
    ) {
        let change = BodyChange { state: Some(&state), pr_url: link.as_deref(), tick: &[] };
        let Ok(written) = rewrite(&body, &change) else { return Ok(()) };
        prop_assert_eq!(found(&written), state.clone());
        prop_assert_eq!(without_our_blocks(&written), without_our_blocks(&body));
        prop_assert_eq!(rewrite(&written, &change).unwrap(), written.clone());
        prop_assert_eq!(parse(&written).verify.is_steps(), parse(&body).verify.is_steps());
        prop_assert_eq!(tasks(&written), tasks(&body));
    }

    #[test]
    fn what_is_restored_is_read_back_and_the_rest_survives(body in bodies(), state in states()) {
        let change = BodyChange { state: Some(&state), ..Default::default() };
        let Ok(written) = restore(&body, &change) else { return Ok(()) };
        prop_assert_eq!(found(&written), state.clone());
        if blocks::find(&body).of(Kind::State).count() < 2 {
            prop_assert_eq!(without_our_blocks(&written), without_our_blocks(&body));
        }
        prop_assert_eq!(rewrite(&written, &change).unwrap(), written);
    }

    #[test]
    fn ticking_changes_boxes_only(body in bodies()) {
        let parsed = parse(&body);
        if !matches!(parsed.state, StateBlock::Absent | StateBlock::Found { .. }) { return Ok(()) }
        let tick: Vec<String> = parsed.open_tasks().map(str::to_owned).collect();
        let ticked = rewrite(&body, &BodyChange { tick: &tick, ..Default::default() }).unwrap();
        prop_assert_eq!(ticked.len(), body.len());
        prop_assert_eq!(parse(&ticked).open_tasks().count(), 0);
        let differ = ticked.bytes().zip(body.bytes()).filter(|(a, b)| a != b).count();
        prop_assert_eq!(differ, tick.len());
    }

    #[test]
    fn any_text_has_a_reading(body in any::<String>(), more in bodies()) {
        parse(&format!("{body}{more}"));
        parse(&format!("{more}{body}"));
    }
}
