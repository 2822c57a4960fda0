//! GitHub as a home sees it: nothing answers a dead engine, somebody may meddle right before a
//! request, and a write under a claim that holds no lease is a breach of the law.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ghswarm::model::checks::CommitChecks;
use ghswarm::model::ids::{
    BranchName, CommentId, IssueNumber, Login, PrNumber, RefName, Sha, Timestamp,
};
use ghswarm::model::issue::OpenIssue;
use ghswarm::model::lease::{ClaimProof, LeaseCommit, RefSwap, SwapOutcome};
use ghswarm::model::repo::{Permission, Repository};
use ghswarm::model::rules::BaseRules;
use ghswarm::ports::backlog::{AllLeases, Backlog};
use ghswarm::ports::github::{
    GitHub, IssueChange, ListCursor, Listed, Look, LookAt, MergePr, NewCommit, NewLabel, NewPr,
};
use ghswarm::ports::{PortError, PortResult};
use ghswarm::sim::github::{Op, SimGitHub};
use ghswarm::sim::local::SimHome;

use super::Laws;

type Meddler = Box<dyn FnOnce() + Send>;

/// A moment in the life of a home's engine, by its number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The look is answered, nothing is decided yet.
    AfterLook(u64),
    /// It is decided, the request is not sent yet.
    BeforeWrite(u64),
}

/// What went through so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Passed {
    pub(crate) looks: u64,
    pub(crate) writes: u64,
}

/// The door.
pub(crate) struct Door {
    inner: SimGitHub,
    home: SimHome,
    laws: Arc<Laws>,
    meddlers: Mutex<Vec<(Op, Meddler)>>,
    moments: Mutex<Vec<(Moment, Meddler)>>,
    passed: Mutex<Passed>,
}

impl Door {
    pub(super) fn new(inner: SimGitHub, home: SimHome, laws: Arc<Laws>) -> Self {
        Self {
            inner,
            home,
            laws,
            meddlers: Mutex::default(),
            moments: Mutex::default(),
            passed: Mutex::default(),
        }
    }

    /// Right before the next request that does this, that happens.
    pub(crate) fn right_before(&self, op: Op, what: impl FnOnce() + Send + 'static) {
        self.meddlers.lock().unwrap().push((op, Box::new(what)));
    }

    /// At that moment, that happens.
    pub(crate) fn at(&self, moment: Moment, what: impl FnOnce() + Send + 'static) {
        self.moments.lock().unwrap().push((moment, Box::new(what)));
    }

    /// How many looks and writes there were.
    pub(crate) fn passed(&self) -> Passed {
        *self.passed.lock().unwrap()
    }

    /// Nothing is locked while somebody meddles: it may be another engine that steps.
    fn comes(&self, moment: Moment) {
        let meddler = {
            let mut moments = self.moments.lock().unwrap();
            let at = moments.iter().position(|(wanted, _)| *wanted == moment);
            at.map(|at| moments.remove(at).1)
        };
        if let Some(meddler) = meddler {
            meddler();
        }
    }

    fn knock(&self, op: Op) -> PortResult<&SimGitHub> {
        if self.home.is_dead() {
            return Err(PortError::unknown("ask GitHub", "the engine is dead"));
        }
        let meddler = {
            let mut meddlers = self.meddlers.lock().unwrap();
            let at = meddlers.iter().position(|(wanted, _)| *wanted == op);
            at.map(|at| meddlers.remove(at).1)
        };
        if let Some(meddler) = meddler {
            meddler();
        }
        if op.is_write() {
            let nth = {
                let mut passed = self.passed.lock().unwrap();
                passed.writes += 1;
                passed.writes
            };
            self.comes(Moment::BeforeWrite(nth));
        }
        Ok(&self.inner)
    }

    fn knock_with(&self, op: Op, proof: &ClaimProof) -> PortResult<&SimGitHub> {
        let inner = self.knock(op)?;
        self.laws.written_under(proof, op);
        Ok(inner)
    }
}

#[async_trait]
impl Backlog for Door {
    async fn leases(&self, namespace: &str) -> PortResult<AllLeases> {
        self.knock(Op::Leases)?.leases(namespace).await
    }

    async fn open_issues(&self) -> PortResult<Vec<OpenIssue>> {
        self.knock(Op::ListIssues)?.open_issues().await
    }

    async fn blockers(&self, issue: IssueNumber) -> PortResult<Vec<IssueNumber>> {
        self.knock(Op::Read)?.blockers(issue).await
    }

    async fn is_open(&self, issue: IssueNumber) -> PortResult<Option<bool>> {
        self.knock(Op::Read)?.is_open(issue).await
    }
}

#[async_trait]
impl GitHub for Door {
    async fn repository(&self) -> PortResult<Repository> {
        self.knock(Op::Facts)?.repository().await
    }

    async fn list_issues(&self, cursor: &ListCursor) -> PortResult<Listed> {
        self.knock(Op::ListIssues)?.list_issues(cursor).await
    }

    async fn look(&self, at: &LookAt) -> PortResult<Look> {
        let look = self.knock(Op::Look)?.look(at).await;
        let nth = {
            let mut passed = self.passed.lock().unwrap();
            passed.looks += 1;
            passed.looks
        };
        self.comes(Moment::AfterLook(nth));
        look
    }

    async fn read_leases(
        &self,
        names: &[RefName],
    ) -> PortResult<(Timestamp, BTreeMap<RefName, LeaseCommit>)> {
        self.knock(Op::Leases)?.read_leases(names).await
    }

    async fn permission(&self, login: &Login) -> PortResult<Permission> {
        self.knock(Op::Permission)?.permission(login).await
    }

    async fn base_rules(&self, base: &BranchName) -> PortResult<BaseRules> {
        self.knock(Op::Rules)?.base_rules(base).await
    }

    async fn tip_checks(&self, base: &BranchName) -> PortResult<CommitChecks> {
        self.knock(Op::Checks)?.tip_checks(base).await
    }

    async fn labels(&self) -> PortResult<Vec<String>> {
        self.knock(Op::Labels)?.labels().await
    }

    async fn create_commit(&self, commit: &NewCommit) -> PortResult<(Sha, Timestamp)> {
        self.knock(Op::CreateCommit)?.create_commit(commit).await
    }

    async fn swap_refs(&self, swaps: &[RefSwap]) -> PortResult<SwapOutcome> {
        self.knock(Op::SwapRefs)?.swap_refs(swaps).await
    }

    async fn update_issue(
        &self,
        proof: &ClaimProof,
        issue: IssueNumber,
        change: &IssueChange,
    ) -> PortResult<String> {
        let inner = self.knock_with(Op::UpdateIssue, proof)?;
        inner.update_issue(proof, issue, change).await
    }

    async fn add_labels(
        &self,
        proof: &ClaimProof,
        issue: IssueNumber,
        labels: &[String],
    ) -> PortResult<Vec<String>> {
        let inner = self.knock_with(Op::AddLabels, proof)?;
        inner.add_labels(proof, issue, labels).await
    }

    async fn remove_label(
        &self,
        proof: &ClaimProof,
        issue: IssueNumber,
        label: &str,
    ) -> PortResult<()> {
        let inner = self.knock_with(Op::RemoveLabel, proof)?;
        inner.remove_label(proof, issue, label).await
    }

    async fn add_assignee(&self, proof: &ClaimProof, number: u64, login: &Login) -> PortResult<()> {
        let inner = self.knock_with(Op::AddAssignee, proof)?;
        inner.add_assignee(proof, number, login).await
    }

    async fn remove_assignee(
        &self,
        proof: &ClaimProof,
        number: u64,
        login: &Login,
    ) -> PortResult<()> {
        let inner = self.knock_with(Op::RemoveAssignee, proof)?;
        inner.remove_assignee(proof, number, login).await
    }

    async fn create_comment(
        &self,
        proof: &ClaimProof,
        number: u64,
        body: &str,
    ) -> PortResult<CommentId> {
        let inner = self.knock_with(Op::CreateComment, proof)?;
        inner.create_comment(proof, number, body).await
    }

    async fn update_comment(
        &self,
        proof: &ClaimProof,
        id: CommentId,
        body: &str,
    ) -> PortResult<()> {
        let inner = self.knock_with(Op::UpdateComment, proof)?;
        inner.update_comment(proof, id, body).await
    }

    async fn open_pr(&self, proof: &ClaimProof, pr: &NewPr) -> PortResult<(PrNumber, String)> {
        self.knock_with(Op::OpenPr, proof)?.open_pr(proof, pr).await
    }

    async fn merge_pr(&self, proof: &ClaimProof, merge: &MergePr) -> PortResult<Sha> {
        let inner = self.knock_with(Op::MergePr, proof)?;
        let sha = inner.merge_pr(proof, merge).await;
        self.laws.merged_by_us(merge);
        sha
    }

    async fn enqueue_pr(&self, proof: &ClaimProof, node_id: &str, head: &Sha) -> PortResult<u64> {
        let inner = self.knock_with(Op::MergePr, proof)?;
        inner.enqueue_pr(proof, node_id, head).await
    }

    async fn update_branch(&self, proof: &ClaimProof, pr: PrNumber, head: &Sha) -> PortResult<()> {
        let inner = self.knock_with(Op::UpdateBranch, proof)?;
        inner.update_branch(proof, pr, head).await
    }

    async fn rerun_failed(&self, proof: &ClaimProof, run: u64) -> PortResult<()> {
        let inner = self.knock_with(Op::Rerun, proof)?;
        inner.rerun_failed(proof, run).await
    }

    async fn job_log(&self, job: u64) -> PortResult<String> {
        self.knock(Op::Log)?.job_log(job).await
    }

    async fn create_label(&self, label: &NewLabel) -> PortResult<()> {
        self.knock(Op::CreateLabel)?.create_label(label).await
    }
}
