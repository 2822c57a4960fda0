//! How often the engine looks at GitHub: what it wrote itself it need not find out by a look.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ghswarm::decide::{Order, Why};
use ghswarm::engine::step::HowFar;
use ghswarm::engine::{RepoEngine, StepOutcome, World};
use ghswarm::model::body::{BodyChange, rewrite};
use ghswarm::model::ids::{IssueNumber, PrNumber};
use ghswarm::model::phase::Phase;
use ghswarm::model::pr::MergeMethod;
use ghswarm::model::state::IssueState;
use ghswarm::ports::clock::Clock as _;
use ghswarm::sim::github::{Op, Seed, Sim, SimRepo};
use ghswarm::sim::local::{FaultPoints, SimClock, SimHome};

use crate::world::{ANN, Rules};

fn engine(repo: &SimRepo, home: &SimHome) -> RepoEngine {
    let count = AtomicU64::new(1);
    let world = World {
        github: Arc::new(repo.port(ANN)),
        backlog: Arc::new(repo.port(ANN)),
        git: Arc::new(home.git()),
        runs: Arc::new(home.runs()),
        folders: Arc::new(home.folders()),
        memory: Arc::new(home.memory()),
        events: Arc::new(home.events()),
        clock: Arc::new(home.clock()),
        random: Arc::new(move || format!("{:08}", count.fetch_add(1, Ordering::Relaxed))),
    };
    let rules = Rules::default();
    RepoEngine::new(world, rules.policy.clone(), rules.settings("a"))
}

/// A body whose state waits for the checks of the pull request.
fn body() -> String {
    let state = IssueState {
        next_action: Phase::WaitCi,
        phase: Phase::WaitCi.name().to_owned(),
        pr_number: Some(PrNumber(2)),
        ..IssueState::default()
    };
    let change = BodyChange {
        state: Some(&state),
        ..BodyChange::default()
    };
    rewrite(&crate::world::body(&["Sell apples"]), &change).unwrap()
}

#[tokio::test]
async fn the_checks_of_a_merge_that_was_noted_cost_no_second_look() {
    let dir = tempfile::tempdir().unwrap();
    let clock = SimClock::at("2026-01-02T03:04:05Z".parse().unwrap());
    let sim = Sim::new(dir.path().join("github"));
    let ticks = clock.clone();
    sim.clock.follow(move || ticks.now());
    let seed = Seed::Files(&[("README.md", "hello\n")]);
    let repo = sim
        .create_repo(&"ann/shop".parse().unwrap(), &seed)
        .unwrap();
    repo.open_issue(ANN, "Do it", &body(), &["status: idle"])
        .unwrap();
    repo.push_commit(ANN, "issue-1", &[("a.txt", "a\n")])
        .unwrap();
    let pr = repo.open_pr(ANN, "Do it", "issue-1", "main").unwrap();
    let merged = repo.merge_pr_as(ANN, pr, MergeMethod::Squash).unwrap();
    let home = SimHome::new("a", &repo.path(), clock.clone(), FaultPoints::none());
    let engine = engine(&repo, &home);
    let advance = async |how_far| {
        let order = Order::default();
        let issue = IssueNumber(1);
        engine.advance(issue, &order, how_far).await.outcome
    };
    let waits = advance(HowFar::UntilItWaits).await;
    let StepOutcome::Waits { why, .. } = &waits else {
        panic!("{waits:?}")
    };
    let noted = matches!(why, Why::NoChecksYet { sha } if sha.as_str() == merged);
    assert!(noted, "{why}: {:?}", home.recorded());
    repo.set_check(&merged, "ci", "in_progress", None).unwrap();
    clock.advance(Duration::from_secs(60));
    let past = sim.requests().len();
    let waits = advance(HowFar::Decide).await;
    let StepOutcome::Waits { why, .. } = &waits else {
        panic!("{waits:?}")
    };
    assert!(matches!(why, Why::ChecksPending { .. }), "{why}");
    let ops: Vec<Op> = sim.requests()[past..].iter().map(|one| one.op).collect();
    assert_eq!(ops, [Op::Look]);
}
