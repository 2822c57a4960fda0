//! Tests of the whole crate from outside, one binary.

mod adapter_github;
mod contracts;
