//! What goes wrong on the command line, and the exit status that says which kind it is.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use crate::ports::PortError;

/// The kinds, each with its documented exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Wrong arguments.
    Usage = 2,
    /// A wrong configuration.
    Config = 3,
    /// GitHub, git, the file system, an agent's program.
    Outside = 4,
    /// Our own mistake.
    Bug = 70,
}

/// An error at the edge: what, why, and the next command.
#[derive(Debug)]
pub struct CommandError {
    kind: Kind,
    what: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    details: Vec<String>,
    hints: Vec<String>,
}

impl CommandError {
    /// An error of a kind; `what` is a lower-case fragment.
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            source: None,
            details: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// An error whose words a process that we started has said already.
    pub fn told(kind: Kind) -> Self {
        Self::new(kind, "")
    }

    /// Has somebody else said what it is?
    pub fn is_told(&self) -> bool {
        self.what.is_empty()
    }

    /// The outside world refused or failed.
    pub fn outside(
        what: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self {
            source: Some(source.into()),
            ..Self::new(Kind::Outside, what)
        }
    }

    /// A mistake of ghswarm.
    pub fn bug(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            source: Some(source.into()),
            ..Self::new(Kind::Bug, what)
        }
    }

    /// Adds a line that is printed as it is: one of several problems, with its place.
    #[must_use]
    pub fn detail(mut self, line: impl Into<String>) -> Self {
        self.details.push(line.into());
        self
    }

    /// Lines that are printed as they are.
    pub fn details(&self) -> &[String] {
        &self.details
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What to do about it.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The same error as one of the outside world, where another status has a meaning of its own.
    #[must_use]
    pub fn into_outside(mut self) -> Self {
        if self.kind == Kind::Config {
            self.kind = Kind::Outside;
        }
        self
    }

    /// The answer of GitHub that it may be worth waiting for: none came, and the next may.
    pub fn passing(&self) -> Option<&PortError> {
        let error = self.source.as_deref()?.downcast_ref::<PortError>()?;
        matches!(error, PortError::Unavailable { .. }).then_some(error)
    }

    /// The documented exit status.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind as u8)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for CommandError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}
