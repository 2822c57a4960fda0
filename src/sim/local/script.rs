//! What a simulated run does, and when it ends.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::model::agent_stream::AgentReport;
use crate::model::run::{RunEnd, RunSpec};

use super::git::SimWorktree;
use super::objects::Objects;

/// Decides what a run does, when it starts.
pub(super) type Script = Arc<dyn Fn(&Stage<'_>) -> Performance + Send + Sync>;

/// What a script sees of the run it decides about.
pub struct Stage<'a> {
    pub(super) spec: &'a RunSpec,
    pub(super) earlier: usize,
    pub(super) objects: &'a Objects,
    pub(super) worktree: Option<&'a SimWorktree>,
}

impl Stage<'_> {
    /// The whole specification: key, prompt, tasks.
    pub fn spec(&self) -> &RunSpec {
        self.spec
    }

    /// How many runs of this kind this home has started for the issue before.
    pub fn earlier(&self) -> usize {
        self.earlier
    }

    /// A file of the worktree as it lies there, uncommitted changes included.
    pub fn file(&self, path: &str) -> Option<String> {
        let worktree = self.worktree?;
        match worktree.dirty.get(path) {
            Some(text) => text.clone(),
            None => self.objects.file(&worktree.head, path).ok().flatten(),
        }
    }

    /// Does the worktree have the file?
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        path.as_ref()
            .to_str()
            .is_some_and(|path| self.file(path).is_some())
    }
}

/// One thing that a run does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Writes a file in the worktree; `None` deletes it.
    File {
        /// Relative to the worktree.
        path: String,
        /// The whole text.
        text: Option<String>,
    },
    /// Commits everything.
    Commit {
        /// The message.
        message: String,
    },
    /// Leaves a question file.
    Question(String),
    /// Leaves a review file.
    Review(String),
    /// Prints into the log.
    Print(String),
}

/// How long a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// It has ended when its start returns.
    NoTime,
    /// Time of the clock.
    Time(Duration),
    /// It goes on for so many looks at its folder.
    Looks(u32),
    /// Until it is stopped or finished by the test.
    ForEver,
}

/// What a run does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Performance {
    pub(super) at_start: Vec<Act>,
    pub(super) at_end: Vec<Act>,
    pub(super) takes: Takes,
    pub(super) end: RunEnd,
    pub(super) code: Option<i32>,
    pub(super) quarantined: bool,
    pub(super) report: Option<AgentReport>,
}

impl Performance {
    /// Exit status 0, at once.
    pub fn success() -> Self {
        Self::failure(0)
    }

    /// Another exit status, at once.
    pub fn failure(code: i32) -> Self {
        Self {
            at_start: Vec::new(),
            at_end: Vec::new(),
            takes: Takes::NoTime,
            end: RunEnd::Exited,
            code: Some(code),
            quarantined: false,
            report: None,
        }
    }

    /// Ended by its supervisor for this reason.
    pub fn ended(end: RunEnd) -> Self {
        Self {
            end,
            code: None,
            ..Self::failure(0)
        }
    }

    /// Takes so long.
    #[must_use]
    pub fn takes(mut self, takes: Takes) -> Self {
        self.takes = takes;
        self
    }

    /// What its agent says of itself.
    #[must_use]
    pub fn says(mut self, report: AgentReport) -> Self {
        self.report = Some(report);
        self
    }

    /// Something of it survives the kill.
    #[must_use]
    pub fn quarantined(mut self) -> Self {
        self.quarantined = true;
        self
    }

    /// Does this as soon as it starts, so that it is there even if the run is cut off.
    #[must_use]
    pub fn at_start(mut self, act: Act) -> Self {
        self.at_start.push(act);
        self
    }

    /// Does this before it ends.
    #[must_use]
    pub fn act(mut self, act: Act) -> Self {
        self.at_end.push(act);
        self
    }

    /// Writes a file.
    #[must_use]
    pub fn file(self, path: &str, text: &str) -> Self {
        self.act(Act::File {
            path: path.to_owned(),
            text: Some(text.to_owned()),
        })
    }

    /// Commits everything.
    #[must_use]
    pub fn commit(self, message: &str) -> Self {
        self.act(Act::Commit {
            message: message.to_owned(),
        })
    }

    /// Leaves a question.
    #[must_use]
    pub fn question(self, text: &str) -> Self {
        self.act(Act::Question(text.to_owned()))
    }

    /// Leaves a review.
    #[must_use]
    pub fn review(self, text: &str) -> Self {
        self.act(Act::Review(text.to_owned()))
    }

    /// Prints.
    #[must_use]
    pub fn print(self, text: &str) -> Self {
        self.act(Act::Print(text.to_owned()))
    }
}
