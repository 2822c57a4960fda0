//! The nouns. Text in, values out: no I/O, no async, no clock.
//!
//! Everything the decider sees and everything a port hands over is defined here, so that the pure
//! core, the doors and the simulated world speak of the same things.

pub mod agent;
pub mod agent_stream;
pub mod blockers;
pub mod board;
pub mod body;
pub mod checks;
pub mod ci_log;
pub mod claim;
pub mod closing;
pub mod comment;
pub mod fingerprint;
pub mod ids;
pub mod issue;
pub mod labels;
pub mod lease;
pub mod limits;
pub mod local;
pub mod look;
pub mod money;
pub mod mutex;
pub mod outgoing;
pub mod paths;
pub mod phase;
pub mod pr;
pub mod repo;
pub mod rules;
pub mod run;
pub mod sandbox;
pub mod secrets;
pub mod state;
pub mod trust;
