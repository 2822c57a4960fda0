//! One at a time in a clone: what touches shared refs, the configuration or the list of worktrees.
//!
//! git itself takes a lock for each of these, but fails at once when it is held ("could not lock
//! config file"), so two `git worktree add` at the same time would lose one.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};

use crate::ports::clock::Clock;
use crate::ports::{PortError, PortResult};

use super::local;

/// How often a held lock is tried again.
const RETRY_EVERY: Duration = Duration::from_millis(25);

/// The queue for one clone.
pub(super) struct Serial {
    // Those of this process queue here, so that only one of them polls the file.
    queue: Mutex<()>,
    file: &'static str,
    wait_max: Duration,
    clock: Arc<dyn Clock>,
}

/// Our turn, until dropped.
pub(super) struct Turn<'a> {
    _queue: MutexGuard<'a, ()>,
    // Held for its lock: closing the file frees it.
    _file: File,
}

impl Serial {
    pub(super) fn new(file: &'static str, wait_max: Duration, clock: Arc<dyn Clock>) -> Self {
        Self {
            queue: Mutex::new(()),
            file,
            wait_max,
            clock,
        }
    }

    /// Waits for the turn. `common` is the clone's common git folder: all its worktrees, all homes.
    pub(super) async fn turn(&self, common: &Path) -> PortResult<Turn<'_>> {
        let queue = self.queue.lock().await;
        let path = common.join(self.file);
        let what = || format!("lock `{}`", path.display());
        // Never unlinked: whoever held the old file would not exclude who makes a new one.
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|e| local(what(), &e))?;
        let until = self.clock.boot_time().saturating_add(self.wait_max);
        loop {
            match file.try_lock() {
                Ok(()) => {
                    return Ok(Turn {
                        _queue: queue,
                        _file: file,
                    });
                }
                Err(TryLockError::WouldBlock) if self.clock.boot_time() < until => {
                    self.clock.sleep(RETRY_EVERY).await;
                }
                Err(TryLockError::WouldBlock) => {
                    let words = "another ghswarm works in this clone for too long";
                    return Err(PortError::unavailable(what(), words, None));
                }
                Err(TryLockError::Error(e)) => return Err(local(what(), &e)),
            }
        }
    }
}
