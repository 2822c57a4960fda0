//! A home on a machine with its engine.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ghswarm::decide::Order;
use ghswarm::engine::cycle::Watch;
use ghswarm::engine::renew::{IfMissing, RenewOutcome, renew};
use ghswarm::engine::step::{Advanced, HowFar};
use ghswarm::engine::{self, CycleReport, IssueReport, RepoEngine};
use ghswarm::model::ids::{IssueNumber, Timestamp};
use ghswarm::model::limits::RENEW_PARTS;
use ghswarm::model::run::RunLease;
use ghswarm::ports::events::{Event, EventQuery, Events};
use ghswarm::ports::github::GitHub as _;
use ghswarm::sim::github::SimGitHub;
use ghswarm::sim::local::{MemEvents, SimClock, SimHome};

use super::door::Door;
use super::{Laws, Rules, World};

/// A home and whoever works on it.
pub(crate) struct Host {
    /// What survives the engine.
    pub(crate) home: SimHome,
    /// GitHub as this home sees it.
    pub(crate) door: Arc<Door>,
    name: String,
    operator: String,
    port: SimGitHub,
    laws: Arc<Laws>,
    rules: Rules,
    engine: Mutex<Arc<RepoEngine>>,
    on: AtomicBool,
    online: AtomicBool,
    reports: Arc<Mutex<Vec<IssueReport>>>,
}

/// After each effect: the laws are checked, and a second passes.
struct Witness {
    inner: MemEvents,
    laws: Arc<Laws>,
    clock: SimClock,
    name: String,
}

impl Events for Witness {
    fn record(&self, event: &Event) {
        self.inner.record(event);
        self.laws.note_effect(&self.name, event);
        self.laws.check();
        self.clock.advance(std::time::Duration::from_secs(1));
    }

    fn read(&self, query: &EventQuery) -> Result<Vec<Event>, String> {
        self.inner.read(query)
    }
}

struct Reports(Arc<Mutex<Vec<IssueReport>>>);

impl Watch for Reports {
    fn issue(&self, report: &IssueReport) {
        self.0.lock().unwrap().push(report.clone());
    }
}

impl Host {
    pub(super) fn new(world: &World, name: &str, operator: &str) -> Self {
        let home = SimHome::new(
            name,
            &world.repo.path(),
            world.clock.clone(),
            world.points.clone(),
        );
        world.agent.direct(&home);
        let port = world.repo.port(operator);
        let door = Arc::new(Door::new(
            port.clone(),
            home.clone(),
            Arc::clone(&world.laws),
        ));
        let laws = Arc::clone(&world.laws);
        let engine = engine_of(name, &home, (&door, &laws, &world.rules));
        Self {
            home,
            door,
            name: name.to_owned(),
            operator: operator.to_owned(),
            port,
            laws,
            rules: world.rules.clone(),
            engine: Mutex::new(engine),
            on: AtomicBool::new(true),
            online: AtomicBool::new(true),
            reports: Arc::default(),
        }
    }

    /// A new process on the same home.
    pub(crate) fn restart(&self) {
        self.home.restart();
        let parts = (&self.door, &self.laws, &self.rules);
        *self.engine.lock().unwrap() = engine_of(&self.name, &self.home, parts);
        self.on.store(true, Ordering::Relaxed);
    }

    /// The machine loses power and is not switched on again before `restart`.
    pub(crate) fn dies(&self) {
        self.home.power_cut();
        self.home.kill_engine();
        self.on.store(false, Ordering::Relaxed);
    }

    /// The engine stands still, its runs go on.
    pub(crate) fn pauses(&self) {
        self.on.store(false, Ordering::Relaxed);
    }

    /// The engine goes on.
    pub(crate) fn goes_on(&self) {
        self.on.store(true, Ordering::Relaxed);
    }

    /// The network is gone.
    pub(crate) fn loses_network(&self) {
        self.online.store(false, Ordering::Relaxed);
        self.pauses();
    }

    /// The network is back.
    pub(crate) fn finds_network(&self) {
        self.online.store(true, Ordering::Relaxed);
        self.goes_on();
    }

    /// Does its engine take part?
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// The engine of the present process.
    pub(crate) fn engine(&self) -> Arc<RepoEngine> {
        Arc::clone(&self.engine.lock().unwrap())
    }

    pub(super) async fn cycle(&self) -> CycleReport {
        self.engine()
            .cycle(&Reports(Arc::clone(&self.reports)))
            .await
    }

    /// GitHub without the door: what a command reads of the repository at large.
    pub(crate) fn port(&self) -> &SimGitHub {
        &self.port
    }

    /// Whose token it is.
    pub(crate) fn operator(&self) -> &str {
        &self.operator
    }

    /// Steps one issue, with what a person typed.
    pub(crate) async fn advance(&self, issue: u64, order: &Order, how_far: HowFar) -> Advanced {
        let engine = self.engine();
        engine.advance(IssueNumber(issue), order, how_far).await
    }

    /// The code of the newest reason for this issue.
    pub(crate) fn why(&self, issue: u64) -> String {
        let reports = self.reports.lock().unwrap();
        let last = reports.iter().rev().find(|report| report.issue.0 == issue);
        last.map(|report| report.code.clone()).unwrap_or_default()
    }

    /// What the supervisors of this machine do while time passes.
    pub(super) async fn keep_leases(&self, now: Timestamp) {
        for lease in self.home.kept_leases() {
            let age = self.age_of(&lease, now).await;
            if self.online.load(Ordering::Relaxed) {
                if age.is_some_and(|age| age < lease.ttl / RENEW_PARTS) {
                    continue;
                }
                self.renew(&lease).await;
            } else if age.is_none_or(|age| age + lease.margin > lease.ttl) {
                // Without an answer the run is frozen, and ended at last: it must not act any more.
                self.end_runs(lease.message.issue);
            }
        }
    }

    async fn age_of(&self, lease: &RunLease, now: Timestamp) -> Option<std::time::Duration> {
        let (_, leases) = self.port.read_leases(&lease.refs).await.ok()?;
        let ages = lease.refs.iter().map(|name| {
            let commit = leases.get(name)?;
            Some((now - commit.date).to_std().unwrap_or_default())
        });
        ages.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    async fn renew(&self, lease: &RunLease) {
        let live = self.home.live_runs();
        let missing = if live.iter().any(|key| key.issue == lease.message.issue) {
            IfMissing::Create
        } else {
            IfMissing::LetGo
        };
        let nonce = nonce(&self.name);
        if let RenewOutcome::Lost { .. } = renew(&self.port, lease, &*nonce, &|| missing).await {
            self.end_runs(lease.message.issue);
        }
    }

    fn end_runs(&self, issue: IssueNumber) {
        for key in self.home.live_runs() {
            if key.issue == issue {
                self.home.kill_supervisor(&key);
            }
        }
    }
}

/// Texts that no other home and no earlier process made.
fn nonce(host: &str) -> Arc<dyn Fn() -> String + Send + Sync> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let host = host.to_owned();
    Arc::new(move || format!("{host}{:06x}", MADE.fetch_add(1, Ordering::Relaxed)))
}

fn engine_of(
    name: &str,
    home: &SimHome,
    (door, laws, rules): (&Arc<Door>, &Arc<Laws>, &Rules),
) -> Arc<RepoEngine> {
    let witness = Witness {
        inner: home.events(),
        laws: Arc::clone(laws),
        clock: home.clock(),
        name: name.to_owned(),
    };
    let world = engine::World {
        github: Arc::<Door>::clone(door),
        backlog: Arc::<Door>::clone(door),
        git: Arc::new(home.git()),
        runs: Arc::new(home.runs()),
        folders: Arc::new(home.folders()),
        memory: Arc::new(home.memory()),
        events: Arc::new(witness),
        clock: Arc::new(home.clock()),
        random: nonce(name),
    };
    Arc::new(RepoEngine::new(
        world,
        rules.policy.clone(),
        rules.settings(name),
    ))
}

impl Host {
    /// Is there a worktree for the issue?
    pub(crate) fn has_worktree(&self, issue: u64) -> bool {
        use ghswarm::ports::git::Git as _;
        let path = self.engine().worktree_path(IssueNumber(issue));
        let base = "main".parse().unwrap();
        let home = self.home.git();
        let found = futures_now(home.worktree(&path, &base));
        found.is_ok_and(|tree| tree.is_some())
    }

    /// Does this home hold a claim on the issue?
    pub(crate) fn has_claim(&self, issue: u64) -> bool {
        use ghswarm::ports::folders::Folders as _;
        let claim = self.home.folders().claim(IssueNumber(issue));
        claim.is_ok_and(|claim| claim.is_some())
    }
}

/// The answer of a simulated door, which never waits.
fn futures_now<T>(what: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(what)
}
