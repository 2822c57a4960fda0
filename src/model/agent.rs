//! A command of an agent's chain: how it is listened to, whose limits it shares, which session it goes on
//! with; and what came of it.

use serde::{Deserialize, Serialize};

use super::agent_stream::{AgentError, AgentErrorKind, AgentFormat, AgentReport};
use super::ids::Timestamp;
use super::money::Spent;
use super::trust::text_hash;

/// What a supervisor has to know of an agent's command besides the command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentCommand {
    /// How its output reads.
    pub format: AgentFormat,
    /// Whose usage limits it shares.
    pub provider: String,
    /// Patterns of the user by which a failure is transient.
    pub transient: Vec<String>,
    /// The session it goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumes: Option<Session>,
    /// Is it only for the case that the command before it did not find its session?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stands_in: bool,
    /// Its provider's limit is known to last until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<Timestamp>,
}

/// A session that can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// What was counted for it so far, where the program counts the whole session.
    pub tokens: u64,
}

/// What one command of a run said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandReport {
    /// Index of the command.
    pub command: usize,
    /// Whose limits it shares.
    pub provider: String,
    /// Was it left out, since its provider was known to be limited?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// What it said.
    pub report: AgentReport,
}

impl CommandReport {
    /// Of a command that was not started, since its provider is paused.
    pub fn skipped(command: usize, agent: &AgentCommand, until: Timestamp) -> Self {
        let words = "skipped: its usage limit was not over yet";
        let error = AgentError {
            until: Some(until),
            ..AgentError::new(AgentErrorKind::Limited, words)
        };
        Self {
            command,
            provider: agent.provider.clone(),
            skipped: true,
            report: AgentReport {
                error: Some(error),
                ..AgentReport::default()
            },
        }
    }
}

/// What the commands of a run cost together.
pub fn spent(reports: &[CommandReport]) -> Spent {
    reports.iter().map(|one| one.report.spent).sum()
}

/// Programs whose name says which account they use, together with the variables set before them.
const KNOWN: [&str; 2] = ["claude", "codex"];

/// Whose limits a command shares, as a short name that holds none of its words: two commands of the same
/// program with the same variables before it use one account. Of any other program nothing is known, so
/// only the very same command shares its limits.
pub fn provider_of(command: &str, name: &str) -> String {
    let upto = command
        .split_whitespace()
        .position(|word| !word.contains('=') && word != "env");
    let account = match upto {
        Some(upto) if KNOWN.contains(&name) => {
            let words: Vec<&str> = command.split_whitespace().take(upto + 1).collect();
            words.join(" ")
        }
        Some(_) | None => command.to_owned(),
    };
    let hash = text_hash("provider", &account);
    format!("{name}-{}", &hash[..12.min(hash.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_one_account_share_their_limits_and_others_do_not() {
        let of = |command: &str| {
            provider_of(
                command,
                if command.contains("claude") {
                    "claude"
                } else {
                    "sh"
                },
            )
        };
        assert_eq!(of("claude -p --model opus"), of("claude -p --model sonnet"));
        assert_ne!(of("A=1 claude -p"), of("A=2 claude -p"));
        assert_ne!(of("sh one.sh"), of("sh two.sh"));
        assert!(!of("KEY=secret claude -p").contains("secret"));
    }
}
