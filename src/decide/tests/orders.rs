//! Labels of people are orders, also those that were put on just before ours; and no end leaves a label
//! that says somebody is at work.

use super::given::*;
use super::{check, told};
use crate::decide::{Decision, Effect};
use crate::model::phase::Phase;

#[test]
fn a_busy_label_put_on_after_a_persons_order_does_not_take_it_back() {
    for (order, expect) in [
        ("status: blocked", "write state: by_person"),
        (
            "status: completed",
            "set status label: a person says it is completed",
        ),
    ] {
        let given = in_phase(Phase::Implement).worktree().working();
        let given = given
            .labels(&[])
            .labelled(order, "ann")
            .labelled("status: busy-claude", "op");
        check(&given, expect);
    }
}

#[test]
fn a_blocked_label_that_a_resume_has_not_taken_off_yet_is_no_order() {
    let given = in_phase(Phase::Implement).worktree().working();
    let mut given = given.labels(&[]).labelled("status: blocked", "op");
    let resumed = given.now();
    given = given
        .labelled("status: busy-claude", "op")
        .state(|state| state.resumed_at = Some(resumed));
    let Decision::Do(effect, _) = given.decide() else {
        panic!("{}", told(&given.decide()));
    };
    assert!(!matches!(*effect, Effect::StopRun(_)));
    assert_ne!(told(&given.decide()), "write state: by_person");
}

/// What is done until the lease is given back.
fn ends(mut given: Given) -> (String, Vec<String>) {
    let mut trace = Vec::new();
    for _ in 0..10 {
        let decision = given.decide();
        trace.push(told(&decision));
        let Decision::Do(effect, _) = decision else {
            break;
        };
        given.apply(&effect);
    }
    let labels = given.issue().labels.clone();
    (trace.join("\n"), labels)
}

#[test]
fn who_stops_for_a_label_or_a_closed_issue_leaves_one_status_label() {
    let working = || in_phase(Phase::Implement).worktree().working();
    let held = working().with(|given| given.issue().labels.push("do-not-dispatch".to_owned()));
    let (trace, labels) = ends(held);
    assert_eq!(labels, ["do-not-dispatch", "status: idle"], "{trace}");
    let closed = working().with(|given| given.issue().open = false);
    let (trace, labels) = ends(closed);
    assert_eq!(labels, ["status: idle"], "{trace}");
    let completed = working().labelled("status: completed", "ann");
    let (trace, labels) = ends(completed);
    assert_eq!(labels, ["status: completed"], "{trace}");
    let newer = working().with(|given| {
        given.state = None;
        given.damage = Some("<!-- GHSWARM_STATE_START\n{\"v\":2}\nGHSWARM_STATE_END -->\n".into());
    });
    let (trace, labels) = ends(newer);
    assert_eq!(labels, ["status: idle"], "{trace}");
}
