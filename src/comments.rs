//! Every text that is posted to GitHub, one function each, and what frees an issue. Pure: values in, words out.
//!
//! What others wrote is neutralised before it is quoted; `model::secrets::Secrets` goes over everything last.

pub mod by_hand;
pub mod freeing;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use crate::decide::effect::Reclaim;
use crate::model::comment::{
    ANSWER, FINISHED_MARKER, LockBy, LockMarker, QUESTION, fence, key_marker, neutralise,
    render_lock, render_mirrored_state, render_run, strip_ansi, tail,
};
use crate::model::ids::{BranchName, ClaimId, IssueNumber, Login, PrNumber, RepoSlug, Timestamp};
use crate::model::issue::Issue;
use crate::model::limits::COMMENT_TAIL_BYTES;
use crate::model::phase::Phase;
use crate::model::run::{RunFacts, RunKind};
use crate::model::state::{BlockedReason, IssueState};

/// Who claims an issue, for the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    /// The operator.
    pub operator: Login,
    /// The worktree, for people on that machine.
    pub worktree: String,
    /// The branch.
    pub branch: BranchName,
    /// Since when.
    pub at: Timestamp,
    /// The claim.
    pub claim: ClaimId,
    /// How long a lease lives, for the words about expiry.
    pub ttl_minutes: u64,
    /// The marker word.
    pub marker: String,
}

/// The checkpoint: our one comment that is rewritten as work goes on. `claimant` is absent once the
/// claim is over.
pub fn checkpoint(
    repo: &RepoSlug,
    issue: IssueNumber,
    state: &IssueState,
    claimant: Option<&Claimant>,
) -> String {
    let mut text = render_run(repo, issue);
    text.push('\n');
    if state.next_action == Phase::Done && state.closed {
        finished(&mut text, state);
    } else {
        progress(&mut text, state, claimant);
    }
    text.push('\n');
    // A state that does not fit is a state that grew out of bounds; the body write refuses it too.
    if let Ok(mirror) = render_mirrored_state(state) {
        text.push_str(&mirror);
    }
    text
}

fn finished(text: &mut String, state: &IssueState) {
    let _ = writeln!(text, "{FINISHED_MARKER}");
    let pr = state
        .pr_number
        .map_or_else(String::new, |pr| format!(" — PR #{pr} merged"));
    let _ = writeln!(text, "**Finished.** Session lock released{pr}.\n");
    let _ = writeln!(text, "- {}", receipt(state));
    if let Some(sha) = &state.merge_commit_sha {
        let _ = writeln!(text, "- merge commit: {sha}");
    }
}

fn progress(text: &mut String, state: &IssueState, claimant: Option<&Claimant>) {
    if let Some(claimant) = claimant {
        let marker = LockMarker {
            operator: Some(claimant.operator.clone()),
            worktree: Some(claimant.worktree.clone()),
            branch: Some(claimant.branch.to_string()),
            at: Some(claimant.at),
            by: LockBy::Loop,
            claim: Some(claimant.claim.clone()),
            bundled_with: None,
            unknown: std::collections::BTreeMap::new(),
        };
        let _ = writeln!(text, "{}", render_lock(&marker, &claimant.marker));
    }
    let _ = writeln!(
        text,
        "**ghswarm works on this issue.** {}\n",
        standing(state)
    );
    if let Some(claimant) = claimant {
        let _ = writeln!(text, "- operator: `{}`", claimant.operator);
        let _ = writeln!(
            text,
            "- worktree: `{}`",
            claimant.worktree.replace('`', "'")
        );
        let _ = writeln!(text, "- branch: `{}`", claimant.branch);
        let at = claimant.at.format("%Y-%m-%d %H:%M:%S UTC");
        let _ = writeln!(text, "- claimed at: {at}");
    }
    let _ = writeln!(text, "- {}", receipt(state));
    if let Some(pr) = state.pr_number {
        let _ = writeln!(text, "- pull request: #{pr}");
    }
    // Once there were enough comments about it, this is the only place that names the newest text.
    if let (Some(BlockedReason::UntrustedText), Some(detail)) =
        (state.blocked_reason, &state.blocked_detail)
    {
        let _ = writeln!(text, "\n{detail}");
    }
    if let Some(claimant) = claimant {
        let _ = writeln!(
            text,
            "\nThe lease behind this claim expires {} minutes after its last renewal; then another \
             ghswarm takes over by itself. To stop the work, set the hold or the blocked label.",
            claimant.ttl_minutes
        );
    }
}

/// What was used so far.
fn receipt(state: &IssueState) -> String {
    let runs = format!("agent runs: {}", state.total_agent_runs);
    let spent = state.spent();
    if spent.is_nothing() {
        return runs;
    }
    format!("{runs}, {spent}")
}

fn standing(state: &IssueState) -> String {
    match (state.blocked_reason, state.next_action) {
        (Some(reason), _) => format!(
            "It is blocked as `{}` and waits for a person.",
            reason.code()
        ),
        (None, Phase::WaitCi) => "Its pull request waits for checks and approval.".to_owned(),
        (None, Phase::VerifyMerge) => "It is merged; the merge commit is checked.".to_owned(),
        (None, Phase::Done) => "It is done.".to_owned(),
        (None, phase) => format!("Phase: `{phase}`."),
    }
}

/// Why an issue is blocked, what was printed last, and what to do.
pub fn blocked(
    key: &str,
    issue: IssueNumber,
    state: &IssueState,
    run: Option<&RunFacts>,
) -> String {
    let reason = state.blocked_reason.unwrap_or(BlockedReason::ByPerson);
    let detail = state.blocked_detail.clone().unwrap_or_default();
    // The approval line must stay a line that a person can copy, so only others' words are tamed.
    let mut text = format!(
        "{}\n**Blocked: `{}`.** {detail}\n",
        key_marker(key),
        reason.code()
    );
    if let Some(run) = run.filter(|run| !run.tail.trim().is_empty()) {
        let plain = strip_ansi(&run.tail);
        let last = neutralise(tail(&plain, COMMENT_TAIL_BYTES));
        let fence = fence(&last);
        let _ = write!(
            text,
            "\n<details><summary>Last output of {} `{}`</summary>\n\n{fence}\n{}\n{fence}\n\n\
             </details>\n",
            run.key.kind,
            run.label.replace('`', "'"),
            last.trim_end()
        );
    }
    let _ = write!(text, "\n{}\n", remedy(reason, issue));
    text
}

/// What a person does about a reason, ending in the command.
pub fn remedy(reason: BlockedReason, issue: IssueNumber) -> String {
    let (what, runs) = match reason {
        BlockedReason::SpecMissing | BlockedReason::VerifyInvalid => {
            return "Mend the body; ghswarm goes on by itself.".to_owned();
        }
        BlockedReason::UntrustedText => {
            return "Once approved, ghswarm goes on by itself.".to_owned();
        }
        BlockedReason::StateInvalid => {
            return "Mend the JSON in the state block (or take the whole block out to start over), \
                    then remove this issue's blocked label and set the idle label."
                .to_owned();
        }
        BlockedReason::BudgetExhausted => {
            return format!(
                "To grant more runs, and the budgets of tokens and dollars once more: `ghswarm resume \
                 {issue} --more-runs 5`. Look at what the runs did first: `ghswarm logs {issue}`."
            );
        }
        BlockedReason::AgentAuth => {
            return format!(
                "Log the agent in as the user that runs ghswarm (`claude`, then `/login`; `codex \
                 login`), or give it a key with credit in `agents.<phase>.env`. To go on: set the \
                 idle label, or run `ghswarm resume {issue}`."
            );
        }
        BlockedReason::Clarification => {
            return format!(
                "Answer in a comment, and it goes on by itself (with `clarification_auto_resume: false` set \
                 the idle label, too); or run `ghswarm resume {issue} --answer TEXT`."
            );
        }
        BlockedReason::AgentFailed
        | BlockedReason::VerifyFailed
        | BlockedReason::SetupFailed
        | BlockedReason::NoChanges
        | BlockedReason::ReviewFailed => ("Look at the log", true),
        BlockedReason::EditConflict => ("Put the lost text back", false),
        BlockedReason::BodyTooLarge => ("Make the body smaller", false),
        BlockedReason::NoTasks => ("Add or untick a task", false),
        BlockedReason::WorktreeFailed
        | BlockedReason::CommitFailed
        | BlockedReason::PushRefused => ("Mend what the reason names", false),
        BlockedReason::DiffRefused => ("Mend the branch in its worktree", false),
        BlockedReason::PrRefused | BlockedReason::MergeRefused => ("See what GitHub says", false),
        BlockedReason::PrClosed => ("If the work should go on", false),
        BlockedReason::MergeConflict => ("Resolve the conflict and push", false),
        BlockedReason::CiFailed | BlockedReason::CiUnclear | BlockedReason::NoChecks => {
            ("Mend the checks or push a fix", false)
        }
        BlockedReason::ReviewFeedback => ("Address the review", false),
        BlockedReason::MergeQueue => ("See why the queue let it go", false),
        BlockedReason::MergeCiFailed => ("Mend the base branch", false),
        BlockedReason::ByPerson => ("See why the person stopped it", false),
    };
    let logs = if runs {
        format!(": `ghswarm logs {issue}`")
    } else {
        String::new()
    };
    format!("{what}{logs}. To go on: set the idle label, or run `ghswarm resume {issue}`.")
}

/// The agent's question.
pub fn question(key: &str, issue: IssueNumber, state: &IssueState) -> String {
    let asked = state.pending_questions.clone().unwrap_or_default();
    format!(
        "{}\n{QUESTION}\n\n{}\n\n{}\n",
        key_marker(key),
        quote(&neutralise(&asked)),
        remedy(BlockedReason::Clarification, issue)
    )
}

/// The damaged state block.
pub fn state_invalid(key: &str, issue: IssueNumber, at: &str) -> String {
    format!(
        "{}\n**Blocked: `state_invalid`.** The state block in the body is damaged ({}). The body was \
         not touched.\n\n{}\n",
        key_marker(key),
        neutralise(at),
        remedy(BlockedReason::StateInvalid, issue)
    )
}

/// A take-over: a steal is never silent.
pub fn reclaim(notice: &Reclaim) -> String {
    let since = notice.since.map_or_else(String::new, |at| {
        format!(
            " (last sign of life {})",
            at.format("%Y-%m-%d %H:%M:%S UTC")
        )
    });
    format!(
        "{}\nReclaiming stale lock from {}{since}: {}. Continuing work.\n",
        key_marker(&notice.key),
        neutralise(&notice.from),
        notice.because
    )
}

/// A person's answer given on the command line.
pub fn answer(key: &str, text: &str) -> String {
    format!("{}\n{ANSWER}{text}\n", key_marker(key))
}

/// Title of the pull request.
pub fn pr_title(issue: &Issue) -> String {
    neutralise(&issue.title)
}

/// Body of the pull request. No closing keyword: the issue stays open until the merge commit is green.
pub fn pr_body(issue: &Issue, ticked: &[String], state: &IssueState) -> String {
    let mut text = format!("For #{}.\n", issue.number);
    if !ticked.is_empty() {
        text.push_str("\nDone in this pull request:\n\n");
        for task in ticked {
            let _ = writeln!(text, "- {}", neutralise(task));
        }
    }
    let agent = state.last_agent.clone().unwrap_or_default();
    let _ = write!(
        text,
        "\n---\nOpened by ghswarm after {} agent runs (the last one by `{}`). Verify steps and review \
         succeeded at the head that was pushed.\n",
        state.total_agent_runs,
        agent.replace('`', "'")
    );
    text
}

/// Subject of the squash or merge commit.
pub fn merge_title(issue: &Issue, pr: PrNumber) -> String {
    format!("{} (#{pr})", neutralise(&issue.title))
}

/// Body of the squash or merge commit.
pub fn merge_message(issue: &Issue) -> String {
    format!("For issue {}.", issue.number)
}

/// Message of a commit that ghswarm makes of what an agent left uncommitted.
pub fn commit_message(issue: &Issue, kind: RunKind) -> String {
    let verb = match kind {
        RunKind::Simplify => "Simplify",
        RunKind::Review => "Mend after review",
        RunKind::Implement | RunKind::Setup | RunKind::Verify => "Implement",
    };
    format!(
        "{verb}: {}\n\nFor issue {}.\n",
        neutralise(&issue.title),
        issue.number
    )
}

fn quote(text: &str) -> String {
    text.lines()
        .map(|line| format!("> {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
