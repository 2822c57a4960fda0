//! The snapshot, read once: blocks parsed, trust judged, lease and claim compared.

use crate::model::body::{self, ParsedBody, VerifyBlock};
use crate::model::claim::ClaimRecord;
use crate::model::comment::{Checkpoint, LockBy, parse_checkpoint};
use crate::model::ids::{BranchName, CommentId, IssueNumber, Login, RefName, Sha, Timestamp};
use crate::model::issue::{Actor, Comment, Issue, Labelled};
use crate::model::labels::Status;
use crate::model::lease::{ClaimProof, LeaseCommit, LeaseReading, epoch_of, read_lease};
use crate::model::local::Worktree;
use crate::model::phase::Phase;
use crate::model::pr::{PrState, PullRequest};
use crate::model::run::{RunFacts, RunKey, RunStatus};
use crate::model::state::IssueState;
use crate::model::trust::{TextFacts, TextTrust, TrustPolicy, text_trust};

use super::{Decision, Policy, Snapshot, Why};

/// What our claim is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimView {
    /// We have none here.
    None,
    /// The lease carries it.
    Ours(ClaimProof),
    /// Here is one, and no lease carries it: never won, deleted by a person, or lag.
    WithoutLease,
    /// Another claim with an epoch that is not lower holds the lease.
    Lost,
}

/// Where the state comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateSource {
    /// The body's block.
    Body,
    /// There is none: a fresh issue.
    Fresh,
    /// The checkpoint's copy, and that is how it should be (the text is approved, not trusted).
    Checkpoint,
    /// The checkpoint's copy, or our pull request, since the block is gone, damaged or older.
    Restored,
    /// Damaged, and nothing to restore it from.
    Damaged {
        /// What is wrong.
        message: String,
        /// Line in the body.
        line: usize,
        /// Column.
        column: usize,
    },
    /// A newer version's.
    Newer(u64),
}

/// The snapshot, read.
pub struct View<'a> {
    /// What was seen.
    pub seen: &'a Snapshot,
    /// The rules.
    pub policy: &'a Policy,
    /// GitHub's clock.
    pub now: Timestamp,
    /// The issue.
    pub issue: &'a Issue,
    /// Its blocks and tasks.
    pub body: ParsedBody,
    /// Our checkpoint comment, to rewrite.
    pub own_checkpoint: Option<CommentId>,
    /// What the best checkpoint says.
    pub checkpoint: Option<Checkpoint>,
    /// The state that counts.
    pub state: IssueState,
    /// Where it comes from.
    pub source: StateSource,
    /// May the text be acted on?
    pub trust: TextTrust,
    /// The issue's lease ref.
    pub issue_ref: RefName,
    /// How the issue's lease reads.
    pub lease: LeaseReading,
    /// What our claim is worth.
    pub claim: ClaimView,
    /// The branch of the work.
    pub branch: BranchName,
    /// Status labels that stand.
    pub statuses: Vec<Status>,
    /// For `explain`: what would be done once the issue is claimed, instead of the claim.
    pub as_if_claimed: bool,
}

impl<'a> View<'a> {
    /// Reads the snapshot. The error is the decision where there is nothing to read.
    pub fn of(
        seen: &'a Snapshot,
        policy: &'a Policy,
        now: Timestamp,
    ) -> Result<Self, Box<Decision>> {
        let Some(issue) = seen.look.issue.as_ref() else {
            return Err(Box::new(Decision::Finished(Why::IssueGone)));
        };
        let (branch, issue_ref) = names_of(policy, issue.number)?;
        let trust_policy = trust_policy(seen, policy);
        let facts = text_facts(seen, issue);
        let trust = text_trust(&facts, &trust_policy, &seen.people);
        let body = body::parse(&issue.body);
        let (own_checkpoint, checkpoint) = find_checkpoint(seen, policy, issue);
        let evidence = super::believe::Evidence {
            seen,
            policy,
            issue,
            checkpoint: checkpoint.as_ref(),
            trust: &trust,
        };
        let (state, source) = super::believe::resolve(&evidence, &body);
        let commit = seen.look.leases.get(&issue_ref);
        let first_seen = seen.lease_first_seen.unwrap_or(now);
        let lease = read_lease(commit, first_seen, now, &policy.lease_margins);
        let branch = state.branch_name.clone().unwrap_or(branch);
        Ok(Self {
            claim: claim_view(seen, commit),
            statuses: policy.labels.statuses(&issue.labels),
            as_if_claimed: false,
            seen,
            policy,
            now,
            issue,
            body,
            own_checkpoint,
            checkpoint,
            state,
            source,
            trust,
            issue_ref,
            lease,
            branch,
        })
    }

    /// The phase to go on with, facts taken into account: a merged pull request is beyond doubt.
    pub fn phase(&self) -> Phase {
        let intended = self.state.next_action;
        match self.pr().map(|pr| &pr.state) {
            Some(PrState::Merged { .. }) if intended != Phase::Done => Phase::VerifyMerge,
            _ => intended,
        }
    }

    /// The operator.
    pub fn operator(&self) -> &Login {
        &self.seen.repo.operator
    }

    /// The proof of our claim.
    pub fn proof(&self) -> Option<&ClaimProof> {
        match &self.claim {
            ClaimView::Ours(proof) => Some(proof),
            ClaimView::None | ClaimView::WithoutLease | ClaimView::Lost => None,
        }
    }

    /// The lease commit of the issue, as read.
    pub fn lease_commit(&self) -> Option<&LeaseCommit> {
        self.seen.look.leases.get(&self.issue_ref)
    }

    /// The slot our claim carries.
    pub fn slot(&self) -> Option<RefName> {
        let ours = self.proof()?.claim();
        self.policy.slot_refs().into_iter().find(|slot| {
            let commit = self.seen.look.leases.get(slot);
            commit.is_some_and(|commit| ClaimProof::verify(commit, ours).is_some())
        })
    }

    /// Our pull request: head repository ours, head ref our branch, base the base branch. An open one
    /// first, else the one the state names, else the newest merged one.
    pub fn pr(&self) -> Option<&'a PullRequest> {
        let ours: Vec<_> = self
            .seen
            .look
            .prs
            .iter()
            .filter(|pr| self.is_ours(pr))
            .collect();
        let open = ours.iter().find(|pr| pr.state == PrState::Open);
        let named = ours
            .iter()
            .find(|pr| Some(pr.number) == self.state.pr_number);
        // Merged or closed before its number came into the state: nobody else has the head we verified.
        let verified = ours
            .iter()
            .find(|pr| Some(&pr.head_sha) == self.state.head_sha.as_ref());
        // A pull request that a person closed or merged before this issue's state knew of one belongs
        // to an earlier life of the branch's name.
        open.or(named).or(verified).copied()
    }

    fn is_ours(&self, pr: &PullRequest) -> bool {
        pr.head_repo == Some(self.seen.repo.id)
            && pr.head_ref == self.branch
            && Some(&pr.base_ref) == self.base()
    }

    /// The open pull request from the branch of the work in this repository, whoever opened it and
    /// whatever it goes into.
    pub fn pr_of_branch(&self) -> Option<&'a PullRequest> {
        let prs = self.seen.look.prs.iter();
        let mut ours =
            prs.filter(|pr| pr.head_repo == Some(self.seen.repo.id) && pr.head_ref == self.branch);
        ours.find(|pr| pr.state == PrState::Open)
    }

    /// Is a claim by hand of this home old, without a lease that lives and without a pull request?
    pub fn hand_is_stale(&self, record: &ClaimRecord) -> bool {
        let live = matches!(self.lease, LeaseReading::Held { expired: false, .. });
        let old = self.now >= record.at + self.policy.stale_window;
        let lead = record.hand.as_ref().and_then(|hand| hand.lead);
        let bundled = lead.is_some_and(|lead| self.seen.leads.get(&lead) == Some(&true));
        old && !live && !bundled && !self.has_open_pr(Some(record.branch.as_str()))
    }

    /// The base branch.
    pub fn base(&self) -> Option<&BranchName> {
        self.seen.base.as_ref()
    }

    /// The remote branch's head.
    pub fn remote_head(&self) -> Option<&'a Sha> {
        self.seen.look.refs.get(&RefName::of_branch(&self.branch))
    }

    /// The worktree.
    pub fn worktree(&self) -> Option<&'a Worktree> {
        self.seen.local.worktree.as_ref()
    }

    /// The run folder of a key.
    pub fn run(&self, key: &RunKey) -> Option<&'a RunFacts> {
        self.seen.local.runs.iter().find(|run| run.key == *key)
    }

    /// A run that is alive on this machine.
    pub fn live_run(&self) -> Option<&'a RunFacts> {
        self.seen
            .local
            .runs
            .iter()
            .find(|run| matches!(run.status, RunStatus::Running { .. }))
    }

    /// Texts of the open tasks.
    pub fn open_tasks(&self) -> Vec<String> {
        self.body
            .tasks
            .iter()
            .filter(|task| !task.done)
            .map(|task| task.text.clone())
            .collect()
    }

    /// Are there verify steps to run?
    pub fn has_verify_steps(&self) -> bool {
        matches!(&self.body.verify, VerifyBlock::Steps(steps) if !steps.is_empty())
    }

    /// Is this one's word an order? The operator also writes as a person.
    pub fn obeys(&self, actor: Option<&Actor>) -> bool {
        let Some(actor) = actor else { return false };
        let author = self
            .issue
            .author
            .as_ref()
            .filter(|author| author.login == actor.login);
        let policy = trust_policy(self.seen, self.policy);
        author.is_some() && policy.trusts(author, self.issue.association)
            || policy.knows(&actor.login, &self.seen.people) == Some(true)
            || self.seen.look.comments.iter().any(|comment| {
                let same = comment
                    .author
                    .as_ref()
                    .is_some_and(|a| a.login == actor.login);
                same && policy.trusts(comment.author.as_ref(), comment.association)
            })
    }

    /// Does this comment count?
    pub fn counts(&self, comment: &Comment) -> bool {
        trust_policy(self.seen, self.policy).trusts_comment(comment, &self.seen.people)
    }

    /// The status label that was put on last, and when.
    pub fn last_status(&self) -> Option<(Status, &'a Labelled)> {
        self.last_of(&self.statuses)
    }

    /// Of these status labels the one that was put on last, and when.
    pub fn last_of(&self, among: &[Status]) -> Option<(Status, &'a Labelled)> {
        self.seen
            .look
            .labelled
            .iter()
            .rev()
            .filter_map(|event| Some((self.policy.labels.status_of(&event.label)?, event)))
            .find(|(status, _)| among.contains(status))
    }

    /// Does one of our comments carry this key?
    pub fn said(&self, key: &str) -> bool {
        self.seen.look.comments.iter().any(|comment| {
            let ours = comment
                .author
                .as_ref()
                .is_some_and(|a| a.login == *self.operator());
            (ours || self.counts(comment))
                && crate::model::comment::key_of(&comment.body) == Some(key)
        })
    }
}

/// The names that the policy gives an issue's branch and lease.
fn names_of(policy: &Policy, issue: IssueNumber) -> Result<(BranchName, RefName), Box<Decision>> {
    policy
        .branch(issue)
        .zip(policy.issue_ref(issue))
        .ok_or_else(|| Box::new(Decision::wait(Why::BadBranchName)))
}

/// Who wrote what of the issue's text.
pub fn text_facts<'a>(seen: &'a Snapshot, issue: &'a Issue) -> TextFacts<'a> {
    TextFacts {
        issue,
        edits: &seen.look.edits,
        renames: &seen.look.renames,
        comments: &seen.look.comments,
    }
}

/// The trust rules with the operator in them.
pub fn trust_policy(seen: &Snapshot, policy: &Policy) -> TrustPolicy {
    TrustPolicy {
        associations: policy.trusted_associations.clone(),
        logins: policy.trusted_logins.clone(),
        bots: policy.trusted_bots.clone(),
        operator: seen.repo.operator.clone(),
    }
}

/// Our own checkpoint comment (the newest, the one that is rewritten) and the best copy of the state
/// in any trusted one: another operator's checkpoint counts for reading. A copy that somebody else has
/// edited, or that another bot posted, says nothing: who may edit the body may edit comments too.
fn find_checkpoint(
    seen: &Snapshot,
    policy: &Policy,
    issue: &Issue,
) -> (Option<CommentId>, Option<Checkpoint>) {
    let trust = trust_policy(seen, policy);
    let mut own = None;
    let mut best: Option<Checkpoint> = None;
    for comment in &seen.look.comments {
        if !trust.trusts_comment(comment, &seen.people) {
            continue;
        }
        let Some(checkpoint) = parse_checkpoint(&comment.body, &policy.marker) else {
            continue;
        };
        let here = checkpoint.issue == issue.number
            && checkpoint
                .repo
                .to_string()
                .eq_ignore_ascii_case(&seen.repo.slug.to_string());
        // A claim by hand has a comment of its own for each claim, and mirrors no state.
        let by_hand = checkpoint
            .lock
            .as_ref()
            .is_some_and(|lock| lock.by == LockBy::Manual);
        if !here || by_hand {
            continue;
        }
        if comment
            .author
            .as_ref()
            .is_some_and(|a| a.login == seen.repo.operator)
        {
            own = Some(comment.id);
        }
        if !is_its_authors(comment, &seen.repo.operator) {
            continue;
        }
        let rev = |c: &Checkpoint| c.state.as_ref().map(|state| state.rev);
        if best.as_ref().is_none_or(|b| rev(&checkpoint) >= rev(b)) {
            best = Some(checkpoint);
        }
    }
    (own, best)
}

/// Nobody but its author wrote the comment, and that is the operator or a person.
fn is_its_authors(comment: &Comment, operator: &Login) -> bool {
    let Some(author) = &comment.author else {
        return false;
    };
    let edited = comment.edited_at.is_some() || comment.editor.is_some();
    let alone = comment
        .editor
        .as_ref()
        .map_or(!edited, |editor| editor.login == author.login);
    let bot = author.is_bot || author.login.is_bot();
    alone && (author.login == *operator || !bot)
}

fn claim_view(seen: &Snapshot, commit: Option<&LeaseCommit>) -> ClaimView {
    let Some(record) = &seen.local.claim else {
        return ClaimView::None;
    };
    let Some(commit) = commit else {
        return ClaimView::WithoutLease;
    };
    if let Some(proof) = ClaimProof::verify(commit, &record.claim) {
        return ClaimView::Ours(proof);
    }
    // A commit of a lower epoch is lag or a restored ref; only a later claim is a loss.
    if epoch_of(commit) >= record.epoch {
        ClaimView::Lost
    } else {
        ClaimView::WithoutLease
    }
}
