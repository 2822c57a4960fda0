//! One life of an issue in which somebody meddles once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ghswarm::decide::Order;
use ghswarm::engine::step::HowFar;
use ghswarm::model::state::BlockedReason;
use ghswarm::sim::local::{FaultPoints, SimClock};

use crate::world::{ANN, Deed, Ending, FILE, Host, Moment, Passed, TASK, WORDS, World, body};

/// Who meddles.
#[derive(Debug, Clone, Copy)]
pub(super) enum Actor {
    /// Another home takes one whole step.
    OtherHome,
    /// This machine stands still for longer than its lease is good, and another home steps.
    StandStill,
    /// A person does something.
    Person(Deed),
}

/// When, by its number from 1.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    AfterLook(u64),
    BeforeWrite(u64),
    BeforeLocalWrite(u64),
}

/// How many places there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub(super) looks: u64,
    pub(super) writes: u64,
    pub(super) local: u64,
}

/// The places of a life that nobody disturbs.
pub(super) fn places() -> Places {
    static PLACES: OnceLock<Places> = OnceLock::new();
    *PLACES.get_or_init(|| {
        let points = FaultPoints::none();
        let mut world = World::failing(points.clone(), |_| {});
        world.add_host("b", ANN);
        let issue = begins(&world);
        alone(&world, issue, || false);
        let Passed { looks, writes } = world.a().door.passed();
        Places {
            looks,
            writes,
            local: points.reached().len() as u64,
        }
    })
}

fn begins(world: &World) -> u64 {
    let issue = world.opens(ANN, "Sell apples", &body(&["apples"]));
    // Whatever comes of it, what is said about it need not be read here.
    world.reads_everything();
    world.ci_is_green();
    issue
}

/// Cycles of the first home until something has happened, or the issue is closed.
fn alone(world: &World, issue: u64, happened: impl Fn() -> bool) {
    for _ in 0..12 {
        if happened() || !world.issue(issue).open {
            return;
        }
        world.cycle(&world.a());
        world.pass(Duration::from_secs(20));
    }
}

type Meddler = Box<dyn FnOnce() + Send>;

/// What happens before the nth local write; it is set when the world is there.
#[derive(Clone, Default)]
struct Locally(Arc<Mutex<Option<(u64, Meddler)>>>);

impl Locally {
    fn points(&self) -> FaultPoints {
        let planned = Arc::clone(&self.0);
        FaultPoints::ask(move |nth, _| {
            let mut planned = planned.lock().unwrap();
            if planned.as_ref().is_some_and(|(at, _)| *at == nth) {
                let meddler = planned.take();
                drop(planned);
                meddler.unwrap().1();
            }
            None
        })
    }
}

/// Lives a whole life; panics if it does not end well.
pub(super) fn live(actor: Actor, place: Place) {
    let locally = Locally::default();
    let mut world = World::failing(locally.points(), |_| {});
    let other = world.add_host("b", ANN);
    let issue = begins(&world);
    world.laws.tell(format!("{actor:?} {place:?}"));
    let happened = Arc::new(AtomicBool::new(false));
    let meddler = meddler(&world, issue, actor, other);
    let told = Arc::clone(&happened);
    let meddler: Meddler = Box::new(move || {
        told.store(true, Ordering::Relaxed);
        meddler();
    });
    match place {
        Place::AfterLook(n) => world.a().door.at(Moment::AfterLook(n), meddler),
        Place::BeforeWrite(n) => world.a().door.at(Moment::BeforeWrite(n), meddler),
        Place::BeforeLocalWrite(n) => *locally.0.lock().unwrap() = Some((n, meddler)),
    }
    alone(&world, issue, || happened.load(Ordering::Relaxed));
    assert!(
        happened.load(Ordering::Relaxed),
        "{place:?} was not reached"
    );
    let endings = ends(&world, issue);
    expect(&world, issue, actor, &endings);
}

fn meddler(world: &World, issue: u64, actor: Actor, other: Arc<Host>) -> Meddler {
    let person = world.person();
    let clock = world.clock.clone();
    match actor {
        Actor::Person(deed) => Box::new(move || person.does(deed, issue)),
        Actor::OtherHome => Box::new(move || steps(&other, issue)),
        Actor::StandStill => Box::new(move || {
            stands_still(&clock);
            steps(&other, issue);
        }),
    }
}

fn stands_still(clock: &SimClock) {
    clock.advance(Duration::from_secs(40 * 60));
}

/// A step in the middle of another engine's: on a thread, since the present one is busy with that.
fn steps(host: &Host, issue: u64) {
    std::thread::scope(|scope| {
        let step = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            runtime.block_on(host.advance(issue, &Order::default(), HowFar::UntilItWaits));
        });
        step.join().unwrap();
    });
}

/// The world comes to rest; people let go on what waits for them, and so on until the end.
fn ends(world: &World, issue: u64) -> Vec<Ending> {
    let mut endings = Vec::new();
    for _ in 0..6 {
        world.comes_to_rest();
        let ending = world.ending(issue);
        endings.push(ending.clone());
        match &ending {
            Ending::Done => return endings,
            Ending::Stopped(code) if is_final(code) => return endings,
            // The person's commit and ours are apart: they have to be brought together by hand.
            Ending::Blocked(BlockedReason::PushRefused) if endings.len() > 1 => return endings,
            Ending::Waits(_) => panic!("it is at no end: {endings:?}"),
            Ending::Blocked(_) | Ending::Stopped(_) => world.is_let_go_on(issue, &ending),
        }
        world.expect_released(issue);
    }
    panic!("it does not end: {endings:?}");
}

fn is_final(code: &str) -> bool {
    matches!(code, "issue_closed" | "completed_by_person")
}

fn expect(world: &World, issue: u64, actor: Actor, endings: &[Ending]) {
    let done = endings.last() == Some(&Ending::Done);
    let Actor::Person(deed) = actor else {
        assert_eq!(endings, [Ending::Done], "{}", world.trace());
        world.expect_done(issue);
        return;
    };
    for ending in endings {
        let late = world.is_merged(issue) && *ending == Ending::Stopped("issue_closed".to_owned());
        assert!(
            late || may_end(deed, ending),
            "{endings:?}\n{}",
            world.trace()
        );
    }
    if !done {
        world.expect_released(issue);
    } else if matches!(deed, Deed::Pushes | Deed::Blocks) {
        world.expect_over(issue);
    } else {
        world.expect_done(issue);
    }
    assert!(world.prs(issue).len() <= 2);
    if deed != Deed::ClosesPr {
        assert!(world.prs(issue).len() <= 1, "{}", world.trace());
    }
    let conflict = endings.contains(&Ending::Blocked(BlockedReason::EditConflict));
    match deed {
        Deed::Prose => assert!(conflict || world.issue(issue).body.contains(WORDS)),
        Deed::AddsTask => assert!(conflict || world.issue(issue).body.contains(&TASK[6..])),
        Deed::Pushes => expect_file_kept(world),
        _ => {}
    }
    if conflict {
        expect_the_loss_is_said(world, issue);
    }
}

/// What may come of it besides a good end.
fn may_end(deed: Deed, ending: &Ending) -> bool {
    let (reasons, codes): (&[BlockedReason], &[&str]) = match deed {
        Deed::Prose | Deed::AddsTask => (&[BlockedReason::EditConflict], &[]),
        Deed::Ticks => (&[BlockedReason::EditConflict, BlockedReason::NoTasks], &[]),
        Deed::Pushes => (&[BlockedReason::PushRefused], &[]),
        Deed::Blocks => (&[BlockedReason::ByPerson], &["blocked_by_person"]),
        Deed::Holds => (&[], &["on_hold"]),
        Deed::Completes => (&[], &["completed_by_person"]),
        Deed::Unlabels => (&[], &["not_managed"]),
        Deed::Closes => (&[], &["issue_closed"]),
        Deed::ClosesPr => (&[BlockedReason::PrClosed, BlockedReason::MergeRefused], &[]),
        Deed::Merges => (&[], &[]),
    };
    match ending {
        Ending::Done => true,
        Ending::Blocked(reason) => reasons.contains(reason),
        Ending::Stopped(code) => codes.contains(&code.as_str()),
        Ending::Waits(_) => false,
    }
}

/// Some ref still has what was pushed by hand.
fn expect_file_kept(world: &World) {
    let refs = world.repo.refs().unwrap();
    let kept = refs
        .keys()
        .any(|name| world.repo.file(name, FILE).unwrap().is_some());
    assert!(kept, "a person's commit is lost\n{}", world.trace());
}

fn expect_the_loss_is_said(world: &World, issue: u64) {
    let comments = world.issue(issue).comments;
    let said = comments
        .iter()
        .any(|c| c.body.contains("edit_conflict") && c.body.contains("@bob"));
    assert!(said, "nobody said whose edit was lost\n{}", world.trace());
}
