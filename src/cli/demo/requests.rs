//! What the demo's issue cost in API requests, phase by phase. Counting only.

use serde::{Deserialize, Serialize};

use crate::model::body::{StateBlock, parse};
use crate::sim::github::model::Issue;
use crate::sim::github::{Op, RequestRecord};

/// The requests of one phase of the issue's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseRequests {
    /// The phase that the state block named when they came; `blocked` where it was that.
    pub phase: String,
    /// How many; git's transport left out.
    pub requests: u64,
}

/// In the order of the issue's life. Every request is in one of them.
pub fn by_phase(issue: &Issue, requests: &[RequestRecord]) -> Vec<PhaseRequests> {
    let first = |phase: &str| PhaseRequests {
        phase: phase.to_owned(),
        requests: 0,
    };
    // GitHub's times are whole seconds, so the writes of the body lead from phase to phase.
    let mut edits = issue.edits.iter().skip(1);
    let (mut phases, mut now) = (Vec::new(), first("start"));
    for request in requests {
        if matches!(request.op, Op::GitFetch | Op::GitPush) {
            continue;
        }
        now.requests += 1;
        if request.op == Op::UpdateIssue
            && let Some(text) = edits.next().and_then(|edit| edit.text.as_ref())
            && let StateBlock::Found { state, .. } = parse(text).state
            && state.phase != now.phase
        {
            phases.push(std::mem::replace(&mut now, first(&state.phase)));
        }
    }
    phases.push(now);
    phases
}
