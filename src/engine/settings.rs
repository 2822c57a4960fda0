//! One repository as the engine works on it: the doors, the rules, and the user's commands.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::decide::Policy;
use crate::model::agent_stream::AgentFormat;
use crate::model::ids::{BranchName, IssueNumber, Login, RepoSlug, Timestamp};
use crate::model::run::{Clocks, RunKind};
use crate::model::sandbox::{Sandbox, StepPlace};
use crate::model::secrets::Secrets;
use crate::model::trust::People;
use crate::ports::backlog::Backlog;
use crate::ports::clock::Clock;
use crate::ports::events::Events;
use crate::ports::folders::Folders;
use crate::ports::git::Git;
use crate::ports::github::GitHub;
use crate::ports::memory::Memory;
use crate::ports::runs::Runs;

use super::base::Tip;
use super::waiting::Waiting;

/// The doors of one repository.
#[derive(Clone)]
pub struct World {
    /// GitHub.
    pub github: Arc<dyn GitHub>,
    /// The whole backlog of the same repository.
    pub backlog: Arc<dyn Backlog>,
    /// The clone.
    pub git: Arc<dyn Git>,
    /// The run folders.
    pub runs: Arc<dyn Runs>,
    /// The issue folders.
    pub folders: Arc<dyn Folders>,
    /// Derived data.
    pub memory: Arc<dyn Memory>,
    /// History.
    pub events: Arc<dyn Events>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Random text, for claims and nonces.
    pub random: Arc<dyn Fn() -> String + Send + Sync>,
}

/// One agent's command chain.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// The commands, tried in order.
    pub commands: Vec<String>,
    /// Their clocks.
    pub clocks: Clocks,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// Variables to take away.
    pub env_remove: Vec<String>,
    /// Start from an empty environment but for these.
    pub env_clear: Option<Vec<String>>,
    /// How its output reads.
    pub format: AgentFormat,
    /// May it use GitHub with the operator's credentials?
    pub github: GithubAccess,
}

/// What an agent may do on GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GithubAccess {
    /// Its pushes go nowhere and `gh` has no login.
    None,
    /// It inherits the operator's.
    Inherit,
}

/// Which issues are looked at, besides carrying a status label.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// All of these labels.
    pub labels: Vec<String>,
    /// This assignee.
    pub assignee: Option<Login>,
    /// This milestone, by title.
    pub milestone: Option<String>,
}

/// What the configuration says, as far as doing depends on it.
pub struct Settings {
    /// The alias in the configuration.
    pub alias: String,
    /// The repository.
    pub slug: RepoSlug,
    /// The base branch; `None`: GitHub's default.
    pub base_branch: Option<BranchName>,
    /// Where worktrees are made.
    pub worktree_dir: PathBuf,
    /// Patterns of an agent's words by which its failure is transient.
    pub transient_patterns: Vec<String>,
    /// The implementing agent.
    pub implement: AgentSettings,
    /// The simplifying agent.
    pub simplify: Option<AgentSettings>,
    /// The reviewing agent.
    pub review: AgentSettings,
    /// The containers that agents run in; `None`: they run on the host.
    pub agent_sandbox: Option<Sandbox>,
    /// `worktree_setup`.
    pub setup: Option<String>,
    /// Clocks of set-up and verify steps that no place is for.
    pub step_clocks: Clocks,
    /// Where set-up and verify steps run.
    pub places: Vec<StepPlace>,
    /// Name of the question file.
    pub question_file: String,
    /// Name of the file in which a reviewer asks for changes.
    pub review_file: String,
    /// Which issues.
    pub target: Target,
    /// This host's name, for people.
    pub host: String,
    /// This process.
    pub pid: u32,
    /// Who we are in leases: stable per home.
    pub owner: String,
    /// Takes secrets out of everything that is posted.
    pub secrets: Secrets,
}

/// One repository, ready to work on.
pub struct RepoEngine {
    /// The doors.
    pub world: World,
    /// The rules.
    pub policy: Policy,
    /// The rest of the configuration.
    pub settings: Settings,
    /// Permissions that were asked for in this process.
    pub(super) people: Mutex<People>,
    /// Boot time at which the last look at an issue was sent, with the look's own time.
    looks: Mutex<BTreeMap<IssueNumber, (Timestamp, Duration)>>,
    /// What the newest listing says about dependencies; `None`: nothing was listed in this cycle.
    pub(super) waiting: Mutex<Option<Waiting>>,
    /// How the base's tip stood a moment ago.
    pub(super) tip: Mutex<Option<Tip>>,
}

impl RepoEngine {
    /// Puts the parts together.
    pub fn new(world: World, policy: Policy, settings: Settings) -> Self {
        Self {
            world,
            policy,
            settings,
            people: Mutex::default(),
            looks: Mutex::default(),
            waiting: Mutex::default(),
            tip: Mutex::default(),
        }
    }

    /// Notes that the look which answered `at` was sent at `boot`.
    pub(super) fn note_look(&self, issue: IssueNumber, at: Timestamp, boot: Duration) {
        let mut looks = self
            .looks
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        looks.insert(issue, (at, boot));
    }

    /// When the look which answered `at` was sent.
    pub(super) fn looked_at(&self, issue: IssueNumber, at: Timestamp) -> Option<Duration> {
        let looks = self
            .looks
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        looks
            .get(&issue)
            .filter(|(answered, _)| *answered == at)
            .map(|(_, boot)| *boot)
    }

    /// The agent of a kind of run; verify steps and set-up have none.
    pub(super) fn agent(&self, kind: RunKind) -> Option<&AgentSettings> {
        match kind {
            RunKind::Implement => Some(&self.settings.implement),
            RunKind::Simplify => self.settings.simplify.as_ref(),
            RunKind::Review => Some(&self.settings.review),
            RunKind::Setup | RunKind::Verify => None,
        }
    }

    /// Where an issue's worktree is.
    pub fn worktree_path(&self, issue: IssueNumber) -> PathBuf {
        self.settings.worktree_dir.join(format!("issue-{issue}"))
    }
}
