//! Every write of every command fails once in every way, and then the same command, a sweep or a cycle of
//! that home comes next: either the claim stands whole, or nothing of it is left.

use ghswarm::engine::claims::{DryRun, SweptHow};
use ghswarm::ports::PortResult;
use ghswarm::sim::github::{Fault, FaultPlan};
use ghswarm::sim::local::{FaultPoints, LocalFault, SimHome};

use super::*;

/// What a person does, from a fresh world on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Claim,
    Reclaim,
    TakeOver,
    TakeOverOwn,
    Bundle,
    Merged,
    Abandoned,
    Blocked,
    BundleMerged,
    Sweep,
}

const DEEDS: [Deed; 10] = [
    Deed::Claim,
    Deed::Reclaim,
    Deed::TakeOver,
    Deed::TakeOverOwn,
    Deed::Bundle,
    Deed::Merged,
    Deed::Abandoned,
    Deed::Blocked,
    Deed::BundleMerged,
    Deed::Sweep,
];

/// Who comes after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Same,
    Sweep,
    Cycle,
}

#[derive(Debug, Clone)]
enum Trouble {
    None,
    CrashBefore(u64),
    CrashAfter(u64),
    Fault(u64, Fault),
    Local(u64, LocalFault),
}

/// The world right before the deed, with the faults armed.
struct Scene {
    world: World,
    a: Arc<Host>,
    lead: u64,
    sibling: u64,
    pr: u64,
}

fn scene(deed: Deed, trouble: &Trouble) -> Scene {
    // Local writes before the deed are counted too, so their number is found out first.
    let local = match trouble {
        Trouble::Local(n, fault) => Some((*n, *fault)),
        _ => None,
    };
    let armed = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let met = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let (arm, count) = (Arc::clone(&armed), Arc::clone(&met));
    let points = FaultPoints::ask(move |_, _| {
        use std::sync::atomic::Ordering::Relaxed;
        if !arm.load(Relaxed) {
            return None;
        }
        let n = count.fetch_add(1, Relaxed) + 1;
        local.filter(|(at, _)| *at == n).map(|(_, fault)| fault)
    });
    let mut world = World::failing(points, |_| {});
    world.reads_everything();
    let b = world.add_host("b", "bob");
    let a = world.a();
    let (lead, sibling) = (plain_issue(&world), plain_issue(&world));
    let with_lead = Wish {
        lead: Some(IssueNumber(lead)),
        ..PLAIN
    };
    let mut pr = 0;
    match deed {
        Deed::Claim => {}
        Deed::Reclaim | Deed::TakeOver | Deed::Sweep => {
            let claimed = world.wins(&b, lead, PLAIN);
            if deed == Deed::Sweep {
                pr = world.opens_pr("bob", lead, claimed.branch.as_str());
                world.edits_pr("bob", pr, "no keyword");
                world.merges("bob", pr);
            }
            if deed != Deed::TakeOver {
                world.minutes(25 * 60);
            }
        }
        Deed::TakeOverOwn | Deed::Bundle | Deed::Abandoned | Deed::Blocked => {
            world.wins(&a, lead, PLAIN);
        }
        Deed::Merged | Deed::BundleMerged => {
            let claimed = world.wins(&a, lead, PLAIN);
            if deed == Deed::BundleMerged {
                world.wins(&a, sibling, with_lead);
            }
            pr = world.opens_pr(ANN, lead, claimed.branch.as_str());
            world.merges(ANN, pr);
        }
    }
    armed.store(true, std::sync::atomic::Ordering::Relaxed);
    let before = world.sim().counts().writes;
    world.sim().set_faults(plan(&a.home, before, trouble));
    Scene {
        world,
        a,
        lead,
        sibling,
        pr,
    }
}

fn plan(home: &SimHome, before: u64, trouble: &Trouble) -> FaultPlan {
    let home = home.clone();
    let crash = |at: u64, fault: Fault| {
        FaultPlan::ask(move |asked| {
            (asked.write == Some(before + at)).then(|| {
                home.kill_engine();
                fault.clone()
            })
        })
    };
    match trouble.clone() {
        Trouble::None | Trouble::Local(..) => FaultPlan::none(),
        Trouble::CrashBefore(at) => crash(at, Fault::CutBefore),
        Trouble::CrashAfter(at) => crash(at, Fault::CutAfter),
        Trouble::Fault(at, fault) => FaultPlan::from_write(before + at, 1, fault),
    }
}

impl Scene {
    fn act(&self, deed: Deed) -> PortResult<()> {
        let Self { world, a, .. } = self;
        let lead = Some(IssueNumber(self.lead));
        match deed {
            Deed::Claim | Deed::Reclaim => world.claim(a, self.lead, PLAIN).map(drop),
            Deed::TakeOver | Deed::TakeOverOwn => world.claim(a, self.lead, ORDERED).map(drop),
            Deed::Bundle => world
                .claim(a, self.sibling, Wish { lead, ..PLAIN })
                .map(drop),
            Deed::Merged | Deed::BundleMerged => {
                world.release(a, self.lead, &merged(self.pr)).map(drop)
            }
            Deed::Abandoned => world.release(a, self.lead, &abandoned()).map(drop),
            Deed::Blocked => world.release(a, self.lead, &blocked()).map(drop),
            Deed::Sweep => {
                let engine = a.engine();
                world
                    .wait(engine.sweep_by_hand(a.port(), DryRun::No))
                    .map(drop)
            }
        }
    }

    /// What has to be once the deed is done.
    #[track_caller]
    fn expect_done(&self, deed: Deed) {
        let Self { world, a, lead, .. } = self;
        match deed {
            Deed::Claim | Deed::Reclaim | Deed::TakeOver | Deed::TakeOverOwn => {
                world.expect_claimed(a, *lead);
                assert_eq!(world.issue(*lead).assignees, [ANN]);
            }
            Deed::Bundle => world.expect_claimed(a, self.sibling),
            Deed::Merged | Deed::BundleMerged | Deed::Sweep => {
                self.expect_closed(*lead);
                if deed == Deed::BundleMerged {
                    self.expect_closed(self.sibling);
                }
            }
            Deed::Abandoned => {
                world.expect_free(*lead);
                assert_eq!(world.issue(*lead).assignees, Vec::<String>::new());
            }
            Deed::Blocked => {
                world.expect_free(*lead);
                assert_eq!(world.issue(*lead).assignees, [ANN]);
            }
        }
        let displaced = |words: &str| {
            let comments = world.issue(*lead).comments;
            let said = comments
                .iter()
                .filter(|c| c.body.contains(&format!("\n{words}")))
                .count();
            // An order that is repeated once the claim stands displaces that one.
            let again = matches!(deed, Deed::TakeOver | Deed::TakeOverOwn) && said == 2;
            assert!(said == 1 || again, "{comments:#?}");
        };
        match deed {
            Deed::Reclaim => displaced("Reclaiming stale lock from"),
            Deed::TakeOver | Deed::TakeOverOwn => displaced("Taking over the claim of"),
            Deed::Sweep => displaced("Releasing stale lock held by"),
            _ => {}
        }
        if deed == Deed::TakeOverOwn {
            assert!(!a.home.superseded().is_empty(), "nothing is lost");
        }
    }

    #[track_caller]
    fn expect_closed(&self, issue: u64) {
        let now = self.world.issue(issue);
        assert!(!now.open && !now.has_label("agent-claimed"), "{now:#?}");
        assert_eq!(now.assignees.len(), 1, "the credit stays");
        assert_eq!(self.world.lease_text(issue), None);
        assert_eq!(record(&self.a, issue), None);
        let closing = format!("PR #{} merged", self.pr);
        let said = |c: &&Comment| c.body.contains("Session lock released") && !is_finished(&c.body);
        let comments = now.comments.iter().filter(said).collect::<Vec<_>>();
        assert_eq!(comments.len(), 1, "{now:#?}");
        assert!(comments[0].body.contains(&closing));
    }

    /// Whatever comes next, every issue's claim stands whole or is gone.
    #[track_caller]
    fn expect_whole(&self, deed: Deed) {
        let Self { world, a, .. } = self;
        for issue in [self.lead, self.sibling] {
            let unfinished = record(a, issue).is_some_and(|r| r.stage() != Some(&HandStage::Held));
            assert!(!unfinished, "{:?}", record(a, issue));
            let now = world.issue(issue);
            let lease = world.lease_text(issue);
            if record(a, issue).is_some() {
                world.expect_claimed(a, issue);
                continue;
            }
            let ours = |text: &String| text.contains("home-a");
            assert!(!lease.as_ref().is_some_and(ours), "{lease:?}");
            let held = lease.is_some() || now.assignees.contains(&"bob".to_owned());
            let shown = now.has_label("agent-claimed") && now.open;
            let reclaimed = matches!(deed, Deed::Reclaim | Deed::TakeOver);
            assert!(!shown || held || reclaimed, "{now:#?}");
        }
        world.laws.check();
    }
}

/// The deed with this trouble, and what comes after it.
fn live(deed: Deed, trouble: &Trouble, next: Next) -> (u64, u64) {
    let scene = scene(deed, trouble);
    let Scene { world, a, .. } = &scene;
    world.laws.tell(format!("{deed:?} {trouble:?} {next:?}"));
    let before = world.sim().counts().writes;
    let local = world.points.reached().len() as u64;
    let first = scene.act(deed);
    let points = (
        world.sim().counts().writes - before,
        world.points.reached().len() as u64 - local,
    );
    world.sim().set_faults(FaultPlan::none());
    world.points.stop();
    a.restart();
    match next {
        Next::Same => {
            // A person sees the error and types the same again; a refusal says that it is done already.
            if first.is_err() {
                scene.act(deed).unwrap();
            }
            scene.expect_done(deed);
        }
        Next::Sweep => {
            let engine = a.engine();
            let swept = world
                .wait(engine.sweep_by_hand(a.port(), DryRun::No))
                .unwrap();
            assert!(swept.len() <= 3, "{swept:?}");
            scene.expect_whole(deed);
            let again = world
                .wait(engine.sweep_by_hand(a.port(), DryRun::No))
                .unwrap();
            assert!(
                again.iter().all(|one| one.how != SweptHow::Finished),
                "{again:?}"
            );
        }
        Next::Cycle => {
            world.run_until_waits();
            scene.expect_whole(deed);
        }
    }
    points
}

/// Every write of every deed, each in all of its ways.
fn everywhere(next: Next, troubles: impl Fn(u64, u64) -> Vec<Trouble>) {
    for deed in DEEDS {
        let (remote, local) = live(deed, &Trouble::None, Next::Same);
        assert!(
            remote >= 3 && local >= 1,
            "{deed:?}: {remote} and {local} writes"
        );
        for trouble in troubles(remote, local) {
            live(deed, &trouble, next);
        }
    }
}

fn remote_crashes(remote: u64, _: u64) -> Vec<Trouble> {
    let both = |n| [Trouble::CrashBefore(n), Trouble::CrashAfter(n)];
    (1..=remote).flat_map(both).collect()
}

fn local_crashes(_: u64, local: u64) -> Vec<Trouble> {
    let all =
        |n| [LocalFault::CrashBefore, LocalFault::CrashAfter].map(|fault| Trouble::Local(n, fault));
    (1..=local).flat_map(all).collect()
}

fn lost_answers(remote: u64, _: u64) -> Vec<Trouble> {
    let faults = |n| {
        [Fault::CutBefore, Fault::CutAfter, Fault::RefuseBefore(502)]
            .map(|fault| Trouble::Fault(n, fault))
    };
    (1..=remote).flat_map(faults).collect()
}

#[test]
fn the_same_command_finishes_what_a_crash_at_any_remote_write_cut_off() {
    everywhere(Next::Same, remote_crashes);
}

#[test]
fn the_same_command_finishes_what_a_crash_at_any_local_write_cut_off() {
    everywhere(Next::Same, local_crashes);
}

#[test]
fn lost_answers_and_server_errors_do_nothing_twice() {
    everywhere(Next::Same, lost_answers);
}

#[test]
fn a_sweep_leaves_nothing_half_after_a_crash_at_any_write() {
    everywhere(Next::Sweep, remote_crashes);
    everywhere(Next::Sweep, local_crashes);
}

#[test]
fn a_cycle_leaves_nothing_half_after_a_crash_at_any_write() {
    everywhere(Next::Cycle, remote_crashes);
    everywhere(Next::Cycle, local_crashes);
}
