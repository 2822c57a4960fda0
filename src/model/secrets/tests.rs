//! Tests of what is taken for a secret.

use super::*;

fn kinds(text: &str) -> Vec<&'static str> {
    let secrets = Secrets::new(["hunter2-hunter2".to_owned(), "postgres".to_owned()]);
    let found = secrets.find(text.as_bytes());
    found.into_iter().map(|found| found.kind).collect()
}

#[test]
fn secrets_are_taken_out_whole_before_anything_is_cut() {
    let secrets = Secrets::new([
        "hunter2-hunter2".to_owned(),
        "hunter2-hunter2-long".to_owned(),
    ]);
    let text = secrets.redact("ä hunter2-hunter2-long b ghp_0123456789abcdefghij0123 ü");
    assert_eq!(text, "ä [redacted] b [redacted] ü");
    assert_eq!(Secrets::new(["short".to_owned()]).redact("short"), "short");
    let url = secrets.redact("https://x-access-token:abc@github.com/o/r");
    assert_eq!(url, "[redacted]github.com/o/r");
    assert!(names_a_secret("MY_api_key") && !names_a_secret("PATH"));
}

#[test]
fn every_shape_is_a_pattern_and_each_kind_is_found() {
    assert_eq!(Secrets::new([]).shapes.len(), SHAPES.len());
    let long = "a1".repeat(20);
    for (text, kind) in [
        (format!("ghs_{long}"), "a GitHub token"),
        (format!("github_pat_{long}"), "a GitHub token"),
        (format!("key = 'sk-ant-{long}'"), "an API key (`sk-…`)"),
        (format!("xoxb-{long}"), "a Slack token"),
        ("AKIAABCDEFGHIJKLMNOP".to_owned(), "an AWS access key"),
        (format!("eyJ{long}.{long}.{long}"), "a JSON Web Token"),
        (
            "https://ann:pa55@example.com".to_owned(),
            "a login in an address",
        ),
        (
            format!("-----BEGIN RSA PRIVATE KEY-----\n{long}\n"),
            "a private key",
        ),
        ("x = hunter2-hunter2".to_owned(), VALUE),
    ] {
        assert_eq!(kinds(&text), [kind], "{text}");
    }
}

#[test]
fn what_only_looks_like_a_secret_keeps_no_commit_here() {
    for text in [
        "a task-list-with-a-long-name-2 of sk-folding-cube-animation",
        "https://user:$PASSWORD@example.com https://user:<password>@example.com",
        "if text.starts_with(\"-----BEGIN PRIVATE KEY-----\") { parse_the_body_of_the_key_that_follows() }",
        "postgres",
    ] {
        assert_eq!(kinds(text), [""; 0], "{text}");
    }
}

#[test]
fn a_private_key_without_its_end_is_taken_out_as_far_as_it_goes() {
    let secrets = Secrets::new([]);
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\nabc=\n";
    assert_eq!(secrets.redact(&format!("a {key}")), "a [redacted]");
    let whole = format!("{key}-----END PRIVATE KEY-----\nand so on");
    assert_eq!(secrets.redact(&whole), "[redacted]\nand so on");
}

#[test]
fn one_pass_over_all_finds_what_each_search_of_its_own_finds() {
    let values = ["pässwörd-geheim", "a.b*c(d)e", "two\nlines-here"];
    let secrets = Secrets::new(values.map(str::to_owned));
    let texts = [
        "x pässwörd-geheim y",
        "a.b*c(d)e",
        "aXb*c(d)e",
        "two\nlines-here",
        "https://me:word@example.com and HTTPS://me:word@example.com",
        "glpat-aaaaaaaaaaaaaaaaaaaaaaaa xoxb-aaaaaaaaaaaa",
        "-----BEGIN PRIVATE KEY-----\nabc",
        "nothing at all",
    ];
    for text in texts {
        let mut alone: Vec<_> = secrets
            .taken_out()
            .flat_map(|one| one.find_iter(text.as_bytes()))
            .map(|place| place.range())
            .collect();
        alone.sort_by_key(|span| (span.start, span.end));
        assert_eq!(secrets.spans(text.as_bytes()), alone, "{text}");
    }
    assert!(secrets.any().is_some());
}
