//! Which state counts (protocol.md, sections 1 and 8): the state block proves nothing by itself, since
//! whoever may edit the issue may write one. It counts together with the checkpoint's copy, a comment
//! that only we write. Where there is no copy, facts say how far the work is.

use crate::model::body::{ParsedBody, StateBlock, parse};
use crate::model::comment::Checkpoint;
use crate::model::ids::{BranchName, RefName};
use crate::model::issue::Issue;
use crate::model::money::Spent;
use crate::model::phase::Phase;
use crate::model::pr::{PrState, PullRequest};
use crate::model::state::IssueState;
use crate::model::trust::TextTrust;

use super::view::StateSource;
use super::{Policy, Snapshot};

/// What a state is judged by.
pub(super) struct Evidence<'a> {
    pub(super) seen: &'a Snapshot,
    pub(super) policy: &'a Policy,
    pub(super) issue: &'a Issue,
    /// The checkpoint that nobody but its author wrote.
    pub(super) checkpoint: Option<&'a Checkpoint>,
    pub(super) trust: &'a TextTrust,
}

/// The state that counts, and where it comes from.
pub(super) fn resolve(evidence: &Evidence<'_>, body: &ParsedBody) -> (IssueState, StateSource) {
    let copy = evidence.copy();
    // Where others may write the body, its block proves nothing: the checkpoint's copy is the state.
    if !matches!(evidence.trust, TextTrust::Trusted) {
        return copy.map_or_else(
            || (IssueState::default(), StateSource::Fresh),
            |state| (state, StateSource::Checkpoint),
        );
    }
    match &body.state {
        StateBlock::Newer { version } => (IssueState::default(), StateSource::Newer(*version)),
        StateBlock::Found { state, .. } if evidence.may_be_here(state) => {
            evidence.judge(state, copy)
        }
        StateBlock::Invalid {
            message,
            line,
            column,
        } => copy.map_or_else(
            || {
                let source = StateSource::Damaged {
                    message: message.clone(),
                    line: *line,
                    column: *column,
                };
                (IssueState::default(), source)
            },
            |copy| (copy, StateSource::Restored),
        ),
        // A copied or transferred issue carries another one's state: that is no state at all.
        StateBlock::Absent | StateBlock::Found { .. } => match copy {
            Some(copy) => (copy, StateSource::Restored),
            None => evidence.rebuilt_from_pull_request(),
        },
    }
}

impl Evidence<'_> {
    /// The checkpoint's copy. One that was posted with the claim, before any state was written,
    /// restores nothing.
    fn copy(&self) -> Option<IssueState> {
        self.checkpoint
            .and_then(|checkpoint| checkpoint.state.clone())
            .filter(|state| state.rev > 0 && state.belongs_to(self.seen.repo.id, self.issue.number))
    }

    fn may_be_here(&self, state: &IssueState) -> bool {
        !state.belongs_elsewhere(self.seen.repo.id, self.issue.number)
    }

    fn judge(&self, block: &IssueState, copy: Option<IssueState>) -> (IssueState, StateSource) {
        if self.is_our_next_write(block) {
            return (block.clone(), StateSource::Body);
        }
        match copy {
            // The same write, read in two places.
            Some(copy) if copy.rev == block.rev && copy.agrees_with(block) => {
                (block.clone(), StateSource::Body)
            }
            // An older one comes from an old browser tab, any other from who may edit the issue.
            Some(copy) => (copy, StateSource::Restored),
            None => self.without_witness(block),
        }
    }

    /// The process died between the write of the body and that of the checkpoint: the block is one ahead,
    /// and it was the operator's edit that brought it.
    fn is_our_next_write(&self, block: &IssueState) -> bool {
        let copy = self.checkpoint.and_then(|c| c.state.as_ref());
        let ahead = |copy: &IssueState| {
            block.rev == copy.rev.saturating_add(1)
                && block.extra_agent_runs == copy.extra_agent_runs
                && block.granted_at == copy.granted_at
                && block.limited_runs <= copy.limited_runs.saturating_add(1)
        };
        block.belongs_to(self.seen.repo.id, self.issue.number)
            && copy.is_some_and(ahead)
            && self.brought_by_us(block)
    }

    fn brought_by_us(&self, block: &IssueState) -> bool {
        let edits = &self.seen.look.edits;
        let carries = |text: &str| matches!(parse(text).state, StateBlock::Found { state, .. } if *state == *block);
        let brought = edits
            .iter()
            .find(|edit| edit.text.as_deref().is_some_and(carries));
        // GitHub keeps no text of some edits: then the newest one has to be ours.
        let brought = brought.or(edits.last().filter(|edit| edit.text.is_none()));
        let editor = brought.and_then(|edit| edit.editor.as_ref());
        editor.is_some_and(|editor| editor.login == self.seen.repo.operator)
    }

    /// A block that no copy speaks for: of Python ghswarm, forged, or ours after somebody deleted the
    /// checkpoint. Counters are kept, a grant of more runs is not, and the phase is what facts prove.
    fn without_witness(&self, block: &IssueState) -> (IssueState, StateSource) {
        let ours = block.belongs_to(self.seen.repo.id, self.issue.number);
        let mut state = IssueState {
            branch_name: self.believed_branch(block),
            extra_agent_runs: 0,
            limited_runs: 0,
            granted_at: Spent::default(),
            open_run: None,
            asked_in: None,
            head_sha: None,
            verified_sha: None,
            head_since: None,
            merge_commit_sha: None,
            merged_at: None,
            closed: false,
            wait_until: None,
            resumed_at: block.resumed_at.filter(|at| *at <= self.seen.look.at),
            ..block.clone()
        };
        if ours && !block.needs_witness() {
            return (state, StateSource::Body);
        }
        state.next_action = self.proven(&state);
        if !state.is_blocked() {
            state.next_action.name().clone_into(&mut state.phase);
        }
        (state, StateSource::Restored)
    }

    /// How far the work is for certain. What was merged speaks for itself (`View::phase`); what was only
    /// pushed is reviewed and verified by us before it goes any further.
    fn proven(&self, state: &IssueState) -> Phase {
        match state.next_action {
            Phase::Start | Phase::Implement | Phase::WaitForClarification => state.next_action,
            Phase::Simplify
            | Phase::AiReview
            | Phase::CreatePr
            | Phase::WaitCi
            | Phase::VerifyMerge
            | Phase::Done => {
                if self.is_pushed(state) {
                    Phase::AiReview
                } else {
                    Phase::Implement
                }
            }
        }
    }

    fn is_pushed(&self, state: &IssueState) -> bool {
        let branch = state.branch_name.clone();
        let branch = branch.or_else(|| self.policy.branch(self.issue.number));
        branch.is_some_and(|branch| {
            let head = RefName::of_branch(&branch);
            self.seen.look.refs.contains_key(&head)
        })
    }

    /// The branch is what is pushed to and merged: another one than the configured has to bear the
    /// issue's number, and must not be the base.
    fn believed_branch(&self, block: &IssueState) -> Option<BranchName> {
        let branch = block.branch_name.as_ref()?;
        let base = Some(branch) == self.seen.base.as_ref()
            || Some(branch) == self.seen.repo.default_branch.as_ref();
        let text = branch.to_string();
        let numbered = text
            .strip_suffix(&self.issue.number.to_string())
            .is_some_and(|before| !before.ends_with(|c: char| c.is_ascii_digit()));
        let usual = self.policy.branch(self.issue.number);
        let believed = !base && (numbered || Some(branch) == usual.as_ref());
        believed.then(|| branch.clone())
    }

    /// Neither block nor checkpoint: an open pull request of ours says that it is not a fresh issue.
    fn rebuilt_from_pull_request(&self) -> (IssueState, StateSource) {
        let ours = self.seen.look.prs.iter().find(|pr| self.opened_by_us(pr));
        let Some(pr) = ours else {
            return (IssueState::default(), StateSource::Fresh);
        };
        let mut state = IssueState {
            pr_number: Some(pr.number),
            pr_url: Some(pr.url.clone()),
            branch_name: Some(pr.head_ref.clone()),
            next_action: Phase::AiReview,
            ..IssueState::default()
        };
        Phase::AiReview.name().clone_into(&mut state.phase);
        (state, StateSource::Restored)
    }

    fn opened_by_us(&self, pr: &PullRequest) -> bool {
        let operator = &self.seen.repo.operator;
        pr.state == PrState::Open
            && pr.head_repo == Some(self.seen.repo.id)
            && Some(&pr.base_ref) == self.seen.base.as_ref()
            && pr.author.as_ref().is_some_and(|a| a.login == *operator)
    }
}
