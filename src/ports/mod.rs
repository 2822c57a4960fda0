//! The doors: what ghswarm asks of the world, in its own nouns. No vendor types, no logic.
//!
//! Every door answers in the same three kinds of failure, since the engine does three things.

pub mod backlog;
pub mod clock;
pub mod containers;
pub mod events;
pub mod folders;
pub mod git;
pub mod github;
pub mod memory;
pub mod overview;
pub mod processes;
pub mod ref_ways;
pub mod runs;

use crate::model::ids::Timestamp;

/// Why a request to the outside did not give an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    /// It did not happen, and the other side says why: decide again.
    #[error("{what}: {message}")]
    Refused {
        /// What was asked, as a fragment: "merge pull request #12".
        what: String,
        /// Which refusal, where it has a name.
        refusal: Refusal,
        /// The other side's words.
        message: String,
    },
    /// It may have happened: look before anything else.
    #[error("{what}: the answer was lost: {message}")]
    Unknown {
        /// What was asked.
        what: String,
        /// What is known.
        message: String,
    },
    /// It did not happen; wait and ask again.
    #[error("{what}: {}: {message}", unavailable(*.retry_at))]
    Unavailable {
        /// What was asked.
        what: String,
        /// What is known.
        message: String,
        /// Too much was asked: not before this time.
        retry_at: Option<Timestamp>,
    },
}

/// Somebody who stops answering for a while is no network that fails.
fn unavailable(retry_at: Option<Timestamp>) -> String {
    match retry_at {
        None => "not reachable".to_owned(),
        Some(at) => format!(
            "over the rate limit of GitHub until {}",
            at.format("%Y-%m-%d %H:%M:%S UTC")
        ),
    }
}

/// Refusals that have a name, because something else is done about each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// The token is missing, wrong or expired (401).
    Unauthorised,
    /// The token may not do this (403 without a rate limit).
    Forbidden,
    /// No such thing, or not for this token (404, 410).
    NotFound,
    /// Not where it was looked at: a stale head, a stale ref (409).
    Stale,
    /// It exists already (422 of a create).
    Exists,
    /// The request is not acceptable for another reason (422, 400, 405).
    Invalid,
    /// The repository has no commit yet.
    RepositoryEmpty,
    /// The repository is read-only.
    RepositoryArchived,
    /// The token may not write contents.
    NoContentsWrite,
    /// Refs outside `refs/heads` and `refs/tags` are not allowed here.
    RefsRestricted,
    /// The local side refuses: git, the file system, a lock.
    Local,
}

/// Result of a door.
pub type PortResult<T> = Result<T, PortError>;

impl PortError {
    /// A refusal.
    pub fn refused(what: impl Into<String>, refusal: Refusal, message: impl Into<String>) -> Self {
        Self::Refused {
            what: what.into(),
            refusal,
            message: message.into(),
        }
    }

    /// An unknown outcome.
    pub fn unknown(what: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Unknown {
            what: what.into(),
            message: message.into(),
        }
    }

    /// Not reachable.
    pub fn unavailable(
        what: impl Into<String>,
        message: impl Into<String>,
        retry_at: Option<Timestamp>,
    ) -> Self {
        Self::Unavailable {
            what: what.into(),
            message: message.into(),
            retry_at,
        }
    }

    /// Not before this time, where too much was asked.
    pub fn retry_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unavailable { retry_at, .. } => *retry_at,
            Self::Refused { .. } | Self::Unknown { .. } => None,
        }
    }

    /// Which refusal it is, if it is one.
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Refused { refusal, .. } => Some(*refusal),
            Self::Unknown { .. } | Self::Unavailable { .. } => None,
        }
    }
}
