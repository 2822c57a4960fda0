//! The state block's content: what was *intended*. Facts beat it (protocol.md, section 2).

use serde::{Deserialize, Serialize};

use super::ids::{BranchName, ClaimId, Epoch, IssueNumber, PrNumber, RepoId, Sha, Timestamp};
use super::money::{Spent, Usd};
use super::phase::Phase;
use super::run::RunKey;

/// Why an issue is blocked: the reason code of `blocked_reason`, of messages and of `explain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockedReason {
    /// No verify block: nobody wrote down what done means.
    SpecMissing,
    /// The verify block is not valid YAML or has another shape.
    VerifyInvalid,
    /// The state block is damaged and no checkpoint can restore it.
    StateInvalid,
    /// The text that would be acted on was written or changed by somebody who is not trusted.
    UntrustedText,
    /// A person's edit landed between our read and our write.
    EditConflict,
    /// The body with our block would exceed GitHub's limit.
    BodyTooLarge,
    /// There is no open task left to start with.
    NoTasks,
    /// Every command of the fallback chain failed, as often as `max_retries` allows.
    AgentFailed,
    /// The verify steps still fail after `max_retries` tries.
    VerifyFailed,
    /// The run changed nothing: an empty diff never becomes a pull request.
    NoChanges,
    /// The reviewer still asks for changes after `max_retries` rounds.
    ReviewFailed,
    /// The agent asked a question.
    Clarification,
    /// `worktree_setup` failed.
    SetupFailed,
    /// The worktree cannot be made or used.
    WorktreeFailed,
    /// git refused to commit the work (signing, disk, a lock).
    CommitFailed,
    /// The push was refused.
    PushRefused,
    /// GitHub refused to open the pull request.
    PrRefused,
    /// The diff holds what must not be pushed (secrets, protected paths, size).
    DiffRefused,
    /// A person closed the pull request without merging it.
    PrClosed,
    /// The pull request conflicts with its base.
    MergeConflict,
    /// A check is red.
    CiFailed,
    /// A check waits for a person (`action_required`), is stale or was cancelled.
    CiUnclear,
    /// No check ever appeared and no verify step succeeded at that head.
    NoChecks,
    /// A trusted reviewer asks for changes.
    ReviewFeedback,
    /// The merge queue let go of the pull request without merging it.
    MergeQueue,
    /// GitHub refused to merge.
    MergeRefused,
    /// The merge commit's checks are red.
    MergeCiFailed,
    /// A budget is used up: of runs, tokens or dollars.
    BudgetExhausted,
    /// No agent of the chain has an account that works: a login, a key or credit is missing.
    AgentAuth,
    /// A person set the blocked label.
    ByPerson,
}

impl BlockedReason {
    /// The code as it is written everywhere.
    pub fn code(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(code)) => code,
            _ => String::new(),
        }
    }
}

/// The state block. Field names are those of Python ghswarm, so that an issue can be taken over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IssueState {
    /// The format's major version.
    pub v: u32,
    /// The repository this state belongs to; another one's is no state at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_id: Option<RepoId>,
    /// The issue this state belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueNumber>,
    /// Goes up by one with each write.
    pub rev: u64,
    /// Epoch of the claim under which it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// The claim under which it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimId>,
    /// `blocked`, or the name of `next_action`: for people and for Python ghswarm.
    pub phase: String,
    /// The phase to go on with, also of a blocked issue.
    pub next_action: Phase,
    /// Why it is blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<BlockedReason>,
    /// When it was blocked (GitHub's clock): a status label set later is a person's order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_at: Option<Timestamp>,
    /// One or two sentences for people, redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_detail: Option<String>,
    /// Key of the comment that says so, so that it is posted once whatever happens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_key: Option<String>,
    /// When it was resumed last: an older blocked label is no order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<Timestamp>,
    /// The phase in which the agent asked: where an answer leads back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_in: Option<Phase>,
    /// The branch of the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_name: Option<BranchName>,
    /// Name of the agent of the last run (the first word of its command).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_agent: Option<String>,
    /// Number of the last reserved agent run under `epoch`.
    pub attempt: u32,
    /// The reserved run that has not been collected yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_run: Option<RunKey>,
    /// Failed tries in the present phase; reset by its success.
    pub iteration: u32,
    /// Rounds of review that asked for changes; reset when the review passes.
    pub review_rounds: u32,
    /// The agent's question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_questions: Option<String>,
    /// The pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pr_url: Option<String>,
    /// The pull request's number; believed only if its head and base are ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pr_number: Option<PrNumber>,
    /// The head that was verified, pushed and is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_sha: Option<Sha>,
    /// The head at which the verify steps (at least one) succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_sha: Option<Sha>,
    /// Fingerprint of the last failure of the verify steps; none once they succeeded. See `decide/fingerprint.rs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_verify: Option<String>,
    /// Since when `head_sha` is looked at (GitHub's clock): the start grace counts from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_since: Option<Timestamp>,
    /// The merge commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_commit_sha: Option<Sha>,
    /// When GitHub merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_at: Option<Timestamp>,
    /// We closed the issue: open again means that a person reopened it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// High-water mark of addressed reviews.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_review_addressed_at: Option<Timestamp>,
    /// Retries after transient errors; reset by success.
    pub transient_retries: u32,
    /// Conflict resolutions; reset by success.
    pub conflict_retries: u32,
    /// CI fixes; reset by success.
    pub ci_fix_retries: u32,
    /// The head whose failed jobs were run again: once each, an agent costs more than a flaky test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun_sha: Option<Sha>,
    /// When (GitHub's clock): what failed before says nothing about the second try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun_at: Option<Timestamp>,
    /// The head whose red checks were red on the base, too: once that is mended the branch needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_red_sha: Option<Sha>,
    /// The head that was seen in the merge queue: out of it and not merged means that it was evicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_sha: Option<Sha>,
    /// The red head that the implementing agent is to mend; none: it works on the tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci_fix_sha: Option<Sha>,
    /// Agent runs over the issue's whole life; raised before each run.
    pub total_agent_runs: u32,
    /// Extra runs granted by a trusted person on top of `issue_max_agent_runs`.
    pub extra_agent_runs: u32,
    /// Of all runs those that met a usage limit with a known end: they do not count against the cap.
    #[serde(skip_serializing_if = "is_zero")]
    pub limited_runs: u32,
    /// Tokens that its agents used, as far as they said.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// US dollars that its agents cost, as far as they said.
    #[serde(skip_serializing_if = "is_zero")]
    pub cost_usd: Usd,
    /// What was spent when a person granted more last: budgets count from here.
    #[serde(skip_serializing_if = "Spent::is_nothing")]
    pub granted_at: Spent,
    /// What the open run may cost at most, until it is known what it did cost.
    #[serde(skip_serializing_if = "Spent::is_nothing")]
    pub reserved: Spent,
    /// The last run whose cost is in `tokens` and `cost_usd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<RunKey>,
    /// Fingerprint of the last failed try of this phase: the same one twice in a row ends the retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// `host:pid` of the supervisor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_owner: Option<String>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_since: Option<Timestamp>,
    /// The reason that was notified last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_notified_reason: Option<String>,
    /// Not before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_until: Option<Timestamp>,
    /// Why it waits, for people; redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_reason: Option<String>,
    /// Id of the newest body edit seen before this write: what lies between it and ours was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_edit: Option<String>,
    /// Fields of a newer minor version or of Python ghswarm that this one does not know.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

impl Default for IssueState {
    fn default() -> Self {
        Self {
            v: 1,
            repo_id: None,
            issue: None,
            rev: 0,
            epoch: None,
            claim: None,
            phase: Phase::Start.name().to_owned(),
            next_action: Phase::Start,
            blocked_reason: None,
            blocked_at: None,
            blocked_detail: None,
            blocked_key: None,
            resumed_at: None,
            asked_in: None,
            branch_name: None,
            last_agent: None,
            attempt: 0,
            open_run: None,
            iteration: 0,
            review_rounds: 0,
            pending_questions: None,
            pr_url: None,
            pr_number: None,
            head_sha: None,
            verified_sha: None,
            failed_verify: None,
            head_since: None,
            merge_commit_sha: None,
            merged_at: None,
            closed: false,
            last_review_addressed_at: None,
            transient_retries: 0,
            conflict_retries: 0,
            ci_fix_retries: 0,
            rerun_sha: None,
            rerun_at: None,
            base_red_sha: None,
            queued_sha: None,
            ci_fix_sha: None,
            total_agent_runs: 0,
            extra_agent_runs: 0,
            limited_runs: 0,
            tokens: 0,
            cost_usd: Usd::default(),
            granted_at: Spent::default(),
            reserved: Spent::default(),
            settled: None,
            last_failure: None,
            busy_owner: None,
            busy_since: None,
            last_notified_reason: None,
            wait_until: None,
            wait_reason: None,
            base_edit: None,
            unknown: serde_json::Map::new(),
        }
    }
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl IssueState {
    /// What its agents cost so far, as far as that is settled.
    pub fn spent(&self) -> Spent {
        Spent {
            tokens: self.tokens,
            usd: self.cost_usd,
        }
    }

    /// What counts against the issue's budget: not what was spent before a person granted more.
    pub fn counted(&self) -> Spent {
        self.spent().without(self.granted_at)
    }

    /// Books what a run cost.
    pub fn book(&mut self, spent: Spent) {
        let sum = self.spent().and(spent);
        self.tokens = sum.tokens;
        self.cost_usd = sum.usd;
    }

    /// Is the issue blocked?
    pub fn is_blocked(&self) -> bool {
        self.blocked_reason.is_some() || self.phase == "blocked"
    }

    /// Does it say itself that it belongs to this issue? One that names none was not written by us.
    pub fn belongs_to(&self, repo: RepoId, issue: IssueNumber) -> bool {
        self.repo_id == Some(repo) && self.issue == Some(issue)
    }

    /// Does it name another issue, or another repository? A copied or transferred issue does.
    pub fn belongs_elsewhere(&self, repo: RepoId, issue: IssueNumber) -> bool {
        self.repo_id.is_some_and(|id| id != repo) || self.issue.is_some_and(|n| n != issue)
    }

    /// Is it worth forging? Then it counts only together with the checkpoint's copy.
    pub fn needs_witness(&self) -> bool {
        self.next_action != Phase::Start || self.total_agent_runs > 0 || self.extra_agent_runs > 0
    }

    /// Do both lead to the same decisions? Words are left out: what is posted is redacted, so that the
    /// copy of a state may have other words than the state.
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.without_words() == other.without_words()
    }

    fn without_words(&self) -> Self {
        Self {
            blocked_detail: None,
            pending_questions: None,
            wait_reason: None,
            last_agent: None,
            last_notified_reason: None,
            busy_owner: None,
            pr_url: None,
            unknown: serde_json::Map::new(),
            ..self.clone()
        }
    }
}
