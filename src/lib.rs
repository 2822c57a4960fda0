//! ghswarm: carries GitHub issues with a written spec, unattended, from spec to merged.

pub mod adapters;
pub mod cli;
pub mod comments;
pub mod config;
pub mod decide;
pub mod engine;
pub mod model;
pub mod ports;
pub mod prompts;
pub mod sim;
