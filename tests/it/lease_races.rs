//! Lease operations of several actors on the simulated GitHub, in every order of their requests: never
//! two claims on the refs of one issue, and nobody removes another's live lease.

use ghswarm::model::ids::RefName;
use ghswarm::model::ids::Sha;
use ghswarm::model::lease::{LeaseMessage, RefSwap, SwapOutcome};
use ghswarm::ports::github::{GitHub, NewCommit};
use ghswarm::sim::github::model::Access;
use ghswarm::sim::github::{Seed, Sim, SimGitHub, SimRepo};

use crate::every_order::{self as order, Choices, Gate, every_order, in_order, ready};

const ISSUE: &str = "refs/leases/issue-1";
const SLOT: &str = "refs/leases/slot-1";

fn name(text: &str) -> RefName {
    RefName::new(text).unwrap()
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
fn holders(port: &SimGitHub) -> Vec<String> {
    let refs = [name(ISSUE), name(SLOT)];
    let (_, read) = ready(port.read_leases(&refs)).unwrap();
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

/// Runs one order of requests.
fn run(held: Option<&'static str>, verbs: &[(&'static str, Verb)], order: &[usize]) -> Choices {
    let dir = tempfile::tempdir().unwrap();
    let repo = world(dir.path());
    let port = repo.port("op");
    let actor = |claim: &'static str, epoch: i64, verb: Verb| -> (Gate, order::Actor) {
        let gate = Gate::default();
        let actor = Actor {
            gate: gate.clone(),
            port: port.clone(),
            claim,
            epoch,
        };
        (gate, Box::pin(actor.act(verb)))
    };
    if let Some(claim) = held {
        let (gate, first) = actor(claim, 1, Verb::Claim);
        in_order(&[], &[gate], vec![first], |_| {});
    }
    let all = verbs.iter().map(|(claim, verb)| actor(claim, 2, *verb));
    let (gates, actors): (Vec<_>, Vec<_>) = all.unzip();
    let mut before = holders(&port);
    in_order(order, &gates, actors, |at| {
        let after = holders(&port);
        let (who, verb) = verbs[at];
        assert!(after.windows(2).all(|pair| pair[0] == pair[1]), "{after:?}");
        assert!(after.len() != 1, "the two refs move together: {after:?}");
        let others = before.iter().any(|claim| claim != who);
        let kept = before == after || matches!(verb, Verb::Steal) || !others;
        assert!(kept, "{who} changed {before:?} to {after:?}");
        before = after;
    })
}

fn orders(held: Option<&'static str>, verbs: &[(&'static str, Verb)]) -> usize {
    every_order(|order| run(held, verbs, order))
}

#[test]
fn two_claims_have_one_winner_in_every_order() {
    let verbs = [("c-a", Verb::Claim), ("c-b", Verb::Claim)];
    assert_eq!(orders(None, &verbs), 6);
}

#[test]
fn renewing_releasing_and_stealing_never_undo_each_other() {
    for verb in [Verb::Renew, Verb::Release] {
        let verbs = [("c-a", verb), ("c-b", Verb::Steal)];
        assert!(orders(Some("c-a"), &verbs) >= 3);
    }
    let verbs = [
        ("c-a", Verb::Release),
        ("c-b", Verb::Claim),
        ("c-c", Verb::Steal),
    ];
    assert!(orders(Some("c-a"), &verbs) > 10);
}
