//! What the doors of `ports` open onto: the real things, and the only users of vendor crates. No
//! adapter calls another one or the engine; none decides anything.

pub mod clock;
pub mod docker;
pub mod events;
mod files;
pub mod folders;
pub mod git;
pub mod github;
pub mod locks;
pub mod memory;
pub mod mutex;
mod own;
pub mod processes;
