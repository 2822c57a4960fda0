//! The verbs of several ghswarm processes on one simulated GitHub, in every order of their requests: at most one
//! of them holds an issue at any time, and none moves another's living lease.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ghswarm::decide::leases::Reap;
use ghswarm::engine::leases::{Doors, Filter, Leases, ReleaseOutcome, Taken};
use ghswarm::model::ids::{IssueNumber, Timestamp};
use ghswarm::model::lease::{LeaseMargins, LeaseMessage};
use ghswarm::ports::backlog::Backlog;
use ghswarm::ports::clock::Clock;
use ghswarm::ports::github::GitHub;
use ghswarm::ports::memory::Memory;
use serde_json::json;

use super::Hub;

use super::gated::{Gated, Way};
use crate::every_order::{Actor, Choices, Gate, every_order, in_order, ready};

/// Waits for nothing, remembers nothing.
struct Nothing;

#[async_trait]
impl Clock for Nothing {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
    fn boot_time(&self) -> Duration {
        Duration::ZERO
    }
    async fn sleep(&self, _: Duration) {}
}

impl Memory for Nothing {
    fn load(&self, _: &str) -> Option<String> {
        None
    }
    fn save(&self, _: &str, _: &str) {}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Claim,
    Renew,
    Release,
    Reap,
    Next,
}

/// What an actor came to know: the issue it holds, if any.
pub(super) type Ended = Option<u64>;

/// Who holds which ref.
pub(super) type Holders = BTreeMap<String, String>;

pub(super) async fn act(leases: Leases, verb: Verb) -> Ended {
    let one = IssueNumber(1);
    let held = |taken: Taken| matches!(taken, Taken::Won(_)).then_some(1);
    match verb {
        Verb::Claim => held(leases.claim(one).await.unwrap()),
        Verb::Renew => held(leases.renew(one).await.unwrap()),
        Verb::Release => {
            let outcome = leases.release(one).await.unwrap();
            assert_ne!(outcome, ReleaseOutcome::Loops);
            None
        }
        Verb::Reap => {
            let reaped = leases.reap().await.unwrap();
            assert!(reaped.iter().all(|one| one.why == Reap::Expired));
            None
        }
        Verb::Next => {
            let popped = leases.next(&Filter::default()).await.unwrap();
            popped.map(|popped| popped.issue.0)
        }
    }
}

/// A world in which one order after the other is run, and what is there at first.
pub(super) struct Stage {
    pub(super) hub: Hub,
    way: Way,
    /// The lease of issue 1 at first; its time is over.
    expired: Option<String>,
    pub(super) actors: Vec<(&'static str, Verb)>,
    random: Arc<AtomicU64>,
    moved: Arc<AtomicBool>,
}

impl Stage {
    pub(super) fn new(
        way: Way,
        expired: Option<&'static str>,
        actors: &[(&'static str, Verb)],
    ) -> Self {
        let hub = Hub::new();
        for title in ["One", "Two"] {
            hub.issue(title, &[]);
        }
        Self {
            expired: expired.map(|owner| planted(&hub, owner)),
            hub,
            way,
            actors: actors.to_vec(),
            random: Arc::default(),
            moved: Arc::default(),
        }
    }

    fn gated(&self, owner: &str, gate: &Gate) -> Leases {
        let port = Arc::new(Gated {
            gate: gate.clone(),
            moved: self.moved.clone(),
            port: self.hub.repo.port("op"),
            way: self.way,
        });
        self.leases(owner, port)
    }

    pub(super) fn leases<P: GitHub + Backlog + 'static>(
        &self,
        owner: &str,
        port: Arc<P>,
    ) -> Leases {
        let random = self.random.clone();
        Leases {
            doors: Doors {
                github: port.clone(),
                backlog: port,
                clock: Arc::new(Nothing),
                memory: Arc::new(Nothing),
                random: Arc::new(move || random.fetch_add(1, Ordering::SeqCst).to_string()),
            },
            namespace: "leases".to_owned(),
            margins: LeaseMargins::default(),
            owner: owner.to_owned(),
            ttl_min: 30,
            host: "here".to_owned(),
            pid: 1,
        }
    }

    /// Who holds what, by living leases.
    pub(super) fn holders(&self) -> Holders {
        let found = ready(self.hub.repo.port("op").leases("leases")).unwrap();
        let living = found.leases.iter().filter_map(|commit| {
            let message = LeaseMessage::parse(&commit.message)?;
            let over = found.at > commit.date + message.ttl() + Duration::from_secs(60);
            Some((commit.name.to_string(), message.owner.filter(|_| !over)?))
        });
        living.collect()
    }

    /// As it was before the first request.
    pub(super) fn reset(&self) {
        for name in ["issue-1", "issue-2"] {
            if self.hub.oid(name).is_some() {
                self.hub
                    .repo
                    .delete_ref(&format!("refs/leases/{name}"))
                    .unwrap();
            }
        }
        if let Some(oid) = &self.expired {
            self.hub
                .repo
                .force_ref("refs/leases/issue-1", Some(oid))
                .unwrap();
        }
    }

    /// What an actor's request did: nobody but its holder ends a living lease.
    pub(super) fn expect_kept(
        &self,
        at: usize,
        (before, after): (&Holders, &Holders),
        order: &[usize],
    ) {
        let (who, verb) = self.actors[at];
        for (name, owner) in before {
            let kept = after.get(name) == Some(owner) || owner == who;
            assert!(
                kept,
                "{verb:?} of {who} took {name} from {owner} in {order:?}"
            );
        }
    }

    /// Runs one order of requests.
    fn run(&self, order: &[usize]) -> Choices {
        self.reset();
        let gates: Vec<Gate> = self.actors.iter().map(|_| Gate::default()).collect();
        let ended: Arc<Mutex<Vec<(usize, Ended)>>> = Arc::default();
        let all = self.actors.iter().zip(&gates).enumerate();
        let actors = all.map(|(at, ((owner, verb), gate))| -> Actor {
            let (leases, verb, ended) = (self.gated(owner, gate), *verb, ended.clone());
            Box::pin(async move {
                let end = act(leases, verb).await;
                ended.lock().unwrap().push((at, end));
            })
        });
        let mut before = self.holders();
        let choices = in_order(order, &gates, actors.collect(), |at| {
            if self.moved.swap(false, Ordering::SeqCst) {
                let after = self.holders();
                self.expect_kept(at, (&before, &after), order);
                before = after;
            }
        });
        self.judge(&ended.lock().unwrap(), order);
        choices
    }

    /// Whoever was told that it holds an issue holds it, and nobody else was told so.
    pub(super) fn judge(&self, ended: &[(usize, Ended)], order: &[usize]) {
        let holders = self.holders();
        let told: Vec<(&str, u64)> = ended
            .iter()
            .filter_map(|(at, end)| Some((self.actors[*at].0, (*end)?)))
            .collect();
        for (who, issue) in &told {
            let holder = holders.get(&format!("refs/leases/issue-{issue}"));
            let same = told.iter().filter(|one| one.1 == *issue).count();
            assert_eq!(same, 1, "{told:?} in {order:?}");
            let released = self
                .actors
                .iter()
                .any(|(owner, verb)| owner == who && *verb == Verb::Release);
            assert!(
                released || holder.map(String::as_str) == Some(*who),
                "{told:?} {holders:?} {order:?}"
            );
        }
        let wants = self
            .actors
            .iter()
            .any(|(_, verb)| matches!(verb, Verb::Claim | Verb::Renew));
        assert!(
            !wants || !told.is_empty(),
            "somebody has it in the end: {order:?}"
        );
    }

    fn every_order(&self) -> usize {
        every_order(|order| self.run(order))
    }
}

/// A lease of this owner whose time is over, as an object.
fn planted(hub: &Hub, owner: &str) -> String {
    let message =
        json!({ "v": 1, "issue": 1, "owner": owner, "ttlMin": 30, "claim": "c-old", "epoch": 1 });
    hub.plant("issue-1", &message, 40)
}

/// Both ways to move refs.
fn on_both_ways(expired: Option<&'static str>, actors: &[(&'static str, Verb)], at_least: usize) {
    for way in [Way::Swap, Way::Graves] {
        let orders = Stage::new(way, expired, actors).every_order();
        assert!(orders >= at_least, "{way:?}: only {orders} orders");
    }
}

#[test]
fn a_renewal_and_a_steal_have_one_winner_in_every_order() {
    on_both_ways(Some("a"), &[("a", Verb::Renew), ("b", Verb::Claim)], 20);
}

#[test]
fn a_release_never_removes_the_lease_of_the_one_who_stole_it() {
    on_both_ways(Some("a"), &[("a", Verb::Release), ("b", Verb::Claim)], 10);
}

#[test]
fn a_reaper_never_removes_the_lease_that_replaced_an_expired_one() {
    on_both_ways(Some("dead"), &[("r", Verb::Reap), ("b", Verb::Claim)], 10);
    on_both_ways(Some("a"), &[("r", Verb::Reap), ("a", Verb::Renew)], 10);
}

#[test]
fn two_claims_have_one_winner_in_every_order_of_their_requests() {
    on_both_ways(None, &[("a", Verb::Claim), ("b", Verb::Claim)], 20);
}

#[test]
fn two_that_take_the_next_issue_get_two_issues_in_every_order() {
    let stage = Stage::new(Way::Swap, None, &[("a", Verb::Next), ("b", Verb::Next)]);
    assert!(stage.every_order() > 100);
}

#[test]
fn siblings_of_one_identity_get_two_issues_as_well() {
    let stage = Stage::new(Way::Swap, None, &[("a", Verb::Next), ("a", Verb::Next)]);
    assert!(stage.every_order() > 100);
}
