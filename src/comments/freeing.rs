//! What would free an issue: one answer for each reason. Words for a person; it decides nothing.

use crate::decide::Why;
use crate::model::blockers::Blocker;
use crate::model::ids::IssueNumber;
use crate::model::labels::LabelNames;

/// What a person can do about the reason; `None`: nothing is needed, it goes on by itself.
// One exhaustive match
#[expect(clippy::too_many_lines, reason = "a remedy for each reason")]
pub fn frees(why: &Why, issue: IssueNumber, labels: &LabelNames) -> Option<String> {
    let text = match why {
        Why::IssueGone => "give the number of an issue of this repository".to_owned(),
        Why::IssueClosed => "reopen the issue if the work should go on".to_owned(),
        Why::NotManaged => format!("put the label `{}` on it", labels.idle),
        Why::OnHold => format!("take the label `{}` off", labels.hold),
        Why::CompletedByPerson => format!(
            "replace the label `{}` by `{}` if the work should go on",
            labels.completed, labels.idle
        ),
        Why::NewerVersion { .. } => "install the newer ghswarm that wrote its state".to_owned(),
        Why::BadBranchName => "mend `branch_prefix` in the configuration".to_owned(),
        Why::RepositoryUnusable { reason } => repository(reason),
        Why::Blocked { reason, .. } => lower_first(&super::remedy(*reason, issue)),
        Why::BlockedByPerson => format!(
            "replace the label `{}` by `{}`, or run `ghswarm resume {issue}`",
            labels.blocked, labels.idle
        ),
        Why::ClaimedElsewhere { expires, .. } | Why::OddLease { expires } => format!(
            "wait: unless it is renewed, it may be taken over at {}",
            expires.format("%Y-%m-%d %H:%M:%S UTC")
        ),
        Why::NoSlot { .. } => {
            "wait for the other run to end, or raise `max_parallel_issues`".to_owned()
        }
        Why::WaitsOn { blockers } => waits_on(blockers, issue),
        Why::DependencyCycle { issues } => cycle(issues, issue),
        Why::AssignedTo { login } => format!("take the assignee @{login} off the issue"),
        Why::OtherPullRequest { pr, .. } => format!("merge or close pull request #{pr}"),
        Why::ClaimedByComment { url, .. } => {
            format!("comment `Session lock released` on the issue, or delete {url}")
        }
        Why::ClaimedByHand { .. } => format!(
            "go on there; give it back when done: ghswarm claim release {issue} --merged PR (or \
             --abandoned REASON, --blocked REASON)"
        ),
        Why::BusyLabel { label } => format!("take the label `{label}` off if nobody works on it"),
        Why::Backoff { until, .. } | Why::AgentPaused { until, .. } => format!(
            "wait until {}, or skip it: ghswarm run {issue} --force",
            until.format("%Y-%m-%d %H:%M:%S UTC")
        ),
        Why::DayBudgetSpent { .. } => {
            "wait for the next day (UTC), or raise `budget` in the configuration".to_owned()
        }
        Why::LocalTrouble { until, .. } => format!(
            "mend what it names, then skip the wait: ghswarm run {issue} --force; without that it is \
             tried again at {}",
            until.format("%Y-%m-%d %H:%M:%S UTC")
        ),
        Why::RunGoing { frozen: true, .. } => {
            "GitHub has to answer again: the run goes on once its lease is renewed".to_owned()
        }
        Why::RunGoing { frozen: false, .. } => {
            format!("wait for it, and watch it: ghswarm logs {issue} -f")
        }
        Why::SandboxUnavailable { .. } => {
            "do what it says; ghswarm looks again by itself, and `ghswarm doctor` at once"
                .to_owned()
        }
        Why::Quarantined { .. } => "end the processes that are left of the run".to_owned(),
        Why::ChecksPending { .. } | Why::NoChecksYet { .. } | Why::RerunAsked { .. } => {
            "wait for the checks".to_owned()
        }
        Why::Queued { .. } => "wait for the merge queue".to_owned(),
        Why::ChecksMissing { .. } => {
            "see which workflow reports them, or take them off the base's rules".to_owned()
        }
        Why::BaseRed { .. } => format!(
            "mend the base; if this one mends it, comment `/ghswarm merge SHA` on #{issue} with its head"
        ),
        Why::RulesUnknown | Why::BaseUnknown | Why::PrLags { .. } | Why::MergeabilityUnknown => {
            "wait for GitHub".to_owned()
        }
        Why::Draft { pr } => format!("mark pull request #{pr} as ready for review"),
        Why::ApprovalMissing { pr, sha } => format!(
            "approve pull request #{pr}, or comment `/ghswarm merge {}` on the issue",
            sha.short()
        ),
        Why::FreeToClaim
        | Why::LeaseExpired { .. }
        | Why::ClaimLost
        | Why::ClaimWithoutLease
        | Why::HandClaimStale { .. }
        | Why::LeaseAges
        | Why::SlotNeeded
        | Why::NothingUnderClaim
        | Why::ShowClaim
        | Why::CheckpointBehind
        | Why::StateRestored
        | Why::LabelsDiffer
        | Why::Announce
        | Why::Next { .. }
        | Why::RunEnded { .. }
        | Why::Blocking { .. }
        | Why::Resumed
        | Why::HeadMoved { .. }
        | Why::Merged { .. }
        | Why::BranchBehind
        | Why::JobsFailed { .. }
        | Why::ChecksRed { .. }
        | Why::BaseMended
        | Why::ReadyToMerge
        | Why::Done => return None,
    };
    Some(text)
}

/// How what it depends on lets it go.
fn waits_on(blockers: &[Blocker], issue: IssueNumber) -> String {
    let what = match blockers {
        [one] => one
            .issue()
            .map_or_else(|| "close them".to_owned(), |one| format!("close #{one}")),
        _ => "close all of them".to_owned(),
    };
    format!("{what}, or take the dependency away; to begin now: ghswarm run {issue} --force")
}

/// How a cycle is broken.
fn cycle(issues: &[IssueNumber], issue: IssueNumber) -> String {
    let names: Vec<String> = issues.iter().map(|issue| format!("#{issue}")).collect();
    format!(
        "take one of these dependencies away (in {}), or begin here: ghswarm run {issue} --force",
        names.join(", ")
    )
}

/// A sentence of a comment as a fragment of a line.
fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_lowercase().chain(letters).collect())
        .unwrap_or_default()
}

/// What a person can do about a repository that cannot be worked on.
pub fn repository(reason: &str) -> String {
    match reason {
        "repository_archived" => "unarchive the repository in its settings on GitHub",
        "repository_empty" => "push a first commit to the repository",
        "no_contents_write" => "give the token write access to the repository's contents",
        "refs_restricted" => {
            "let GitHub's rulesets, or the server's hooks, allow refs under the `lease.namespace` of the \
             configuration (refs/leases/**)"
        }
        "base_missing" => "push the base branch, or mend `base_branch` in the configuration",
        _ => "look at the repository's settings on GitHub",
    }
    .to_owned()
}
