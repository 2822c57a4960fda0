//! Red checks, cheapest mend first: the failed jobs run once more; what is red on the base as well is mended
//! there; only then an agent is paid.

use crate::model::checks::{Check, CommitChecks};
use crate::model::labels::Status;
use crate::model::limits::RERUN_SHOWS_WITHIN;
use crate::model::pr::PullRequest;
use crate::model::rules::RequiredCheck;
use crate::model::run::RunKind;
use crate::model::state::BlockedReason;

use super::checks::{Verdict, is_red, judge};
use super::effect::Effect;
use super::signals::ClaimLabel;
use super::view::View;
use super::{Decision, Why, runs};

/// What is done about these red checks of the pull request.
pub(super) fn mend(view: &View<'_>, pr: &PullRequest, names: &[String]) -> Decision {
    let red: Vec<&Check> = red_of(&pr.checks, names).collect();
    rerun(view, pr, &red)
        .or_else(|| by_base(view, pr, names))
        .unwrap_or_else(|| fix(view, pr, names))
}

/// The red checks that count.
fn red_of<'a>(checks: &'a CommitChecks, names: &'a [String]) -> impl Iterator<Item = &'a Check> {
    let counts = move |check: &&Check| is_red(check.outcome) && names.contains(&check.name);
    checks.checks.iter().filter(counts)
}

/// Once a head. Commit statuses of other systems have nothing that could be run again.
fn rerun(view: &View<'_>, pr: &PullRequest, red: &[&Check]) -> Option<Decision> {
    let state = &view.state;
    let asked = state
        .rerun_at
        .filter(|_| state.rerun_sha.as_ref() == Some(&pr.head_sha));
    let Some(asked) = asked else {
        let mut runs: Vec<u64> = red.iter().filter_map(|c| Some(c.job?.run)).collect();
        runs.sort_unstable();
        runs.dedup();
        return (!runs.is_empty()).then(|| ask_for_rerun(view, pr, runs));
    };
    let until = asked + RERUN_SHOWS_WITHIN;
    let old = |check: &&Check| check.job.is_some() && check.ended_at.is_none_or(|at| at <= asked);
    let waits = view.now < until && red.iter().any(old);
    waits.then(|| {
        let sha = pr.head_sha.clone();
        rest(view, Decision::wait_until(until, Why::RerunAsked { sha }))
    })
}

fn ask_for_rerun(view: &View<'_>, pr: &PullRequest, runs: Vec<u64>) -> Decision {
    let mut state = view.next_state();
    state.rerun_sha = Some(pr.head_sha.clone());
    state.rerun_at = Some(view.now);
    let noting = Box::new(view.state_write(state, Vec::new()));
    let sha = pr.head_sha.clone();
    view.under_claim(Effect::RerunJobs { noting, runs }, Why::JobsFailed { sha })
}

/// What is red on the base is not this branch's fault: it is waited for, and taken over once it is mended.
fn by_base(view: &View<'_>, pr: &PullRequest, names: &[String]) -> Option<Decision> {
    let Some(base) = &view.seen.base_checks else {
        return Some(Decision::wait(Why::BaseUnknown));
    };
    let noted = view.state.base_red_sha.as_ref() == Some(&pr.head_sha);
    let there: Vec<RequiredCheck> = names.iter().map(|name| anyones(name)).collect();
    let red = match judge(base, &there) {
        Verdict::Red(red) => red,
        Verdict::NoneYet
        | Verdict::Pending { .. }
        | Verdict::Missing(_)
        | Verdict::Green
        | Verdict::Unclear(_)
        | Verdict::NothingRan => Vec::new(),
    };
    if names.iter().all(|name| red.contains(name)) {
        let (names, sha) = (red, base.sha.clone());
        let why = Why::BaseRed { names, sha };
        if noted {
            return Some(rest(view, Decision::wait(why)));
        }
        let mut state = view.next_state();
        state.base_red_sha = Some(pr.head_sha.clone());
        return Some(view.write(state, why));
    }
    let mended = noted && red.is_empty();
    mended.then(|| take_over_base(view, pr))
}

fn anyones(name: &str) -> RequiredCheck {
    RequiredCheck {
        name: name.to_owned(),
        app: None,
    }
}

/// The branch gets what mended the base. Where it has that already its jobs get another try.
fn take_over_base(view: &View<'_>, pr: &PullRequest) -> Decision {
    let mut state = view.next_state();
    state.base_red_sha = None;
    state.rerun_sha = None;
    state.rerun_at = None;
    state.head_since = Some(view.now);
    let effect = Effect::UpdateBranch {
        pr: pr.number,
        head: pr.head_sha.clone(),
        noting: Some(Box::new(view.state_write(state, Vec::new()))),
    };
    view.under_claim(effect, Why::BaseMended)
}

/// The agent gets the logs, as often as the configuration allows.
fn fix(view: &View<'_>, pr: &PullRequest, names: &[String]) -> Decision {
    let (max, done) = (view.policy.ci_fixes_max, view.state.ci_fix_retries);
    let at = pr.head_sha.short();
    if done >= max {
        let after = match (max, done) {
            (0, _) | (_, 0) => String::new(),
            (_, done) => format!(" after {done} fixes (`ci_fix_max_retries`)"),
        };
        let detail = format!("red at {at}{after}: {}", names.join(", "));
        return view.block(BlockedReason::CiFailed, detail);
    }
    let why = Why::ChecksRed {
        names: names.to_vec(),
        sha: pr.head_sha.clone(),
    };
    runs::reserve_for(view, RunKind::Implement, Some(&pr.head_sha), |state| {
        state.ci_fix_retries = done.saturating_add(1);
        state.ci_fix_sha = Some(pr.head_sha.clone());
        state.iteration = 0;
        why
    })
}

/// What the agent left is what was red before: another try would be the same.
pub(super) fn unchanged(view: &View<'_>, head: &crate::model::ids::Sha) -> Option<Decision> {
    (view.state.ci_fix_sha.as_ref() == Some(head)).then(|| {
        let detail = format!(
            "the agent was to mend the checks that are red at {} and changed nothing",
            head.short()
        );
        let mut state = view.next_state();
        state.next_action = crate::model::phase::Phase::WaitCi;
        view.mark_blocked(&mut state, BlockedReason::CiFailed, detail);
        let reason = BlockedReason::CiFailed;
        view.write(state, Why::Blocking { reason })
    })
}

fn rest(view: &View<'_>, decision: Decision) -> Decision {
    view.rest(Status::Idle, ClaimLabel::Keep, decision)
}
