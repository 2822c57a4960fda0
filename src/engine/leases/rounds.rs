//! How every verb moves a lease: decide on what was read, swap exactly that, and read again where the swap was
//! refused or its answer lost.

use super::Leases;
use crate::model::ids::{RefName, Sha, Timestamp};
use crate::model::lease::{LeaseCommit, RefSwap, SwapOutcome};
use crate::ports::github::NewCommit;
use crate::ports::{PortError, PortResult};

/// A ref that moved is read again so often; each round has another winner.
const ROUNDS_MAX: u32 = 8;

/// A lease as it was read, and GitHub's clock then.
pub(super) type Read = (Timestamp, Option<LeaseCommit>);

/// What follows from a reading.
pub(super) enum Next<T> {
    /// This is the answer; nothing is moved.
    Answer(T),
    /// The ref is moved to this commit, and then this is the answer.
    Move(NewCommit, T),
    /// The ref is removed, and then this is the answer.
    Remove(T),
}

impl Leases {
    /// `decide` is asked about each reading, and told what the answer would have been to a move whose own
    /// answer was lost: what it finds then may be its doing.
    pub(super) async fn move_lease<T: Clone>(
        &self,
        (name, what): (&RefName, &str),
        mut read: Read,
        decide: impl Fn(&Read, Option<&T>) -> Next<T>,
    ) -> PortResult<T> {
        let mut unanswered: Option<T> = None;
        for _ in 0..ROUNDS_MAX {
            let (new, answer) = match decide(&read, unanswered.as_ref()) {
                Next::Answer(answer) => return Ok(answer),
                Next::Move(new, answer) => (Some(new), answer),
                Next::Remove(answer) => (None, answer),
            };
            let before = read.1.map(|commit| commit.oid);
            match self.swap((name, new.as_ref()), before).await {
                Ok(SwapOutcome::Swapped) => return Ok(answer),
                Ok(SwapOutcome::Stale) => {}
                Err(PortError::Unknown { .. }) => unanswered = Some(answer),
                Err(error) => return Err(error),
            }
            read = self.read(name).await?;
        }
        let message = "the ref moved again and again";
        Err(PortError::unavailable(what, message, None))
    }

    /// One swap of a lease's ref from what was read, to a new commit or to nothing.
    pub(super) async fn swap(
        &self,
        (name, new): (&RefName, Option<&NewCommit>),
        before: Option<Sha>,
    ) -> PortResult<SwapOutcome> {
        let after = match new {
            Some(new) => Some(self.doors.github.create_commit(new).await?.0),
            None => None,
        };
        let swap = RefSwap {
            name: name.clone(),
            before,
            after,
        };
        self.doors.github.swap_refs(&[swap]).await
    }
}
