//! What must hold after every simulated step. Each law is a sentence of the architecture's
//! invariants; a breach stops the test where it happens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ghswarm::decide::Policy;
use ghswarm::model::body::{self, StateBlock};
use ghswarm::model::comment::key_of;
use ghswarm::model::ids::PrNumber;
use ghswarm::model::lease::ClaimProof;
use ghswarm::model::state::IssueState;
use ghswarm::ports::events::Event;
use ghswarm::ports::github::MergePr;
use ghswarm::sim::github::model::{Issue, PrStanding, Repo};
use ghswarm::sim::github::{Op, SimRepo};
use ghswarm::sim::local::SimHome;

use super::{ANN, CANARY};

/// What was seen so far.
#[derive(Default)]
struct History {
    trace: Vec<String>,
    /// Issues that were managed, and no person took the label off.
    managed: BTreeSet<u64>,
    /// What a person wrote last, without our blocks and ticks.
    texts: BTreeMap<u64, String>,
    /// The newest state of each issue.
    states: BTreeMap<u64, IssueState>,
    /// Pull requests that ghswarm merged.
    merged: BTreeSet<u64>,
    breaches: Vec<String>,
}

/// The laws and what they remember.
pub(crate) struct Laws {
    repo: SimRepo,
    policy: Policy,
    homes: Mutex<Vec<SimHome>>,
    history: Mutex<History>,
    effects: AtomicU64,
}

impl Laws {
    pub(super) fn new(repo: SimRepo, policy: Policy) -> Self {
        Self {
            repo,
            policy,
            homes: Mutex::default(),
            history: Mutex::default(),
            effects: AtomicU64::new(0),
        }
    }

    pub(super) fn watch(&self, home: SimHome) {
        self.homes.lock().unwrap().push(home);
    }

    pub(super) fn note_effect(&self, host: &str, event: &Event) {
        self.effects.fetch_add(1, Ordering::Relaxed);
        let issue = event
            .issue
            .map_or_else(String::new, |issue| format!("#{issue}"));
        let line = format!(
            "{} {host} {issue} {}",
            event.at.format("%H:%M:%S"),
            event.what
        );
        self.history.lock().unwrap().trace.push(line);
        assert!(
            !event.what.contains(CANARY),
            "a secret in an event: {}",
            event.what
        );
    }

    /// How many effects there were.
    pub(crate) fn effects(&self) -> u64 {
        self.effects.load(Ordering::Relaxed)
    }

    pub(super) fn trace(&self) -> String {
        let history = self
            .history
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        history.trace.join("\n")
    }

    /// A line of a person's doing, between the effects.
    pub(crate) fn tell(&self, line: String) {
        self.history.lock().unwrap().trace.push(line);
    }

    /// A person wrote this body: from now on it must not be lost.
    pub(crate) fn person_wrote(&self, issue: u64) {
        let Issue { body, labels, .. } = self.repo.issue(issue).unwrap();
        let mut history = self.history.lock().unwrap();
        history.texts.insert(issue, persons_text(&body));
        if !self.policy.labels.statuses(&labels).is_empty() {
            history.managed.insert(issue);
        }
        // Whoever rewrites the body may have rewritten the counters with it.
        history.states.remove(&issue);
    }

    /// A person writes while an engine may be about to: whether the words are still there, or are said
    /// to be lost, is for the test to see.
    pub(crate) fn person_wrote_in_between(&self, issue: u64) {
        self.history.lock().unwrap().texts.remove(&issue);
    }

    /// A person took the issue out of the swarm.
    pub(crate) fn person_unmanaged(&self, issue: u64) {
        self.history.lock().unwrap().managed.remove(&issue);
    }

    /// A write under a claim: the lease must carry it now.
    pub(super) fn written_under(&self, proof: &ClaimProof, op: Op) {
        let refs = self.repo.refs().unwrap();
        let prefix = format!("refs/{}/issue-", self.policy.namespace);
        let path = self.repo.path();
        let git = git2::Repository::open_bare(path).unwrap();
        let holds = refs
            .iter()
            .filter(|(name, _)| name.starts_with(&prefix))
            .any(|(_, oid)| {
                let commit = git.find_commit(git2::Oid::from_str(oid).unwrap());
                commit.is_ok_and(|commit| {
                    commit
                        .message()
                        .unwrap_or_default()
                        .contains(proof.claim().as_str())
                })
            });
        if !holds {
            let breach = format!("{op:?} was sent under a claim that holds no lease");
            self.history.lock().unwrap().breaches.push(breach);
        }
    }

    pub(super) fn merged_by_us(&self, merge: &MergePr) {
        let PrNumber(number) = merge.pr;
        self.history.lock().unwrap().merged.insert(number);
    }

    /// Checks every law.
    pub(crate) fn check(&self) {
        let repo = self.repo.snapshot().unwrap();
        let mut history = self
            .history
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let breaches = std::mem::take(&mut history.breaches);
        assert!(breaches.is_empty(), "{breaches:?}");
        self.one_agent();
        let mut heads = BTreeSet::new();
        for issue in repo.issues.values() {
            no_secret(issue);
            no_key_twice(issue);
            match &issue.pr {
                Some(pr) => {
                    let open = pr.standing == PrStanding::Open;
                    let first = !open || heads.insert((pr.head_repo.clone(), pr.head_ref.clone()));
                    assert!(first, "two open pull requests from `{}`", pr.head_ref);
                    if history.merged.contains(&issue.number) {
                        merged_means_green(&repo, issue);
                    }
                }
                None => self.issue_laws(issue, &mut history),
            }
        }
    }

    fn issue_laws(&self, issue: &Issue, history: &mut History) {
        let number = issue.number;
        let managed = history.managed.contains(&number) && issue.open;
        let status = self.policy.labels.statuses(&issue.labels);
        assert!(
            !managed || !status.is_empty(),
            "#{number} dropped out of the swarm"
        );
        if let Some(text) = history.texts.get(&number) {
            let now = persons_text(&issue.body);
            assert_eq!(&now, text, "a person's words in #{number} were changed");
        }
        if let StateBlock::Found { state, .. } = body::parse(&issue.body).state {
            if let Some(before) = history.states.get(&number) {
                counters_do_not_fall(before, &state);
            }
            history.states.insert(number, *state);
        }
    }

    /// At most one live agent an issue, and at most so many a repository, over all machines.
    fn one_agent(&self) {
        let mut live = Vec::new();
        for home in self.homes.lock().unwrap().iter() {
            live.extend(home.live_runs());
        }
        let issues: BTreeSet<_> = live.iter().map(|key| key.issue).collect();
        assert_eq!(
            issues.len(),
            live.len(),
            "two agents on one issue: {live:?}"
        );
        let slots = usize::try_from(self.policy.slots).unwrap();
        assert!(live.len() <= slots, "more agents than slots: {live:?}");
    }
}

/// Everything in the body that is people's: our blocks out, ticks taken back.
fn persons_text(body: &str) -> String {
    let text = body::without_our_blocks(body)
        .replace("[x]", "[ ]")
        .replace("[X]", "[ ]");
    text.trim().to_owned()
}

fn no_secret(issue: &Issue) {
    let texts = issue.comments.iter().map(|comment| &comment.body);
    for text in texts.chain([&issue.title, &issue.body]) {
        assert!(
            !text.contains(CANARY),
            "a secret in #{}: {text}",
            issue.number
        );
    }
}

fn no_key_twice(issue: &Issue) {
    let mut keys = BTreeSet::new();
    let ours = issue
        .comments
        .iter()
        .filter(|comment| comment.author == ANN);
    for key in ours.filter_map(|comment| key_of(&comment.body)) {
        assert!(
            keys.insert(key),
            "#{}: comment `{key}` stands twice",
            issue.number
        );
    }
}

/// What ghswarm merged was green at its head, or had no check at all (and then a verify step). Where the
/// rules name checks, those succeeded.
fn merged_means_green(repo: &Repo, issue: &Issue) {
    let Some(pr) = &issue.pr else { return };
    let PrStanding::Merged(..) = pr.standing else {
        return;
    };
    let required = repo.protection_of(&pr.base_ref).required;
    let at_head = || repo.checks.iter().filter(|check| check.sha == pr.head_sha);
    for (name, _) in &required {
        let green = at_head()
            .any(|check| check.name == *name && check.conclusion.as_deref() == Some("success"));
        assert!(green, "#{} was merged without `{name}`", issue.number);
    }
    for check in at_head().filter(|_| required.is_empty()) {
        let conclusion = check.conclusion.as_deref().unwrap_or(&check.status);
        let fine = matches!(conclusion, "success" | "neutral" | "skipped");
        assert!(
            fine,
            "#{} was merged with `{}` {conclusion}",
            issue.number, check.name
        );
    }
}

fn counters_do_not_fall(before: &IssueState, now: &IssueState) {
    assert!(
        now.rev >= before.rev,
        "rev fell from {} to {}",
        before.rev,
        now.rev
    );
    assert!(
        now.epoch >= before.epoch,
        "a write of an older claim survived"
    );
    assert!(
        now.total_agent_runs >= before.total_agent_runs,
        "total_agent_runs fell"
    );
    let same_claim = now.epoch == before.epoch;
    assert!(
        !same_claim || now.attempt >= before.attempt,
        "attempt fell under one claim"
    );
    let moved_on = now.next_action != before.next_action || now.resumed_at != before.resumed_at;
    // A success in the same phase is a further implement phase for tasks that were added.
    let succeeded = now.head_sha != before.head_sha;
    let may_fall = moved_on || succeeded;
    assert!(
        may_fall || now.iteration >= before.iteration,
        "iteration fell"
    );
    assert!(
        may_fall || now.review_rounds >= before.review_rounds,
        "review_rounds fell"
    );
}
