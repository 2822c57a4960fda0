//! `ghswarm supervise FOLDER`: the hidden command that a run's supervisor is, and `ghswarm supervise
//! --exec PID SHELL`, which each command of a run begins as. Nobody types either.

use std::io::{Read, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::environment::Env;
use super::wiring;
use crate::adapters::clock::SystemClock;
use crate::adapters::processes::{RunHost, become_command, become_supervisor};
use crate::engine::supervise::{Parts, supervise as run};
use crate::model::secrets::Secrets;
use crate::ports::clock::Clock;
use crate::ports::github::GitHub;

/// The GitHub of a run, and values that do not get into its log.
pub type Connected = (Option<Arc<dyn GitHub>>, Vec<String>);

/// Makes the GitHub of a run out of what the starter handed over; `None` if that names none, which is
/// enough for runs without a lease.
pub type Connect = dyn Fn(&[u8]) -> anyhow::Result<Connected>;

/// Prints why there is no supervisor; the starter quotes the last line.
pub fn complain(error: &anyhow::Error) {
    // Standard error is the folder's `supervisor.log`, and may be on a full disk.
    let _ = writeln!(std::io::stderr(), "error: {error:#}");
}

/// The whole command; `arguments` are those after `supervise`. Errors go to the run folder's
/// `supervisor.log`, which is this process's standard error.
pub fn supervise(arguments: &[String], connect: &Connect) -> anyhow::Result<()> {
    match arguments {
        [exec, parent, shell] if exec == "--exec" => {
            let parent = parent.parse().context("the supervisor's process id")?;
            Err(become_command(parent, shell)).context("cannot start /bin/sh")
        }
        [folder] => supervise_folder(Path::new(folder), connect),
        _ => bail!("`supervise` wants the folder of a run"),
    }
}

fn supervise_folder(folder: &Path, connect: &Connect) -> anyhow::Result<()> {
    // A second subscriber is none: the command line may have set one up.
    let _ = tracing_subscriber::fmt()
        .with_ansi(false)
        // A line that a full disk does not take would be complained about on the same disk, which ends us.
        .log_internal_errors(false)
        .with_writer(std::io::stderr)
        .try_init();
    become_supervisor().context("cannot leave the starter's session")?;
    let handoff = read_handoff()?;
    let exe = std::env::current_exe().context("this program's path")?;
    // One thread: a command's death signal is bound to the thread that started it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let clock = SystemClock;
        let (github, mut secrets) =
            connect(&handoff).context("cannot reach GitHub with what was handed over")?;
        // Before the folder shows a supervisor, which others may signal from then on.
        let signals = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        let host = RunHost::take(folder, Some(exe), clock.now())?;
        // A variable of this process is its commands' variable, too.
        secrets.extend(Env::read().secrets());
        let host = host.with_secrets(Secrets::new(secrets));
        let boxed = host.spec().commands.iter().any(|one| one.sandbox.is_some());
        let host = if boxed {
            host.with_containers(wiring::containers(&Env::read())?)
        } else {
            host
        };
        tokio::spawn(watch(signals, host.stop_flag()));
        let nonce = || format!("{:032x}", rand::random::<u128>());
        let github = github.as_deref();
        let parts = Parts {
            processes: &host,
            clock: &clock,
            github,
            nonce: &nonce,
        };
        run(&parts, host.spec()).await?;
        Ok(())
    })
}

/// What the starter writes, which ends with a newline: without one it was killed while writing, and
/// the run is left to whoever starts it next.
fn read_handoff() -> anyhow::Result<Vec<u8>> {
    let mut handoff = Vec::new();
    std::io::stdin()
        .read_to_end(&mut handoff)
        .context("cannot read the handoff")?;
    if handoff.pop() != Some(b'\n') {
        bail!("the starter was cut off");
    }
    Ok(handoff)
}

/// TERM and INT end the run, not the supervisor: it has its last word to write.
async fn watch((mut term, mut int): (Signal, Signal), stop: Arc<AtomicBool>) {
    loop {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        stop.store(true, Ordering::Release);
    }
}
