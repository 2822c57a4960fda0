//! Ours and the published program on one backlog at the same time.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::{Hub, can_run_published};
use crate::e2e::{rounds, until_so};

/// Of each kind.
const WORKERS: usize = 4;

/// Ours are faster by far, so each takes two at most and leaves theirs the rest.
const OURS_MAX: usize = 2;

const ISSUES: usize = 12;

/// Rounds at the same time: the published program waits nine seconds before it calls a queue drained.
const AT_ONCE: u64 = 5;

/// All workers: names, and whether they are ours.
fn workers() -> Vec<(String, bool)> {
    let of = |kind: &str, ours| {
        (0..WORKERS)
            .map(move |n| (format!("{kind}-{n}"), ours))
            .collect::<Vec<_>>()
    };
    [of("ours", true), of("theirs", false)].concat()
}

/// A worker takes issues until the queue is drained. What it has won it closes, and keeps the lease.
fn drain(hub: &Hub, (agent, ours): &(String, bool), won: &Mutex<Vec<(u64, String)>>) {
    let most = if *ours { OURS_MAX } else { ISSUES };
    if *ours {
        // Not before theirs are about to write.
        until_so("a commit of theirs", || hub.sim.counts().writes > 0);
    }
    for _ in 0..=most {
        let words = ["next", "--label", "ready"];
        let command = if *ours {
            hub.ours(agent, &words)
        } else {
            hub.theirs(agent, &words)
        };
        let (status, out, err) = Hub::said(command);
        match status {
            0 => {
                let issue = out.trim().parse();
                let issue: u64 = issue.unwrap_or_else(|_| panic!("{agent}: {out:?} {err}"));
                let mut all = won.lock().unwrap();
                all.push((issue, agent.clone()));
                let mine = all.iter().filter(|(_, by)| by == agent).count();
                drop(all);
                hub.repo.close_issue("acme", issue).unwrap();
                if mine == most {
                    return;
                }
            }
            10 => return,
            other => panic!("{agent} ended with {other}: {out} {err}"),
        }
    }
}

/// One backlog, drained; answers how many ours and theirs have won.
fn round(number: u64) -> (usize, usize) {
    let hub = Hub::new();
    let issues: Vec<u64> = (0..ISSUES)
        .map(|n| hub.issue(&format!("Task {n}"), &["ready"]))
        .collect();
    let won = Mutex::new(Vec::new());
    let workers = workers();
    std::thread::scope(|scope| {
        for worker in &workers {
            let (hub, won) = (&hub, &won);
            scope.spawn(move || drain(hub, worker, won));
        }
    });
    let won = won.into_inner().unwrap();
    let winners: BTreeMap<u64, String> = won.iter().cloned().collect();
    assert_eq!(won.len(), ISSUES, "round {number}: not each once: {won:?}");
    for issue in issues {
        let owner = hub.owner(issue);
        assert_eq!(
            owner.as_ref(),
            winners.get(&issue),
            "round {number}: #{issue} was lost: {won:?}"
        );
    }
    let of = |kind: &str| {
        won.iter()
            .filter(|(_, agent)| agent.starts_with(kind))
            .count()
    };
    (of("ours"), of("theirs"))
}

#[test]
fn ours_and_theirs_drain_one_backlog_and_win_every_issue_once() {
    if !can_run_published("ours_and_theirs_drain_one_backlog_and_win_every_issue_once") {
        return;
    }
    let all = rounds(5);
    let mut sums = (0, 0);
    for first in (0..all).step_by(usize::try_from(AT_ONCE).unwrap()) {
        let numbers = first..all.min(first + AT_ONCE);
        std::thread::scope(|scope| {
            let running: Vec<_> = numbers
                .map(|number| scope.spawn(move || round(number)))
                .collect();
            for one in running {
                let (ours, theirs) = one.join().unwrap();
                sums = (sums.0 + ours, sums.1 + theirs);
            }
        });
        eprintln!(
            "{first} rounds and more: ours won {}, theirs {}",
            sums.0, sums.1
        );
    }
    assert!(sums.0 > 0 && sums.1 > 0, "only one kind won: {sums:?}");
}

#[test]
fn of_eight_that_claim_one_issue_one_wins_whichever_program_it_is() {
    if !can_run_published("of_eight_that_claim_one_issue_one_wins_whichever_program_it_is") {
        return;
    }
    let hub = Hub::new();
    for round in 0..rounds(5) {
        let issue = hub.issue(&format!("Round {round}"), &[]);
        let number = issue.to_string();
        let answers: Vec<(String, (i32, String))> = std::thread::scope(|scope| {
            let claim = |(agent, ours): (String, bool)| {
                let (hub, number) = (&hub, &number);
                scope.spawn(move || {
                    let words = ["claim", number.as_str()];
                    let command = if ours {
                        hub.ours(&agent, &words)
                    } else {
                        hub.theirs(&agent, &words)
                    };
                    (agent, Hub::answers(command))
                })
            };
            let all: Vec<_> = workers().into_iter().map(claim).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let (winners, losers): (Vec<_>, Vec<_>) =
            answers.iter().partition(|(_, (status, _))| *status == 0);
        assert_eq!(winners.len(), 1, "round {round}: {answers:?}");
        assert_eq!(winners[0].1.1, "won");
        assert!(
            losers
                .iter()
                .all(|(_, answer)| *answer == (1, String::new())),
            "{answers:?}"
        );
        assert_eq!(hub.owner(issue).as_ref(), Some(&winners[0].0));
    }
}
