//! The small worlds once more, with a state block that somebody else wrote.

use std::fmt::Write as _;

use super::given::*;
use super::small_worlds::{CHAIN_MAX, all_worlds};
use super::told;
use crate::decide::{Decision, Effect};
use crate::model::phase::Phase;
use crate::model::state::IssueState;

/// Fewer worlds than without forgeries, since each is decided once for every kind of forgery.
const FORGED_STRIDE: usize = if cfg!(debug_assertions) { 6007 } else { 101 };

/// What somebody who may edit the body, and nothing else, can do in such a world.
#[derive(Debug, Clone, Copy)]
enum Forgery {
    /// A block without our marks.
    Anonymous,
    /// One with all marks, and no checkpoint.
    Alone,
    /// One with all marks, the checkpoint says that work begins.
    Changed,
    /// The same one write ahead.
    Ahead,
}

const FORGERIES: [Forgery; 4] = [
    Forgery::Anonymous,
    Forgery::Alone,
    Forgery::Changed,
    Forgery::Ahead,
];

fn forged(mut given: Given, forgery: Forgery) -> Given {
    let state = given.state.clone().unwrap_or_default();
    given.alone = true;
    given.brought_by = Some("ann");
    let mut copy = in_phase(Phase::Implement).state.unwrap_or_default();
    copy.rev = state.rev;
    match forgery {
        Forgery::Anonymous => {
            given.checkpoint = None;
            given.state(|state| {
                *state = IssueState {
                    repo_id: None,
                    issue: None,
                    rev: 0,
                    epoch: None,
                    claim: None,
                    verified_sha: Some(sha(HEAD)),
                    ..state.clone()
                };
            })
        }
        Forgery::Alone => {
            given.checkpoint = None;
            given
        }
        Forgery::Changed | Forgery::Ahead => {
            if matches!(forgery, Forgery::Ahead) {
                copy.rev -= 1;
            }
            given.checkpoint = Some(Checkpoint {
                state: copy,
                claim: None,
            });
            given
        }
    }
}

#[test]
fn no_forged_block_leads_to_a_merge_or_a_push_before_our_own_review() {
    for forgery in FORGERIES {
        all_worlds(FORGED_STRIDE, |given, trace| {
            let mut given = forged(given, forgery);
            // What ran here under our claim did run.
            given.seen.local.runs.clear();
            for _ in 0..CHAIN_MAX {
                let decision = given.decide();
                let _ = writeln!(trace, "  {}", told(&decision));
                let Decision::Do(effect, _) = &decision else {
                    return Ok(());
                };
                if matches!(**effect, Effect::Merge { .. } | Effect::PushBranch { .. }) {
                    return Err(format!("{forgery:?} leads to `{}`", effect.name()));
                }
                given.apply(effect);
            }
            Err(format!("it does not wait within {CHAIN_MAX} effects"))
        });
    }
}
