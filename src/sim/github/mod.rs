//! A stateful GitHub over real bare git repositories, with two faces over one model: the port, in
//! process ([`SimGitHub`]), and loopback HTTP ([`serve`]), REST, GraphQL and git's transport.
//!
//! It knows what GitHub does, never what ghswarm wants.

mod actors;
mod backlog;
mod clock;
mod error;
mod faults;
mod http;
mod issues;
mod jobs;
mod list;
mod look;
mod merge;
pub mod model;
mod overview;
mod port;
mod prs;
mod queue;
mod ref_ways;
mod refs;
mod repo;
mod repo_git;
mod verbs;
mod world;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::ids::{RepoSlug, Timestamp};

pub use actors::{Actors, ActorsConfig};
pub use clock::SimClock;
pub use error::{Detail, SimError, SimResult};
pub use faults::{Asked, Fault, FaultPlan, Op};
pub use http::{Serving, serve};
pub use port::SimGitHub;
pub use repo::{Seed, SimRepo};
pub use verbs::{Draft, Mergeability};

use issues::key_of;
use model::{Repo, User};
use world::World;

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// HTTP method, or `PORT`.
    pub method: String,
    /// The path's template, or the GraphQL operation.
    pub path: String,
    /// What it did.
    pub op: Op,
    /// HTTP status; 0 where the connection was cut.
    pub status: u16,
    /// When.
    pub at: Timestamp,
}

/// How many requests there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All, git's transport left out.
    pub requests: u64,
    /// Those that GitHub would count against the limit: not answered by 304.
    pub charged: u64,
    /// Those that change something, pushes included.
    pub writes: u64,
}

#[derive(Default)]
struct Log {
    records: Vec<RequestRecord>,
    asked: u64,
    counts: Counts,
    faults: FaultPlan,
}

#[derive(Default)]
struct State {
    world: World,
    /// The state before the last write, while a fault plan may ask for it.
    previous: Option<World>,
}

/// The simulated GitHub.
pub struct Sim {
    dir: PathBuf,
    /// Its clock.
    pub clock: SimClock,
    state: Mutex<State>,
    log: Mutex<Log>,
    page_max: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic of another test thread leaves records that are still whole enough to look at.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sim {
    /// An empty GitHub that keeps its repositories in this folder.
    pub fn new(dir: impl Into<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            dir: dir.into(),
            clock: SimClock::default(),
            state: Mutex::default(),
            log: Mutex::default(),
            page_max: AtomicUsize::new(100),
        })
    }

    /// Adds an account; a login that ends in `[bot]` is a bot. Twice is fine.
    pub fn add_user(&self, login: &str) {
        let mut state = lock(&self.state);
        let id = state.world.id();
        let user = User {
            id,
            login: login.to_owned(),
            deleted: false,
        };
        state
            .world
            .users
            .entry(login.to_lowercase())
            .or_insert(user);
    }

    /// Deletes an account: what it wrote stays, without an author.
    pub fn delete_user(&self, login: &str) {
        if let Some(user) = lock(&self.state).world.users.get_mut(&login.to_lowercase()) {
            user.deleted = true;
        }
    }

    /// A token of this user, whom it adds if need be.
    pub fn token_for(&self, login: &str) -> String {
        self.add_user(login);
        let token = format!(
            "ghp_sim{:0>32}",
            login.replace(|c: char| !c.is_alphanumeric(), "0")
        );
        lock(&self.state)
            .world
            .tokens
            .insert(token.clone(), login.to_owned());
        token
    }

    /// Makes a token worthless.
    pub fn revoke(&self, token: &str) {
        lock(&self.state).world.tokens.remove(token);
    }

    /// Whose token it is.
    pub fn login_of(&self, token: &str) -> Option<String> {
        lock(&self.state).world.tokens.get(token).cloned()
    }

    /// Creates a repository.
    pub fn create_repo(self: &Arc<Self>, slug: &RepoSlug, seed: &Seed<'_>) -> SimResult<SimRepo> {
        self.add_user(&slug.owner);
        let path = self
            .dir
            .join(&slug.owner)
            .join(format!("{}.git", slug.name));
        let now = self.clock.now();
        let default_branch = seed.plant(&path, &slug.owner, now)?;
        let tip_seen = repo_git::ref_id(&path, &format!("refs/heads/{default_branch}"))?;
        let mut state = lock(&self.state);
        let id = state.world.id();
        let repo = Repo {
            id,
            slug: slug.clone(),
            path,
            default_branch,
            archived: false,
            private: false,
            fork_of: None,
            access: std::collections::BTreeMap::new(),
            associations: std::collections::BTreeMap::new(),
            milestones: Vec::new(),
            labels: Vec::new(),
            issues: std::collections::BTreeMap::new(),
            gone: std::collections::BTreeSet::new(),
            checks: Vec::new(),
            statuses: Vec::new(),
            protection: std::collections::BTreeMap::new(),
            rulesets: std::collections::BTreeMap::new(),
            bans: std::collections::BTreeSet::new(),
            tip_seen,
            created_at: now,
        };
        state.world.repos.insert(key_of(slug), repo);
        drop(state);
        Ok(self.repo(slug))
    }

    /// A repository by name.
    pub fn repo(self: &Arc<Self>, slug: &RepoSlug) -> SimRepo {
        SimRepo::new(Arc::clone(self), key_of(slug))
    }

    /// The folder of the bare repositories.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// From now on requests meet these faults.
    pub fn set_faults(&self, plan: FaultPlan) {
        lock(&self.log).faults = plan;
        lock(&self.state).previous = None;
    }

    /// Every request that was answered, oldest first.
    pub fn requests(&self) -> Vec<RequestRecord> {
        lock(&self.log).records.clone()
    }

    /// How many there were.
    pub fn counts(&self) -> Counts {
        lock(&self.log).counts
    }

    /// At most so many entries a page (GitHub: 100), so that few entries make many pages.
    pub fn set_page_max(&self, entries: usize) {
        self.page_max
            .store(entries.clamp(1, 100), Ordering::Relaxed);
    }

    pub(crate) fn page_max(&self) -> usize {
        self.page_max.load(Ordering::Relaxed)
    }

    /// Web addresses begin with this from now on.
    pub(crate) fn set_web(&self, address: &str) {
        lock(&self.state).world.set_web(address);
    }

    /// A request begins: what it meets.
    pub(crate) fn meet(&self, op: Op) -> Option<Fault> {
        let mut log = lock(&self.log);
        log.asked += 1;
        log.counts.writes += u64::from(op.is_write());
        let write = op.is_write().then_some(log.counts.writes);
        let asked = Asked {
            op,
            index: log.asked,
            write,
        };
        log.faults.meet(&asked)
    }

    /// A request ends.
    pub(crate) fn record(&self, op: Op, method: &str, path: &str, status: u16) {
        let (method, path, at) = (method.to_owned(), path.to_owned(), self.clock.now());
        let mut log = lock(&self.log);
        if !matches!(op, Op::GitFetch | Op::GitPush) {
            log.counts.requests += 1;
            log.counts.charged += u64::from(status != 304);
        }
        log.records.push(RequestRecord {
            method,
            path,
            op,
            status,
            at,
        });
    }

    /// Looks at the present state, what was pushed included.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&World) -> SimResult<T>) -> SimResult<T> {
        let mut state = lock(&self.state);
        state.world.follow(self.clock.now())?;
        look(&state.world)
    }

    /// Looks at the state before the last write; at the present one if none was kept.
    pub(crate) fn read_stale<T>(&self, look: impl FnOnce(&World) -> SimResult<T>) -> SimResult<T> {
        let state = lock(&self.state);
        look(state.previous.as_ref().unwrap_or(&state.world))
    }

    /// Changes the state.
    pub(crate) fn write<T>(
        &self,
        change: impl FnOnce(&mut World, Timestamp) -> SimResult<T>,
    ) -> SimResult<T> {
        let mut state = lock(&self.state);
        let now = self.clock.now();
        state.world.follow(now)?;
        self.keep_previous(&mut state);
        let done = change(&mut state.world, now)?;
        state.world.follow(now)?;
        Ok(done)
    }

    /// Keeps a copy for stale reads; a push does that before it is let in.
    fn keep_previous(&self, state: &mut State) {
        if lock(&self.log).faults.is_set() {
            state.previous = Some(state.world.freeze());
        }
    }

    /// A push is about to be let in.
    pub(crate) fn before_push(&self) {
        let mut state = lock(&self.state);
        self.keep_previous(&mut state);
    }
}
