//! Agents that say what they cost: real processes that print what the real programs printed.

use std::path::{Path, PathBuf};

use ghswarm::model::agent::{AgentCommand, Session};
use ghswarm::model::agent_stream::{AgentErrorKind, AgentFormat};
use ghswarm::model::money::{Allowance, Usd};
use ghswarm::model::run::{RunCommand, RunEnd, RunSpec};

use super::{Home, until};

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/agents")
        .join(name)
}

/// Prints a recorded stream, then exits like this.
fn says(name: &str, status: u32) -> String {
    format!("cat '{}'; exit {status}", recorded(name).display())
}

fn spec(home: &Home, commands: &[&str], change: impl Fn(usize, &mut AgentCommand)) -> RunSpec {
    let mut spec = home.spec(commands);
    for (index, command) in spec.commands.iter_mut().enumerate() {
        let mut agent = AgentCommand {
            format: AgentFormat::ClaudeJson,
            provider: format!("provider-{index}"),
            ..AgentCommand::default()
        };
        change(index, &mut agent);
        command.agent = Some(Box::new(agent));
    }
    spec
}

fn kinds(home: &Home) -> Vec<(usize, Option<AgentErrorKind>)> {
    let reports = home.facts().reports;
    let kind = |one: &ghswarm::model::agent::CommandReport| {
        let error = one.report.error.as_ref();
        (one.command, error.map(|error| error.kind))
    };
    reports.iter().map(kind).collect()
}

#[test]
fn what_an_agent_says_of_itself_is_there_once_it_ended() {
    let home = Home::new();
    let (facts, exit) = home.run(&spec(&home, &[&says("claude-success.jsonl", 0)], |_, _| {}));
    assert!(exit.success());
    let [one] = facts.reports.as_slice() else {
        panic!("{:?}", facts.reports);
    };
    assert_eq!(one.report.spent.usd, Usd::from_dollars(0.0333));
    assert_eq!(one.report.turns, 3);
    // Its lines are no reading for people.
    assert_eq!(facts.tail, "Done: `hello.txt` is there and committed.");
}

#[test]
fn what_a_program_complains_about_does_not_cut_what_it_says() {
    let home = Home::new();
    let noisy = format!(
        "(while :; do echo noise >&2; done) & noise=$!; while read -r line; do printf '%.40s' \
         \"$line\"; sleep 0.01; printf '%s\\n' \"$(printf '%s' \"$line\" | tail -c +41)\"; done < \
         '{}'; kill $noise",
        recorded("claude-success.jsonl").display()
    );
    let (facts, _) = home.run(&spec(&home, &[&noisy], |_, _| {}));
    assert_eq!(facts.reports[0].report.turns, 3);
}

#[test]
fn a_run_is_ended_as_soon_as_it_costs_what_it_may() {
    let home = Home::new();
    let works = format!(
        "head -3 '{}'; sleep 600",
        recorded("claude-success.jsonl").display()
    );
    let mut spec = spec(&home, &[&works, "touch second"], |_, _| {});
    spec.allowance = Allowance {
        tokens: 10_000,
        usd: Usd::default(),
    };
    let (facts, exit) = home.run(&spec);
    assert_eq!(exit.end, RunEnd::OverBudget, "{exit:?}");
    let note = exit.note.unwrap();
    assert!(note.contains("10,501 tokens were used of 10,000"), "{note}");
    assert_eq!(facts.reports.len(), 1);
    assert!(!home.tree().join("second").exists(), "the chain is over");
}

#[test]
fn a_run_that_has_said_its_last_words_is_not_ended_for_what_it_cost() {
    let home = Home::new();
    let works = format!(
        "cat '{}'; sleep 0.3",
        recorded("claude-success.jsonl").display()
    );
    let mut spec = spec(&home, &[&works], |_, _| {});
    // Reached by the result line alone, which tells the dollars.
    spec.allowance = Allowance {
        tokens: 0,
        usd: Usd::from_dollars(0.01),
    };
    assert!(home.run(&spec).1.success());
}

#[test]
fn a_provider_whose_limit_is_not_over_is_skipped() {
    let home = Home::new();
    let limited = |index: usize, agent: &mut AgentCommand| {
        if index == 0 {
            agent.paused_until = chrono::DateTime::from_timestamp(9_000_000_000, 0);
        }
    };
    let fine = says("claude-success.jsonl", 0);
    let (facts, exit) = home.run(&spec(&home, &["touch first", &fine], limited));
    assert!(exit.success() && exit.command == 1, "{exit:?}");
    assert!(!home.tree().join("first").exists());
    assert_eq!(
        kinds(&home),
        [(0, Some(AgentErrorKind::Limited)), (1, None)]
    );
    assert!(facts.reports[0].skipped && !facts.reports[1].skipped);
}

#[test]
fn a_run_all_of_whose_providers_are_limited_fails_without_starting_any() {
    let home = Home::new();
    let (facts, exit) = home.run(&spec(&home, &["touch first"], |_, agent| {
        agent.paused_until = chrono::DateTime::from_timestamp(9_000_000_000, 0);
    }));
    assert!(!exit.success() && exit.end == RunEnd::Exited, "{exit:?}");
    assert!(!home.tree().join("first").exists());
    assert!(facts.reports[0].skipped);
}

/// A chain of a command that resumes a session, and the one that stands in for it.
fn resuming(home: &Home, first: &str) -> RunSpec {
    spec(home, &[first, "touch fresh"], |index, agent| {
        agent.stands_in = index == 1;
        agent.resumes = (index == 0).then(|| Session {
            id: "0e91ca57".to_owned(),
            tokens: 0,
        });
    })
}

#[test]
fn a_session_that_is_gone_is_begun_anew() {
    let home = Home::new();
    let (_, exit) = home.run(&resuming(&home, &says("claude-lost-session.jsonl", 1)));
    assert!(exit.success());
    assert!(home.tree().join("fresh").exists());
}

#[test]
fn a_resumed_session_that_fails_at_its_work_is_not_paid_for_twice() {
    let home = Home::new();
    let (_, exit) = home.run(&resuming(&home, "exit 7"));
    assert_eq!(exit.code, Some(7));
    assert!(!home.tree().join("fresh").exists());
    let home = Home::new();
    let (_, exit) = home.run(&resuming(&home, &says("claude-overloaded.jsonl", 1)));
    assert_eq!(exit.code, Some(1));
    assert!(!home.tree().join("fresh").exists());
}

#[test]
fn what_an_agent_said_outlives_its_supervisor() {
    let home = Home::new();
    let works = format!(
        "head -3 '{}'; touch said; sleep 600",
        recorded("claude-success.jsonl").display()
    );
    home.started(&spec(&home, &[&works], |_, _| {}));
    until("it has said it", || {
        (home.facts().reports.first()?.report.spent.tokens == 10_501).then_some(())
    });
    super::signal(home.supervisor(), rustix::process::Signal::KILL);
    let (facts, exit) = home.ended();
    assert_eq!(exit.end, RunEnd::SupervisorDied);
    assert_eq!(facts.reports[0].report.spent.tokens, 10_501);
}

#[test]
fn a_step_is_listened_to_by_nobody() {
    let home = Home::new();
    let mut spec = home.spec(&[&says("claude-usage-limit.jsonl", 1)]);
    spec.commands = spec
        .commands
        .into_iter()
        .map(|one| RunCommand { agent: None, ..one })
        .collect();
    assert!(home.run(&spec).0.reports.is_empty());
}
