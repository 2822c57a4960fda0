//! The simulated world of the stories: one GitHub, some homes with an engine each, people, CI and an
//! agent that does what a script says, all in this process and on one clock that stands still until
//! it is moved.
//!
//! `World::new()` is a valid default; a story names what differs. After every single effect of an
//! engine the laws (`laws.rs`) are checked, and a story that leaves a comment unread fails.

mod agent;
mod deeds;
mod door;
mod endings;
mod facts;
mod host;
mod laws;
mod people;
mod rules;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ghswarm::model::ids::{RepoSlug, Timestamp};
use ghswarm::ports::clock::Clock as _;
use ghswarm::sim::github::{Seed, Sim, SimRepo};
use ghswarm::sim::local::{FaultPoints, SimClock};
use tempfile::TempDir;

pub(crate) use agent::Agent;
pub(crate) use deeds::{Deed, FILE, TASK, WORDS};
pub(crate) use door::{Moment, Passed};
pub(crate) use endings::Ending;
pub(crate) use host::Host;
pub(crate) use laws::Laws;
pub(crate) use people::body;
pub(crate) use rules::Rules;

/// A secret that must never leave the machine: the agent prints it and the operator's token is it.
pub(crate) const CANARY: &str = "canary-5ecre7-canary";

/// The operator, who owns the repository.
pub(crate) const ANN: &str = "ann";

/// A settled world needs fewer rounds than this; more is going in a circle.
const ROUNDS_MAX: usize = 30;

/// The world of one story.
pub(crate) struct World {
    /// The repository, for verbs that have no name here.
    pub(crate) repo: SimRepo,
    /// What the agents do.
    pub(crate) agent: Agent,
    /// What must hold at any time.
    pub(crate) laws: Arc<Laws>,
    /// The one clock.
    pub(crate) clock: SimClock,
    /// Where local writes fail.
    pub(crate) points: FaultPoints,
    rules: Rules,
    hosts: Vec<Arc<Host>>,
    runtime: tokio::runtime::Runtime,
    green: Mutex<bool>,
    careless: Mutex<bool>,
    read: Mutex<BTreeSet<u64>>,
    _dir: TempDir,
}

impl World {
    /// One repository of `ann`, her home `a`, an agent that works, CI that says nothing by itself.
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// The same, with other rules.
    pub(crate) fn with(change: impl FnOnce(&mut Rules)) -> Self {
        Self::failing(FaultPoints::none(), change)
    }

    /// The same, with local writes that fail as planned.
    pub(crate) fn failing(points: FaultPoints, change: impl FnOnce(&mut Rules)) -> Self {
        let mut rules = Rules::default();
        change(&mut rules);
        let dir = folder();
        let clock = SimClock::at(start());
        let sim = Sim::new(dir.path());
        let ticks = clock.clone();
        sim.clock.follow(move || ticks.now());
        let slug: RepoSlug = "ann/shop".parse().unwrap();
        sim.add_user(ANN);
        let repo = sim
            .create_repo(&slug, &Seed::Files(&[("README.md", "A shop.\n")]))
            .unwrap();
        repo.set_access("bob", ghswarm::sim::github::model::Access::Write);
        sim.add_user("zoe");
        let laws = Arc::new(Laws::new(repo.clone(), rules.policy.clone()));
        let mut world = Self {
            repo,
            agent: Agent::default(),
            laws,
            clock,
            points,
            rules,
            hosts: Vec::new(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap(),
            green: Mutex::new(false),
            careless: Mutex::new(false),
            read: Mutex::default(),
            _dir: dir,
        };
        world.add_host("a", ANN);
        world
    }

    /// CI succeeds everywhere by itself from now on.
    pub(crate) fn ci_is_green(&self) -> &Self {
        *self.green.lock().unwrap() = true;
        self
    }

    /// One more home, on another machine, with the token of `operator`.
    pub(crate) fn add_host(&mut self, name: &str, operator: &str) -> Arc<Host> {
        let host = Arc::new(Host::new(self, name, operator));
        self.laws.watch(host.home.clone());
        self.hosts.push(Arc::clone(&host));
        host
    }

    /// The first home.
    pub(crate) fn a(&self) -> Arc<Host> {
        Arc::clone(&self.hosts[0])
    }

    /// Every home.
    pub(crate) fn hosts(&self) -> Vec<Arc<Host>> {
        self.hosts.clone()
    }

    /// The GitHub.
    pub(crate) fn sim(&self) -> &Arc<Sim> {
        self.repo.sim()
    }

    /// Lets the future run to its end.
    pub(crate) fn wait<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(what)
    }

    /// Time passes; supervisors keep their leases meanwhile.
    pub(crate) fn pass(&self, time: Duration) {
        let mut left = time;
        while !left.is_zero() {
            let slice = left.min(Duration::from_secs(240));
            self.clock.advance(slice);
            left -= slice;
            for host in &self.hosts {
                self.wait(host.keep_leases(self.clock.now()));
            }
        }
    }

    /// Minutes pass.
    pub(crate) fn minutes(&self, minutes: u64) -> &Self {
        self.pass(Duration::from_secs(60 * minutes));
        self
    }

    /// One cycle of the first home, as cron starts it.
    pub(crate) fn run_until_waits(&self) -> &Self {
        self.cycle(&self.a());
        self
    }

    /// One cycle of this home.
    pub(crate) fn cycle(&self, host: &Host) -> ghswarm::engine::CycleReport {
        if *self.green.lock().unwrap() {
            self.everything_is_green();
        }
        let report = self.wait(host.cycle());
        self.laws.check();
        report
    }

    /// Cycles of every home until nothing is done any more.
    pub(crate) fn settle(&self) -> &Self {
        let mut quiet = 0;
        for _ in 0..ROUNDS_MAX {
            let before = self.laws.effects();
            for host in self.hosts.iter().filter(|host| host.is_on()) {
                self.cycle(host);
            }
            quiet = if self.laws.effects() == before {
                quiet + 1
            } else {
                0
            };
            if quiet == 2 {
                return self;
            }
            self.pass(Duration::from_secs(5));
        }
        panic!("the world does not come to rest:\n{}", self.trace());
    }

    /// Every effect so far, for people who look for a mistake.
    pub(crate) fn trace(&self) -> String {
        self.laws.trace()
    }
}

/// In memory where the system offers that: thousands of small files are written.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

fn start() -> Timestamp {
    "2026-03-02T09:00:00Z".parse().unwrap()
}

impl Drop for World {
    #[expect(
        clippy::print_stderr,
        reason = "the trace belongs beside the panic's message"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.trace());
            return;
        }
        let unread = self.unread();
        assert!(unread.is_empty(), "nobody read: {unread:#?}");
    }
}
