//! What may be done. Each effect says when it is done, when it is refused, what happens if the answer
//! is lost, and why a second one does no harm.

use crate::model::ids::{BranchName, CommentId, Epoch, Login, PrNumber, RefName, Sha, Timestamp};
use crate::model::labels::Status;
use crate::model::lease::{LeaseCommit, StolenFrom};
use crate::model::run::{RunKey, RunKind};
use crate::model::state::IssueState;

/// One change outside the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Take the issue's lease (and a slot).
    /// *Done* when the ref carries our claim. *Refused* when the ref moved since it was read. *Answer
    /// lost*: the next look reads the ref. *Twice*: the compare-and-swap refuses the second.
    Claim(ClaimPlan),
    /// Re-stamp a lease that gets old while no run's supervisor does it.
    /// *Done* when the ref points at a younger commit with our claim; otherwise as `Claim`.
    Renew,
    /// Forget a local claim whose lease is not ours any more.
    /// *Done* when `run.json` is gone. Local, idempotent.
    DropClaim,
    /// Give the lease back: relieve supervisors, delete the refs where they carry our claim, forget
    /// `run.json`. *Refused* when the ref moved. *Answer lost*: the next look. *Twice*: nothing left.
    Release,
    /// Place the signals that are missing. *Done* when all stand. Each is idempotent by itself.
    PlaceSignals(Signals),
    /// Write the state block (and ticks, and the PR link), then the checkpoint's copy.
    /// *Done* when the body carries `rev` and `epoch`. *Refused* when the read-back differs. *Answer
    /// lost*: read the body. *Twice*: `rev` was looked at just before.
    WriteState(Box<StateWrite>),
    /// Bring the checkpoint comment up to the state. *Done* when its copy has the state's `rev`.
    MirrorState(Mirror),
    /// Make this the only status label; add first, then remove.
    SetStatus(StatusChange),
    /// Say something once. *Done* when a comment of ours begins with the key. *Twice*: we looked.
    Comment(KeyedComment),
    /// Make the worktree. *Done* when git lists it on our branch. *Twice*: git refuses.
    MakeWorktree(WorktreePlan),
    /// Remember that `worktree_setup` succeeded in this worktree. Local, idempotent.
    MarkSetUp,
    /// Start a run. *Done* when its folder has a supervisor. *Twice*: the folder's exclusive create.
    StartRun(RunPlan),
    /// Bring the worktree to where a run's box is, which goes then. *Done* when the box is gone. *Refused*
    /// where the worktree is not what the box was made of, or the box is not what git leaves; it stays.
    /// *Answer lost*: the box is there still. *Twice*: the same files again, or nothing is there.
    TakeBox(RunKey),
    /// Ask a run's supervisor to end it. Idempotent.
    StopRun(RunKey),
    /// Kill what a dead supervisor left. Idempotent.
    SweepRuns,
    /// Commit what the agent left uncommitted. *Done* when the worktree is clean. *Twice*: nothing to do.
    CommitWork {
        /// The run that left it.
        kind: RunKind,
    },
    /// Push the work to where the next holder finds it. *Done* when the remote ref is at it.
    SaveWork {
        /// Where.
        to: RefName,
        /// What.
        sha: Sha,
        /// What the remote ref is at now.
        expected: Option<Sha>,
    },
    /// Push the branch. *Done* when the remote head is `sha`. *Refused* when the remote moved.
    PushBranch {
        /// Which.
        branch: BranchName,
        /// What.
        sha: Sha,
        /// What the remote head is now.
        expected: Option<Sha>,
    },
    /// Open the pull request and assign the operator. *Twice*: GitHub allows one a head and base.
    OpenPr {
        /// Head branch.
        branch: BranchName,
    },
    /// Assign the operator to the pull request, where that was cut off. Idempotent.
    AssignPr(PrNumber),
    /// Merge. *Refused* when the head moved. *Answer lost*: read the pull request.
    Merge {
        /// Which.
        pr: PrNumber,
        /// The head that was looked at.
        head: Sha,
    },
    /// Put it into the base's merge queue. *Refused* when the head moved. *Answer lost*: the next look shows it
    /// there. *Twice*: GitHub refuses.
    Enqueue {
        /// Which.
        pr: PrNumber,
        /// Its node id.
        node_id: String,
        /// The head that was looked at.
        head: Sha,
    },
    /// Have GitHub merge the base into the pull request's branch. *Done* when its head moved. *Refused* when
    /// it has moved already. *Answer lost*: the next look sees the head. *Twice*: the expected head.
    UpdateBranch {
        /// Which.
        pr: PrNumber,
        /// The head that was looked at.
        head: Sha,
        /// A state to write before, where this is the one try.
        noting: Option<Box<StateWrite>>,
    },
    /// Have GitHub Actions run the failed jobs again. The state says so before it is asked, so it is *done* once
    /// for each head, at most: a crash in between, a refusal or a lost answer cost the second try, no more.
    RerunJobs {
        /// The state that says so.
        noting: Box<StateWrite>,
        /// The workflow runs.
        runs: Vec<u64>,
    },
    /// Move the worktree's branch forward to what was pushed to it elsewhere. *Done* when its head is that
    /// commit. *Refused* where that would lose something. *Twice*: nothing to move.
    FollowBranch {
        /// Which.
        branch: BranchName,
    },
    /// Delete remote refs that still point where we left them: branch and saved work.
    DeleteRefs(Vec<(RefName, Sha)>),
    /// Remove the worktree. *Refused* when it holds something unsaved.
    RemoveWorktree {
        /// The merged head; the local branch goes along if it is at it.
        merged: Option<Sha>,
    },
    /// Write the last state and close the issue, in one request. Idempotent.
    CloseIssue(Box<StateWrite>),
}

/// How to take a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPlan {
    /// The issue's lease as it was read; `None`: there is no ref.
    pub from: Option<LeaseCommit>,
    /// The slot to take along, and what it was read as.
    pub slot: Option<(RefName, Option<LeaseCommit>)>,
    /// Whose expired lease is taken over.
    pub stolen_from: Option<StolenFrom>,
    /// The new claim's epoch.
    pub epoch: Epoch,
    /// Tree of the lease commit.
    pub tree: Sha,
}

/// Signals that are missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signals {
    /// A stolen lease or a stale assignee is announced first, once.
    pub reclaim: Option<Reclaim>,
    /// Assign the operator.
    pub assign: bool,
    /// Put the claim label on.
    pub label: bool,
    /// The status to show.
    pub status: Option<StatusChange>,
    /// Write the checkpoint comment, or start it anew for this claim.
    pub checkpoint: Option<Mirror>,
}

/// A take-over that has to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reclaim {
    /// Key of the comment.
    pub key: String,
    /// Who held it, in words.
    pub from: String,
    /// When its lease was stamped last, if it had one.
    pub since: Option<Timestamp>,
    /// Why it was taken for dead.
    pub because: String,
    /// Assignees of the dead claim, to take off.
    pub unassign: Vec<Login>,
    /// Does the comment stand already, so that only the assignees are left?
    pub said: bool,
}

/// A change of status labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// The one to show.
    pub to: Status,
    /// Labels to take off, as GitHub spells them (other status labels, the claim label on release).
    pub remove: Vec<String>,
    /// Is it on already?
    pub present: bool,
}

/// A state to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateWrite {
    /// The new state.
    pub state: IssueState,
    /// Tasks to tick, by their text.
    pub ticks: Vec<String>,
    /// The pull request to link.
    pub pr_url: Option<String>,
    /// While the text is not everybody's that we trust, state lives in the checkpoint alone.
    pub checkpoint_only: bool,
    /// The checkpoint to bring along.
    pub mirror: Option<CommentId>,
}

/// The checkpoint comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The comment; `None`: write it.
    pub comment: Option<CommentId>,
    /// The state to mirror.
    pub state: IssueState,
}

/// A comment that is written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedComment {
    /// Its key.
    pub key: String,
    /// What it is about.
    pub about: CommentAbout,
}

/// What a comment is about; `comments` has the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommentAbout {
    /// The issue is blocked.
    Blocked,
    /// The agent asked.
    Question,
    /// The state block is damaged; the text says where.
    StateInvalid(String),
    /// A person answered the agent's question on the command line.
    Answer(String),
}

/// Where the worktree starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePlan {
    /// Our branch.
    pub branch: BranchName,
    /// A remote ref with earlier work to go on from; `None`: the base.
    pub from: Option<RefName>,
}

/// A run to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPlan {
    /// Its key.
    pub key: RunKey,
    /// Open tasks that are handed to the agent.
    pub tasks: Vec<String>,
    /// Refs whose lease the supervisor keeps.
    pub refs: Vec<RefName>,
}

impl Effect {
    /// Does it change anything that others can see? Such an effect needs a fresh look.
    pub fn is_public(&self) -> bool {
        match self {
            Self::Claim(_)
            | Self::Renew
            | Self::Release
            | Self::PlaceSignals(_)
            | Self::WriteState(_)
            | Self::MirrorState(_)
            | Self::SetStatus(_)
            | Self::Comment(_)
            | Self::SaveWork { .. }
            | Self::PushBranch { .. }
            | Self::OpenPr { .. }
            | Self::AssignPr(_)
            | Self::Merge { .. }
            | Self::Enqueue { .. }
            | Self::UpdateBranch { .. }
            | Self::RerunJobs { .. }
            | Self::DeleteRefs(_)
            | Self::CloseIssue(_) => true,
            Self::DropClaim
            | Self::MakeWorktree(_)
            | Self::MarkSetUp
            | Self::StartRun(_)
            | Self::TakeBox(_)
            | Self::StopRun(_)
            | Self::SweepRuns
            | Self::CommitWork { .. }
            | Self::FollowBranch { .. }
            | Self::RemoveWorktree { .. } => false,
        }
    }

    /// The word for logs and events.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Claim(_) => "claim",
            Self::Renew => "renew",
            Self::DropClaim => "drop claim",
            Self::Release => "release",
            Self::PlaceSignals(_) => "place signals",
            Self::WriteState(_) => "write state",
            Self::MirrorState(_) => "update checkpoint",
            Self::SetStatus(_) => "set status label",
            Self::Comment(_) => "comment",
            Self::MakeWorktree(_) => "make worktree",
            Self::MarkSetUp => "mark worktree set up",
            Self::StartRun(_) => "start run",
            Self::TakeBox(_) => "take over the box",
            Self::StopRun(_) => "stop run",
            Self::SweepRuns => "sweep strays",
            Self::CommitWork { .. } => "commit work",
            Self::SaveWork { .. } => "save work",
            Self::PushBranch { .. } => "push branch",
            Self::OpenPr { .. } => "open pull request",
            Self::AssignPr(_) => "assign pull request",
            Self::Merge { .. } => "merge",
            Self::Enqueue { .. } => "enqueue",
            Self::UpdateBranch { .. } => "update branch",
            Self::RerunJobs { .. } => "rerun failed jobs",
            Self::FollowBranch { .. } => "follow branch",
            Self::DeleteRefs(_) => "delete refs",
            Self::RemoveWorktree { .. } => "remove worktree",
            Self::CloseIssue(_) => "close issue",
        }
    }
}
