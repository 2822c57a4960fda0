//! What goes wrong again and again for one issue, as this home remembers it: so long as it does the issue
//! is left alone for longer and longer, and what only a person can mend becomes a block.
//!
//! It lies in the home's memory: losing it costs a few more tries, and nothing is written to GitHub for it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::decide::{Effect, Order, Trouble};
use crate::model::fingerprint::without_numbers;
use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::limits::{
    HOME_FULL_WAIT, SAME_TROUBLE_MAX, TROUBLE_WAIT_FIRST, TROUBLE_WAIT_MAX,
};
use crate::model::state::BlockedReason;
use crate::ports::{PortError, Refusal};

use super::perform::READS_BACK;
use super::settings::RepoEngine;

/// What failed for an issue when it was tried last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// The error, redacted.
    pub text: String,
    /// How often in a row.
    pub times: u32,
    /// Since when.
    pub since: Timestamp,
    /// Not tried again before this time.
    pub until: Option<Timestamp>,
    /// The error without its numbers, and what was being done.
    fingerprint: String,
    /// What the issue is blocked as once it failed often enough; without it time may mend it.
    reason: Option<BlockedReason>,
}

/// What was being done when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// The issue was looked at, here and on GitHub.
    Looking,
    /// An effect of this name was performed, which would block as this.
    Effect(&'static str, Option<BlockedReason>),
    /// The same was decided again and again.
    Circling,
}

impl Doing {
    pub(super) fn of(effect: &Effect) -> Self {
        Self::Effect(effect.name(), reason_of(effect))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Looking => "look",
            Self::Effect(name, _) => name,
            Self::Circling => "circle",
        }
    }

    /// As what this failure blocks, if a person has to mend it.
    fn blocks(self, error: &PortError) -> Option<BlockedReason> {
        let reason = match self {
            Self::Looking => Some(BlockedReason::WorktreeFailed),
            Self::Effect(_, reason) => reason,
            Self::Circling => None,
        };
        match error {
            PortError::Refused { refusal, .. } => {
                reason.filter(|_| *refusal == Refusal::Local && reason != UNWRITABLE)
            }
            PortError::Unknown { message, .. } => {
                reason.filter(|_| message.starts_with(READS_BACK) && reason == UNWRITABLE)
            }
            PortError::Unavailable { .. } => None,
        }
    }
}

const UNWRITABLE: Option<BlockedReason> = Some(BlockedReason::BodyTooLarge);

/// Effects whose refusal is told to nobody otherwise. What ends a run, a claim or what is left of a run
/// must never be given up.
fn reason_of(effect: &Effect) -> Option<BlockedReason> {
    match effect {
        Effect::StartRun(_) | Effect::TakeBox(_) => Some(BlockedReason::WorktreeFailed),
        Effect::MarkSetUp => Some(BlockedReason::SetupFailed),
        Effect::WriteState(_) => UNWRITABLE,
        Effect::Claim(_)
        | Effect::Renew
        | Effect::DropClaim
        | Effect::Release
        | Effect::PlaceSignals(_)
        | Effect::MirrorState(_)
        | Effect::SetStatus(_)
        | Effect::Comment(_)
        | Effect::MakeWorktree(_)
        | Effect::StopRun(_)
        | Effect::SweepRuns
        | Effect::CommitWork { .. }
        | Effect::SaveWork { .. }
        | Effect::PushBranch { .. }
        | Effect::OpenPr { .. }
        | Effect::AssignPr(_)
        | Effect::Merge { .. }
        | Effect::Enqueue { .. }
        | Effect::UpdateBranch { .. }
        | Effect::RerunJobs { .. }
        | Effect::FollowBranch { .. }
        | Effect::DeleteRefs(_)
        | Effect::RemoveWorktree { .. }
        | Effect::CloseIssue(_) => None,
    }
}

/// A person's word is a reason to try what was given up.
pub(super) fn wants_a_try(order: &Order) -> bool {
    order.resume || order.now
}

fn name(issue: IssueNumber) -> String {
    format!("trouble-{issue}")
}

impl RepoEngine {
    /// What fails for this issue, if the last try failed.
    pub fn trouble(&self, issue: IssueNumber) -> Option<Remembered> {
        let kept = self.world.memory.load(&name(issue))?;
        serde_json::from_str(&kept).ok()
    }

    /// Until when the issue is left alone.
    pub(super) fn rests(&self, issue: IssueNumber) -> Option<(Timestamp, Remembered)> {
        let trouble = self.trouble(issue)?;
        let until = trouble.until?;
        (self.world.clock.now() < until).then_some((until, trouble))
    }

    /// What a decision has to know of it; nothing where a person wants it tried now.
    pub(super) fn known_trouble(&self, issue: IssueNumber, order: &Order) -> Option<Trouble> {
        // A run that is paid for must find room for what it says.
        if let Some(text) = self.world.memory.unwritable() {
            return Some(Trouble::Rests {
                until: self.world.clock.now() + HOME_FULL_WAIT,
                times: 1,
                text,
            });
        }
        if wants_a_try(order) {
            return None;
        }
        self.rests(issue)
            .map(|(until, trouble)| Trouble::Rests {
                until,
                times: trouble.times,
                text: trouble.text,
            })
            .or_else(|| self.lasting_trouble(issue))
    }

    fn lasting_trouble(&self, issue: IssueNumber) -> Option<Trouble> {
        let trouble = self.trouble(issue)?;
        let reason = trouble.reason?;
        (trouble.times >= SAME_TROUBLE_MAX).then(|| Trouble::Lasts {
            reason,
            text: format!(
                "{} ({} times in a row, the first at {})",
                trouble.text,
                trouble.times,
                trouble.since.format("%Y-%m-%d %H:%M UTC")
            ),
        })
    }

    pub(super) fn note_trouble(&self, issue: IssueNumber, doing: Doing, error: &PortError) {
        let now = self.world.clock.now();
        let text = self.settings.secrets.redact(&error.to_string());
        let fingerprint = format!("{}: {}", doing.name(), without_numbers(&text));
        let before = self.trouble(issue);
        let same = before.filter(|before| before.fingerprint == fingerprint);
        let (times, since) = same.map_or((1, now), |b| (b.times.saturating_add(1), b.since));
        let reason = doing.blocks(error);
        // The try that follows the last one blocks: that has not to wait.
        let blocks = reason.is_some() && times == SAME_TROUBLE_MAX;
        let wait = (!blocks).then(|| wait_after(times)).flatten();
        self.keep_trouble(
            issue,
            Some(&Remembered {
                text,
                times,
                since,
                until: wait.map(|wait| now + wait).max(error.retry_at()),
                fingerprint,
                reason,
            }),
        );
    }

    /// It went well, or a person wants it tried again.
    pub(super) fn forget_trouble(&self, issue: IssueNumber) {
        if self.trouble(issue).is_some() {
            self.keep_trouble(issue, None);
        }
    }

    fn keep_trouble(&self, issue: IssueNumber, trouble: Option<&Remembered>) {
        if let Ok(text) = serde_json::to_string(&trouble) {
            self.world.memory.save(&name(issue), &text);
        }
    }
}

/// How long to leave it alone after so many failures in a row; the first is tried again at once.
fn wait_after(times: u32) -> Option<Duration> {
    let doublings = times.checked_sub(2)?.min(16);
    let wait = TROUBLE_WAIT_FIRST.saturating_mul(1 << doublings);
    Some(wait.min(TROUBLE_WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_its_limit() {
        let seconds = |times| wait_after(times).map(|wait| wait.as_secs());
        assert_eq!(seconds(1), None);
        assert_eq!(seconds(2), Some(30));
        assert_eq!(seconds(3), Some(60));
        assert_eq!(seconds(6), Some(480));
        assert_eq!(seconds(7), Some(900));
        assert_eq!(seconds(u32::MAX), Some(900));
    }
}
