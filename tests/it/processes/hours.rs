//! Hours that pass in a moment: a clock that jumps from one wait to the next, and processes that are
//! only a plan.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use ghswarm::model::ids::Timestamp;
use ghswarm::model::run::{RunCommand, RunExit};
use ghswarm::ports::clock::Clock;
use ghswarm::ports::processes::{Asked, ChildEnd, ChildFacts, Force, Frozen, LeftFiles, Processes};
use ghswarm::ports::{PortError, PortResult};

/// Time that passes only while somebody waits, straight to the end of the shortest wait.
#[derive(Default)]
pub(super) struct JumpClock {
    times: Mutex<Times>,
}

#[derive(Default)]
struct Times {
    now: Duration,
    waits: Vec<(u64, Duration)>,
    last: u64,
}

impl JumpClock {
    /// The boot time at which every test begins.
    pub(super) const BEGIN: Duration = Duration::from_secs(5000);

    pub(super) fn new() -> Arc<Self> {
        let clock = Self::default();
        clock.times.lock().unwrap().now = Self::BEGIN;
        Arc::new(clock)
    }

    /// The machine sleeps, or this process is stopped: nobody runs.
    pub(super) fn jump(&self, time: Duration) {
        self.times.lock().unwrap().now += time;
    }
}

/// Takes a wait that was given up off the list.
struct Wait<'a>(&'a JumpClock, u64);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.0
            .times
            .lock()
            .unwrap()
            .waits
            .retain(|(id, _)| *id != self.1);
    }
}

#[async_trait]
impl Clock for JumpClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.boot_time()
    }

    fn boot_time(&self) -> Duration {
        self.times.lock().unwrap().now
    }

    async fn sleep(&self, time: Duration) {
        let (until, wait) = {
            let mut times = self.times.lock().unwrap();
            times.last += 1;
            let (until, id) = (times.now + time, times.last);
            times.waits.push((id, until));
            (until, Wait(self, id))
        };
        loop {
            tokio::task::yield_now().await;
            let mut times = self.times.lock().unwrap();
            if times.waits.iter().all(|(_, other)| *other >= until) {
                times.now = times.now.max(until);
            }
            if times.now >= until {
                drop(times);
                drop(wait);
                return;
            }
        }
    }
}

type Act = Box<dyn FnOnce() + Send>;

/// A command that is only a plan.
pub(super) struct Plan {
    pub clock: Arc<JumpClock>,
    /// Its own process exits so long after its start.
    pub ends_after: Duration,
    /// It prints a byte this often.
    pub prints_every: Duration,
    /// What else happens, so long after the start; checked whenever the supervisor looks around.
    pub acts: Mutex<Vec<(Duration, Act)>>,
    /// Until then after the start no file can be written.
    pub full_until: Duration,
    /// What every write of a file fails with besides.
    pub broken: Option<PortError>,
    seen: Mutex<Seen>,
}

/// What the supervisor did.
#[derive(Default, Clone)]
pub(super) struct Seen {
    pub started: Option<Duration>,
    pub forces: Vec<Force>,
    pub asked: Asked,
    pub exit: Option<RunExit>,
    pub shown: Vec<bool>,
    dead: bool,
}

impl Plan {
    pub(super) fn new(clock: &Arc<JumpClock>, ends_after: Duration) -> Self {
        Self {
            clock: Arc::clone(clock),
            ends_after,
            prints_every: Duration::from_secs(10),
            acts: Mutex::default(),
            full_until: Duration::ZERO,
            broken: None,
            seen: Mutex::default(),
        }
    }

    pub(super) fn then(self, after: Duration, act: impl FnOnce() + Send + 'static) -> Self {
        self.acts.lock().unwrap().push((after, Box::new(act)));
        self
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn write(&self) -> PortResult<()> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        if self.age() < self.full_until {
            return Err(PortError::unavailable("write", "the disk is full", None));
        }
        Ok(())
    }

    fn age(&self) -> Duration {
        let started = self.seen().started;
        started.map_or(Duration::ZERO, |started| {
            self.clock.boot_time().saturating_sub(started)
        })
    }
}

impl Processes for Plan {
    fn start(&self, _: usize, _: &RunCommand) -> PortResult<()> {
        self.seen().started = Some(self.clock.boot_time());
        Ok(())
    }

    fn child(&self) -> PortResult<ChildFacts> {
        let over = self.age() >= self.ends_after;
        let bytes = self.age().as_millis() / self.prints_every.as_millis();
        Ok(ChildFacts {
            end: over.then_some(ChildEnd::Code(0)),
            output_bytes: u64::try_from(bytes).unwrap(),
            output_open: !over,
            preparing: false,
        })
    }

    fn alive(&self) -> PortResult<usize> {
        let over = self.age() >= self.ends_after || self.seen().started.is_none();
        Ok(usize::from(!over && !self.seen().dead))
    }

    fn force(&self, force: Force) -> PortResult<()> {
        let mut seen = self.seen();
        seen.dead |= matches!(force, Force::Terminate | Force::Kill);
        seen.forces.push(force);
        Ok(())
    }

    fn asked(&self) -> Asked {
        let age = self.age();
        let due: Vec<Act> = {
            let mut acts = self.acts.lock().unwrap();
            let (due, later) = std::mem::take(&mut *acts)
                .into_iter()
                .partition(|act| act.0 <= age);
            *acts = later;
            due.into_iter().map(|(_, act)| act).collect()
        };
        for act in due {
            act();
        }
        self.seen().asked
    }

    fn show_frozen(&self, shown: Frozen) {
        self.seen().shown.push(shown == Frozen::Yes);
    }

    fn take_left_files(&self, _: LeftFiles) -> PortResult<()> {
        self.write()
    }

    fn note(&self, _: &str) {}

    fn finish(&self, exit: &RunExit) -> PortResult<()> {
        self.write()?;
        self.seen().exit = Some(exit.clone());
        Ok(())
    }
}
