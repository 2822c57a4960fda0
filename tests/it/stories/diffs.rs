//! What a branch must not change, and what its commits say on the way into the base.

use ghswarm::model::paths::PathPattern;
use ghswarm::model::pr::MergeMethod;
use ghswarm::model::run::RunKind;
use ghswarm::model::state::BlockedReason;
use ghswarm::sim::local::Performance;

use crate::world::{ANN, World, body};

const WORKFLOW: &str = ".github/workflows/x.yml";

/// A world with the usual protection, whose agent commits this file besides its work.
fn whose_agent_commits(file: &str) -> World {
    let world = World::with(|rules| {
        rules.policy.protected_paths = PathPattern::new(".github/workflows/**")
            .into_iter()
            .collect();
    });
    let work = Performance::success()
        .file("apples.txt", "apples\n")
        .file(file, "SECRET=1\n")
        .commit("Sell apples");
    world.agent.does(RunKind::Implement, 1, work);
    world
}

/// The whole story of a refused diff: said, nothing pushed anywhere, mended by hand, gone on from.
fn is_refused_and_goes_on_after_mending(file: &str) {
    let world = whose_agent_commits(file);
    let issue = world.opens_issue("Sell apples");
    world.ci_is_green().settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::DiffRefused));
    assert_eq!(world.status(issue), ["status: blocked"]);
    let said = world.reads(issue, "diff_refused");
    assert!(said.contains(file), "{said}");
    let refs: Vec<String> = world.repo.refs().unwrap().into_keys().collect();
    assert_eq!(refs, ["refs/heads/main"], "nothing of it is on GitHub");
    assert!(world.prs(issue).is_empty());

    world.resumes(issue).settle();
    world.reads(issue, "diff_refused");
    assert!(world.prs(issue).is_empty(), "an order alone mends nothing");

    world.takes_out(issue, file);
    world.resumes(issue).settle();
    world.expect_done(issue);
    let merged = |name: &str| world.repo.file("refs/heads/main", name).unwrap();
    assert_eq!(merged(file), None);
    assert!(merged("apples.txt").is_some());
}

#[test]
fn an_agent_that_edits_a_workflow_is_refused_and_goes_on_after_mending() {
    is_refused_and_goes_on_after_mending(WORKFLOW);
}

#[test]
fn an_agent_that_commits_a_file_of_secrets_is_refused_and_goes_on_after_mending() {
    is_refused_and_goes_on_after_mending("web/.env");
}

#[test]
fn an_example_of_a_file_of_secrets_is_none() {
    let world = whose_agent_commits("web/.env.example");
    let issue = world.opens_issue("Sell apples");
    world.ci_is_green().settle();
    world.expect_done(issue);
}

#[test]
fn the_subject_of_the_squash_is_the_issues_title_and_not_the_agents_words() {
    let world = World::new();
    let work = Performance::success()
        .file("a.txt", "a")
        .commit("WIP: half of it");
    world.agent.does(RunKind::Implement, 1, work);
    let issue = world.opens_issue("Sell apples");
    world.ci_is_green().settle();
    world.expect_done(issue);
    let message = world.message_of_main();
    let pr = world.pr(issue);
    assert_eq!(
        message,
        format!("Sell apples (#{pr})\n\nFor issue {issue}.")
    );
}

/// A stranger's issue, and an agent and a title that claim to close it.
fn with_a_strangers_issue(method: MergeMethod) -> (World, u64, u64) {
    let world = World::with(|rules| rules.policy.merge_method = method);
    let strangers = world.opens_labelled("zoe", ("Leave me open", "Please."), &[]);
    let work = Performance::success()
        .file("a.txt", "a")
        .commit(&format!("Sell apples\n\nFixes #{strangers}"));
    world.agent.does(RunKind::Implement, 1, work);
    let title = format!("Sell apples, closes #{strangers}");
    let tasks = format!("apples, resolves #{strangers}");
    let issue = world.opens(ANN, &title, &body(&[&tasks]));
    (world, issue, strangers)
}

#[test]
fn words_that_would_close_a_strangers_issue_close_nothing_in_a_squash() {
    let (world, issue, strangers) = with_a_strangers_issue(MergeMethod::Squash);
    world.ci_is_green().settle();
    world.expect_done(issue);
    assert!(world.issue(strangers).open, "{}", world.message_of_main());
}

#[test]
fn the_simulated_github_closes_by_the_words_of_a_pull_request_and_of_its_commits() {
    for (body, message) in [("Closes #1", "Work"), ("", "Work\n\nfixes: #1")] {
        let world = World::new();
        let issue = world.opens_labelled("zoe", ("Close me", "Please."), &[]);
        world
            .repo
            .push_message("bob", "bobs", &[("b.txt", "b")], message)
            .unwrap();
        let pr = world.repo.open_pr("bob", "Bob's", "bobs", "main").unwrap();
        world.repo.edit_body("bob", pr, body).unwrap();
        world
            .repo
            .merge_pr_as("bob", pr, MergeMethod::Merge)
            .unwrap();
        assert!(!world.issue(issue).open, "{body}, {message}");
    }
}
