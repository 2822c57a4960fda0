//! GitHub as the actors of `orders` have it: one request at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
use ghswarm::ports::{PortError, PortResult, Refusal};
use ghswarm::sim::github::SimGitHub;
use serde_json::json;

use crate::every_order::Gate;

/// GitHub behind a gate. On the second way a swap is what the REST way makes of it: a release leaves a grave, and
/// a ref moves only to a descendant.
pub(super) struct Gated {
    pub(super) gate: Gate,
    /// A ref may have been moved.
    pub(super) moved: Arc<AtomicBool>,
    pub(super) port: SimGitHub,
    pub(super) way: Way,
}

/// How refs are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Swap,
    Graves,
}

fn never<T>() -> PortResult<T> {
    Err(PortError::refused(
        "ask",
        Refusal::Invalid,
        "no verb of a lease asks this",
    ))
}

impl Gated {
    /// The requests of the REST way before its last one, which alone moves the ref.
    async fn bury(&self, swap: &RefSwap) -> PortResult<SwapOutcome> {
        let before = swap.before.clone().unwrap();
        let name = std::slice::from_ref(&swap.name);
        let (_, found) = self.port.read_leases(name).await?;
        self.gate.pass().await;
        let tree = self.port.leases("leases").await?.base.unwrap().tree;
        let message = json!({ "v": 1, "issue": 1, "owner": null, "ttlMin": 0, "n": format!("over {found:?}").len().to_string() });
        let grave = NewCommit {
            message: message.to_string(),
            tree,
            parents: vec![before.clone()],
        };
        let (oid, _) = self.port.create_commit(&grave).await?;
        self.gate.pass().await;
        self.moved.store(true, Ordering::SeqCst);
        self.forward(&swap.name, &before, &oid).await
    }

    /// `PATCH force:false` with a child of `before`: refused if the ref is not there (any more).
    async fn forward(&self, name: &RefName, before: &Sha, to: &Sha) -> PortResult<SwapOutcome> {
        let swap = RefSwap {
            name: name.clone(),
            before: Some(before.clone()),
            after: Some(to.clone()),
        };
        self.port.swap_refs(&[swap]).await
    }
}

#[async_trait]
impl GitHub for Gated {
    async fn read_leases(
        &self,
        names: &[RefName],
    ) -> PortResult<(Timestamp, BTreeMap<RefName, LeaseCommit>)> {
        self.gate.pass().await;
        self.port.read_leases(names).await
    }
    async fn create_commit(&self, commit: &NewCommit) -> PortResult<(Sha, Timestamp)> {
        self.gate.pass().await;
        self.port.create_commit(commit).await
    }
    async fn swap_refs(&self, swaps: &[RefSwap]) -> PortResult<SwapOutcome> {
        self.gate.pass().await;
        self.moved.store(true, Ordering::SeqCst);
        match swaps {
            [swap] if self.way == Way::Graves && swap.after.is_none() => self.bury(swap).await,
            swaps => self.port.swap_refs(swaps).await,
        }
    }
    async fn repository(&self) -> PortResult<Repository> {
        never()
    }
    async fn list_issues(&self, _: &ListCursor) -> PortResult<Listed> {
        never()
    }
    async fn look(&self, _: &LookAt) -> PortResult<Look> {
        never()
    }
    async fn permission(&self, _: &Login) -> PortResult<Permission> {
        never()
    }
    async fn base_rules(&self, _: &BranchName) -> PortResult<BaseRules> {
        never()
    }
    async fn tip_checks(&self, _: &BranchName) -> PortResult<CommitChecks> {
        never()
    }
    async fn labels(&self) -> PortResult<Vec<String>> {
        never()
    }
    async fn update_issue(
        &self,
        _: &ClaimProof,
        _: IssueNumber,
        _: &IssueChange,
    ) -> PortResult<String> {
        never()
    }
    async fn add_labels(
        &self,
        _: &ClaimProof,
        _: IssueNumber,
        _: &[String],
    ) -> PortResult<Vec<String>> {
        never()
    }
    async fn remove_label(&self, _: &ClaimProof, _: IssueNumber, _: &str) -> PortResult<()> {
        never()
    }
    async fn add_assignee(&self, _: &ClaimProof, _: u64, _: &Login) -> PortResult<()> {
        never()
    }
    async fn remove_assignee(&self, _: &ClaimProof, _: u64, _: &Login) -> PortResult<()> {
        never()
    }
    async fn create_comment(&self, _: &ClaimProof, _: u64, _: &str) -> PortResult<CommentId> {
        never()
    }
    async fn update_comment(&self, _: &ClaimProof, _: CommentId, _: &str) -> PortResult<()> {
        never()
    }
    async fn open_pr(&self, _: &ClaimProof, _: &NewPr) -> PortResult<(PrNumber, String)> {
        never()
    }
    async fn merge_pr(&self, _: &ClaimProof, _: &MergePr) -> PortResult<Sha> {
        never()
    }
    async fn enqueue_pr(&self, _: &ClaimProof, _: &str, _: &Sha) -> PortResult<u64> {
        never()
    }
    async fn update_branch(&self, _: &ClaimProof, _: PrNumber, _: &Sha) -> PortResult<()> {
        never()
    }
    async fn rerun_failed(&self, _: &ClaimProof, _: u64) -> PortResult<()> {
        never()
    }
    async fn job_log(&self, _: u64) -> PortResult<String> {
        never()
    }
    async fn create_label(&self, _: &NewLabel) -> PortResult<()> {
        never()
    }
}

#[async_trait]
impl Backlog for Gated {
    async fn leases(&self, namespace: &str) -> PortResult<AllLeases> {
        self.gate.pass().await;
        self.port.leases(namespace).await
    }
    async fn open_issues(&self) -> PortResult<Vec<OpenIssue>> {
        self.gate.pass().await;
        self.port.open_issues().await
    }
    async fn blockers(&self, _: IssueNumber) -> PortResult<Vec<IssueNumber>> {
        never()
    }
    async fn is_open(&self, issue: IssueNumber) -> PortResult<Option<bool>> {
        self.gate.pass().await;
        self.port.is_open(issue).await
    }
}
