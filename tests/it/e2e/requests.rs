//! What ghswarm asks of GitHub, counted.

use std::collections::BTreeMap;

use ghswarm::model::body::{StateBlock, parse};
use ghswarm::sim::github::model::Access;
use ghswarm::sim::github::{Op, RequestRecord};

use super::until_so;
use super::world::{OWNER, Setup, World, body};

/// The whole life of an issue takes no more than this. It may only go down. Three of them are the merge gate's: two
/// for the base's rules, which are kept for an hour, and one for its tip.
const LIFE_MAX: usize = 48;

/// The same where the agent's first try fails its verify step, as in the demo. That one needs 50: after a run it
/// goes on without a listing, while here a cycle of its own does.
const LIFE_WITH_A_FAILED_TRY_MAX: usize = 53;

#[test]
fn an_idle_cycle_is_one_conditional_request_however_many_issues_there_are() {
    let world = World::new(&Setup::default());
    for n in 0..100 {
        let (text, label) = match n % 4 {
            0 => ("no spec at all".to_owned(), None),
            1 => (body("[]"), Some("do-not-dispatch")),
            2 => ("not ours".to_owned(), None),
            _ => (body("[]"), Some("status: completed")),
        };
        let issue = world.open_issue(&format!("Issue {n}"), &text);
        if let Some(label) = label {
            world.repo.add_label(OWNER, issue, label).unwrap();
        }
        if n % 4 == 2 {
            world
                .repo
                .remove_label(OWNER, issue, "status: idle")
                .unwrap();
        }
        if n % 4 == 3 {
            world
                .repo
                .remove_label(OWNER, issue, "status: idle")
                .unwrap();
            world.repo.close_issue(OWNER, issue).unwrap();
        }
    }
    let home = world.home("one");
    let first = home.cycle_wait();
    let blocked = world.count(0, &[Op::CreateComment]);
    println!(
        "first look at 100 issues: {} requests, {blocked} comments",
        world.asked()
    );
    assert_eq!(first.status, Some(1), "25 are blocked: {first:#?}");
    // GitHub's times are whole seconds: what changed within the second of a look is looked at again, so
    // the home comes to rest once a second has passed since its own last write.
    until_so("a cycle asks only once", || {
        let before = world.asked();
        home.cycle();
        world.asked() == before + 1
    });
    for _ in 0..2 {
        let before = world.asked();
        home.cycle();
        let asked = world.sim.requests().split_off(before);
        assert_eq!(asked.len(), 1, "{asked:#?}");
        assert_eq!((asked[0].op, asked[0].status), (Op::ListIssues, 304));
    }
}

#[test]
fn the_whole_life_of_an_issue_takes_few_requests() {
    let asked = life(Setup::default().work, "\"true\"", 3);
    assert!(asked <= LIFE_MAX, "{asked} requests");
}

#[test]
fn a_life_with_a_failed_try_takes_few_requests() {
    let work = "if [ -e first ]; then echo > second; fi; echo > first\ngit add -A\ngit commit -q -m 'Do it'";
    let asked = life(work, "\"test -e second\"", 5);
    assert!(asked <= LIFE_WITH_A_FAILED_TRY_MAX, "{asked} requests");
}

/// Carries an issue through so many runs to its end; answers how many API requests that took.
fn life(work: &'static str, verify: &str, runs: usize) -> usize {
    let world = World::new(&Setup {
        ci: None,
        work,
        ..Setup::default()
    });
    world.repo.set_access("rita", Access::Write);
    let issue = world.open_issue("Do it", &body(verify));
    let home = world.home("one");
    // One cycle each time that something has happened, so that the number does not hang on the pace.
    for runs in 1..=runs {
        assert_eq!(home.cycle().outcome(issue), "running");
        until_so("the run has ended", || {
            let folders = home.run_folders(issue);
            let ended = folders
                .iter()
                .filter(|folder| folder.join("exit.json").exists());
            ended.count() == runs
        });
    }
    assert_eq!(home.cycle().outcome(issue), "waiting");
    let (pr, facts) = world.repo.prs().unwrap().remove(0);
    let green = |sha: &str| {
        let success = ("completed", Some("success"));
        world
            .repo
            .set_check(sha, "ci", success.0, success.1)
            .unwrap();
    };
    green(&facts.head_sha);
    world
        .repo
        .review("rita", pr.number, "APPROVED", "")
        .unwrap();
    home.cycle();
    green(&world.repo.tip().unwrap().unwrap());
    home.cycle().assert_done(issue);
    world.assert_done_once(issue);
    let all = world.sim.requests();
    let api: Vec<&RequestRecord> = all
        .iter()
        .filter(|r| !matches!(r.op, Op::GitFetch | Op::GitPush))
        .collect();
    println!("{}", table(&phases(&world, issue, &api)));
    let git = all.len() - api.len();
    println!("in all {} requests, and {git} of git", api.len());
    api.len()
}

type Counts = BTreeMap<(usize, String), BTreeMap<String, usize>>;

/// The requests by the phase that the state block had when they came.
fn phases(world: &World, issue: u64, api: &[&RequestRecord]) -> Counts {
    let issue = world.issue(issue);
    // GitHub's times are whole seconds, so the writes of the body lead from phase to phase.
    let (mut edits, mut phase) = (issue.edits.iter().skip(1), (0, "start".to_owned()));
    let mut counts = Counts::new();
    for request in api {
        let row = counts.entry(phase.clone()).or_default();
        *row.entry(format!("{:?}", request.op)).or_default() += 1;
        if request.op == Op::UpdateIssue
            && let Some(edit) = edits.next()
            && let Some(text) = &edit.text
            && let StateBlock::Found { state, .. } = parse(text).state
            && state.phase != phase.1
        {
            phase = (phase.0 + 1, state.phase);
        }
    }
    counts
}

fn table(counts: &Counts) -> String {
    let rows = counts.iter().map(|((_, phase), row)| {
        let total: usize = row.values().sum();
        let parts: Vec<String> = row.iter().map(|(op, n)| format!("{op} {n}")).collect();
        format!("{phase:<14} {total:>3}  {}", parts.join(", "))
    });
    rows.collect::<Vec<_>>().join("\n")
}
