//! Steps of one issue: observe, decide, perform one effect, and again, until it waits.

use std::time::Duration;

use crate::decide::{Decision, Effect, Order, Snapshot, Trouble, Why, decide, refused};
use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::limits::{LOOK_FRESH_FOR, STEPS_PER_CYCLE_MAX};
use crate::model::phase::Phase;
use crate::model::state::BlockedReason;
use crate::ports::events::Event;
use crate::ports::github::Look;
use crate::ports::{PortError, PortResult, Refusal};

use super::perform::Performed;
use super::settings::RepoEngine;
use super::trouble::{Doing, Remembered, wants_a_try};

/// After so many lost answers or refusals in a row the issue is left for the next cycle.
const TROUBLE_MAX: u32 = 4;

/// The same effect so many times in a row, each reported as done, goes in a circle.
const SAME_EFFECT_MAX: u32 = 3;

/// The same kind of effect for the same reason so many times in a row goes in a circle too: each
/// write of a state differs from the one before by its number.
const SAME_KIND_MAX: u32 = 6;

/// Where the steps of an issue ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepOutcome {
    /// It waits.
    Waits {
        /// Until when, where that is known.
        until: Option<Timestamp>,
        /// For what.
        why: Why,
    },
    /// Nothing more to do here.
    Finished(Why),
    /// Another process of this home is at it.
    Locked,
    /// Something outside does not answer or refuses.
    Trouble(PortError),
    /// It failed before, so it was left alone.
    Rests {
        /// Until when.
        until: Timestamp,
        /// What failed.
        trouble: Remembered,
    },
    /// `--step`: one effect was performed.
    Stepped {
        /// Its name.
        effect: &'static str,
        /// Why.
        why: Why,
    },
}

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowFar {
    /// Until it waits.
    UntilItWaits,
    /// One effect.
    OneEffect,
    /// Decide only.
    Decide,
}

/// What `advance` saw last.
#[derive(Debug, Clone)]
pub struct Advanced {
    /// Where it ended.
    pub outcome: StepOutcome,
    /// Phase at the end, where the issue could be read.
    pub phase: Option<Phase>,
    /// The issue's `updated_at` at the last look.
    pub updated_at: Option<Timestamp>,
    /// When that look was taken, GitHub's clock.
    pub looked_at: Option<Timestamp>,
    /// Effects performed.
    pub effects: u32,
}

/// The book-keeping of one `advance`.
struct Progress {
    /// What is carried from the step before, and the boot time at which it was asked for.
    look: Option<(Look, Duration)>,
    order: Order,
    last: Option<(Effect, u32)>,
    last_kind: Option<(&'static str, String, u32)>,
    trouble: u32,
    /// What is being done, should it fail.
    doing: Doing,
    /// Did the last look remember a trouble that lasts?
    lasting: bool,
    end: Advanced,
}

/// What is done for an issue, and why.
struct Chosen<'a> {
    issue: IssueNumber,
    effect: &'a Effect,
    why: &'a Why,
}

enum Turn {
    Again,
    Stop(StepOutcome),
}

impl RepoEngine {
    /// Takes the issue's lock and steps it.
    pub async fn advance(&self, issue: IssueNumber, order: &Order, how_far: HowFar) -> Advanced {
        let mut progress = Progress {
            look: None,
            order: order.clone(),
            last: None,
            last_kind: None,
            trouble: 0,
            doing: Doing::Looking,
            lasting: false,
            end: Advanced {
                outcome: StepOutcome::Locked,
                phase: None,
                updated_at: None,
                looked_at: None,
                effects: 0,
            },
        };
        let _guard = match self.world.folders.lock(issue) {
            Ok(Some(guard)) => guard,
            Ok(None) => return progress.end,
            Err(error) => {
                progress.end.outcome = StepOutcome::Trouble(error);
                return progress.end;
            }
        };
        if !wants_a_try(order)
            && let Some((until, trouble)) = self.rests(issue)
        {
            progress.end.outcome = StepOutcome::Rests { until, trouble };
            return progress.end;
        }
        if how_far != HowFar::Decide
            && let Some(outcome) = self.tend_hand(issue).await
        {
            progress.end.outcome = outcome;
            return progress.end;
        }
        if wants_a_try(order) {
            self.forget_trouble(issue);
            self.lift_limits();
        }
        progress.end.outcome = self.turns(issue, &mut progress, how_far).await;
        match &progress.end.outcome {
            StepOutcome::Trouble(error) => self.note_trouble(issue, progress.doing, error),
            // What lasts is over when a person says so.
            StepOutcome::Waits { .. } | StepOutcome::Finished(_) if !progress.lasting => {
                self.forget_trouble(issue);
            }
            StepOutcome::Waits { .. }
            | StepOutcome::Finished(_)
            | StepOutcome::Locked
            | StepOutcome::Rests { .. }
            | StepOutcome::Stepped { .. } => {}
        }
        progress.end
    }

    async fn turns(
        &self,
        issue: IssueNumber,
        progress: &mut Progress,
        how_far: HowFar,
    ) -> StepOutcome {
        if how_far != HowFar::Decide
            && let Err(error) = self.world.runs.adopt(issue)
        {
            return StepOutcome::Trouble(error);
        }
        for _ in 0..STEPS_PER_CYCLE_MAX {
            progress.doing = Doing::Looking;
            let turn = match self.turn(issue, progress, how_far).await {
                Ok(turn) => turn,
                Err(error) => progress.after_trouble(error),
            };
            if let Turn::Stop(outcome) = turn {
                return outcome;
            }
        }
        progress.doing = Doing::Circling;
        circle(issue)
    }

    async fn turn(
        &self,
        issue: IssueNumber,
        progress: &mut Progress,
        how_far: HowFar,
    ) -> PortResult<Turn> {
        let asked = self.world.clock.boot_time();
        let carried = progress.look.take();
        let asked = carried.as_ref().map_or(asked, |(_, asked)| *asked);
        let look = carried.map(|(look, _)| look);
        let mut seen = self.observe(issue, &progress.order, look).await?;
        progress.note(&seen, self);
        let decision = self.decide(&mut seen).await?;
        let (effect, why) = match decision {
            Decision::Wait { until, why } => {
                return Ok(Turn::Stop(StepOutcome::Waits { until, why }));
            }
            Decision::Finished(why) => return Ok(Turn::Stop(StepOutcome::Finished(why))),
            Decision::Do(effect, why) => (*effect, why),
        };
        if how_far == HowFar::Decide {
            let effect = effect.name();
            return Ok(Turn::Stop(StepOutcome::Stepped { effect, why }));
        }
        // What others see is never decided on old facts: the lease may be lost by now.
        let age = self.world.clock.boot_time().saturating_sub(asked);
        if effect.is_public() && age > self.fresh_for() {
            return Ok(Turn::Again);
        }
        progress.doing = Doing::of(&effect);
        if progress.repeats(&effect, &why) {
            progress.doing = Doing::Circling;
            return Ok(Turn::Stop(circle(issue)));
        }
        let chosen = Chosen {
            issue,
            effect: &effect,
            why: &why,
        };
        let known = self.do_it(&seen, &chosen, progress).await?;
        progress.look = known.map(|look| (look, asked));
        progress.end.effects += 1;
        Ok(if how_far == HowFar::OneEffect {
            let effect = effect.name();
            Turn::Stop(StepOutcome::Stepped { effect, why })
        } else {
            Turn::Again
        })
    }

    async fn do_it(
        &self,
        seen: &Snapshot,
        chosen: &Chosen<'_>,
        progress: &mut Progress,
    ) -> PortResult<Option<Look>> {
        let effect = chosen.effect;
        let result = self.perform(seen, effect).await;
        self.record_step(chosen, progress.end.phase, &result);
        let performed = match result {
            Err(error) => match blocks(effect, &error) {
                // Who closed the pull request, or pushed to it, has said what is the matter.
                Some(_) if self.is_overtaken(chosen, progress).await? => return Ok(None),
                Some(reason) => self.block_after(seen, reason, &error).await?,
                None => return Err(error),
            },
            Ok(performed) => {
                self.record_receipts(chosen.issue, seen, effect);
                performed
            }
        };
        if matches!(chosen.why, Why::Resumed) {
            self.forget_trouble(chosen.issue);
        }
        // An order counts once: what it led to is in the state now.
        if matches!(effect, Effect::WriteState(_)) {
            progress.order = Order::default();
        }
        Ok(match performed {
            Performed::LookAgain => None,
            Performed::Known(look) => Some(*look),
        })
    }

    /// How long a look may serve for effects that others see: far below the margin of a lease.
    pub(super) fn fresh_for(&self) -> Duration {
        LOOK_FRESH_FOR.min(self.policy.lease_ttl / 10)
    }

    pub(super) async fn decide(&self, seen: &mut Snapshot) -> PortResult<Decision> {
        self.ask_about_blockers(seen).await?;
        let decision = decide(seen, &self.policy, seen.look.at);
        if matches!(decision.why(), Why::NoSlot { .. }) && !seen.slot_owners_known {
            self.ask_about_slots(seen).await?;
            return Ok(decide(seen, &self.policy, seen.look.at));
        }
        self.ask_about_base(seen, decision).await
    }

    /// Was the effect refused since its reasons are gone? What is seen now decides something else then.
    async fn is_overtaken(&self, chosen: &Chosen<'_>, progress: &Progress) -> PortResult<bool> {
        match chosen.effect {
            Effect::Merge { .. } | Effect::Enqueue { .. } => self.forget_rules(),
            Effect::UpdateBranch { .. } | Effect::OpenPr { .. } | Effect::PushBranch { .. } => {}
            Effect::Claim(_)
            | Effect::Renew
            | Effect::DropClaim
            | Effect::Release
            | Effect::PlaceSignals(_)
            | Effect::WriteState(_)
            | Effect::MirrorState(_)
            | Effect::SetStatus(_)
            | Effect::Comment(_)
            | Effect::MakeWorktree(_)
            | Effect::MarkSetUp
            | Effect::StartRun(_)
            | Effect::TakeBox(_)
            | Effect::StopRun(_)
            | Effect::SweepRuns
            | Effect::CommitWork { .. }
            | Effect::SaveWork { .. }
            | Effect::RerunJobs { .. }
            | Effect::FollowBranch { .. }
            | Effect::AssignPr(_)
            | Effect::DeleteRefs(_)
            | Effect::RemoveWorktree { .. }
            | Effect::CloseIssue(_) => return Ok(false),
        }
        let mut now = self.observe(chosen.issue, &progress.order, None).await?;
        let decision = self.decide(&mut now).await?;
        Ok(!matches!(decision, Decision::Do(effect, _) if *effect == *chosen.effect))
    }

    /// A refusal that only a person can mend becomes a block.
    async fn block_after(
        &self,
        seen: &Snapshot,
        reason: BlockedReason,
        error: &PortError,
    ) -> PortResult<Performed> {
        let detail = self.settings.secrets.redact(&error.to_string());
        match refused(seen, &self.policy, seen.look.at, reason, &detail) {
            Some(effect) => self.perform(seen, &effect).await,
            None => Ok(Performed::LookAgain),
        }
    }

    fn record_step(
        &self,
        chosen: &Chosen<'_>,
        phase: Option<Phase>,
        result: &PortResult<Performed>,
    ) {
        let Chosen { issue, effect, why } = *chosen;
        let error = result
            .as_ref()
            .err()
            .map(|e| self.settings.secrets.redact(&e.to_string()));
        let what = match &error {
            None => format!("{}: {why}", effect.name()),
            Some(error) => format!("{}: {error}", effect.name()),
        };
        if error.is_some() {
            tracing::warn!(target: "ghswarm::step", "#{issue} {what}");
        } else {
            tracing::info!(target: "ghswarm::step", "#{issue} {what}");
        }
        self.world.events.record(&Event {
            at: self.world.clock.now(),
            repository: self.settings.alias.clone(),
            issue: Some(issue),
            kind: "step".to_owned(),
            phase: phase.map(|phase| phase.name().to_owned()),
            what,
            detail: serde_json::json!({ "effect": effect.name(), "why": why.code() }),
        });
    }
}

impl Progress {
    fn note(&mut self, seen: &Snapshot, engine: &RepoEngine) {
        self.end.updated_at = seen.look.issue.as_ref().map(|issue| issue.updated_at);
        self.end.looked_at = Some(seen.look.at);
        self.lasting = matches!(seen.trouble, Some(Trouble::Lasts { .. }));
        let view = crate::decide::view::View::of(seen, &engine.policy, seen.look.at);
        self.end.phase = view.ok().map(|view| view.phase());
    }

    fn repeats(&mut self, effect: &Effect, why: &Why) -> bool {
        let code = why.code();
        let kinds = match &self.last_kind {
            Some((name, last, count)) if *name == effect.name() && *last == code => count + 1,
            _ => 1,
        };
        self.last_kind = Some((effect.name(), code, kinds));
        let count = match &self.last {
            Some((last, count)) if last == effect => count + 1,
            _ => 1,
        };
        self.last = Some((effect.clone(), count));
        count > SAME_EFFECT_MAX || kinds > SAME_KIND_MAX
    }

    /// A lost answer or a stale look is followed by a look, a limited number of times.
    fn after_trouble(&mut self, error: PortError) -> Turn {
        self.trouble += 1;
        self.look = None;
        let again = matches!(
            error,
            PortError::Unknown { .. }
                | PortError::Refused {
                    refusal: Refusal::Stale,
                    ..
                }
        );
        if again && self.trouble < TROUBLE_MAX {
            Turn::Again
        } else {
            Turn::Stop(StepOutcome::Trouble(error))
        }
    }
}

fn circle(issue: IssueNumber) -> StepOutcome {
    StepOutcome::Trouble(PortError::refused(
        format!("step issue #{issue}"),
        Refusal::Local,
        "the same effect is decided again and again without a change: this is a bug of ghswarm",
    ))
}

/// Refusals that a person has to mend, by effect.
fn blocks(effect: &Effect, error: &PortError) -> Option<BlockedReason> {
    let refusal = error.refusal()?;
    if matches!(refusal, Refusal::Stale | Refusal::Unauthorised) {
        return None;
    }
    match effect {
        Effect::MakeWorktree(_) | Effect::FollowBranch { .. } => {
            Some(BlockedReason::WorktreeFailed)
        }
        Effect::CommitWork { .. } => Some(BlockedReason::CommitFailed),
        Effect::PushBranch { .. } | Effect::SaveWork { .. } => Some(BlockedReason::PushRefused),
        Effect::OpenPr { .. } if refusal != Refusal::Exists => Some(BlockedReason::PrRefused),
        Effect::Merge { .. } | Effect::Enqueue { .. } | Effect::UpdateBranch { .. } => {
            Some(BlockedReason::MergeRefused)
        }
        Effect::WriteState(_) if refusal == Refusal::Invalid => Some(BlockedReason::BodyTooLarge),
        // Nothing a person has to mend: the next look decides.
        Effect::Claim(_)
        | Effect::Renew
        | Effect::DropClaim
        | Effect::Release
        | Effect::PlaceSignals(_)
        | Effect::WriteState(_)
        | Effect::MirrorState(_)
        | Effect::SetStatus(_)
        | Effect::Comment(_)
        | Effect::MarkSetUp
        | Effect::StartRun(_)
        | Effect::TakeBox(_)
        | Effect::StopRun(_)
        | Effect::SweepRuns
        | Effect::OpenPr { .. }
        | Effect::AssignPr(_)
        | Effect::RerunJobs { .. }
        | Effect::DeleteRefs(_)
        | Effect::RemoveWorktree { .. }
        | Effect::CloseIssue(_) => None,
    }
}
