//! What is wrong with a configuration, and where. It collects and orders; it does not print.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// A place in the file. Lines and columns count from 1; 0 means that the value is not in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Position {
    pub(super) line: u64,
    pub(super) column: u64,
}

/// One thing to mend.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigProblem {
    /// The file.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
    /// What is wrong: a lower-case fragment that names the key. Holds no expanded value.
    pub message: String,
    /// The edit that mends it.
    pub hint: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            message,
            hint: _,
        } = self;
        write!(f, "{}:{line}:{column}: {message}", file.display())
    }
}

/// Everything that is wrong with one file, in the order of its lines. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblems(pub Vec<ConfigProblem>);

impl fmt::Display for ConfigProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigProblems {}

/// What is wrong with one value, before anybody knows where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) hint: String,
}

/// What is wrong alone: nobody is told that without what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told(String);

impl Fault {
    #[expect(clippy::new_ret_no_self, reason = "it is one once it has its hint")]
    pub(super) fn new(message: impl Into<String>) -> Told {
        Told::new(message)
    }
}

impl Told {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Fault {
        Fault {
            message: self.0,
            hint: hint.into(),
        }
    }
}

/// Gathers the problems of one file.
#[derive(Debug)]
pub(super) struct Problems {
    file: PathBuf,
    found: Vec<ConfigProblem>,
    muted: BTreeSet<Position>,
}

impl Problems {
    pub(super) fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            found: Vec::new(),
            muted: BTreeSet::new(),
        }
    }

    /// How many there are so far.
    pub(super) fn count(&self) -> usize {
        self.found.len()
    }

    /// Nothing more is said about this place: what is there is not what will be there.
    pub(super) fn mute(&mut self, at: Position) {
        self.muted.insert(at);
    }

    pub(super) fn add(&mut self, at: Position, fault: Fault) {
        if self.muted.contains(&at) {
            return;
        }
        let Fault { message, hint } = fault;
        let Position { line, column } = at;
        // A value that is not in the file has no place of its own: the top stands for it.
        let (line, column) = (line.max(1), column.max(1));
        let file = self.file.clone();
        self.found.push(ConfigProblem {
            file,
            line,
            column,
            message,
            hint,
        });
    }

    /// `Ok` if nothing was found. A value from `defaults` is looked at once a repository: the
    /// repetitions fall away here.
    pub(super) fn finish(&self) -> Result<(), ConfigProblems> {
        if self.found.is_empty() {
            Ok(())
        } else {
            Err(self.in_order())
        }
    }

    /// For a reader that gives up: something was added just before.
    pub(super) fn into_problems(self) -> ConfigProblems {
        self.in_order()
    }

    fn in_order(&self) -> ConfigProblems {
        let mut found = self.found.clone();
        found.sort_by(|a, b| (a.line, a.column, &a.message).cmp(&(b.line, b.column, &b.message)));
        found.dedup();
        ConfigProblems(found)
    }
}
