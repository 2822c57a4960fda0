//! Everything a decision is made from. Gathered by `engine::observe`; nothing is asked for later.

use std::collections::BTreeMap;

use crate::model::blockers::WaitsOn;
use crate::model::checks::CommitChecks;
use crate::model::ids::{BranchName, IssueNumber, Login, RefName, Timestamp};
use crate::model::lease::LeaseCommit;
use crate::model::local::LocalFacts;
use crate::model::look::Look;
use crate::model::outgoing::OutgoingCommit;
use crate::model::repo::{Permission, Repository};
use crate::model::rules::BaseRules;
use crate::model::state::BlockedReason;

use super::{Decision, Why};

/// The world as it was seen, for one issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The repository and the operator.
    pub repo: Repository,
    /// The base branch, configured or GitHub's default; `None`: there is none.
    pub base: Option<BranchName>,
    /// What GitHub says.
    pub look: Look,
    /// What this machine says.
    pub local: LocalFacts,
    /// Is the remote branch's head contained in the worktree's head? `None`: one of them is missing.
    pub remote_contained: Option<bool>,
    /// Commits of the branch that its base lacks, oldest first; asked for before a push.
    pub outgoing: Vec<OutgoingCommit>,
    /// `host:pid` of this process, for `busy_owner`.
    pub host: Option<String>,
    /// Permissions of logins that nothing else tells about.
    pub people: BTreeMap<Login, Permission>,
    /// When this home saw the present lease commit for the first time.
    pub lease_first_seen: Option<Timestamp>,
    /// Where every slot is taken: the issue leases that the slots' messages name. Absent: no such ref.
    pub slot_owners: BTreeMap<RefName, LeaseCommit>,
    /// Were the slot owners looked up?
    pub slot_owners_known: bool,
    /// Issues that markers here name as the lead of their bundle: is the lead claimed?
    pub leads: BTreeMap<IssueNumber, bool>,
    /// What it waits for; asked only where `View::may_be_held_back` says that it matters.
    pub waits_on: WaitsOn,
    /// What the base asks of pull requests; asked where `Why::RulesUnknown` is the answer without.
    pub rules: Option<BaseRules>,
    /// Checks of the base's tip; asked where `Why::BaseUnknown` is the answer without.
    pub base_checks: Option<CommitChecks>,
    /// What fails here, as this home remembers: again and again, or so that a wait runs.
    pub trouble: Option<Trouble>,
    /// What a person asked for on the command line.
    pub order: Order,
}

/// Something that fails each time it is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It failed often enough: only a person can mend it.
    Lasts {
        /// What the issue is blocked as.
        reason: BlockedReason,
        /// What failed, how often, and what to do, for people.
        text: String,
    },
    /// It is left alone for a while. The engine tries nothing meanwhile, so only those who look see it.
    Rests {
        /// Until when, by this machine's clock.
        until: Timestamp,
        /// How often it failed in a row.
        times: u32,
        /// What failed, for people.
        text: String,
    },
}

impl Trouble {
    /// The wait, where one runs.
    pub fn rest(&self) -> Option<Decision> {
        match self {
            Self::Rests { until, times, text } => {
                let why = Why::LocalTrouble {
                    until: *until,
                    times: *times,
                    text: text.clone(),
                };
                Some(Decision::wait_until(*until, why))
            }
            Self::Lasts { .. } => None,
        }
    }
}

/// What a person at this terminal asked for. Counts as an order of a trusted person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Order {
    /// `ghswarm resume N`.
    pub resume: bool,
    /// `--more-runs K`.
    pub more_runs: u32,
    /// `--force`: do not wait for `wait_until`, nor for the issues that it depends on.
    pub now: bool,
    /// `--answer TEXT`: said on the issue before it goes on.
    pub answer: Option<String>,
}
