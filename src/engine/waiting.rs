//! What issues wait for before work on them begins: which of the issues that they depend on are open.
//! All of them together cost one list of the open issues, and that only after something has changed.
//! Derived data: losing it costs requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::MutexGuard;

use serde::{Deserialize, Serialize};

use crate::decide::view::View;
use crate::decide::{Snapshot, held_back};
use crate::model::blockers::{Blocker, Edges, WaitsOn, circle_of, named_in};
use crate::model::ids::IssueNumber;
use crate::model::issue::OpenIssue;
use crate::ports::PortResult;

use super::listing::Listing;
use super::settings::RepoEngine;

/// What the newest listing says about dependencies.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting {
    /// Issues for which GitHub counts an open dependency or sub-issue, as far as the listing knows: it
    /// does not show that such a count has changed.
    counted: BTreeSet<IssueNumber>,
    pub(super) backlog: Backlogged,
}

/// All open issues, as far as they wait for each other.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Backlogged {
    /// Has nothing changed since?
    fresh: bool,
    open: BTreeMap<IssueNumber, Line>,
    /// The issues behind a count of GitHub's dependencies, with the count they were asked for at.
    asked: BTreeMap<IssueNumber, (u64, Vec<IssueNumber>)>,
    /// Numbers that are no open issue: are they open pull requests?
    others: BTreeMap<IssueNumber, bool>,
}

/// One open issue.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Line {
    named: Vec<IssueNumber>,
    dependencies: u64,
    sub_issues: u64,
}

/// The issues that a text names as blockers. One that names its own issue says nothing.
fn named_by(issue: IssueNumber, body: &str) -> Vec<IssueNumber> {
    let mut named = named_in(body);
    named.retain(|one| *one != issue);
    named
}

impl Backlogged {
    /// Something changed: the next one who needs it reads it again.
    pub(super) fn outdate(&mut self) {
        self.fresh = false;
    }

    fn read(&mut self, issues: Vec<OpenIssue>) {
        let lines = issues.into_iter().map(|issue| {
            let line = Line {
                named: named_by(issue.listed.number, &issue.body),
                dependencies: issue.listed.open_dependencies,
                sub_issues: issue.listed.open_sub_issues,
            };
            (issue.listed.number, line)
        });
        self.open = lines.collect();
        let open = &self.open;
        self.asked.retain(|issue, (count, found)| {
            let same = |line: &Line| line.dependencies == *count;
            open.get(issue).is_some_and(same) && found.iter().all(|one| open.contains_key(one))
        });
        // A closed issue that is opened again is in the list; a pull request never is.
        self.others.retain(|_, open| !*open);
        self.fresh = true;
    }

    fn is_open(&self, issue: IssueNumber) -> bool {
        self.open.contains_key(&issue) || self.others.get(&issue).is_some_and(|open| *open)
    }

    fn dependencies(&self, issue: IssueNumber) -> &[IssueNumber] {
        self.asked
            .get(&issue)
            .map_or(&[], |(_, issues)| issues.as_slice())
    }

    /// What `issue` waits for, whose text names `named`.
    fn waits_on(&self, issue: IssueNumber, named: &[IssueNumber]) -> WaitsOn {
        let line = self.open.get(&issue).cloned().unwrap_or_default();
        let here: Vec<_> = self.dependencies(issue).to_vec();
        let elsewhere = line.dependencies.saturating_sub(here.len() as u64);
        let named = named.iter().filter(|one| self.is_open(**one));
        let mut blockers: Vec<_> = named.copied().map(Blocker::Named).collect();
        blockers.extend(here.into_iter().map(Blocker::Dependency));
        if elsewhere > 0 {
            blockers.push(Blocker::Elsewhere(elsewhere));
        }
        if line.sub_issues > 0 {
            blockers.push(Blocker::SubIssues(line.sub_issues));
        }
        let mut edges = self.edges();
        let own = blockers.iter().filter_map(Blocker::issue).collect();
        edges.insert(issue, own);
        WaitsOn {
            circle: circle_of(issue, &edges),
            blockers,
        }
    }

    fn edges(&self) -> Edges {
        let edges = self.open.iter().map(|(issue, line)| {
            let all = line.named.iter().chain(self.dependencies(*issue));
            let open = all.copied().filter(|one| self.open.contains_key(one));
            (*issue, open.collect())
        });
        edges.collect()
    }
}

impl Waiting {
    pub(super) fn of(listing: &Listing) -> Self {
        Self {
            counted: listing.counted(),
            backlog: listing.backlog.clone(),
        }
    }
}

impl RepoEngine {
    /// Asks what the issue waits for, if that matters; nothing where it names and counts nothing.
    pub(super) async fn ask_about_blockers(&self, seen: &mut Snapshot) -> PortResult<()> {
        let (issue, named) = match View::of(seen, &self.policy, seen.look.at) {
            Ok(view) if view.may_be_held_back() => {
                let issue = view.issue.number;
                (issue, named_by(issue, &view.issue.body))
            }
            Ok(_) | Err(_) => return Ok(()),
        };
        if self.waiting().is_none() {
            // A command for one issue: it is the one that lists.
            self.list().await?;
        }
        let counted = self
            .waiting()
            .as_ref()
            .is_some_and(|waiting| waiting.counted.contains(&issue));
        if counted || !named.is_empty() {
            seen.waits_on = self.waits_on(issue, &named).await?;
        }
        Ok(())
    }

    /// Wakes the sleepers for whom something has changed in what they wait for.
    pub(super) async fn wake_waiting(&self, listing: &mut Listing) -> PortResult<()> {
        if listing.backlog.fresh {
            return Ok(());
        }
        for (issue, said) in listing.waiting() {
            // Not open any more, or other words in its text: then it has changed itself, and is awake.
            let named = self.backlog().await?.open.get(&issue).cloned();
            let named = named.unwrap_or_default().named;
            let now = held_back(&self.waits_on(issue, &named).await?);
            if now.map(|why| why.to_string()).as_deref() != Some(said.as_str()) {
                listing.wake(issue);
            }
        }
        Ok(())
    }

    async fn waits_on(&self, issue: IssueNumber, named: &[IssueNumber]) -> PortResult<WaitsOn> {
        let mut backlog = self.backlog().await?;
        for one in named.iter().filter(|one| !backlog.open.contains_key(one)) {
            if !backlog.others.contains_key(one) {
                let open = self.world.backlog.is_open(*one).await?;
                backlog.others.insert(*one, open.unwrap_or(false));
            }
        }
        let first = named
            .iter()
            .copied()
            .filter(|one| backlog.open.contains_key(one));
        let mut to_see: Vec<IssueNumber> = first.chain([issue]).collect();
        let mut reached = BTreeSet::new();
        while let Some(at) = to_see.pop() {
            let Some(line) = backlog
                .open
                .get(&at)
                .cloned()
                .filter(|_| reached.insert(at))
            else {
                continue;
            };
            if line.dependencies > 0 && !backlog.asked.contains_key(&at) {
                let found = self.world.backlog.blockers(at).await?;
                backlog.asked.insert(at, (line.dependencies, found));
            }
            to_see.extend(line.named);
            to_see.extend(backlog.dependencies(at));
        }
        let waits_on = backlog.waits_on(issue, named);
        self.remember_backlog(backlog);
        Ok(waits_on)
    }

    /// The open issues, read once after each change.
    async fn backlog(&self) -> PortResult<Backlogged> {
        let kept = self.known_backlog();
        if kept.fresh {
            return Ok(kept);
        }
        let mut backlog = kept;
        backlog.read(self.world.backlog.open_issues().await?);
        self.remember_backlog(backlog.clone());
        Ok(backlog)
    }

    fn known_backlog(&self) -> Backlogged {
        let waiting = self.waiting();
        waiting
            .as_ref()
            .map(|waiting| waiting.backlog.clone())
            .unwrap_or_default()
    }

    fn remember_backlog(&self, backlog: Backlogged) {
        self.waiting().get_or_insert_default().backlog = backlog;
    }

    pub(super) fn waiting(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
