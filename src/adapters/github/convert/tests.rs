//! GitHub's words and what each becomes.

use serde_json::{Value, json};

use super::{actor, check, edits, pull_request};
use crate::model::checks::{CheckOutcome, Job};
use crate::model::pr::{Mergeable, PrState, PullRequest, ReviewDecision};

fn wire<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn outcome(value: Value) -> CheckOutcome {
    check(wire(value)).outcome
}

#[test]
fn each_conclusion_is_its_own_answer_and_an_unknown_word_is_never_green() {
    let run = |status: &str, conclusion: Option<&str>| {
        outcome(json!({
            "__typename": "CheckRun", "name": "n", "status": status,
            "conclusion": conclusion, "completedAt": null, "detailsUrl": null, "databaseId": null,
            "checkSuite": { "app": null, "workflowRun": null },
        }))
    };
    let table = [
        ("SUCCESS", CheckOutcome::Success),
        ("NEUTRAL", CheckOutcome::Neutral),
        ("SKIPPED", CheckOutcome::Skipped),
        ("FAILURE", CheckOutcome::Failure),
        ("STARTUP_FAILURE", CheckOutcome::Failure),
        ("TIMED_OUT", CheckOutcome::TimedOut),
        ("CANCELLED", CheckOutcome::Cancelled),
        ("ACTION_REQUIRED", CheckOutcome::ActionRequired),
        ("STALE", CheckOutcome::Stale),
        ("SPLENDID", CheckOutcome::Unknown),
    ];
    for (word, wanted) in table {
        assert_eq!(run("COMPLETED", Some(word)), wanted, "{word}");
    }
    assert_eq!(run("COMPLETED", None), CheckOutcome::Unknown);
    for status in [
        "QUEUED",
        "IN_PROGRESS",
        "WAITING",
        "PENDING",
        "REQUESTED",
        "NEW_WORD",
    ] {
        assert_eq!(run(status, None), CheckOutcome::Pending, "{status}");
    }
}

#[test]
fn commit_statuses_and_checks_of_a_new_kind_are_read_safely() {
    let status = |state: &str| {
        outcome(json!({
            "__typename": "StatusContext", "context": "c", "state": state,
            "description": null, "targetUrl": null,
        }))
    };
    assert_eq!(status("SUCCESS"), CheckOutcome::Success);
    assert_eq!(status("FAILURE"), CheckOutcome::Failure);
    assert_eq!(status("ERROR"), CheckOutcome::Failure);
    assert_eq!(status("PENDING"), CheckOutcome::Pending);
    assert_eq!(status("EXPECTED"), CheckOutcome::Pending);
    assert_eq!(status("NEW_WORD"), CheckOutcome::Unknown);
    assert_eq!(
        outcome(json!({ "__typename": "NewThing" })),
        CheckOutcome::Unknown
    );
}

#[test]
fn a_bot_has_its_suffix_whether_graphql_says_it_or_not() {
    for login in ["dependabot", "dependabot[bot]"] {
        let bot = actor(wire(json!({ "__typename": "Bot", "login": login }))).unwrap();
        assert_eq!(bot.login.as_str(), "dependabot[bot]");
        assert!(bot.is_bot);
    }
    let person = actor(wire(json!({ "__typename": "User", "login": "ann" }))).unwrap();
    assert!(!person.is_bot);
}

#[test]
fn edits_come_oldest_first_also_within_a_second() {
    let edit = |id: &str, at: &str| json!({ "id": id, "editedAt": at, "diff": id, "editor": null });
    let wire = wire(json!([
        edit("c", "2026-01-01T00:00:02Z"),
        edit("b", "2026-01-01T00:00:01Z"),
        edit("a", "2026-01-01T00:00:01Z"),
    ]));
    let ids: Vec<String> = edits(wire).into_iter().map(|edit| edit.id).collect();
    assert_eq!(ids, ["a", "b", "c"]);
}

fn pr(change: &Value) -> Result<PullRequest, String> {
    let mut value = json!({
        "id": "PR_7", "number": 7, "state": "OPEN", "isDraft": false, "headRefName": "issue-1",
        "headRefOid": "a".repeat(40), "headRepository": null, "baseRefName": "main",
        "mergeable": "MERGEABLE", "mergeStateStatus": "CLEAN", "reviewDecision": null,
        "isMergeQueueEnabled": false, "mergeQueueEntry": null,
        "url": "u", "createdAt": "2026-01-01T00:00:00Z", "mergedAt": null, "mergeCommit": null,
        "author": null, "assignees": { "nodes": [] }, "reviews": null, "statusCheckRollup": null,
    });
    for (key, new) in change.as_object().unwrap() {
        value[key] = new.clone();
    }
    pull_request(wire(value), Vec::new(), Vec::new())
}

#[test]
fn a_merged_pull_request_without_its_commit_is_not_believed() {
    assert!(pr(&json!({ "state": "MERGED" })).is_err());
    let merged = pr(&json!({
        "state": "MERGED", "mergedAt": "2026-01-01T00:00:00Z",
        "mergeCommit": { "oid": "b".repeat(40) },
    }));
    assert!(matches!(merged.unwrap().state, PrState::Merged { .. }));
    assert!(pr(&json!({ "state": "HALF_OPEN" })).is_err());
}

#[test]
fn words_of_a_pull_request_that_we_do_not_know_hold_the_merge_back() {
    let pr = pr(&json!({ "mergeable": "MAYBE", "reviewDecision": "MAYBE" })).unwrap();
    assert_eq!(pr.mergeable, Mergeable::Unknown);
    assert_eq!(pr.review_decision, Some(ReviewDecision::ReviewRequired));
    assert!(pr.checks.checks.is_empty());
    assert_eq!(pr.head_repo, None);
    assert!(!pr.behind && pr.queued.is_none());
}

#[test]
fn a_job_is_behind_a_check_only_where_github_actions_ran_it() {
    let run = |suite: Value| {
        check(wire(json!({
            "__typename": "CheckRun", "databaseId": 5, "name": "n", "status": "COMPLETED",
            "conclusion": "FAILURE", "completedAt": "2026-01-01T00:00:00Z", "detailsUrl": null,
            "checkSuite": suite,
        })))
    };
    let job = run(json!({ "app": { "databaseId": 15368 }, "workflowRun": { "databaseId": 6 } }));
    assert_eq!(job.job, Some(Job { id: 5, run: 6 }));
    assert_eq!(job.app, Some(15368));
    let other = run(json!({ "app": { "databaseId": 7 }, "workflowRun": null }));
    assert_eq!((other.job, other.app), (None, Some(7)));
}
