//! The checked configuration: typed values that nobody has to look at twice. It reads nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;

use super::show::Shown;
use crate::decide::policy::ApprovalRule;
use crate::model::agent_stream::AgentFormat;
use crate::model::ids::{BranchName, Login, RepoSlug};
use crate::model::issue::Association;
use crate::model::labels::LabelNames;
use crate::model::lease::LeaseMargins;
use crate::model::money::Budget;
use crate::model::pr::MergeMethod;
use crate::model::run::Clocks;
use crate::model::sandbox::{Sandbox, StepPlace};

/// One configuration file, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file.
    pub source: PathBuf,
    /// ghswarm's home: `$GHSWARM_HOME` or `~/.ghswarm`.
    pub home: PathBuf,
    /// By alias; at least one.
    pub repositories: BTreeMap<String, RepoConfig>,
    /// Repositories stepped at the same time, 1 or more.
    pub max_parallel_repos: usize,
    /// Log of the loop, before the start date is inserted.
    pub daemon_log: PathBuf,
    /// Lock file of the loop.
    pub daemon_pid: PathBuf,
    /// Keep the machine from sleeping while an agent runs?
    pub keep_awake: bool,
    /// What the log looks like.
    pub log: LogConfig,
    pub(super) shown: Vec<Shown>,
}

/// What the log looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfig {
    /// For whom the lines are.
    pub format: LogFormat,
    /// Older logs are deleted.
    pub keep_days: u32,
}

/// For whom the lines of the log are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogFormat {
    /// People.
    Text,
    /// Programs: one JSON object a line.
    Json,
}

/// One repository, `defaults` laid under it.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the file, by its name there"
)]
pub struct RepoConfig {
    /// Its name in the file.
    pub alias: String,
    /// Its name on GitHub.
    pub repo: RepoSlug,
    /// The user's clone, absolute.
    pub path: PathBuf,
    /// `None`: ask GitHub for the default branch.
    pub base_branch: Option<BranchName>,
    /// The issue's number follows.
    pub branch_prefix: String,
    /// Between two looks.
    pub poll_interval: Duration,
    /// Relative to the worktree.
    pub question_file: PathBuf,
    /// How a pull request is merged.
    pub merge_method: MergeMethod,
    /// Whose approval a merge needs.
    pub require_approval: ApprovalRule,
    /// Act on trusted review comments? Until the engine can, such comments block with a reason.
    pub address_pr_reviews: bool,
    /// Resolve the threads that were acted on?
    pub resolve_review_threads: bool,
    /// Delete our branch after the merge?
    pub delete_branch_on_merge: bool,
    /// Wait for the merge commit's checks?
    pub post_merge_ci: bool,
    /// How long those checks may take to appear.
    pub post_merge_ci_grace: Duration,
    /// How long the pull request's checks may take to appear.
    pub ci_start_grace: Duration,
    /// Where worktrees are made, absolute.
    pub worktree_dir: PathBuf,
    /// Shell command for a new worktree.
    pub worktree_setup: Option<String>,
    /// Let the agent resolve conflicts? Until the engine can, they block with a reason.
    pub auto_resolve_conflicts: bool,
    /// Tries at a conflict.
    pub conflict_max_retries: u32,
    /// Does an answer of a trusted person resume an issue whose agent asked?
    pub clarification_auto_resume: bool,
    /// Let the agent mend red checks? Until the engine can, they block with a reason.
    pub auto_fix_ci: bool,
    /// Tries at red checks.
    pub ci_fix_max_retries: u32,
    /// An agent's output that matches one is no failure of the task.
    pub transient_error_patterns: Vec<Regex>,
    /// Tries after such an output.
    pub transient_max_retries: u32,
    /// Tries at one phase.
    pub max_retries: u32,
    /// What agents may cost.
    pub budget: Budget,
    /// Agent runs an issue may use; `None`: no cap.
    pub issue_max_agent_runs: Option<u32>,
    /// Agents at work on the repository at once, 1 or more.
    pub max_parallel_issues: u32,
    /// Which issue comes first.
    pub order: IssueOrder,
    /// Labels that say how urgent an issue is, the most urgent first: `labels.priority`.
    pub priorities: Vec<String>,
    /// Wait for the issues an issue depends on?
    pub depends: bool,
    /// Patterns of paths that a diff must not touch.
    pub protected_paths: Vec<String>,
    /// After this a busy label without a lease is stale.
    pub lock_ttl: Duration,
    /// `None`: no history.
    pub event_db: Option<PathBuf>,
    /// What each agent is doing, as files.
    pub activity_dir: PathBuf,
    /// Variables for git and the GitHub calls. May hold secrets.
    pub env: BTreeMap<String, String>,
    /// Names of the labels: `labels.*`, `claims.label` and `claims.hold_label`.
    pub labels: LabelNames,
    /// Which issues are worked on.
    pub target: Target,
    /// What people see of a claim.
    pub claims: Claims,
    /// The git refs that lock issues.
    pub lease: LeaseConfig,
    /// Whose words count.
    pub trust: Trust,
    /// The coding agents.
    pub agents: Agents,
    /// Clocks of verify steps, and of `worktree_setup`, that no entry of `verify` is for.
    pub verify_clocks: Clocks,
    /// Where the others run.
    pub places: Vec<StepPlace>,
    /// How GitHub is reached.
    pub github: GithubConfig,
}

/// Which issue comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IssueOrder {
    /// The more urgent one, by its label, then the lower number.
    Priority,
    /// The lower number.
    Oldest,
}

/// Which issues are worked on, of those that carry a status label. All conditions hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// All of these labels.
    pub labels: Vec<String>,
    /// This assignee.
    pub assignee: Option<Login>,
    /// The milestone of this title.
    pub milestone: Option<String>,
}

/// What people see of a claim. Its labels are in `RepoConfig::labels`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// First word of the hidden claim comment.
    pub marker: String,
    /// Age from which a claim without a pull request is stale.
    pub stale_window: Duration,
}

/// The git refs that lock issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseConfig {
    /// Leases are refs under `refs/<namespace>/`.
    pub namespace: String,
    /// Five minutes to a day; tests and the demo go below.
    pub ttl: Duration,
    /// The default but in tests and the demo.
    pub margins: LeaseMargins,
}

/// Whose words count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// By what they are to the repository.
    pub associations: Vec<Association>,
    /// By name.
    pub logins: Vec<Login>,
    /// Bots whose comments count.
    pub bots: Vec<Login>,
}

/// The coding agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agents {
    /// Does the tasks.
    pub implement: AgentConfig,
    /// Reviews.
    pub review: AgentConfig,
    /// Makes the change smaller; `None` skips the phase.
    pub simplify: Option<AgentConfig>,
    /// The containers that they run in; `None`: they run on the host.
    pub sandbox: Option<Sandbox>,
}

/// One coding agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// For `sh -c`, tried in order; at least one. Placeholders are not replaced yet.
    pub commands: Vec<String>,
    /// Its clocks.
    pub clocks: Clocks,
    /// Variables to set. May hold secrets.
    pub env: BTreeMap<String, String>,
    /// Variables to take away.
    pub env_remove: Vec<String>,
    /// Start with these variables only.
    pub env_clear: Option<Vec<String>>,
    /// What it may do on GitHub.
    pub github: AgentGithub,
    /// How its output reads.
    pub output: AgentFormat,
}

/// What an agent may do on GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentGithub {
    /// Nothing: no token, no push, an empty `gh`.
    None,
    /// What the user may.
    Inherit,
}

/// How GitHub is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubConfig {
    /// Without a slash at its end.
    pub api_url: String,
    /// Shell command that prints a token.
    pub token_command: Option<String>,
    /// Between two writes.
    pub write_spacing: Duration,
}
