//! Which issues to look at: the incremental listing, and what is known of issues that only a change
//! can wake. Derived data: losing it costs requests.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::decide::Why;
use crate::model::ids::{IssueNumber, Timestamp};
use crate::model::issue::ListedIssue;
use crate::model::labels::Status;
use crate::model::limits::FULL_LIST_EVERY;
use crate::model::phase::Phase;
use crate::ports::PortResult;
use crate::ports::github::{ListCursor, Listed};

use super::cycle::IssueReport;
use super::settings::RepoEngine;
use super::step::{Advanced, StepOutcome};
use super::waiting::{Backlogged, Waiting};

const MEMORY: &str = "listing";

/// What is kept between cycles.
#[derive(Serialize, Deserialize, Default)]
pub(super) struct Listing {
    /// The rules it was made under; other rules void it.
    rules: String,
    /// When everything was listed last.
    full_at: Option<Timestamp>,
    cursor: ListCursor,
    issues: BTreeMap<IssueNumber, ListedIssue>,
    /// Issues that wait for something that shows in the listing.
    asleep: BTreeMap<IssueNumber, Asleep>,
    /// What the open issues wait for.
    pub(super) backlog: Backlogged,
}

/// An issue that need not be looked at before it changes, or before a time.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
struct Asleep {
    updated_at: Timestamp,
    until: Option<Timestamp>,
    why: String,
    /// What it waits for, where other issues wake it.
    waits_on: Option<String>,
    /// What was said when it fell asleep, where only a person wakes it.
    #[serde(default)]
    said: Option<Said>,
}

/// How it stood then.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
struct Said {
    phase: Option<Phase>,
    blocked: bool,
    why: String,
    frees: Option<String>,
}

impl RepoEngine {
    /// Lists what changed, and answers everything that is known now.
    pub(super) async fn list(&self) -> PortResult<Listing> {
        let now = self.world.clock.now();
        let mut listing = self.kept_listing();
        let mut before = BTreeMap::new();
        if !listing
            .full_at
            .is_some_and(|at| now >= at && now < at + FULL_LIST_EVERY)
        {
            before = std::mem::take(&mut listing.issues);
            listing = Listing {
                rules: self.rules(),
                ..Listing::default()
            };
        }
        let full = listing.cursor.since.is_none();
        match self.world.github.list_issues(&listing.cursor).await? {
            Listed::Unchanged => {}
            Listed::Issues { issues, next } => {
                listing.backlog.outdate();
                for issue in issues {
                    listing.issues.insert(issue.number, issue);
                }
                listing.cursor = next;
                if full {
                    listing.full_at = Some(now);
                    listing.remember_closed(before);
                }
            }
        }
        *self.waiting() = Some(Waiting::of(&listing));
        Ok(listing)
    }

    /// What is known from earlier cycles, if it was made under the same rules.
    pub(super) fn kept_listing(&self) -> Listing {
        let rules = self.rules();
        let kept = self.world.memory.load(MEMORY);
        let kept = kept.and_then(|text| serde_json::from_str::<Listing>(&text).ok());
        kept.filter(|kept| kept.rules == rules)
            .unwrap_or_else(|| Listing {
                rules,
                ..Listing::default()
            })
    }

    /// Keeps the listing for the next cycle.
    pub(super) fn keep(&self, listing: &mut Listing) {
        if let Some(waiting) = &*self.waiting() {
            listing.backlog = waiting.backlog.clone();
        }
        if let Ok(text) = serde_json::to_string(listing) {
            self.world.memory.save(MEMORY, &text);
        }
    }

    /// The numbers of issues to step in this cycle: those that this home is at, then the others by
    /// their priority, then the oldest.
    pub(super) fn candidates(&self, listing: &Listing) -> PortResult<Vec<IssueNumber>> {
        let now = self.world.clock.now();
        let ours: BTreeSet<IssueNumber> =
            self.world.folders.claimed_issues()?.into_iter().collect();
        let wanted = listing
            .issues
            .values()
            .filter(|issue| !listing.sleeps(issue, now))
            .filter(|issue| self.is_candidate(issue) || self.may_have_left_something(issue))
            .map(|issue| issue.number);
        let turn = |number: &IssueNumber| {
            let waits = !ours.contains(number);
            let labels = listing.issues.get(number).map(|issue| &*issue.labels);
            let rank = self.policy.rank(labels.unwrap_or_default());
            // What goes on is not overtaken: its turn has come.
            (waits, if waits { rank } else { 0 }, *number)
        };
        let mut all: Vec<IssueNumber> = wanted
            .chain(ours.iter().copied())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        all.sort_by_key(turn);
        Ok(all)
    }

    /// Closed, and perhaps worked on here once: where another home brought it to its end, the worktree
    /// of this one is still there. One look tells, and then it sleeps.
    fn may_have_left_something(&self, issue: &ListedIssue) -> bool {
        let managed = !self.policy.labels.statuses(&issue.labels).is_empty();
        !issue.open && (managed && self.is_wanted(issue) || !self.is_untouched(issue.number))
    }

    /// All that are wanted, asleep or not.
    pub(super) fn wanted(&self, listing: &Listing) -> Vec<ListedIssue> {
        let issues = listing.issues.values();
        issues
            .filter(|issue| self.is_candidate(issue))
            .cloned()
            .collect()
    }

    /// Open, with a status label, and what the user asked for.
    fn is_candidate(&self, issue: &ListedIssue) -> bool {
        self.is_unfinished(issue) && self.is_wanted(issue)
    }

    fn is_wanted(&self, issue: &ListedIssue) -> bool {
        let target = &self.settings.target;
        let has = |label: &String| issue.labels.iter().any(|l| l.eq_ignore_ascii_case(label));
        target.labels.iter().all(has)
            && target
                .assignee
                .as_ref()
                .is_none_or(|login| issue.assignees.is_empty() || issue.assignees.contains(login))
            && target
                .milestone
                .as_ref()
                .is_none_or(|title| issue.milestone.as_ref() == Some(title))
    }

    /// Open with a status label; or closed, by a merge or a person, while the label says that it is
    /// being worked on: somebody has to bring it to its end.
    fn is_unfinished(&self, issue: &ListedIssue) -> bool {
        let statuses = self.policy.labels.statuses(&issue.labels);
        let working = |status: &Status| matches!(status, Status::Idle | Status::Busy(_));
        if issue.open {
            !statuses.is_empty()
        } else {
            statuses.iter().any(working)
        }
    }

    /// Other rules make other decisions: nothing kept from before counts then.
    fn rules(&self) -> String {
        let text = format!(
            "{} {} {:?} {:?}",
            env!("CARGO_PKG_VERSION"),
            self.settings.slug,
            self.policy,
            self.settings.target
        );
        crate::model::trust::text_hash("rules", &text)
    }
}

impl Listing {
    /// A full listing shows open issues only: one that was open before and is not there has been
    /// closed meanwhile, and is looked at once more.
    fn remember_closed(&mut self, before: BTreeMap<IssueNumber, ListedIssue>) {
        for (number, issue) in before.into_iter().filter(|(_, issue)| issue.open) {
            self.issues.entry(number).or_insert(ListedIssue {
                open: false,
                ..issue
            });
        }
    }

    fn sleeps(&self, issue: &ListedIssue, now: Timestamp) -> bool {
        self.asleep.get(&issue.number).is_some_and(|asleep| {
            asleep.updated_at == issue.updated_at && asleep.until.is_none_or(|until| now < until)
        })
    }

    /// Notes how an issue's steps ended: whether it may sleep until it changes.
    pub(super) fn note(&mut self, report: &IssueReport, advanced: &Advanced) {
        let number = report.issue;
        self.asleep.remove(&number);
        let (Some(updated_at), Some((until, why))) =
            (advanced.updated_at, sleep(&advanced.outcome))
        else {
            return;
        };
        // GitHub counts whole seconds: what happens later in the second of its last change would not
        // show, so the issue is looked at once more.
        if advanced.looked_at.is_none_or(|at| updated_at >= at) {
            return;
        }
        self.asleep.insert(
            number,
            Asleep {
                updated_at,
                until,
                why: why.code(),
                waits_on: waits_for_issues(why).then(|| why.to_string()),
                said: report.needs_people().then(|| Said {
                    phase: report.phase,
                    blocked: report.outcome == "blocked",
                    why: report.why.clone(),
                    frees: report.frees.clone(),
                }),
            },
        );
    }

    /// Issues that GitHub counts something open for.
    pub(super) fn counted(&self) -> BTreeSet<IssueNumber> {
        let counts = |issue: &&ListedIssue| issue.open_dependencies + issue.open_sub_issues > 0;
        let counted = self.issues.values().filter(counts);
        counted.map(|issue| issue.number).collect()
    }

    /// Sleepers that other issues wake, with what they wait for.
    pub(super) fn waiting(&self) -> Vec<(IssueNumber, String)> {
        let sleepers = self.asleep.iter();
        sleepers
            .filter_map(|(number, asleep)| Some((*number, asleep.waits_on.clone()?)))
            .collect()
    }

    /// The issue is looked at in this cycle.
    pub(super) fn wake(&mut self, number: IssueNumber) {
        self.asleep.remove(&number);
    }

    /// The title, for reports.
    pub(super) fn title(&self, number: IssueNumber) -> Option<String> {
        self.issues.get(&number).map(|issue| issue.title.clone())
    }

    /// Open issues that sleep until a person does something, as they were told when they fell asleep.
    pub(super) fn stuck(&self, alias: &str) -> Vec<IssueReport> {
        let report = |(number, asleep): (&IssueNumber, &Asleep)| {
            let issue = self.issues.get(number).filter(|issue| issue.open)?;
            let said = asleep.said.as_ref()?;
            Some(IssueReport {
                repository: alias.to_owned(),
                issue: *number,
                title: Some(issue.title.clone()),
                phase: said.phase,
                outcome: if said.blocked { "blocked" } else { "waiting" },
                code: asleep.why.clone(),
                why: said.why.clone(),
                until: asleep.until,
                frees: said.frees.clone(),
            })
        };
        self.asleep.iter().filter_map(report).collect()
    }

    /// When the first of the sleepers has to be looked at again, if one wakes by the clock.
    pub(super) fn wakes(&self) -> Option<Timestamp> {
        let open = |number: &IssueNumber| self.issues.get(number).is_some_and(|issue| issue.open);
        let sleepers = self.asleep.iter().filter(|(number, _)| open(number));
        sleepers.filter_map(|(_, asleep)| asleep.until).min()
    }

    /// Issues that sleep, with the reason's code.
    pub(super) fn sleepers(&self) -> impl Iterator<Item = (IssueNumber, &str)> {
        self.asleep
            .iter()
            .map(|(number, asleep)| (*number, asleep.why.as_str()))
    }
}

/// Is it other issues that end this wait?
pub(super) fn waits_for_issues(why: &Why) -> bool {
    matches!(why, Why::WaitsOn { .. } | Why::DependencyCycle { .. })
}

/// May the issue sleep until the listing shows a change (or until a time)?
fn sleep(outcome: &StepOutcome) -> Option<(Option<Timestamp>, &Why)> {
    match outcome {
        StepOutcome::Waits {
            until: Some(until),
            why,
        } => {
            // The lease may be given back earlier, but that changes labels, and so the listing.
            let timed = matches!(
                why,
                Why::ClaimedElsewhere { .. } | Why::OddLease { .. } | Why::Backoff { .. }
            );
            timed.then_some((Some(*until), why))
        }
        StepOutcome::Waits { until: None, why } => {
            let shown = matches!(
                why,
                Why::IssueGone
                    | Why::IssueClosed
                    | Why::NotManaged
                    | Why::OnHold
                    | Why::CompletedByPerson
                    | Why::NewerVersion { .. }
                    | Why::BadBranchName
                    | Why::Blocked { .. }
                    | Why::BlockedByPerson
                    | Why::AssignedTo { .. }
                    | Why::ClaimedByComment { .. }
                    | Why::WaitsOn { .. }
                    | Why::DependencyCycle { .. }
            );
            shown.then_some((None, why))
        }
        StepOutcome::Finished(why) => Some((None, why)),
        StepOutcome::Locked
        | StepOutcome::Trouble(_)
        | StepOutcome::Rests { .. }
        | StepOutcome::Stepped { .. } => None,
    }
}
