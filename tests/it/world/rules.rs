//! What the configuration says in a story.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use ghswarm::decide::Policy;
use ghswarm::decide::policy::{AgentNames, ApprovalRule};
use ghswarm::engine::{AgentSettings, GithubAccess, Settings, Target};
use ghswarm::model::agent_stream::AgentFormat;
use ghswarm::model::issue::Association;
use ghswarm::model::labels::LabelNames;
use ghswarm::model::lease::LeaseMargins;
use ghswarm::model::money::Budget;
use ghswarm::model::pr::MergeMethod;
use ghswarm::model::run::Clocks;
use ghswarm::model::secrets::Secrets;

use super::CANARY;

/// Made once: its patterns are expensive.
static SECRETS: LazyLock<Secrets> = LazyLock::new(|| Secrets::new([CANARY.to_owned()]));

/// Everything a story may set.
#[derive(Clone)]
pub(crate) struct Rules {
    /// The rules of the decider.
    pub(crate) policy: Policy,
    /// Which issues are looked at.
    pub(crate) target: Target,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            policy: policy(),
            target: Target::default(),
        }
    }
}

fn policy() -> Policy {
    Policy {
        labels: LabelNames::default(),
        marker: "claude-lock".to_owned(),
        namespace: "leases".to_owned(),
        lease_ttl: Duration::from_secs(30 * 60),
        lease_margins: LeaseMargins::default(),
        priorities: ["high", "medium", "low"]
            .map(|word| format!("priority: {word}"))
            .to_vec(),
        depends: true,
        slots: 1,
        stale_window: Duration::from_secs(24 * 3600),
        lock_ttl: Duration::from_secs(2 * 3600),
        trusted_associations: vec![
            Association::Owner,
            Association::Member,
            Association::Collaborator,
        ],
        trusted_logins: Vec::new(),
        trusted_bots: Vec::new(),
        target_assignee: None,
        branch_prefix: "issue-".to_owned(),
        max_retries: 2,
        max_transient: 5,
        budget: Budget::default(),
        max_agent_runs: 20,
        simplify: false,
        setup: false,
        approval: ApprovalRule::None,
        merge_method: MergeMethod::Squash,
        post_merge_ci: true,
        post_merge_grace: Duration::from_secs(10 * 60),
        ci_start_grace: Duration::from_secs(10 * 60),
        ci_fixes_max: 2,
        answers_resume: true,
        delete_branch: true,
        protected_paths: Vec::new(),
        agent_names: AgentNames {
            implement: "claude".to_owned(),
            simplify: "codex".to_owned(),
            review: "gemini".to_owned(),
        },
    }
}

fn clocks() -> Clocks {
    Clocks {
        startup: Duration::from_secs(60),
        idle: Duration::from_secs(600),
        total: Duration::from_secs(7200),
        completion_grace: Duration::from_secs(10),
        kill_grace: Duration::from_secs(5),
    }
}

fn agent(command: &str) -> AgentSettings {
    AgentSettings {
        commands: vec![format!("{command} -p {{prompt}}")],
        clocks: clocks(),
        env: BTreeMap::new(),
        env_remove: Vec::new(),
        env_clear: None,
        format: AgentFormat::ClaudeJson,
        github: GithubAccess::None,
    }
}

impl Rules {
    /// The settings of a home.
    pub(crate) fn settings(&self, host: &str) -> Settings {
        Settings {
            alias: "shop".to_owned(),
            slug: "ann/shop".parse().unwrap(),
            base_branch: None,
            worktree_dir: PathBuf::from(format!("/sim/{host}/shop-worktrees")),
            transient_patterns: Vec::new(),
            implement: agent("claude"),
            simplify: self.policy.simplify.then(|| agent("codex")),
            review: agent("gemini"),
            agent_sandbox: None,
            setup: self.policy.setup.then(|| "make deps".to_owned()),
            step_clocks: clocks(),
            places: Vec::new(),
            question_file: "QUESTION.md".to_owned(),
            review_file: "REVIEW.md".to_owned(),
            target: self.target.clone(),
            host: format!("host-{host}"),
            pid: 4711,
            owner: format!("home-{host}"),
            secrets: SECRETS.clone(),
        }
    }
}
