//! Problems of single values, each with what to write.

use super::{check, with};

#[test]
fn the_booleans_of_old_yaml_say_what_to_write() {
    check(
        &with(
            r#"depends: yes
address_pr_reviews: off
auto_fix_ci: 1
post_merge_ci: maybe
auto_resolve_conflicts: "true"
require_approval: No"#,
        ),
        r#"
c.yaml:6:14: `depends` must be `true` or `false`, not `yes`
  hint: write `true`
c.yaml:7:25: `address_pr_reviews` must be `true` or `false`, not `off`
  hint: write `false`
c.yaml:8:18: `auto_fix_ci` must be `true` or `false`, not `1`
  hint: write `true`
c.yaml:9:20: `post_merge_ci` must be `true` or `false`, not `maybe`
  hint: write `true` or `false`
c.yaml:10:29: `auto_resolve_conflicts` must be `true` or `false`, not `"true"`
  hint: write `true`
c.yaml:11:23: `require_approval` must be `true`, `false` or `human`, not `No`
  hint: write `false`
"#,
    );
}

#[test]
fn numbers_out_of_range_are_told_with_the_range() {
    check(
        &with(
            "max_retries: three
ci_fix_max_retries: -1
conflict_max_retries: 1.5
max_parallel_issues: 0
issue_max_agent_runs: [1]",
        ),
        r"
c.yaml:6:18: `max_retries` must be a whole number from 0 to 1000, not `three`
  hint: write a whole number in that range; without the line it is `3`
c.yaml:7:25: `ci_fix_max_retries` must be a whole number from 0 to 1000, not `-1`
  hint: write a whole number in that range; without the line it is `3`
c.yaml:8:27: `conflict_max_retries` must be a whole number from 0 to 1000, not `1.5`
  hint: write a whole number in that range; without the line it is `3`
c.yaml:9:26: `max_parallel_issues` must be a whole number from 1 to 100, not `0`
  hint: write a whole number in that range; without the line it is `1`
c.yaml:10:27: `issue_max_agent_runs` must be a whole number from 0 to 10000, not a list
  hint: write a whole number in that range; without the line it is `10`
",
    );
}

#[test]
fn times_are_told_how_to_be_written() {
    check(
        &with(
            "poll_interval: 3 weeks
ci_start_grace: -3
lock_ttl: [1]
post_merge_ci_grace: 5x",
        ),
        r"
c.yaml:6:20: `poll_interval` must be a time, not `3 weeks`
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `60`
c.yaml:7:21: `ci_start_grace` must be a time, not `-3`
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `180`
c.yaml:8:15: `lock_ttl` must be a time, not a list
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `14400`
c.yaml:9:26: `post_merge_ci_grace` must be a time, not `5x`
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `180`
",
    );
    check(
        &with(
            "poll_interval: 0
lock_ttl: .inf",
        ),
        r"
c.yaml:6:20: `poll_interval` must be 100 ms or longer, not `0`
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `60`
c.yaml:7:15: `lock_ttl` must be a time, not `.inf`
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `14400`
",
    );
}

#[test]
fn words_are_told_with_the_choice() {
    check(
        &with(
            "merge_method: sqash
order: 3
github: {write_spacing: 1}
lock: row",
        ),
        r"
c.yaml:6:19: `merge_method` must be one of `squash`, `merge`, `rebase`, not `sqash`
  hint: did you mean `squash`?
c.yaml:7:12: `order` must be one of `priority`, `oldest`, not `3`
  hint: write one of these words; without the line it is `priority`
c.yaml:9:11: `lock` must be one of `lease`, `label`, not `row`
  hint: write one of these words; without the line it is `lease`
",
    );
}

#[test]
fn texts_and_lists_of_the_wrong_kind_are_told_how_to_be_written() {
    check(
        &with(
            "labels: 3
target: {labels: bug, assignee: 'a b', milestone: 3}
protected_paths: [3]",
        ),
        r#"
c.yaml:6:13: `labels` must be a mapping, not a number
  hint: write `idle: …` below it
c.yaml:7:22: `target.labels` must be a list, not text
  hint: write `[bug]`
c.yaml:7:37: `target.assignee` must be a GitHub login or empty, not `a b`
  hint: write the login as in the profile's address, without `@`
c.yaml:7:55: `target.milestone` must be text, not a number
  hint: put it in quotes: `"3"`
c.yaml:8:23: `protected_paths[0]` must be text, not a number
  hint: put it in quotes: `"3"`
"#,
    );
}

#[test]
fn names_and_paths_that_are_none_are_told() {
    check(
        &with(
            "base_branch: 'a b'
branch_prefix: '-x'
question_file: ../q
activity_dir: logs
event_db: ~bob/x
protected_paths: [/etc]
claims: {marker: 'a b', label: 'a,b', hold_label: ''}",
        ),
        r"
c.yaml:6:18: `base_branch` must be a branch name or empty, not `a b`
  hint: write the branch as `git branch` shows it, or remove the line: GitHub is asked then
c.yaml:7:20: `branch_prefix` must be the beginning of a branch name, not `-x`
  hint: write a beginning like `issue-` or `ghswarm/issue-`: no spaces, no `..`, no `/` in front
c.yaml:8:20: `question_file` must be a file in the worktree, without `..` and outside `.git`, not `../q`
  hint: write a name like `.agent_question.md`
c.yaml:9:19: `activity_dir` must be an absolute path or one that begins with `~/`, not `logs`
  hint: write the path from `/` on
c.yaml:10:15: `event_db` must be an absolute path, one that begins with `~/`, or empty, not `~bob/x`
  hint: write the path from `/` on
c.yaml:11:23: `protected_paths[0]` must be a pattern of relative paths without `..`, not `/etc`
  hint: write a pattern like `.github/workflows/**`
c.yaml:12:22: `claims.marker` must be a word of letters, digits, `-` and `_`, not `a b`
  hint: write a word like `claude-lock`
c.yaml:12:36: `claims.label` must be the name of a label: 1 to 50 characters, no comma, not `a,b`
  hint: write the label's name as it stands on GitHub
c.yaml:12:55: `claims.hold_label` must be the name of a label: 1 to 50 characters, no comma, not empty
  hint: write the label's name as it stands on GitHub
",
    );
    check(
        "repositories:
  demo: {repo: nope, path: src, agents: {implement: {command: a}, review: {command: a}}}
",
        r"
c.yaml:2:16: `repo` must be `owner/name` of a repository, not `nope`
  hint: write it as in its address on GitHub, like `octo/demo`
c.yaml:2:28: `path` must be an absolute path or one that begins with `~/`, not `src`
  hint: write the path from `/` on
",
    );
}

#[test]
fn patterns_that_do_not_compile_or_match_nothing_are_told() {
    check(
        &with("transient_error_patterns: ['(', '', 'a*']"),
        r"
c.yaml:6:32: `transient_error_patterns[0]` must be a regular expression (unclosed group), not `(`
  hint: write it in the syntax of https://docs.rs/regex, in single quotes; `\` stands before a sign that is meant as itself
c.yaml:6:37: `transient_error_patterns[1]` must be a regular expression that does not match the empty text, not empty
  hint: write it in the syntax of https://docs.rs/regex, in single quotes; `\` stands before a sign that is meant as itself
c.yaml:6:41: `transient_error_patterns[2]` must be a regular expression that does not match the empty text, not `a*`
  hint: write it in the syntax of https://docs.rs/regex, in single quotes; `\` stands before a sign that is meant as itself
",
    );
}

#[test]
fn a_namespace_that_is_none_or_taken_is_told() {
    check(
        &with("lease: {namespace: heads/x}"),
        r"
c.yaml:6:24: `lease.namespace` must be free for leases; `refs/heads/` is git's or GitHub's own, not `heads/x`
  hint: write a word like `leases`; refs are then `refs/leases/…`
",
    );
    check(
        &with("lease: {namespace: 'a b'}"),
        r"
c.yaml:6:24: `lease.namespace` must be a part of a ref name, not `a b`
  hint: write a word like `leases`; refs are then `refs/leases/…`
",
    );
}

#[test]
fn a_lease_too_short_or_too_long_is_refused() {
    check(
        &with("lease: {ttl: 4m}"),
        r"
c.yaml:6:18: `lease.ttl` must be 5 minutes or longer
  hint: a shorter lease is lost whenever GitHub is slow; the default is `30m`
",
    );
    check(
        &with("lease: {ttl: 2d}"),
        r"
c.yaml:6:18: `lease.ttl` must be 24 hours or shorter
  hint: a dead machine would hold its issue for so long; the default is `30m`
",
    );
    check(
        &with("lease: {ttl: 2s, test_margins: {grace: 1}}"),
        r"
c.yaml:2:3: `lease.test_margins.max_ahead` of `demo` is missing
  hint: write it in `repositories.demo` or in `defaults`
c.yaml:2:3: `lease.test_margins.odd_ttl` of `demo` is missing
  hint: write it in `repositories.demo` or in `defaults`
",
    );
}

#[test]
fn labels_that_cannot_be_told_apart_are_refused() {
    check(
        &with(
            "labels: {idle: a, blocked: A, completed: 'status: busy-x'}
claims: {label: do-not-dispatch}",
        ),
        r"
c.yaml:6:32: `labels.blocked` and `labels.idle` are the same label
  hint: give each a name of its own
c.yaml:6:46: `labels.completed` begins with `labels.busy_prefix`
  hint: give each a name of its own
c.yaml:7:21: `claims.hold_label` and `claims.label` are the same label
  hint: give each a name of its own
",
    );
}

#[test]
fn a_kill_grace_that_leaves_nothing_of_the_lease_is_told() {
    let text = "repositories:
  demo:
    repo: octo/demo
    path: /src/demo
    lease: {ttl: 5m}
    agents:
      implement: {command: claude, kill_grace: 4m}
      review: {command: claude}
";
    check(
        text,
        r"
c.yaml:7:48: `agents.implement.kill_grace` and the lease's margin leave nothing of `lease.ttl`
  hint: make it shorter, or `lease.ttl` longer
",
    );
}
