//! The keys of the mappings inside a repository. Tables; no logic.

use super::{
    DAY, HOUR, Key, Kind, MANY, MONTH, Rule, VAST, YEAR, key, optional, required, section,
};

pub(super) const LABELS: &[Key] = &[
    key(
        "idle",
        Kind::Text(Rule::Label),
        "\"status: idle\"",
        "managed, and nobody works on it",
    ),
    key(
        "blocked",
        Kind::Text(Rule::Label),
        "\"status: blocked\"",
        "waits for a person",
    ),
    key(
        "completed",
        Kind::Text(Rule::Label),
        "\"status: completed\"",
        "finished",
    ),
    key(
        "busy_prefix",
        Kind::Text(Rule::Label),
        "\"status: busy-\"",
        "an agent works on it; its name follows",
    ),
    key(
        "priority",
        Kind::Texts(Rule::Label),
        "[\"priority: high\", \"priority: medium\", \"priority: low\"]",
        "the most urgent first; an issue without one stands in the middle",
    ),
];

pub(super) const TARGET: &[Key] = &[
    key(
        "labels",
        Kind::Texts(Rule::Label),
        "[]",
        "all of these labels",
    ),
    key(
        "assignee",
        Kind::Text(Rule::LoginOrEmpty),
        "\"\"",
        "this assignee",
    ),
    key(
        "milestone",
        Kind::Text(Rule::Any),
        "\"\"",
        "the milestone of this title",
    ),
];

pub(super) const CLAIMS: &[Key] = &[
    key(
        "label",
        Kind::Text(Rule::Label),
        "agent-claimed",
        "set while an issue is claimed",
    ),
    key(
        "hold_label",
        Kind::Text(Rule::Label),
        "do-not-dispatch",
        "an issue with it is left alone",
    ),
    key(
        "marker",
        Kind::Text(Rule::Marker),
        "claude-lock",
        "first word of the hidden claim comment",
    ),
    key(
        "stale_window",
        Kind::Time(1000, YEAR),
        "24h",
        "age from which a claim without a pull request is stale",
    ),
];

pub(super) const LEASE: &[Key] = &[
    key(
        "namespace",
        Kind::Text(Rule::Namespace),
        "leases",
        "leases are refs under `refs/<namespace>/`",
    ),
    // The lower end is that of tests and the demo; `read` asks for five minutes without `test_margins`.
    key(
        "ttl",
        Kind::Time(100, YEAR),
        "30m",
        "a lease that was not renewed for so long may be taken; 5m or more",
    ),
];

/// Not in the schema and not in the example: tests and the demo shrink ttl and margins together.
pub(in crate::config) const TEST_MARGINS: Key = optional("test_margins", MARGINS, "for tests");

const MARGINS: &[Key] = &[
    required(
        "grace",
        Kind::Time(0, YEAR),
        "past the ttl, before anybody may steal",
    ),
    required(
        "max_ahead",
        Kind::Time(0, YEAR),
        "a date further ahead is not believed",
    ),
    required(
        "odd_ttl",
        Kind::Time(0, YEAR),
        "time to live of an unreadable lease",
    ),
];

pub(super) const TRUST: &[Key] = &[
    key(
        "associations",
        Kind::Texts(Rule::Association),
        "[OWNER, MEMBER, COLLABORATOR]",
        "trusted by what they are to the repository",
    ),
    key("logins", Kind::Texts(Rule::Login), "[]", "trusted by name"),
    key(
        "bots",
        Kind::Texts(Rule::Login),
        "[]",
        "bots whose comments count, with their `[bot]`",
    ),
];

pub(super) const AGENTS: &[Key] = &[
    section("implement", AGENT, "does the tasks"),
    section("review", AGENT, "reviews with a fresh context"),
    optional(
        "simplify",
        AGENT,
        "makes the change smaller; leave it out to skip the phase",
    ),
    section(
        "sandbox",
        &AGENT_SANDBOX,
        "where agents run: on the host, or each run in a container, on a clone of its worktree",
    ),
];

const AGENT: &[Key] = &[
    required(
        "command",
        Kind::Commands,
        "shell command with `{prompt}`, `{prompt_file}` or `{stdin}`, and `{resume}` where it may go on with its \
         session; a list is tried in order",
    ),
    key(
        "startup_timeout",
        Kind::Time(1000, MONTH),
        "10m",
        "without any output since the start",
    ),
    key(
        "idle_timeout",
        Kind::Time(1000, MONTH),
        "15m",
        "without any output since the last",
    ),
    key("timeout", Kind::Time(1000, MONTH), "2h", "in all"),
    key(
        "completion_grace",
        Kind::Time(0, DAY),
        "60s",
        "from its exit until its output must be closed",
    ),
    key(
        "kill_grace",
        Kind::Time(0, DAY),
        "10s",
        "from asking it to end to killing it",
    ),
    key("env", Kind::Variables, "{}", "variables to set"),
    key(
        "env_remove",
        Kind::Texts(Rule::Variable),
        "[GITHUB_TOKEN, GH_TOKEN, GITHUB_ENTERPRISE_TOKEN, GH_ENTERPRISE_TOKEN]",
        "variables to take away",
    ),
    key(
        "env_clear",
        Kind::EnvClear,
        "false",
        "start with an empty environment but for a small set (`true`) or these names (a list)",
    ),
    key(
        "github",
        Kind::Word(&["none", "inherit"]),
        "none",
        "`inherit`: the agent sees your GitHub tokens and may push",
    ),
    key(
        "output",
        Kind::Word(&["text", "claude-json", "codex-json"]),
        "text",
        "how its output reads; with JSON ghswarm knows what it cost, its limits and its session",
    ),
];

const SANDBOX: [Key; 13] = [
    key(
        "driver",
        Kind::Word(&["none", "docker"]),
        "none",
        "where steps run; `none`: on the host",
    ),
    key(
        "image",
        Kind::Text(Rule::Any),
        "\"\"",
        "the container's image; it has `/bin/sh`",
    ),
    key(
        "network",
        Kind::Word(&["default", "none"]),
        "default",
        "the container's network",
    ),
    key(
        "user",
        Kind::Text(Rule::BoxUser),
        "auto",
        "`auto`: whoever runs ghswarm, `uid:gid`, or empty for the image's own",
    ),
    key("env", Kind::Variables, "{}", "variables to set"),
    key(
        "env_passthrough",
        Kind::Texts(Rule::Variable),
        "[]",
        "variables to hand in",
    ),
    key(
        "volumes",
        Kind::Texts(Rule::Volume),
        "[]",
        "further mounts, `source:target` or `source:target:ro`",
    ),
    key(
        "isolate_dirs",
        Kind::Texts(Rule::Inside),
        "[]",
        "directories of the worktree that only the containers of the issue see",
    ),
    key(
        "memory",
        Kind::Text(Rule::Size),
        "\"\"",
        "memory limit, like `512m` or `2g`; empty: none",
    ),
    key("cpus", Kind::Number, "0", "limit of processors; 0: none"),
    key(
        "pids",
        Kind::Count(0, MANY),
        "0",
        "limit of processes; 0: none",
    ),
    key(
        "pull",
        Kind::Word(&["missing", "never", "always"]),
        "missing",
        "when the image is pulled",
    ),
    key(
        "timeout",
        Kind::Time(1000, MONTH),
        "2h",
        "time limit of a step",
    ),
];

/// Of agents, which have clocks of their own.
const AGENT_SANDBOX: [Key; 13] = {
    let mut keys = SANDBOX;
    let last = keys.len() - 1;
    keys[last] = keys[last].not_yet("each agent has its own `timeout`");
    keys
};

pub(super) const VERIFY: &[Key] = &[section("sandbox", &SANDBOX, "for all steps")];

pub(super) const VERIFY_ENTRY: &[Key] = &[
    required("path", Kind::Text(Rule::Inside), "the step's path"),
    section("sandbox", &SANDBOX, "for the steps of that path"),
    key(
        "mutex",
        Kind::Text(Rule::Any),
        "\"\"",
        "name of a machine-wide lock",
    )
    .not_yet("call `ghswarm mutex NAME -- COMMAND` in the step"),
];

pub(super) const BUDGET: &[Key] = &[
    section("tokens", TOKENS, "tokens, where the agent reports them"),
    section("usd", USD, "US dollars, where the agent reports them"),
];

const TOKENS: &[Key] = &[
    key("run", Kind::Count(0, VAST), "0", "of one run"),
    key("issue", Kind::Count(0, VAST), "0", "of one issue in all"),
    key(
        "day",
        Kind::Count(0, VAST),
        "0",
        "of all issues in one day (UTC) of this machine",
    ),
];

const USD: &[Key] = &[
    key("run", Kind::Number, "0", "of one run"),
    key("issue", Kind::Number, "0", "of one issue in all"),
    key(
        "day",
        Kind::Number,
        "0",
        "of all issues in one day (UTC) of this machine",
    ),
];

pub(super) const GITHUB: &[Key] = &[
    key(
        "api_url",
        Kind::Text(Rule::Url),
        "https://api.github.com",
        "base of the API; GitHub Enterprise: `https://HOST/api/v3`",
    ),
    key(
        "token_command",
        Kind::Text(Rule::Any),
        "\"\"",
        "shell command that prints a token, where GITHUB_TOKEN and GH_TOKEN are not set",
    ),
    key(
        "write_spacing",
        Kind::Time(0, HOUR),
        "1s",
        "pause between two writes",
    ),
    section("app", APP, "act as a GitHub App"),
];

const NO_APP: &str = "a token is used";

const APP: &[Key] = &[
    key("id", Kind::Count(0, VAST), "0", "the App's id").not_yet(NO_APP),
    key(
        "installation_id",
        Kind::Count(0, VAST),
        "0",
        "the installation's id",
    )
    .not_yet(NO_APP),
    key(
        "private_key",
        Kind::Text(Rule::PathOrOff),
        "\"\"",
        "file of the private key",
    )
    .not_yet(NO_APP),
];

const NOBODY: &str = "comments and `ghswarm status` tell it";

pub(super) const NOTIFY: &[Key] = &[
    key(
        "slack_webhook_url",
        Kind::Text(Rule::Secret),
        "\"\"",
        "Slack's incoming webhook",
    )
    .not_yet(NOBODY),
    key(
        "slack_mention",
        Kind::Text(Rule::Any),
        "\"\"",
        "whom to mention",
    )
    .not_yet(NOBODY),
    key("macos", Kind::Switch, "false", "desktop notifications").not_yet(NOBODY),
    key(
        "on_completed",
        Kind::Switch,
        "false",
        "tell of finished issues too",
    )
    .not_yet(NOBODY),
    key(
        "command",
        Kind::Text(Rule::Any),
        "\"\"",
        "shell command that is given the notification",
    )
    .not_yet(NOBODY),
];
