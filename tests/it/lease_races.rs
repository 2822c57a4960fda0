//! Lease operations of several actors on the simulated GitHub, in every order of their requests: never
//! two claims on the refs of one issue, and nobody removes another's live lease.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use ghswarm::model::ids::RefName;
use ghswarm::model::ids::Sha;
use ghswarm::model::lease::{LeaseMessage, RefSwap, SwapOutcome};
use ghswarm::ports::github::{GitHub, NewCommit};
use ghswarm::sim::github::model::Access;
use ghswarm::sim::github::{Seed, Sim, SimGitHub, SimRepo};

const ISSUE: &str = "refs/leases/issue-1";
const SLOT: &str = "refs/leases/slot-1";

fn name(text: &str) -> RefName {
    RefName::new(text).unwrap()
}

/// Lets its actor on by one request at a time.
#[derive(Clone, Default)]
struct Gate(Arc<AtomicBool>);

impl Gate {
    async fn pass(&self) {
        std::future::poll_fn(|_| {
            if self.0.swap(false, Ordering::SeqCst) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

struct Actor {
    gate: Gate,
    port: SimGitHub,
    claim: &'static str,
    epoch: i64,
}

#[derive(Clone, Copy)]
enum Verb {
    /// Takes the lease if it is free.
    Claim,
    /// Takes it whoever has it: its time was found to be over.
    Steal,
    Renew,
    Release,
}

impl Actor {
    /// Reads, then swaps exactly what was read, as the protocol has it.
    async fn act(self, verb: Verb) {
        self.gate.pass().await;
        let refs = [name(ISSUE), name(SLOT)];
        let (_, read) = self.port.read_leases(&refs).await.unwrap();
        let claim_of = |name: &RefName| {
            let commit = read.get(name)?;
            LeaseMessage::parse(&commit.message)?.claim
        };
        let ours = |name: &RefName| claim_of(name).is_some_and(|c| c.as_str() == self.claim);
        let goes_on = match verb {
            Verb::Claim => read.is_empty(),
            Verb::Steal => true,
            Verb::Renew | Verb::Release => refs.iter().all(ours),
        };
        if !goes_on {
            return;
        }
        let parents = read.values().map(|commit| commit.oid.clone()).collect();
        let after = match verb {
            Verb::Release => None,
            Verb::Claim | Verb::Steal | Verb::Renew => Some(self.commit(parents).await),
        };
        let swap = |name: &RefName| RefSwap {
            name: name.clone(),
            before: read.get(name).map(|commit| commit.oid.clone()),
            after: after.clone(),
        };
        self.gate.pass().await;
        let _: SwapOutcome = self
            .port
            .swap_refs(&refs.each_ref().map(swap))
            .await
            .unwrap();
    }

    async fn commit(&self, parents: Vec<Sha>) -> Sha {
        let tip = self.port.read_leases(&[]).await.unwrap().0;
        let message = serde_json::json!({ "v": 1, "issue": 1, "owner": self.claim, "ttlMin": 30,
            "claim": self.claim, "epoch": self.epoch, "n": format!("{tip}-{}", self.claim) });
        let commit = NewCommit {
            message: message.to_string(),
            tree: Sha::new("4b825dc642cb6eb9a060e54bf8d69288fbee4904").unwrap(),
            parents,
        };
        self.port.create_commit(&commit).await.unwrap().0
    }
}

/// The claims that stand on the refs.
async fn holders(port: &SimGitHub) -> Vec<String> {
    let refs = [name(ISSUE), name(SLOT)];
    let (_, read) = port.read_leases(&refs).await.unwrap();
    let claim = |message: &str| {
        LeaseMessage::parse(message)
            .unwrap()
            .claim
            .unwrap()
            .to_string()
    };
    read.values().map(|commit| claim(&commit.message)).collect()
}

fn world(dir: &std::path::Path) -> SimRepo {
    let sim = Sim::new(dir.join("github"));
    let repo = sim
        .create_repo(
            &"acme/widget".parse().unwrap(),
            &Seed::Files(&[("a", "a\n")]),
        )
        .unwrap();
    repo.set_access("op", Access::Write);
    repo
}

/// Runs one order of requests; says how many actors could have been let on at each point.
async fn run(
    held: Option<&'static str>,
    verbs: &[(&'static str, Verb)],
    order: &[usize],
) -> Vec<(usize, usize)> {
    let dir = tempfile::tempdir().unwrap();
    let repo = world(dir.path());
    let port = repo.port("op");
    if let Some(claim) = held {
        let gate = Gate::default();
        let actor = Actor {
            gate: gate.clone(),
            port: port.clone(),
            claim,
            epoch: 1,
        };
        let mut first = pin!(actor.act(Verb::Claim));
        for _ in 0..2 {
            gate.0.store(true, Ordering::SeqCst);
            let _ = first.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
    }
    let gates: Vec<Gate> = verbs.iter().map(|_| Gate::default()).collect();
    let mut actors: Vec<Option<Pin<Box<dyn Future<Output = ()>>>>> = Vec::new();
    for ((claim, verb), gate) in verbs.iter().zip(&gates) {
        let actor = Actor {
            gate: gate.clone(),
            port: port.clone(),
            claim,
            epoch: 2,
        };
        actors.push(Some(Box::pin(actor.act(*verb))));
    }
    let mut choices = Vec::new();
    loop {
        let live: Vec<usize> = (0..actors.len())
            .filter(|at| actors[*at].is_some())
            .collect();
        if live.is_empty() {
            return choices;
        }
        let choice = order.get(choices.len()).copied().unwrap_or(0);
        choices.push((choice, live.len()));
        let at = live[choice];
        let before = holders(&port).await;
        gates[at].0.store(true, Ordering::SeqCst);
        let actor = actors[at].as_mut().unwrap();
        if actor
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready()
        {
            actors[at] = None;
        }
        let after = holders(&port).await;
        let (who, verb) = verbs[at];
        assert!(after.windows(2).all(|pair| pair[0] == pair[1]), "{after:?}");
        assert!(after.len() != 1, "the two refs move together: {after:?}");
        let others = before.iter().any(|claim| claim != who);
        let kept = before == after || matches!(verb, Verb::Steal) || !others;
        assert!(kept, "{who} changed {before:?} to {after:?}");
    }
}

/// Every order of the requests; answers how many there were.
async fn every_order(held: Option<&'static str>, verbs: &[(&'static str, Verb)]) -> usize {
    let mut order: Vec<usize> = Vec::new();
    let mut count = 0;
    loop {
        let choices = run(held, verbs, &order).await;
        count += 1;
        let next = choices.iter().rposition(|(choice, of)| choice + 1 < *of);
        let Some(next) = next else { return count };
        order = choices[..=next].iter().map(|(choice, _)| *choice).collect();
        order[next] += 1;
    }
}

#[tokio::test]
async fn two_claims_have_one_winner_in_every_order() {
    let verbs = [("c-a", Verb::Claim), ("c-b", Verb::Claim)];
    assert_eq!(every_order(None, &verbs).await, 6);
}

#[tokio::test]
async fn renewing_releasing_and_stealing_never_undo_each_other() {
    for verb in [Verb::Renew, Verb::Release] {
        let verbs = [("c-a", verb), ("c-b", Verb::Steal)];
        assert!(every_order(Some("c-a"), &verbs).await >= 3);
    }
    let verbs = [
        ("c-a", Verb::Release),
        ("c-b", Verb::Claim),
        ("c-c", Verb::Steal),
    ];
    assert!(every_order(Some("c-a"), &verbs).await > 10);
}
