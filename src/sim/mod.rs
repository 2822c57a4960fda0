//! The world in memory.
