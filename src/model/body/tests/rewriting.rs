//! Our blocks go in and come out; nothing else changes.

use super::*;

#[test]
fn the_state_goes_to_the_top_with_the_link_under_it() {
    let change = BodyChange {
        state: Some(&state()),
        pr_url: Some("https://x/pull/1"),
        ..Default::default()
    };
    let body = rewrite(SPEC, &change).unwrap();
    assert!(body.starts_with("<!-- GHSWARM_STATE_START\n{\n"), "{body}");
    let link = "GHSWARM_STATE_END -->\n<!-- GHSWARM_PR_LINK_START -->\nPR: https://x/pull/1\n<!-- GHSWARM_PR_LINK_END -->\nPlease";
    assert!(body.contains(link), "{body}");
    assert_eq!(found(&body), state());
    assert_eq!(steps(&body), steps(SPEC));
    assert_eq!(without_our_blocks(&body), SPEC);
    assert_eq!(rewrite(&body, &change).unwrap(), body);
}

#[test]
fn a_link_that_comes_later_lands_under_the_state() {
    let body = with_state(SPEC, &state());
    let change = BodyChange {
        pr_url: Some("https://x/pull/1"),
        ..Default::default()
    };
    let body = rewrite(&body, &change).unwrap();
    assert!(
        body.contains("GHSWARM_STATE_END -->\n<!-- GHSWARM_PR_LINK_START -->\nPR: "),
        "{body}"
    );
    assert_eq!(without_our_blocks(&body), SPEC);
    let change = BodyChange {
        pr_url: Some("https://x/pull/2"),
        ..Default::default()
    };
    let body = rewrite(&body, &change).unwrap();
    assert_eq!(body.matches("PR: ").count(), 1);
    let link = parse(&body).pr_link.unwrap();
    assert!(body[link].contains("pull/2"));
}

#[test]
fn a_block_that_was_moved_by_a_person_is_replaced_where_it_stands() {
    let block = render_state_block(&state());
    let body = format!("Intro\n\n{block}\n\nOutro\n");
    let next = IssueState { rev: 4, ..state() };
    let body = with_state(&body, &next);
    assert!(body.starts_with("Intro\n\n<!-- GHSWARM_STATE_START"));
    assert!(body.ends_with("GHSWARM_STATE_END -->\n\nOutro\n"));
    assert_eq!(found(&body).rev, 4);
}

#[test]
fn crlf_bodies_are_read_and_keep_every_line_end() {
    let crlf = SPEC.replace('\n', "\r\n");
    assert_eq!(steps(&crlf), steps(SPEC));
    assert_eq!(tasks(&crlf), tasks(SPEC));
    let body = with_state(&crlf, &state());
    assert!(
        !body.replace("\r\n", "").contains('\n'),
        "a lone newline in {body:?}"
    );
    assert_eq!(found(&body), state());
    assert_eq!(without_our_blocks(&body), crlf);
    let tick = ["Write it".to_owned()];
    let ticked = rewrite(
        &body,
        &BodyChange {
            tick: &tick,
            ..Default::default()
        },
    )
    .unwrap();
    assert_eq!(
        ticked,
        body.replace("- [ ] Write it\r\n", "- [x] Write it\r\n")
    );
}

#[test]
fn a_task_added_during_the_run_stays_open() {
    let body = format!("{SPEC}- [ ] Added meanwhile\n");
    let tick = ["Write it".to_owned()];
    let ticked = rewrite(
        &body,
        &BodyChange {
            tick: &tick,
            ..Default::default()
        },
    )
    .unwrap();
    assert_eq!(
        parse(&ticked).open_tasks().collect::<Vec<_>>(),
        ["Added meanwhile"]
    );
}

#[test]
fn a_state_block_that_stands_twice_is_invalid() {
    let block = render_state_block(&state());
    let body = format!("{block}\ntext\n{block}\n");
    let line = block.lines().count() + 2;
    let StateBlock::Invalid {
        message,
        line: at,
        column,
    } = parse(&body).state
    else {
        panic!()
    };
    assert_eq!(
        (message.as_str(), at, column),
        ("the state block stands twice", line, 1)
    );
    let change = BodyChange {
        state: Some(&state()),
        ..Default::default()
    };
    assert!(matches!(
        rewrite(&body, &change),
        Err(RewriteError::StateInvalid { .. })
    ));
    let restored = restore(&body, &change).unwrap();
    assert_eq!(restored, format!("{block}\ntext\n"));
}

#[test]
fn a_damaged_state_says_where_and_is_not_touched() {
    let cases = [
        ("{\"rev\": 1,}", 3, 11),
        ("{\"rev\": \"one\"}", 3, 13),
        ("{\"issue\": -1}", 3, 12),
        ("{\n \"next_action\": \"dance\"\n}", 4, 24),
        ("{\"rev\":1,\"rev\":2}", 3, 15),
        ("[]", 3, 1),
        ("", 4, 1),
        ("{\"v\":0}", 3, 1),
    ];
    for (json, line, column) in cases {
        let body = format!("é\n<!-- GHSWARM_STATE_START\n{json}\nGHSWARM_STATE_END -->\nprose");
        let StateBlock::Invalid {
            message,
            line: l,
            column: c,
        } = parse(&body).state
        else {
            panic!("{json}")
        };
        assert_eq!(l, line, "{json}: {message} at {l}:{c}");
        assert!(c.abs_diff(column) <= 1, "{json}: {message} at {l}:{c}");
        assert!(!message.contains(" at line "), "{message}");
        let change = BodyChange {
            state: Some(&state()),
            ..Default::default()
        };
        assert!(matches!(
            rewrite(&body, &change),
            Err(RewriteError::StateInvalid { .. })
        ));
        let restored = restore(&body, &change).unwrap();
        assert_eq!(found(&restored), state());
        assert_eq!(without_our_blocks(&restored), "é\nprose");
    }
}

#[test]
fn a_state_block_that_is_never_closed_takes_no_text_along() {
    let body = "<!-- GHSWARM_STATE_START\n{\"rev\":1}\n\nA person's words\n";
    assert!(matches!(
        parse(body).state,
        StateBlock::Invalid {
            line: 1,
            column: 1,
            ..
        }
    ));
    assert_eq!(without_our_blocks(body), body);
    let change = BodyChange {
        state: Some(&state()),
        ..Default::default()
    };
    assert!(matches!(
        restore(body, &change),
        Err(RewriteError::StateInvalid { .. })
    ));
}

#[test]
fn a_newer_state_means_hands_off() {
    let body = "<!-- GHSWARM_STATE_START\n{\"v\":2,\"rev\":\"r1\"}\nGHSWARM_STATE_END -->\n";
    assert_eq!(parse(body).state, StateBlock::Newer { version: 2 });
    let change = BodyChange {
        state: Some(&state()),
        ..Default::default()
    };
    assert_eq!(
        rewrite(body, &change),
        Err(RewriteError::Newer { version: 2 })
    );
    assert_eq!(
        restore(body, &change),
        Err(RewriteError::Newer { version: 2 })
    );
}

#[test]
fn a_python_state_is_read_and_its_unknown_fields_are_kept() {
    let body = "<!-- GHSWARM_STATE_START\n{\"phase\":\"wait_ci\",\"next_action\":\"wait_ci\",\"pr_number\":null,\"cost_usd\":0.5,\"later\":{\"a\":[1]}}\nGHSWARM_STATE_END -->\n";
    let state = found(body);
    assert_eq!((state.v, state.next_action), (1, Phase::WaitCi));
    assert_eq!(state.unknown["later"]["a"][0], 1);
    assert_eq!(found(&with_state(body, &state)), state);
}

#[test]
fn nothing_in_a_state_can_close_the_comment() {
    let nasty = "why --> <!-- \nGHSWARM_STATE_END -->\r\n</details> --!> \u{0} \u{202e}🦀";
    let state = IssueState {
        pending_questions: Some(nasty.to_owned()),
        ..state()
    };
    let body = with_state(SPEC, &state);
    assert_eq!(body.matches("GHSWARM_STATE_END -->\n").count(), 1);
    assert_eq!(found(&body), state);
    assert_eq!(without_our_blocks(&body), SPEC);
}

#[test]
fn a_persons_text_between_link_markers_is_theirs() {
    let body = "<!-- GHSWARM_PR_LINK_START -->\nPR: http://x\nAnd do this.\n<!-- GHSWARM_PR_LINK_END -->\n";
    assert_eq!(parse(body).pr_link, None);
    assert_eq!(without_our_blocks(body), body);
}

#[test]
fn a_large_body_with_odd_characters_is_read_and_kept() {
    let mut body = "🦀 \u{0} \u{202e}rtl\u{200f} é\r\n- [ ] tâche 🦀\n".repeat(6000);
    while body.len() < 262_145 {
        body.push('x');
    }
    assert!(parse(&body).tasks.len() == 6000);
    assert_eq!(without_our_blocks(&body), body);
    let change = BodyChange {
        state: Some(&state()),
        ..Default::default()
    };
    assert!(matches!(
        rewrite(&body, &change),
        Err(RewriteError::TooLarge { .. })
    ));
    let small: String = body.chars().take(60_000).collect();
    let written = with_state(&small, &state());
    assert_eq!(found(&written), state());
    assert_eq!(without_our_blocks(&written), small);
}

#[test]
fn a_state_that_is_too_large_is_refused() {
    let long = "y".repeat(60_000);
    let state = IssueState {
        pending_questions: Some(long),
        ..state()
    };
    let change = BodyChange {
        state: Some(&state),
        ..Default::default()
    };
    assert!(matches!(
        rewrite("", &change),
        Err(RewriteError::BlocksTooLarge { .. })
    ));
}

#[test]
fn an_address_that_could_close_the_block_is_refused() {
    for url in ["", "a b", "x\n<!--", "x-->"] {
        let change = BodyChange {
            pr_url: Some(url),
            ..Default::default()
        };
        assert!(
            matches!(rewrite("", &change), Err(RewriteError::PrUrl { .. })),
            "{url}"
        );
    }
}
