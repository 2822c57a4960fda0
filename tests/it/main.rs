//! The integration tests, one binary: it links once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod processes;
