//! What the doors of `ports` open onto: the real things. Each adapter knows its vendor and no other
//! adapter; none decides anything.

pub mod github;
