//! From a checked tree to typed values. What does not fit was reported before, so a value that is
//! not what its key wants falls back to nothing here, and only sense across keys is still checked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;

use super::problem::{Fault, Position, Problems};
use super::sandbox::{VERIFY_TIMEOUT, check_places, read_places, step_clocks};
use super::settings::{
    AgentConfig, AgentGithub, AgentOutput, Agents, Claims, GithubConfig, IssueOrder, LeaseConfig,
    LogConfig, LogFormat, RepoConfig, Target, Trust,
};
use super::tree::{Map, Node, Origin, Value};
use super::values::{parse_association, parse_switch, parse_time, parse_whole};
use crate::decide::policy::ApprovalRule;
use crate::model::ids::{BranchName, IdError, Login};
use crate::model::labels::LabelNames;
use crate::model::lease::LeaseMargins;
use crate::model::pr::MergeMethod;
use crate::model::run::Clocks;

/// Leases of people: a renewal may fail twice before the ttl runs out, and GitHub may be away.
const LEASE_TTL_MIN: Duration = Duration::from_secs(5 * 60);

/// What a lease may say at most (protocol.md, section 4).
const LEASE_TTL_MAX: Duration = Duration::from_secs(1440 * 60);

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

    fn there(self, key: &str) -> Option<Self> {
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

    pub(super) fn switch(self, key: &str) -> bool {
        parse_switch(self.get(key)).unwrap_or_default()
    }

    pub(super) fn count(self, key: &str) -> u32 {
        parse_whole(self.get(key))
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or_default()
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
    let beside = || {
        path.parent()
            .unwrap_or(&path)
            .join(format!("{}-worktrees", repo.name))
    };
    let worktree_dir = all
        .some_text("worktree_dir")
        .map_or_else(beside, PathBuf::from);
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
        auto_fix_ci: all.switch("auto_fix_ci"),
        ci_fix_max_retries: all.count("ci_fix_max_retries"),
        transient_error_patterns: read_patterns(all),
        transient_max_retries: all.count("transient_max_retries"),
        max_retries: all.count("max_retries"),
        issue_max_agent_runs: Some(all.count("issue_max_agent_runs")).filter(|cap| *cap > 0),
        max_parallel_issues: all.count("max_parallel_issues"),
        order: read_order(all),
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

fn read_labels(all: Reader<'_>) -> LabelNames {
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

fn read_lease(lease: Reader<'_>) -> LeaseConfig {
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

fn read_agents(agents: Reader<'_>) -> Agents {
    Agents {
        implement: read_agent(agents.at("implement")),
        review: read_agent(agents.at("review")),
        simplify: agents.there("simplify").map(read_agent),
    }
}

fn read_agent(agent: Reader<'_>) -> AgentConfig {
    let github = match agent.text("github").as_str() {
        "inherit" => AgentGithub::Inherit,
        _ => AgentGithub::None,
    };
    let output = match agent.text("output").as_str() {
        "claude-json" => AgentOutput::ClaudeJson,
        "codex-json" => AgentOutput::CodexJson,
        _ => AgentOutput::Text,
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

/// Checks sense across keys. The places are those of the values, wherever they were written.
/// A run is frozen that long before its lease runs out; without any time left it would never run.
fn check_kill_grace(all: Reader<'_>, phase: &str, problems: &mut Problems) {
    let grace = all.at("agents").at(phase).get("kill_grace");
    let lease = read_lease(all.at("lease"));
    let needed = all.at("agents").at(phase).time("kill_grace") + lease.margins.grace;
    if needed < lease.ttl || grace.origin == Origin::Default {
        return;
    }
    let message =
        format!("`agents.{phase}.kill_grace` and the lease's margin leave nothing of `lease.ttl`");
    problems.add(
        grace.at,
        Fault::new(message).hint("make it shorter, or `lease.ttl` longer"),
    );
}

pub(super) fn check_sense(node: &Node, problems: &mut Problems) {
    let all = Reader::of(node);
    check_lease_ttl(all.at("lease"), problems);
    check_labels(all, problems);
    check_places(all.get("verify"), problems);
    for phase in ["implement", "review", "simplify"] {
        let agent = all.at("agents").at(phase);
        check_kill_grace(all, phase, problems);
        let idle = agent.get("idle_timeout");
        if agent.time("idle_timeout") > agent.time("timeout") && idle.origin != Origin::Default {
            let message = format!("`agents.{phase}.idle_timeout` is longer than its `timeout`");
            problems.add(
                idle.at,
                Fault::new(message).hint("make it shorter, or `timeout` longer"),
            );
        }
    }
}

fn check_lease_ttl(lease: Reader<'_>, problems: &mut Problems) {
    let node = lease.get("ttl");
    let Some(ttl) = parse_time(node) else { return };
    let fault = if ttl < LEASE_TTL_MIN && lease.there("test_margins").is_none() {
        Fault::new("`lease.ttl` must be 5 minutes or longer")
            .hint("a shorter lease is lost whenever GitHub is slow; the default is `30m`")
    } else if ttl > LEASE_TTL_MAX {
        Fault::new("`lease.ttl` must be 24 hours or shorter")
            .hint("a dead machine would hold its issue for so long; the default is `30m`")
    } else {
        return;
    };
    problems.add(node.at, fault);
}

/// Labels that can't be told apart would make an issue idle and blocked at once.
fn check_labels(all: Reader<'_>, problems: &mut Problems) {
    let (labels, claims) = (all.at("labels"), all.at("claims"));
    let named = [
        ("labels.idle", labels.get("idle")),
        ("labels.blocked", labels.get("blocked")),
        ("labels.completed", labels.get("completed")),
        ("claims.label", claims.get("label")),
        ("claims.hold_label", claims.get("hold_label")),
    ];
    let lower = |node: &Node| node.scalar().unwrap_or_default().to_lowercase();
    let prefix = lower(labels.get("busy_prefix"));
    for (index, (name, node)) in named.iter().enumerate() {
        // Not a text: reported before.
        if lower(node).is_empty() {
            continue;
        }
        let same = named[..index]
            .iter()
            .find(|(_, other)| lower(other) == lower(node));
        let message = if let Some((other, _)) = same {
            format!("`{name}` and `{other}` are the same label")
        } else if !prefix.is_empty() && lower(node).starts_with(&prefix) {
            format!("`{name}` begins with `labels.busy_prefix`")
        } else {
            continue;
        };
        // The one that somebody wrote is the one to change.
        let written = same
            .map(|(_, other)| other.at)
            .filter(|_| node.origin == Origin::Default);
        let fault = Fault::new(message).hint("give each a name of its own");
        problems.add(written.unwrap_or(node.at), fault);
    }
}
