//! Derived data of this home that may vanish at any time: listing cursor, repository facts.
//!
//! Nothing that decides anything may be kept here: losing it costs requests, never safety.

/// A small store of named JSON texts.
pub trait Memory: Send + Sync {
    /// The text stored under `name`, if it is there and readable.
    fn load(&self, name: &str) -> Option<String>;

    /// Stores it; a failure is a warning in the log, never an error.
    fn save(&self, name: &str, text: &str);
}
