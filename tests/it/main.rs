//! Tests of the whole crate from outside, one binary.

mod contracts;
