//! What stops or precedes every phase, and in which order.

use super::check;
use super::given::*;
use crate::decide::explain;
use crate::model::issue::Association;
use crate::model::phase::Phase;
use crate::model::run::{RunKind, RunStatus};

/// Everything is wrong at once.
fn all_wrong() -> Given {
    let mut given = in_phase(Phase::Implement)
        .open_run(RunKind::Implement, Some(failed()))
        .worktree()
        .recorded()
        .lease(OTHER_CLAIM, 300, 1)
        .state(|state| state.wait_until = Some("2026-01-03T00:00:00Z".parse().unwrap()))
        .labels(&["do-not-dispatch"]);
    given.text = "no spec".to_owned();
    given.issue().open = false;
    given.issue().association = Association::None;
    given.seen.repo.archived = true;
    given.checkpoint = Some(Checkpoint {
        state: given.state.clone().unwrap(),
        claim: None,
    });
    if let RunStatus::Ended(exit) = &mut given.seen.local.runs[0].status {
        exit.quarantined = true;
    }
    given
}

/// Taking away what stops first shows what stops next.
#[test]
fn guards_speak_in_their_order() {
    type Cure = fn(&mut Given);
    let mut given = all_wrong();
    let table: [(&str, Cure); 8] = [
        ("drop claim: another claim holds the lease", |given| {
            given.seen.local.claim = None;
            given.seen.look.leases.clear();
        }),
        (
            "sweep strays: something of run 42/200-1-implement is still alive",
            |given| given.seen.local.runs.clear(),
        ),
        ("wait: the issue is closed", |given| {
            given.issue().open = true;
        }),
        ("wait: no status label: not managed", |given| {
            given.issue().labels.push("status: idle".to_owned());
        }),
        ("wait: the hold label stands", |given| {
            given.issue().labels.remove(0);
        }),
        ("wait: the repository: repository_archived", |given| {
            given.seen.repo.archived = false;
            *given = given.clone().claimed();
        }),
        ("write state: untrusted_text", |given| {
            given.issue().association = Association::Owner;
        }),
        ("write state: spec_missing", |given| {
            given.text = snapshot().text;
        }),
    ];
    for (expect, cure) in table {
        check(&given, expect);
        cure(&mut given);
    }
}

#[test]
fn explain_lists_the_guards_in_their_order() {
    let given = all_wrong();
    let (reports, _) = explain(&given.rendered(), &given.policy, given.now());
    let names: Vec<_> = reports.iter().map(|report| report.guard.name).collect();
    let order = [
        "by hand",
        "version",
        "claim",
        "strays",
        "open",
        "managed",
        "hold",
        "repository",
        "reclaim",
        "state",
        "edits",
        "orders",
        "blocked",
        "local",
        "trust",
        "spec",
        "backoff",
        "lease",
        "checkpoint",
    ];
    assert_eq!(names, order);
}
