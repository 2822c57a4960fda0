//! The last word about a run: the files it left, what its agents said, `exit.json`. What a full disk refuses
//! is tried again, for the run is paid for; the caller keeps the lease meanwhile.

use std::time::Duration;

use crate::model::limits::{LAST_WORD_EVERY, LAST_WORD_WAIT_MAX};
use crate::model::run::RunExit;
use crate::ports::processes::LeftFiles;
use crate::ports::{PortError, PortResult};

use super::Parts;
use super::keeper::{Keeper, Standing};
use super::tally::Tally;

/// What the last word is made of.
pub(super) struct LastWord<'a> {
    pub parts: &'a Parts<'a>,
    pub keeper: &'a Keeper<'a>,
    pub tally: &'a Tally<'a>,
}

impl LastWord<'_> {
    /// Says it, or gives up after hours.
    pub(super) async fn say(&self, exit: &mut RunExit) -> PortResult<()> {
        let until = self.parts.clock.boot_time() + LAST_WORD_WAIT_MAX;
        let left = if exit.success() {
            LeftFiles::Keep
        } else {
            LeftFiles::SetAside
        };
        // First, since whoever sees `exit.json` reads them.
        let files = || self.parts.processes.take_left_files(left);
        if let Err(error) = self.until_written(until, files).await {
            add_note(&mut exit.note, error.to_string());
        }
        // These may come later: what the run did must not hang on them.
        self.tally.settle();
        self.until_written(until, || self.parts.processes.finish(exit))
            .await
    }

    /// Tries again while there is no room, unless nobody wants to know any more.
    async fn until_written(
        &self,
        until: Duration,
        write: impl Fn() -> PortResult<()>,
    ) -> PortResult<()> {
        let mut told = false;
        loop {
            let error = match write() {
                Ok(()) => return Ok(()),
                Err(error @ PortError::Unavailable { .. }) => error,
                Err(error) => return Err(error),
            };
            if self.parts.clock.boot_time() >= until || self.is_in_vain() {
                return Err(error);
            }
            if !told {
                told = true;
                tracing::warn!("{error}; trying again until there is room");
            }
            self.parts.clock.sleep(LAST_WORD_EVERY).await;
        }
    }

    fn is_in_vain(&self) -> bool {
        let over = match self.keeper.standing() {
            Standing::Lost(_) | Standing::Released => true,
            Standing::Good | Standing::Late => false,
        };
        over || self.parts.processes.asked().stop
    }
}

fn add_note(note: &mut Option<String>, more: String) {
    *note = Some(match note.take() {
        Some(before) => format!("{before}; {more}"),
        None => more,
    });
}
