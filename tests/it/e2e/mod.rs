//! The whole of ghswarm as people run it: the real binary, real git, real HTTP, scripted agents, a
//! simulated GitHub in this process (which nobody kills). The tests wait for facts, with a limit, and
//! assert no durations.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the tests start and watch other processes by the real clock, and print seeds and counts"
)]

mod agents;
mod claim_race;
pub(crate) mod cycled;
mod demo;
mod frozen;
mod kill;
mod model_api;
mod parallel;
mod planted;
mod probe;
mod proxy;
mod race;
mod real_claude;
mod real_demo;
mod requests;
mod stalled;
pub(crate) mod world;

use std::time::Duration;

/// How long a fact is waited for.
const LIMIT: Duration = Duration::from_secs(90);

/// Waits until `fact` is there.
fn until<T>(what: &str, mut fact: impl FnMut() -> Option<T>) -> T {
    let pause = Duration::from_millis(20);
    for _ in 0..LIMIT.as_millis() / pause.as_millis() {
        if let Some(found) = fact() {
            return found;
        }
        std::thread::sleep(pause);
    }
    panic!("not within {LIMIT:?}: {what}");
}

/// Waits until something is so.
pub(crate) fn until_so(what: &str, is_so: impl FnMut() -> bool) {
    assert!(comes_true(is_so), "not within {LIMIT:?}: {what}");
}

/// Does it become so within the limit?
fn comes_true(mut is_so: impl FnMut() -> bool) -> bool {
    let pause = Duration::from_millis(20);
    (0..LIMIT.as_millis() / pause.as_millis()).any(|_| {
        let so = is_so();
        if !so {
            std::thread::sleep(pause);
        }
        so
    })
}

/// How many rounds: few in the suite, many by `just`.
pub(crate) fn rounds(few: u64) -> u64 {
    number_from_env("GHSWARM_ROUNDS").unwrap_or(few)
}

/// The seed of a random test: a new one each time, or the one to be replayed.
fn seed() -> u64 {
    let seed = number_from_env("GHSWARM_SEED").unwrap_or_else(|| rand::random::<u64>() >> 32);
    println!("replay with GHSWARM_SEED={seed}");
    seed
}

pub(crate) fn number_from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
