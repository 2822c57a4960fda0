//! The real things behind the doors. The only users of vendor crates; they never call each other's
//! doors, nor the engine. Which adapter fills which door is decided in `cli` and `main` alone.

pub mod clock;
pub mod events;
mod files;
pub mod folders;
pub mod git;
pub mod locks;
pub mod memory;
