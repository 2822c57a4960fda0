//! The crash loop over lives that are not plain: with a set-up, with `simplify`, blocked and resumed,
//! asked and answered, with red checks, with a merge queue. In the suite every so many writes meet a fault, each kind beginning at another
//! one; `just crash` meets all of them.

use ghswarm::sim::github::Fault;
use ghswarm::sim::local::LocalFault;

use super::life::{After, Kind, Remote, Trouble, live_as};
use crate::e2e::number_from_env;

const STRIDE: u64 = 12;

fn every_write_fails_once(kind: Kind) {
    let points = live_as(kind, &Trouble::None, After::SameHome);
    let stride = number_from_env("GHSWARM_STRIDE").unwrap_or(STRIDE);
    let places = |first: u64, all: u64| {
        let first = 1 + first % stride;
        (first..=all).step_by(usize::try_from(stride).unwrap())
    };
    let row = kind as u64;
    let remote = [
        Remote::CrashBefore,
        Remote::CrashAfter,
        Remote::Fault(Fault::CutAfter),
    ];
    for (shift, what) in (0..).zip(remote) {
        for n in places(row + 4 * shift, points.remote) {
            let trouble = Trouble::remote(n, 1, what.clone());
            live_as(kind, &trouble, After::SameHome);
        }
    }
    for (shift, fault) in (0..).zip([LocalFault::CrashBefore, LocalFault::CrashAfter]) {
        for n in places(row + 6 * shift, points.local) {
            live_as(kind, &Trouble::local(n, 1, fault), After::SameHome);
        }
    }
}

#[test]
fn any_write_of_a_life_with_a_set_up_may_fail_once() {
    every_write_fails_once(Kind::WithSetup);
}

#[test]
fn any_write_of_a_life_with_simplify_may_fail_once() {
    every_write_fails_once(Kind::WithSimplify);
}

#[test]
fn any_write_of_a_life_that_is_blocked_and_resumed_may_fail_once() {
    every_write_fails_once(Kind::BlockedAndResumed);
}

#[test]
fn any_write_of_a_life_with_a_question_may_fail_once() {
    every_write_fails_once(Kind::Asked);
}

#[test]
fn any_write_of_a_life_with_red_checks_may_fail_once() {
    every_write_fails_once(Kind::RedTwice);
}

#[test]
fn any_write_of_a_life_through_a_merge_queue_may_fail_once() {
    every_write_fails_once(Kind::Queued);
}
