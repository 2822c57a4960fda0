//! What a good file means.

use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;

use crate::model::agent_stream::AgentFormat;

use super::super::{AgentGithub, EXAMPLE, IssueOrder, LogFormat, Origin, load, show};
use super::{LEAST, env, good, read, with};
use crate::decide::policy::{AgentNames, ApprovalRule};
use crate::model::issue::Association;
use crate::model::lease::LeaseMargins;
use crate::model::pr::MergeMethod;

/// A margin of the lease, a poll or a timeout, in milliseconds.
fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn the_least_file_has_every_default() {
    let repo = good("");
    assert_eq!(repo.poll_interval, ms(60_000));
    assert_eq!(repo.branch_prefix, "issue-");
    assert_eq!(repo.base_branch, None);
    assert_eq!(repo.merge_method, MergeMethod::Squash);
    assert_eq!(repo.require_approval, ApprovalRule::GitHub);
    assert_eq!(repo.worktree_dir, PathBuf::from("/src/demo-worktrees"));
    assert_eq!(repo.worktree_setup, None);
    assert_eq!(repo.question_file, PathBuf::from(".agent_question.md"));
    assert_eq!(
        repo.event_db,
        Some(PathBuf::from("/home/ann/.ghswarm/events.db"))
    );
    assert_eq!((repo.max_retries, repo.issue_max_agent_runs), (3, Some(10)));
    assert_eq!(
        (repo.post_merge_ci, repo.post_merge_ci_grace),
        (true, ms(180_000))
    );
    assert_eq!(
        (repo.ci_start_grace, repo.lock_ttl),
        (ms(180_000), ms(14_400_000))
    );
    assert_eq!(repo.protected_paths, [".github/workflows/**"]);
    assert_eq!(repo.order, IssueOrder::Priority);
    assert_eq!(repo.labels, crate::model::labels::LabelNames::default());
    assert_eq!(
        (repo.lease.ttl, repo.lease.namespace.as_str()),
        (ms(1_800_000), "leases")
    );
    assert_eq!(repo.lease.margins, LeaseMargins::default());
    assert_eq!(
        (repo.claims.marker.as_str(), repo.claims.stale_window),
        ("claude-lock", ms(86_400_000))
    );
    let trusted = [
        Association::Owner,
        Association::Member,
        Association::Collaborator,
    ];
    assert_eq!(repo.trust.associations, trusted);
    assert_eq!(repo.github.api_url, "https://api.github.com");
    assert_eq!(repo.github.write_spacing, ms(1000));
}

#[test]
fn the_least_file_has_every_default_of_an_agent() {
    let agent = good("").agents.implement;
    assert_eq!(agent.commands, ["claude"]);
    assert_eq!(
        (agent.clocks.startup, agent.clocks.idle),
        (ms(600_000), ms(900_000))
    );
    assert_eq!(
        (agent.clocks.total, agent.clocks.kill_grace),
        (ms(7_200_000), ms(10_000))
    );
    assert_eq!(
        (agent.github, agent.output),
        (AgentGithub::None, AgentFormat::Text)
    );
    assert!(
        agent.env_remove.contains(&"GITHUB_TOKEN".to_owned()),
        "{:?}",
        agent.env_remove
    );
    assert_eq!(agent.env_clear, None);
    assert_eq!(good("").agents.simplify, None);
}

#[test]
fn the_least_file_has_every_default_of_the_top_level() {
    let config = read(LEAST).unwrap();
    assert_eq!(config.max_parallel_repos, 3);
    assert_eq!(config.home, Path::new("/home/ann/.ghswarm"));
    assert_eq!(
        config.daemon_pid,
        Path::new("/home/ann/.ghswarm/ghswarm.pid")
    );
    assert_eq!(
        (config.log.format, config.log.keep_days),
        (LogFormat::Text, 14)
    );
    assert_eq!(config.source, Path::new("c.yaml"));
}

#[test]
fn times_take_seconds_fractions_and_units() {
    for (text, millis) in [
        ("60", 60_000),
        ("0.2", 200),
        ("500ms", 500),
        ("30s", 30_000),
        ("10m", 600_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
        ("1.5m", 90_000),
        ("'45'", 45_000),
        ("10 m", 600_000),
    ] {
        assert_eq!(
            good(&format!("poll_interval: {text}")).poll_interval,
            ms(millis),
            "{text}"
        );
    }
}

#[test]
fn approval_is_one_of_three() {
    for (text, approval) in [
        ("true", ApprovalRule::GitHub),
        ("false", ApprovalRule::None),
        ("human", ApprovalRule::Human),
    ] {
        assert_eq!(
            good(&format!("require_approval: {text}")).require_approval,
            approval
        );
    }
}

#[test]
fn a_repository_is_laid_over_defaults_key_by_key() {
    let text = "
defaults:
  poll_interval: 5
  labels: {idle: waiting, blocked: stuck}
  protected_paths: [a, b]
  agents:
    implement: {command: [one, two], timeout: 3h}
    review: {command: look}
repositories:
  a: {repo: o/a, path: /a, labels: {idle: calm}, protected_paths: [c]}
  b: {repo: o/b, path: /b, poll_interval: 7, agents: {implement: {command: three}}}
";
    let config = read(text).unwrap();
    let (a, b) = (&config.repositories["a"], &config.repositories["b"]);
    assert_eq!((a.poll_interval, b.poll_interval), (ms(5000), ms(7000)));
    assert_eq!(
        (a.labels.idle.as_str(), a.labels.blocked.as_str()),
        ("calm", "stuck")
    );
    assert_eq!(b.labels.idle, "waiting");
    assert_eq!(a.protected_paths, ["c"]);
    assert_eq!(b.protected_paths, ["a", "b"]);
    assert_eq!(a.agents.implement.commands, ["one", "two"]);
    assert_eq!(b.agents.implement.commands, ["three"]);
    assert_eq!(b.agents.implement.clocks.total, ms(10_800_000));
}

#[test]
fn a_key_with_nothing_behind_it_counts_as_not_written() {
    let repo = good("max_retries:\nenv:\n  # A: b\nprotected_paths:\n  # - x\ntarget:");
    assert_eq!(repo.max_retries, 3);
    assert_eq!(repo.protected_paths, [".github/workflows/**"]);
}

#[test]
fn anchors_and_merge_keys_work() {
    let text = "
defaults:
  agents:
    implement: &agent {command: one, timeout: 1h, idle_timeout: 5m}
    review: {<<: *agent, timeout: 10m}
repositories:
  a: {repo: o/a, path: /a}
";
    let agents = read(text).unwrap().repositories["a"].agents.clone();
    assert_eq!(agents.review.commands, ["one"]);
    assert_eq!(agents.review.clocks.total, ms(600_000));
}

#[test]
fn variables_and_their_defaults_are_put_into_values_only() {
    let repo = good(
        "worktree_setup: echo ${TOKEN} ${NOPE:-none} ${EMPTY:-filled} $${HOME} $HOME\n\
         max_retries: ${COUNT}\ndepends: ${NOPE:-false}\npoll_interval: ${NOPE:-200ms}\n\
         env: {A: 'x${TOKEN}', B: 8080, C: true}",
    );
    assert_eq!(
        repo.worktree_setup.unwrap(),
        "echo hunter2 none filled ${HOME} $HOME"
    );
    assert_eq!(
        (repo.max_retries, repo.depends, repo.poll_interval),
        (7, false, ms(200))
    );
    assert_eq!(
        (repo.env["A"].as_str(), repo.env["B"].as_str()),
        ("xhunter2", "8080")
    );
    assert_eq!(repo.env["C"], "true");
}

#[test]
fn a_variable_cannot_bring_yaml_along() {
    let env = |name: &str| match name {
        "HOME" => Some("/h".to_owned()),
        "EVIL" => Some("x\nmax_retries: 9\n# {a: b}".to_owned()),
        _ => None,
    };
    let text = with("worktree_setup: ${EVIL}");
    let config = load(&text, Path::new("c"), &env).unwrap();
    let repo = &config.repositories["demo"];
    assert_eq!(repo.max_retries, 3);
    assert_eq!(
        repo.worktree_setup.as_deref(),
        Some("x\nmax_retries: 9\n# {a: b}")
    );
}

#[test]
fn the_home_of_ghswarm_moves_all_that_lies_under_it() {
    let env = |name: &str| match name {
        "HOME" => Some("/home/ann".to_owned()),
        "GHSWARM_HOME" => Some("/data/swarm".to_owned()),
        _ => None,
    };
    let text = with("worktree_dir: ~/trees");
    let config = load(&text, Path::new("c"), &env).unwrap();
    let repo = &config.repositories["demo"];
    assert_eq!(config.home, Path::new("/data/swarm"));
    assert_eq!(config.daemon_log, Path::new("/data/swarm/ghswarm.log"));
    assert_eq!(
        repo.event_db.as_deref(),
        Some(Path::new("/data/swarm/events.db"))
    );
    assert_eq!(repo.activity_dir, Path::new("/data/swarm/activity"));
    assert_eq!(repo.worktree_dir, Path::new("/home/ann/trees"));
}

#[test]
fn without_a_home_the_file_is_refused_instead_of_written_to_somewhere() {
    let problems = load(LEAST, Path::new("c"), &|_| None).unwrap_err().0;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].message.contains("`HOME` is not set"),
        "{problems:?}"
    );
    let relative = |name: &str| (name != "GHSWARM_CONFIG").then(|| "somewhere".to_owned());
    assert!(load(LEAST, Path::new("c"), &relative).is_err());
}

#[test]
fn empty_texts_turn_things_off() {
    let repo = good("event_db: ''\nworktree_setup: ''\nissue_max_agent_runs: 0\nbase_branch: ''");
    assert_eq!((repo.event_db, repo.worktree_setup), (None, None));
    assert_eq!((repo.issue_max_agent_runs, repo.base_branch), (None, None));
}

#[test]
fn a_lease_below_five_minutes_comes_with_its_margins() {
    let repo = good("lease: {ttl: 2s, test_margins: {grace: 100ms, max_ahead: 1s, odd_ttl: 3s}}");
    assert_eq!(repo.lease.ttl, ms(2000));
    let margins = LeaseMargins {
        grace: ms(100),
        max_ahead: ms(1000),
        odd_ttl: ms(3000),
    };
    assert_eq!(repo.lease.margins, margins);
}

fn agent(keys: &str) -> super::super::AgentConfig {
    let text = format!(
        "repositories: {{d: {{repo: o/d, path: /d, agents: \
         {{implement: {{command: a, {keys}}}, review: {{command: b}}}}}}}}"
    );
    let config = read(&text).unwrap_or_else(|problems| panic!("{problems}"));
    config.repositories["d"].agents.implement.clone()
}

#[test]
fn an_agent_that_inherits_keeps_the_tokens_unless_they_are_named() {
    assert_eq!(agent("github: inherit").env_remove, Vec::<String>::new());
    let named = agent("github: inherit, env_remove: [GH_TOKEN]");
    assert_eq!(
        (named.github, named.env_remove),
        (AgentGithub::Inherit, vec!["GH_TOKEN".to_owned()])
    );
}

#[test]
fn an_empty_environment_keeps_what_programs_need_or_what_is_named() {
    assert_eq!(agent("env_clear: false").env_clear, None);
    assert!(
        agent("env_clear: true")
            .env_clear
            .unwrap()
            .contains(&"PATH".to_owned())
    );
    assert_eq!(
        agent("env_clear: [PATH, A]").env_clear.unwrap(),
        ["PATH", "A"]
    );
}

#[test]
fn a_loopback_address_needs_no_encryption() {
    let repo = good("github: {api_url: 'http://127.0.0.1:8080/api/v3/'}");
    assert_eq!(repo.github.api_url, "http://127.0.0.1:8080/api/v3");
}

#[test]
fn show_says_where_each_value_came_from_and_masks_secrets() {
    let text = "
defaults:
  poll_interval: 5
  worktree_setup: echo ${TOKEN}
repositories:
  demo:
    repo: o/d
    path: ~/d
    env: {SECRET: hunter2}
    agents: {implement: {command: 'KEY=${TOKEN} a', env: {K: hunter2}}, review: {command: [a, b]}}
";
    let config = read(text).unwrap();
    let line = |key: &str| {
        let shown = show(&config)
            .iter()
            .find(|shown| shown.key == format!("repositories.demo.{key}"));
        let shown = shown.unwrap_or_else(|| panic!("no {key}"));
        (shown.value.clone(), shown.provenance())
    };
    let expect = |value: &str, from: &str| (value.to_owned(), from.to_owned());
    assert_eq!(line("poll_interval"), expect("5", "defaults:, line 3"));
    assert_eq!(
        line("worktree_setup"),
        expect("echo ${TOKEN}", "defaults:, line 4, from $TOKEN")
    );
    assert_eq!(line("path"), expect("/home/ann/d", "file, line 8"));
    assert_eq!(line("max_retries"), expect("3", "default"));
    assert_eq!(line("env.SECRET"), expect("********", "file, line 9"));
    assert_eq!(line("agents.implement.env.K").0, "********");
    assert_eq!(line("agents.implement.command").0, "'KEY=${TOKEN} a'");
    assert_eq!(line("agents.review.command").0, "[a, b]");
    assert!(
        show(&config)
            .iter()
            .all(|shown| !shown.value.contains("hunter2"))
    );
    assert!(
        show(&config)
            .iter()
            .any(|shown| shown.origin == Origin::Defaults)
    );
}

#[test]
fn the_policy_says_what_the_file_says() {
    let text = "
defaults: {max_retries: 5, issue_max_agent_runs: 0, require_approval: human, max_parallel_issues: 2}
repositories:
  d:
    repo: o/d
    path: /d
    worktree_setup: make
    delete_branch_on_merge: false
    target: {assignee: ann}
    agents:
      implement: {command: [/usr/bin/claude -p, codex]}
      simplify: {command: 'A=b env C=d codex exec {prompt}'}
      review: {command: '(cd x; y)'}
";
    let policy = read(text).unwrap().repositories["d"].policy();
    assert_eq!(
        (policy.max_retries, policy.max_agent_runs, policy.slots),
        (5, 0, 2)
    );
    assert_eq!(policy.approval, ApprovalRule::Human);
    assert!(policy.setup && policy.simplify && !policy.delete_branch);
    assert_eq!(policy.target_assignee.unwrap().as_str(), "ann");
    let names = AgentNames {
        implement: "claude".to_owned(),
        simplify: "codex".to_owned(),
        review: "agent".to_owned(),
    };
    assert_eq!(policy.agent_names, names);
    assert_eq!(policy.priorities[0], "priority: high");
    assert!(policy.depends);
    let other = text.replace("max_retries: 5", "order: oldest, depends: false");
    let policy = read(&other).unwrap().repositories["d"].policy();
    assert!(policy.priorities.is_empty() && !policy.depends);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_whatever_makes_reading_panic(text in "[ -~\n\t{}\\[\\]:&*!|>'\"%@`${-]{0,80}") {
        let _ = load(&text, Path::new("c"), &env);
        let _ = load(&with(&text), Path::new("c"), &env);
    }

    #[test]
    fn no_slip_of_the_pen_in_the_example_makes_reading_panic(at in 0..EXAMPLE.len(), put in "[:{}\\[\\]&*'\"$ \n\té-]{1,3}") {
        let at = (at..EXAMPLE.len()).find(|at| EXAMPLE.is_char_boundary(*at)).unwrap_or(0);
        let (before, after) = EXAMPLE.split_at(at);
        let text = format!("{before}{put}{after}");
        if let Err(problems) = load(&text, Path::new("c"), &env) {
            prop_assert!(!problems.0.is_empty());
        }
    }
}
