//! CI and the reviewer.

use std::time::Duration;

use super::super::{Actors, ActorsConfig};
use super::{Fixture, fixture};
use crate::ports::github::MergeMethod;

/// Waits until a check of this commit is completed; answers its conclusion and output.
#[expect(clippy::disallowed_methods, reason = "the actors live by real time")]
fn verdict(f: &Fixture, sha: &str) -> (String, String) {
    for _ in 0..400 {
        let checks = f.repo.snapshot().unwrap().checks;
        let done = checks
            .iter()
            .find(|check| check.sha == sha && check.conclusion.is_some());
        if let Some(check) = done {
            return (check.conclusion.clone().unwrap(), check.output.clone());
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    panic!("no verdict on {sha}")
}

#[expect(clippy::disallowed_methods, reason = "the actors live by real time")]
fn approval(f: &Fixture) -> String {
    for _ in 0..400 {
        if let Some(review) = f.repo.prs().unwrap()[0].1.reviews.last() {
            return review.commit.clone();
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    panic!("no approval")
}

#[test]
fn ci_runs_on_heads_and_on_the_merge_and_the_reviewer_approves_what_is_green() {
    let f = fixture();
    let config = ActorsConfig {
        ci_command: Some("cat b.txt && test -f good.txt".into()),
        reviewer: Some("rita".into()),
        ..ActorsConfig::default()
    };
    let actors = Actors::start(&f.repo, &config).unwrap();
    let red = f
        .repo
        .push_commit("op", "issue-1", &[("b.txt", "bee\n")])
        .unwrap();
    let n = f.repo.open_pr("op", "PR", "issue-1", "main").unwrap();
    assert_eq!(
        verdict(&f, red.as_str()),
        ("failure".into(), "bee\n".into())
    );
    // Somebody has the failed job run again.
    let name = f.repo.snapshot().unwrap().checks[0].name.clone();
    f.repo
        .set_check(red.as_str(), &name, "queued", None)
        .unwrap();
    assert_eq!(verdict(&f, red.as_str()).0, "failure");
    let green = f
        .repo
        .push_commit("op", "issue-1", &[("good.txt", "")])
        .unwrap();
    assert_eq!(verdict(&f, green.as_str()).0, "success");
    assert_eq!(approval(&f), green.as_str());
    let merged = f.repo.merge_pr_as("acme", n, MergeMethod::Squash).unwrap();
    assert_eq!(verdict(&f, &merged).0, "success");
    actors.stop();
    let tested = f.repo.snapshot().unwrap().checks.len();
    assert_eq!(tested, 3, "the base's first tip was not tested");
}

#[test]
fn stopping_kills_what_ci_runs() {
    let f = fixture();
    let config = ActorsConfig {
        ci_command: Some("sleep 600".into()),
        ..ActorsConfig::default()
    };
    let actors = Actors::start(&f.repo, &config).unwrap();
    f.repo
        .push_commit("op", "main", &[("b.txt", "b\n")])
        .unwrap();
    actors.stop();
}
