//! The core, tested by tables: what was seen goes in, and the decision is read as a sentence.

mod given;
mod phases;
mod small_worlds;
mod world;

use super::Decision;
use given::Given;

/// `write state: blocked as x`, `wait: 2 of 5 checks done`, `finished: done`.
fn told(decision: &Decision) -> String {
    match decision {
        Decision::Do(effect, why) => format!("{}: {why}", effect.name()),
        Decision::Wait { why, .. } => format!("wait: {why}"),
        Decision::Finished(why) => format!("finished: {why}"),
    }
}

#[track_caller]
fn check(given: &Given, expect: &str) {
    assert_eq!(told(&given.decide()), expect);
}
