//! State writes: replace only our block, prove it by the answer, bring the checkpoint along.

use crate::decide::Snapshot;
use crate::decide::effect::StateWrite;
use crate::model::body::{self, BodyChange, StateBlock};
use crate::model::run::{RunFacts, RunStatus};
use crate::ports::github::{IssueChange, Look};
use crate::ports::{PortError, PortResult, Refusal};

use super::super::settings::RepoEngine;
use super::Performed;
use super::signals::note_comment;

/// Says of a write that GitHub took it and has another text. Where it always does, the text holds something
/// that GitHub does not keep.
pub(in crate::engine) const READS_BACK: &str = "the body reads back differently";

/// Whether the issue is closed with the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    Yes,
    No,
}

impl RepoEngine {
    pub(super) async fn perform_write(
        &self,
        seen: &Snapshot,
        write: &StateWrite,
    ) -> PortResult<Performed> {
        let look = self.write_body(seen, write, Closing::No).await?;
        let written = Snapshot {
            look: look.clone(),
            ..seen.clone()
        };
        self.keep_hint(Self::number(seen)?, &written);
        // Results that the state no longer waits for were seen: their supervisors may go.
        let running = |run: &RunFacts| matches!(run.status, RunStatus::Running { .. });
        if write.state.open_run.is_none() && !seen.local.runs.iter().any(running) {
            self.world.runs.relieve(Self::number(seen)?)?;
        }
        Ok(Performed::Known(Box::new(look)))
    }

    pub(super) async fn perform_close(
        &self,
        seen: &Snapshot,
        write: &StateWrite,
    ) -> PortResult<Performed> {
        let look = self.write_body(seen, write, Closing::Yes).await?;
        Ok(Performed::Known(Box::new(look)))
    }

    async fn write_body(
        &self,
        seen: &Snapshot,
        write: &StateWrite,
        closing: Closing,
    ) -> PortResult<Look> {
        let proof = self.proof(seen)?;
        let issue = Self::issue(seen)?;
        let mut state = write.state.clone();
        state.blocked_detail = state.blocked_detail.map(|text| self.redact(&text));
        state.wait_reason = state.wait_reason.map(|text| self.redact(&text));
        state.pending_questions = state.pending_questions.map(|text| self.redact(&text));
        let checkpoint = self.checkpoint_text(seen, &state)?;
        let change = IssueChange {
            body: Self::new_body(&issue.body, write, &state)?,
            close: closing == Closing::Yes,
            comment: write.mirror.map(|id| (id, checkpoint.clone())),
        };
        let mut look = seen.look.clone();
        if change != IssueChange::default() {
            let after = self
                .world
                .github
                .update_issue(&proof, issue.number, &change)
                .await?;
            note_change(&mut look, &change, after)?;
        }
        if let Some(id) = write.mirror {
            note_comment(&mut look, seen, id, checkpoint);
        } else if write.checkpoint_only || write.state.needs_witness() {
            // Without a copy the block would not be believed.
            let id = self
                .post_checkpoint(issue.number, &proof, None, &checkpoint)
                .await?;
            note_comment(&mut look, seen, id, checkpoint);
        }
        Ok(look)
    }

    /// The body to send; `None` where only the checkpoint is written and nothing is ticked.
    fn new_body(
        old: &str,
        write: &StateWrite,
        state: &crate::model::state::IssueState,
    ) -> PortResult<Option<String>> {
        if write.checkpoint_only && write.ticks.is_empty() {
            return Ok(None);
        }
        let change = BodyChange {
            state: (!write.checkpoint_only).then_some(state),
            pr_url: write.pr_url.as_deref().filter(|_| !write.checkpoint_only),
            tick: &write.ticks,
        };
        let damaged = matches!(body::parse(old).state, StateBlock::Invalid { .. });
        let made = if damaged {
            body::restore(old, &change)
        } else {
            body::rewrite(old, &change)
        };
        made.map(Some).map_err(|error| {
            PortError::refused("write the state", Refusal::Invalid, error.to_string())
        })
    }
}

/// Proves a write by what GitHub answered, and enters it into the look.
fn note_change(look: &mut Look, change: &IssueChange, after: String) -> PortResult<()> {
    if let Some(sent) = change.body.as_ref().filter(|sent| **sent != after) {
        return Err(unproved(sent, &after));
    }
    if let Some(issue) = look.issue.as_mut() {
        issue.body = after;
        issue.open &= !change.close;
    }
    Ok(())
}

/// GitHub took the write and has another text: it normalised something, or somebody was faster.
fn unproved(sent: &str, got: &str) -> PortError {
    let at = sent
        .bytes()
        .zip(got.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    PortError::unknown("write the state", format!("{READS_BACK} from byte {at} on"))
}
