//! The arguments. Help texts are imperative.

use std::ffi::OsString;
use std::path::PathBuf;

use chrono::TimeDelta;
use clap::{Parser, Subcommand};

use super::completions::CompletionsOptions;
use super::hooks::HooksOptions;
use super::lease::LeaseOptions;
use super::manual::ManOptions;
use super::skills::SkillsOptions;
use super::unit::ServiceOptions;
use crate::model::ids::{IssueNumber, PrNumber};
use crate::model::run::RunKey;

const AFTER_HELP: &str = "\
Exit status: 0 done, 1 finished but an issue is blocked, 2 wrong usage, 3 wrong configuration,
4 GitHub, git, a program or a file failed, 70 a bug of ghswarm, 130 and 143 ended by a signal.

Start with: ghswarm demo (needs nothing), then ghswarm init";

const AFTER_CLAIM: &str = "\
Exit status: 0 done (for check: free or ours), 1 somebody else has it, or it cannot be released so;
2 wrong usage, 3 wrong configuration, 4 GitHub, git or a file failed.

Needs no configuration: the repository is the one of the clone you are in, or --repo.
A claim is a lease (compare-and-swap on a git ref), the assignee, a label and a comment; status labels are
not touched. It is stale after 24 hours without an open pull request.";

/// Carry GitHub issues with a written spec, unattended, from spec to merged.
#[derive(Debug, Parser)]
#[command(name = "ghswarm", version, about, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Args {
    /// Use this configuration file
    #[arg(long, global = true, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// Say more (-v: each step, -vv: each request)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Step every issue of every repository until it waits, then exit
    Cycle(CycleOptions),
    /// Run cycles for ever
    Loop(LoopOptions),
    /// Work on one issue until it waits, whatever its turn
    Run(RunOptions),
    /// Say what stops or precedes the next step of an issue, and what would free it
    Explain(ExplainOptions),
    /// Show every managed issue: phase, holder, pull request, what it waits for
    Status(StatusOptions),
    /// Show what was done, oldest first
    History(HistoryOptions),
    /// Print the output of an issue's newest runs
    Logs(LogsOptions),
    /// Let a blocked issue go on
    Resume(ResumeOptions),
    /// Claim an issue by hand, so that nobody else starts on it; give it back when the work has ended
    #[command(after_help = AFTER_CLAIM)]
    Claim(ClaimOptions),
    /// Show every open issue with who has it, before you pick one
    Board(BoardOptions),
    /// Write a configuration file that explains itself
    Init(InitOptions),
    /// Look at the configuration
    Config(ConfigOptions),
    /// Check configuration, token, GitHub, labels, clone and programs
    Doctor(DoctorOptions),
    /// Lock an issue across agents and machines; works with gh-issue-lease
    Lease(LeaseOptions),
    /// Put the hooks of `lease` into git, Claude Code and Codex, or take them out
    Hooks(HooksOptions),
    /// Watch an issue go from spec to merged on this machine, without GitHub
    Demo(DemoOptions),
    /// Run a command while no other process of this machine runs one under the same name
    Mutex(MutexOptions),
    /// Keep the loop running: a systemd user unit on Linux, a launchd agent on macOS
    Service(ServiceOptions),
    /// Install the skills that teach coding agents these commands
    Skills(SkillsOptions),
    /// Print completions for a shell
    Completions(CompletionsOptions),
    /// Print a man page, or write all of them
    Man(ManOptions),
}

/// Options of `cycle`.
#[derive(Debug, clap::Args)]
pub struct CycleOptions {
    /// Go on until each issue is done, blocked or waits for people
    #[arg(long)]
    pub wait: bool,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Only this repository (its alias in the configuration)
    #[arg(long, value_name = "ALIAS")]
    pub repository: Option<String>,
}

/// Options of `loop`.
#[derive(Debug, clap::Args)]
pub struct LoopOptions {
    /// Only this repository (its alias in the configuration)
    #[arg(long, value_name = "ALIAS")]
    pub repository: Option<String>,
}

/// Options of `demo`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct DemoOptions {
    /// Use a copy of this clone instead of the example project
    #[arg(long, value_name = "PATH", requires_all = ["issue", "agent", "review"])]
    pub repo: Option<PathBuf>,
    /// The issue: first line is the title, the rest the body
    #[arg(long, value_name = "FILE", requires = "repo")]
    pub issue: Option<PathBuf>,
    /// The implementing agent's command
    #[arg(long, value_name = "COMMAND", requires = "repo")]
    pub agent: Option<String>,
    /// The reviewing agent's command
    #[arg(long, value_name = "COMMAND", requires = "repo")]
    pub review: Option<String>,
    /// What CI runs; without it, the issue's verify steps
    #[arg(long, value_name = "COMMAND", requires = "repo")]
    pub ci: Option<String>,
    /// Run the verify steps in a container of this image, which has `sh`
    #[arg(long, value_name = "IMAGE", num_args = 0..=1, default_missing_value = "busybox:1")]
    pub docker: Option<String>,
    /// Keep the demo's folder
    #[arg(long)]
    pub keep: bool,
    /// Set everything up and serve it until interrupted; you run `ghswarm cycle` yourself
    #[arg(long)]
    pub serve: bool,
    /// End when standard input does, and answer questions on it
    #[arg(long, hide = true, requires = "serve")]
    pub managed: bool,
    /// End with one line of JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Options of `run`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct RunOptions {
    /// The issue's number
    #[arg(value_name = "N")]
    pub issue: IssueNumber,
    /// Do one thing, then stop
    #[arg(long, conflicts_with_all = ["dry_run", "wait"])]
    pub step: bool,
    /// Let it go on if it is blocked
    #[arg(long)]
    pub resume: bool,
    /// Do not wait for a back-off or for other issues; no gate is skipped
    #[arg(long)]
    pub force: bool,
    /// Only say what would be done
    #[arg(long, conflicts_with = "wait")]
    pub dry_run: bool,
    /// Go on until it is done, blocked or waits for people
    #[arg(long)]
    pub wait: bool,
    /// The repository's alias, where the configuration has several
    #[arg(long, value_name = "ALIAS")]
    pub repository: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainOptions {
    /// The issue's number
    #[arg(value_name = "N")]
    pub issue: IssueNumber,
    /// The repository's alias, where the configuration has several
    #[arg(long, value_name = "ALIAS")]
    pub repository: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `status`.
#[derive(Debug, clap::Args)]
pub struct StatusOptions {
    /// Only this repository (its alias in the configuration)
    #[arg(long, value_name = "ALIAS")]
    pub repository: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `history`.
#[derive(Debug, clap::Args)]
pub struct HistoryOptions {
    /// Only this issue
    #[arg(long, value_name = "N")]
    pub issue: Option<IssueNumber>,
    /// Only the last while: a number with s, m, h or d
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    pub since: Option<TimeDelta>,
    /// At most so many, the newest
    #[arg(long, value_name = "K", default_value_t = 200)]
    pub limit: u32,
    /// Only this repository (its alias in the configuration)
    #[arg(long, value_name = "ALIAS")]
    pub repository: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Options of `logs`.
#[derive(Debug, clap::Args)]
pub struct LogsOptions {
    /// The issue's number
    #[arg(value_name = "N")]
    pub issue: IssueNumber,
    /// Go on until the run has ended
    #[arg(short, long)]
    pub follow: bool,
    /// List the runs instead, oldest first: key, when, how it ended, what ran
    #[arg(short, long, conflicts_with = "follow")]
    pub list: bool,
    /// This run, as `ghswarm logs N --list` names it: `N/EPOCH-SEQ-KIND`
    #[arg(long, value_name = "KEY")]
    pub run: Option<RunKey>,
    /// The repository's alias, where the configuration has several
    #[arg(long, value_name = "ALIAS")]
    pub repository: Option<String>,
}

/// Options of `resume`.
#[derive(Debug, clap::Args)]
pub struct ResumeOptions {
    /// The issue's number
    #[arg(value_name = "N")]
    pub issue: IssueNumber,
    /// Answer the agent's question; it is posted as a comment of yours
    #[arg(long, value_name = "TEXT")]
    pub answer: Option<String>,
    /// Grant the issue so many more agent runs
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub more_runs: u32,
    /// The repository's alias, where the configuration has several
    #[arg(long, value_name = "ALIAS")]
    pub repository: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `claim`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ClaimOptions {
    /// The issues
    #[arg(value_name = "N", required = true)]
    pub issues: Vec<IssueNumber>,
    /// Claim them as siblings of this one, which is claimed here already or among them
    #[arg(long, value_name = "LEAD")]
    pub bundle: Option<IssueNumber>,
    /// Displace a live claim, and tell its owner. On this machine its files are archived and its unpushed work is
    /// saved under a ref (both are printed). In another home everything stays where it is, worktree and unpushed
    /// commits too: nobody else can save them
    #[arg(long)]
    pub take_over: bool,
    /// The repository, where it is not the clone's you are in
    #[arg(short = 'R', long, value_name = "[HOST/]OWNER/REPO", global = true)]
    pub repo: Option<String>,
    /// Print it as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// What else to do with a claim
    #[command(subcommand)]
    pub action: Option<ClaimAction>,
}

/// What else to do with a claim.
#[derive(Debug, Subcommand)]
pub enum ClaimAction {
    /// Give a claim back and say how the work ended; a lead's bundle goes with it
    Release(ReleaseOptions),
    /// Say whether an issue is free, ours, or whose; 0 free or ours, 1 held
    Check {
        /// The issue's number
        #[arg(value_name = "N")]
        issue: IssueNumber,
    },
    /// Renew the lease of a claim, and nothing else
    Renew {
        /// The issue's number
        #[arg(value_name = "N")]
        issue: IssueNumber,
    },
    /// Reconcile claims whose pull request was merged or died, other operators' too once they are stale
    Sweep {
        /// Only say what would be done
        #[arg(long)]
        dry_run: bool,
    },
}

/// Options of `claim release`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["issue", "mine"]))]
#[command(group = clap::ArgGroup::new("how").required(true)
    .args(["merged", "abandoned", "blocked", "without_pr"]))]
pub struct ReleaseOptions {
    /// The issue's number
    #[arg(value_name = "N")]
    pub issue: Option<IssueNumber>,
    /// This pull request is merged: close the issue, keep the assignee as credit
    #[arg(long, value_name = "PR", conflicts_with = "mine")]
    pub merged: Option<PrNumber>,
    /// The work is given up: take off what the claim placed
    #[arg(long, value_name = "REASON", conflicts_with = "mine")]
    pub abandoned: Option<String>,
    /// Something else comes first: keep the assignee
    #[arg(long, value_name = "REASON", conflicts_with = "mine")]
    pub blocked: Option<String>,
    /// Every claim of this home
    #[arg(long, requires = "without_pr")]
    pub mine: bool,
    /// Only those whose issue has no open pull request
    #[arg(long, requires = "mine")]
    pub without_pr: bool,
}

/// Options of `board`.
#[derive(Debug, clap::Args)]
pub struct BoardOptions {
    /// Read it anew every 30 seconds until interrupted
    #[arg(long)]
    pub watch: bool,
    /// The repository, where it is not the clone's you are in
    #[arg(short = 'R', long, value_name = "[HOST/]OWNER/REPO")]
    pub repo: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `init`.
#[derive(Debug, clap::Args)]
pub struct InitOptions {
    /// Where to write it instead of `~/.ghswarm.yaml`
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
}

/// Options of `config`.
#[derive(Debug, clap::Args)]
pub struct ConfigOptions {
    /// What to do with it
    #[command(subcommand)]
    pub action: ConfigAction,
}

/// What to do with the configuration.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ConfigAction {
    /// Print every key that is in force and where it comes from; secrets are masked
    Show {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell everything that is wrong with the file
    Check {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of the file, for editors
    Schema,
}

/// Options of `doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorOptions {
    /// Mend what can be mended: create missing labels
    #[arg(long)]
    pub fix: bool,
    /// Try on GitHub by which ways refs can be moved, and remember the best for `cycle` and `loop`:
    /// writes throwaway refs under `refs/NAMESPACE/probe-*` and removes them again
    #[arg(long, conflicts_with = "fix")]
    pub probe: bool,
    /// Only this repository (its alias in the configuration)
    #[arg(long, value_name = "ALIAS")]
    pub repository: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

const MUTEX_HELP: &str = "\
Exit status: that of the command, 128+S if signal S ended it, 127 if it is not there, 126 if it
does not start; 2 and 4 if there is no lock.

The lock is a file that the kernel locks until this process ends, however it ends. The published
local-mutex and `flock -o -x` on the same file wait for it too. There is no timeout. The command may
take other locks with: sh \"$LOCAL_MUTEX_CLI\" NAME COMMAND [LOCK-DIR]
If this process is killed with KILL, its command runs on without the lock.";

/// Options of `mutex`.
#[derive(Debug, clap::Args)]
#[command(after_help = MUTEX_HELP, override_usage = "ghswarm mutex NAME [--lock-dir DIR] -- COMMAND...
       ghswarm mutex NAME [--lock-dir DIR] --script TEXT")]
pub struct MutexOptions {
    /// What is protected, such as `cocoapods`
    #[arg(value_name = "NAME", required_unless_present = "any_name")]
    pub name: Option<OsString>,
    /// The same for a name that begins with `-`: --name=-x
    #[arg(
        long = "name",
        value_name = "NAME",
        allow_hyphen_values = true,
        conflicts_with = "name"
    )]
    pub any_name: Option<OsString>,
    /// Folder of the lock files, an absolute path [default: `$LOCAL_MUTEX_LOCK_DIR`, else /tmp]
    #[arg(long, value_name = "DIR")]
    pub lock_dir: Option<PathBuf>,
    /// Run this text with /bin/sh
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub script: Option<OsString>,
    /// Run this program, without a shell
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "script")]
    pub command: Vec<OsString>,
}

/// `90s`, `30m`, `8h`, `2d`.
fn parse_time(text: &str) -> Result<TimeDelta, String> {
    let wrong = || "write a number and s, m, h or d, as in `8h`".to_owned();
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let number: i64 = text[..text.len() - unit.len_utf8()]
        .parse()
        .map_err(|_| wrong())?;
    let secs = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86400,
        _ => return Err(wrong()),
    };
    number
        .checked_mul(secs)
        .filter(|secs| *secs >= 0)
        .and_then(TimeDelta::try_seconds)
        .ok_or_else(wrong)
}
