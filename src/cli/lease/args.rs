//! The arguments of `ghswarm lease`: the verbs and flags of gh-issue-lease.

use clap::Subcommand;

use crate::model::ids::IssueNumber;

const AFTER_HELP: &str = "\
AGENT_ID names who holds a lease: give each agent its own; its children inherit it.

Exit status: 0 done, won, or degraded (GitHub cannot be asked: go on without a lease); 1 held by
another; 2 wrong usage; 3 AGENT_ID is not set; 4 the repository cannot be leased in; 10 (next) the
queue is drained. Hooks always end with 0.

--json prints `verb` and `outcome` (won, held, renewed, released, nothing, drained, allowed, blocked,
degraded, refused, no_identity) and what belongs to it: `issue`, `title`, `holder`, `stolen_from`,
`leases`, `reaped`, `reason`.

Variables: AGENT_ID, AGENT_LEASE_TTL_MIN (240), ISSUE_LEASE_NAMESPACE (leases),
GH_ISSUE_LEASE_MAX_RETRY, GH_REPO, GH_HOST, GITHUB_API_URL, GITHUB_TOKEN or GH_TOKEN.";

/// Options of `lease`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct LeaseOptions {
    /// In this repository instead of the one around
    #[arg(short = 'R', long, global = true, value_name = "[HOST/]OWNER/REPO")]
    pub repo: Option<String>,
    /// Print one JSON object instead of words
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do with a lease.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Lease an issue; print `won`, or exit with 1 if another holds it
    Claim {
        /// The issue's number
        #[arg(value_name = "N")]
        issue: IssueNumber,
    },
    /// Lease the oldest open issue nobody holds, and print its number alone
    Next(NextOptions),
    /// Show the leases you hold
    Mine,
    /// Give a lease of yours back
    Release {
        /// The issue's number
        #[arg(value_name = "N")]
        issue: IssueNumber,
    },
    /// Stamp a lease's clock again, for work that outlasts it
    Renew {
        /// The issue's number
        #[arg(value_name = "N")]
        issue: IssueNumber,
    },
    /// Show who holds what
    Status {
        /// Only this issue
        #[arg(value_name = "N")]
        issue: Option<IssueNumber>,
    },
    /// Delete leases that are expired or whose issue is closed
    Reap,
    /// Exit with 1 if another holds the issue of a branch (for a pre-push hook)
    GuardPush {
        /// The branch
        #[arg(value_name = "BRANCH")]
        branch: String,
    },
    /// Lease or renew the issue of the branch that is checked out (for any tool)
    Hook,
    /// The same as Codex's `notify` program
    CodexHook {
        /// What Codex passes: one JSON object
        #[arg(value_name = "EVENT", allow_hyphen_values = true)]
        event: Vec<String>,
    },
    /// The same as a hook of Claude Code, which passes an event on standard input
    ClaudeHook {
        /// Deny edits of an issue that another holds, instead of warning
        #[arg(long)]
        block: bool,
    },
}

/// Options of `lease next`.
#[derive(Debug, clap::Args)]
pub struct NextOptions {
    /// Only issues with this label; several: with all of them
    #[arg(long, value_name = "LABEL")]
    pub label: Vec<String>,
    /// Only issues of the milestone of this number
    #[arg(long, value_name = "N")]
    pub milestone: Option<u64>,
    /// Only issues nobody is assigned to
    #[arg(long)]
    pub unassigned: bool,
    /// Leave out issues that an open one blocks
    #[arg(long)]
    pub skip_blocked: bool,
    /// Minutes until others may have it (default: `AGENT_LEASE_TTL_MIN`)
    #[arg(long, value_name = "MIN", value_parser = clap::value_parser!(u64).range(1..=1440))]
    pub ttl: Option<u64>,
}
