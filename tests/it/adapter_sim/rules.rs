//! What a base branch asks for, and how its tip stands.

use ghswarm::model::checks::{CheckOutcome, Job};
use ghswarm::model::ids::BranchName;
use ghswarm::model::rules::RequiredCheck;
use ghswarm::ports::github::GitHub;
use ghswarm::sim::github::model::{ACTIONS, Protection};

use super::*;

fn main_branch() -> BranchName {
    BranchName::new("main").unwrap()
}

#[tokio::test]
async fn rulesets_and_branch_protection_are_read_together_page_by_page() {
    let w = world().await;
    w.sim.set_page_max(1);
    let rules = w.far.base_rules(&main_branch()).await.unwrap();
    assert!(rules.required.is_empty());
    w.repo.set_ruleset(
        "main",
        Protection {
            merge_queue: true,
            required: vec![
                ("test".to_owned(), None),
                ("lint".to_owned(), Some(ACTIONS)),
                ("docs".to_owned(), None),
            ],
            ..Protection::default()
        },
    );
    w.repo
        .set_protection("main", Protection::requiring(&["test", "deploy"]));
    let rules = w.far.base_rules(&main_branch()).await.unwrap();
    let wanted = |name: &str, app| RequiredCheck {
        name: name.to_owned(),
        app,
    };
    let all = [
        wanted("deploy", None),
        wanted("docs", None),
        wanted("lint", Some(ACTIONS)),
        wanted("test", None),
    ];
    assert_eq!(rules.required, all);
    assert_eq!(rules, w.near.base_rules(&main_branch()).await.unwrap());
}

#[tokio::test]
async fn rules_that_cannot_be_read_are_an_error_and_no_absence() {
    let w = world().await;
    w.sim
        .set_faults(FaultPlan::next(Op::Rules, 1, Fault::RefuseBefore(403)));
    let refused = w.far.base_rules(&main_branch()).await.unwrap_err();
    assert_eq!(refused.refusal(), Some(Refusal::Forbidden));
    // A server without rulesets has no such page; branch protection is asked all the same.
    w.repo.set_protection("main", Protection::requiring(&["a"]));
    w.sim
        .set_faults(FaultPlan::next(Op::Rules, 1, Fault::RefuseBefore(404)));
    let rules = w.far.base_rules(&main_branch()).await.unwrap();
    assert_eq!(rules.required.len(), 1);
}

#[tokio::test]
async fn the_checks_of_the_tip_are_read_alone() {
    let w = world().await;
    w.sim.set_page_max(1);
    let tip = w.repo.tip().unwrap().unwrap();
    for name in ["one", "two"] {
        w.repo
            .set_check(&tip, name, "completed", Some("failure"))
            .unwrap();
    }
    let far = w.far.tip_checks(&main_branch()).await.unwrap();
    assert_eq!(far.sha.as_str(), tip);
    assert_eq!(far.checks.len(), 2);
    let Some(Job { id, .. }) = far.checks[0].job else {
        panic!("no job behind {far:?}");
    };
    assert!(id > 0 && far.checks[0].app == Some(ACTIONS));
    assert_eq!(far, w.near.tip_checks(&main_branch()).await.unwrap());
}

#[tokio::test]
async fn failed_jobs_run_again_and_their_logs_are_read_without_the_token() {
    let w = world().await;
    let tip = w.repo.tip().unwrap().unwrap();
    let failed = ("completed", Some("failure"));
    w.repo
        .report_check(&tip, "test", failed, "error: it broke\n")
        .unwrap();
    let checks = w.far.tip_checks(&main_branch()).await.unwrap().checks;
    let Job { id, run } = checks[0].job.unwrap();
    // The store of the logs answers 400 to whoever brings a token.
    let log = w.far.job_log(id).await.unwrap();
    assert_eq!(log, "error: it broke\n");
    assert_eq!(log, w.near.job_log(id).await.unwrap());
    let gone = w.far.job_log(id + 1).await.unwrap_err();
    assert_eq!(gone.refusal(), Some(Refusal::NotFound));
    let proof = proof(&Sha::new("c".repeat(40)).unwrap());
    w.far.rerun_failed(&proof, run).await.unwrap();
    let checks = w.far.tip_checks(&main_branch()).await.unwrap().checks;
    assert_eq!(checks[0].outcome, CheckOutcome::Pending);
    let again = w.far.rerun_failed(&proof, run).await.unwrap_err();
    assert_eq!(again.refusal(), Some(Refusal::Forbidden));
}

#[tokio::test]
async fn the_merge_queue_takes_the_head_that_was_looked_at_once() {
    let w = world().await;
    let rules = Protection {
        merge_queue: true,
        ..Protection::default()
    };
    w.repo.set_ruleset("main", rules);
    let head = w.repo.push_commit("op", "issue-1", &[("a", "a")]).unwrap();
    w.repo.open_pr("op", "t", "issue-1", "main").unwrap();
    let pr = w.look(None).await.prs.remove(0);
    assert!(pr.merge_queue && pr.queued.is_none());
    let proof = proof(&head);
    let other = Sha::new("e".repeat(40)).unwrap();
    let moved = w.far.enqueue_pr(&proof, &pr.node_id, &other).await;
    assert!(moved.unwrap_err().refusal().is_some());
    let place = w.far.enqueue_pr(&proof, &pr.node_id, &head).await.unwrap();
    assert_eq!(place, 1);
    assert_eq!(w.look(None).await.prs[0].queued, Some(1));
    let twice = w.far.enqueue_pr(&proof, &pr.node_id, &head).await;
    assert!(twice.unwrap_err().refusal().is_some());
}

#[tokio::test]
async fn a_branch_is_updated_only_from_the_head_that_was_looked_at() {
    let w = world().await;
    let head = w.repo.push_commit("op", "issue-1", &[("a", "a")]).unwrap();
    let pr = w.repo.open_pr("op", "t", "issue-1", "main").unwrap();
    let (pr, proof) = (PrNumber(pr), proof(&head));
    let refusal = |done: Result<(), PortError>| done.unwrap_err().refusal();
    // There is nothing new on the base.
    let done = w.far.update_branch(&proof, pr, &head).await;
    assert_eq!(refusal(done), Some(Refusal::Stale));
    w.repo.push_commit("op", "main", &[("b", "b")]).unwrap();
    let other = Sha::new("e".repeat(40)).unwrap();
    let done = w.far.update_branch(&proof, pr, &other).await;
    assert_eq!(refusal(done), Some(Refusal::Stale));
    w.far.update_branch(&proof, pr, &head).await.unwrap();
    assert_ne!(w.look(None).await.prs[0].head_sha, head);
}
