//! From a checked tree to typed values. What does not fit was reported before, so a value that is
//! not what its key wants falls back to nothing here. What values mean together is for `sense`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;

use super::problem::Position;
use super::sandbox::{VERIFY_TIMEOUT, read_boxes, read_places, step_clocks};
use super::settings::{
    AgentConfig, AgentGithub, Agents, Claims, GithubConfig, IssueOrder, LeaseConfig, LogConfig,
    LogFormat, RepoConfig, Target, Trust,
};
use super::tree::{Map, Node, Origin, Value};
use super::values::{parse_association, parse_switch, parse_time, parse_whole};
use crate::decide::policy::ApprovalRule;
use crate::model::agent_stream::AgentFormat;
use crate::model::ids::{BranchName, IdError, Login};
use crate::model::labels::LabelNames;
use crate::model::lease::LeaseMargins;
use crate::model::money::{Allowance, Budget, Usd};
use crate::model::pr::MergeMethod;
use crate::model::run::Clocks;

/// What `env_clear: true` keeps: without these hardly any program starts.
const ENV_KEPT: [&str; 10] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR",
];

/// A mapping whose defaults are filled in.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    node: &'a Node,
}

static NOTHING: Node = Node {
    value: Value::Null,
    at: Position { line: 0, column: 0 },
    origin: Origin::Default,
    source: String::new(),
    variables: Vec::new(),
};

impl<'a> Reader<'a> {
    pub(super) fn of(node: &'a Node) -> Self {
        Self { node }
    }

    pub(super) fn get(self, key: &str) -> &'a Node {
        self.node
            .map()
            .and_then(|map| map.get(key))
            .unwrap_or(&NOTHING)
    }

    pub(super) fn at(self, key: &str) -> Self {
        Self {
            node: self.get(key),
        }
    }

    pub(super) fn there(self, key: &str) -> Option<Self> {
        let node = self.get(key);
        node.map().is_some().then_some(Self { node })
    }

    pub(super) fn text(self, key: &str) -> String {
        self.get(key).scalar().unwrap_or_default()
    }

    fn some_text(self, key: &str) -> Option<String> {
        Some(self.text(key)).filter(|text| !text.is_empty())
    }

    pub(super) fn path(self, key: &str) -> PathBuf {
        PathBuf::from(self.text(key))
    }

    /// A path from `/` on; `None` if it is empty, missing or was reported.
    pub(super) fn full_path(self, key: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.get(key).text()?);
        path.is_absolute().then_some(path)
    }

    pub(super) fn switch(self, key: &str) -> bool {
        parse_switch(self.get(key)).unwrap_or_default()
    }

    pub(super) fn count(self, key: &str) -> u32 {
        parse_whole(self.get(key))
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or_default()
    }

    pub(super) fn whole(self, key: &str) -> u64 {
        parse_whole(self.get(key))
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or_default()
    }

    pub(super) fn number(self, key: &str) -> f64 {
        self.text(key).parse().unwrap_or_default()
    }

    pub(super) fn time(self, key: &str) -> Duration {
        parse_time(self.get(key)).unwrap_or_default()
    }

    pub(super) fn texts(self, key: &str) -> Vec<String> {
        let node = self.get(key);
        let items = node.list().unwrap_or(std::slice::from_ref(node));
        items.iter().filter_map(Node::scalar).collect()
    }

    pub(super) fn variables(self, key: &str) -> BTreeMap<String, String> {
        let pairs = self.get(key).map().into_iter().flat_map(Map::iter);
        pairs
            .filter_map(|(name, _, node)| Some((name.to_owned(), node.scalar()?)))
            .collect()
    }

    fn ids<T: std::str::FromStr<Err = IdError>>(self, key: &str) -> Vec<T> {
        self.texts(key)
            .iter()
            .filter_map(|text| text.parse().ok())
            .collect()
    }
}

pub(super) fn read_log(top: Reader<'_>) -> LogConfig {
    let log = top.at("log");
    let format = match log.text("format").as_str() {
        "json" => LogFormat::Json,
        _ => LogFormat::Text,
    };
    LogConfig {
        format,
        keep_days: log.count("keep_days"),
    }
}

/// One repository; `None` if a required value is not what it has to be, which was reported before.
pub(super) fn read_repository(alias: &str, node: &Node) -> Option<RepoConfig> {
    let all = Reader::of(node);
    let repo: crate::model::ids::RepoSlug = all.text("repo").parse().ok()?;
    let path = all.path("path");
    let worktree_dir = all
        .full_path("worktree_dir")
        .unwrap_or_else(|| beside(&path, &repo.name));
    Some(RepoConfig {
        alias: alias.to_owned(),
        base_branch: BranchName::new(all.text("base_branch")).ok(),
        branch_prefix: all.text("branch_prefix"),
        poll_interval: all.time("poll_interval"),
        question_file: all.path("question_file"),
        merge_method: read_merge_method(all),
        require_approval: read_approval(all.get("require_approval")),
        address_pr_reviews: all.switch("address_pr_reviews"),
        resolve_review_threads: all.switch("resolve_review_threads"),
        delete_branch_on_merge: all.switch("delete_branch_on_merge"),
        post_merge_ci: all.switch("post_merge_ci"),
        post_merge_ci_grace: all.time("post_merge_ci_grace"),
        ci_start_grace: all.time("ci_start_grace"),
        worktree_dir,
        worktree_setup: all.some_text("worktree_setup"),
        auto_resolve_conflicts: all.switch("auto_resolve_conflicts"),
        conflict_max_retries: all.count("conflict_max_retries"),
        clarification_auto_resume: all.switch("clarification_auto_resume"),
        auto_fix_ci: all.switch("auto_fix_ci"),
        ci_fix_max_retries: all.count("ci_fix_max_retries"),
        transient_error_patterns: read_patterns(all),
        transient_max_retries: all.count("transient_max_retries"),
        max_retries: all.count("max_retries"),
        budget: read_budget(all.at("budget")),
        issue_max_agent_runs: Some(all.count("issue_max_agent_runs")).filter(|cap| *cap > 0),
        max_parallel_issues: all.count("max_parallel_issues"),
        order: read_order(all),
        priorities: all.at("labels").texts("priority"),
        depends: all.switch("depends"),
        protected_paths: all.texts("protected_paths"),
        lock_ttl: all.time("lock_ttl"),
        event_db: all.some_text("event_db").map(PathBuf::from),
        activity_dir: all.path("activity_dir"),
        env: all.variables("env"),
        labels: read_labels(all),
        target: read_target(all.at("target")),
        claims: read_claims(all.at("claims")),
        lease: read_lease(all.at("lease")),
        trust: read_trust(all.at("trust")),
        agents: read_agents(all.at("agents")),
        verify_clocks: step_clocks(VERIFY_TIMEOUT),
        places: read_places(all.get("verify")),
        github: read_github(all.at("github")),
        repo,
        path,
    })
}

/// Where worktrees are made if nothing else is said.
pub(super) fn beside(clone: &Path, name: &str) -> PathBuf {
    clone
        .parent()
        .unwrap_or(clone)
        .join(format!("{name}-worktrees"))
}

fn read_merge_method(all: Reader<'_>) -> MergeMethod {
    match all.text("merge_method").as_str() {
        "merge" => MergeMethod::Merge,
        "rebase" => MergeMethod::Rebase,
        _ => MergeMethod::Squash,
    }
}

fn read_approval(node: &Node) -> ApprovalRule {
    match parse_switch(node) {
        Some(false) => ApprovalRule::None,
        Some(true) => ApprovalRule::GitHub,
        // Only `human` is left; the stricter reading, should that ever change.
        None => ApprovalRule::Human,
    }
}

fn read_order(all: Reader<'_>) -> IssueOrder {
    match all.text("order").as_str() {
        "oldest" => IssueOrder::Oldest,
        _ => IssueOrder::Priority,
    }
}

fn read_patterns(all: Reader<'_>) -> Vec<Regex> {
    let patterns = all.texts("transient_error_patterns");
    patterns
        .iter()
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
}

pub(super) fn read_labels(all: Reader<'_>) -> LabelNames {
    let (labels, claims) = (all.at("labels"), all.at("claims"));
    LabelNames {
        idle: labels.text("idle"),
        blocked: labels.text("blocked"),
        completed: labels.text("completed"),
        busy_prefix: labels.text("busy_prefix"),
        claim: claims.text("label"),
        hold: claims.text("hold_label"),
    }
}

fn read_target(target: Reader<'_>) -> Target {
    Target {
        labels: target.texts("labels"),
        assignee: Login::new(target.text("assignee")).ok(),
        milestone: target.some_text("milestone"),
    }
}

fn read_claims(claims: Reader<'_>) -> Claims {
    Claims {
        marker: claims.text("marker"),
        stale_window: claims.time("stale_window"),
    }
}

pub(super) fn read_lease(lease: Reader<'_>) -> LeaseConfig {
    let margins = lease
        .there("test_margins")
        .map_or_else(LeaseMargins::default, |margins| LeaseMargins {
            grace: margins.time("grace"),
            max_ahead: margins.time("max_ahead"),
            odd_ttl: margins.time("odd_ttl"),
        });
    LeaseConfig {
        namespace: lease.text("namespace"),
        ttl: lease.time("ttl"),
        margins,
    }
}

fn read_trust(trust: Reader<'_>) -> Trust {
    let associations = trust.texts("associations");
    Trust {
        associations: associations
            .iter()
            .filter_map(|name| parse_association(name))
            .collect(),
        logins: trust.ids("logins"),
        bots: trust.ids("bots"),
    }
}

fn read_budget(budget: Reader<'_>) -> Budget {
    let (tokens, usd) = (budget.at("tokens"), budget.at("usd"));
    let of = |key: &str| Allowance {
        tokens: tokens.whole(key),
        usd: Usd::from_dollars(usd.number(key)),
    };
    Budget {
        run: of("run"),
        issue: of("issue"),
        day: of("day"),
    }
}

fn read_agents(agents: Reader<'_>) -> Agents {
    Agents {
        implement: read_agent(agents.at("implement")),
        review: read_agent(agents.at("review")),
        simplify: agents.there("simplify").map(read_agent),
        sandbox: read_boxes("agents.sandbox", agents.at("sandbox")),
    }
}

fn read_agent(agent: Reader<'_>) -> AgentConfig {
    let github = match agent.text("github").as_str() {
        "inherit" => AgentGithub::Inherit,
        _ => AgentGithub::None,
    };
    let output = match agent.text("output").as_str() {
        "claude-json" => AgentFormat::ClaudeJson,
        "codex-json" => AgentFormat::CodexJson,
        _ => AgentFormat::Text,
    };

    let env_clear = agent.get("env_clear");
    let kept = || ENV_KEPT.iter().map(|&name| name.to_owned()).collect();
    AgentConfig {
        commands: agent.texts("command"),
        clocks: Clocks {
            startup: agent.time("startup_timeout"),
            idle: agent.time("idle_timeout"),
            total: agent.time("timeout"),
            completion_grace: agent.time("completion_grace"),
            kill_grace: agent.time("kill_grace"),
        },
        env: agent.variables("env"),
        env_remove: agent.texts("env_remove"),
        env_clear: match env_clear.list() {
            Some(_) => Some(agent.texts("env_clear")),
            None => (parse_switch(env_clear) == Some(true)).then(kept),
        },
        github,
        output,
    }
}

fn read_github(github: Reader<'_>) -> GithubConfig {
    GithubConfig {
        api_url: github.text("api_url").trim_end_matches('/').to_owned(),
        token_command: github.some_text("token_command"),
        write_spacing: github.time("write_spacing"),
    }
}
