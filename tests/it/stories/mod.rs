//! Stories: a person, CI, an agent and ghswarm, told in order. The laws are checked all the while.

mod agents;
mod approval;
mod checks;
mod claims;
mod diffs;
mod gate;
mod happy;
mod money;
mod order;
mod orders;
mod pull_requests;
mod queue;
mod red_ci;
mod spec;
mod text;
mod trouble;
mod trust;
