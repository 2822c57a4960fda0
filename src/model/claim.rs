//! The local half of a claim: `run.json` of an issue folder, created exclusively.
//!
//! Of a claim by hand it also says how far that got, so that whoever comes next in this home can finish
//! what a crash cut off, or take it back.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ids::{
    BranchName, ClaimId, Epoch, IssueNumber, Login, PrNumber, RefName, RepoSlug, Sha, Timestamp,
};

/// `run.json`: this home's claim on an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRecord {
    /// The repository, so that a folder which names another one is refused.
    pub repo: RepoSlug,
    /// The issue, likewise.
    pub issue: IssueNumber,
    /// The random claim.
    pub claim: ClaimId,
    /// The claim's epoch.
    pub epoch: Epoch,
    /// The branch of the work.
    pub branch: BranchName,
    /// The worktree.
    pub worktree: PathBuf,
    /// When it was made.
    pub at: Timestamp,
    /// The lease commit we last moved the ref to, if the answer came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_oid: Option<Sha>,
    /// What a claim by hand has besides; `None`: the loop's claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hand: Option<ByHand>,
}

/// A claim of a person or of an agent that works without the loop (`ghswarm claim`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByHand {
    /// How far it is.
    pub stage: HandStage,
    /// Was the operator not assigned before? Then it comes off again when the work is given up.
    pub assigned: bool,
    /// The issue whose claim this one goes along with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<IssueNumber>,
    /// Whose claim it takes the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced: Option<Displaced>,
    /// The claim of this very home that was archived for it, until this one stands. If the lease never
    /// comes, that one is put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Box<Replaced>>,
}

/// A claim of this home that another one of this home takes the place of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// As it was.
    pub record: ClaimRecord,
    /// Where its files are.
    pub archive: PathBuf,
    /// Refs under which its work is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub salvaged: Vec<RefName>,
}

/// How far a claim by hand is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "stage")]
pub enum HandStage {
    /// Lease and signals are being placed.
    Claiming,
    /// Everything stands.
    Held,
    /// It is being given back.
    Releasing {
        /// How it ends.
        ending: Ending,
    },
}

/// How a claim by hand ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ending")]
pub enum Ending {
    /// The pull request is merged: the assignee stays as credit, the issue is closed.
    Merged {
        /// Which.
        pr: PrNumber,
        /// The branch it went into.
        base: BranchName,
    },
    /// The work is given up: what we placed comes off.
    Abandoned {
        /// Why.
        reason: String,
    },
    /// Something else has to happen first: the assignee stays.
    Blocked {
        /// What.
        reason: String,
    },
    /// The claim never came to stand: nothing is said, what was placed comes off.
    TakenBack,
    /// Another session's claim that is stale is cleared away; ours is only held for that.
    Cleared {
        /// Whose.
        operator: Login,
        /// Its merged pull request with its base, or none: its work is dead.
        merged: Option<(PrNumber, BranchName)>,
        /// In words, of a dead one: what became of the pull request.
        because: String,
    },
}

/// A claim that another one takes the place of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Displaced {
    /// Who, in words.
    pub who: String,
    /// Since when it stood, or its last sign of life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Why, as a sentence's part.
    pub because: String,
    /// Its assignees, to take off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unassign: Vec<Login>,
    /// Was it live, and a person ordered it away?
    #[serde(default)]
    pub by_order: bool,
}

impl ClaimRecord {
    /// Is it the loop's, not one by hand?
    pub fn is_loops(&self) -> bool {
        self.hand.is_none()
    }

    /// The same at another stage; the loop's has none.
    #[must_use]
    pub fn at_stage(&self, stage: HandStage) -> Self {
        let mut record = self.clone();
        if let Some(hand) = record.hand.as_mut() {
            hand.stage = stage;
        }
        record
    }

    /// The claim of this home that it takes the place of, if it is on its way.
    pub fn replaces(&self) -> Option<&Replaced> {
        self.hand.as_ref()?.replaces.as_deref()
    }

    /// The stage, if it is by hand.
    pub fn stage(&self) -> Option<&HandStage> {
        self.hand.as_ref().map(|hand| &hand.stage)
    }
}
