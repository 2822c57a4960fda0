//! The example, the schema and the table of keys say the same.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value as Json;

use super::super::keys::{Key, Kind, REPOSITORY, TOP};
use super::super::sense::TEMPLATE;
use super::super::{EXAMPLE, load, schema, show};
use super::{LEAST, env, read, with};

const HEAD: &str = "\
# The configuration of ghswarm, with every key there is. What is commented out shows its default.
#
# ghswarm reads one file: `--config PATH`, else `$GHSWARM_CONFIG`, else `~/.ghswarm.yaml`, else
# `~/.ghswarm.yml`. `defaults` holds for all repositories; what a repository says goes before:
# mappings are merged, everything else is replaced. `${VAR}` and `${VAR:-default}` in texts are
# replaced from the environment; `$${VAR}` is left as `${VAR}`. `~/.ghswarm` means `$GHSWARM_HOME`.
# Times are seconds, or a number with `ms`, `s`, `m`, `h` or `d`.
#
# `ghswarm config check` tells everything that is wrong with it, `ghswarm config show` what holds and
# why, `ghswarm config schema` prints a JSON Schema for editors.

repositories:
  # A name of your choice. Every key of `defaults` may stand here as well.
  my-project:
    # `owner/name` on GitHub
    repo: OWNER/NAME
    # your clone of it; ghswarm works in worktrees beside it
    path: ~/src/NAME

";

/// Written out: no configuration is complete without them.
const COMMANDS: [(&str, &str); 2] = [
    (
        "implement",
        "claude -p --dangerously-skip-permissions {prompt}",
    ),
    (
        "review",
        "claude -p --dangerously-skip-permissions {prompt}",
    ),
];

/// The example as the table of keys gives it.
fn expected() -> String {
    let mut text = HEAD.to_owned();
    for key in TOP
        .iter()
        .filter(|key| !["repositories", "defaults"].contains(&key.name))
    {
        write_key(key, 0, &mut text);
    }
    text.push_str("\n# what every repository begins with\ndefaults:\n");
    for key in REPOSITORY
        .iter()
        .filter(|key| !["repo", "path"].contains(&key.name))
    {
        write_key(key, 1, &mut text);
    }
    text
}

fn about(key: &Key) -> String {
    let mut about = key.about.to_owned();
    if let (Kind::Word(words), None) = (key.kind, key.not_yet) {
        let _ = write!(about, "; one of {}", words.join(", "));
    }
    if let Some(today) = key.not_yet {
        let _ = write!(about, " (no other value yet: {today})");
    }
    about
}

fn write_key(key: &Key, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let _ = writeln!(text, "{indent}# {}", about(key));
    if key.name == "agents" {
        return write_agents(&indent, depth, text);
    }
    let (Kind::Section(keys) | Kind::Verify(keys, _)) = key.kind else {
        let default = key.default.unwrap_or_default();
        let _ = writeln!(text, "{indent}#{}: {default}", key.name);
        return;
    };
    let _ = writeln!(text, "{indent}#{}:", key.name);
    for key in keys {
        write_key(key, depth + 1, text);
    }
    if matches!(key.kind, Kind::Verify(..)) {
        let entry = "verify: [{path: backend, sandbox: {driver: docker, image: \"rust:1\"}}]";
        let _ = writeln!(
            text,
            "{indent}# Or a list (`mutex: \"\"` has no other value yet):"
        );
        let _ = writeln!(text, "{indent}# {entry}");
    }
}

fn write_agents(indent: &str, depth: usize, text: &mut String) {
    let agents = REPOSITORY.iter().find(|key| key.name == "agents");
    let Some(Kind::Section(agents)) = agents.map(|key| key.kind) else {
        panic!("no agents")
    };
    let _ = writeln!(text, "{indent}agents:");
    for agent in agents {
        let (Kind::Section(keys) | Kind::Optional(keys)) = agent.kind else {
            panic!("no mapping")
        };
        let _ = writeln!(text, "{indent}  # {}", about(agent));
        let command = COMMANDS.iter().find(|(name, _)| *name == agent.name);
        match (agent.name, command) {
            ("implement", Some((_, command))) => {
                let _ = writeln!(
                    text,
                    "{indent}  implement:\n{indent}    # {}",
                    about(&keys[0])
                );
                let _ = writeln!(text, "{indent}    command: {command}");
                for key in &keys[1..] {
                    write_key(key, depth + 2, text);
                }
            }
            (name, Some((_, command))) => {
                let _ = writeln!(text, "{indent}  # (the same keys as `implement`)");
                let _ = writeln!(text, "{indent}  {name}:\n{indent}    command: {command}");
            }
            ("simplify", None) => {
                let _ = writeln!(text, "{indent}  # (the same keys as `implement`)");
                let _ = writeln!(
                    text,
                    "{indent}  #simplify:\n{indent}    #command: {}",
                    COMMANDS[0].1
                );
            }
            (name, None) => {
                let _ = writeln!(text, "{indent}  # (the same keys as `verify.sandbox`)");
                let _ = writeln!(text, "{indent}  #{name}:\n{indent}    #driver: none");
            }
        }
    }
}

/// The example with every key in force: keys are commented out by `#` alone, prose by `# `.
fn uncommented() -> String {
    let lines = EXAMPLE.lines().map(|line| {
        let body = line.trim_start();
        match body.strip_prefix('#') {
            Some(key) if key.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                format!("{}{key}\n", &line[..line.len() - body.len()])
            }
            _ => format!("{line}\n"),
        }
    });
    lines.collect()
}

#[test]
fn the_example_is_the_table_of_keys() {
    assert!(
        EXAMPLE == expected(),
        "write this to ghswarm.example.yaml:\n{}",
        expected()
    );
}

/// The text with what everybody must write themselves.
fn filled_in(text: &str) -> String {
    let [(_, repo, _), (_, path, _)] = TEMPLATE;
    assert!(text.contains(repo) && text.contains(path), "{text}");
    text.replace(repo, "octo/demo").replace(path, "~/src/demo")
}

#[test]
fn the_example_loads_once_it_is_filled_in() {
    let config = load(&filled_in(EXAMPLE), Path::new("example"), &env).unwrap();
    assert_eq!(
        config.repositories["my-project"].repo.to_string(),
        "octo/demo"
    );
}

#[test]
fn the_example_with_every_key_in_force_means_the_defaults() {
    let config =
        load(&filled_in(&uncommented()), Path::new("example"), &env).unwrap_or_else(|problems| {
            panic!("{problems}");
        });
    let plain = load(&filled_in(EXAMPLE), Path::new("example"), &env).unwrap();
    let written = show(&config)
        .iter()
        .filter(|shown| !shown.key.contains(".simplify."));
    for (written, plain) in written.zip(show(&plain)) {
        assert_eq!((&written.key, &written.value), (&plain.key, &plain.value));
    }
}

#[test]
fn every_key_of_the_schema_stands_in_the_example() {
    let mut names = Vec::new();
    collect_names(&schema(), &mut names);
    assert!(names.len() > 100, "only {}", names.len());
    for name in names {
        let there = EXAMPLE.lines().any(|line| {
            line.trim_start_matches([' ', '#'])
                .starts_with(&format!("{name}:"))
                || line.contains(&format!("{{{name}: "))
                || line.contains(&format!("`{name}: "))
        });
        assert!(there, "`{name}` is not in the example");
    }
}

fn collect_names(schema: &Json, names: &mut Vec<String>) {
    if let Some(properties) = schema.get("properties").and_then(Json::as_object) {
        names.extend(properties.keys().cloned());
    }
    match schema {
        Json::Object(map) => map.values().for_each(|value| collect_names(value, names)),
        Json::Array(list) => list.iter().for_each(|value| collect_names(value, names)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn instance(text: &str) -> Json {
    serde_yaml::from_str(text).unwrap()
}

#[test]
fn the_schema_takes_what_loads_and_refuses_unknown_keys_and_wrong_kinds() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let takes = |text: &str| schema.is_valid(&instance(text));
    assert!(takes(EXAMPLE));
    assert!(takes(&uncommented()));
    assert!(takes(LEAST));
    assert!(takes(&with(
        "verify: [{path: a, sandbox: {driver: none}}]\npoll_interval: 500ms"
    )));
    for wrong in [
        "polll: 3",
        "depends: 3",
        "merge_method: x",
        "poll_interval: soon",
        "verify: [{}]",
    ] {
        assert!(!takes(&with(wrong)), "{wrong}");
        assert!(read(&with(wrong)).is_err(), "{wrong}");
    }
    assert!(!takes("defaults: {}"));
}

#[test]
fn the_margins_of_tests_are_no_key_for_people() {
    assert!(!EXAMPLE.contains("test_margins"));
    assert!(!schema().to_string().contains("test_margins"));
}

#[test]
fn every_default_is_valid_when_written_out_alone() {
    let mut written = 0;
    check_defaults(REPOSITORY, &mut Vec::new(), &mut written);
    assert!(written > 60, "only {written}");
}

fn check_defaults(keys: &'static [Key], above: &mut Vec<&'static str>, written: &mut usize) {
    for key in keys {
        if let Some(default) = key.default {
            let nested = above
                .iter()
                .rev()
                .fold(format!("{{{}: {default}}}", key.name), |inner, name| {
                    format!("{{{name}: {inner}}}")
                });
            let inside = nested.trim_start_matches('{');
            // `LEAST` has `agents` already, and a second one would be a duplicate.
            if above.first() != Some(&"agents") {
                let line = inside.strip_suffix('}').unwrap_or(inside);
                let text = format!("{LEAST}    {line}\n");
                assert!(read(&text).is_ok(), "{line}: {}", super::told(&text));
                *written += 1;
            }
        }
        if let Kind::Section(inner) = key.kind {
            above.push(key.name);
            check_defaults(inner, above, written);
            above.pop();
        }
    }
}
