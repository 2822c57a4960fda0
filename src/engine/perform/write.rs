//! State writes: replace only our block, prove it by the answer, bring the checkpoint along.

use crate::decide::Snapshot;
use crate::decide::effect::StateWrite;
use crate::model::body::{self, BodyChange, StateBlock};
use crate::model::run::RunStatus;
use crate::ports::github::IssueChange;
use crate::ports::{PortError, PortResult, Refusal};

use super::super::settings::RepoEngine;
use super::Performed;

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
        self.write_body(seen, write, Closing::No).await?;
        // Results that the state no longer waits for were seen: their supervisors may go.
        let open = write.state.open_run.as_ref();
        let live = seen
            .local
            .runs
            .iter()
            .any(|r| matches!(r.status, RunStatus::Running { .. }));
        if open.is_none() && !live {
            self.world.runs.relieve(Self::number(seen)?)?;
        }
        Ok(Performed::LookAgain)
    }

    pub(super) async fn perform_close(
        &self,
        seen: &Snapshot,
        write: &StateWrite,
    ) -> PortResult<Performed> {
        self.write_body(seen, write, Closing::Yes).await?;
        Ok(Performed::LookAgain)
    }

    async fn write_body(
        &self,
        seen: &Snapshot,
        write: &StateWrite,
        closing: Closing,
    ) -> PortResult<()> {
        let proof = self.proof(seen)?;
        let issue = Self::issue(seen)?;
        let mut state = write.state.clone();
        state.blocked_detail = state.blocked_detail.map(|text| self.redact(&text));
        state.pending_questions = state.pending_questions.map(|text| self.redact(&text));
        let checkpoint = self.checkpoint_text(seen, &state)?;
        let body = self.new_body(&issue.body, write, &state)?;
        let change = IssueChange {
            body: body.clone(),
            close: closing == Closing::Yes,
            comment: write.mirror.map(|id| (id, checkpoint.clone())),
        };
        if change != IssueChange::default() {
            let after = self
                .world
                .github
                .update_issue(&proof, issue.number, &change)
                .await?;
            if let Some(body) = body.filter(|body| *body != after) {
                return Err(unproved(&body, &after));
            }
        }
        if write.mirror.is_none() && write.checkpoint_only {
            self.post_checkpoint(seen, &proof, None, &state).await?;
        }
        Ok(())
    }

    /// The body to send; `None` where only the checkpoint is written and nothing is ticked.
    fn new_body(
        &self,
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

/// GitHub took the write and has another text: it normalised something, or somebody was faster.
fn unproved(sent: &str, got: &str) -> PortError {
    let at = sent
        .bytes()
        .zip(got.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    PortError::unknown(
        "write the state",
        format!("the body reads back differently from byte {at} on"),
    )
}
