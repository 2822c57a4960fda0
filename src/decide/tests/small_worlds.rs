//! Every combination of a few facts that matter together: phase × run × pull request × checks × claim ×
//! trust × blocked × label, and the rules that no decision may break in any of them.

use std::fmt::Write as _;

use super::given::*;
use super::told;
use crate::decide::checks::{Verdict, judge};
use crate::decide::effect::StateWrite;
use crate::decide::{Decision, Effect, Why};
use crate::model::checks::CheckOutcome;
use crate::model::ids::{RepoId, Sha};
use crate::model::issue::Association;
use crate::model::lease::LeaseMessage;
use crate::model::phase::Phase;
use crate::model::pr::{Mergeable, PrState};
use crate::model::run::{RunEnd, RunKind, RunStatus};
use crate::model::state::{BlockedReason, IssueState};

/// The product has more worlds than are decided in some seconds: only every so manieth one is taken,
/// more of them in a release build. A stride shares no factor with any dimension, so that values of all
/// dimensions still meet.
const STRIDE: usize = if cfg!(debug_assertions) { 2003 } else { 31 };

/// The same for whole lives, which are longer.
const LIFE_STRIDE: usize = if cfg!(debug_assertions) { 6007 } else { 101 };

/// Effects in a row before the core has to wait for something.
pub(super) const CHAIN_MAX: usize = 30;

/// Waits that the world answers before everything has to be over.
const ANSWERS_MAX: usize = 15;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Run {
    None,
    Missing,
    Reserved,
    Running,
    Succeeded,
    Failed,
    Died,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Pr {
    None,
    SameHead,
    OtherHead,
    Draft,
    Conflicting,
    Merged,
    Closed,
    Forks,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Claim {
    None,
    WithSlot,
    WithoutSlot,
    WithoutLease,
    Lost,
    ForeignLive,
    ForeignExpired,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Trust {
    Trusted,
    Untrusted,
}

#[derive(Debug, Clone, Copy)]
struct Small {
    phase: Phase,
    run: Run,
    pr: Pr,
    checks: &'static [CheckOutcome],
    claim: Claim,
    trust: Trust,
    blocked: Option<BlockedReason>,
    label: &'static str,
}

const RUNS: [Run; 7] = [
    Run::None,
    Run::Missing,
    Run::Reserved,
    Run::Running,
    Run::Succeeded,
    Run::Failed,
    Run::Died,
];
const PRS: [Pr; 8] = [
    Pr::None,
    Pr::SameHead,
    Pr::OtherHead,
    Pr::Draft,
    Pr::Conflicting,
    Pr::Merged,
    Pr::Closed,
    Pr::Forks,
];
const CLAIMS: [Claim; 7] = [
    Claim::None,
    Claim::WithSlot,
    Claim::WithoutSlot,
    Claim::WithoutLease,
    Claim::Lost,
    Claim::ForeignLive,
    Claim::ForeignExpired,
];
const CHECKS: [&[CheckOutcome]; 6] = [
    &[],
    &[CheckOutcome::Success, CheckOutcome::Pending],
    &[CheckOutcome::Success, CheckOutcome::Skipped],
    &[CheckOutcome::Success, CheckOutcome::Failure],
    &[CheckOutcome::Success, CheckOutcome::Cancelled],
    &[CheckOutcome::Skipped, CheckOutcome::Neutral],
];
const BLOCKED: [Option<BlockedReason>; 3] = [
    None,
    Some(BlockedReason::AgentFailed),
    Some(BlockedReason::Clarification),
];
const LABELS: [&str; 5] = [
    "status: idle",
    "status: blocked",
    "status: busy-claude",
    "status: completed",
    "",
];

fn small_worlds(stride: usize) -> impl Iterator<Item = Small> {
    let sizes = [
        Phase::ALL.len(),
        RUNS.len(),
        PRS.len(),
        CHECKS.len(),
        CLAIMS.len(),
        2,
        BLOCKED.len(),
        LABELS.len(),
    ];
    let total: usize = sizes.iter().product();
    assert!(sizes.iter().all(|size| !stride.is_multiple_of(*size)));
    (0..total).step_by(stride).map(move |index| {
        let mut rest = index;
        let mut next = |size: usize| {
            let digit = rest % size;
            rest /= size;
            digit
        };
        Small {
            phase: Phase::ALL[next(sizes[0])],
            run: RUNS[next(sizes[1])],
            pr: PRS[next(sizes[2])],
            checks: CHECKS[next(sizes[3])],
            claim: CLAIMS[next(sizes[4])],
            trust: [Trust::Trusted, Trust::Untrusted][next(sizes[5])],
            blocked: BLOCKED[next(sizes[6])],
            label: LABELS[next(sizes[7])],
        }
    })
}

impl Small {
    fn given(self) -> Given {
        let mut given = in_phase(self.phase).worktree().pushed();
        given = self.with_run(given);
        given = self.with_pr(given);
        if let Some(reason) = self.blocked {
            given = given.blocked(reason);
        }
        given = match self.claim {
            Claim::None => given,
            Claim::WithSlot => given.working(),
            Claim::WithoutSlot => given.claimed(),
            Claim::WithoutLease => given.recorded(),
            Claim::Lost => given.recorded().lease(OTHER_CLAIM, 300, 1),
            Claim::ForeignLive => given.lease(OTHER_CLAIM, 300, 1),
            Claim::ForeignExpired => given.lease(OTHER_CLAIM, 300, 60),
        };
        if self.trust == Trust::Untrusted {
            // The state lives in the checkpoint alone then.
            given.issue().association = Association::None;
            given.checkpoint = Some(Checkpoint {
                state: given.state.clone().unwrap_or_default(),
                claim: None,
            });
        }
        if self.label.is_empty() {
            given.labels(&[])
        } else {
            given.labels(&[self.label])
        }
    }

    fn with_run(self, given: Given) -> Given {
        // The write that reserves a run leaves `start`.
        if self.phase == Phase::Start {
            return given;
        }
        let kind = match self.phase {
            Phase::Simplify => RunKind::Simplify,
            Phase::AiReview => RunKind::Review,
            Phase::Start
            | Phase::Implement
            | Phase::CreatePr
            | Phase::WaitCi
            | Phase::VerifyMerge
            | Phase::Done
            | Phase::WaitForClarification => RunKind::Implement,
        };
        let status = match self.run {
            Run::None => return given,
            Run::Missing => None,
            Run::Reserved => Some(RunStatus::Reserved),
            Run::Running => Some(running()),
            Run::Succeeded => Some(succeeded()),
            Run::Failed => Some(failed()),
            Run::Died => Some(ended(RunEnd::SupervisorDied, None)),
        };
        given.open_run(kind, status)
    }

    fn with_pr(self, given: Given) -> Given {
        if self.pr == Pr::None {
            return given;
        }
        let mut given = given.pr(|pr| {
            pr.checks = checks(HEAD, self.checks);
            match self.pr {
                Pr::None | Pr::SameHead => {}
                Pr::OtherHead => {
                    pr.head_sha = sha('d');
                    pr.checks = checks('d', self.checks);
                }
                Pr::Draft => pr.draft = true,
                Pr::Conflicting => pr.mergeable = Mergeable::Conflicting,
                Pr::Merged => {
                    pr.state = PrState::Merged {
                        commit: sha('e'),
                        at: start_time(),
                    };
                }
                Pr::Closed => pr.state = PrState::Closed,
                Pr::Forks => pr.head_repo = Some(RepoId(99)),
            }
        });
        if self.pr == Pr::OtherHead {
            // Somebody pushed.
            let refs = &mut given.seen.look.refs;
            refs.insert(crate::model::ids::RefName::of_branch(&branch()), sha('d'));
            given.seen.remote_contained = Some(false);
        }
        if self.pr == Pr::Merged {
            given.seen.look.merge_checks = Some(checks('e', self.checks));
        }
        given
    }
}

/// What the facts themselves say of our claim, without the core's help.
fn holds_lease(given: &Given) -> bool {
    let commit = given.seen.look.leases.get(&lease_ref());
    let carried = commit
        .and_then(|commit| LeaseMessage::parse(&commit.message))
        .and_then(|message| message.claim);
    let ours = given
        .seen
        .local
        .claim
        .as_ref()
        .map(|record| record.claim.clone());
    ours.is_some() && carried == ours
}

fn may_merge(given: &Given, head: &Sha) -> Result<(), &'static str> {
    let pr = given.seen.look.prs.iter().find(|pr| {
        pr.state == PrState::Open && pr.head_sha == *head && pr.head_repo == Some(RepoId(1))
    });
    let pr = pr.ok_or("no open pull request of ours has that head")?;
    if pr.draft {
        return Err("it is a draft");
    }
    if pr.mergeable != Mergeable::Yes {
        return Err("it does not merge cleanly");
    }
    if pr.checks.sha != *head {
        return Err("the checks are another commit's");
    }
    let verified = given
        .state
        .as_ref()
        .and_then(|state| state.verified_sha.clone());
    let required = given.seen.rules.clone().unwrap_or_default().required;
    match judge(&pr.checks, &required) {
        Verdict::Green => Ok(()),
        Verdict::NoneYet | Verdict::NothingRan if verified.as_ref() == Some(head) => Ok(()),
        Verdict::NoneYet
        | Verdict::Pending { .. }
        | Verdict::Red(_)
        | Verdict::Unclear(_)
        | Verdict::Missing(_)
        | Verdict::NothingRan => Err("its checks are not green"),
    }
}

fn written(effect: &Effect) -> Option<&StateWrite> {
    if let Effect::WriteState(write) | Effect::CloseIssue(write) = effect {
        Some(write)
    } else {
        None
    }
}

/// Counters go down by their own success and by a person's resume alone.
fn counters(old: &IssueState, new: &IssueState, why: &Why) -> Result<(), &'static str> {
    let success = matches!(why, Why::RunEnded { ok: true, .. } | Why::Resumed);
    if new.rev != old.rev + 1 {
        return Err("`rev` does not go up by one");
    }
    if new.total_agent_runs < old.total_agent_runs || new.extra_agent_runs < old.extra_agent_runs {
        return Err("the spend falls");
    }
    if new.total_agent_runs > old.total_agent_runs + 1 {
        return Err("one write reserves two runs");
    }
    if new.epoch == old.epoch && new.attempt < old.attempt {
        return Err("`attempt` falls within an epoch");
    }
    if new.epoch < old.epoch {
        return Err("the epoch falls");
    }
    if (new.iteration < old.iteration || new.review_rounds < old.review_rounds) && !success {
        return Err("a phase's counter falls without its success");
    }
    Ok(())
}

/// What is wrong with a decision in this world.
fn broken(given: &Given, decision: &Decision) -> Result<(), String> {
    let (effect, why) = match decision {
        Decision::Do(effect, why) => (effect, why),
        Decision::Finished(_) if given.seen.local.claim.is_some() => {
            return Err("it is finished and our claim stays".to_owned());
        }
        Decision::Wait { why, .. } => {
            let working = matches!(why, Why::RunGoing { .. });
            if holds_lease(given) && !working {
                return Err("it waits under a lease".to_owned());
            }
            return Ok(());
        }
        Decision::Finished(_) => return Ok(()),
    };
    let claiming = matches!(**effect, Effect::Claim(_));
    if effect.is_public() && !claiming && !holds_lease(given) {
        return Err("a public write without our lease".to_owned());
    }
    if let Effect::Merge { head, .. } = &**effect {
        may_merge(given, head)?;
    }
    if let Effect::PushBranch { sha, .. } = &**effect {
        let verified = given.resolved().and_then(|(state, _)| state.verified_sha);
        if verified.as_ref() != Some(sha) {
            return Err("a head that was not verified is pushed".to_owned());
        }
    }
    if let Some(write) = written(effect)
        && let Some((old, phase)) = given.resolved()
    {
        counters(&old, &write.state, why)?;
        let next = write.state.next_action;
        if !old.next_action.may_become(next) && !phase.may_become(next) {
            return Err(format!("`{}` may not become `{next}`", old.next_action));
        }
    }
    Ok(())
}

/// Lets the core act until it waits; what it did, or what is wrong.
pub(super) fn run_until_it_waits(
    given: &mut Given,
    trace: &mut String,
) -> Result<Decision, String> {
    for _ in 0..CHAIN_MAX {
        let decision = given.decide();
        let _ = writeln!(trace, "  {}", told(&decision));
        broken(given, &decision)?;
        let Decision::Do(effect, _) = &decision else {
            return Ok(decision);
        };
        let before = given.clone();
        given.apply(effect);
        given.seen.look.at = before.seen.look.at;
        if *given == before {
            return Err(format!("`{}` changes nothing", effect.name()));
        }
        given.seen.look.at += std::time::Duration::from_secs(1);
    }
    Err(format!("it does not wait within {CHAIN_MAX} effects"))
}

/// Which of the worlds break a rule; the first world of each kind of breakage is told whole.
pub(super) fn all_worlds(stride: usize, judge: impl Fn(Given, &mut String) -> Result<(), String>) {
    let mut wrong: std::collections::BTreeMap<String, (usize, String)> =
        std::collections::BTreeMap::new();
    for small in small_worlds(stride) {
        let mut trace = String::new();
        if let Err(what) = judge(small.given(), &mut trace) {
            let entry = wrong
                .entry(what)
                .or_insert((0, format!("{small:?}\n{trace}")));
            entry.0 += 1;
        }
    }
    let told: Vec<String> = wrong
        .iter()
        .map(|(what, (count, first))| format!("\n{what}: {count} worlds, the first:\n{first}"))
        .collect();
    assert!(wrong.is_empty(), "{}", told.concat());
}

#[test]
fn no_world_breaks_a_rule_before_it_waits() {
    all_worlds(STRIDE, |mut given, trace| {
        run_until_it_waits(&mut given, trace).map(|_| ())
    });
}

/// Over for good, or a person's turn.
fn is_over(decision: &Decision) -> bool {
    match decision {
        Decision::Finished(_) => true,
        Decision::Do(..) => false,
        Decision::Wait { why, .. } => {
            matches!(
                why,
                Why::NotManaged | Why::CompletedByPerson | Why::IssueClosed
            )
        }
    }
}

#[test]
fn every_world_ends_if_its_waits_are_answered() {
    all_worlds(LIFE_STRIDE, |mut given, trace| {
        for _ in 0..ANSWERS_MAX {
            let decision = run_until_it_waits(&mut given, trace)?;
            if is_over(&decision) {
                return Ok(());
            }
            let _ = writeln!(trace, "  …");
            given.answer();
        }
        Err(format!("it is not over after {ANSWERS_MAX} answers"))
    });
}
