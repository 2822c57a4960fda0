//! Pull requests: opening, following pushes, merging, reviews, checks.

use super::super::model::Protection;
use super::super::{Draft, Mergeability};
use super::{Fixture, fixture, look_at, proof};
use crate::model::checks::CheckOutcome;
use crate::model::ids::{BranchName, PrNumber, Sha};
use crate::model::pr::{Mergeable, PrState, PullRequest, ReviewDecision};
use crate::ports::github::{GitHub as _, MergeMethod, MergePr, NewPr};
use crate::ports::{PortResult, Refusal};

fn new_pr(body: &str) -> NewPr {
    NewPr {
        title: "Add b".into(),
        body: body.into(),
        head: BranchName::new("issue-1").unwrap(),
        base: BranchName::new("main").unwrap(),
    }
}

/// An issue, a branch with one commit and a pull request that closes it.
async fn with_pr() -> (Fixture, u64, Sha) {
    let f = fixture();
    let n = f.issue("text");
    let head = f
        .repo
        .push_commit("op", "issue-1", &[("b.txt", "b\n")])
        .unwrap();
    let (pr, url) =
        f.op.open_pr(&proof(), &new_pr(&format!("Closes #{n}")))
            .await
            .unwrap();
    assert_eq!(url, format!("https://github.com/acme/widget/pull/{pr}"));
    (f, pr.0, head)
}

async fn pr(f: &Fixture) -> PullRequest {
    f.look(1).await.prs.pop().unwrap()
}

async fn merge(f: &Fixture, pr: u64, head: &Sha, method: MergeMethod) -> PortResult<Sha> {
    let (title, message) = ("Add b (#2)".into(), "Why.".into());
    let order = MergePr {
        pr: PrNumber(pr),
        head: head.clone(),
        method,
        title,
        message,
    };
    f.op.merge_pr(&proof(), &order).await
}

#[tokio::test]
async fn a_pull_request_follows_pushes_to_its_branch() {
    let (f, n, head) = with_pr().await;
    let seen = pr(&f).await;
    assert_eq!(
        (seen.number.0, &seen.head_sha, seen.state),
        (n, &head, PrState::Open)
    );
    assert_eq!(seen.mergeable, Mergeable::Yes);
    assert_eq!(seen.author.unwrap().login.as_str(), "op");
    let next = f
        .repo
        .push_commit("eve", "issue-1", &[("c.txt", "c\n")])
        .unwrap();
    assert_eq!(pr(&f).await.head_sha, next);
    let linked = f.look(1).await.issue.unwrap().linked_prs;
    assert_eq!(
        (linked.len(), linked[0].number.0),
        (1, n),
        "its body closes the issue"
    );
    let kept = f.repo.ref_id(&format!("refs/pull/{n}/head")).unwrap();
    assert_eq!(kept, Some(next.to_string()));
}

#[tokio::test]
async fn a_second_pull_request_from_the_same_branch_is_refused() {
    let (f, n, _) = with_pr().await;
    let error = f.op.open_pr(&proof(), &new_pr("")).await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::Exists));
    f.repo.close_pr("acme", n).unwrap();
    assert_eq!(pr(&f).await.state, PrState::Closed);
    f.op.open_pr(&proof(), &new_pr("")).await.unwrap();
    assert_eq!(
        f.look(1).await.prs.len(),
        2,
        "newest last, the closed one is still told"
    );
}

#[tokio::test]
async fn a_pull_request_without_new_commits_is_refused() {
    let f = fixture();
    let tip = f.repo.tip().unwrap();
    f.repo
        .force_ref("refs/heads/issue-1", tip.as_deref())
        .unwrap();
    let error = f.op.open_pr(&proof(), &new_pr("")).await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::Invalid));
    assert!(
        error
            .to_string()
            .contains("No commits between main and issue-1"),
        "{error}"
    );
}

#[tokio::test]
async fn a_squash_makes_one_commit_and_closes_the_issue() {
    let (f, n, head) = with_pr().await;
    f.repo
        .push_commit("op", "issue-1", &[("c.txt", "c\n")])
        .unwrap();
    let head2 = pr(&f).await.head_sha;
    assert_eq!(
        merge(&f, n, &head, MergeMethod::Squash)
            .await
            .unwrap_err()
            .refusal(),
        Some(Refusal::Stale),
        "another head than was looked at"
    );
    let sha = merge(&f, n, &head2, MergeMethod::Squash).await.unwrap();
    assert_eq!(f.repo.tip().unwrap(), Some(sha.to_string()));
    assert_eq!(
        f.repo.file("refs/heads/main", "c.txt").unwrap().unwrap(),
        "c\n"
    );
    let commit = super::super::repo_git::commit(&f.repo.path(), sha.as_str())
        .unwrap()
        .unwrap();
    assert_eq!(commit.message, "Add b (#2)\n\nWhy.");
    assert_eq!(commit.parents.len(), 1);
    let look = f.look(1).await;
    assert!(!look.issue.unwrap().open);
    let at = look.at;
    assert_eq!(look.prs[0].state, PrState::Merged { commit: sha, at });
    let again = merge(&f, n, &head2, MergeMethod::Squash).await.unwrap_err();
    assert_eq!(again.refusal(), Some(Refusal::Invalid));
}

#[tokio::test]
async fn a_merge_has_two_parents_and_a_rebase_replays() {
    let (f, n, head) = with_pr().await;
    f.repo
        .push_commit("acme", "main", &[("d.txt", "d\n")])
        .unwrap();
    let sha = merge(&f, n, &head, MergeMethod::Merge).await.unwrap();
    let commit = super::super::repo_git::commit(&f.repo.path(), sha.as_str())
        .unwrap()
        .unwrap();
    assert_eq!(commit.parents[1], head.to_string());

    let (f, n, head) = with_pr().await;
    let base = f
        .repo
        .push_commit("acme", "main", &[("d.txt", "d\n")])
        .unwrap();
    let sha = merge(&f, n, &head, MergeMethod::Rebase).await.unwrap();
    let commit = super::super::repo_git::commit(&f.repo.path(), sha.as_str())
        .unwrap()
        .unwrap();
    assert_eq!(commit.parents, [base.to_string()]);
    assert_ne!(sha, head);
}

#[tokio::test]
async fn a_conflict_and_a_draft_are_not_merged() {
    let (f, n, head) = with_pr().await;
    f.repo.set_draft(n, Draft::Yes);
    let error = merge(&f, n, &head, MergeMethod::Squash).await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::Invalid));
    f.repo.set_draft(n, Draft::No);
    f.repo
        .push_commit("acme", "main", &[("b.txt", "other\n")])
        .unwrap();
    assert_eq!(pr(&f).await.mergeable, Mergeable::Conflicting);
    let error = merge(&f, n, &head, MergeMethod::Squash).await.unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::Invalid));
}

#[tokio::test]
async fn github_may_not_know_yet_whether_it_merges() {
    let (f, n, _) = with_pr().await;
    f.repo.set_mergeability(n, Mergeability::Pending);
    assert_eq!(pr(&f).await.mergeable, Mergeable::Unknown);
    f.repo.set_mergeability(n, Mergeability::Known);
    assert_eq!(pr(&f).await.mergeable, Mergeable::Yes);
}

#[tokio::test]
async fn a_verdict_over_reviews_exists_only_where_the_base_asks_for_approval() {
    let (f, n, head) = with_pr().await;
    f.repo.review("acme", n, "APPROVED", "good").unwrap();
    assert_eq!(pr(&f).await.review_decision, None);
    assert_eq!(pr(&f).await.reviews[0].commit.as_ref(), Some(&head));
    f.repo.set_protection(
        "main",
        Protection {
            approvals: 1,
            ..Protection::default()
        },
    );
    assert_eq!(pr(&f).await.review_decision, Some(ReviewDecision::Approved));
    f.repo.review("acme", n, "CHANGES_REQUESTED", "hm").unwrap();
    assert_eq!(
        pr(&f).await.review_decision,
        Some(ReviewDecision::ChangesRequested)
    );
    assert!(merge(&f, n, &head, MergeMethod::Squash).await.is_err());
    let id = f.repo.prs().unwrap()[0].1.reviews[1].id;
    f.repo.dismiss_review(n, id);
    assert_eq!(
        pr(&f).await.review_decision,
        Some(ReviewDecision::ReviewRequired)
    );
    f.repo.review("eve", n, "APPROVED", "me too").unwrap();
    assert_eq!(
        pr(&f).await.review_decision,
        Some(ReviewDecision::ReviewRequired),
        "eve counts not"
    );
    assert!(
        f.repo.review("op", n, "APPROVED", "").is_err(),
        "nobody approves their own"
    );
    f.repo.review("acme", n, "APPROVED", "").unwrap();
    merge(&f, n, &head, MergeMethod::Squash).await.unwrap();
}

#[tokio::test]
async fn a_merge_queue_takes_no_direct_merge() {
    let (f, n, head) = with_pr().await;
    f.repo.set_protection(
        "main",
        Protection {
            merge_queue: true,
            ..Protection::default()
        },
    );
    assert!(pr(&f).await.merge_queue);
    assert!(merge(&f, n, &head, MergeMethod::Squash).await.is_err());
}

#[tokio::test]
async fn checks_and_statuses_belong_to_the_commit() {
    let (f, _, head) = with_pr().await;
    f.repo
        .set_check(head.as_str(), "ci", "in_progress", None)
        .unwrap();
    f.repo
        .set_status(head.as_str(), "lint", "error", Some("bad"))
        .unwrap();
    let outcomes = |pr: &PullRequest| -> Vec<CheckOutcome> {
        pr.checks.checks.iter().map(|check| check.outcome).collect()
    };
    assert_eq!(
        outcomes(&pr(&f).await),
        [CheckOutcome::Pending, CheckOutcome::Failure]
    );
    f.repo
        .set_check(head.as_str(), "ci", "completed", Some("success"))
        .unwrap();
    f.repo
        .set_status(head.as_str(), "lint", "success", None)
        .unwrap();
    assert_eq!(
        outcomes(&pr(&f).await),
        [CheckOutcome::Success, CheckOutcome::Success]
    );
    f.repo
        .push_commit("op", "issue-1", &[("c.txt", "c\n")])
        .unwrap();
    assert!(
        pr(&f).await.checks.checks.is_empty(),
        "a new head has none yet"
    );
    let mut at = look_at(1);
    at.merge_commit = Some(head);
    assert_eq!(
        f.op.look(&at)
            .await
            .unwrap()
            .merge_checks
            .unwrap()
            .checks
            .len(),
        2
    );
    at.merge_commit = Some(Sha::new("c".repeat(40)).unwrap());
    assert!(f.op.look(&at).await.unwrap().merge_checks.is_none());
}

#[tokio::test]
async fn a_deleted_branch_closes_its_pull_request() {
    let (f, _, head) = with_pr().await;
    f.repo.delete_ref("refs/heads/issue-1").unwrap();
    let seen = pr(&f).await;
    assert_eq!((seen.state, seen.head_sha), (PrState::Closed, head));
}

#[tokio::test]
async fn a_push_of_the_head_to_the_base_counts_as_a_merge() {
    let (f, _, head) = with_pr().await;
    f.repo
        .force_ref("refs/heads/main", Some(head.as_str()))
        .unwrap();
    assert!(matches!(pr(&f).await.state, PrState::Merged { .. }));
}

#[tokio::test]
async fn a_closing_word_in_a_commit_on_the_default_branch_closes_the_issue() {
    let f = fixture();
    let (one, two) = (f.issue("a"), f.issue("b"));
    let words = format!("Tidy\n\nFixes #{one}, see #{two}; closes other/repo#{two}");
    f.repo
        .push_message("acme", "main", &[("x", "y")], &words)
        .unwrap();
    assert!(!f.repo.issue(one).unwrap().open);
    assert!(f.repo.issue(two).unwrap().open);
}

#[tokio::test]
async fn a_fork_can_have_a_branch_of_the_same_name() {
    let (f, own, _) = with_pr().await;
    let fork = f.repo.fork("eve").unwrap();
    let head = fork
        .push_commit("eve", "issue-1", &[("evil.txt", "x\n")])
        .unwrap();
    let n = f
        .repo
        .open_pr("eve", "Mine", "eve:issue-1", "main")
        .unwrap();
    let prs = f.look(1).await.prs;
    assert_eq!(
        prs.iter().map(|pr| pr.number.0).collect::<Vec<_>>(),
        [own, n]
    );
    assert_ne!(prs[0].head_repo, prs[1].head_repo);
    assert_eq!(prs[1].head_sha, head);
    f.repo.merge_pr_as("acme", n, MergeMethod::Squash).unwrap();
    assert_eq!(
        f.repo.file("refs/heads/main", "evil.txt").unwrap().unwrap(),
        "x\n"
    );
}
