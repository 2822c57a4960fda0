//! Derived data of this home that may vanish at any time: listing cursor, repository facts.
//!
//! Nothing that decides anything may be kept here: losing it costs requests, never safety.

/// A small store of named JSON texts.
pub trait Memory: Send + Sync {
    /// The text stored under `name`, if it is there and readable.
    fn load(&self, name: &str) -> Option<String>;

    /// Stores it. What cannot be stored is a warning in the log, never an error, and stays known to this
    /// process: a failure that is counted must count where the disk is what fails.
    fn save(&self, name: &str, text: &str);

    /// Why this home cannot be written now, with what to do about it.
    fn unwritable(&self) -> Option<String> {
        None
    }
}
