//! A supervisor's hours, in a moment: renewals, freezing, the closed lid, the wait for the collector.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ghswarm::engine::supervise::{Parts, supervise};
use ghswarm::model::ids::Epoch;
use ghswarm::model::run::{Clocks, RunEnd, RunExit, RunSpec};
use ghswarm::ports::clock::Clock;
use ghswarm::ports::processes::Force;
use ghswarm::ports::{PortError, PortResult, Refusal};

use super::Home;
use super::fakes::{LeaseGitHub, lease};
use super::hours::{JumpClock, Plan, Seen};

const MINUTE: Duration = Duration::from_secs(60);

struct Hours {
    clock: Arc<JumpClock>,
    github: Arc<LeaseGitHub>,
    spec: RunSpec,
}

impl Hours {
    /// A run with a lease of half an hour, claimed just now.
    fn new() -> Self {
        let clock = JumpClock::new();
        let github = Arc::new(LeaseGitHub::claimed(Arc::clone(&clock) as _));
        let mut spec = Home::new().spec(&["agent"]);
        spec.worktree = PathBuf::from("/nonexistent");
        let mut lease = lease(30 * MINUTE, MINUTE);
        lease.good_since = Some(clock.boot_time());
        spec.lease = Some(lease);
        spec.clocks = Clocks {
            startup: 3 * MINUTE,
            idle: 10 * MINUTE,
            total: 600 * MINUTE,
            completion_grace: Duration::from_secs(5),
            kill_grace: Duration::from_secs(10),
        };
        Self {
            clock,
            github,
            spec,
        }
    }

    fn plan(&self, ends_after: Duration) -> Plan {
        Plan::new(&self.clock, ends_after)
    }

    /// Something that happens to GitHub.
    fn event(
        &self,
        act: impl FnOnce(&LeaseGitHub) + Send + 'static,
    ) -> impl FnOnce() + Send + 'static {
        let github = Arc::clone(&self.github);
        move || act(&github)
    }

    fn jump(&self, time: Duration) -> impl FnOnce() + Send + 'static {
        let clock = Arc::clone(&self.clock);
        move || clock.jump(time)
    }

    async fn run(&self, plan: &Plan) -> (RunExit, Seen) {
        let exit = self.supervised(plan).await.unwrap();
        let seen = plan.seen().clone();
        assert_eq!(seen.exit.as_ref(), Some(&exit));
        (exit, seen)
    }

    /// The run leaves no result.
    async fn fails(&self, plan: &Plan) -> PortError {
        let error = self.supervised(plan).await.unwrap_err();
        assert_eq!(plan.seen().exit, None);
        error
    }

    async fn supervised(&self, plan: &Plan) -> PortResult<RunExit> {
        let number = Mutex::new(0);
        let nonce = || {
            *number.lock().unwrap() += 1;
            number.lock().unwrap().to_string()
        };
        let parts = Parts {
            processes: plan,
            clock: &*self.clock,
            github: Some(&*self.github),
            nonce: &nonce,
        };
        supervise(&parts, &self.spec).await
    }
}

/// Collects as soon as the run has ended.
fn collect_at_once(plan: &Plan) {
    plan.seen().asked.collected = true;
}

#[tokio::test]
async fn a_short_run_asks_github_nothing() {
    let hours = Hours::new();
    let plan = hours.plan(Duration::from_secs(30));
    collect_at_once(&plan);
    let (exit, _) = hours.run(&plan).await;
    assert!(exit.success(), "{exit:?}");
    assert_eq!(hours.github.world().requests, 0);
}

#[tokio::test]
async fn a_long_run_renews_at_a_third_of_the_ttl_and_is_never_frozen() {
    let hours = Hours::new();
    let plan = hours.plan(65 * MINUTE);
    collect_at_once(&plan);
    let (exit, seen) = hours.run(&plan).await;
    assert!(exit.success(), "{exit:?}");
    assert_eq!(hours.github.world().swaps, 6);
    assert_eq!(seen.forces, []);
    assert_eq!(seen.shown, [] as [bool; 0]);
}

#[tokio::test]
async fn a_lease_of_unknown_age_is_renewed_before_the_first_command() {
    let mut hours = Hours::new();
    hours.spec.lease.as_mut().unwrap().good_since = None;
    let plan = hours.plan(MINUTE / 2);
    collect_at_once(&plan);
    let (exit, _) = hours.run(&plan).await;
    assert!(exit.success(), "{exit:?}");
    assert_eq!(hours.github.world().swaps, 1);
}

#[tokio::test]
async fn a_lease_that_is_lost_before_the_start_starts_nothing() {
    let mut hours = Hours::new();
    hours.spec.lease.as_mut().unwrap().good_since = None;
    hours.github.put("issue-42", "c-theirs", Epoch(2000));
    let (exit, seen) = hours.run(&hours.plan(MINUTE)).await;
    assert_eq!(exit.end, RunEnd::LeaseLost);
    assert_eq!(seen.started, None);
}

#[tokio::test]
async fn a_lost_lease_ends_the_run() {
    let hours = Hours::new();
    let steal = hours.event(|github| github.put("issue-42", "c-theirs", Epoch(2000)));
    let (exit, seen) = hours
        .run(&hours.plan(60 * MINUTE).then(5 * MINUTE, steal))
        .await;
    assert_eq!(exit.end, RunEnd::LeaseLost);
    assert!(exit.note.unwrap().contains("c-theirs"));
    assert_eq!(seen.forces, [Force::Terminate, Force::Thaw]);
    assert!(
        exit.ended_at - exit.started_at < chrono::Duration::minutes(7),
        "looks each minute"
    );
    assert_eq!(hours.github.world().swaps, 0);
}

#[tokio::test]
async fn a_deleted_ref_comes_back_within_minutes_and_the_run_goes_on() {
    let hours = Hours::new();
    let delete = hours.event(|github| github.world().refs.clear());
    let plan = hours.plan(8 * MINUTE).then(2 * MINUTE, delete);
    collect_at_once(&plan);
    let (exit, seen) = hours.run(&plan).await;
    assert!(exit.success(), "{exit:?}");
    assert_eq!(seen.forces, []);
    assert!(hours.github.at("issue-42").is_some());
}

#[tokio::test]
async fn an_outage_longer_than_the_ttl_freezes_the_run_and_then_it_goes_on() {
    let hours = Hours::new();
    let down = hours.event(|github| github.world().unreachable = true);
    let up = hours.event(|github| github.world().unreachable = false);
    let plan = hours
        .plan(90 * MINUTE)
        .then(MINUTE, down)
        .then(45 * MINUTE, up);
    collect_at_once(&plan);
    let (exit, seen) = hours.run(&plan).await;
    assert!(exit.success(), "{exit:?}");
    assert_eq!(seen.shown, [true, false]);
    assert_eq!(seen.forces.first(), Some(&Force::Freeze));
    assert_eq!(seen.forces.last(), Some(&Force::Thaw));
    assert!(!seen.forces.contains(&Force::Terminate));
}

#[tokio::test]
async fn frozen_time_does_not_count_on_the_runs_clocks() {
    let mut hours = Hours::new();
    hours.spec.clocks.total = 70 * MINUTE;
    hours.spec.clocks.idle = 5 * MINUTE;
    let down = hours.event(|github| github.world().unreachable = true);
    let up = hours.event(|github| github.world().unreachable = false);
    let mut plan = hours
        .plan(80 * MINUTE)
        .then(MINUTE, down)
        .then(45 * MINUTE, up);
    plan.prints_every = 4 * MINUTE;
    collect_at_once(&plan);
    hours.spec.clocks.startup = 5 * MINUTE;
    let (exit, _) = hours.run(&plan).await;
    assert!(exit.success(), "{exit:?}");
}

#[tokio::test]
async fn half_an_hour_awake_without_an_answer_ends_the_run() {
    let hours = Hours::new();
    let down = hours.event(|github| github.world().unreachable = true);
    let (exit, seen) = hours
        .run(&hours.plan(600 * MINUTE).then(MINUTE, down))
        .await;
    assert_eq!(exit.end, RunEnd::Stopped);
    assert!(exit.note.unwrap().contains("no route to host"));
    assert_eq!(seen.forces.last(), Some(&Force::Kill));
    assert!(
        !seen.forces.contains(&Force::Thaw),
        "nothing of it runs without the lease"
    );
}

#[tokio::test]
async fn a_night_with_the_lid_closed_ends_nothing_if_nobody_took_over() {
    let mut hours = Hours::new();
    let sleep = hours.jump(500 * MINUTE);
    hours.spec.clocks.total = 30 * MINUTE;
    let mut plan = hours.plan(520 * MINUTE).then(5 * MINUTE, sleep);
    plan.prints_every = MINUTE;
    collect_at_once(&plan);
    let (exit, seen) = hours.run(&plan).await;
    assert!(exit.success(), "{exit:?}");
    assert_eq!(
        seen.forces.first(),
        Some(&Force::Freeze),
        "verified before it went on"
    );
}

#[tokio::test]
async fn a_holder_that_was_frozen_past_its_ttl_and_lost_the_lease_has_no_success() {
    let hours = Hours::new();
    let github = Arc::clone(&hours.github);
    let jump = hours.jump(60 * MINUTE);
    let taken = move || {
        github.put("issue-42", "c-theirs", Epoch(9000));
        jump();
    };
    // The command has exited with success by the time the supervisor wakes.
    let plan = hours.plan(20 * MINUTE).then(5 * MINUTE, taken);
    let (exit, _) = hours.run(&plan).await;
    assert_eq!(exit.end, RunEnd::LeaseLost, "{exit:?}");
    assert_eq!(hours.github.world().swaps, 0);
}

#[tokio::test]
async fn a_finished_run_keeps_its_lease_until_it_is_collected_but_not_for_ever() {
    let hours = Hours::new();
    let (exit, _) = hours.run(&hours.plan(MINUTE)).await;
    assert!(exit.success(), "{exit:?}");
    let held = hours.clock.boot_time().saturating_sub(JumpClock::BEGIN);
    assert!((120 * MINUTE..125 * MINUTE).contains(&held), "{held:?}");
    assert_eq!(hours.github.world().swaps, 12);
}

#[tokio::test]
async fn a_finished_run_lets_a_released_lease_go() {
    let hours = Hours::new();
    let release = hours.event(|github| github.world().refs.clear());
    let (exit, _) = hours
        .run(&hours.plan(MINUTE).then(4 * MINUTE, release))
        .await;
    assert!(exit.success(), "{exit:?}");
    assert!(hours.github.world().refs.is_empty());
    assert!(hours.clock.boot_time() < JumpClock::BEGIN + 10 * MINUTE);
}

#[tokio::test]
async fn a_full_disk_at_the_end_is_waited_out_with_the_lease_kept() {
    let hours = Hours::new();
    let mut plan = hours.plan(5 * MINUTE);
    plan.full_until = 65 * MINUTE;
    let (exit, seen) = hours.run(&plan).await;
    assert!(exit.success() && exit.note.is_none(), "{exit:?}");
    assert_eq!(seen.exit, Some(exit), "it was written in the end");
    let held = hours.clock.boot_time().saturating_sub(JumpClock::BEGIN);
    assert!(held >= 65 * MINUTE, "{held:?}");
    assert!(
        hours.github.world().swaps >= 6,
        "the lease was renewed meanwhile"
    );
}

#[tokio::test]
async fn a_disk_that_stays_full_is_not_waited_for_for_ever() {
    let hours = Hours::new();
    let mut plan = hours.plan(5 * MINUTE);
    plan.full_until = 6000 * MINUTE;
    let error = hours.fails(&plan).await;
    assert!(error.to_string().contains("the disk is full"), "{error}");
    let held = hours.clock.boot_time().saturating_sub(JumpClock::BEGIN);
    assert!((120 * MINUTE..130 * MINUTE).contains(&held), "{held:?}");
}

#[tokio::test]
async fn a_result_that_nobody_wants_any_more_is_not_waited_for() {
    let hours = Hours::new();
    let steal = hours.event(|github| github.put("issue-42", "c-theirs", Epoch(2000)));
    let mut plan = hours.plan(5 * MINUTE).then(20 * MINUTE, steal);
    plan.full_until = 6000 * MINUTE;
    hours.fails(&plan).await;
    let held = hours.clock.boot_time().saturating_sub(JumpClock::BEGIN);
    assert!(held < 25 * MINUTE, "{held:?}");
}

#[tokio::test]
async fn what_no_room_would_mend_is_not_waited_for() {
    let hours = Hours::new();
    let mut plan = hours.plan(5 * MINUTE);
    plan.broken = Some(PortError::refused(
        "write",
        Refusal::Local,
        "no such folder",
    ));
    hours.fails(&plan).await;
    assert!(hours.clock.boot_time() < JumpClock::BEGIN + 6 * MINUTE);
}
