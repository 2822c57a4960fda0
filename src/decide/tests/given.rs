//! A valid snapshot to start from, and what tests name that differs.

pub(super) use super::parts::*;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::decide::view::View;
use crate::decide::{Decision, Order, Policy, Snapshot, decide};
use crate::model::blockers::WaitsOn;
use crate::model::body::{BodyChange, rewrite};
use crate::model::checks::CheckOutcome;
use crate::model::claim::{ByHand, ClaimRecord, HandStage};
use crate::model::comment::{LockBy, LockMarker, render_lock, render_mirrored_state, render_run};
use crate::model::ids::{
    BranchName, ClaimId, CommentId, Epoch, IssueNumber, PrNumber, RefName, RepoId, Timestamp,
};
use crate::model::issue::{Association, BodyEdit, Comment, Issue, Labelled};
use crate::model::local::{LocalFacts, Worktree};
use crate::model::look::{BaseTip, Look};
use crate::model::phase::Phase;
use crate::model::pr::{Mergeable, PrState, PullRequest};
use crate::model::repo::Repository;
use crate::model::rules::BaseRules;
use crate::model::run::{RunFacts, RunKind, RunStatus};
use crate::model::state::{BlockedReason, IssueState};

pub(super) const ISSUE: IssueNumber = IssueNumber(42);
pub(super) const PR: PrNumber = PrNumber(7);
pub(super) const OUR_CLAIM: &str = "c-ours";
pub(super) const OTHER_CLAIM: &str = "c-other";
/// The head that our worktree, branch and pull request are at unless a test says otherwise.
pub(super) const HEAD: char = 'a';
const SPEC: &str = "Do it.\n\n- [ ] first\n\n<!-- GHSWARM_VERIFY_START\nverify: make test\nGHSWARM_VERIFY_END -->\n";

/// A snapshot in the making: body and checkpoint are rendered when it is decided on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Given {
    /// All that is neither body nor checkpoint.
    pub(super) seen: Snapshot,
    pub(super) policy: Policy,
    /// The text that people wrote.
    pub(super) text: String,
    /// The state block; `None`: there is none.
    pub(super) state: Option<IssueState>,
    /// What stands where the state block should be.
    pub(super) damage: Option<String>,
    /// The checkpoint comment. Where none is given, one speaks for a state that we wrote.
    pub(super) checkpoint: Option<Checkpoint>,
    /// The block stands alone: no copy is made for it.
    pub(super) alone: bool,
    /// Who brought the block into the body, where that can be seen.
    pub(super) brought_by: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checkpoint {
    pub(super) state: IssueState,
    pub(super) claim: Option<ClaimId>,
}

/// A fresh, trusted, well-specified issue that nobody claims.
pub(super) fn snapshot() -> Given {
    let look = Look {
        at: start_time(),
        issue: Some(fresh()),
        edits: Vec::new(),
        renames: Vec::new(),
        labelled: Vec::new(),
        comments: Vec::new(),
        prs: Vec::new(),
        leases: BTreeMap::new(),
        refs: BTreeMap::new(),
        base: Some(BaseTip {
            sha: sha('b'),
            tree: sha('9'),
        }),
        merge_checks: None,
    };
    let repo = Repository {
        id: RepoId(1),
        node_id: "R_1".to_owned(),
        slug: "octo/demo".parse().unwrap(),
        default_branch: Some(BranchName::new("main").unwrap()),
        archived: false,
        can_push: true,
        operator: login("op"),
    };
    let seen = Snapshot {
        base: repo.default_branch.clone(),
        repo,
        look,
        local: LocalFacts::default(),
        remote_contained: None,
        outgoing: Vec::new(),
        host: Some("host:1".to_owned()),
        people: BTreeMap::new(),
        lease_first_seen: None,
        slot_owners: BTreeMap::new(),
        slot_owners_known: false,
        leads: BTreeMap::new(),
        waits_on: WaitsOn::default(),
        trouble: None,
        rules: Some(BaseRules::default()),
        base_checks: Some(checks('b', &[])),
        order: Order::default(),
    };
    Given {
        seen,
        policy: policy(),
        text: SPEC.to_owned(),
        state: None,
        damage: None,
        checkpoint: None,
        alone: false,
        brought_by: None,
    }
}

/// An issue in this phase, whose state we wrote under an earlier claim.
pub(super) fn in_phase(phase: Phase) -> Given {
    let mut given = snapshot();
    let mut state = IssueState {
        repo_id: Some(RepoId(1)),
        issue: Some(ISSUE),
        rev: 5,
        epoch: Some(Epoch(100)),
        claim: Some(ClaimId::new("c-earlier").unwrap()),
        next_action: phase,
        branch_name: Some(branch()),
        attempt: 1,
        total_agent_runs: 1,
        ..IssueState::default()
    };
    phase.name().clone_into(&mut state.phase);
    given.state = Some(state);
    given
}

impl Given {
    pub(super) fn now(&self) -> Timestamp {
        self.seen.look.at
    }

    pub(super) fn issue(&mut self) -> &mut Issue {
        self.seen.look.issue.as_mut().unwrap()
    }

    /// Changes anything.
    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Changes the state block.
    pub(super) fn state(mut self, change: impl FnOnce(&mut IssueState)) -> Self {
        let mut state = self.state.take().unwrap_or_default();
        change(&mut state);
        self.state = Some(state);
        self
    }

    /// These labels and no others.
    pub(super) fn labels(mut self, labels: &[&str]) -> Self {
        self.issue().labels = labels.iter().map(|label| (*label).to_owned()).collect();
        self
    }

    /// Somebody put a label on, after all that was before.
    pub(super) fn labelled(mut self, label: &str, by: &str) -> Self {
        self.seen.look.at += Duration::from_secs(60);
        let at = self.now();
        self.issue().labels.push(label.to_owned());
        self.seen.look.labelled.push(Labelled {
            label: label.to_owned(),
            actor: Some(person(by)),
            at,
        });
        self
    }

    /// A comment of a member.
    pub(super) fn comment(mut self, by: &str, body: &str) -> Self {
        let id = CommentId(1000 + self.seen.look.comments.len() as u64);
        let at = self.now();
        self.seen.look.comments.push(Comment {
            id,
            author: Some(person(by)),
            association: Association::Member,
            body: body.to_owned(),
            created_at: at,
            edited_at: None,
            editor: None,
            url: format!("https://github.com/octo/demo/issues/42#{id}"),
        });
        self
    }

    /// Our record here; no lease says anything.
    pub(super) fn recorded(mut self) -> Self {
        self.seen.local.claim = Some(ClaimRecord {
            repo: self.seen.repo.slug.clone(),
            issue: ISSUE,
            claim: ClaimId::new(OUR_CLAIM).unwrap(),
            epoch: Epoch(200),
            branch: branch(),
            worktree: PathBuf::from("/trees/issue-42"),
            at: self.now(),
            lease_oid: None,
            hand: None,
        });
        self
    }

    /// A claim by hand of this home, so many hours old, whose lease ran out if it could.
    pub(super) fn by_hand(mut self, hours: u64) -> Self {
        self = self.recorded();
        let at = self.now() - Duration::from_secs(hours * 3600);
        if let Some(record) = self.seen.local.claim.as_mut() {
            record.at = at;
            record.hand = Some(ByHand {
                replaces: None,
                stage: HandStage::Held,
                assigned: true,
                lead: None,
                displaced: None,
            });
        }
        self.lease(OUR_CLAIM, 200, hours * 60)
    }

    /// Somebody's lease on the issue.
    pub(super) fn lease(mut self, claim: &str, epoch: i64, age_minutes: u64) -> Self {
        let date = self.now() - Duration::from_secs(age_minutes * 60);
        let name = lease_ref();
        let commit = lease(&name, claim, epoch, date);
        self.seen.look.leases.insert(name, commit);
        self
    }

    /// Our claim, for a single effect: no slot, no signals.
    pub(super) fn claimed(self) -> Self {
        self.recorded().lease(OUR_CLAIM, 200, 1)
    }

    /// Our claim with a slot.
    pub(super) fn slot(mut self) -> Self {
        self = self.claimed();
        let commit = lease(
            &slot_ref(),
            OUR_CLAIM,
            200,
            self.now() - Duration::from_secs(60),
        );
        self.seen.look.leases.insert(slot_ref(), commit);
        self
    }

    /// Our claim with slot and all signals.
    pub(super) fn working(mut self) -> Self {
        self = self.slot();
        let issue = self.issue();
        issue.labels = vec!["agent-claimed".to_owned(), "status: busy-claude".to_owned()];
        issue.assignees = vec![login("op")];
        self.checkpoint = Some(Checkpoint {
            state: self.state.clone().unwrap_or_default(),
            claim: Some(ClaimId::new(OUR_CLAIM).unwrap()),
        });
        self
    }

    /// A clean worktree with work in it.
    pub(super) fn worktree(mut self) -> Self {
        self.seen.local.worktree = Some(Worktree {
            path: PathBuf::from("/trees/issue-42"),
            branch: Some(branch()),
            head: sha(HEAD),
            dirty: false,
            differs_from_base: true,
            set_up: true,
            mid_operation: false,
            ours: true,
        });
        self
    }

    /// The worktree's head passed its review and its verify steps.
    pub(super) fn verified(self) -> Self {
        self.state(|state| {
            state.head_sha = Some(sha(HEAD));
            state.verified_sha = Some(sha(HEAD));
        })
    }

    /// The work is saved and pushed.
    pub(super) fn pushed(mut self) -> Self {
        let refs = &mut self.seen.look.refs;
        refs.insert(RefName::of_branch(&branch()), sha(HEAD));
        refs.insert(wip_ref(), sha(HEAD));
        self.seen.remote_contained = Some(true);
        self
    }

    /// The run that the state reserved under our present claim, and how it stands.
    pub(super) fn open_run(self, kind: RunKind, status: Option<RunStatus>) -> Self {
        let key = run_key(kind);
        let seq = key.seq;
        let given = self.state(|state| {
            state.epoch = Some(Epoch(200));
            state.claim = Some(ClaimId::new(OUR_CLAIM).unwrap());
            state.attempt = seq;
            state.open_run = Some(key);
        });
        match status {
            Some(status) => given.run(kind, status),
            None => given,
        }
    }

    /// A run folder.
    pub(super) fn run(mut self, kind: RunKind, status: RunStatus) -> Self {
        self.seen.local.runs.push(RunFacts {
            key: run_key(kind),
            status,
            folder: PathBuf::from("/runs"),
            label: "claude".to_owned(),
            tasks: vec!["first".to_owned()],
            tail: String::new(),
            question: None,
            review: None,
            reports: Vec::new(),
            agent_box: None,
            head: None,
        });
        self
    }

    /// Our pull request, open, mergeable, its one check green, at the head that the state looks at.
    pub(super) fn pr(self, change: impl FnOnce(&mut PullRequest)) -> Self {
        let mut pr = PullRequest {
            number: PR,
            node_id: "PR_7".to_owned(),
            state: PrState::Open,
            draft: false,
            head_repo: Some(RepoId(1)),
            head_ref: branch(),
            head_sha: sha(HEAD),
            base_ref: BranchName::new("main").unwrap(),
            author: Some(person("op")),
            mergeable: Mergeable::Yes,
            review_decision: None,
            reviews: Vec::new(),
            checks: checks(HEAD, &[CheckOutcome::Success]),
            behind: false,
            merge_queue: false,
            queued: None,
            assignees: vec![login("op")],
            created_at: start_time(),
            url: "https://github.com/octo/demo/pull/7".to_owned(),
        };
        change(&mut pr);
        let mut given = self.state(|state| {
            state.pr_number = Some(PR);
            state.pr_url = Some(pr.url.clone());
            state.head_sha = Some(sha(HEAD));
            state.head_since = Some(start_time());
        });
        given.seen.look.prs.push(pr);
        given
    }

    /// Blocked, and said so.
    pub(super) fn blocked(self, reason: BlockedReason) -> Self {
        let at = self.now();
        let given = self.state(|state| {
            "blocked".clone_into(&mut state.phase);
            state.blocked_reason = Some(reason);
            state.blocked_at = Some(at);
            state.blocked_detail = Some("why".to_owned());
            state.blocked_key = Some("42/100-1/said".to_owned());
        });
        given.comment("op", "<!-- ghswarm:key=42/100-1/said -->\nBlocked.")
    }

    /// The snapshot with body and checkpoint in it.
    pub(super) fn rendered(&self) -> Snapshot {
        let mut seen = self.seen.clone();
        let change = BodyChange {
            state: self.state.as_ref(),
            ..BodyChange::default()
        };
        let mut body = rewrite(&self.text, &change).unwrap();
        if let Some(damage) = &self.damage {
            body.insert_str(0, damage);
        }
        if let Some(who) = self.brought_by {
            seen.look.edits.push(BodyEdit {
                id: "E_block".to_owned(),
                editor: Some(person(who)),
                edited_at: seen.look.at,
                text: Some(body.clone()),
            });
        }
        if let Some(issue) = seen.look.issue.as_mut() {
            issue.body = body;
        }
        if let Some(checkpoint) = &self.faithful() {
            let at = seen.look.at;
            seen.look.comments.insert(
                0,
                Comment {
                    id: CommentId(900),
                    author: Some(person("op")),
                    association: Association::Owner,
                    body: self.checkpoint_text(checkpoint),
                    created_at: start_time(),
                    edited_at: Some(at),
                    editor: Some(person("op")),
                    url: "https://github.com/octo/demo/issues/42#900".to_owned(),
                },
            );
        }
        seen
    }

    /// The checkpoint as ghswarm would have left it: the copy of a write is that write.
    fn faithful(&self) -> Option<Checkpoint> {
        if self.alone {
            return self.checkpoint.clone();
        }
        match (&self.checkpoint, &self.state) {
            (Some(checkpoint), Some(state)) if checkpoint.state.rev == state.rev => {
                Some(Checkpoint {
                    state: state.clone(),
                    claim: checkpoint.claim.clone(),
                })
            }
            (None, Some(state)) if state.rev > 0 && state.needs_witness() => Some(Checkpoint {
                state: state.clone(),
                claim: None,
            }),
            (checkpoint, _) => checkpoint.clone(),
        }
    }

    fn checkpoint_text(&self, checkpoint: &Checkpoint) -> String {
        let mut text = render_run(&self.seen.repo.slug, ISSUE);
        if let Some(claim) = &checkpoint.claim {
            let marker = LockMarker {
                operator: Some(login("op")),
                worktree: None,
                branch: None,
                at: Some(start_time()),
                by: LockBy::Loop,
                claim: Some(claim.clone()),
                bundled_with: None,
                unknown: BTreeMap::new(),
            };
            let _ = write!(text, "\n{}", render_lock(&marker, &self.policy.marker));
        }
        text + "\n\n" + &render_mirrored_state(&checkpoint.state).unwrap()
    }

    pub(super) fn decide(&self) -> Decision {
        decide(&self.rendered(), &self.policy, self.now())
    }

    /// Asks the view.
    pub(super) fn view_of<T>(&self, ask: impl FnOnce(&View<'_>) -> T) -> T {
        let seen = self.rendered();
        ask(&View::of(&seen, &self.policy, self.now()).unwrap())
    }

    /// The state that counts, and its phase.
    pub(super) fn resolved(&self) -> Option<(IssueState, Phase)> {
        let seen = self.rendered();
        let view = View::of(&seen, &self.policy, self.now()).ok()?;
        Some((view.state.clone(), view.phase()))
    }
}
