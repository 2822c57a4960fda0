use chrono::DateTime;

use super::*;
use crate::model::money::Usd;

fn listening(format: AgentFormat) -> Listening {
    Listening {
        format,
        since: DateTime::parse_from_rfc3339("2026-11-30T23:08:00+00:00").unwrap(),
        session_tokens: 0,
        transient: Vec::new(),
    }
}

fn said(format: AgentFormat, text: &str) -> AgentReport {
    let mut reader = StreamReader::new(listening(format));
    reader.feed(Channel::Out, text.as_bytes());
    reader.report()
}

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../tests/fixtures/agents/", $name))
    };
}

fn claude(text: &str) -> AgentReport {
    said(AgentFormat::ClaudeJson, text)
}

fn codex(text: &str) -> AgentReport {
    said(AgentFormat::CodexJson, text)
}

#[track_caller]
fn fails(report: &AgentReport, kind: AgentErrorKind, words: &str) {
    let error = report.error.as_ref().expect("it failed");
    assert_eq!(error.kind, kind, "{error:?}");
    assert!(error.words.contains(words), "{error:?}");
    assert!(report.spent.is_nothing(), "{report:?}");
}

fn time(text: &str) -> Timestamp {
    DateTime::parse_from_rfc3339(text).unwrap().to_utc()
}

#[test]
fn claude_tells_tokens_dollars_turns_session_and_its_last_words() {
    let report = claude(recorded!("claude-success.jsonl"));
    assert_eq!(report.spent.tokens, 3600 + 900 + 27000 + 450);
    assert_eq!(report.spent.usd, Usd::from_dollars(0.0333));
    assert_eq!(report.turns, 3);
    assert_eq!(
        report.session.as_deref(),
        Some("0e91ca57-c76e-4e67-9a7c-4910bad644aa")
    );
    let text = report.text.as_deref();
    assert_eq!(text, Some("Done: `hello.txt` is there and committed."));
    assert_eq!(report.error, None);
}

#[test]
fn a_resumed_session_of_claude_costs_what_was_added() {
    let report = claude(recorded!("claude-resumed.jsonl"));
    assert_eq!(report.spent.usd, Usd::from_dollars(0.0111));
    assert_eq!(report.spent.tokens, 1200 + 300 + 9000 + 150);
}

#[test]
fn tokens_of_claude_grow_while_it_works_and_are_settled_by_its_result() {
    let lines: Vec<&str> = recorded!("claude-success.jsonl").lines().collect();
    let mut reader = StreamReader::new(listening(AgentFormat::ClaudeJson));
    let mut seen = Vec::new();
    for line in &lines {
        reader.feed(Channel::Out, line.as_bytes());
        reader.feed(Channel::Out, b"\n");
        seen.push(reader.report().spent.tokens);
    }
    // Two lines of one message count once.
    assert_eq!(seen[..4], [0, 10_501, 10_501, 10_501]);
    assert!(seen.is_sorted(), "{seen:?}");
}

#[test]
fn claude_without_an_account_or_credit_is_for_a_person() {
    let kind = AgentErrorKind::Account;
    fails(
        &claude(recorded!("claude-not-logged-in.jsonl")),
        kind,
        "Please run /login",
    );
    fails(
        &claude(recorded!("claude-invalid-key.jsonl")),
        kind,
        "Invalid API key",
    );
    fails(
        &claude(recorded!("claude-no-credit.jsonl")),
        kind,
        "Credit balance",
    );
}

#[test]
fn claude_says_when_its_usage_limit_is_over() {
    let report = claude(recorded!("claude-usage-limit.jsonl"));
    fails(
        &report,
        AgentErrorKind::Limited,
        "You've hit your 5-hour limit",
    );
    let until = report.error.unwrap().until;
    assert_eq!(until, DateTime::from_timestamp(1_796_084_542, 0));
    let report = claude(recorded!("claude-rate-limit.jsonl"));
    fails(&report, AgentErrorKind::Limited, "tokens per minute");
    assert_eq!(report.error.unwrap().until, None);
}

#[test]
fn claude_tells_an_overloaded_server_a_long_prompt_and_a_lost_session_apart() {
    let report = claude(recorded!("claude-overloaded.jsonl"));
    fails(&report, AgentErrorKind::Transient, "529");
    let report = claude(recorded!("claude-prompt-too-long.jsonl"));
    fails(&report, AgentErrorKind::PromptTooLong, "Prompt is too long");
    let report = claude(recorded!("claude-lost-session.jsonl"));
    fails(
        &report,
        AgentErrorKind::LostSession,
        "No conversation found",
    );
}

#[test]
fn claude_that_is_ended_while_it_tries_again_is_known_to_have_failed_so() {
    let lines: Vec<&str> = recorded!("claude-overloaded.jsonl").lines().collect();
    let report = claude(&format!("{}\n{}\n", lines[0], lines[1]));
    fails(&report, AgentErrorKind::Transient, "529");
}

#[test]
fn codex_tells_tokens_turns_session_and_its_last_words() {
    let report = codex(recorded!("codex-success.jsonl"));
    assert_eq!((report.spent.tokens, report.turns), (2400, 1));
    assert!(report.spent.usd.is_nothing());
    assert_eq!(
        report.session.as_deref(),
        Some("01a22eb8-7b27-7b31-88f7-2bfaa1444297")
    );
    assert_eq!(
        report.text.as_deref(),
        Some("Done: hello.txt is there and committed.")
    );
    assert_eq!(report.error, None);
}

#[test]
fn a_resumed_session_of_codex_costs_what_was_added() {
    let mut reader = StreamReader::new(Listening {
        session_tokens: 2400,
        ..listening(AgentFormat::CodexJson)
    });
    reader.feed(Channel::Out, recorded!("codex-resumed.jsonl").as_bytes());
    let report = reader.report();
    assert_eq!((report.spent.tokens, report.session_tokens), (1200, 3600));
}

#[test]
fn codex_without_an_account_or_credit_is_for_a_person() {
    let kind = AgentErrorKind::Account;
    fails(
        &codex(recorded!("codex-invalid-key.jsonl")),
        kind,
        "401 Unauthorized",
    );
    fails(
        &codex(recorded!("codex-no-key.jsonl")),
        kind,
        "OPENAI_API_KEY",
    );
    fails(
        &codex(recorded!("codex-no-quota.jsonl")),
        kind,
        "Quota exceeded",
    );
}

#[test]
fn codex_says_when_its_usage_limit_is_over() {
    let report = codex(recorded!("codex-usage-limit.jsonl"));
    fails(&report, AgentErrorKind::Limited, "usage limit");
    assert_eq!(
        report.error.unwrap().until,
        Some(time("2026-12-01T00:21:00Z"))
    );
    let report = codex(recorded!("codex-rate-limit.jsonl"));
    fails(&report, AgentErrorKind::Limited, "429");
    assert_eq!(report.error.unwrap().until, None);
}

#[test]
fn an_hour_that_codex_names_is_one_of_the_wall_clock_here() {
    let line = r#"{"type":"turn.failed","error":{"message":"You’ve hit your usage limit. Try again at 1:05 AM."}}"#;
    let line = line.replace("Try again", "To go on, try again");
    let mut reader = StreamReader::new(Listening {
        since: DateTime::parse_from_rfc3339("2026-11-30T23:08:00+02:00").unwrap(),
        ..listening(AgentFormat::CodexJson)
    });
    reader.feed(Channel::Out, format!("{line}\n").as_bytes());
    let until = reader.report().error.unwrap().until;
    assert_eq!(until, Some(time("2026-11-30T23:06:00Z")));
}

#[test]
fn codex_tells_an_overloaded_server_a_missing_network_and_a_lost_session_apart() {
    let report = codex(recorded!("codex-overloaded.jsonl"));
    fails(&report, AgentErrorKind::Transient, "at capacity");
    let report = codex(recorded!("codex-no-network.jsonl"));
    fails(&report, AgentErrorKind::Transient, "waiting for network");
    let mut reader = StreamReader::new(listening(AgentFormat::CodexJson));
    reader.feed(Channel::Err, recorded!("codex-lost-session.txt").as_bytes());
    fails(
        &reader.report(),
        AgentErrorKind::LostSession,
        "no rollout found",
    );
}

#[test]
fn what_an_agent_or_its_tools_print_is_never_taken_for_an_error() {
    let spoken = r#"{"type":"assistant","session_id":"s","message":{"id":"m","content":[{"type":"text","text":"API Error: 529 Overloaded, 401, usage limit"}],"usage":{"output_tokens":1}}}
{"type":"user","message":{"content":[{"type":"tool_result","content":"{\"type\":\"result\",\"is_error\":true,\"api_error_status\":429}"}]}}
503 passed, 429 failed
"#;
    let report = claude(spoken);
    assert_eq!(report.error, None);
    let spoken = r#"{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"401 Unauthorized: usage limit"}}
{"type":"item.completed","item":{"type":"agent_message","text":"You’ve hit your usage limit."}}
Error: thread/resume failed
"#;
    assert_eq!(codex(spoken).error, None);
    assert_eq!(
        said(AgentFormat::Text, "503 passed\n"),
        AgentReport::default()
    );
}

#[test]
fn a_reset_beyond_all_sense_is_none() {
    for at in [0_i64, 1_700_000_000, 9_000_000_000, i64::MAX] {
        let lines = format!(
            r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":{at}}}}}
{{"type":"result","is_error":true,"api_error_status":429,"result":"no"}}
"#
        );
        let error = claude(&lines).error.unwrap();
        assert_eq!((error.kind, error.until), (AgentErrorKind::Limited, None));
    }
}

#[test]
fn any_bytes_in_any_pieces_are_read_alike() {
    let text = recorded!("claude-success.jsonl");
    let whole = claude(text);
    for size in [1, 7, 4096] {
        let mut reader = StreamReader::new(listening(AgentFormat::ClaudeJson));
        for part in text.as_bytes().chunks(size) {
            reader.feed(Channel::Out, part);
            reader.feed(Channel::Err, b"\xff\xfe{\n");
        }
        assert_eq!(reader.report(), whole);
    }
}

#[test]
fn a_line_beyond_all_measure_is_left_out_and_the_next_one_read() {
    let mut reader = StreamReader::new(listening(AgentFormat::ClaudeJson));
    for _ in 0..5 {
        reader.feed(Channel::Out, &vec![b'x'; AGENT_LINE_BYTES_MAX / 2]);
    }
    reader.feed(Channel::Out, b"\n");
    reader.feed(Channel::Out, recorded!("claude-success.jsonl").as_bytes());
    assert_eq!(reader.report().turns, 3);
    assert!(reader.plain.len() <= 3 * LOG_TAIL_BYTES);
}

#[test]
fn the_users_patterns_are_asked_of_a_failure_only_and_of_its_own_words() {
    let mut reader = StreamReader::new(Listening {
        transient: vec![Regex::new("(?i)resource.exhausted").unwrap()],
        ..listening(AgentFormat::Text)
    });
    reader.feed(
        Channel::Out,
        b"working\nError: RESOURCE_EXHAUSTED, wait\nbye\n",
    );
    assert_eq!(reader.report_of_end(true).error, None);
    let error = reader.report_of_end(false).error.unwrap();
    assert_eq!(error.kind, AgentErrorKind::Transient);
    assert_eq!(error.words, "RESOURCE_EXHAUSTED, wait");
}
