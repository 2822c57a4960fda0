//! Small facts to build snapshots from.

use std::time::Duration;

use super::given::ISSUE;
use crate::decide::Policy;
use crate::decide::policy::{AgentNames, ApprovalRule};
use crate::model::checks::{Check, CheckOutcome, CommitChecks, Job};
use crate::model::ids::{BranchName, ClaimId, Epoch, Login, RefName, Sha, Timestamp};
use crate::model::issue::{Actor, Association, Issue};
use crate::model::labels::LabelNames;
use crate::model::lease::{LeaseCommit, LeaseMargins, LeaseMessage};
use crate::model::pr::{MergeMethod, PullRequest};
use crate::model::run::{RunEnd, RunExit, RunKey, RunKind, RunStatus};

pub(super) fn sha(digit: char) -> Sha {
    Sha::new(digit.to_string().repeat(40)).unwrap()
}

pub(super) fn login(name: &str) -> Login {
    Login::new(name).unwrap()
}

pub(super) fn branch() -> BranchName {
    BranchName::new("issue-42").unwrap()
}

pub(super) fn ref_name(name: &str) -> RefName {
    RefName::new(name).unwrap()
}

pub(super) fn lease_ref() -> RefName {
    ref_name("refs/leases/issue-42")
}

pub(super) fn slot_ref() -> RefName {
    ref_name("refs/leases/slot-1")
}

pub(super) fn wip_ref() -> RefName {
    ref_name("refs/leases/wip/issue-42")
}

pub(super) fn start_time() -> Timestamp {
    "2026-01-02T12:00:00Z".parse().unwrap()
}

pub(super) fn person(name: &str) -> Actor {
    Actor {
        login: login(name),
        is_bot: false,
    }
}

pub(super) fn policy() -> Policy {
    let minutes = |m: u64| Duration::from_secs(m * 60);
    Policy {
        labels: LabelNames::default(),
        marker: "claude-lock".to_owned(),
        namespace: "leases".to_owned(),
        lease_ttl: minutes(30),
        lease_margins: LeaseMargins::default(),
        priorities: ["high", "medium", "low"]
            .map(|word| format!("priority: {word}"))
            .to_vec(),
        depends: true,
        slots: 1,
        stale_window: minutes(24 * 60),
        lock_ttl: minutes(240),
        trusted_associations: vec![Association::Owner, Association::Member],
        trusted_logins: Vec::new(),
        trusted_bots: Vec::new(),
        target_assignee: None,
        branch_prefix: "issue-".to_owned(),
        max_retries: 3,
        max_transient: 5,
        budget: crate::model::money::Budget::default(),
        max_agent_runs: 10,
        simplify: false,
        setup: false,
        approval: ApprovalRule::None,
        merge_method: MergeMethod::Squash,
        post_merge_ci: true,
        post_merge_grace: minutes(3),
        ci_start_grace: minutes(3),
        ci_fixes_max: 2,
        answers_resume: true,
        delete_branch: true,
        protected_paths: Vec::new(),
        agent_names: AgentNames {
            implement: "claude".to_owned(),
            simplify: "codex".to_owned(),
            review: "gemini".to_owned(),
        },
    }
}

/// A lease commit that carries `claim`.
pub(super) fn lease(name: &RefName, claim: &str, epoch: i64, date: Timestamp) -> LeaseCommit {
    let message = LeaseMessage {
        v: 1,
        issue: ISSUE,
        owner: Some(format!("owner of {claim}")),
        ttl_min: 30,
        ttl_ms: None,
        claim: Some(ClaimId::new(claim).unwrap()),
        n: Some("n".to_owned()),
        epoch: Some(Epoch(epoch)),
        by: Some("loop".to_owned()),
        host: None,
        pid: None,
        agent: None,
        stolen_from: None,
    };
    LeaseCommit {
        name: name.clone(),
        oid: sha('c'),
        date,
        message: message.render(),
    }
}

/// The run of this kind under our claim's first attempt.
pub(super) fn run_key(kind: RunKind) -> RunKey {
    RunKey {
        issue: ISSUE,
        epoch: Epoch(200),
        seq: 1,
        kind,
        again: 0,
    }
}

pub(super) fn running() -> RunStatus {
    RunStatus::Running {
        since: start_time(),
        frozen: false,
    }
}

pub(super) fn ended(end: RunEnd, code: Option<i32>) -> RunStatus {
    RunStatus::Ended(RunExit {
        end,
        code,
        signal: None,
        command: 0,
        started_at: start_time(),
        ended_at: start_time(),
        quarantined: false,
        note: None,
    })
}

pub(super) fn succeeded() -> RunStatus {
    ended(RunEnd::Exited, Some(0))
}

pub(super) fn failed() -> RunStatus {
    ended(RunEnd::Exited, Some(1))
}

pub(super) fn checks(head: char, outcomes: &[CheckOutcome]) -> CommitChecks {
    let check =
        |(index, outcome): (usize, &CheckOutcome)| Check::new(format!("check {index}"), *outcome);
    CommitChecks {
        sha: sha(head),
        checks: outcomes.iter().enumerate().map(check).collect(),
    }
}

/// A job of GitHub Actions failed, a minute after the world began.
pub(super) fn fail(pr: &mut PullRequest, job: u64) {
    pr.checks.checks = vec![Check {
        job: Some(Job { id: job, run: 90 }),
        ended_at: Some(start_time() + Duration::from_secs(60)),
        ..Check::new("test", CheckOutcome::Failure)
    }];
}

/// The issue of a fresh snapshot.
pub(super) fn fresh() -> Issue {
    Issue {
        number: ISSUE,
        node_id: "I_42".to_owned(),
        title: "Do it".to_owned(),
        body: String::new(),
        open: true,
        labels: vec!["status: idle".to_owned()],
        assignees: Vec::new(),
        milestone: None,
        author: Some(person("ann")),
        association: Association::Owner,
        created_at: start_time(),
        updated_at: start_time(),
        url: "https://github.com/octo/demo/issues/42".to_owned(),
        linked_prs: Vec::new(),
    }
}
