//! How an issue stands, for `status` and `explain`: the same facts as JSON and for people.

use serde::Serialize;

use super::output;
use crate::comments::freeing;
use crate::decide::view::{ClaimView, View};
use crate::decide::{Decision, Why};
use crate::engine::{Explained, Remembered, RepoEngine};
use crate::model::comment::strip_ansi;
use crate::model::ids::{IssueNumber, PrNumber, Timestamp};
use crate::model::labels::LabelNames;
use crate::model::lease::LeaseReading;
use crate::model::money::{Spent, Usd};
use crate::model::phase::Phase;
use crate::model::pr::PrState;

/// How an issue stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The repository's alias.
    pub repository: String,
    /// The issue.
    pub issue: IssueNumber,
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// Its phase.
    pub phase: Phase,
    /// `ready`, `waiting`, `running`, `blocked` or `done`.
    pub outcome: &'static str,
    /// The reason's code.
    pub code: String,
    /// The reason.
    pub why: String,
    /// What would be done now, if anything.
    pub next: Option<&'static str>,
    /// When it is looked at next, where that is known.
    pub until: Option<Timestamp>,
    /// What a person can do about it.
    pub frees: Option<String>,
    /// Agent runs under the present claim.
    pub attempt: u32,
    /// Failed tries in the phase.
    pub failed_tries: u32,
    /// Agent runs over the issue's whole life.
    pub agent_runs: u32,
    /// How many it may use; `None`: no cap.
    pub agent_runs_max: Option<u32>,
    /// Tokens that its agents used, as far as they said.
    pub tokens: u64,
    /// US dollars that they cost, as far as they said.
    pub cost_usd: Usd,
    /// Tasks that are ticked.
    pub tasks_done: usize,
    /// All tasks.
    pub tasks: usize,
    /// The label that makes it urgent or not, if one stands.
    pub priority: Option<String>,
    /// Who holds its lease.
    pub holder: Option<String>,
    /// Until when, unless it is renewed.
    pub lease_until: Option<Timestamp>,
    /// Its pull request.
    pub pr: Option<PrNumber>,
    /// `open`, `closed` or `merged`.
    pub pr_state: Option<&'static str>,
    /// What fails for it on this machine again and again, in one line.
    pub trouble: Option<String>,
    /// Its labels.
    pub labels: Vec<String>,
    /// What the labels are called here.
    #[serde(skip)]
    pub label_names: LabelNames,
}

impl Standing {
    /// Reads it off; `None` where the issue is not there.
    pub fn of(engine: &RepoEngine, explained: &Explained) -> Option<Self> {
        let seen = &explained.seen;
        let view = View::of(seen, &engine.policy, seen.look.at).ok()?;
        let why = explained.decision.why();
        let (outcome, next, until) = match &explained.decision {
            Decision::Do(effect, _) => ("ready", Some(effect.name()), None),
            Decision::Wait { until, why } => (wait_word(why), None, *until),
            Decision::Finished(_) => ("done", None, None),
        };
        let (holder, lease_until) = holder(&view);
        let pr = view.pr();
        let cap = engine.policy.max_agent_runs;
        let redact = |text: String| engine.settings.secrets.redact(&text);
        Some(Self {
            repository: engine.settings.alias.clone(),
            issue: view.issue.number,
            // Anybody writes titles; a terminal would act on what they hold.
            title: strip_ansi(&view.issue.title),
            url: view.issue.url.clone(),
            phase: view.phase(),
            outcome,
            code: why.code(),
            why: redact(why.to_string()),
            next,
            until,
            frees: freeing::frees(why, view.issue.number, &engine.policy.labels),
            attempt: view.state.attempt,
            failed_tries: view.state.iteration,
            agent_runs: view.state.total_agent_runs,
            agent_runs_max: (cap > 0).then(|| cap.saturating_add(view.state.extra_agent_runs)),
            tokens: view.state.tokens,
            cost_usd: view.state.cost_usd,
            tasks_done: view.body.tasks.iter().filter(|task| task.done).count(),
            tasks: view.body.tasks.len(),
            priority: engine
                .policy
                .priority(&view.issue.labels)
                .map(str::to_owned),
            holder,
            lease_until,
            pr: pr.map(|pr| pr.number),
            pr_state: pr.map(|pr| match pr.state {
                PrState::Open => "open",
                PrState::Closed => "closed",
                PrState::Merged { .. } => "merged",
            }),
            trouble: explained.trouble.as_ref().map(in_words),
            labels: view.issue.labels.clone(),
            label_names: engine.policy.labels.clone(),
        })
    }

    /// `3 of 10`.
    pub fn runs(&self) -> String {
        match self.agent_runs_max {
            Some(max) => format!("{} of {max}", self.agent_runs),
            None => self.agent_runs.to_string(),
        }
    }

    /// `12,345 tokens, $0.42`; nothing where nobody said.
    pub fn spent_in_words(&self) -> String {
        let spent = Spent {
            tokens: self.tokens,
            usd: self.cost_usd,
        };
        if spent.is_nothing() {
            return String::new();
        }
        spent.to_string()
    }

    /// `1 of 2`; nothing where there are no tasks.
    pub fn tasks_in_words(&self) -> String {
        if self.tasks == 0 {
            return String::new();
        }
        format!("{} of {}", self.tasks_done, self.tasks)
    }
}

fn in_words(trouble: &Remembered) -> String {
    let next = trouble.until.map_or_else(String::new, |until| {
        format!(", next try {}", output::moment(until))
    });
    format!("{} ({} times{next})", trouble.text, trouble.times)
}

/// The word for what a wait is.
fn wait_word(why: &Why) -> &'static str {
    if matches!(why, Why::Blocked { .. } | Why::BlockedByPerson) {
        "blocked"
    } else if matches!(why, Why::RunGoing { .. }) {
        "running"
    } else {
        "waiting"
    }
}

fn holder(view: &View<'_>) -> (Option<String>, Option<Timestamp>) {
    let ours = matches!(view.claim, ClaimView::Ours(_));
    match &view.lease {
        LeaseReading::Free | LeaseReading::Tombstone => (None, None),
        LeaseReading::Odd { expires, .. } => (Some("an unknown tool".to_owned()), Some(*expires)),
        LeaseReading::Held {
            message, expires, ..
        } => {
            let name = message.owner.as_deref().unwrap_or("nobody");
            let host = message.host.as_deref();
            let who = match (ours, host) {
                (true, _) => "this home".to_owned(),
                (false, Some(host)) => format!("{name} on {host}"),
                (false, None) => name.to_owned(),
            };
            (Some(who), Some(*expires))
        }
    }
}
