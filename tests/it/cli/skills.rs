//! `skills`, and every command that stands in one, run as an agent would run it, against the simulated GitHub.
//!
//! `gh` is the real one where it is installed: it is told of the simulated GitHub as its `github.localhost`, which it
//! asks by plain HTTP, through a proxy that is the simulated GitHub itself.

#![allow(
    clippy::print_stdout,
    reason = "a test that is left out says so by name"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::claims::Bare;
use super::{Machine, Served};

const SKILLS: [(&str, &str); 5] = [
    (
        "ghswarm-requirements",
        include_str!("../../../skills/ghswarm-requirements/SKILL.md"),
    ),
    (
        "ghswarm-spec",
        include_str!("../../../skills/ghswarm-spec/SKILL.md"),
    ),
    (
        "ghswarm-check",
        include_str!("../../../skills/ghswarm-check/SKILL.md"),
    ),
    (
        "ghswarm-claim",
        include_str!("../../../skills/ghswarm-claim/SKILL.md"),
    ),
    (
        "ghswarm-events",
        include_str!("../../../skills/ghswarm-events/SKILL.md"),
    ),
];

fn text_of(name: &str) -> &'static str {
    SKILLS.iter().find(|(skill, _)| *skill == name).unwrap().1
}

/// Every line of a skill's shell blocks.
fn commands_of(name: &str) -> Vec<&'static str> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in text_of(name).lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside {
            commands.push(line);
        }
    }
    commands
}

/// What `gh` asks by plain HTTP.
const HOST: &str = "github.localhost";

/// A shell in the clone, as an agent has it: with `ghswarm`, `gh` and `git`.
struct Shell {
    served: Served,
}

impl Shell {
    #[expect(clippy::disallowed_methods, reason = "the programs of this machine")]
    fn new() -> Self {
        let mut served = Served::new();
        let bin = Path::new(env!("CARGO_BIN_EXE_ghswarm")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let url = served.ready["url"].as_str().unwrap().to_owned();
        let token = served.ready["token"].as_str().unwrap().to_owned();
        served.machine.dir = Some(served.dir().join("clone"));
        let set = [
            ("PATH", path.as_str()),
            ("SIMULATED", &url),
            ("GH_ENTERPRISE_TOKEN", &token),
        ];
        for (name, value) in set {
            served.machine.set(name, value);
        }
        Self { served }
    }

    /// Runs a line; answers what it printed. `None`: a program of it is not installed here.
    #[expect(
        clippy::disallowed_methods,
        reason = "a shell runs it as an agent's does"
    )]
    fn run(&self, line: &str) -> Option<String> {
        let program = line.split_whitespace().next().unwrap();
        // For `gh` alone: ghswarm and git know the simulated GitHub by its own address.
        let line = match program {
            "gh" => {
                format!("HTTP_PROXY=$SIMULATED GH_HOST={HOST} GH_REPO={HOST}/demo/greeter {line}")
            }
            _ => line.to_owned(),
        };
        let prepared = self.served.machine.command(&[]);
        let mut shell = Command::new("sh");
        shell.args([
            "-c",
            &format!("command -v {program} >/dev/null || exit 99; {line}"),
        ]);
        shell
            .env_clear()
            .current_dir(prepared.get_current_dir().unwrap());
        for (name, value) in prepared.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        let output = shell.output().unwrap();
        if output.status.code() == Some(99) {
            println!("skipped, `{program}` is not installed: {line}");
            return None;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{line}\n{printed}{said}");
        Some(printed)
    }

    fn labels(&self, issue: u64) -> Vec<String> {
        let path = format!("/repos/demo/greeter/issues/{issue}");
        let found = self.served.ask("GET", &path, &Value::Null);
        let names = found["labels"].as_array().unwrap().iter();
        let names = names.map(|label| label["name"].as_str().unwrap().to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn block(&self) {
        let labels = json!({ "labels": ["status: blocked"] });
        self.served.post("issues/1/labels", &labels);
        let idle = "/repos/demo/greeter/issues/1/labels/status%3A%20idle";
        self.served.ask("DELETE", idle, &Value::Null);
    }
}

#[test]
fn the_requirements_skill_only_reads() {
    let shell = Shell::new();
    let commands = commands_of("ghswarm-requirements");
    assert_eq!(commands.len(), 2);
    for line in commands {
        shell.run(line);
    }
    assert_eq!(shell.labels(1), ["status: idle"]);
    assert!(shell.served.comments().is_empty());
}

#[test]
fn the_spec_skill_creates_an_issue_blocked_and_frees_it_last() {
    let shell = Shell::new();
    let clone = shell.served.dir().join("clone");
    let draft = text_of("ghswarm-spec")
        .split("```markdown\n")
        .nth(1)
        .unwrap();
    let draft = draft.split("```").next().unwrap();
    let (mut number, mut seen) = (None, Vec::new());
    for line in commands_of("ghswarm-spec") {
        if line.starts_with("gh ") && number.is_none() {
            std::fs::write(clone.join("tmp/spec/issue.md"), draft).unwrap();
            let Some(printed) = shell.run(line) else {
                return;
            };
            number = Some(printed.trim().parse::<u64>().unwrap());
        } else {
            let issue = number.unwrap_or(42).to_string();
            if shell.run(&line.replace("42", &issue)).is_none() {
                return;
            }
        }
        seen.extend(number.map(|number| shell.labels(number)));
    }
    let freed = seen.pop().unwrap();
    assert_eq!(freed, ["priority: high", "status: idle"]);
    for before in seen {
        assert!(before.contains(&"status: blocked".to_owned()), "{before:?}");
    }
    let number = number.unwrap();
    let path = format!("/repos/demo/greeter/issues/{number}");
    let issue = shell.served.ask("GET", &path, &Value::Null);
    assert_eq!(issue["title"], "Greet loudly");
    let explained = shell
        .served
        .run(&["explain", &number.to_string(), "--json"]);
    assert!(explained.contains("\"outcome\":\"ready\""), "{explained}");
    let status = shell.run("git status --porcelain").unwrap();
    assert_eq!(status, "", "the draft is not git's business");
}

#[test]
fn the_check_skill_diagnoses_and_returns_an_issue_to_idle() {
    let shell = Shell::new();
    shell.served.run(&["doctor", "--fix"]);
    // Something has run, so that there is a history and a log.
    shell.served.agent("#!/bin/sh\necho working\nexit 3\n");
    shell.served.configure(
        "poll_interval: 300ms",
        "poll_interval: 300ms\n    max_retries: 0",
    );
    let run = shell.served.run(&["run", "1", "--wait", "--force"]);
    assert!(run.ends_with("exit status 1"), "{run}");
    let commands = commands_of("ghswarm-check");
    assert!(commands.len() >= 10, "{commands:?}");
    for line in commands {
        if line.contains("resume") {
            shell.block();
        }
        if shell.run(&line.replace("42", "1")).is_none() {
            continue;
        }
        if line.contains("DELETE") {
            assert_eq!(shell.labels(1), ["status: idle"]);
        }
    }
}

#[test]
fn the_events_skill_teaches_the_schema_that_is_there() {
    let shell = Shell::new();
    shell.served.run_to_done();
    let commands = commands_of("ghswarm-events");
    assert!(commands.len() >= 6, "{commands:?}");
    let mut pages = BTreeMap::new();
    for line in commands {
        if let Some(page) = shell.run(&line.replace("42", "1")) {
            assert!(!page.trim().is_empty(), "{line}");
            pages.insert(line, page);
        }
    }
    let text = text_of("ghswarm-events");
    if let Some((_, schema)) = pages.iter().find(|(line, _)| line.contains(".schema")) {
        let columns = [
            "id",
            "at",
            "repository",
            "issue",
            "kind",
            "phase",
            "what",
            "detail",
        ];
        for column in columns {
            assert!(schema.contains(column), "{schema}");
            assert!(text.contains(&format!("| `{column}` |")), "{column}");
        }
        let table = schema.split(';').next().unwrap();
        assert_eq!(table.matches(',').count() + 1, columns.len(), "{schema}");
    }
    let most = pages.iter().find(|(line, _)| line.contains("'start run'"));
    assert!(
        most.is_none_or(|(_, page)| page.contains("demo")),
        "{most:?}"
    );
}

#[test]
fn every_command_of_the_claim_skill_works_as_it_stands_there() {
    let commands = commands_of("ghswarm-claim");
    assert!(commands.len() >= 12, "{commands:?}");
    for command in commands {
        let bare = Bare::new();
        // The skill's numbers are this repository's, and what has to be before is so.
        if command.contains("release") || command.contains("renew") || command.contains("take-over")
        {
            let claim = bare.run(&["claim", "1"]);
            assert!(claim.contains("#1 claimed"), "{claim}");
        }
        let pr = if command.contains("--merged") {
            bare.merged_pr("issue-1")
        } else {
            0
        };
        let line = command
            .replace("42", "1")
            .replace("43", "2")
            .replace("44", "3");
        let line = line.replace("61", &pr.to_string());
        let words = shlex::split(&line).unwrap();
        let (program, words) = words.split_first().unwrap();
        assert_eq!(program, "ghswarm", "{command}");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let page = bare.run(&words);
        assert!(page.ends_with("--- exit status 0"), "{page}");
    }
}

#[test]
fn the_front_matter_of_each_skill_is_what_claude_code_reads() {
    for (name, text) in SKILLS {
        let (_, rest) = text.split_once("---\n").unwrap();
        let (front, body) = rest.split_once("\n---\n").unwrap();
        let front: BTreeMap<String, String> = serde_yaml::from_str(front).unwrap();
        assert_eq!(front["name"], name);
        let described = front["description"].len();
        assert!(described > 80 && described < 1024, "{name}: {described}");
        assert_eq!(front.len(), 2);
        assert!(body.trim_start().starts_with("# "));
    }
}

#[test]
fn skills_are_installed_listed_and_compared_and_a_changed_one_stays() {
    let mut machine = Machine::new();
    machine.dir = Some(machine.home.path().to_owned());
    let mine = machine.path(".claude/skills/ghswarm-claim/SKILL.md");
    let mut pages = vec![
        machine.run(&["skills", "list"]),
        machine.run(&["skills", "install"]),
    ];
    assert_eq!(
        std::fs::read_to_string(&mine).unwrap(),
        text_of("ghswarm-claim")
    );
    pages.push(machine.run(&["skills", "diff"]));
    let text = text_of("ghswarm-claim").replace("## Pick", "## Choose");
    std::fs::write(&mine, &text).unwrap();
    for words in [
        &["skills", "install"] as &[&str],
        &["skills", "diff"],
        &["skills", "list"],
    ] {
        pages.push(machine.run(words));
        assert_eq!(std::fs::read_to_string(&mine).unwrap(), text);
    }
    pages.push(machine.run(&["skills", "install", "--force"]));
    pages.push(machine.run(&["skills", "diff"]));
    let index = regex::Regex::new(r"index \w+\.\.\w+").unwrap();
    insta::assert_snapshot!(index.replace_all(&pages.join("\n\n"), "index [A]..[B]"));
}

#[test]
fn skills_go_where_they_are_told_to() {
    let mut machine = Machine::new();
    let project = machine.path("project/src");
    std::fs::create_dir_all(&project).unwrap();
    machine.dir = Some(project);
    let nowhere = machine.run(&["skills", "install", "--project"]);
    assert!(nowhere.contains("there is no project around"), "{nowhere}");
    git2::Repository::init(machine.path("project")).unwrap();
    let page = machine.run(&["skills", "install", "--project"]);
    assert!(page.ends_with("exit status 0"), "{page}");
    let there = machine.path("project/.claude/skills/ghswarm-spec/SKILL.md");
    assert!(there.is_file());
    let elsewhere = machine.path("elsewhere").display().to_string();
    machine.run(&["skills", "install", "--dir", &elsewhere]);
    let page = machine.run(&["skills", "list", "--dir", &elsewhere, "--json"]);
    let list: Value = serde_json::from_str(page.lines().nth(1).unwrap()).unwrap();
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), SKILLS.len());
    assert!(
        list.iter().all(|skill| skill["standing"] == "installed"),
        "{list:?}"
    );
}
