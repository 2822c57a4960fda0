//! Problems of agents, of features that are not there, and that no message repeats a secret.

use super::{check, told, with};

#[test]
fn agent_commands_that_sh_could_not_read_are_told() {
    check(
        r#"repositories:
  demo:
    repo: o/r
    path: /p
    agents:
      implement: {command: 'a "b'}
      review: {command: []}
      simplify: {command: ["", 3, "x \\"]}
"#,
        r"
c.yaml:6:28: `agents.implement.command` has a quote that is never closed
  hint: close it; inside a YAML string in single quotes `'` is written `''`
c.yaml:7:25: `agents.review.command` is empty
  hint: write a command line
c.yaml:8:28: `agents.simplify.command` is empty
  hint: write the command line of your agent
c.yaml:8:32: `agents.simplify.command` must be a command line or a list of them, not a number
  hint: write the command line as one text, in quotes if it holds `: ` or `#`
c.yaml:8:35: `agents.simplify.command` has a quote that is never closed
  hint: close it; inside a YAML string in single quotes `'` is written `''`
",
    );
    check(
        r#"repositories:
  demo:
    repo: o/r
    path: /p
    agents:
      implement: {command: "{prompt} {stdin}"}
      review: {command: x, idle_timeout: 3h, env_clear: on, env_remove: "TOKEN=hunter2"}
"#,
        r"
c.yaml:6:28: `agents.implement.command` has more than one of `{prompt}`, `{prompt_file}` and `{stdin}`
  hint: keep one
c.yaml:7:42: `agents.review.idle_timeout` is longer than its `timeout`
  hint: make it shorter, or `timeout` longer
c.yaml:7:57: `agents.review.env_clear` must be `true`, `false` or a list of names, not `on`
  hint: write `true`
c.yaml:7:73: `agents.review.env_remove` must be a list, not text
  hint: write a list: `[one, two]`, or `- one` on a line of its own for each
",
    );
}

#[test]
fn features_that_are_not_there_are_refused_and_never_ignored() {
    check(
        &with(
            "lock: label
github: {app: {id: 3}}
notify: {slack_webhook_url: hunter2, macos: true, command: x, on_completed: false}",
        ),
        r"
c.yaml:6:11: `lock: label` is not supported yet: issues are locked by leases
  hint: remove it
c.yaml:7:24: `github.app.id` is not supported yet: a token is used
  hint: remove it
c.yaml:8:33: `notify.slack_webhook_url` is not supported yet: comments and `ghswarm status` tell it
  hint: remove it
c.yaml:8:49: `notify.macos` is not supported yet: comments and `ghswarm status` tell it
  hint: remove it
c.yaml:8:64: `notify.command` is not supported yet: comments and `ghswarm status` tell it
  hint: remove it
",
    );
    check(
        &with("verify: [{path: a, mutex: x}]"),
        r"
c.yaml:6:31: `verify.mutex` is not supported yet: call `ghswarm mutex NAME -- COMMAND` in the step
  hint: remove it
",
    );
}

#[test]
fn the_entries_of_verify_have_a_path_each_of_its_own() {
    check(
        &with("verify: [{path: a}, {path: a}, {sandbox: {driver: none}}, 3, {path: ../x}]"),
        r"
c.yaml:6:32: the path `a` stands twice in `verify`
  hint: keep one entry for each path
c.yaml:6:36: an entry of `verify` has no `path`
  hint: add `path: .` or the path that its steps name
c.yaml:6:63: `verify` must be a mapping, not a number
  hint: write `path: …` below it
c.yaml:6:73: `verify.path` must be a relative path without `..`, not `../x`
  hint: write a path like `target` or `web/node_modules`
",
    );
    check(
        &with("verify: make test"),
        r"
c.yaml:6:13: `verify` must be a mapping or a list, not text
  hint: commands belong into each issue's `GHSWARM_VERIFY` block
",
    );
}

#[test]
fn an_address_that_would_leak_the_token_is_refused() {
    check(
        &with("github: {api_url: http://example.com}"),
        r"
c.yaml:6:23: `github.api_url` must be an `https://` address, so that the token is not sent in the clear, not `http://example.com`
  hint: write it like `https://github.example.com/api/v3`, or remove it for github.com; the token has places of its own (`github.token_command`)
",
    );
    check(
        &with("github: {api_url: 'https://ann:hunter2@x'}"),
        r"
c.yaml:6:23: `github.api_url` must be an `https://` address without a name or password in it
  hint: write it like `https://github.example.com/api/v3`, or remove it for github.com; the token has places of its own (`github.token_command`)
",
    );
    check(
        &with("github: {api_url: example.com}"),
        r"
c.yaml:6:23: `github.api_url` must be an `https://` address, not `example.com`
  hint: write it like `https://github.example.com/api/v3`, or remove it for github.com; the token has places of its own (`github.token_command`)
",
    );
}

#[test]
fn trust_names_associations_and_logins_only() {
    check(
        &with("trust: {associations: [NONE, OWNER], logins: ['@a'], bots: dependabot}"),
        r"
c.yaml:6:28: `trust.associations[0]` must be one of `OWNER`, `MEMBER`, `COLLABORATOR`, `CONTRIBUTOR`, `FIRST_TIME_CONTRIBUTOR`, `FIRST_TIMER`, not `NONE`
  hint: write one of these words; single people go into `trust.logins`
c.yaml:6:51: `trust.logins[0]` must be a GitHub login, not `@a`
  hint: write the login as in the profile's address, without `@`
c.yaml:6:64: `trust.bots` must be a list, not text
  hint: write `[dependabot]`
",
    );
}

#[test]
fn variables_are_told_without_their_values() {
    check(
        &with("env: {A: [hunter2], 'B=hunter2': x}"),
        r"
c.yaml:6:14: `env.A` must be text, not a list
  hint: write one text as its value
c.yaml:6:25: `B` in `env` is not the name of a variable
  hint: write `NAME: value`
",
    );
    check(
        &with("env: hunter2"),
        r"
c.yaml:6:10: `env` must be a mapping, not text
  hint: write `NAME: value` below it
",
    );
    check(
        &with("env: [A=hunter2]"),
        r"
c.yaml:6:10: `env` must be a mapping, not a list
  hint: write `NAME: value` below it
",
    );
}

#[test]
fn variables_that_are_not_set_are_told() {
    check(
        &with(
            "worktree_setup: ${NOPE} ${A%b} ${x
event_db: ${NOPE2}",
        ),
        r"
c.yaml:6:21: `${A%b}` is no `${VAR}` or `${VAR:-default}`
  hint: write `$${` where a literal `${` is meant
c.yaml:6:21: `${` has no `}`
  hint: write `$${` where a literal `${` is meant
c.yaml:6:21: the variable `NOPE` is not set
  hint: export NOPE, or write `${NOPE:-default}`; `$${NOPE}` leaves it to the shell
c.yaml:7:15: the variable `NOPE2` is not set
  hint: export NOPE2, or write `${NOPE2:-default}`; `$${NOPE2}` leaves it to the shell
",
    );
}

#[test]
fn what_a_variable_held_is_never_in_a_message() {
    check(
        &with(
            r#"event_db: ${TOKEN}
merge_method: ${TOKEN}
max_retries: ${TOKEN}
depends: ${TOKEN}
poll_interval: ${TOKEN}
base_branch: a ${TOKEN}
transient_error_patterns: ["(${TOKEN}"]
trust: {logins: ["${TOKEN}@"]}
labels: ${TOKEN}
protected_paths: ${TOKEN}"#,
        ),
        r#"
c.yaml:6:15: `event_db` must be an absolute path, one that begins with `~/`, or empty, not `${TOKEN}`
  hint: write the path from `/` on
c.yaml:7:19: `merge_method` must be one of `squash`, `merge`, `rebase`, not `${TOKEN}`
  hint: write one of these words; without the line it is `squash`
c.yaml:8:18: `max_retries` must be a whole number from 0 to 1000, not `${TOKEN}`
  hint: write a whole number in that range; without the line it is `3`
c.yaml:9:14: `depends` must be `true` or `false`, not `${TOKEN}`
  hint: write `true` or `false`
c.yaml:10:20: `poll_interval` must be a time, not `${TOKEN}`
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `60`
c.yaml:11:18: `base_branch` must be a branch name or empty, not `a ${TOKEN}`
  hint: write the branch as `git branch` shows it, or remove the line: GitHub is asked then
c.yaml:12:32: `transient_error_patterns[0]` must be a regular expression (unclosed group), not `"(${TOKEN}"`
  hint: write it in the syntax of https://docs.rs/regex, in single quotes; `\` stands before a sign that is meant as itself
c.yaml:13:22: `trust.logins[0]` must be a GitHub login, not `"${TOKEN}@"`
  hint: write the login as in the profile's address, without `@`
c.yaml:14:13: `labels` must be a mapping, not text
  hint: write `idle: …` below it
c.yaml:15:22: `protected_paths` must be a list, not text
  hint: write a list: `[one, two]`, or `- one` on a line of its own for each
"#,
    );
}

#[test]
fn problems_of_defaults_are_told_once_and_where_they_stand() {
    check(
        "defaults:
  path: src
  lease: {ttl: 1m}
  poll_interval: x
repositories:
  a: {repo: o/a, agents: {implement: {command: a}, review: {command: a}}}
  b: {repo: o/b, agents: {implement: {command: a}, review: {command: a}}}
",
        r"
c.yaml:2:9: `path` must be an absolute path or one that begins with `~/`, not `src`
  hint: write the path from `/` on
c.yaml:3:16: `lease.ttl` must be 5 minutes or longer
  hint: a shorter lease is lost whenever GitHub is slow; the default is `30m`
c.yaml:4:18: `poll_interval` must be a time, not `x`
  hint: write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`; without the line it is `60`
",
    );
}

#[test]
fn several_kinds_of_problems_come_at_once() {
    check(
        "max_parallel_repos: 0
defaults:
  pol_interval: 3
  depends: yes
  depends: true
repositories:
  demo:
    repo: nope
    lock: label
    worktree_setup: ${NOPE}
",
        r"
c.yaml:1:21: `max_parallel_repos` must be a whole number from 1 to 1000, not `0`
  hint: write a whole number in that range; without the line it is `3`
c.yaml:3:3: unknown key `pol_interval`
  hint: did you mean `poll_interval`?
c.yaml:4:12: `depends` must be `true` or `false`, not `yes`
  hint: write `true`
c.yaml:5:3: `depends` stands twice
  hint: remove this one or the one in line 4
c.yaml:7:3: `agents.implement.command` of `demo` is missing
  hint: write it in `repositories.demo` or in `defaults`
c.yaml:7:3: `agents.review.command` of `demo` is missing
  hint: write it in `repositories.demo` or in `defaults`
c.yaml:7:3: `path` of `demo` is missing
  hint: write it in `repositories.demo` or in `defaults`
c.yaml:8:11: `repo` must be `owner/name` of a repository, not `nope`
  hint: write it as in its address on GitHub, like `octo/demo`
c.yaml:9:11: `lock: label` is not supported yet: issues are locked by leases
  hint: remove it
c.yaml:10:21: the variable `NOPE` is not set
  hint: export NOPE, or write `${NOPE:-default}`; `$${NOPE}` leaves it to the shell
",
    );
}

#[test]
fn no_message_repeats_a_secret() {
    for lines in [
        "env: {A: [hunter2], B: {hunter2: hunter2}, 'C=hunter2': 1}",
        "env: hunter2",
        "notify: {slack_webhook_url: hunter2}",
        "notify: hunter2",
        "worktree_setup: [hunter2]",
        "github: {api_url: 'https://ann:hunter2@x', token_command: [hunter2]}",
        "github: hunter2",
        "agents.implement: hunter2",
        "event_db: ${TOKEN}\nmerge_method: ${TOKEN}\nmax_retries: ${TOKEN}\nlock: ${TOKEN}",
        "labels: {idle: '${TOKEN},'}\nlease: {ttl: '${TOKEN}', namespace: '${TOKEN} '}",
        "a: [\nsecret: hunter2\n",
    ] {
        let told = told(&with(lines));
        assert!(!told.is_empty(), "{lines} is refused");
        assert!(!told.contains("hunter2"), "{told}");
    }
}
