//! The real things behind the doors. The only users of vendor crates; they never call one another or
//! the engine.

pub mod clock;
pub mod processes;
