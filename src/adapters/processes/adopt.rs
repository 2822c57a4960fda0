//! A run whose supervisor died while a container worked for it: nothing of the work is lost, so it
//! gets a new supervisor instead of an end.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Child;

use crate::model::limits::SUPERVISORS_OF_A_RUN_MAX;
use crate::model::run::RunSpec;
use crate::ports::PortResult;

use super::folder::{Holder, RunFolder, local, read_json};
use super::{facts, start, table};

/// Did its supervisor die, and does its command run in a container, which goes on without one? After
/// another boot it does not.
pub(super) fn goes_on(folder: &RunFolder) -> io::Result<bool> {
    if folder.exit().try_exists()? || folder.holder()? == Holder::Alive {
        return Ok(false);
    }
    let dead = folder.predecessors()?;
    let of_this_boot = match folder.read_started()? {
        Some(started) => started.boot == table::boot_id(),
        // Whoever wanted to follow it was cut off.
        None => dead > 0,
    };
    if !of_this_boot || dead >= SUPERVISORS_OF_A_RUN_MAX {
        return Ok(false);
    }
    let Ok(spec) = read_json::<RunSpec>(&folder.spec()) else {
        return Ok(false);
    };
    let command = spec.commands.get(facts::current(folder));
    Ok(command.is_some_and(|command| command.sandbox.is_some()))
}

/// Starts the new supervisor, if the run needs one.
pub(super) fn adopt(starter: &start::Starter<'_>, folder: &RunFolder) -> PortResult<Option<Child>> {
    let what = || format!("go on with the run in `{}`", folder.path().display());
    let wrong = |error: io::Error| local(what(), error);
    if !goes_on(folder).map_err(wrong)? {
        return Ok(None);
    }
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.start_lock())
        .map_err(wrong)?;
    lock.lock().map_err(wrong)?;
    // Somebody else may have been first.
    let followed = if goes_on(folder).map_err(wrong)? {
        follow(starter, folder).map(Some)
    } else {
        Ok(None)
    };
    let _ = lock.unlock();
    followed
}

fn follow(starter: &start::Starter<'_>, folder: &RunFolder) -> PortResult<Child> {
    let what = || format!("go on with the run in `{}`", folder.path().display());
    let wrong = |error: io::Error| local(what(), error);
    let mut spec: RunSpec = read_json(&folder.spec()).map_err(wrong)?;
    if let Some(lease) = &mut spec.lease {
        // Nobody renewed it meanwhile: the first thing to do is to ask.
        lease.good_since = None;
    }
    start::write_files(folder, &spec).map_err(wrong)?;
    if folder.started().try_exists().map_err(wrong)? {
        folder.bury().map_err(wrong)?;
    }
    start::launch(starter, folder, &spec)
}
