//! Tests of the whole crate from outside, one binary.

#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    clippy::needless_pass_by_value,
    reason = "a test that meets what it did not expect shall stop there, and its helpers read best \
              with plain values"
)]

mod adapter_github;
mod adapter_sim;
mod claims;
mod cli;
mod contracts;
mod crash;
mod docker;
mod e2e;
mod engine_looks;
mod every_order;
mod interleave;
mod lease;
mod lease_races;
mod mutex;
mod probe;
mod processes;
mod random;
mod stories;
mod world;
