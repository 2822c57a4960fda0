//! The crash loop: over the whole life of an issue every write fails once in every way, and the
//! issue is done all the same. The laws are checked after every effect.
//!
//! A life has some thirty remote and thirty local writes, so each fault is a test of its own that runs
//! beside the others.

mod kinds;
mod life;

use std::time::Duration;

use ghswarm::sim::github::Fault;
use ghswarm::sim::local::LocalFault;

use life::{After, Remote, Trouble, points};

/// Writes that a life without faults makes. Fewer would mean that the loop misses some.
const REMOTE_POINTS: u64 = 31;
const LOCAL_POINTS: u64 = 26;

fn remote(what: &Remote) {
    for n in 1..=points().remote {
        life::live(&Trouble::remote(n, 1, what.clone()), After::SameHome);
    }
}

fn local(fault: LocalFault) {
    for n in 1..=points().local {
        life::live(&Trouble::local(n, 1, fault), After::SameHome);
    }
}

#[test]
fn a_life_has_as_many_writes_as_we_think() {
    let points = points();
    assert!(points.remote >= REMOTE_POINTS, "{points:?}");
    assert!(points.local >= LOCAL_POINTS, "{points:?}");
}

#[test]
fn a_crash_before_any_remote_write_is_survived() {
    remote(&Remote::CrashBefore);
}

#[test]
fn a_crash_after_any_remote_write_is_survived() {
    remote(&Remote::CrashAfter);
}

#[test]
fn an_answer_lost_before_any_remote_write_is_survived() {
    remote(&Remote::Fault(Fault::CutBefore));
}

#[test]
fn an_answer_lost_after_any_remote_write_does_nothing_twice() {
    remote(&Remote::Fault(Fault::CutAfter));
}

#[test]
fn a_server_error_at_any_remote_write_is_survived() {
    remote(&Remote::Fault(Fault::RefuseBefore(502)));
}

#[test]
fn stale_reads_after_any_remote_write_do_no_harm() {
    remote(&Remote::StaleAfter);
}

#[test]
fn an_outage_that_begins_at_any_remote_write_is_survived() {
    for n in (1..=points().remote).step_by(3) {
        let fault = Remote::Fault(Fault::SecondaryLimit(Duration::from_secs(60)));
        life::live(&Trouble::remote(n, 4, fault), After::SameHome);
    }
}

#[test]
fn a_crash_before_any_local_write_is_survived() {
    local(LocalFault::CrashBefore);
}

#[test]
fn a_crash_after_any_local_write_is_survived() {
    local(LocalFault::CrashAfter);
}

#[test]
fn an_answer_lost_before_any_local_write_is_survived() {
    local(LocalFault::LostBefore);
}

#[test]
fn an_answer_lost_after_any_local_write_does_nothing_twice() {
    local(LocalFault::LostAfter);
}

#[test]
fn a_refusal_of_any_local_write_blocks_with_a_reason_or_is_survived() {
    local(LocalFault::Refuse);
}

#[test]
fn another_home_goes_on_after_a_crash_at_any_remote_write() {
    for n in (1..=points().remote).step_by(2) {
        life::live(
            &Trouble::remote(n, 1, Remote::CrashBefore),
            After::OtherHome,
        );
        life::live(
            &Trouble::remote(n + 1, 1, Remote::CrashAfter),
            After::OtherHome,
        );
    }
}
