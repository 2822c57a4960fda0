//! A run: one supervised child process (an agent's chain, the verify steps, a set-up).

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::agent::{AgentCommand, CommandReport};
use super::ids::{Epoch, IdError, IssueNumber, Timestamp};
use super::money::Allowance;
use super::sandbox::{Sandbox, SandboxOwner, spoken_bytes};

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// `worktree_setup`, once a new worktree.
    Setup,
    /// The agent that does the tasks.
    Implement,
    /// The agent that makes the change smaller.
    Simplify,
    /// The agent that reviews.
    Review,
    /// The verify steps of the issue.
    Verify,
}

impl RunKind {
    /// The word used in folder names and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Implement => "implement",
            Self::Simplify => "simplify",
            Self::Review => "review",
            Self::Verify => "verify",
        }
    }

    /// Does it run a coding agent, that is: cost money and count against the cap?
    pub fn is_agent(self) -> bool {
        matches!(self, Self::Implement | Self::Simplify | Self::Review)
    }
}

impl fmt::Display for RunKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The clone in a box's folder: what its container has as the worktree.
pub const BOX_TREE: &str = "tree";

/// Beside it: there as long as the box's work has not been taken over.
pub const BOX_META: &str = "box.json";

/// The name of one run: `<issue>/<epoch>-<seq>-<kind>`, and `-2`, `-3` … behind it for a repetition. Everything that must happen once for a run
/// (its folder, its comments) is named after it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunKey {
    /// The issue.
    pub issue: IssueNumber,
    /// The claim's epoch.
    pub epoch: Epoch,
    /// Number of the reserved agent run it is, or follows.
    pub seq: u32,
    /// What it is for.
    pub kind: RunKind,
    /// How often it was begun before: a step that was cut off says nothing and is begun again.
    pub again: u32,
}

impl RunKey {
    /// The run folder's name, `<epoch>-<seq>-<kind>`; of a repetition `<epoch>-<seq>-<kind>-<nth>`.
    pub fn folder(&self) -> String {
        let name = format!("{}-{}-{}", self.epoch, self.seq, self.kind);
        match self.again {
            0 => name,
            again => format!("{name}-{}", again.saturating_add(1)),
        }
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.issue, self.folder())
    }
}

impl FromStr for RunKey {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = || IdError {
            text: text.to_owned(),
            wanted: "a run key",
        };
        let (issue, folder) = text.split_once('/').ok_or_else(wrong)?;
        let mut parts = folder.splitn(4, '-');
        let epoch = parts
            .next()
            .and_then(|p| p.parse().ok())
            .ok_or_else(wrong)?;
        let seq = parts
            .next()
            .and_then(|p| p.parse().ok())
            .ok_or_else(wrong)?;
        let kind = match parts.next() {
            Some("setup") => RunKind::Setup,
            Some("implement") => RunKind::Implement,
            Some("simplify") => RunKind::Simplify,
            Some("review") => RunKind::Review,
            Some("verify") => RunKind::Verify,
            _ => return Err(wrong()),
        };
        let again = match parts.next().map(str::parse::<u32>) {
            None => 0,
            Some(Ok(nth)) if nth > 1 => nth - 1,
            Some(_) => return Err(wrong()),
        };
        let issue = issue.parse().map_err(|_| wrong())?;
        Ok(Self {
            issue,
            epoch: Epoch(epoch),
            seq,
            kind,
            again,
        })
    }
}

impl TryFrom<String> for RunKey {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<RunKey> for String {
    fn from(key: RunKey) -> String {
        key.to_string()
    }
}

/// How the commands of a run follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A fallback chain: the next one only after a failure; the first success ends the run.
    Fallback,
    /// Steps: the next one only after a success; the first failure ends the run.
    Sequence,
}

/// One command of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCommand {
    /// What people see: the agent's name or the step's text.
    pub label: String,
    /// The text for `sh -c`, placeholders already replaced.
    pub shell: String,
    /// Working directory, relative to the worktree.
    pub dir: PathBuf,
    /// Is the prompt given on standard input? Otherwise standard input is empty.
    pub prompt_on_stdin: bool,
    /// Its own clocks, where the run's do not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// The part of the configuration that says how it runs, for messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The container it runs in; `None`: on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Box<Boxed>>,
    /// An agent's command; `None`: a step, which nobody listens to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentCommand>>,
}

/// A command's container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boxed {
    /// What it is like.
    pub sandbox: Sandbox,
    /// Whose it is.
    pub owner: SandboxOwner,
}

impl RunCommand {
    /// What raises the limit that a command ran into, for people.
    pub fn remedy(&self, end: RunEnd) -> Option<String> {
        let boxed = self.sandbox.as_ref();
        let of_sandbox = || boxed.map(|boxed| &boxed.sandbox.config);
        match end {
            RunEnd::StartupTimeout | RunEnd::IdleTimeout | RunEnd::TotalTimeout => {
                let config = self.config.as_ref()?;
                Some(format!("`{config}.timeout` is its limit"))
            }
            RunEnd::OutOfMemory => {
                let config = of_sandbox()?;
                let limit = boxed.and_then(|boxed| boxed.sandbox.caps.memory);
                Some(match limit {
                    Some(limit) => format!(
                        "`{config}.memory` is its limit, {} now",
                        spoken_bytes(limit)
                    ),
                    None => "the engine has no memory left for it".to_owned(),
                })
            }
            RunEnd::Exited
            | RunEnd::NotStarted
            | RunEnd::SandboxUnavailable
            | RunEnd::OverBudget
            | RunEnd::LeaseLost
            | RunEnd::Stopped
            | RunEnd::SupervisorDied => None,
        }
    }
}

/// The clocks of one command. None of them counts sleep or frozen time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Without a byte of output since the start.
    pub startup: Duration,
    /// Without a byte of output since the last one.
    pub idle: Duration,
    /// In all.
    pub total: Duration,
    /// From the exit of the child until its output pipe must be closed.
    pub completion_grace: Duration,
    /// From TERM to KILL.
    pub kill_grace: Duration,
}

/// Everything a supervisor needs to know: `spec.json` of the run folder. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The run's name.
    pub key: RunKey,
    /// The worktree.
    pub worktree: PathBuf,
    /// The commands.
    pub commands: Vec<RunCommand>,
    /// How they follow one another.
    pub order: Order,
    /// The prompt, for agents.
    pub prompt: Option<String>,
    /// Files beside the prompt's, by their names, such as logs of CI. The supervisor needs none of them.
    #[serde(skip)]
    pub files: BTreeMap<String, String>,
    /// The open tasks that are handed to the agent: only these are ticked afterwards.
    pub tasks: Vec<String>,
    /// Deleted before each command (the question file, the review file), relative to the worktree.
    pub fresh_files: Vec<PathBuf>,
    /// Variables to set. `GHSWARM_RUN` is added by the supervisor.
    pub env: BTreeMap<String, String>,
    /// Variables to take away.
    pub env_remove: Vec<String>,
    /// Start from an empty environment but for this allow-list.
    pub env_clear: Option<Vec<String>>,
    /// The clocks.
    pub clocks: Clocks,
    /// What it may cost; reaching one of them ends it.
    #[serde(default, skip_serializing_if = "Allowance::is_none")]
    pub allowance: Allowance,
    /// The folder of the run's box: its commands work in the clone there and not in the worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_box: Option<PathBuf>,
    /// The lease to renew while the run lives; `None` for a run without a lease (tests).
    pub lease: Option<RunLease>,
    /// The worktree's head when the run was started: the one that it judges. `None`: it has none, or the run is
    /// one from before this was written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<super::ids::Sha>,
}

impl RunSpec {
    /// Where the run's files are.
    pub fn ground(&self) -> PathBuf {
        match &self.agent_box {
            Some(folder) => folder.join(BOX_TREE),
            None => self.worktree.clone(),
        }
    }
}

/// What the supervisor needs to keep the lease alive. The token comes through a pipe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLease {
    /// The alias of the repository in the configuration.
    pub alias: String,
    /// The claim that must stay on the refs.
    pub claim: super::ids::ClaimId,
    /// The refs that carry it: the issue's and the slot's.
    pub refs: Vec<super::ids::RefName>,
    /// Its time to live.
    pub ttl: Duration,
    /// Kept free before the lease runs out, besides the kill grace: 60 s (tests shrink it).
    pub margin: Duration,
    /// The tree of the lease commits: the base tip's at the time of the claim.
    pub tree: super::ids::Sha,
    /// What the lease commits say; a renewal only changes `n`.
    pub message: super::lease::LeaseMessage,
    /// Boot time (of `ports::clock`) since when the lease is good: when the last claim or renewal
    /// was sent, or when a look was sent minus the lease commit's age in its answer. `None`: not
    /// known, the supervisor renews before it starts the first command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good_since: Option<Duration>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// The last command exited by itself; `code` tells how.
    Exited,
    /// Nothing was printed for the start-up time.
    StartupTimeout,
    /// Nothing was printed for the idle time.
    IdleTimeout,
    /// The total time was reached.
    TotalTimeout,
    /// The command could not be started at all.
    NotStarted,
    /// The container it runs in took more memory than it may, which ended it or a part of it.
    OutOfMemory,
    /// There was no container to run it in: nothing of it ran, nobody's work failed.
    SandboxUnavailable,
    /// It cost what it may cost.
    OverBudget,
    /// Another claim holds the lease: the run was ended.
    LeaseLost,
    /// A person or the engine asked for the end.
    Stopped,
    /// The supervisor died and left no `exit.json`.
    SupervisorDied,
}

impl RunEnd {
    /// How it ended, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Exited => "it exited by itself",
            Self::StartupTimeout => "it printed nothing after its start",
            Self::IdleTimeout => "it fell silent",
            Self::TotalTimeout => "it took too long",
            Self::NotStarted => "it could not be started",
            Self::OutOfMemory => "it ran out of memory",
            Self::SandboxUnavailable => "there was no container for it",
            Self::OverBudget => "its budget was used up",
            Self::LeaseLost => "the lease was lost",
            Self::Stopped => "it was stopped",
            Self::SupervisorDied => "its supervisor died",
        }
    }
}

/// `exit.json`: written once, by rename, when nothing of the run is alive any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunExit {
    /// Why it ended.
    pub end: RunEnd,
    /// Exit status of the deciding command; `None` if it was killed by a signal or never ran.
    pub code: Option<i32>,
    /// The signal that killed it.
    pub signal: Option<i32>,
    /// Index into `commands` of the deciding command.
    pub command: usize,
    /// When the run started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Did something survive KILL, or is the worktree in doubt for another reason?
    pub quarantined: bool,
    /// For people: what was special.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl RunExit {
    /// Did it end by what happened around it? Then it says nothing about what it ran.
    pub fn was_cut_off(&self) -> bool {
        match self.end {
            RunEnd::SupervisorDied
            | RunEnd::Stopped
            | RunEnd::LeaseLost
            | RunEnd::NotStarted
            | RunEnd::SandboxUnavailable => true,
            RunEnd::Exited
            | RunEnd::StartupTimeout
            | RunEnd::IdleTimeout
            | RunEnd::TotalTimeout
            | RunEnd::OverBudget
            | RunEnd::OutOfMemory => false,
        }
    }

    /// Did the run succeed?
    pub fn success(&self) -> bool {
        self.end == RunEnd::Exited && self.code == Some(0)
    }
}

/// What a run folder says now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum RunStatus {
    /// The folder exists, no supervisor holds its lock and none ever wrote: the start was cut off.
    Reserved,
    /// A supervisor holds the folder's lock.
    Running {
        /// When it started, from `spec.json`'s time.
        since: Timestamp,
        /// Frozen because the lease could not be renewed in time.
        frozen: bool,
    },
    /// It ended.
    Ended(RunExit),
}

/// One run folder of this home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Its name.
    pub key: RunKey,
    /// What it says now.
    pub status: RunStatus,
    /// The folder, for messages.
    pub folder: PathBuf,
    /// Label of the deciding (or first) command: the agent's name.
    pub label: String,
    /// The tasks that were handed to it, from `spec.json`.
    pub tasks: Vec<String>,
    /// The last part of the log, for prompts and comments (ANSI stripped, not yet redacted).
    pub tail: String,
    /// Text of the question file, if the run left one (moved out of the worktree into the folder).
    pub question: Option<String>,
    /// Text of the review file, if the run left one.
    pub review: Option<String>,
    /// What its agents said so far, in the order of the commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<CommandReport>,
    /// The run's box, as long as its work is neither in the worktree nor kept elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_box: Option<PathBuf>,
    /// The worktree's head when it was started, from `spec.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<super::ids::Sha>,
}
