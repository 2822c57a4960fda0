//! What is pushed: nothing that must stay here, and no head that was not reviewed and verified.

use super::given::*;
use super::small_worlds::run_until_it_waits;
use super::{check, told};
use crate::decide::{Decision, Effect};
use crate::model::ids::RefName;
use crate::model::limits::PUSHED_FILE_BYTES_MAX;
use crate::model::outgoing::{OutgoingChange, OutgoingCommit, OutgoingSecret, SecretPlace};
use crate::model::phase::Phase;
use crate::model::pr::MergeMethod;
use crate::model::run::{RunEnd, RunKind, RunStatus};
use crate::model::state::{BlockedReason, IssueState};

fn commit(at: char, message: &str, path: &str) -> OutgoingCommit {
    OutgoingCommit {
        sha: sha(at),
        message: message.to_owned(),
        changes: vec![OutgoingChange {
            path: path.to_owned(),
            bytes: 1,
        }],
        secrets: Vec::new(),
    }
}

/// Reviewed and verified; these commits are to be pushed.
fn pushing(commits: Vec<OutgoingCommit>) -> Given {
    let given = in_phase(Phase::CreatePr).worktree().verified().claimed();
    given.with(|given| given.seen.outgoing = commits)
}

/// The state that the decision writes.
#[track_caller]
fn written(given: &Given) -> IssueState {
    let decision = given.decide();
    let Decision::Do(effect, _) = &decision else {
        panic!("{}", told(&decision));
    };
    let Effect::WriteState(write) = &**effect else {
        panic!("{}", told(&decision));
    };
    write.state.clone()
}

/// It is refused, in these words among others.
#[track_caller]
fn refused(given: &Given, words: &[&str]) {
    let state = written(given);
    assert_eq!(state.blocked_reason, Some(BlockedReason::DiffRefused));
    let detail = state.blocked_detail.unwrap();
    for word in words {
        assert!(detail.contains(word), "`{word}` is not in: {detail}");
    }
}

#[test]
fn a_commit_that_may_not_leave_is_refused_with_the_place_and_the_way_out() {
    let given = pushing(vec![
        commit('1', "One", "a.txt"),
        commit('2', "Two", "a/.env"),
        commit(HEAD, "Three", "b.txt"),
    ]);
    refused(
        &given,
        &[
            "commit 2222222 changes `a/.env` (a file with secrets)",
            "`/trees/issue-42`",
            "git reset --soft 2222222^",
        ],
    );
}

#[test]
fn a_secret_is_refused_with_its_place_and_kind_before_a_review_is_paid_and_before_the_push() {
    let mut bad = commit('2', "Two", "a.txt");
    let secret = |place| OutgoingSecret {
        place,
        line: 7,
        kind: "a GitHub token",
    };
    let named = |kind: fn(String) -> SecretPlace| secret(kind("a.txt".to_owned()));
    bad.secrets = vec![
        named(SecretPlace::File),
        secret(SecretPlace::Message),
        named(SecretPlace::Name),
        secret(SecretPlace::Header),
    ];
    let words = [
        "commit 2222222 brings along a GitHub token: line 7 of `a.txt`",
        "line 7 of its message",
        "in the name of the file `a.txt`",
        "in its author or committer",
        "git reset --soft 2222222^",
        "from two parts",
    ];
    refused(&pushing(vec![bad.clone()]), &words);
    let reviewing = in_phase(Phase::AiReview).open_run(RunKind::Review, None);
    let reviewing = reviewing.worktree().verified().working();
    let reviewing = reviewing.with(|given| given.seen.outgoing = vec![bad.clone()]);
    refused(&reviewing, &words);
    let state = written(&reviewing);
    assert_eq!((state.next_action, state.open_run), (Phase::AiReview, None));
}

#[test]
fn a_file_that_github_does_not_take_is_refused_before_it_is_sent() {
    let mut large = commit(HEAD, "One", "film.mov");
    large.changes[0].bytes = PUSHED_FILE_BYTES_MAX;
    check(
        &pushing(vec![large.clone()]),
        "push branch: push the branch",
    );
    large.changes[0].bytes += 1;
    refused(&pushing(vec![large]), &["`film.mov` (101 MiB"]);
}

#[test]
fn a_long_list_is_cut_and_a_path_cannot_leave_its_code_span() {
    let many = (0..30).map(|n| commit('1', "One", &format!("{n}.pem")));
    refused(&pushing(many.collect()), &["`9.pem`", "and 20 more"]);
    refused(
        &pushing(vec![commit('1', "One", "`@ann`\n.pem")]),
        &["`'@ann''.pem`"],
    );
}

#[test]
fn messages_that_close_other_issues_are_refused_where_they_survive_the_merge() {
    let with = |method: MergeMethod, message: &str| {
        let commits = vec![commit('1', message, "a"), commit(HEAD, "Two", "b")];
        pushing(commits).with(|given| given.policy.merge_method = method)
    };
    let push = "push branch: push the branch";
    check(&with(MergeMethod::Squash, "Fixes #9"), push);
    for method in [MergeMethod::Merge, MergeMethod::Rebase] {
        let words = [
            "line 3 of the message of commit 1111111",
            "`Fixes: #9`",
            "git rebase -i 1111111^",
        ];
        refused(&with(method, "One\n\nFixes: #9, closes #42"), &words);
        refused(
            &with(method, "Resolve o/other#42"),
            &["`Resolve o/other#42`"],
        );
        check(&with(method, "Closes #42, fixes octo/demo#42"), push);
    }
    let newest = pushing(vec![commit(HEAD, "Fix #9", "a")])
        .with(|given| given.policy.merge_method = MergeMethod::Merge);
    refused(&newest, &["`git commit --amend`"]);
}

#[test]
fn a_head_that_a_person_mended_is_verified_and_not_reviewed() {
    let blocked = pushing(Vec::new())
        .blocked(BlockedReason::DiffRefused)
        .with(|given| {
            given.seen.local.worktree.as_mut().unwrap().head = sha('d');
            given.seen.order.resume = true;
        });
    let state = written(&blocked);
    assert_eq!(state.head_sha, Some(sha('d')));
    assert_eq!(state.verified_sha, Some(sha(HEAD)));
    let resumed = blocked
        .state(|old| *old = state)
        .working()
        .with(|given| given.seen.order = crate::decide::Order::default());
    let reserved = written(&resumed);
    assert_eq!(reserved.next_action, Phase::CreatePr);
    assert_eq!(reserved.open_run.unwrap().kind, RunKind::Verify);
    assert_eq!(reserved.total_agent_runs, 1, "steps cost nothing");
}

#[test]
fn a_head_that_nobody_mended_is_reviewed_again() {
    let moved = in_phase(Phase::CreatePr).worktree().verified().working();
    let moved = moved.with(|given| given.seen.local.worktree.as_mut().unwrap().head = sha('d'));
    let state = written(&moved);
    assert_eq!(state.next_action, Phase::AiReview);
    assert_eq!(state.open_run.unwrap().kind, RunKind::Review);
}

/// The verify run before a push ended like this.
fn verifying(status: RunStatus) -> Given {
    in_phase(Phase::CreatePr)
        .open_run(RunKind::Verify, Some(status))
        .worktree()
        .state(|state| state.head_sha = Some(sha(HEAD)))
        .working()
}

#[test]
fn the_verify_run_before_a_push_decides_about_it() {
    let state = written(&verifying(succeeded()));
    assert_eq!(state.verified_sha, Some(sha(HEAD)));
    assert_eq!(state.open_run, None);
    let state = written(&verifying(failed()));
    assert_eq!(state.next_action, Phase::Implement);
    let last = verifying(failed()).state(|state| state.iteration = 3);
    check(&last, "write state: verify_failed");
    let died = verifying(ended(RunEnd::SupervisorDied, None));
    check(&died, "start run: start the verify steps");
    let none =
        verifying(running()).with(|given| given.text = given.text.replace("make test", "[]"));
    assert!(told(&none.decide()).starts_with("wait"));
}

#[test]
fn without_verify_steps_a_reviewed_head_is_pushed() {
    let given = in_phase(Phase::CreatePr).worktree().claimed();
    let given = given.state(|state| state.head_sha = Some(sha(HEAD)));
    let given = given.with(|given| given.text = given.text.replace("make test", "[]"));
    check(&given, "push branch: push the branch");
}

/// Every mixture of what was reviewed, verified, pushed and run. `no_world` checks the rule itself.
#[test]
fn no_head_is_pushed_that_was_not_verified() {
    let shas = [None, Some(sha(HEAD)), Some(sha('d'))];
    let runs = [
        None,
        Some(running()),
        Some(succeeded()),
        Some(failed()),
        Some(ended(RunEnd::SupervisorDied, None)),
    ];
    let mut pushes = 0;
    for index in 0..3 * 3 * 3 * 5 * 2 {
        let (head, verified) = (&shas[index % 3], &shas[index / 3 % 3]);
        let (remote, run) = (&shas[index / 9 % 3], &runs[index / 27 % 5]);
        let mut given = in_phase(Phase::CreatePr).worktree();
        if let Some(run) = run {
            given = given.open_run(RunKind::Verify, Some(run.clone()));
        }
        given = given.state(|state| {
            state.head_sha.clone_from(head);
            state.verified_sha.clone_from(verified);
        });
        if let Some(remote) = remote {
            let branch = RefName::of_branch(&branch());
            given.seen.look.refs.insert(branch, remote.clone());
            given.seen.remote_contained = Some(true);
        }
        given = if index / 135 == 0 {
            given.working()
        } else {
            given
                .blocked(BlockedReason::DiffRefused)
                .labels(&["status: blocked"])
        };
        let mut trace = String::new();
        for _ in 0..3 {
            let waits = run_until_it_waits(&mut given, &mut trace);
            waits.unwrap_or_else(|wrong| panic!("{wrong}:\n{trace}"));
            given.answer();
        }
        pushes += trace.matches("push branch").count();
    }
    assert!(pushes > 20, "{pushes}");
}
