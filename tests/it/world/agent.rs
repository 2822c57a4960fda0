//! What the agents and the verify steps do: by default they work and succeed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ghswarm::model::run::{RunKey, RunKind};
use ghswarm::sim::local::{Performance, SimHome, Stage};

use super::CANARY;

#[derive(Default)]
struct Plan {
    once: BTreeMap<(RunKind, usize), Performance>,
    always: BTreeMap<RunKind, Performance>,
    started: Vec<(RunKey, String)>,
}

/// The script of all runs on all homes.
#[derive(Clone, Default)]
pub(crate) struct Agent {
    plan: Arc<Mutex<Plan>>,
}

impl Agent {
    /// The run number `nth` (from 1) of this kind does this.
    pub(crate) fn does(&self, kind: RunKind, nth: usize, what: Performance) -> &Self {
        self.plan.lock().unwrap().once.insert((kind, nth), what);
        self
    }

    /// Every run of this kind does this, unless something is said about that very one.
    pub(crate) fn always(&self, kind: RunKind, what: Performance) -> &Self {
        self.plan.lock().unwrap().always.insert(kind, what);
        self
    }

    /// From now on every run does what is usual.
    pub(crate) fn calms_down(&self) {
        let mut plan = self.plan.lock().unwrap();
        plan.once.clear();
        plan.always.clear();
    }

    /// How many runs of this kind were started.
    pub(crate) fn runs(&self, kind: RunKind) -> usize {
        let plan = self.plan.lock().unwrap();
        plan.started
            .iter()
            .filter(|(key, _)| key.kind == kind)
            .count()
    }

    /// Keys of all runs that were started, in order.
    pub(crate) fn keys(&self) -> Vec<RunKey> {
        let plan = self.plan.lock().unwrap();
        plan.started.iter().map(|(key, _)| key.clone()).collect()
    }

    /// The prompt of the run number `nth` (from 1) of this kind.
    pub(crate) fn prompt(&self, kind: RunKind, nth: usize) -> String {
        let plan = self.plan.lock().unwrap();
        let mut of_kind = plan.started.iter().filter(|(key, _)| key.kind == kind);
        of_kind
            .nth(nth - 1)
            .expect("there was no such run")
            .1
            .clone()
    }

    /// Makes the runs of a home follow this script.
    pub(super) fn direct(&self, home: &SimHome) {
        let plan = Arc::clone(&self.plan);
        home.script(move |stage| plan.lock().unwrap().perform(stage));
    }
}

impl Plan {
    fn perform(&mut self, stage: &Stage<'_>) -> Performance {
        let spec = stage.spec();
        let kind = spec.key.kind;
        self.started
            .push((spec.key.clone(), spec.prompt.clone().unwrap_or_default()));
        let nth = self
            .started
            .iter()
            .filter(|(key, _)| key.kind == kind)
            .count();
        let planned = self
            .once
            .get(&(kind, nth))
            .or_else(|| self.always.get(&kind));
        planned
            .cloned()
            .unwrap_or_else(|| usual(&spec.key, nth))
            // What it prints may hold anything.
            .print(&format!("token={CANARY}"))
    }
}

/// An agent that works: a new file each time, committed.
fn usual(key: &RunKey, nth: usize) -> Performance {
    match key.kind {
        RunKind::Implement => {
            let file = format!("work-{}-{nth}.txt", key.issue);
            Performance::success()
                .file(&file, "done\n")
                .commit("Do the work")
        }
        RunKind::Simplify => Performance::success()
            .file(&format!("simple-{}.txt", key.issue), "simple\n")
            .commit("Simplify"),
        RunKind::Setup | RunKind::Review | RunKind::Verify => Performance::success(),
    }
}
