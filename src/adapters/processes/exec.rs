//! What a process does to itself: become a supervisor, or become the command of a run. Both happen in
//! a process of our own, so nothing has to run between fork and exec.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, getppid, setsid};

/// The shell of all commands. Absolute, since a run may clear `PATH`.
pub(super) const SHELL: &str = "/bin/sh";

/// Leaves the starter's session, so that neither its terminal nor a signal to its group ends the
/// run, and becomes the parent of everything its descendants leave behind.
pub fn become_supervisor() -> io::Result<()> {
    match setsid() {
        // It leads a group already, that is: it was started by hand or by a test.
        Ok(_) | Err(rustix::io::Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Replaces this process by `sh -c SHELL`, to be killed by the kernel when the supervisor dies.
/// Returns only with an error. (The signal reaches this one process; what it started is swept by the
/// next step, which finds it by its tag.)
pub fn become_command(supervisor: i32, shell: &str) -> io::Error {
    #[cfg(target_os = "linux")]
    if let Err(error) =
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
    {
        return error.into();
    }
    // The supervisor may have died before the kernel was told.
    if getppid() != Pid::from_raw(supervisor) {
        return io::Error::other("the supervisor is gone");
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the adapter that owns child processes"
    )]
    let mut command = Command::new(SHELL);
    command.arg("-c").arg(shell).exec()
}
