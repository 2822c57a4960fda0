//! ghswarm: carries GitHub issues from spec to merged.

pub mod config;
pub mod model;
