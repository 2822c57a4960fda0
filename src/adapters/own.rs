//! Processes that this process started for its own sake. A supervisor freezes and ends whatever descends
//! from it, since that is the run; the git that renews its lease is not, and would renew nothing while
//! it is frozen.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

static OWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn own() -> MutexGuard<'static, BTreeSet<i32>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that a process is ours, until dropped.
pub(super) struct Own(Option<i32>);

impl Own {
    /// `id` is the child's; `None`: it has been waited for already.
    pub(super) fn child(id: Option<u32>) -> Self {
        let pid = id.and_then(|id| i32::try_from(id).ok());
        own().extend(pid);
        Self(pid)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            own().remove(&pid);
        }
    }
}

/// All of them at this moment.
pub(super) fn all() -> BTreeSet<i32> {
    own().clone()
}
