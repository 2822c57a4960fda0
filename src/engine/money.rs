//! What this home knows of agents' money: whose usage limit lasts until when, what was spent today, and the
//! receipts in the history.
//!
//! Limits lie in the home's memory: losing them costs one run that meets the limit again, and the wait of the
//! issue that met it stands in its state.

use std::collections::BTreeMap;

use chrono::NaiveTime;
use serde::{Deserialize, Serialize};

use crate::decide::{Effect, Snapshot, effect::StateWrite};
use crate::model::agent::{provider_of, spent};
use crate::model::agent_stream::AgentErrorKind;
use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::money::Spent;
use crate::model::run::{RunFacts, RunKey, RunKind};
use crate::ports::PortResult;
use crate::ports::events::Event;

use super::settings::{AgentSettings, RepoEngine};

/// Name in the home's memory.
const NAME: &str = "agent-limits";

/// The limit of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Limit {
    until: Timestamp,
    /// The run that met it: what a person lifted must not come back from the same run.
    from: RunKey,
}

type Limits = BTreeMap<String, Limit>;

impl RepoEngine {
    fn limits(&self) -> Limits {
        let kept = self.world.memory.load(NAME);
        kept.and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    fn keep_limits(&self, limits: &Limits) {
        if let Ok(text) = serde_json::to_string(limits) {
            self.world.memory.save(NAME, &text);
        }
    }

    /// Remembers the limits that these runs met.
    pub(super) fn note_limits(&self, runs: &[RunFacts]) {
        let now = self.world.clock.now();
        let mut limits = self.limits();
        let before = limits.clone();
        for run in runs {
            for one in run.reports.iter().filter(|one| !one.skipped) {
                let error = one.report.error.as_ref();
                let limit = error.filter(|error| error.kind == AgentErrorKind::Limited);
                let until = limit.and_then(|error| error.until);
                let Some(until) = until.filter(|until| *until > now) else {
                    continue;
                };
                let from = run.key.clone();
                let known = limits.get(&one.provider);
                if known.is_none_or(|known| known.from != from && known.until < until) {
                    limits.insert(one.provider.clone(), Limit { until, from });
                }
            }
        }
        if limits != before {
            self.keep_limits(&limits);
        }
    }

    /// A person wants it tried again: who was limited may not be any more.
    pub(super) fn lift_limits(&self) {
        let mut limits = self.limits();
        if limits.is_empty() {
            return;
        }
        let now = self.world.clock.now();
        for limit in limits.values_mut() {
            limit.until = limit.until.min(now);
        }
        self.keep_limits(&limits);
    }

    /// Until when this provider is not asked.
    pub(super) fn limited_until(&self, provider: &str) -> Option<Timestamp> {
        let until = self.limits().get(provider)?.until;
        (self.world.clock.now() < until).then_some(until)
    }

    /// The agents all of whose commands wait for the end of a limit, and until when the first one does.
    pub(super) fn paused_agents(&self) -> BTreeMap<RunKind, Timestamp> {
        let limits = self.limits();
        if limits.is_empty() {
            return BTreeMap::new();
        }
        [RunKind::Implement, RunKind::Simplify, RunKind::Review]
            .into_iter()
            .filter_map(|kind| Some((kind, self.chain_paused(self.agent(kind)?)?)))
            .collect()
    }

    fn chain_paused(&self, agent: &AgentSettings) -> Option<Timestamp> {
        let until = |command: &String| {
            let name = crate::decide::policy::command_name(command);
            self.limited_until(&provider_of(command, &name))
        };
        let all: Option<Vec<Timestamp>> = agent.commands.iter().map(until).collect();
        all?.into_iter().min()
    }

    /// What agents cost on this home today; not asked where no budget is held against it.
    pub(super) fn spent_today(&self) -> PortResult<Spent> {
        if self.policy.budget.day.is_none() {
            return Ok(Spent::default());
        }
        let midnight = self.world.clock.now().date_naive().and_time(NaiveTime::MIN);
        self.world.runs.spent_since(midnight.and_utc())
    }

    /// Writes receipts of the runs that this effect booked.
    pub(super) fn record_receipts(&self, issue: IssueNumber, seen: &Snapshot, effect: &Effect) {
        let Effect::WriteState(write) = effect else {
            return;
        };
        let Ok(view) = crate::decide::view::View::of(seen, &self.policy, seen.look.at) else {
            return;
        };
        let before = view.state.settled.as_ref();
        for run in booked(&seen.local.runs, before, write) {
            self.world.events.record(&Event {
                at: self.world.clock.now(),
                repository: self.settings.alias.clone(),
                issue: Some(issue),
                kind: "run".to_owned(),
                phase: Some(view.phase().name().to_owned()),
                what: self.settings.secrets.redact(&receipt(run)),
                detail: serde_json::json!({ "run": run.key, "reports": run.reports.iter()
                    .map(|one| serde_json::json!({
                        "provider": one.provider, "spent": one.report.spent,
                        "turns": one.report.turns, "session": one.report.session,
                    }))
                    .collect::<Vec<_>>() }),
            });
        }
    }
}

fn booked<'a>(
    runs: &'a [RunFacts],
    before: Option<&RunKey>,
    write: &StateWrite,
) -> Vec<&'a RunFacts> {
    let place = |key: &RunKey| (key.epoch, key.seq);
    let (from, to) = (before.map(place), write.state.settled.as_ref().map(place));
    let new = |run: &&RunFacts| {
        let at = Some(place(&run.key));
        run.key.kind.is_agent() && from < at && at <= to && !run.reports.is_empty()
    };
    runs.iter().filter(new).collect()
}

/// What a run cost, on one line.
fn receipt(run: &RunFacts) -> String {
    let turns: u32 = run.reports.iter().map(|one| one.report.turns).sum();
    let unit = if turns == 1 { "turn" } else { "turns" };
    format!(
        "{} `{}` cost {} in {turns} {unit}",
        run.key.kind,
        run.label,
        spent(&run.reports)
    )
}
