//! Where an issue stands, and which moves there are.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A phase of an issue's life. `blocked` is not one: a blocked issue keeps the phase it resumes at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing was done yet.
    Start,
    /// The agent works on the open tasks; verify steps judge the result.
    Implement,
    /// A second agent makes the change smaller, if one is configured.
    Simplify,
    /// A reviewing agent reads the diff with a fresh context.
    AiReview,
    /// The branch is pushed and the pull request opened.
    CreatePr,
    /// Checks and approval are awaited; the merge ends the phase.
    WaitCi,
    /// The merge commit's own checks are awaited.
    VerifyMerge,
    /// Merged, checked, closed.
    Done,
    /// The agent asked a question that a person has to answer.
    WaitForClarification,
}

impl Phase {
    /// Every phase, in the order of an issue's life.
    pub const ALL: [Self; 9] = [
        Self::Start,
        Self::Implement,
        Self::Simplify,
        Self::AiReview,
        Self::CreatePr,
        Self::WaitCi,
        Self::VerifyMerge,
        Self::Done,
        Self::WaitForClarification,
    ];

    /// The word used in the state block, in messages and in logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Implement => "implement",
            Self::Simplify => "simplify",
            Self::AiReview => "ai_review",
            Self::CreatePr => "create_pr",
            Self::WaitCi => "wait_ci",
            Self::VerifyMerge => "verify_merge",
            Self::Done => "done",
            Self::WaitForClarification => "wait_for_clarification",
        }
    }

    /// The transition table: may an issue move from this phase to `next` in one state write?
    /// Staying is always allowed. Facts may pull any unfinished phase to `verify_merge` (somebody
    /// merged the pull request), to `wait_ci` (it exists already) and back to `implement`; a pull request
    /// that is gone, or was closed, leads from `wait_ci` back to `create_pr`; a head that nobody reviewed
    /// leads from there back to `ai_review`.
    pub fn may_become(self, next: Self) -> bool {
        use Phase::{
            AiReview, CreatePr, Done, Implement, Simplify, Start, VerifyMerge, WaitCi,
            WaitForClarification,
        };
        if self == next {
            return true;
        }
        if self == Done {
            return next == Implement;
        }
        match next {
            Start => false,
            Implement | WaitCi | VerifyMerge => true,
            Simplify => matches!(self, Implement | WaitForClarification),
            AiReview => matches!(self, Implement | Simplify | WaitForClarification | CreatePr),
            WaitForClarification => matches!(self, Implement | Simplify | AiReview),
            CreatePr => matches!(self, AiReview | WaitCi),
            Done => self == VerifyMerge,
        }
    }

    /// Does the phase hold a lease only while an effect is performed?
    pub fn waits(self) -> bool {
        matches!(
            self,
            Self::WaitCi | Self::VerifyMerge | Self::Done | Self::WaitForClarification
        )
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
