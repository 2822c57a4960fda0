//! Times and circles of issues as reasons say them.

use std::fmt;

use crate::model::ids::{IssueNumber, Timestamp};

pub(super) fn day(time: Timestamp) -> impl fmt::Display {
    time.format("%Y-%m-%d %H:%M UTC")
}

pub(super) fn circle(f: &mut fmt::Formatter<'_>, issues: &[IssueNumber]) -> fmt::Result {
    f.write_str("a dependency cycle: ")?;
    for issue in issues {
        write!(f, "#{issue} waits for ")?;
    }
    match issues.first() {
        Some(first) => write!(f, "#{first}"),
        None => f.write_str("itself"),
    }
}

/// With its day: reasons are read later, too, in comments and events.
pub(super) fn clock(time: Timestamp) -> impl fmt::Display {
    time.format("%Y-%m-%d %H:%M:%S UTC")
}
