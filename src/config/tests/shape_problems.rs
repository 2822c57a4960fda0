//! Problems of the text, of its keys and of what is missing.

use super::{check, with};

#[test]
fn an_empty_file_asks_for_repositories() {
    check(
        "",
        r"
c.yaml:1:1: `repositories` is missing
  hint: write `repositories: {NAME: {repo: OWNER/NAME, path: …}}`
",
    );
    check(
        "repositories:\n",
        r"
c.yaml:1:1: `repositories` is missing
  hint: write `repositories: {NAME: {repo: OWNER/NAME, path: …}}`
",
    );
    check(
        "repositories: {}\n",
        r"
c.yaml:1:15: `repositories` is missing
  hint: write `repositories: {NAME: {repo: OWNER/NAME, path: …}}`
",
    );
}

#[test]
fn a_file_that_is_no_mapping_is_refused_once() {
    check(
        "hello\n",
        r"
c.yaml:1:1: the file must be a mapping, not text
  hint: write `repositories: …` below it
",
    );
    check(
        "- a\n",
        r"
c.yaml:1:1: the file must be a mapping, not a list
  hint: write `repositories: …` below it
",
    );
    check(
        "repositories: [a]\n",
        r"
c.yaml:1:15: `repositories` must be a mapping, not a list
  hint: write `NAME:` below it, and `repo:`, `path:` below that
",
    );
}

#[test]
fn tabs_are_refused_with_what_to_write() {
    check(
        "repositories:\n\tdemo: 1\n",
        r"
c.yaml:2:2: a tab indents this line
  hint: indent with spaces
",
    );
    check(
        "repositories:\n  demo:\n  \trepo: a/b\n",
        r"
c.yaml:3:4: a tab indents this line
  hint: indent with spaces
",
    );
}

#[test]
fn broken_yaml_is_told_without_any_of_the_file() {
    check(
        "repositories: {a: {\n",
        r"
c.yaml:1:19: not valid YAML: unclosed bracket '{'
  hint: close every `[` with `]` and every `{` with `}`
",
    );
    check(
        r#"secret: "hunter2
"#,
        r"
c.yaml:1:9: not valid YAML: unclosed quote
  hint: close the quote, or put the whole value into the other kind of quotes
",
    );
    check(
        "a: hunter2
---
b: 2
",
        r"
c.yaml:3:1: a second YAML document begins here
  hint: remove the `---` line
",
    );
    check(
        "x: *nope\n",
        r"
c.yaml:1:4: not valid YAML: alias references unknown anchor
  hint: define the anchor before it with `&`, or put a value that begins with `*` in quotes
",
    );
    check(
        "? [hunter2]
: b
",
        r"
c.yaml:1:3: a key must be text
  hint: write `key: value`
",
    );
    check(
        "~: 3\n",
        r"
c.yaml:1:1: a key must be text
  hint: write `key: value`
",
    );
    check(
        "x: hunter2
  y: 3
",
        r"
c.yaml:2:4: not valid YAML: mapping values are not allowed in this context
  hint: look at the indentation here and above, and put values that hold `: `, `#` or `@` in quotes
",
    );
    check(
        "hunter2: [
x: }
",
        r"
c.yaml:1:10: not valid YAML: mismatched bracket '[' closed by '}'
  hint: close every `[` with `]` and every `{` with `}`
",
    );
}

#[test]
fn an_alias_bomb_is_refused() {
    check(
        "a: &a [x,x,x,x,x,x,x,x,x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]
",
        r"
c.yaml:5:5: the file is too large or its aliases repeat too much
  hint: write it out
",
    );
}

#[test]
fn every_required_key_that_is_missing_is_named() {
    check(
        "repositories: {x: 1, 'a b': {}}\n",
        r"
c.yaml:1:19: `x` must be a mapping, not a number
  hint: write `repo: …` below it
c.yaml:1:22: `a b` is not a name of letters, digits, `-`, `_` and `.`
  hint: it names the repository in commands and logs
c.yaml:1:22: `agents.implement.command` of `a b` is missing
  hint: write it in `repositories.a b` or in `defaults`
c.yaml:1:22: `agents.review.command` of `a b` is missing
  hint: write it in `repositories.a b` or in `defaults`
c.yaml:1:22: `path` of `a b` is missing
  hint: write it in `repositories.a b` or in `defaults`
c.yaml:1:22: `repo` of `a b` is missing
  hint: write it in `repositories.a b` or in `defaults`
",
    );
    check(
        &with("agents.simplify: 3"),
        r"
c.yaml:6:5: unknown key `agents.simplify`
  hint: `ghswarm config schema` lists the keys
",
    );
    check(
        "repositories:
  demo: {repo: o/r, path: /p, agents: {implement: {command: a}, review: {command: a}, simplify: {timeout: 3}}}
",
        r"
c.yaml:2:3: `agents.simplify.command` of `demo` is missing
  hint: write it in `repositories.demo` or in `defaults`
",
    );
}

#[test]
fn duplicate_keys_are_all_told() {
    check(
        &with(
            "max_retries: 1
max_retries: 2
repo: a/b
env: {A: 1, A: 2, A: 3}",
        ),
        r"
c.yaml:7:5: `max_retries` stands twice
  hint: remove this one or the one in line 6
c.yaml:8:5: `repo` stands twice
  hint: remove this one or the one in line 3
c.yaml:9:17: `A` stands twice
  hint: remove this one or the one in line 9
c.yaml:9:23: `A` stands twice
  hint: remove this one or the one in line 9
",
    );
}

#[test]
fn unknown_keys_are_told_with_the_likely_one() {
    check(
        &with(
            "poll_intervall: 3
poll-interval: 3
PATH: x
zebra: 1
labels: {ilde: x}
lease: {test_margin: 3}",
        ),
        r"
c.yaml:6:5: unknown key `poll_intervall`
  hint: did you mean `poll_interval`?
c.yaml:7:5: unknown key `poll-interval`
  hint: did you mean `poll_interval`?
c.yaml:8:5: unknown key `PATH`
  hint: did you mean `path`?
c.yaml:9:5: unknown key `zebra`
  hint: `ghswarm config schema` lists the keys
c.yaml:10:14: unknown key `labels.ilde`
  hint: did you mean `idle`?
c.yaml:11:13: unknown key `lease.test_margin`
  hint: `ghswarm config schema` lists the keys
",
    );
    check(
        "daemonlog: /x
repositories: {}
",
        r"
c.yaml:1:1: unknown key `daemonlog`
  hint: did you mean `daemon_log`?
c.yaml:2:15: `repositories` is missing
  hint: write `repositories: {NAME: {repo: OWNER/NAME, path: …}}`
",
    );
}

#[test]
fn a_key_at_the_wrong_level_is_told_where_it_belongs() {
    check(
        &with("max_parallel_repos: 3"),
        r"
c.yaml:6:5: unknown key `max_parallel_repos`
  hint: move `max_parallel_repos` to the top level of the file
",
    );
    check(
        "poll_interval: 3
repositories: {}
",
        r"
c.yaml:1:1: unknown key `poll_interval`
  hint: move `poll_interval` into `defaults` or into a repository
c.yaml:2:15: `repositories` is missing
  hint: write `repositories: {NAME: {repo: OWNER/NAME, path: …}}`
",
    );
}

#[test]
fn removed_keys_say_what_to_write_instead() {
    check(
        &with(
            "test_command: x
sandbox: {}
spec_dir: x",
        ),
        r"
c.yaml:6:5: `test_command` is gone
  hint: remove it and write the command into each issue's `GHSWARM_VERIFY` block, as `verify: COMMAND`
c.yaml:7:5: `sandbox` is gone
  hint: write `verify: {sandbox: {…}}` for verify steps and `agents: {sandbox: {…}}` for agents
c.yaml:8:5: `spec_dir` is gone
  hint: remove it: the issue's body is the spec
",
    );
    check(
        "sandbox: {driver: docker}
defaults: {test_command: make}
repositories: {}
",
        r"
c.yaml:1:1: `sandbox` is gone
  hint: write `verify: {sandbox: {…}}` for verify steps and `agents: {sandbox: {…}}` for agents
c.yaml:2:12: `test_command` is gone
  hint: remove it and write the command into each issue's `GHSWARM_VERIFY` block, as `verify: COMMAND`
c.yaml:3:15: `repositories` is missing
  hint: write `repositories: {NAME: {repo: OWNER/NAME, path: …}}`
",
    );
}
