//! Somebody acts right between an engine's look and its act, at every such place of an issue's whole
//! life: another home, or a person. Afterwards the world comes to rest, nothing is lost and the issue is
//! done, or blocked with a reason, or stopped by the person's order. The laws are checked after every
//! effect.
//!
//! Each test is one row of the table actors × places. A long stand-still of the machine is tried only
//! after looks: between the send of a request and its arrival nothing can help but what GitHub itself
//! compares.

mod life;

use crate::e2e::number_from_env;
use crate::world::Deed;

use life::{Actor, Place, live, places};

/// Places of a life that nobody disturbs. Fewer would mean that the loop misses some.
const LOOKS: u64 = 8;
const WRITES: u64 = 31;
const LOCAL_WRITES: u64 = 26;

/// In the suite every so many places of a kind are met, each actor beginning at another one;
/// `just interleave` meets all of them.
const STRIDE: u64 = 8;

/// The actor, which is the `row`th of the table, at these places, one life each.
fn meddles(row: u64, actor: Actor, kinds: &[fn(u64) -> Place]) {
    let passed = places();
    let stride = number_from_env("GHSWARM_STRIDE").unwrap_or(STRIDE);
    for kind in kinds {
        let all = match kind(1) {
            Place::AfterLook(_) => passed.looks,
            Place::BeforeWrite(_) => passed.writes,
            Place::BeforeLocalWrite(_) => passed.local,
        };
        for nth in (1 + row % stride..=all).step_by(usize::try_from(stride).unwrap()) {
            live(actor, kind(nth));
        }
    }
}

fn person(deed: Deed) {
    let everywhere: [fn(u64) -> Place; 3] = [
        Place::AfterLook,
        Place::BeforeWrite,
        Place::BeforeLocalWrite,
    ];
    let row = Deed::ALL.iter().position(|one| *one == deed).unwrap() as u64;
    meddles(row, Actor::Person(deed), &everywhere);
}

#[test]
fn a_life_has_as_many_places_as_we_think() {
    let passed = places();
    assert!(passed.looks >= LOOKS, "{passed:?}");
    assert!(passed.writes >= WRITES, "{passed:?}");
    assert!(passed.local >= LOCAL_WRITES, "{passed:?}");
}

#[test]
fn another_home_that_steps_in_between_does_nothing_twice() {
    meddles(
        11,
        Actor::OtherHome,
        &[Place::AfterLook, Place::BeforeWrite],
    );
}

#[test]
fn a_machine_that_stands_still_for_longer_than_its_lease_does_no_harm() {
    meddles(12, Actor::StandStill, &[Place::AfterLook]);
}

#[test]
fn words_written_in_between_are_kept_or_said_to_be_lost() {
    person(Deed::Prose);
}

#[test]
fn a_task_added_in_between_is_worked_on_or_said_to_be_lost() {
    person(Deed::AddsTask);
}

#[test]
fn ticks_in_between_do_no_harm() {
    person(Deed::Ticks);
}

#[test]
fn a_commit_pushed_in_between_is_never_overwritten() {
    person(Deed::Pushes);
}

#[test]
fn the_blocked_label_in_between_does_no_harm() {
    person(Deed::Blocks);
}

#[test]
fn the_hold_label_in_between_does_no_harm() {
    person(Deed::Holds);
}

#[test]
fn the_completed_label_in_between_does_no_harm() {
    person(Deed::Completes);
}

#[test]
fn an_issue_taken_out_of_the_swarm_in_between_can_come_back() {
    person(Deed::Unlabels);
}

#[test]
fn an_issue_closed_in_between_is_nobodys_work() {
    person(Deed::Closes);
}

#[test]
fn a_pull_request_closed_in_between_is_opened_again_only_when_a_person_says_so() {
    person(Deed::ClosesPr);
}

#[test]
fn a_merge_by_hand_in_between_is_gone_on_from() {
    person(Deed::Merges);
}
