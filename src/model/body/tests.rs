//! What a body says and how it is rewritten, by example and by property.

mod properties;
mod reading;
mod rewriting;
mod verify;

use super::*;
use crate::model::ids::{BranchName, Epoch, IssueNumber, RepoId};
use crate::model::phase::Phase;

fn state() -> IssueState {
    IssueState {
        repo_id: Some(RepoId(77)),
        issue: Some(IssueNumber(42)),
        rev: 3,
        epoch: Some(Epoch(1_764_497_000)),
        phase: "implement".to_owned(),
        next_action: Phase::Implement,
        branch_name: Some(BranchName::new("issue-42").unwrap()),
        ..IssueState::default()
    }
}

fn with_state(body: &str, state: &IssueState) -> String {
    rewrite(
        body,
        &BodyChange {
            state: Some(state),
            ..BodyChange::default()
        },
    )
    .unwrap()
}

fn found(body: &str) -> IssueState {
    match parse(body).state {
        StateBlock::Found { state, .. } => *state,
        other @ (StateBlock::Absent | StateBlock::Newer { .. } | StateBlock::Invalid { .. }) => {
            panic!("{other:?} in {body}")
        }
    }
}

fn steps(body: &str) -> Vec<(Option<String>, String)> {
    match parse(body).verify {
        VerifyBlock::Steps(steps) => steps.into_iter().map(|s| (s.path, s.command)).collect(),
        other @ (VerifyBlock::Missing | VerifyBlock::Invalid { .. }) => {
            panic!("{other:?} in {body}")
        }
    }
}

fn verify_of(yaml: &str) -> String {
    format!("Text\n\n<!-- GHSWARM_VERIFY_START\n{yaml}\nGHSWARM_VERIFY_END -->\n")
}

fn verify_error(yaml: &str) -> (String, usize, usize) {
    match parse(&verify_of(yaml)).verify {
        VerifyBlock::Invalid {
            message,
            line,
            column,
        } => (message, line, column),
        other @ (VerifyBlock::Missing | VerifyBlock::Steps(_)) => panic!("{other:?} in {yaml}"),
    }
}

fn tasks(body: &str) -> Vec<(String, bool)> {
    parse(body)
        .tasks
        .into_iter()
        .map(|task| (task.text, task.done))
        .collect()
}

const SPEC: &str = "Please add a flag.\n\n<!-- GHSWARM_VERIFY_START\nverify:\n  - cargo test\n  - cargo clippy\nGHSWARM_VERIFY_END -->\n\n- [ ] Write it\n- [x] Think\n";

impl VerifyBlock {
    fn is_steps(&self) -> bool {
        matches!(self, Self::Steps(_))
    }
}
