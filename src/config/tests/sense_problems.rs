//! Values that are well formed and make no sense: each is told with its place and what to write.

use super::{check, env, read, told, with};

const AGENTS: &str = "agents: {implement: {command: a}, review: {command: a}}";

/// Two repositories with these lines each.
fn two(first: &str, second: &str) -> String {
    format!("repositories:\n  one: {{{first}, {AGENTS}}}\n  two: {{{second}, {AGENTS}}}\n")
}

#[test]
fn one_repository_under_two_names_is_told_at_the_second() {
    check(
        &two("repo: octo/app, path: /a", "repo: Octo/App, path: /b"),
        r"
c.yaml:3:15: `two` is the same repository as `one`: `Octo/App`
  hint: remove one of them: its issues would be worked on twice
",
    );
    let other_host = two(
        "repo: octo/app, path: /x/a",
        "repo: octo/app, path: /y/b, github: {api_url: 'https://ghe.example/api/v3'}",
    );
    assert_eq!(told(&other_host), "");
}

#[test]
fn one_clone_under_two_names_is_told_also_through_a_link() {
    check(
        &two("repo: o/a, path: /src/a", "repo: o/b, path: /src/x/../a/"),
        r"
c.yaml:3:26: `two` has the clone of `one`: `/src/x/../a/`
  hint: give each repository a clone of its own
",
    );
    let dir = tempfile::tempdir().unwrap();
    let (clone, link) = (dir.path().join("clone"), dir.path().join("link"));
    std::fs::create_dir(&clone).unwrap();
    std::os::unix::fs::symlink(&clone, &link).unwrap();
    let text = two(
        &format!("repo: o/a, path: {}", clone.display()),
        &format!("repo: o/b, path: {}", link.display()),
    );
    assert!(
        told(&text).contains("`two` has the clone of `one`"),
        "{}",
        told(&text)
    );
}

#[test]
fn two_repositories_that_would_share_their_worktrees_are_told() {
    check(
        &two("repo: a/app, path: /src/one", "repo: b/app, path: /src/two"),
        r"
c.yaml:3:28: `two` makes its worktrees where `one` does: `/src/app-worktrees`
  hint: give each a `worktree_dir` of its own
",
    );
}

#[test]
fn worktrees_in_the_way_of_the_clone_are_told() {
    for (dir, fault) in [
        ("/src/demo", "is the clone itself"),
        ("/src/demo/", "is the clone itself"),
        ("/src/demo/.git/worktrees", "lies inside the clone's `.git`"),
        ("/src", "holds the clone itself"),
        ("/", "is the root of the file system"),
    ] {
        let expected = format!(
            "c.yaml:6:19: `worktree_dir` {fault}\n  hint: leave it out for \
             `../<repo>-worktrees` beside the clone, or name a directory of its own\n"
        );
        assert_eq!(told(&with(&format!("worktree_dir: {dir}"))), expected);
    }
    assert_eq!(told(&with("worktree_dir: /src/demo/work")), "");
    assert_eq!(told(&with("worktree_dir: /src/demo.git")), "");
}

#[test]
fn a_clone_with_the_name_of_its_own_worktrees_is_told() {
    check(
        "repositories:
  demo: {repo: octo/demo, path: /src/demo-worktrees, agents: {implement: {command: a}, review: {command: a}}}
",
        r"
c.yaml:2:33: `worktree_dir` is the clone itself
  hint: leave it out for `../<repo>-worktrees` beside the clone, or name a directory of its own
",
    );
}

#[test]
fn files_of_ours_that_are_directories_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().display();
    let text = with(&format!("event_db: {there}"));
    let text = format!("daemon_pid: /\n{text}");
    check(
        &text,
        &format!(
            r"
c.yaml:1:13: `daemon_pid` is a directory: `/`
  hint: name a file in it
c.yaml:7:15: `event_db` is a directory: `{there}`
  hint: name a file in it
"
        ),
    );
    check(
        &with("event_db: /var/lib/ghswarm/"),
        r"
c.yaml:6:15: `event_db` is a directory: `/var/lib/ghswarm/`
  hint: name a file in it
",
    );
}

#[test]
fn a_question_file_that_no_agent_could_leave_is_told() {
    for file in [
        "/tmp/q",
        "../q",
        "a/../../q",
        ".git/q",
        "a/.GIT/q",
        ".",
        "notes/",
        "''",
    ] {
        let told = told(&with(&format!("question_file: {file}")));
        assert!(
            told.starts_with("c.yaml:6:20: `question_file` must be a file in the worktree, "),
            "{file}: {told}"
        );
    }
    assert_eq!(told(&with("question_file: ./notes/q.md")), "");
    assert_eq!(told(&with("question_file: .github/q.md")), "");
}

/// What is told of this command of the implementing agent.
fn told_of_command(command: &str) -> String {
    let quoted = command.replace('\'', "''");
    told(&format!(
        "repositories:\n  demo:\n    repo: o/r\n    path: /p\n    agents:\n      \
         implement: {{command: '{quoted}'}}\n      review: {{command: x}}\n"
    ))
}

#[test]
fn a_placeholder_that_is_none_is_told_with_the_nearest() {
    assert_eq!(
        told_of_command("claude -p {promt}"),
        "c.yaml:6:28: `agents.implement.command` has `{promt}`, which is no placeholder\n  \
         hint: did you mean `{prompt}`?\n"
    );
    assert_eq!(
        told_of_command("claude -p {PROMPT_FILE}"),
        "c.yaml:6:28: `agents.implement.command` has `{PROMPT_FILE}`, which is no placeholder\n  \
         hint: did you mean `{prompt_file}`?\n"
    );
    assert_eq!(
        told_of_command("run {issue}"),
        "c.yaml:6:28: `agents.implement.command` has `{issue}`, which is no placeholder\n  \
         hint: write `{prompt}`, `{prompt_file}` or `{stdin}`, or `{ issue }` where braces are meant\n"
    );
}

#[test]
fn braces_that_are_no_bare_word_stay_as_they_are() {
    for fine in [
        "a --settings '{\"a\": {\"b\": 1}}' {prompt}",
        "a $${MODEL} {stdin}",
        "a file.{md,txt} {1..3} {} {a b}",
        "awk '{ print }' | a {prompt_file}",
        "git log HEAD@{upstream} | a",
    ] {
        assert_eq!(told_of_command(fine), "", "{fine}");
    }
}

#[test]
fn a_placeholder_out_of_a_variable_is_not_repeated() {
    let text = with("").replace("command: claude}, review", "command: 'x ${ODD}'}, review");
    let env = |name: &str| match name {
        "ODD" => Some("{hunter}".to_owned()),
        other => env(other),
    };
    let problems = super::load(&text, std::path::Path::new("c.yaml"), &env).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "c.yaml:5:35: `agents.implement.command` gets a word in braces from a variable, which is no placeholder"
    );
}

#[test]
fn a_prefix_that_makes_no_branch_is_told() {
    for (prefix, found) in [("''", "empty"), ("'a b'", "`a b`"), ("a..b", "`a..b`")] {
        assert_eq!(
            told(&with(&format!("branch_prefix: {prefix}"))),
            format!(
                "c.yaml:6:20: `branch_prefix` must be the beginning of a branch name, not {found}\n  \
                 hint: write a beginning like `issue-` or `ghswarm/issue-`: no spaces, no `..`, no `/` in \
                 front\n"
            )
        );
    }
}

#[test]
fn a_base_that_looks_like_the_branch_of_an_issue_is_told() {
    check(
        &with("base_branch: release-2\nbranch_prefix: release-"),
        r"
c.yaml:6:18: `base_branch` would be taken for the branch of issue 2: it begins with `branch_prefix`
  hint: write another `branch_prefix`, such as `ghswarm/issue-`
",
    );
    assert_eq!(told(&with("base_branch: issue-board")), "");
}

#[test]
fn the_example_as_it_is_written_says_what_to_put_in() {
    let problems = super::load(super::super::EXAMPLE, std::path::Path::new("c.yaml"), &env);
    let problems = problems.unwrap_err().0;
    let lines: Vec<_> = problems
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    assert_eq!(
        lines,
        [
            "`repo` is still the `OWNER/NAME` of the example",
            "`path` is still the `~/src/NAME` of the example"
        ]
    );
    assert!(problems.iter().all(|problem| !problem.hint.is_empty()));
}

#[test]
fn times_and_counts_beyond_all_sense_are_told_with_the_limit() {
    check(
        &with(
            "poll_interval: 30d
lock_ttl: 1s
ci_start_grace: 400d
max_retries: 100000
github: {write_spacing: 1d}",
        ),
        r"
c.yaml:6:20: `poll_interval` must be 1d or shorter, not `30d`
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `60`
c.yaml:7:15: `lock_ttl` must be 60000 ms or longer, not `1s`
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `14400`
c.yaml:8:21: `ci_start_grace` must be 30d or shorter, not `400d`
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `180`
c.yaml:9:18: `max_retries` must be a whole number from 0 to 1000, not `100000`
  hint: write a whole number in that range; without the line it is `3`
c.yaml:10:29: `github.write_spacing` must be 1h or shorter, not `1d`
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `1s`
",
    );
}

#[test]
fn patterns_of_paths_say_what_has_no_meaning_in_them() {
    check(
        &with("protected_paths: ['src/[ab].rs', '!docs/**', '*.{yml,yaml}', 'a\\b', '']"),
        r"
c.yaml:6:23: `protected_paths[0]` must be a pattern of `*`, `**` and `?` alone, not `src/[ab].rs`
  hint: write one pattern for each path; `?` stands for any one character
c.yaml:6:38: `protected_paths[1]` must be a pattern of `*`, `**` and `?` alone, not `!docs/**`
  hint: write one pattern for each path; `?` stands for any one character
c.yaml:6:50: `protected_paths[2]` must be a pattern of `*`, `**` and `?` alone, not `*.{yml,yaml}`
  hint: write one pattern for each path; `?` stands for any one character
c.yaml:6:66: `protected_paths[3]` must be a pattern of `*`, `**` and `?` alone, not `a\b`
  hint: write one pattern for each path; `?` stands for any one character
c.yaml:6:73: `protected_paths[4]` must be a pattern of relative paths without `..`, not empty
  hint: write a pattern like `.github/workflows/**`
",
    );
}

#[test]
fn a_target_that_no_issue_can_have_is_told() {
    check(
        &with("target: {labels: [bug, Do-Not-Dispatch, 'status: idle', 'status: busy-x']}"),
        r"
c.yaml:6:28: no issue with the label `Do-Not-Dispatch` is worked on
  hint: remove it from `target.labels`
c.yaml:6:45: no issue with the label `status: idle` is worked on
  hint: remove it from `target.labels`
c.yaml:6:61: no issue with the label `status: busy-x` is worked on
  hint: remove it from `target.labels`
",
    );
}

#[test]
fn a_key_without_effect_is_noted_where_the_configuration_is_shown() {
    let config = read(&with("auto_resolve_conflicts: true")).unwrap();
    let note = |key: &str| {
        let shown = super::super::show(&config).iter();
        let mut found = shown.filter(|shown| shown.key == format!("repositories.demo.{key}"));
        found.next().unwrap().note.clone()
    };
    let expected = "no effect yet: conflicts block";
    assert_eq!(note("auto_resolve_conflicts").as_deref(), Some(expected));
    assert_eq!(note("auto_fix_ci"), None);
    assert_eq!(note("poll_interval"), None);
}

#[test]
fn a_budget_that_nothing_is_held_against_is_told() {
    let budget = "budget: {tokens: {run: 5}, usd: {day: 0.5, issue: 0}}";
    let told = told(&with(budget));
    assert!(
        told.contains("c.yaml:6:28: `budget.tokens.run` has no effect"),
        "{told}"
    );
    assert!(told.contains("`budget.usd.day` has no effect"), "{told}");
    assert!(!told.contains("usd.issue"), "{told}");
    let speaks = with(budget).replace("{command: claude}", "{command: a, output: claude-json}");
    assert!(!self::told(&speaks).contains("has no effect"));
}
