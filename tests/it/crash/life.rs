//! One life of an issue, from its spec to done, with trouble at one write.

use std::sync::OnceLock;
use std::time::Duration;

use ghswarm::model::run::RunKind;
use ghswarm::sim::github::model::{Pr, PrStanding, Protection};
use ghswarm::sim::github::{Fault, FaultPlan};
use ghswarm::sim::local::{FaultPoints, LocalFault, Performance, SimHome};

use crate::world::{ANN, World, body};

/// A life that needs more rounds goes in a circle.
const ROUNDS_MAX: usize = 60;

/// What goes wrong at a remote write.
#[derive(Debug, Clone)]
pub(super) enum Remote {
    /// The engine dies before the request is sent.
    CrashBefore,
    /// The engine dies when it is done.
    CrashAfter,
    /// GitHub or the network.
    Fault(Fault),
    /// The reads after it show the world before it.
    StaleAfter,
}

/// Where something goes wrong.
#[derive(Debug, Clone)]
pub(super) enum Trouble {
    None,
    Remote {
        at: u64,
        times: u64,
        what: Remote,
    },
    Local {
        at: u64,
        times: u64,
        fault: LocalFault,
    },
}

impl Trouble {
    pub(super) fn remote(at: u64, times: u64, what: Remote) -> Self {
        Self::Remote { at, times, what }
    }

    pub(super) fn local(at: u64, times: u64, fault: LocalFault) -> Self {
        Self::Local { at, times, fault }
    }
}

/// What the life is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Nothing besides the usual.
    Plain,
    /// New worktrees are set up first.
    WithSetup,
    /// The change is made smaller before the review.
    WithSimplify,
    /// The agent fails until the issue is blocked; a person resumes it and the agent works.
    BlockedAndResumed,
    /// The agent asks, and a person answers.
    Asked,
    /// CI fails twice at the first head, and the agent mends it.
    RedTwice,
    /// The base has a merge queue.
    Queued,
}

impl Kind {
    /// What the agent asks and the person answers.
    const ANSWER: &'static str = "The small ones.";

    fn world(self, points: FaultPoints) -> World {
        let world = World::failing(points, |rules| {
            rules.policy.setup = self == Self::WithSetup;
            rules.policy.simplify = self == Self::WithSimplify;
        });
        match self {
            Self::Plain | Self::WithSetup | Self::WithSimplify | Self::RedTwice => {}
            Self::Queued => {
                let rules = Protection {
                    merge_queue: true,
                    ..Protection::default()
                };
                world.repo.set_ruleset("main", rules);
            }
            Self::BlockedAndResumed => {
                world
                    .agent
                    .always(RunKind::Implement, Performance::failure(1));
            }
            Self::Asked => {
                let asks = Performance::success().question("Which?");
                world.agent.does(RunKind::Implement, 1, asks);
            }
        }
        world
    }

    /// What CI and the queue do.
    fn goes_on(self, world: &World, issue: u64) {
        let prs = world.prs(issue);
        let open = |(_, pr): &&(u64, Pr)| pr.standing == PrStanding::Open;
        let Some((number, pr)) = prs.iter().find(open) else {
            return;
        };
        if self == Self::Queued && pr.queued.is_some() {
            world.repo.queue_merges(*number).unwrap();
        }
        if self == Self::RedTwice && world.agent.runs(RunKind::Implement) < 2 {
            let failed = ("completed", Some("failure"));
            let printed = "error: too few apples";
            world
                .repo
                .report_check(&pr.head_sha, "test", failed, printed)
                .unwrap();
        }
    }

    /// A person sees that it is blocked.
    fn is_seen_blocked(self, world: &World, issue: u64) {
        world.agent.calms_down();
        let answered = |text: &str| text.contains(Self::ANSWER);
        let comments = world.issue(issue).comments;
        if self == Self::Asked && !comments.iter().any(|comment| answered(&comment.body)) {
            world.says(ANN, issue, Self::ANSWER);
        }
    }
}

/// Who goes on after the engine died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    SameHome,
    /// The machine of the first is gone for good.
    OtherHome,
}

/// How many writes there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Points {
    pub(super) remote: u64,
    pub(super) local: u64,
}

/// The writes of a plain life without trouble.
pub(super) fn points() -> Points {
    static POINTS: OnceLock<Points> = OnceLock::new();
    *POINTS.get_or_init(|| live(&Trouble::None, After::SameHome))
}

/// Lives a whole plain life with this trouble; panics if it does not end well.
pub(super) fn live(trouble: &Trouble, after: After) -> Points {
    live_as(Kind::Plain, trouble, after)
}

/// The same with a life of another kind.
pub(super) fn live_as(kind: Kind, trouble: &Trouble, after: After) -> Points {
    let points = match trouble {
        Trouble::Local { at, times, fault } => FaultPoints::during(*at, *times, *fault),
        Trouble::None | Trouble::Remote { .. } => FaultPoints::none(),
    };
    let mut world = kind.world(points.clone());
    let issue = world.opens(ANN, "Sell apples", &body(&["apples"]));
    world.laws.tell(format!("{kind:?}, {trouble:?}"));
    // Whatever the story of the fault is, what is said about it need not be read here.
    world.reads_everything();
    world.ci_is_green();
    let before = world.sim().counts().writes;
    if let Trouble::Remote { at, times, what } = trouble {
        world
            .sim()
            .set_faults(plan(&world.a().home, before + at, *times, what));
    }
    go_on(&mut world, (kind, issue), after);
    world.sim().set_faults(FaultPlan::none());
    expect_end(&world, issue, after);
    expect_kind(&world, kind);
    Points {
        remote: world.sim().counts().writes - before,
        local: points.reached().len() as u64,
    }
}

fn plan(home: &SimHome, at: u64, times: u64, what: &Remote) -> FaultPlan {
    let home = home.clone();
    match what.clone() {
        Remote::CrashBefore => FaultPlan::ask(move |asked| {
            (asked.write == Some(at)).then(|| {
                home.kill_engine();
                Fault::CutBefore
            })
        }),
        Remote::CrashAfter => FaultPlan::ask(move |asked| {
            (asked.write == Some(at)).then(|| {
                home.kill_engine();
                Fault::CutAfter
            })
        }),
        Remote::Fault(fault) => FaultPlan::from_write(at, times, fault),
        Remote::StaleAfter => FaultPlan::stale_after_write(at, 2),
    }
}

/// Rounds of all homes until the issue is done; a dead engine is followed by another one, and a
/// person resumes what a fault has blocked.
fn go_on(world: &mut World, (kind, issue): (Kind, u64), after: After) {
    let mut other = None;
    for _ in 0..ROUNDS_MAX {
        let a = world.a();
        if a.home.is_dead() && after == After::SameHome {
            a.restart();
        }
        if a.home.is_dead() && after == After::OtherHome && other.is_none() {
            a.dies();
            other = Some(world.add_host("b", ANN));
            world.minutes(32);
        }
        kind.goes_on(world, issue);
        world.cycle(other.as_ref().unwrap_or(&a));
        let now = world.issue(issue);
        // What a machine that died after the very end left behind, it clears away itself.
        let cleared = world.leases().is_empty() && !a.home.is_dead();
        if !now.open && (cleared || after == After::OtherHome) {
            return;
        }
        if now.has_label("status: blocked") && now.has_label("status: idle") {
            continue;
        }
        if now.has_label("status: blocked") {
            kind.is_seen_blocked(world, issue);
            world.resumes(issue);
        }
        world.pass(Duration::from_secs(20));
    }
    panic!("the issue is not done");
}

/// The life was of its kind.
fn expect_kind(world: &World, kind: Kind) {
    match kind {
        Kind::Plain | Kind::Queued => {}
        Kind::RedTwice => {
            let mut prompts = (1..=world.agent.runs(RunKind::Implement))
                .map(|n| world.agent.prompt(RunKind::Implement, n));
            assert!(prompts.any(|prompt| prompt.contains("too few apples")));
        }
        Kind::WithSetup => assert!(world.agent.runs(RunKind::Setup) > 0),
        Kind::WithSimplify => assert!(world.agent.runs(RunKind::Simplify) > 0),
        Kind::BlockedAndResumed => assert!(world.agent.runs(RunKind::Implement) > 1),
        Kind::Asked => {
            let mut prompts = (1..=world.agent.runs(RunKind::Implement))
                .map(|n| world.agent.prompt(RunKind::Implement, n));
            assert!(prompts.any(|prompt| prompt.contains(Kind::ANSWER)));
        }
    }
}

fn expect_end(world: &World, issue: u64, after: After) {
    if after == After::OtherHome && world.a().home.is_dead() {
        // It comes back at last, and clears away what it had.
        world.a().restart();
        world.minutes(61).settle();
    }
    world.settle();
    world.expect_done(issue);
    assert_eq!(world.prs(issue).len(), 1, "one pull request");
    let runs =
        u32::try_from(world.agent.runs(RunKind::Implement) + world.agent.runs(RunKind::Review));
    let counted = world.state(issue).total_agent_runs;
    assert!(
        counted >= runs.unwrap(),
        "{counted} runs are counted of {runs:?}"
    );
}
