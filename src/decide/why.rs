//! Why something is done or waited for. `status`, `explain`, logs, comments and tests use this value.

mod words;

use std::fmt;

use serde::Serialize;

use crate::model::blockers::Blocker;
use crate::model::ids::{IssueNumber, Login, PrNumber, Sha, Timestamp};
use crate::model::run::{RunEnd, RunKey, RunKind};
use crate::model::state::BlockedReason;

use words::{circle, clock, day};

/// The reason of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Why {
    // ── nothing to do with us ────────────────────────────────────────────────────────────────────
    /// The issue is not there any more.
    IssueGone,
    /// Somebody closed the issue.
    IssueClosed,
    /// No status label: not ours to touch.
    NotManaged,
    /// The hold label stands.
    OnHold,
    /// A person says it is completed.
    CompletedByPerson,
    /// A newer ghswarm wrote the state.
    NewerVersion {
        /// Its major version.
        version: u64,
    },
    /// The branch prefix and the number do not make a branch name.
    BadBranchName,
    /// The repository cannot be worked on.
    RepositoryUnusable {
        /// `repository_empty`, `repository_archived`, `no_contents_write`, `base_missing`.
        reason: String,
    },

    // ── waiting for somebody else ────────────────────────────────────────────────────────────────
    /// It is blocked and waits for a person.
    Blocked {
        /// Reason code.
        reason: BlockedReason,
        /// For people.
        detail: String,
    },
    /// A person set the blocked label before any work.
    BlockedByPerson,
    /// Another claim holds the lease.
    ClaimedElsewhere {
        /// Who, as far as the lease says.
        holder: String,
        /// When it may be taken over.
        expires: Timestamp,
    },
    /// A lease that cannot be read, or whose time cannot be believed.
    OddLease {
        /// When it may be taken over.
        expires: Timestamp,
    },
    /// Every slot of the repository is taken.
    NoSlot {
        /// How many there are.
        slots: u32,
    },
    /// What it depends on is open.
    WaitsOn {
        /// All of it.
        blockers: Vec<Blocker>,
    },
    /// It waits for itself, over other issues.
    DependencyCycle {
        /// The issues, this one first, each waiting for the next and the last for this one.
        issues: Vec<IssueNumber>,
    },
    /// Somebody else is assigned.
    AssignedTo {
        /// Who.
        login: Login,
    },
    /// A pull request for the issue that is not ours is open.
    OtherPullRequest {
        /// Its number.
        pr: PrNumber,
        /// Where.
        url: String,
    },
    /// A comment claims the issue for another session.
    ClaimedByComment {
        /// Who.
        operator: String,
        /// Since when.
        since: Timestamp,
        /// The comment.
        url: String,
    },
    /// This very home claims it by hand.
    ClaimedByHand {
        /// Since when.
        since: Timestamp,
        /// Where the work is.
        worktree: String,
    },
    /// A busy label without any lease.
    BusyLabel {
        /// Which.
        label: String,
    },
    /// `wait_until` is not reached.
    Backoff {
        /// Until when.
        until: Timestamp,
        /// What it waits out, where that is known.
        what: Option<String>,
    },
    /// Every agent of a phase waits for the end of its usage limit.
    AgentPaused {
        /// Which agent.
        kind: RunKind,
        /// Until the first of them is over.
        until: Timestamp,
    },
    /// What agents may cost in a day on this machine is spent.
    DayBudgetSpent {
        /// The next day.
        until: Timestamp,
        /// Of how much.
        words: String,
    },
    /// It failed here, and is left alone for a while before the next try.
    LocalTrouble {
        /// Until when, by this machine's clock.
        until: Timestamp,
        /// How often it failed in a row.
        times: u32,
        /// What failed, for people.
        text: String,
    },
    /// The run goes on.
    RunGoing {
        /// Which.
        run: RunKey,
        /// Since when.
        since: Timestamp,
        /// Stopped until the lease can be renewed.
        frozen: bool,
    },
    /// The containers that its steps run in cannot be had.
    SandboxUnavailable {
        /// What is missing, and what to do.
        trouble: String,
    },
    /// Something local needs a person before the next run.
    Quarantined {
        /// The run after which something stayed alive.
        run: RunKey,
    },
    /// Checks are not finished.
    ChecksPending {
        /// Finished ones.
        done: usize,
        /// All.
        total: usize,
        /// At which commit.
        sha: Sha,
    },
    /// No check appeared yet.
    NoChecksYet {
        /// At which commit.
        sha: Sha,
    },
    /// Required checks did not begin, and nothing else runs.
    ChecksMissing {
        /// Which.
        names: Vec<String>,
        /// At which commit.
        sha: Sha,
    },
    /// What the base asks for has not been read.
    RulesUnknown,
    /// How the base's tip stands has not been read.
    BaseUnknown,
    /// The base branch is red.
    BaseRed {
        /// The red checks.
        names: Vec<String>,
        /// Its tip.
        sha: Sha,
    },
    /// The failed jobs are to run again, and GitHub shows no sign of it yet.
    RerunAsked {
        /// At which commit.
        sha: Sha,
    },
    /// It is in the merge queue.
    Queued {
        /// Its place, from 1.
        position: u64,
    },
    /// GitHub shows the pull request at a head that its branch has left.
    PrLags {
        /// That head.
        sha: Sha,
    },
    /// GitHub has not computed whether it merges.
    MergeabilityUnknown,
    /// The pull request is a draft.
    Draft {
        /// Which.
        pr: PrNumber,
    },
    /// Nobody who may has approved.
    ApprovalMissing {
        /// Which.
        pr: PrNumber,
        /// The head to approve.
        sha: Sha,
    },

    // ── doing ────────────────────────────────────────────────────────────────────────────────────
    /// The issue is free and there is something to do.
    FreeToClaim,
    /// The lease's time is past.
    LeaseExpired {
        /// Who held it.
        holder: String,
    },
    /// Our claim lost its lease.
    ClaimLost,
    /// Our claim never got its lease, or a person deleted it.
    ClaimWithoutLease,
    /// A claim by hand of this home is old, and no pull request is open.
    HandClaimStale {
        /// Since when it stood.
        since: Timestamp,
    },
    /// The lease gets old.
    LeaseAges,
    /// Our claim carries no slot, and a run needs one.
    SlotNeeded,
    /// Nothing is to be done under this claim for now.
    NothingUnderClaim,
    /// Assignee, labels and checkpoint are to say that we work on it.
    ShowClaim,
    /// The checkpoint is behind.
    CheckpointBehind,
    /// The state block was damaged or missing, and is restored.
    StateRestored,
    /// The labels do not say what is.
    LabelsDiffer,
    /// It has to be said once.
    Announce,
    /// A step of the phase.
    Next {
        /// What, as a fragment.
        what: &'static str,
    },
    /// A run ended and its result is used.
    RunEnded {
        /// Which kind.
        kind: RunKind,
        /// Did it succeed?
        ok: bool,
        /// How it ended.
        end: RunEnd,
    },
    /// Nothing more can be done without a person.
    Blocking {
        /// Reason code.
        reason: BlockedReason,
    },
    /// A trusted person wants it to go on.
    Resumed,
    /// A person moved the branch.
    HeadMoved {
        /// Where to.
        sha: Sha,
    },
    /// The pull request is merged.
    Merged {
        /// The commit.
        sha: Sha,
    },
    /// The rules ask for a branch that contains its base.
    BranchBehind,
    /// Jobs failed, for the first time at this head.
    JobsFailed {
        /// At which commit.
        sha: Sha,
    },
    /// The agent is to mend red checks.
    ChecksRed {
        /// Which.
        names: Vec<String>,
        /// At which commit.
        sha: Sha,
    },
    /// What made the checks red was mended on the base.
    BaseMended,
    /// Everything is green and approved.
    ReadyToMerge,
    /// It is over.
    Done,
}

impl Why {
    /// The code, as JSON and `explain` show it.
    pub fn code(&self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|value| {
                value
                    .get("why")
                    .and_then(|why| why.as_str().map(str::to_owned))
            })
            .unwrap_or_default()
    }
}

impl fmt::Display for Why {
    // One exhaustive match
    #[expect(clippy::too_many_lines, reason = "a sentence for each reason")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IssueGone => f.write_str("the issue is gone"),
            Self::IssueClosed => f.write_str("the issue is closed"),
            Self::NotManaged => f.write_str("no status label: not managed"),
            Self::OnHold => f.write_str("the hold label stands"),
            Self::CompletedByPerson => f.write_str("a person says it is completed"),
            Self::NewerVersion { version } => {
                write!(
                    f,
                    "its state was written by a newer ghswarm (format {version})"
                )
            }
            Self::BadBranchName => f.write_str("`branch_prefix` does not make a branch name"),
            Self::RepositoryUnusable { reason } => write!(f, "the repository: {reason}"),
            Self::Blocked { reason, detail } => {
                write!(f, "blocked as {}: {detail}", reason.code())
            }
            Self::BlockedByPerson => f.write_str("the blocked label stands"),
            Self::ClaimedElsewhere { holder, expires } => {
                write!(
                    f,
                    "claimed by {holder}, may be taken over at {}",
                    clock(*expires)
                )
            }
            Self::OddLease { expires } => {
                write!(
                    f,
                    "its lease cannot be read, may be taken over at {}",
                    clock(*expires)
                )
            }
            Self::NoSlot { slots } => {
                write!(
                    f,
                    "all slots of the repository are taken (max_parallel_issues: {slots})"
                )
            }
            Self::WaitsOn { blockers } => {
                let blockers: Vec<String> = blockers.iter().map(ToString::to_string).collect();
                write!(f, "waiting for {}", blockers.join(", "))
            }
            Self::DependencyCycle { issues } => circle(f, issues),
            Self::AssignedTo { login } => write!(f, "assigned to @{login}"),
            Self::OtherPullRequest { pr, url } => {
                write!(f, "pull request #{pr} for it is open: {url}")
            }
            Self::ClaimedByComment {
                operator,
                since,
                url,
            } => write!(f, "claimed by @{operator} since {} in {url}", day(*since)),
            Self::ClaimedByHand { since, worktree } => write!(
                f,
                "claimed by hand on this machine since {}, worktree `{worktree}`",
                day(*since)
            ),
            Self::HandClaimStale { since } => write!(
                f,
                "the claim by hand of {} is stale: no pull request is open",
                day(*since)
            ),
            Self::BusyLabel { label } => write!(f, "`{label}` stands without a lease"),
            Self::Backoff { until, what } => {
                write!(f, "waiting until {}", clock(*until))?;
                match what {
                    Some(what) => write!(f, ": {what}"),
                    None => Ok(()),
                }
            }
            Self::AgentPaused { kind, until } => write!(
                f,
                "every {kind} agent is at its usage limit until {}",
                day(*until)
            ),
            Self::DayBudgetSpent { until, words } => {
                write!(f, "{words}; it goes on at {}", day(*until))
            }
            Self::LocalTrouble { until, times, text } => {
                let until = clock(*until);
                match times {
                    0 | 1 => write!(f, "failed, left alone until {until}: {text}"),
                    _ => write!(
                        f,
                        "failed {times} times in a row, left alone until {until}: {text}"
                    ),
                }
            }
            Self::RunGoing { run, since, frozen } => {
                let how = if *frozen { "is paused" } else { "runs" };
                write!(f, "{} {how} since {}", run.kind, clock(*since))
            }
            Self::SandboxUnavailable { trouble } => write!(f, "no container to run in: {trouble}"),
            Self::Quarantined { run } => write!(f, "something of run {run} is still alive"),
            Self::ChecksPending { done, total, sha } => {
                write!(f, "{done} of {total} checks done at {}", sha.short())
            }
            Self::NoChecksYet { sha } => write!(f, "no check yet at {}", sha.short()),
            Self::ChecksMissing { names, sha } => {
                let names = names.join(", ");
                write!(
                    f,
                    "required checks have not begun at {}: {names}",
                    sha.short()
                )
            }
            Self::RulesUnknown => f.write_str("the base's rules have to be read"),
            Self::BaseUnknown => f.write_str("the base's checks have to be read"),
            Self::BaseRed { names, sha } => {
                write!(
                    f,
                    "the base is red at {}: {}",
                    sha.short(),
                    names.join(", ")
                )
            }
            Self::RerunAsked { sha } => {
                write!(f, "the failed jobs run again at {}", sha.short())
            }
            Self::Queued { position } => {
                write!(f, "in the merge queue, place {position}")
            }
            Self::PrLags { sha } => {
                write!(f, "GitHub still shows the pull request at {}", sha.short())
            }
            Self::JobsFailed { sha } => write!(f, "jobs failed at {}", sha.short()),
            Self::ChecksRed { names, sha } => {
                write!(f, "red at {}: {}", sha.short(), names.join(", "))
            }
            Self::BaseMended => f.write_str("the base is mended"),
            Self::MergeabilityUnknown => f.write_str("GitHub computes whether it merges"),
            Self::Draft { pr } => write!(f, "pull request #{pr} is a draft"),
            Self::ApprovalMissing { pr, sha } => {
                write!(f, "approval of #{pr} at {} is missing", sha.short())
            }
            Self::FreeToClaim => f.write_str("free"),
            Self::LeaseExpired { holder } => write!(f, "the lease of {holder} is expired"),
            Self::ClaimLost => f.write_str("another claim holds the lease"),
            Self::ClaimWithoutLease => f.write_str("our claim has no lease"),
            Self::LeaseAges => f.write_str("the lease gets old"),
            Self::SlotNeeded => f.write_str("a run needs a slot"),
            Self::NothingUnderClaim => f.write_str("nothing to do under the claim"),
            Self::ShowClaim => f.write_str("the claim is to be seen"),
            Self::CheckpointBehind => f.write_str("the checkpoint is behind"),
            Self::StateRestored => f.write_str("the state is restored"),
            Self::LabelsDiffer => f.write_str("the labels say something else"),
            Self::Announce => f.write_str("it has to be said"),
            Self::Next { what } => f.write_str(what),
            Self::RunEnded { kind, ok: true, .. } => write!(f, "{kind} succeeded"),
            Self::RunEnded {
                kind,
                ok: false,
                end: RunEnd::Exited,
            } => write!(f, "{kind} failed"),
            Self::RunEnded { kind, end, .. } => write!(f, "{kind} failed ({})", end.words()),
            Self::Blocking { reason } => write!(f, "{}", reason.code()),
            Self::Resumed => f.write_str("resumed"),
            Self::HeadMoved { sha } => write!(f, "the branch moved to {}", sha.short()),
            Self::Merged { sha } => write!(f, "merged as {}", sha.short()),
            Self::BranchBehind => f.write_str("its branch is behind the base"),
            Self::ReadyToMerge => f.write_str("green and approved"),
            Self::Done => f.write_str("done"),
        }
    }
}
