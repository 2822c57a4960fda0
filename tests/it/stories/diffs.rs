//! What a branch must not change, and what its commits say on the way into the base.

use ghswarm::model::paths::PathPattern;
use ghswarm::model::pr::MergeMethod;
use ghswarm::model::run::RunKind;
use ghswarm::model::state::BlockedReason;
use ghswarm::sim::local::{Act, Performance};

use crate::world::{ANN, CANARY, World, body};

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

/// A world whose reviewer commits this file, when the work was good already.
fn whose_reviewer_commits(file: &str) -> World {
    let world = World::new();
    let work = Performance::success()
        .file(file, "SECRET=1\n")
        .commit("Mend it");
    world.agent.does(RunKind::Review, 1, work);
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
    assert_eq!(world.agent.runs(RunKind::Review), 0, "nobody is paid yet");

    world.resumes(issue).settle();
    world.reads(issue, "diff_refused");
    assert!(world.prs(issue).is_empty(), "an order alone mends nothing");

    world.takes_out(issue, file);
    world.resumes(issue).settle();
    world.reads(issue, "diff_refused");
    assert!(world.prs(issue).is_empty(), "it is in the history still");

    world.rewrites(issue, "Sell apples");
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

/// The story of a message that would close a stranger's issue: said, not pushed, mended, merged.
fn is_refused_until_its_message_is_amended(method: MergeMethod) {
    let (world, issue, strangers) = with_a_strangers_issue(method);
    world.ci_is_green().settle();
    assert_eq!(world.blocked(issue), Some(BlockedReason::DiffRefused));
    let said = world.reads(issue, "diff_refused");
    assert!(said.contains(&format!("Fixes #{strangers}")), "{said}");
    assert!(
        said.contains("line 3") && said.contains("--amend"),
        "{said}"
    );
    assert!(world.prs(issue).is_empty());

    world.rewrites(issue, "Sell apples");
    world.resumes(issue).settle();
    world.expect_done(issue);
    assert!(world.issue(strangers).open, "{}", world.message_of_main());
}

#[test]
fn a_commit_that_would_close_a_strangers_issue_is_not_merged() {
    is_refused_until_its_message_is_amended(MergeMethod::Merge);
}

#[test]
fn a_commit_that_would_close_a_strangers_issue_is_not_rebased() {
    is_refused_until_its_message_is_amended(MergeMethod::Rebase);
}

#[test]
fn a_commit_that_closes_the_issue_it_is_for_is_merged() {
    let world = World::with(|rules| rules.policy.merge_method = MergeMethod::Rebase);
    let work = Performance::success()
        .file("a.txt", "a")
        .commit("Sell apples\n\nFixes: #1, closes ann/shop#1");
    world.agent.does(RunKind::Implement, 1, work);
    let issue = world.opens_issue("Sell apples");
    assert_eq!(issue, 1);
    world.ci_is_green().settle();
    world.expect_done(issue);
}

/// An agent that commits `file` and takes it out again before it ends.
fn whose_agent_takes_it_back(file: &str) -> World {
    let world = whose_agent_commits(file);
    let work = Performance::success()
        .file("apples.txt", "apples\n")
        .file(file, "SECRET=1\n")
        .commit("Sell apples")
        .act(Act::File {
            path: file.to_owned(),
            text: None,
        })
        .commit("Take it out");
    world.agent.does(RunKind::Implement, 1, work);
    world
}

#[test]
fn a_file_that_was_committed_and_taken_out_again_does_not_leave_with_the_history() {
    for file in [WORKFLOW, "web/.env"] {
        let world = whose_agent_takes_it_back(file);
        let issue = world.opens_issue("Sell apples");
        world.ci_is_green().settle();
        assert_eq!(world.blocked(issue), Some(BlockedReason::DiffRefused));
        let said = world.reads(issue, "diff_refused");
        assert!(said.contains(file), "{said}");
        assert!(said.contains("git reset --soft"), "{said}");
        let refs: Vec<String> = world.repo.refs().unwrap().into_keys().collect();
        assert_eq!(refs, ["refs/heads/main"], "nothing of it is on GitHub");

        world.rewrites(issue, "Sell apples");
        world.resumes(issue).settle();
        world.expect_done(issue);
        let merged = |name: &str| world.repo.file("refs/heads/main", name).unwrap();
        assert!(merged("apples.txt").is_some() && merged(file).is_none());
    }
}

#[test]
fn what_a_person_mended_is_verified_before_it_is_pushed_and_no_agent_is_paid_for_it() {
    let world = whose_reviewer_commits("web/.env");
    let issue = world.opens_issue("Sell apples");
    world.ci_is_green().settle();
    world.reads(issue, "diff_refused");
    let before = (
        world.agent.runs(RunKind::Verify),
        world.agent.runs(RunKind::Review),
    );

    world.takes_out(issue, "web/.env");
    world.rewrites(issue, "Sell apples");
    world.resumes(issue).settle();
    world.expect_done(issue);
    assert_eq!(world.agent.runs(RunKind::Verify), before.0 + 1);
    assert_eq!(world.agent.runs(RunKind::Review), before.1);
    assert_eq!(world.agent.runs(RunKind::Implement), 1);
}

#[test]
fn what_a_person_broke_while_mending_goes_back_to_the_agent_and_not_to_github() {
    let world = whose_reviewer_commits("web/.env");
    let broken = Performance::failure(1).print("error: no apples");
    world.agent.does(RunKind::Verify, 3, broken);
    let issue = world.opens_issue("Sell apples");
    world.ci_is_green().settle();
    world.reads(issue, "diff_refused");

    world.takes_out(issue, "web/.env");
    world.rewrites(issue, "Sell apples");
    world.resumes(issue).settle();
    world.expect_done(issue);
    assert_eq!(world.agent.runs(RunKind::Implement), 2);
    let prompt = world.agent.prompt(RunKind::Implement, 2);
    assert!(prompt.contains("error: no apples"), "{prompt}");
}

#[test]
fn a_secret_in_a_file_or_a_message_is_refused_before_a_review_is_paid_and_not_repeated() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let in_file = Performance::success()
        .file("apples.txt", "apples\n")
        .file("notes.txt", &format!("one\ntoken = {CANARY}\n"))
        .commit("Sell apples");
    let in_message = Performance::success()
        .file("apples.txt", "apples\n")
        .file("notes.txt", "one\n")
        .commit(&format!("Sell apples\n\nwith {token}"));
    for (work, place) in [
        (in_file, "line 2 of `notes.txt`"),
        (in_message, "its message"),
    ] {
        let world = World::new();
        world.agent.does(RunKind::Implement, 1, work);
        let issue = world.opens_issue("Sell apples");
        world.ci_is_green().settle();
        assert_eq!(world.blocked(issue), Some(BlockedReason::DiffRefused));
        let said = world.reads(issue, "diff_refused");
        assert!(said.contains(place), "{said}");
        assert!(!said.contains(CANARY) && !said.contains(&token), "{said}");
        let refs: Vec<String> = world.repo.refs().unwrap().into_keys().collect();
        assert_eq!(refs, ["refs/heads/main"], "nothing of it is on GitHub");
        assert_eq!(world.agent.runs(RunKind::Review), 0);

        world.takes_out(issue, "notes.txt");
        world.rewrites(issue, "Sell apples");
        world.resumes(issue).settle();
        world.expect_done(issue);
        assert_eq!(world.agent.runs(RunKind::Implement), 1);
    }
}
