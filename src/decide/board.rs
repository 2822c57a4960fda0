//! The board: what the Run column says of each open issue. The gate's own view of it, so that what shows
//! as free can be claimed, as far as one look at all issues can tell.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::model::blockers::{WaitsOn, named_in};
use crate::model::board::{Board, BoardIssue};
use crate::model::claim::ClaimRecord;
use crate::model::ids::{IssueNumber, Login, PrNumber, Timestamp};
use crate::model::issue::LinkedPr;
use crate::model::local::LocalFacts;
use crate::model::look::Look;
use crate::model::phase::Phase;
use crate::model::repo::Repository;

use super::view::View;
use super::{Order, Policy, Snapshot, Why};

/// What the Run column says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "run")]
pub enum Run {
    /// A claim would be won.
    Free,
    /// The hold label stands.
    Hold,
    /// A person or an agent without the loop works on it.
    Claimed {
        /// Who, in words.
        who: String,
        /// Since when.
        since: Option<Timestamp>,
        /// By this home?
        ours: bool,
    },
    /// ghswarm's loop works on it.
    Running {
        /// The phase it is in.
        phase: Phase,
        /// Who, in words.
        who: String,
        /// Since when.
        since: Option<Timestamp>,
    },
    /// Claimed, but the session is dead: the next claim takes it over.
    Stale {
        /// Who, in words.
        who: String,
        /// Since when.
        since: Option<Timestamp>,
    },
    /// Somebody has it without a claim that can be read: an assignee, a pull request, an odd lease.
    Taken {
        /// The gate's reason.
        why: Why,
    },
    /// The loop waits for checks, approval or time; nobody holds it meanwhile.
    Waiting {
        /// The phase.
        phase: Phase,
    },
    /// The loop gave it to a person.
    Blocked {
        /// Reason code.
        reason: String,
    },
    /// Other issues come first.
    BlockedBy {
        /// Open ones that its text names.
        issues: Vec<IssueNumber>,
        /// Open sub-issues.
        sub_issues: u64,
    },
}

/// A line of the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoardRow {
    /// The issue.
    pub issue: IssueNumber,
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// The Run column.
    #[serde(flatten)]
    pub run: Run,
    /// Its assignees.
    pub assignees: Vec<Login>,
    /// Its labels.
    pub labels: Vec<String>,
    /// Open pull requests for it.
    pub prs: Vec<PrNumber>,
    /// The comment that claims it.
    pub comment: Option<String>,
    /// Where the work is, on the holder's machine.
    pub worktree: Option<String>,
}

/// The rules and facts that all lines share.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The repository and the operator.
    pub repo: &'a Repository,
    /// The rules.
    pub policy: &'a Policy,
    /// This home's claims.
    pub claims: &'a BTreeMap<IssueNumber, ClaimRecord>,
}

/// Every line, in the order of the issues.
pub fn rows(board: &Board, setting: Setting<'_>) -> Vec<BoardRow> {
    let seen = |one: &BoardIssue, leads: &BTreeMap<IssueNumber, bool>| {
        snapshot(board, one, setting, leads)
    };
    let none = BTreeMap::new();
    let claimed = |one: &BoardIssue| {
        let seen = seen(one, &none);
        View::of(&seen, setting.policy, board.at).is_ok_and(|view| view.is_claimed())
    };
    let known: BTreeMap<_, _> = board
        .issues
        .iter()
        .map(|one| (one.issue.number, claimed(one)))
        .collect();
    board
        .issues
        .iter()
        .filter_map(|one| {
            let seen = seen(one, &known);
            let view = View::of(&seen, setting.policy, board.at).ok()?;
            // A lead that is closed is not on the board, and leads nothing any more.
            let missing = view
                .leads()
                .into_iter()
                .filter(|lead| !known.contains_key(lead));
            let closed: Vec<IssueNumber> = missing.collect();
            if closed.is_empty() {
                return Some(row(board, one, &view));
            }
            let mut seen = seen.clone();
            seen.leads
                .extend(closed.into_iter().map(|lead| (lead, false)));
            let view = View::of(&seen, setting.policy, board.at).ok()?;
            Some(row(board, one, &view))
        })
        .collect()
}

/// The board's part about one issue, as a look would have seen it.
fn snapshot(
    board: &Board,
    one: &BoardIssue,
    setting: Setting<'_>,
    leads: &BTreeMap<IssueNumber, bool>,
) -> Snapshot {
    Snapshot {
        repo: setting.repo.clone(),
        base: setting.repo.default_branch.clone(),
        look: look(board, one, setting),
        local: LocalFacts {
            claim: setting.claims.get(&one.issue.number).cloned(),
            ..LocalFacts::default()
        },
        remote_contained: None,
        outgoing: Vec::new(),
        waits_on: WaitsOn::default(),
        host: None,
        people: BTreeMap::new(),
        lease_first_seen: None,
        slot_owners: BTreeMap::new(),
        slot_owners_known: false,
        leads: leads.clone(),
        trouble: None,
        rules: None,
        base_checks: None,
        order: Order::default(),
    }
}

/// As a look shows it.
fn look(board: &Board, one: &BoardIssue, setting: Setting<'_>) -> Look {
    let mut issue = one.issue.clone();
    // Ours say "For #N", which links nothing: the branch tells.
    let branch = setting.policy.branch(issue.number);
    let unlinked = |pr: &&LinkedPr| {
        pr.head_repo == Some(setting.repo.id)
            && Some(&pr.head_ref) == branch.as_ref()
            && !one
                .issue
                .linked_prs
                .iter()
                .any(|linked| linked.number == pr.number)
    };
    issue
        .linked_prs
        .extend(board.prs.iter().filter(unlinked).cloned());
    Look {
        at: board.at,
        issue: Some(issue),
        edits: Vec::new(),
        renames: Vec::new(),
        labelled: Vec::new(),
        comments: one.comments.clone(),
        prs: Vec::new(),
        leases: board
            .leases
            .iter()
            .map(|lease| (lease.name.clone(), lease.clone()))
            .collect(),
        refs: BTreeMap::new(),
        base: board.base.clone(),
        merge_checks: None,
    }
}

fn row(board: &Board, one: &BoardIssue, view: &View<'_>) -> BoardRow {
    let holding = view.holding();
    BoardRow {
        issue: view.issue.number,
        title: view.issue.title.clone(),
        url: view.issue.url.clone(),
        run: run(board, one, view),
        assignees: view.issue.assignees.clone(),
        labels: view.issue.labels.clone(),
        prs: view.issue.linked_prs.iter().map(|pr| pr.number).collect(),
        comment: holding.as_ref().and_then(|held| held.url.clone()),
        worktree: holding.and_then(|held| held.worktree),
    }
}

fn run(board: &Board, one: &BoardIssue, view: &View<'_>) -> Run {
    if view.policy.labels.held(&view.issue.labels) {
        return Run::Hold;
    }
    if let Some(held) = view.holding() {
        let (who, since, phase) = (held.who, held.since, view.phase());
        return match (held.stale, held.by.as_str()) {
            (true, _) => Run::Stale { who, since },
            (false, "loop") => Run::Running { phase, who, since },
            (false, _) => Run::Claimed {
                who,
                since,
                ours: held.ours,
            },
        };
    }
    if let Some(why) = view.refuses_hand() {
        return Run::Taken { why };
    }
    if let Some(reason) = view.state.blocked_reason {
        let reason = reason.code();
        return Run::Blocked { reason };
    }
    let open = |issue: &IssueNumber| board.issues.iter().any(|one| one.issue.number == *issue);
    let issues: Vec<IssueNumber> = named_in(&view.issue.body)
        .into_iter()
        .filter(open)
        .collect();
    if !issues.is_empty() || one.open_sub_issues > 0 {
        let sub_issues = one.open_sub_issues;
        return Run::BlockedBy { issues, sub_issues };
    }
    let phase = view.phase();
    if phase == Phase::Start || view.state.rev == 0 {
        Run::Free
    } else {
        Run::Waiting { phase }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = |at: &Option<Timestamp>| {
            at.map_or_else(String::new, |at| {
                format!(" since {}", at.format("%m-%d %H:%M"))
            })
        };
        match self {
            Self::Free => f.write_str("free"),
            Self::Hold => f.write_str("hold"),
            Self::Claimed {
                who,
                since: at,
                ours,
            } => {
                let here = if *ours { ", here" } else { "" };
                write!(f, "claimed by {who}{}{here}", since(at))
            }
            Self::Running {
                phase,
                who,
                since: at,
            } => write!(f, "running {phase} by {who}{}", since(at)),
            Self::Stale { who, since: at } => write!(f, "stale: {who}{}", since(at)),
            Self::Taken { why } => write!(f, "{why}"),
            Self::Waiting { phase } => write!(f, "waiting: {phase}"),
            Self::Blocked { reason } => write!(f, "blocked: {reason}"),
            Self::BlockedBy { issues, sub_issues } => {
                let mut parts = Vec::new();
                if !issues.is_empty() {
                    let names: Vec<String> = issues.iter().map(|n| format!("#{n}")).collect();
                    parts.push(format!("blocked by {}", names.join(", ")));
                }
                match sub_issues {
                    0 => {}
                    1 => parts.push("1 sub-issue open".to_owned()),
                    many => parts.push(format!("{many} sub-issues open")),
                }
                f.write_str(&parts.join("; "))
            }
        }
    }
}
