//! The keys of `defaults` and of each repository. A table; no logic.

use super::nested::{
    AGENTS, BUDGET, CLAIMS, GITHUB, LABELS, LEASE, NOTIFY, TARGET, TRUST, VERIFY, VERIFY_ENTRY,
};
use super::{DAY, Key, Kind, MONTH, RETRIES, Rule, YEAR, key, required, section};

/// Keys of `defaults` and of each repository.
pub(in crate::config) const REPOSITORY: &[Key] = &[
    required("repo", Kind::Text(Rule::Slug), "`owner/name` on GitHub"),
    required(
        "path",
        Kind::Text(Rule::Path),
        "your clone of it; ghswarm works in worktrees beside it",
    ),
    key(
        "base_branch",
        Kind::Text(Rule::BranchOrEmpty),
        "\"\"",
        "pull requests go here; empty: ask GitHub for the default branch",
    ),
    key(
        "branch_prefix",
        Kind::Text(Rule::BranchPrefix),
        "issue-",
        "the issue's number follows",
    ),
    key(
        "poll_interval",
        Kind::Time(100, DAY),
        "60",
        "seconds between two looks at GitHub",
    ),
    key(
        "question_file",
        Kind::Text(Rule::QuestionFile),
        ".agent_question.md",
        "an agent asks by writing this file in the worktree",
    ),
    key(
        "merge_method",
        Kind::Word(&["squash", "merge", "rebase"]),
        "squash",
        "how a pull request is merged",
    ),
    key(
        "require_approval",
        Kind::Approval,
        "true",
        "`false`: none; `true`: GitHub's rule; `human`: one by a person besides",
    ),
    key(
        "address_pr_reviews",
        Kind::Switch,
        "true",
        "act on trusted review comments; until that exists they block, with the reason",
    )
    .not_yet("review comments block"),
    key(
        "resolve_review_threads",
        Kind::Switch,
        "true",
        "resolve the threads that were acted on",
    )
    .not_yet("review comments block"),
    key(
        "delete_branch_on_merge",
        Kind::Switch,
        "true",
        "delete our branch once its pull request is merged",
    ),
    key(
        "post_merge_ci",
        Kind::Switch,
        "true",
        "wait for the checks of the merge commit before an issue is closed",
    ),
    key(
        "post_merge_ci_grace",
        Kind::Time(0, MONTH),
        "180",
        "seconds the merge commit's checks may take to appear",
    ),
    key(
        "ci_start_grace",
        Kind::Time(0, MONTH),
        "180",
        "seconds the pull request's checks may take to appear",
    ),
    key(
        "worktree_dir",
        Kind::Text(Rule::PathOrOff),
        "\"\"",
        "where worktrees are made; empty: `../<repo>-worktrees` beside the clone",
    ),
    key(
        "worktree_setup",
        Kind::Text(Rule::Any),
        "\"\"",
        "shell command run once in a new worktree",
    ),
    key(
        "auto_resolve_conflicts",
        Kind::Switch,
        "true",
        "merge the base and let the agent resolve; until that exists conflicts block, with the reason",
    )
    .not_yet("conflicts block"),
    key(
        "conflict_max_retries",
        Kind::Count(0, RETRIES),
        "3",
        "tries at a conflict (see above)",
    )
    .not_yet("conflicts block"),
    key(
        "clarification_auto_resume",
        Kind::Switch,
        "true",
        "a comment of a trusted person after an agent's question is the answer, and the work goes on; else it \
         takes the idle label or `ghswarm resume`",
    ),
    key(
        "auto_fix_ci",
        Kind::Switch,
        "true",
        "let the agent mend checks that are red twice, and not on the base as well; else they block",
    ),
    key(
        "ci_fix_max_retries",
        Kind::Count(0, RETRIES),
        "3",
        "fixes of red checks by the agent, an issue, before they block; each is reviewed and verified, too",
    ),
    key(
        "transient_error_patterns",
        Kind::Texts(Rule::Pattern),
        "[]",
        "regular expressions; an agent that fails with such an output is tried again later",
    ),
    key(
        "transient_max_retries",
        Kind::Count(0, RETRIES),
        "5",
        "tries again, each later than the one before, when an agent's server or network fails",
    ),
    key(
        "max_retries",
        Kind::Count(0, RETRIES),
        "3",
        "tries again at one phase, after the first one, before the issue is blocked",
    ),
    key(
        "issue_max_agent_runs",
        Kind::Count(0, 10_000),
        "10",
        "agent runs an issue may use in all; 0: no cap",
    ),
    key(
        "max_parallel_issues",
        Kind::Count(1, 100),
        "1",
        "agents at work on the repository at once, over all machines",
    ),
    key(
        "order",
        Kind::Word(&["priority", "oldest"]),
        "priority",
        "which issue comes first: by `labels.priority`, then the oldest; or just the oldest",
    ),
    key(
        "depends",
        Kind::Switch,
        "true",
        "an issue waits until those that it depends on are closed",
    ),
    key(
        "protected_paths",
        Kind::Texts(Rule::Glob),
        "[\".github/workflows/**\"]",
        "a diff that touches these is refused",
    ),
    key(
        "lock",
        Kind::Word(&["lease", "label"]),
        "lease",
        "what keeps two machines apart",
    )
    .not_yet("issues are locked by leases"),
    key(
        "lock_ttl",
        Kind::Time(60_000, YEAR),
        "14400",
        "seconds after which a busy label without a lease is stale",
    ),
    key(
        "event_db",
        Kind::Text(Rule::PathOrOff),
        "~/.ghswarm/events.db",
        "history of events; empty: off",
    ),
    key(
        "activity_dir",
        Kind::Text(Rule::Path),
        "~/.ghswarm/activity",
        "what each agent is doing, as files",
    )
    .not_yet("see `ghswarm status` and `ghswarm logs`"),
    key(
        "env",
        Kind::Variables,
        "{}",
        "variables for git and the GitHub calls",
    ),
    section("labels", LABELS, "names of the status labels"),
    section(
        "target",
        TARGET,
        "which issues are worked on, of those with a status label",
    ),
    section("claims", CLAIMS, "what people see of a claim"),
    section("lease", LEASE, "the git refs that lock issues"),
    section("trust", TRUST, "whose words count"),
    section("agents", AGENTS, "the coding agents"),
    Key {
        name: "verify",
        kind: Kind::Verify(VERIFY, VERIFY_ENTRY),
        default: None,
        about: "where verify steps run: one `sandbox` for all, or a list of `path` and `sandbox`",
        not_yet: None,
    },
    section("budget", BUDGET, "what may be spent; 0: no cap"),
    section("github", GITHUB, "how GitHub is reached"),
    section("notify", NOTIFY, "who is told"),
];
