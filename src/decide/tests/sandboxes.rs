//! Containers that cannot be had: the issue waits, holds nothing, and nothing counts as failed.

use super::check;
use super::given::*;
use crate::model::limits::SANDBOX_RETRY_AFTER;
use crate::model::phase::Phase;
use crate::model::run::{RunEnd, RunKind, RunStatus};

fn without_an_engine(mut given: Given) -> Given {
    given.seen.local.sandbox_trouble = Some("no engine".to_owned());
    given
}

/// The agent succeeded, its work is saved, its verify steps stand like this.
fn verified(status: Option<RunStatus>) -> Given {
    let given = in_phase(Phase::Implement)
        .worktree()
        .pushed()
        .open_run(RunKind::Implement, Some(succeeded()))
        .working();
    match status {
        Some(status) => given.run(RunKind::Verify, status),
        None => given,
    }
}

/// A verify run that found no container, so long ago.
fn never_began(ago: std::time::Duration) -> Given {
    let mut status = ended(RunEnd::SandboxUnavailable, None);
    let now = verified(None).now();
    if let RunStatus::Ended(exit) = &mut status {
        exit.note = Some("no image".to_owned());
        exit.ended_at = now - ago;
    }
    verified(Some(status))
}

#[test]
fn no_agent_is_reserved_whose_work_could_not_be_verified() {
    check(
        &without_an_engine(snapshot()),
        "wait: no container to run in: no engine",
    );
    let claimed = without_an_engine(in_phase(Phase::Implement).worktree().working());
    check(&claimed, "set status label: the labels say something else");
}

#[test]
fn verify_steps_wait_without_holding_the_lease() {
    let given = without_an_engine(verified(None));
    check(&given, "set status label: the labels say something else");
    check(
        &given.labels(&["status: idle"]),
        "release: nothing to do under the claim",
    );
}

/// Else a claim would be taken, found useless and given back in each cycle, for ever.
#[test]
fn steps_without_a_container_take_no_claim() {
    let given_back = |mut given: Given| {
        given = given.labels(&["agent-claimed", "status: idle"]);
        given.seen.local.claim = None;
        given.seen.look.leases.clear();
        given
    };
    check(
        &given_back(never_began(SANDBOX_RETRY_AFTER / 2)),
        "wait: no container to run in: no image",
    );
    check(
        &given_back(without_an_engine(verified(None))),
        "wait: no container to run in: no engine",
    );
    check(&given_back(never_began(SANDBOX_RETRY_AFTER)), "claim: free");
}

#[test]
fn steps_that_found_no_container_are_begun_anew_after_a_while_under_the_same_name() {
    let young = never_began(SANDBOX_RETRY_AFTER / 2).labels(&["status: idle"]);
    check(&young, "release: nothing to do under the claim");
    let by_order = never_began(SANDBOX_RETRY_AFTER / 2).with(|given| given.seen.order.now = true);
    check(&by_order, "start run: start the verify steps");
    check(
        &never_began(SANDBOX_RETRY_AFTER),
        "start run: start the verify steps",
    );
}

#[test]
fn a_setup_that_found_no_container_does_not_claim_again_at_once() {
    let setup = |ago| {
        let mut status = ended(RunEnd::SandboxUnavailable, None);
        let now = snapshot().now();
        if let RunStatus::Ended(exit) = &mut status {
            exit.note = Some("no image".to_owned());
            exit.ended_at = now - ago;
        }
        snapshot().run(RunKind::Setup, status)
    };
    check(
        &setup(SANDBOX_RETRY_AFTER / 2),
        "wait: no container to run in: no image",
    );
    check(&setup(SANDBOX_RETRY_AFTER), "claim: free");
}

#[test]
fn what_ran_out_of_memory_did_fail() {
    let given = verified(Some(ended(RunEnd::OutOfMemory, None)));
    check(&given, "write state: verify failed");
}

/// An agent's run in a container, with its box.
fn boxed(run: RunStatus) -> Given {
    let mut given = in_phase(Phase::Implement)
        .worktree()
        .open_run(RunKind::Implement, Some(run))
        .working();
    for run in &mut given.seen.local.runs {
        run.agent_box = Some("/runs/box".into());
    }
    given
}

#[test]
fn what_an_agent_did_in_its_box_comes_out_before_its_end_is_judged() {
    for end in [
        succeeded(),
        failed(),
        ended(RunEnd::TotalTimeout, None),
        ended(RunEnd::SupervisorDied, None),
    ] {
        check(
            &boxed(end),
            "take over the box: bring the agent's work out of its box",
        );
    }
    check(
        &boxed(running()),
        "wait: implement runs since 2026-01-02 12:00:00 UTC",
    );
}

/// An agent that found no container did nothing: it is begun again and counted once.
#[test]
fn an_agent_without_a_container_costs_nothing() {
    let mut status = ended(RunEnd::SandboxUnavailable, None);
    let now = verified(None).now();
    if let RunStatus::Ended(exit) = &mut status {
        exit.ended_at = now - SANDBOX_RETRY_AFTER;
    }
    check(&boxed(status.clone()), "start run: start the agent");
    if let RunStatus::Ended(exit) = &mut status {
        exit.ended_at = now;
    }
    check(
        &boxed(status),
        "set status label: the labels say something else",
    );
}
