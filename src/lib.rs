//! ghswarm: carries GitHub issues from spec to merged.

pub mod adapters;
pub mod cli;
pub mod decide;
pub mod engine;
pub mod model;
pub mod ports;
