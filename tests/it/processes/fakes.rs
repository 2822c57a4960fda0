//! GitHub as a supervisor sees it: lease refs, in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use ghswarm::model::checks::CommitChecks;
use ghswarm::model::ids::Timestamp;
use ghswarm::model::ids::{
    BranchName, ClaimId, CommentId, Epoch, IssueNumber, Login, PrNumber, RefName, Sha,
};
use ghswarm::model::lease::{ClaimProof, LeaseCommit, LeaseMessage, RefSwap, SwapOutcome};
use ghswarm::model::repo::{Permission, Repository};
use ghswarm::model::rules::BaseRules;
use ghswarm::model::run::RunLease;
use ghswarm::ports::clock::Clock;
use ghswarm::ports::github::{
    GitHub, IssueChange, ListCursor, Listed, Look, LookAt, MergePr, NewCommit, NewLabel, NewPr,
};
use ghswarm::ports::{PortError, PortResult, Refusal};

pub(super) const OURS: Epoch = Epoch(1000);

pub(super) fn name(text: &str) -> RefName {
    RefName::new(format!("refs/leases/{text}")).unwrap()
}

fn sha(number: u64) -> Sha {
    Sha::new(format!("{number:040x}")).unwrap()
}

fn message(claim: &str, owner: &str, epoch: Epoch) -> LeaseMessage {
    let text = format!(
        r#"{{"v":1,"issue":42,"owner":"{owner}","ttlMin":30,"claim":"{claim}","epoch":{epoch},"n":"0"}}"#
    );
    LeaseMessage::parse(&text).unwrap()
}

/// A lease of issue 42 and slot 1.
pub(super) fn lease(ttl: Duration, margin: Duration) -> RunLease {
    RunLease {
        alias: "demo".to_owned(),
        claim: ClaimId::new("c-ours").unwrap(),
        refs: vec![name("issue-42"), name("slot-1")],
        ttl,
        margin,
        tree: sha(0xeee),
        message: message("c-ours", "7f3a", OURS),
        good_since: None,
    }
}

/// What happens to the next swaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Done, but the answer is lost.
    AnswerLost,
    /// Not done: somebody else renews our refs in between.
    RefusedOnce,
    /// The next holder has come and gone while this one stood still.
    GivenBackMeanwhile,
}

#[derive(Default)]
pub(super) struct World {
    pub commits: BTreeMap<Sha, (NewCommit, Timestamp)>,
    pub refs: BTreeMap<RefName, Sha>,
    pub unreachable: bool,
    pub faults: Vec<Fault>,
    pub requests: u32,
    pub swaps: u32,
}

/// Lease refs, dated by the tests' clock.
pub(super) struct LeaseGitHub {
    world: Mutex<World>,
    clock: Arc<dyn Clock>,
}

impl LeaseGitHub {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            world: Mutex::default(),
            clock,
        }
    }

    /// One that carries our claim on both refs.
    pub(super) fn claimed(clock: Arc<dyn Clock>) -> Self {
        let github = Self::new(clock);
        github.put("issue-42", "c-ours", OURS);
        let oid = github.world().refs[&name("issue-42")].clone();
        github.world().refs.insert(name("slot-1"), oid);
        github
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::from_secs(1_000_000) + self.clock.boot_time()
    }

    /// Points a ref at a new commit of a claim.
    pub(super) fn put(&self, at: &str, claim: &str, epoch: Epoch) {
        self.put_message(at, &message(claim, claim, epoch).render());
    }

    pub(super) fn put_message(&self, at: &str, message: &str) {
        let commit = NewCommit {
            message: message.to_owned(),
            tree: sha(0xeee),
            parents: Vec::new(),
        };
        let oid = self.commit(&commit);
        self.world().refs.insert(name(at), oid);
    }

    fn commit(&self, commit: &NewCommit) -> Sha {
        let now = self.now();
        let mut world = self.world();
        let oid = sha(world.commits.len() as u64 + 1);
        world.commits.insert(oid.clone(), (commit.clone(), now));
        oid
    }

    pub(super) fn at(&self, at: &str) -> Option<(Sha, NewCommit)> {
        let world = self.world();
        let oid = world.refs.get(&name(at))?.clone();
        let commit = world.commits[&oid].0.clone();
        Some((oid, commit))
    }

    fn reach(&self, what: &str) -> PortResult<()> {
        let mut world = self.world();
        world.requests += 1;
        if world.unreachable {
            return Err(PortError::unavailable(what, "no route to host", None));
        }
        Ok(())
    }
}

fn no<T>(what: &str) -> PortResult<T> {
    Err(PortError::refused(
        what,
        Refusal::Invalid,
        "a supervisor does not do this",
    ))
}

#[async_trait]
impl GitHub for LeaseGitHub {
    async fn read_leases(
        &self,
        names: &[RefName],
    ) -> PortResult<(Timestamp, BTreeMap<RefName, LeaseCommit>)> {
        self.reach("read leases")?;
        let now = self.now();
        let world = self.world();
        let read = |name: &RefName| {
            let oid = world.refs.get(name)?.clone();
            let (commit, date) = world.commits[&oid].clone();
            let (message, name) = (commit.message, name.clone());
            Some((
                name.clone(),
                LeaseCommit {
                    name,
                    oid,
                    date,
                    message,
                },
            ))
        };
        Ok((now, names.iter().filter_map(read).collect()))
    }

    async fn create_commit(&self, commit: &NewCommit) -> PortResult<(Sha, Timestamp)> {
        self.reach("create commit")?;
        Ok((self.commit(commit), self.now()))
    }

    async fn swap_refs(&self, swaps: &[RefSwap]) -> PortResult<SwapOutcome> {
        self.reach("swap refs")?;
        let fault = self.world().faults.pop();
        if fault == Some(Fault::RefusedOnce) {
            self.put("issue-42", "c-ours", OURS);
        }
        let mut world = self.world();
        if fault == Some(Fault::GivenBackMeanwhile) {
            world.refs.clear();
        }
        if swaps
            .iter()
            .any(|swap| world.refs.get(&swap.name) != swap.before.as_ref())
        {
            return Ok(SwapOutcome::Stale);
        }
        for swap in swaps {
            match &swap.after {
                Some(after) => world.refs.insert(swap.name.clone(), after.clone()),
                None => world.refs.remove(&swap.name),
            };
        }
        world.swaps += 1;
        if fault == Some(Fault::AnswerLost) {
            return Err(PortError::unknown("swap refs", "connection reset"));
        }
        Ok(SwapOutcome::Swapped)
    }

    async fn repository(&self) -> PortResult<Repository> {
        no("repository")
    }
    async fn list_issues(&self, _: &ListCursor) -> PortResult<Listed> {
        no("list")
    }
    async fn look(&self, _: &LookAt) -> PortResult<Look> {
        no("look")
    }
    async fn permission(&self, _: &Login) -> PortResult<Permission> {
        no("permission")
    }
    async fn base_rules(&self, _: &BranchName) -> PortResult<BaseRules> {
        no("rules")
    }
    async fn tip_checks(&self, _: &BranchName) -> PortResult<CommitChecks> {
        no("checks")
    }
    async fn labels(&self) -> PortResult<Vec<String>> {
        no("labels")
    }
    async fn update_issue(
        &self,
        _: &ClaimProof,
        _: IssueNumber,
        _: &IssueChange,
    ) -> PortResult<String> {
        no("update issue")
    }
    async fn add_labels(
        &self,
        _: &ClaimProof,
        _: IssueNumber,
        _: &[String],
    ) -> PortResult<Vec<String>> {
        no("add labels")
    }
    async fn remove_label(&self, _: &ClaimProof, _: IssueNumber, _: &str) -> PortResult<()> {
        no("remove label")
    }
    async fn add_assignee(&self, _: &ClaimProof, _: u64, _: &Login) -> PortResult<()> {
        no("assign")
    }
    async fn remove_assignee(&self, _: &ClaimProof, _: u64, _: &Login) -> PortResult<()> {
        no("unassign")
    }
    async fn create_comment(&self, _: &ClaimProof, _: u64, _: &str) -> PortResult<CommentId> {
        no("comment")
    }
    async fn update_comment(&self, _: &ClaimProof, _: CommentId, _: &str) -> PortResult<()> {
        no("comment")
    }
    async fn open_pr(&self, _: &ClaimProof, _: &NewPr) -> PortResult<(PrNumber, String)> {
        no("open")
    }
    async fn merge_pr(&self, _: &ClaimProof, _: &MergePr) -> PortResult<Sha> {
        no("merge")
    }
    async fn enqueue_pr(&self, _: &ClaimProof, _: &str, _: &Sha) -> PortResult<u64> {
        no("enqueue")
    }
    async fn update_branch(&self, _: &ClaimProof, _: PrNumber, _: &Sha) -> PortResult<()> {
        no("update branch")
    }
    async fn rerun_failed(&self, _: &ClaimProof, _: u64) -> PortResult<()> {
        no("jobs")
    }
    async fn job_log(&self, _: u64) -> PortResult<String> {
        no("jobs")
    }
    async fn create_label(&self, _: &NewLabel) -> PortResult<()> {
        no("create label")
    }
}
