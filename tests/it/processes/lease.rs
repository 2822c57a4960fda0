//! Freezing and thawing real processes.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use ghswarm::adapters::clock::SystemClock;
use ghswarm::adapters::processes::RunHost;
use ghswarm::engine::supervise::{Parts, supervise};
use ghswarm::model::ids::Epoch;
use ghswarm::model::run::{RunEnd, RunExit, RunSpec, RunStatus};
use ghswarm::ports::clock::Clock;

use super::fakes::{LeaseGitHub, lease};
use super::{Home, gone, until};

/// The stray has left the group and is found by its tag.
const AGENT: &str = "setsid sh -c 'echo $$ > stray; exec sleep 600' > /dev/null 2>&1 & \
                     echo $$ > child; while ! [ -e go ]; do sleep 0.02; done";

struct Leased {
    home: Home,
    github: Arc<LeaseGitHub>,
    supervisor: std::thread::JoinHandle<RunExit>,
}

/// Supervises in a thread of this process, over a GitHub that cannot be reached.
fn start() -> Leased {
    let home = Home::new();
    let mut spec: RunSpec = home.spec(&[AGENT]);
    spec.clocks.kill_grace = Duration::from_millis(300);
    let mut lease = lease(Duration::from_millis(1500), Duration::from_millis(100));
    lease.good_since = Some(SystemClock.boot_time());
    spec.lease = Some(lease);
    let folder = home.runs.run_folder(&spec.key);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("spec.json"), serde_json::to_vec(&spec).unwrap()).unwrap();
    let github = Arc::new(LeaseGitHub::claimed(Arc::new(SystemClock)));
    github.world().unreachable = true;
    let host = RunHost::take(&folder, None, SystemClock.now()).unwrap();
    let world = Arc::clone(&github);
    let supervisor = std::thread::spawn(move || {
        let nonce = || SystemClock.boot_time().as_nanos().to_string();
        let parts = Parts {
            processes: &host,
            clock: &SystemClock,
            github: Some(&*world),
            nonce: &nonce,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(supervise(&parts, host.spec())).unwrap()
    });
    Leased {
        home,
        github,
        supervisor,
    }
}

impl Leased {
    fn wait_frozen(&self, wanted: bool) {
        until("frozen or not", || match self.home.facts().status {
            RunStatus::Running { frozen, .. } => (frozen == wanted).then_some(()),
            RunStatus::Reserved | RunStatus::Ended(_) => None,
        });
    }
}

/// Is the process stopped?
fn stopped(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.trim().starts_with('T')
}

#[test]
fn without_an_answer_group_and_strays_are_frozen_and_go_on_after_it() {
    let run = start();
    let (child, stray) = (run.home.file("child"), run.home.file("stray"));
    run.wait_frozen(true);
    until("both are stopped", || {
        (stopped(&child) && stopped(&stray)).then_some(())
    });
    run.github.world().unreachable = false;
    run.wait_frozen(false);
    until("both go on", || {
        (!stopped(&child) && !stopped(&stray)).then_some(())
    });
    fs::write(run.home.tree().join("go"), "").unwrap();
    let (facts, exit) = run.home.ended();
    assert!(exit.success(), "{exit:?}");
    assert!(
        facts.tail.contains("frozen") && facts.tail.contains("going on"),
        "{}",
        facts.tail
    );
    // The lease is held until the result is collected.
    assert!(!run.supervisor.is_finished());
    ghswarm::ports::runs::Runs::relieve(&run.home.runs, super::ISSUE).unwrap();
    assert_eq!(run.supervisor.join().unwrap(), exit);
}

#[test]
fn a_frozen_run_whose_lease_was_taken_over_is_ended() {
    let run = start();
    let (child, stray) = (run.home.file("child"), run.home.file("stray"));
    run.wait_frozen(true);
    run.github.put("issue-42", "c-theirs", Epoch(2000));
    run.github.world().unreachable = false;
    assert_eq!(run.supervisor.join().unwrap().end, RunEnd::LeaseLost);
    gone(&child);
    gone(&stray);
    assert!(
        run.github
            .at("issue-42")
            .unwrap()
            .1
            .message
            .contains("c-theirs")
    );
}
