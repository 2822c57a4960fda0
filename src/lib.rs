//! ghswarm: carries GitHub issues from spec to merged.

pub mod model;
pub mod ports;
pub mod sim;
