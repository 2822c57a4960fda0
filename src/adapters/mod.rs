//! What the doors of `ports` open onto: the real things, and the only users of vendor crates. No
//! adapter calls another one or the engine; none decides anything.

pub mod clock;
pub mod github;
pub mod processes;
