//! Who holds an issue, as people need to know it: who, where, since when, and where to read on. One place
//! for `claim`, `board` and `explain`.

use serde::Serialize;

use crate::model::comment::{LockBy, one_line};
use crate::model::ids::{Login, Timestamp};
use crate::model::lease::{LeaseMessage, LeaseReading};

use super::gate::holder;
use super::markers::{Marker, MarkerStanding};
use super::view::View;

/// What is known of the holder. What nobody said is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holding {
    /// Who, in words.
    pub who: String,
    /// The operator, where a comment names one.
    pub operator: Option<Login>,
    /// `loop`, `manual`, or another tool's word (empty: it gave none).
    pub by: String,
    /// Is it a claim of this home?
    pub ours: bool,
    /// The machine.
    pub host: Option<String>,
    /// The worktree, on that machine.
    pub worktree: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// When its lease runs out, unless it is renewed.
    pub expires: Option<Timestamp>,
    /// The comment that says so.
    pub url: Option<String>,
    /// May it be reclaimed?
    pub stale: bool,
}

impl View<'_> {
    /// Who holds the issue by lease or marker; a stale claim if there is nothing better; `None`: nobody.
    pub fn holding(&self) -> Option<Holding> {
        let markers = self.markers();
        let live = markers
            .iter()
            .find(|marker| marker.standing == MarkerStanding::Live);
        if let LeaseReading::Held {
            message,
            expires,
            expired: false,
        } = &self.lease
        {
            let same = |marker: &&Marker<'_>| {
                marker.lock.claim.is_some() && marker.lock.claim == message.claim
            };
            let shown = markers.iter().find(same);
            return Some(self.held_by_lease(message, *expires, shown));
        }
        let stale = || {
            let by_hand = |marker: &&Marker<'_>| {
                marker.standing == MarkerStanding::Stale && marker.lock.by != LockBy::Loop
            };
            markers.iter().find(by_hand)
        };
        live.or_else(stale)
            .map(|marker| self.held_by_marker(marker))
    }

    /// Who stands against a claim of ours that has the lease: by marker, since the lease is ours.
    pub fn rivals_holding(&self) -> Option<Holding> {
        let ours = self.seen.local.claim.as_ref().map(|record| &record.claim);
        self.rival(ours).map(|marker| self.held_by_marker(&marker))
    }

    fn held_by_lease(
        &self,
        message: &LeaseMessage,
        expires: Timestamp,
        shown: Option<&Marker<'_>>,
    ) -> Holding {
        let from_marker = shown.map(|marker| self.held_by_marker(marker));
        let who = match from_marker.as_ref().and_then(|held| held.operator.as_ref()) {
            Some(operator) => format!("@{operator} ({})", holder(message)),
            None => holder(message),
        };
        let since = self.lease_commit().map(|commit| commit.date);
        Holding {
            who,
            operator: from_marker.as_ref().and_then(|held| held.operator.clone()),
            by: message.by.clone().unwrap_or_default(),
            ours: self.is_this_homes(message.claim.as_ref()),
            host: message.host.clone(),
            worktree: from_marker.as_ref().and_then(|held| held.worktree.clone()),
            branch: from_marker.as_ref().and_then(|held| held.branch.clone()),
            since: from_marker.as_ref().and_then(|held| held.since).or(since),
            expires: Some(expires),
            url: from_marker.and_then(|held| held.url),
            stale: false,
        }
    }

    fn held_by_marker(&self, marker: &Marker<'_>) -> Holding {
        let operator = marker.lock.operator.clone();
        Holding {
            who: operator
                .as_ref()
                .map_or_else(|| "somebody".to_owned(), |login| format!("@{login}")),
            operator,
            by: marker.lock.by.word().to_owned(),
            ours: self.is_this_homes(marker.lock.claim.as_ref()),
            host: None,
            worktree: marker.lock.worktree.clone(),
            branch: marker.lock.branch.clone(),
            since: Some(marker.at),
            expires: None,
            url: Some(marker.comment.url.clone()).filter(|url| !url.is_empty()),
            stale: marker.standing == MarkerStanding::Stale,
        }
    }

    fn is_this_homes(&self, claim: Option<&crate::model::ids::ClaimId>) -> bool {
        let ours = self.seen.local.claim.as_ref().map(|record| &record.claim);
        claim.is_some() && claim == ours
    }
}

impl Holding {
    /// The lines that a refusal prints under the reason.
    pub fn lines(&self) -> Vec<String> {
        let time = |at: Timestamp| at.format("%Y-%m-%d %H:%M:%S UTC").to_string();
        let how = match self.by.as_str() {
            "loop" => " (ghswarm's loop)",
            "manual" => " (by hand)",
            _ => "",
        };
        let stale = if self.stale { ", stale" } else { "" };
        let rows = [
            ("who", Some(format!("{}{how}{stale}", self.who))),
            ("since", self.since.map(time)),
            ("machine", self.host.clone()),
            ("worktree", self.worktree.clone()),
            ("branch", self.branch.clone()),
            (
                "lease",
                self.expires.map(|at| format!("until {}", time(at))),
            ),
            ("comment", self.url.clone()),
        ];
        rows.into_iter()
            .filter_map(|(name, value)| Some(format!("  {name:<9} {}", one_line(&value?))))
            .collect()
    }
}
