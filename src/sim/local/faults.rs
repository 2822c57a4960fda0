//! Where the local side fails: a plan that is asked at every write.

use std::sync::{Arc, Mutex, PoisonError};

use crate::ports::PortError;

/// A kind of local write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LocalOp {
    /// `run.json` is created.
    CreateClaim,
    /// `run.json` is replaced.
    ReplaceClaim,
    /// `run.json` is removed.
    RemoveClaim,
    /// A displaced claim is moved aside.
    Supersede,
    /// A displaced claim's work is saved.
    Salvage,
    /// A worktree is made.
    AddWorktree,
    /// A worktree is removed.
    RemoveWorktree,
    /// A worktree is marked as set up.
    MarkSetUp,
    /// The work is committed.
    Commit,
    /// A worktree's branch moves forward.
    Follow,
    /// A ref is pushed.
    Push,
    /// A run's folder is made.
    ReserveRun,
    /// A run's supervisor is started.
    StartRun,
    /// A run is asked to end.
    StopRun,
    /// Supervisors are told that their results were seen.
    Relieve,
    /// What dead supervisors left is killed.
    Sweep,
}

/// What goes wrong at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LocalFault {
    /// The engine dies before the write has an effect.
    CrashBefore,
    /// The engine dies when the write is done.
    CrashAfter,
    /// The local side refuses; nothing is done.
    Refuse,
    /// Nothing is done, and nobody says so.
    LostBefore,
    /// It is done, and nobody says so.
    LostAfter,
}

impl LocalFault {
    /// All of them, for loops over every fault.
    pub const ALL: [Self; 5] = [
        Self::CrashBefore,
        Self::CrashAfter,
        Self::Refuse,
        Self::LostBefore,
        Self::LostAfter,
    ];
}

type Hook = Box<dyn FnMut(u64, LocalOp) -> Option<LocalFault> + Send>;

struct Points {
    hook: Hook,
    seen: Vec<LocalOp>,
}

/// The plan of faults and the points reached so far; clones share both.
#[derive(Clone)]
pub struct FaultPoints {
    points: Arc<Mutex<Points>>,
}

impl FaultPoints {
    /// Nothing goes wrong; points are counted.
    pub fn none() -> Self {
        Self::ask(|_, _| None)
    }

    /// At the point number `n` (from 1), once.
    pub fn at(n: u64, fault: LocalFault) -> Self {
        Self::during(n, 1, fault)
    }

    /// At `count` points from number `n` (from 1) on.
    pub fn during(n: u64, count: u64, fault: LocalFault) -> Self {
        Self::ask(move |at, _| (n..n.saturating_add(count)).contains(&at).then_some(fault))
    }

    /// At the `n`th write of this kind (from 1), once.
    pub fn at_op(op: LocalOp, n: u64, fault: LocalFault) -> Self {
        let mut met = 0;
        Self::ask(move |_, found| {
            met += u64::from(found == op);
            (found == op && met == n).then_some(fault)
        })
    }

    /// Whatever the hook answers for the point's number (from 1) and kind.
    pub fn ask(hook: impl FnMut(u64, LocalOp) -> Option<LocalFault> + Send + 'static) -> Self {
        let points = Points {
            hook: Box::new(hook),
            seen: Vec::new(),
        };
        Self {
            points: Arc::new(Mutex::new(points)),
        }
    }

    /// No fault from here on; the count goes on.
    pub fn stop(&self) {
        self.with(|points| points.hook = Box::new(|_, _| None));
    }

    /// The points reached so far, in order.
    pub fn reached(&self) -> Vec<LocalOp> {
        self.with(|points| points.seen.clone())
    }

    pub(super) fn meet(&self, op: LocalOp) -> Option<LocalFault> {
        self.with(|points| {
            points.seen.push(op);
            let at = points.seen.len() as u64;
            (points.hook)(at, op)
        })
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Points) -> T) -> T {
        use_it(&mut self.points.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

const CRASH: &str = "simulated crash";

/// The error of an engine that is dead.
pub(super) fn crash(what: &str) -> PortError {
    PortError::unknown(what, CRASH)
}

/// Is this the end of the simulated engine, rather than an answer?
pub fn is_crash(error: &PortError) -> bool {
    matches!(error, PortError::Unknown { message, .. } if message == CRASH)
}
