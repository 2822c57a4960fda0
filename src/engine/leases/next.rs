//! `next`: the oldest open issue that nobody works on, taken in the same breath.

use std::collections::{BTreeMap, BTreeSet};

use super::take::{Start, Taken, Won, empty};
use super::{Leases, lease_in};
use crate::decide::leases::{Intent, standing};
use crate::model::blockers;
use crate::model::ids::{ClaimId, IssueNumber};
use crate::model::issue::OpenIssue;
use crate::model::lease::StolenFrom;
use crate::model::limits::DRAINED_AGAIN_AFTER;
use crate::ports::PortResult;
use crate::ports::backlog::AllLeases;

/// Which issues are meant; all conditions hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// All of these labels.
    pub labels: Vec<String>,
    /// The milestone of this number.
    pub milestone: Option<u64>,
    /// Nobody is assigned.
    pub unassigned: bool,
    /// Nothing open blocks it: neither what its body names nor what GitHub's dependencies do.
    pub skip_blocked: bool,
}

/// The issue that was won.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Popped {
    /// Its number.
    pub issue: IssueNumber,
    /// Its title.
    pub title: String,
    /// Whose time was over.
    pub stolen_from: Option<StolenFrom>,
}

/// Which issues are open, by the list and by single questions.
struct Open {
    listed: BTreeSet<IssueNumber>,
    asked: BTreeMap<IssueNumber, bool>,
}

impl Leases {
    /// Takes the next issue; `None` where two fresh looks at the queue found nothing to take.
    pub async fn next(&self, filter: &Filter) -> PortResult<Option<Popped>> {
        if let Some(popped) = self.pop(filter).await? {
            return Ok(Some(popped));
        }
        self.doors.clock.sleep(DRAINED_AGAIN_AFTER).await;
        self.pop(filter).await
    }

    async fn pop(&self, filter: &Filter) -> PortResult<Option<Popped>> {
        let issues = self.doors.backlog.open_issues().await?;
        // After the issues: who took one of them since is seen.
        let all = self.doors.backlog.leases(&self.namespace).await?;
        let mut open = Open {
            listed: issues.iter().map(|one| one.listed.number).collect(),
            asked: BTreeMap::new(),
        };
        for issue in issues.iter().filter(|issue| fits(issue, filter)) {
            if self.is_held(issue.listed.number, &all)? {
                continue;
            }
            if filter.skip_blocked && self.is_blocked(issue, &mut open).await? {
                continue;
            }
            if let Some(popped) = self.pop_one(issue, &all).await? {
                return Ok(Some(popped));
            }
        }
        Ok(None)
    }

    async fn pop_one(&self, issue: &OpenIssue, all: &AllLeases) -> PortResult<Option<Popped>> {
        let number = issue.listed.number;
        let claim: ClaimId = self.claim_id()?;
        let start = Start {
            read: (all.at, lease_in(all, &self.ref_of(number)?).cloned()),
            tree: all.base.clone().map(|base| base.tree).ok_or_else(empty)?,
        };
        let intent = (Intent::Pop(&claim), &claim);
        let Taken::Won(won) = self.take(number, intent, start).await? else {
            return Ok(None);
        };
        // Whoever had it before may have finished it since the list was made. An answer that does not come
        // leaves the issue ours.
        if let Ok(Some(false) | None) = self.doors.backlog.is_open(number).await {
            self.release(number).await?;
            return Ok(None);
        }
        let stolen_from = match won {
            Won::Fresh(stolen_from) => stolen_from,
            Won::Already | Won::Again => None,
        };
        Ok(Some(Popped {
            issue: number,
            title: issue.listed.title.clone(),
            stolen_from,
        }))
    }

    /// By anybody, the asker's siblings among them.
    fn is_held(&self, issue: IssueNumber, all: &AllLeases) -> PortResult<bool> {
        let commit = lease_in(all, &self.ref_of(issue)?);
        let stands = standing(self.seen(commit, all.at), (all.at, &self.margins));
        Ok(stands.is_some_and(|stands| !stands.expired))
    }

    async fn is_blocked(&self, issue: &OpenIssue, open: &mut Open) -> PortResult<bool> {
        if issue.listed.open_dependencies > 0 {
            return Ok(true);
        }
        for named in blockers::named_in(&issue.body) {
            // A body that names its own issue says nothing.
            if named != issue.listed.number && self.is_open(named, open).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The list has no pull requests, which block as well.
    async fn is_open(&self, issue: IssueNumber, open: &mut Open) -> PortResult<bool> {
        if open.listed.contains(&issue) {
            return Ok(true);
        }
        if let Some(known) = open.asked.get(&issue) {
            return Ok(*known);
        }
        let is_open = self.doors.backlog.is_open(issue).await? == Some(true);
        open.asked.insert(issue, is_open);
        Ok(is_open)
    }
}

fn fits(issue: &OpenIssue, filter: &Filter) -> bool {
    let carries = |wanted: &String| {
        let labels = issue.listed.labels.iter();
        labels
            .clone()
            .any(|label| label.eq_ignore_ascii_case(wanted))
    };
    filter.labels.iter().all(carries)
        && filter
            .milestone
            .is_none_or(|wanted| issue.milestone == Some(wanted))
        && (!filter.unassigned || issue.listed.assignees.is_empty())
}
