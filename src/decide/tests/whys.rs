//! Each reason, in the plainest world that gives it.

use super::check;
use super::given::*;
use crate::decide::Trouble;
use crate::decide::policy::ApprovalRule;
use crate::model::blockers::Blocker;
use crate::model::checks::CheckOutcome;
use crate::model::comment::{LockBy, LockMarker, render_lock};
use crate::model::ids::{IssueNumber, PrNumber, RepoId};
use crate::model::issue::LinkedPr;
use crate::model::phase::Phase;
use crate::model::pr::{Mergeable, PrState, PullRequest};
use crate::model::run::{RunKind, RunStatus};
use crate::model::state::BlockedReason;

fn waiting(change: impl FnOnce(&mut PullRequest)) -> Given {
    in_phase(Phase::WaitCi).pr(change)
}

fn implementing(status: Option<RunStatus>) -> Given {
    in_phase(Phase::Implement)
        .open_run(RunKind::Implement, status)
        .worktree()
        .working()
}

#[test]
fn issue_gone() {
    let given = snapshot().with(|given| given.seen.look.issue = None);
    check(&given, "finished: the issue is gone");
}

#[test]
fn issue_closed() {
    let given = in_phase(Phase::Implement).with(|given| given.issue().open = false);
    check(&given, "wait: the issue is closed");
    check(&given.claimed(), "release: the issue is closed");
}

#[test]
fn not_managed() {
    check(
        &snapshot().labels(&["bug"]),
        "wait: no status label: not managed",
    );
}

#[test]
fn on_hold() {
    let given = snapshot().labels(&["status: idle", "Do-Not-Dispatch"]);
    check(&given, "wait: the hold label stands");
}

#[test]
fn completed_by_person() {
    let given = in_phase(Phase::Implement).labels(&["status: completed"]);
    check(&given, "wait: a person says it is completed");
}

#[test]
fn newer_version() {
    let block = "<!-- GHSWARM_STATE_START\n{\"v\":2}\nGHSWARM_STATE_END -->\n";
    let given = snapshot().with(|given| given.damage = Some(block.to_owned()));
    check(
        &given,
        "wait: its state was written by a newer ghswarm (format 2)",
    );
}

#[test]
fn bad_branch_name() {
    let given = snapshot().with(|given| given.policy.branch_prefix = "a..b".to_owned());
    check(&given, "wait: `branch_prefix` does not make a branch name");
}

#[test]
fn repository_unusable() {
    let archived = snapshot().with(|given| given.seen.repo.archived = true);
    check(&archived, "wait: the repository: repository_archived");
    let empty = snapshot().with(|given| given.seen.repo.default_branch = None);
    check(&empty, "wait: the repository: repository_empty");
    let read_only = snapshot().with(|given| given.seen.repo.can_push = false);
    check(&read_only, "wait: the repository: no_contents_write");
    let no_base = snapshot().with(|given| given.seen.look.base = None);
    check(&no_base, "wait: the repository: base_missing");
}

#[test]
fn blocked() {
    let given = in_phase(Phase::Implement)
        .blocked(BlockedReason::NoChanges)
        .labels(&["status: blocked"]);
    check(&given, "wait: blocked as no_changes: why");
}

#[test]
fn blocked_by_person() {
    let given = snapshot().labels(&["status: blocked"]);
    check(&given, "wait: the blocked label stands");
}

#[test]
fn claimed_elsewhere() {
    let given = snapshot().lease(OTHER_CLAIM, 300, 1);
    check(
        &given,
        "wait: claimed by `owner of c-other`, may be taken over at 2026-01-02 12:30:00 UTC",
    );
}

#[test]
fn odd_lease() {
    let mut given = snapshot().lease(OTHER_CLAIM, 300, 1);
    let commit = given.seen.look.leases.get_mut(&lease_ref()).unwrap();
    "no JSON".clone_into(&mut commit.message);
    check(
        &given,
        "wait: its lease cannot be read, may be taken over at 2026-01-02 16:00:00 UTC",
    );
}

#[test]
fn no_slot() {
    let mut given = snapshot();
    let other = lease(&slot_ref(), OTHER_CLAIM, 300, given.now());
    given.seen.look.leases.insert(slot_ref(), other);
    check(
        &given,
        "wait: all slots of the repository are taken (max_parallel_issues: 1)",
    );
}

#[test]
fn waits_on() {
    let blockers = vec![
        Blocker::Named(IssueNumber(3)),
        Blocker::Dependency(IssueNumber(4)),
        Blocker::Elsewhere(2),
        Blocker::SubIssues(1),
    ];
    let mut given = snapshot();
    given.seen.waits_on.blockers = blockers;
    check(
        &given,
        "wait: waiting for #3 (named in the text), #4 (a dependency on GitHub), 2 issues of other \
         repositories, 1 open sub-issue",
    );
    // What is begun goes on, and a person may begin out of turn.
    let mut forced = given.clone();
    forced.seen.order.now = true;
    check(&forced, "claim: free");
    check(
        &given.state(|state| state.total_agent_runs = 1),
        "claim: free",
    );
}

#[test]
fn dependency_cycle() {
    let mut given = snapshot();
    given.seen.waits_on.blockers = vec![Blocker::Named(IssueNumber(3))];
    given.seen.waits_on.circle = vec![ISSUE, IssueNumber(3)];
    let expect = "wait: a dependency cycle: #42 waits for #3 waits for #42";
    check(&given, expect);
    // Where the configuration does not want it, nothing is held back.
    given.policy.depends = false;
    check(&given, "claim: free");
}

#[test]
fn assigned_to() {
    let given = snapshot().with(|given| given.issue().assignees = vec![login("bob")]);
    check(&given, "wait: assigned to @bob");
}

#[test]
fn other_pull_request() {
    let linked = LinkedPr {
        number: PrNumber(9),
        head_repo: Some(RepoId(1)),
        head_ref: "by-hand".parse().unwrap(),
        url: "https://x/9".to_owned(),
    };
    let stranger = LinkedPr {
        head_repo: Some(RepoId(99)),
        ..linked.clone()
    };
    let given = snapshot().with(|given| given.issue().linked_prs = vec![linked]);
    check(&given, "wait: pull request #9 for it is open: https://x/9");
    let given = snapshot().with(|given| given.issue().linked_prs = vec![stranger]);
    check(&given, "claim: free");
}

#[test]
fn claimed_by_comment() {
    let marker = LockMarker {
        operator: Some(login("bob")),
        worktree: None,
        branch: None,
        at: Some(start_time()),
        by: LockBy::Manual,
        claim: None,
        bundled_with: None,
        unknown: std::collections::BTreeMap::new(),
    };
    let given = snapshot().comment("bob", &render_lock(&marker, "claude-lock"));
    check(
        &given,
        "wait: claimed by @bob since 2026-01-02 12:00 UTC in \
         https://github.com/octo/demo/issues/42#1000",
    );
}

#[test]
fn claimed_by_hand() {
    let held = "wait: claimed by hand on this machine since 2026-01-02 12:00 UTC, worktree \
                `/trees/issue-42`";
    check(&snapshot().by_hand(0), held);
    // Not even an issue that is closed, held or not managed: its lease would be released.
    check(&snapshot().by_hand(0).labels(&[]), held);
    check(&snapshot().by_hand(0).labels(&["do-not-dispatch"]), held);
    let closed = snapshot().with(|given| given.issue().open = false);
    check(&closed.by_hand(0), held);
}

#[test]
fn hand_claim_stale() {
    let old = snapshot().by_hand(25);
    let stale = "drop claim: the claim by hand of 2026-01-01 11:00 UTC is stale: no pull request is \
                 open";
    check(&old, stale);
    assert_eq!(
        snapshot().by_hand(23).decide().why().code(),
        "claimed_by_hand"
    );
    assert_eq!(old.pr(|_| {}).decide().why().code(), "claimed_by_hand");
    let lost = snapshot().by_hand(1).lease(OTHER_CLAIM, 300, 1);
    check(&lost, "drop claim: another claim holds the lease");
}

#[test]
fn busy_label() {
    let given = snapshot()
        .labels(&[])
        .labelled("status: busy-codex", "ann")
        .state(|state| state.busy_since = Some(start_time()));
    check(&given, "wait: `status: busy-codex` stands without a lease");
}

#[test]
fn backoff() {
    let given = in_phase(Phase::Implement).state(|state| {
        state.wait_until = Some("2026-01-02T13:00:00Z".parse().unwrap());
    });
    check(&given, "wait: waiting until 2026-01-02 13:00:00 UTC");
    let now = given.with(|given| given.seen.order.now = true);
    check(&now, "claim: free");
}

#[test]
fn local_trouble() {
    let rests = |times| {
        in_phase(Phase::Implement).with(|given| {
            given.seen.trouble = Some(Trouble::Rests {
                until: "2026-01-02T13:00:00Z".parse().unwrap(),
                times,
                text: "start the run: disk full".to_owned(),
            });
        })
    };
    check(
        &rests(2),
        "wait: failed 2 times in a row, left alone until 2026-01-02 13:00:00 UTC: start the run: disk full",
    );
    check(
        &rests(1),
        "wait: failed, left alone until 2026-01-02 13:00:00 UTC: start the run: disk full",
    );
}

#[test]
fn run_going() {
    let given = implementing(Some(running()));
    check(&given, "wait: implement runs since 2026-01-02 12:00:00 UTC");
    let frozen = RunStatus::Running {
        since: start_time(),
        frozen: true,
    };
    check(
        &implementing(Some(frozen)),
        "wait: implement is paused since 2026-01-02 12:00:00 UTC",
    );
}

#[test]
fn sandbox_unavailable() {
    let trouble = "no engine answers".to_owned();
    let given = snapshot().with(|given| given.seen.local.sandbox_trouble = Some(trouble));
    check(&given, "wait: no container to run in: no engine answers");
}

#[test]
fn agent_paused() {
    super::money::agent_paused();
}

#[test]
fn day_budget_spent() {
    super::money::day_budget_spent();
}

#[test]
fn quarantined() {
    let mut status = failed();
    if let RunStatus::Ended(exit) = &mut status {
        exit.quarantined = true;
    }
    check(
        &implementing(Some(status)),
        "sweep strays: something of run 42/200-1-implement is still alive",
    );
}

#[test]
fn checks_pending() {
    let outcomes = [CheckOutcome::Success, CheckOutcome::Pending];
    let given = waiting(|pr| pr.checks = checks(HEAD, &outcomes));
    check(&given, "wait: 1 of 2 checks done at aaaaaaa");
}

#[test]
fn no_checks_yet() {
    let given = waiting(|pr| pr.checks = checks(HEAD, &[]));
    check(&given, "wait: no check yet at aaaaaaa");
}

#[test]
fn mergeability_unknown() {
    let given = waiting(|pr| pr.mergeable = Mergeable::Unknown);
    check(&given, "wait: GitHub computes whether it merges");
}

#[test]
fn draft() {
    check(
        &waiting(|pr| pr.draft = true),
        "wait: pull request #7 is a draft",
    );
}

#[test]
fn approval_missing() {
    let given = waiting(|_| {}).with(|given| given.policy.approval = ApprovalRule::GitHub);
    check(&given, "wait: approval of #7 at aaaaaaa is missing");
    let approved = given.comment("ann", "/ghswarm merge aaaaaaa");
    check(&approved, "claim: free");
}

#[test]
fn free_to_claim() {
    check(&snapshot(), "claim: free");
}

#[test]
fn lease_expired() {
    let given = snapshot().lease(OTHER_CLAIM, 300, 32);
    check(&given, "claim: the lease of `owner of c-other` is expired");
}

#[test]
fn claim_lost() {
    let given = implementing(Some(running())).lease(OTHER_CLAIM, 300, 1);
    check(&given, "stop run: another claim holds the lease");
}

#[test]
fn claim_without_lease() {
    let given = waiting(|pr| pr.draft = true).recorded();
    check(&given, "drop claim: our claim has no lease");
}

#[test]
fn lease_ages() {
    let given = implementing(None).lease(OUR_CLAIM, 200, 11);
    check(&given, "renew: the lease gets old");
}

#[test]
fn slot_needed() {
    let given = in_phase(Phase::Implement).claimed();
    check(&given, "release: a run needs a slot");
}

#[test]
fn nothing_under_claim() {
    let given = waiting(|pr| pr.draft = true).claimed();
    check(&given, "release: nothing to do under the claim");
}

#[test]
fn show_claim() {
    let given = in_phase(Phase::Implement).slot();
    check(&given, "place signals: the claim is to be seen");
}

#[test]
fn checkpoint_behind() {
    let mut given = implementing(None);
    given.checkpoint.as_mut().unwrap().state.rev -= 1;
    given.brought_by = Some("op");
    check(&given, "update checkpoint: the checkpoint is behind");
}

#[test]
fn state_restored() {
    let given = implementing(None).with(|given| given.state = None);
    check(&given, "write state: the state is restored");
}

#[test]
fn labels_differ() {
    let given = waiting(|pr| pr.draft = true)
        .claimed()
        .labels(&["status: busy-claude"]);
    check(&given, "set status label: the labels say something else");
}

#[test]
fn announce() {
    let mut given = in_phase(Phase::Implement)
        .blocked(BlockedReason::NoChanges)
        .claimed();
    given.seen.look.comments.clear();
    check(&given, "comment: it has to be said");
}

#[test]
fn next() {
    check(&implementing(None), "start run: start the agent");
}

#[test]
fn run_ended() {
    let given = implementing(Some(failed())).pushed();
    check(&given, "write state: implement failed");
}

#[test]
fn blocking() {
    let given = waiting(|pr| pr.mergeable = Mergeable::Conflicting).claimed();
    check(&given, "write state: merge_conflict");
}

#[test]
fn resumed() {
    let given = in_phase(Phase::Implement)
        .blocked(BlockedReason::NoChanges)
        .claimed()
        .labels(&["status: blocked"])
        .with(|given| given.seen.order.resume = true);
    check(&given, "write state: resumed");
}

#[test]
fn head_moved() {
    let given = waiting(|pr| pr.head_sha = sha('d')).claimed();
    check(&given, "write state: the branch moved to ddddddd");
}

#[test]
fn merged() {
    let given = waiting(|pr| {
        pr.state = PrState::Merged {
            commit: sha('e'),
            at: start_time(),
        };
    });
    check(&given.claimed(), "write state: merged as eeeeeee");
}

#[test]
fn ready_to_merge() {
    check(&waiting(|_| {}).claimed(), "merge: green and approved");
}

#[test]
fn done() {
    let given = in_phase(Phase::Done)
        .state(|state| state.closed = true)
        .with(|given| given.issue().open = false);
    check(&given, "finished: done");
    check(&given.claimed(), "release: done");
}
