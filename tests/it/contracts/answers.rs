//! What the simulated GitHub answers to our documents has exactly the shape that GitHub's schema gives
//! it: nothing missing, nothing null that may not be, nothing that was not asked for.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apollo_compiler::Schema;
use apollo_compiler::validation::Valid;
use ghswarm::adapters::github::{GitHubAdapter, GitHubSettings};
use ghswarm::model::ids::{IssueNumber, RefName, RepoSlug, Sha};
use ghswarm::model::pr::MergeMethod;
use ghswarm::ports::github::{GitHub as _, LookAt};
use ghswarm::sim::github::model::Access;
use ghswarm::sim::github::{Seed, Sim, SimRepo, serve};
use serde_json::json;

use super::recorder::{Asked, Recorder};
use super::{root, shape};
use crate::adapter_github::scripted::TestClock;
use crate::cli::Served;

fn schema() -> Valid<Schema> {
    let text = fs::read_to_string(root().join("tests/contracts/github.graphql")).unwrap();
    let schema = Schema::parse(&text, "github.graphql").unwrap_or_else(|errors| errors.partial);
    Valid::assume_valid(schema)
}

/// Panics with everything that is wrong, each fault once; answers the names of the operations.
fn check(asked: &[Asked]) -> BTreeSet<String> {
    let schema = schema();
    let found: BTreeSet<String> = asked
        .iter()
        .flat_map(|asked| shape::problems(&schema, asked))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
    let name = |asked: &Asked| {
        let mut words = asked
            .query
            .split([' ', '(', '{'])
            .filter(|word| !word.is_empty());
        words.nth(1).unwrap_or_default().to_owned()
    };
    asked.iter().map(name).collect()
}

#[test]
fn every_answer_in_the_life_of_an_issue_has_the_shape_of_its_document() {
    let world = Served::new();
    let url = world.ready["url"].as_str().unwrap().to_owned();
    let recorder = Recorder::before(&url);
    world.configure(&url, &recorder.url);
    // The token goes to the API's own host alone, so git has to take the same way.
    let config = Path::new(world.ready["clone"].as_str().unwrap()).join(".git/config");
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains(&url), "{text}");
    fs::write(&config, text.replace(&url, &recorder.url)).unwrap();
    world.run_to_done();
    for words in [
        &["status"] as &[&str],
        &["cycle"],
        &["explain", "1"],
        &["explain", "99"],
    ] {
        world.run(words);
    }
    let operations = check(&recorder.asked());
    for wanted in ["Look", "Facts", "SwapRefs", "WriteState", "WriteAndClose"] {
        assert!(
            operations.contains(wanted),
            "{wanted} is not in {operations:?}"
        );
    }
}

#[test]
fn every_answer_of_small_pages_has_the_shape_of_its_document() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let sim = Sim::new(dir.path().join("github"));
    let slug: RepoSlug = "acme/widget".parse().unwrap();
    let repo = sim
        .create_repo(&slug, &Seed::Files(&[("README.md", "hello\n")]))
        .unwrap();
    repo.set_access("op", Access::Write);
    let serving = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        serve(&sim, listener).unwrap()
    });
    let recorder = Recorder::before(&serving.url());
    let settings = GitHubSettings {
        api_url: recorder.url.clone(),
        write_spacing: Duration::ZERO,
        ..GitHubSettings::new(slug, sim.token_for("op").into())
    };
    let _inside = runtime.enter();
    let adapter = GitHubAdapter::new(settings, Arc::new(TestClock::default())).unwrap();
    let merged = much_of_everything(&sim, &repo);
    let at = LookAt {
        issue: IssueNumber(1),
        branch: "issue-1".parse().unwrap(),
        base: "main".parse().unwrap(),
        leases: Vec::new(),
        refs: vec![RefName::new("refs/heads/issue-1").unwrap()],
        merge_commit: Some(merged),
    };
    let look = runtime.block_on(adapter.look(&at)).unwrap();
    assert_eq!(look.comments.len(), 3);
    assert_eq!(look.merge_checks.unwrap().checks.len(), 3);
    let lease = RefName::new("refs/heads/issue-1").unwrap();
    runtime.block_on(adapter.read_leases(&[lease])).unwrap();
    let main = "main".parse().unwrap();
    assert!(runtime.block_on(adapter.tip_checks(&main)).is_ok());
    let operations = check(&recorder.asked());
    assert!(operations.contains("Leases"), "{operations:?}");
    assert!(operations.contains("TipChecks"), "{operations:?}");
    let pages = operations.iter().filter(|name| name.ends_with("Page"));
    assert!(pages.count() == 7, "{operations:?}");
}

/// Three of everything that comes in pages, by people and by one who is gone; answers a merge commit.
fn much_of_everything(sim: &Sim, repo: &SimRepo) -> Sha {
    sim.set_page_max(1);
    repo.open_issue("acme", "Do it", "spec", &["status: idle"])
        .unwrap();
    repo.push_commit("op", "other", &[("o.txt", "o")]).unwrap();
    let other = repo.open_pr("op", "Other", "other", "main").unwrap();
    let merged = repo.merge_pr_as("op", other, MergeMethod::Squash).unwrap();
    let head = repo
        .push_commit("op", "issue-1", &[("a.txt", "a")])
        .unwrap();
    repo.push_commit("op", "rival", &[("r.txt", "r")]).unwrap();
    let rival = repo.open_pr("op", "Rival", "rival", "main").unwrap();
    let first = repo.open_pr("op", "First", "issue-1", "main").unwrap();
    repo.close_pr("op", first).unwrap();
    let pr = repo.open_pr("op", "t", "issue-1", "main").unwrap();
    for closing in [rival, pr] {
        repo.edit_body("op", closing, "Closes #1").unwrap();
    }
    for n in 0..3 {
        sim.clock.advance(Duration::from_secs(1));
        let who = ["acme", "eve", "tom"][n];
        repo.comment(who, 1, &format!("c{n}")).unwrap();
        repo.edit_body("acme", 1, &format!("b{n}")).unwrap();
        repo.edit_title("acme", 1, &format!("t{n}")).unwrap();
        repo.review(who, pr, "COMMENTED", "x").unwrap();
        for sha in [head.as_str(), &merged] {
            let check = format!("ci{n}");
            repo.set_check(sha, &check, "completed", Some("success"))
                .unwrap();
        }
    }
    repo.set_status(head.as_str(), "lint", "failure", Some("no"))
        .unwrap();
    repo.set_check(head.as_str(), "slow", "in_progress", None)
        .unwrap();
    repo.assign("op", pr, "op").unwrap();
    sim.delete_user("tom");
    Sha::new(merged).unwrap()
}

#[test]
fn an_answer_of_another_shape_is_found() {
    let query = "query Facts($owner: String!, $name: String!) { repository(owner: $owner, name: $name) \
                 { id nameWithOwner isArchived } viewer { login } }";
    let asked = |answer| Asked {
        query: query.to_owned(),
        variables: json!({}),
        answer: json!({ "data": answer }),
    };
    let right = json!({
        "repository": { "id": "R_1", "nameWithOwner": "a/b", "isArchived": false },
        "viewer": { "login": "ann" }
    });
    assert_eq!(
        shape::problems(&schema(), &asked(right)),
        Vec::<String>::new()
    );
    let wrong = json!({
        "repository": { "id": null, "nameWithOwner": 3, "isArchived": false, "size": 1 }
    });
    let found = shape::problems(&schema(), &asked(wrong));
    assert_eq!(
        found,
        [
            "Facts.repository.size: was not asked for",
            "Facts.repository.id: is null where the schema says `ID!`",
            "Facts.repository.nameWithOwner: 3 is no `String`",
            "Facts.viewer: is missing",
        ]
    );
}
