//! Signals that end a foreground command.

use tokio::signal::unix::{SignalKind, signal};

use super::error::CommandError;

/// Which signal came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Signal {
    /// The exit status that says so.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// Waits for one.
pub async fn wait() -> Result<Signal, CommandError> {
    let listen =
        |kind| signal(kind).map_err(|error| CommandError::bug("cannot listen for signals", error));
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    Ok(tokio::select! {
        _ = interrupt.recv() => Signal::Interrupt,
        _ = terminate.recv() => Signal::Terminate,
    })
}
