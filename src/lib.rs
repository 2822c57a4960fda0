//! ghswarm: carries GitHub issues from spec to merged.

pub mod config;
pub mod decide;
pub mod model;
pub mod ports;
