//! Claims by hand: the loop's own procedure for people and agents that work without it (protocol.md,
//! section 5). Gate, `run.json`, lease, look and gate again, signals: the same code asks and takes.
//!
//! `run.json` says how far a claim is. So whoever comes next in this home (the command again, `sweep`, a
//! cycle) finishes what a crash cut off, or takes it back; nothing stays half. It must not touch status
//! labels, worktrees or branches.

mod release;
mod show;
mod standing;
mod sweep;
mod take;
mod take_over;

use std::path::PathBuf;

use crate::comments::by_hand::Placed;
use crate::decide::view::View;
use crate::decide::{Decision, Holding, Order, Snapshot, TakeOver, Why};
use crate::model::claim::{ClaimRecord, Displaced, Ending, HandStage};
use crate::model::comment::is_finished;
use crate::model::ids::{BranchName, ClaimId, IssueNumber, PrNumber, RefName, RepoSlug, Timestamp};
use crate::model::issue::Comment;
use crate::model::lease::ClaimProof;
use crate::model::limits::{HAND_LEASE_TTL, HAND_LOCK_TRY_EVERY, HAND_LOCK_WAIT_MAX};
use crate::ports::folders::StepGuard;
use crate::ports::{PortError, PortResult, Refusal};

use super::perform::claim::Terms;
use super::settings::RepoEngine;
use super::step::StepOutcome;

pub use release::End;
pub use standing::{HandStanding, Verdict};
pub use sweep::{DryRun, Swept, SweptHow};

/// After so many lost answers or stale looks in a row a command gives up; the next call goes on.
const TROUBLE_MAX: u32 = 4;

/// A claim or release that needs more looks goes in a circle.
const ROUNDS_MAX: u32 = 16;

/// How a person wants an issue claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// The issue whose claim it goes along with.
    pub lead: Option<IssueNumber>,
    /// May a live claim be displaced?
    pub take_over: TakeOver,
}

/// How a claim went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// Lease and signals stand.
    Claimed(Box<Claimed>),
    /// Somebody else has it, or it is not to be worked on; nothing was written, or it was taken back.
    Refused(Box<Refused>),
    /// The bundle has no lead that stands here; nothing was asked.
    NoLead {
        /// The issue.
        issue: IssueNumber,
        /// Why, in words.
        because: String,
    },
}

/// A claim that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The issue.
    pub issue: IssueNumber,
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// The claim.
    pub claim: ClaimId,
    /// The branch to work on.
    pub branch: BranchName,
    /// Where the branch begins.
    pub base: Option<BranchName>,
    /// Is the branch on the remote already?
    pub pushed: bool,
    /// Where to work.
    pub worktree: PathBuf,
    /// Is something there already?
    pub has_worktree: bool,
    /// When the lease may be taken over.
    pub expires: Option<Timestamp>,
    /// The issue it goes along with.
    pub lead: Option<IssueNumber>,
    /// Whose claim it took the place of.
    pub displaced: Option<Displaced>,
    /// Where the displaced claim's files are now.
    pub archived: Option<PathBuf>,
    /// Refs under which the displaced claim's work is.
    pub salvaged: Vec<RefName>,
}

/// A claim that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The issue.
    pub issue: IssueNumber,
    /// Why.
    pub why: Why,
    /// Who has it, as far as that is known.
    pub holding: Option<Holding>,
    /// Where this home works on it, if the claim is its own.
    pub place: Option<Place>,
    /// What an order to take over would be refused for as well.
    pub stops: Option<Why>,
}

/// Where work goes on, and from what it is cut if it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The branch.
    pub branch: BranchName,
    /// Where the branch begins.
    pub base: Option<BranchName>,
    /// Is the branch on the remote already?
    pub pushed: bool,
    /// The worktree.
    pub worktree: PathBuf,
    /// The issue whose claim it goes along with.
    pub lead: Option<IssueNumber>,
}

/// How a release went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseOutcome {
    /// It is given back, and its bundle with it.
    Released {
        /// How it ended: an earlier release that was cut off is finished as it began.
        ending: Ending,
        /// The issues that were released, the lead last.
        issues: Vec<IssueNumber>,
    },
    /// Somebody else holds the lease by now: nothing was written, the claim is forgotten here.
    Lost {
        /// Who, if that is known.
        holding: Option<Holding>,
    },
    /// This home has no claim by hand on it.
    NotClaimed {
        /// Who has it.
        holding: Option<Holding>,
    },
    /// The pull request is not merged, or not this issue's.
    WrongPr {
        /// Which.
        pr: PrNumber,
        /// In words.
        because: String,
    },
}

impl RepoEngine {
    /// Waits for the issue's lock: a step of the daemon takes seconds.
    async fn lock_issue(&self, issue: IssueNumber) -> PortResult<Box<dyn StepGuard>> {
        let clock = &self.world.clock;
        let until = clock.boot_time() + HAND_LOCK_WAIT_MAX;
        loop {
            if let Some(guard) = self.world.folders.lock(issue)? {
                return Ok(guard);
            }
            if clock.boot_time() >= until {
                return Err(PortError::refused(
                    format!("lock issue #{issue}"),
                    Refusal::Local,
                    "another ghswarm of this home is at it; try again",
                ));
            }
            clock.sleep(HAND_LOCK_TRY_EVERY).await;
        }
    }

    /// What a cycle does first with a claim by hand: one that was cut off is finished or taken back; one
    /// that stands is left alone without a look. `None`: the issue may be stepped.
    pub(super) async fn tend_hand(&self, issue: IssueNumber) -> Option<StepOutcome> {
        let record = match self.world.folders.claim(issue) {
            Ok(record) => record?,
            // The step says so, with its own words.
            Err(_) => return None,
        };
        let stage = record.stage()?.clone();
        let settled = match stage {
            HandStage::Claiming => self.take_back(&record).await,
            HandStage::Releasing { .. } => self.settle(&record).await.map(drop),
            HandStage::Held => {
                let young = self.world.clock.now() < record.at + self.policy.stale_window;
                let why = Why::ClaimedByHand {
                    since: record.at,
                    worktree: record.worktree.display().to_string(),
                };
                return young.then_some(StepOutcome::Waits { until: None, why });
            }
        };
        settled.err().map(StepOutcome::Trouble)
    }

    /// A look at an issue whose folder is this repository's. One that came here from elsewhere says
    /// nothing about it, and nothing follows from it.
    async fn look_by_hand(&self, issue: IssueNumber) -> PortResult<Snapshot> {
        let seen = self.observe(issue, &Order::default(), None).await?;
        if let Some(record) = &seen.local.claim {
            self.refuse_foreign_folder(&seen, record)?;
        }
        Ok(seen)
    }

    /// The same before anything is noted in the folder; asks only where the name says that it may be another's.
    pub(super) async fn refuse_copied(&self, record: &ClaimRecord) -> PortResult<()> {
        if record.repo != self.settings.slug {
            self.look_by_hand(record.issue).await?;
        }
        Ok(())
    }

    /// The lease knows better than a name: after a repository was renamed it still carries the claim.
    fn refuse_foreign_folder(&self, seen: &Snapshot, record: &ClaimRecord) -> PortResult<()> {
        let named = record.repo.to_string();
        let is = |slug: &RepoSlug| slug.to_string().eq_ignore_ascii_case(&named);
        let lease = self.policy.issue_ref(record.issue);
        let commit = lease.and_then(|name| seen.look.leases.get(&name));
        let carried = commit.is_some_and(|one| ClaimProof::verify(one, &record.claim).is_some());
        if carried || is(&self.settings.slug) || is(&seen.repo.slug) {
            return Ok(());
        }
        Err(PortError::refused(
            format!(
                "use the claim of issue #{} in this home's folder",
                record.issue
            ),
            Refusal::Local,
            format!(
                "it is one of `{named}`, not of `{}`; nothing was moved or written. See whose it is, and \
                 move `issue-{}/run.json` under `$GHSWARM_HOME/runs/{}` away by hand",
                seen.repo.slug, record.issue, seen.repo.id
            ),
        ))
    }

    /// Forgets a claim that nobody sees. What it was to take the place of here is put back; whether that
    /// still stands is told by the next look.
    pub(super) fn forget_claim(&self, record: &ClaimRecord) -> PortResult<()> {
        match record.replaces() {
            Some(old) => self.world.folders.replace_claim(&old.record),
            None => self.world.folders.remove_claim(record.issue),
        }
    }

    fn hand_terms(record_branch: BranchName, hand: crate::model::claim::ByHand) -> Terms {
        Terms {
            by: "manual",
            ttl: HAND_LEASE_TTL,
            branch: record_branch,
            hand: Some(hand),
        }
    }

    fn placed<'a>(&self, seen: &Snapshot, record: &'a ClaimRecord) -> Placed<'a> {
        Placed {
            record,
            operator: seen.repo.operator.clone(),
            host: self.settings.host.clone(),
            marker: self.policy.marker.clone(),
            label: self.policy.labels.claim.clone(),
            ttl_minutes: HAND_LEASE_TTL.as_secs() / 60,
            stale_hours: self.policy.stale_window.as_secs().div_ceil(3600),
        }
    }
}

/// Our claim's comment, finished or not.
fn own_comment<'a>(view: &View<'a>) -> Option<&'a Comment> {
    view.own_marker().map(|marker| marker.comment)
}

/// Does our claim's comment stand and say that it is over?
fn is_over(view: &View<'_>) -> bool {
    own_comment(view).is_some_and(|comment| is_finished(&comment.body))
}

/// A look may help: the answer was lost, or what was seen is not what is there.
fn is_worth_a_look(error: &PortError) -> bool {
    matches!(error, PortError::Unknown { .. }) || error.refusal() == Some(Refusal::Stale)
}

fn circle(issue: IssueNumber) -> PortError {
    PortError::refused(
        format!("claim issue #{issue}"),
        Refusal::Local,
        "it takes too many looks: the issue changes all the time, or this is a bug of ghswarm",
    )
}

/// What a decision that comes instead of a view says.
fn why_of(decision: &Decision) -> Why {
    decision.why().clone()
}
