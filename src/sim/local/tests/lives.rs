//! A small engine on the simulated home, killed at every point of its life.

use super::*;
use crate::model::secrets::Secrets;

/// One step of an engine that only looks at facts. `true`: everything is done.
async fn step(home: &SimHome) -> PortResult<bool> {
    let (folders, git, runs) = (home.folders(), home.git(), home.runs());
    let Some(_guard) = folders.lock(ISSUE)? else {
        panic!("a dead engine holds the lock")
    };
    if folders.claim(ISSUE)?.is_none() {
        return folders.create_claim(&record()).map(|_| false);
    }
    let base = git.fetch_base(&branch("main")).await?;
    let Some(tree) = git.worktree(&place(), &branch("main")).await? else {
        let new = NewWorktree {
            path: place(),
            branch: branch("issue-42"),
            start: base,
        };
        return git.add_worktree(&new).await.map(|()| false);
    };
    let facts = runs.facts(ISSUE)?;
    if facts
        .first()
        .is_none_or(|run| run.status == RunStatus::Reserved)
    {
        return runs.start(&spec(RunKind::Implement)).map(|_| false);
    }
    if tree.dirty {
        return git.commit_all(&place(), "Work").await.map(|_| false);
    }
    let to = RefName::of_branch(&branch("issue-42"));
    let expected = git.fetch_ref(&to).await?;
    if expected.as_ref() == Some(&tree.head) {
        return Ok(true);
    }
    git.push(&Push {
        sha: tree.head,
        to,
        expected,
    })
    .await
    .map(|_| false)
}

/// Steps until done, with a new engine after each death.
async fn carry(home: &SimHome) -> u32 {
    for steps in 0..100 {
        match step(home).await {
            Ok(true) => return steps,
            Ok(false) => {}
            Err(error) => {
                assert_eq!(is_crash(&error), home.is_dead(), "{error}");
                home.restart();
            }
        }
    }
    panic!("it goes in a circle");
}

#[tokio::test]
async fn an_engine_killed_at_every_point_still_carries_one_run_to_one_push() {
    let counted = world(FaultPoints::none());
    carry(&counted.home).await;
    let points = counted.home.faults.reached();
    let expected = [
        LocalOp::CreateClaim,
        LocalOp::AddWorktree,
        LocalOp::ReserveRun,
        LocalOp::StartRun,
        LocalOp::Commit,
        LocalOp::Push,
    ];
    assert_eq!(points, expected);
    for fault in LocalFault::ALL {
        for point in 1..=points.len() as u64 {
            for count in [1, 3] {
                let world = world(FaultPoints::during(point, count, fault));
                carry(&world.home).await;
                assert_eq!(world.home.runs_started(), 1, "{fault:?} at {point}");
                let tip = world.remote_tip("refs/heads/issue-42").unwrap();
                let git = world.home.git();
                let outgoing = git
                    .outgoing(&place(), &branch("main"), &Secrets::new([]))
                    .await
                    .unwrap();
                assert_eq!(outgoing.len(), 1);
                assert_eq!(outgoing[0].sha, tip);
                assert_eq!(outgoing[0].changes[0].path, "a.txt");
                assert!(world.home.git().contains(&place(), &tip).await.unwrap());
            }
        }
    }
}
