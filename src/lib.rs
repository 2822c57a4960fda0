//! ghswarm: carries GitHub issues from spec to merged.

pub mod adapters;
pub mod decide;
pub mod model;
pub mod ports;
pub mod sim;
