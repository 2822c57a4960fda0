//! t
mod processes;
