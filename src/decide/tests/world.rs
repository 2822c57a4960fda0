//! What each effect leaves behind, and how the world answers a wait: a tiny simulation of everything
//! outside the core. It must know effects only by what they promise, never why they are decided.

use std::path::PathBuf;
use std::time::Duration;

use super::given::{
    Checkpoint, Given, PR, branch, checks, ended, lease, lease_ref, login, sha, succeeded,
};
use crate::decide::Effect;
use crate::decide::effect::{ClaimPlan, Mirror, RunPlan, Signals, StateWrite, StatusChange};
use crate::model::body::{BodyChange, rewrite};
use crate::model::checks::CheckOutcome;
use crate::model::claim::ClaimRecord;
use crate::model::comment::key_marker;
use crate::model::ids::{ClaimId, RefName, Sha};
use crate::model::issue::{Actor, Labelled};
use crate::model::labels::Status;
use crate::model::lease::LeaseMessage;
use crate::model::local::Worktree;
use crate::model::pr::PrState;
use crate::model::run::{RunEnd, RunFacts, RunKey, RunKind, RunStatus};
use crate::model::state::IssueState;

impl Given {
    fn empty_box(&mut self, key: &RunKey) {
        let mut runs = self.seen.local.runs.iter_mut();
        if let Some(run) = runs.find(|run| run.key == *key) {
            run.agent_box = None;
        }
    }

    /// The world after the effect succeeded.
    // One exhaustive match
    #[expect(clippy::too_many_lines, reason = "an answer to each effect")]
    pub(super) fn apply(&mut self, effect: &Effect) {
        self.seen.look.at += Duration::from_secs(1);
        match effect {
            Effect::Claim(plan) => self.take_lease(plan),
            Effect::Renew => self.renew(),
            Effect::DropClaim => self.seen.local.claim = None,
            Effect::Release => self.give_lease_back(),
            Effect::PlaceSignals(signals) => self.place(signals),
            Effect::WriteState(write) => self.write(write),
            Effect::CloseIssue(write) => {
                self.write(write);
                self.issue().open = false;
            }
            Effect::MirrorState(mirror) => self.mirror(mirror),
            Effect::SetStatus(change) => self.show(change),
            Effect::Comment(comment) => {
                let text = format!("{}\nwords", key_marker(&comment.key));
                *self = self.clone().comment("op", &text);
            }
            Effect::MakeWorktree(plan) => {
                let from = plan
                    .from
                    .as_ref()
                    .and_then(|name| self.seen.look.refs.get(name));
                let head = from.cloned();
                self.seen.local.worktree = Some(Worktree {
                    path: PathBuf::from("/trees/issue-42"),
                    branch: Some(plan.branch.clone()),
                    differs_from_base: head.is_some(),
                    head: head.unwrap_or(sha('b')),
                    dirty: false,
                    set_up: !self.policy.setup,
                    mid_operation: false,
                    ours: true,
                });
                self.seen.remote_contained = Some(true);
            }
            Effect::MarkSetUp => self.tree(|tree| tree.set_up = true),
            Effect::StartRun(plan) => self.start(plan),
            Effect::TakeBox(key) => self.empty_box(key),
            Effect::StopRun(key) => self.end(key, &ended(RunEnd::Stopped, None)),
            Effect::SweepRuns => {
                for run in &mut self.seen.local.runs {
                    if let RunStatus::Ended(exit) = &mut run.status {
                        exit.quarantined = false;
                    }
                }
            }
            Effect::CommitWork { .. } => self.commit(),
            Effect::SaveWork { to, sha, .. } => {
                self.seen.look.refs.insert(to.clone(), sha.clone());
            }
            Effect::PushBranch { branch, sha, .. } => {
                self.push(&RefName::of_branch(branch), sha);
            }
            Effect::OpenPr { .. } => self.open_pr(),
            Effect::AssignPr(_) => {
                for pr in &mut self.seen.look.prs {
                    pr.assignees.push(self.seen.repo.operator.clone());
                }
            }
            Effect::Merge { head, .. } => self.merge(head),
            Effect::Enqueue { .. } => {
                for pr in &mut self.seen.look.prs {
                    pr.queued = Some(1);
                }
            }
            Effect::UpdateBranch { noting, .. } => {
                if let Some(noting) = noting {
                    self.write(noting);
                }
                self.update_branch();
            }
            Effect::RerunJobs { noting, .. } => {
                self.write(noting);
                self.rerun();
            }
            Effect::FollowBranch { branch } => {
                let head = self.seen.look.refs.get(&RefName::of_branch(branch));
                let head = head.cloned().unwrap();
                self.tree(|tree| tree.head = head);
                self.seen.remote_contained = Some(true);
            }
            Effect::DeleteRefs(refs) => {
                for (name, _) in refs {
                    self.seen.look.refs.remove(name);
                }
            }
            Effect::RemoveWorktree { .. } => self.seen.local.worktree = None,
        }
    }

    fn take_lease(&mut self, plan: &ClaimPlan) {
        let now = self.now();
        let kept = self.seen.local.claim.take().map(|record| record.claim);
        let claim = kept.unwrap_or_else(|| ClaimId::new(format!("c-{}", plan.epoch)).unwrap());
        let names =
            std::iter::once(lease_ref()).chain(plan.slot.iter().map(|(name, _)| name.clone()));
        for name in names {
            let mut commit = lease(&name, claim.as_str(), plan.epoch.0, now);
            let mut message = LeaseMessage::parse(&commit.message).unwrap();
            message.stolen_from.clone_from(&plan.stolen_from);
            commit.message = message.render();
            self.seen.look.leases.insert(name, commit);
        }
        self.seen.local.claim = Some(ClaimRecord {
            repo: self.seen.repo.slug.clone(),
            issue: super::given::ISSUE,
            claim,
            epoch: plan.epoch,
            branch: branch(),
            worktree: PathBuf::from("/trees/issue-42"),
            at: now,
            lease_oid: None,
            hand: None,
        });
    }

    fn renew(&mut self) {
        let now = self.now();
        let ours = self.seen.local.claim.as_ref().map(|r| r.claim.clone());
        for commit in self.seen.look.leases.values_mut() {
            let message = LeaseMessage::parse(&commit.message);
            if message.is_some_and(|message| message.claim == ours) {
                commit.date = now;
            }
        }
    }

    fn give_lease_back(&mut self) {
        let ours = self.seen.local.claim.take().map(|record| record.claim);
        self.seen.look.leases.retain(|_, commit| {
            LeaseMessage::parse(&commit.message).is_none_or(|message| message.claim != ours)
        });
    }

    fn place(&mut self, signals: &Signals) {
        if let Some(notice) = &signals.reclaim {
            let text = format!("{}\nwords", key_marker(&notice.key));
            *self = self.clone().comment("op", &text);
            self.issue()
                .assignees
                .retain(|login| !notice.unassign.contains(login));
        }
        if signals.assign {
            self.issue().assignees.push(login("op"));
        }
        if signals.label {
            self.issue().labels.push("agent-claimed".to_owned());
        }
        if let Some(change) = &signals.status {
            self.show(change);
        }
        if let Some(mirror) = &signals.checkpoint {
            self.mirror(mirror);
        }
    }

    fn show(&mut self, change: &StatusChange) {
        let (label, at) = (self.policy.labels.of(&change.to), self.now());
        if !change.present {
            self.issue().labels.push(label.clone());
            self.seen.look.labelled.push(Labelled {
                label,
                actor: Some(Actor {
                    login: login("op"),
                    is_bot: false,
                }),
                at,
            });
        }
        self.issue()
            .labels
            .retain(|label| !change.remove.contains(label));
    }

    fn write(&mut self, write: &StateWrite) {
        let change = BodyChange {
            tick: &write.ticks,
            ..BodyChange::default()
        };
        self.text = rewrite(&self.text, &change).unwrap();
        if !write.checkpoint_only {
            self.state = Some(write.state.clone());
            self.damage = None;
        }
        if write.mirror.is_some() || write.checkpoint_only || write.state.needs_witness() {
            self.copy(write.state.clone());
        }
        self.seen.order = crate::decide::Order::default();
    }

    fn mirror(&mut self, mirror: &Mirror) {
        self.copy(mirror.state.clone());
    }

    fn copy(&mut self, state: IssueState) {
        let claim = self
            .seen
            .local
            .claim
            .as_ref()
            .map(|record| record.claim.clone());
        self.checkpoint = Some(Checkpoint { state, claim });
    }

    fn tree(&mut self, change: impl FnOnce(&mut Worktree)) {
        if let Some(tree) = self.seen.local.worktree.as_mut() {
            change(tree);
        }
    }

    fn start(&mut self, plan: &RunPlan) {
        self.seen.local.runs.retain(|run| run.key != plan.key);
        let since = self.now();
        self.seen.local.runs.push(RunFacts {
            key: plan.key.clone(),
            status: RunStatus::Running {
                since,
                frozen: false,
            },
            folder: PathBuf::from("/runs"),
            label: "claude".to_owned(),
            tasks: plan.tasks.clone(),
            tail: String::new(),
            question: None,
            review: None,
            reports: Vec::new(),
            agent_box: None,
            head: self.seen.local.worktree.as_ref().map(|t| t.head.clone()),
        });
    }

    fn end(&mut self, key: &RunKey, status: &RunStatus) {
        for run in self
            .seen
            .local
            .runs
            .iter_mut()
            .filter(|run| run.key == *key)
        {
            run.status = status.clone();
        }
    }

    /// A commit whose id no other commit has.
    fn new_sha(&self) -> Sha {
        Sha::new(format!("{:040x}", self.now().timestamp())).unwrap()
    }

    fn commit(&mut self) {
        let head = self.new_sha();
        self.tree(|tree| {
            tree.dirty = false;
            tree.differs_from_base = true;
            tree.head = head;
        });
    }

    fn push(&mut self, name: &RefName, to: &Sha) {
        self.seen.look.refs.insert(name.clone(), to.clone());
        self.seen.remote_contained = Some(true);
        let open = self.seen.look.prs.iter_mut().filter(|pr| {
            pr.state == PrState::Open
                && pr.head_repo == Some(self.seen.repo.id)
                && RefName::of_branch(&pr.head_ref) == *name
        });
        for pr in open {
            pr.head_sha = to.clone();
            pr.checks.sha = to.clone();
        }
    }

    fn open_pr(&mut self) {
        let head = self
            .seen
            .look
            .refs
            .get(&RefName::of_branch(&branch()))
            .cloned();
        let Some(head) = head else { return };
        let state = self.state.clone();
        let other = Given::pr(super::given::snapshot(), |pr| {
            pr.head_sha = head.clone();
            pr.checks = checks('a', &[CheckOutcome::Success]);
            pr.checks.sha = head;
        });
        self.state = state;
        let mut pr = other.seen.look.prs[0].clone();
        pr.number.0 = PR.0 + 10 + self.seen.look.prs.len() as u64;
        self.seen.look.prs.push(pr);
    }

    fn merge(&mut self, head: &Sha) {
        let at = self.now();
        let pr = self.seen.look.prs.iter_mut().find(|pr| {
            pr.state == PrState::Open
                && pr.head_sha == *head
                && pr.head_repo == Some(self.seen.repo.id)
        });
        if let Some(pr) = pr {
            let commit = sha('e');
            pr.state = PrState::Merged { commit, at };
            self.seen.look.merge_checks = Some(checks('e', &[CheckOutcome::Success]));
        }
    }

    /// GitHub has merged the base into the branch, and CI is green there.
    fn update_branch(&mut self) {
        let head = self.new_sha();
        self.push(&RefName::of_branch(&branch()), &head);
        self.seen.remote_contained = Some(false);
        for pr in &mut self.seen.look.prs {
            pr.behind = false;
        }
    }

    /// The failed jobs are queued again.
    fn rerun(&mut self) {
        for pr in &mut self.seen.look.prs {
            for check in &mut pr.checks.checks {
                check.outcome = CheckOutcome::Pending;
                check.ended_at = None;
            }
        }
    }

    /// The runs that are alive end: agents leave work, steps are green.
    fn finish_runs(&mut self) {
        let live: Vec<RunKey> = self
            .seen
            .local
            .runs
            .iter()
            .filter(|run| matches!(run.status, RunStatus::Running { .. }))
            .map(|run| run.key.clone())
            .collect();
        for key in &live {
            self.end(key, &succeeded());
            if key.kind == RunKind::Implement {
                self.tree(|tree| tree.dirty = true);
            }
        }
    }

    /// Everybody else does what they can: time passes, runs end, checks turn green, people approve,
    /// resume and lift their holds. What is over for good stays over.
    pub(super) fn answer(&mut self) {
        self.seen.look.at += Duration::from_secs(5 * 3600);
        self.finish_runs();
        // Who has the machine merges what was pushed from elsewhere.
        if self.seen.remote_contained == Some(false) {
            self.seen.remote_contained = Some(true);
        }
        for pr in self
            .seen
            .look
            .prs
            .iter_mut()
            .filter(|pr| pr.state == PrState::Open)
        {
            pr.draft = false;
            pr.mergeable = crate::model::pr::Mergeable::Yes;
            pr.checks = checks('a', &[CheckOutcome::Success]);
            pr.checks.sha = pr.head_sha.clone();
        }
        if let Some(merge) = &mut self.seen.look.merge_checks {
            *merge = checks('e', &[CheckOutcome::Success]);
        }
        let labels = self.issue().labels.clone();
        let statuses = self.policy.labels.statuses(&labels);
        if statuses.contains(&Status::Blocked) {
            self.issue()
                .labels
                .retain(|label| label != "status: blocked");
            *self = self.clone().labelled("status: idle", "ann");
        }
        self.issue()
            .labels
            .retain(|label| label != "do-not-dispatch");
        let title = self.issue().title.clone();
        let hash = crate::model::trust::text_hash(&title, &self.text);
        *self = self
            .clone()
            .comment("ann", &format!("/ghswarm approve {}", &hash[..16]));
    }
}
