//! What an agent gets to know and may do, and what is left of it when the loop ends.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal};

use super::until_so;
use super::world::{Setup, World, body};

/// Variables by which somebody could speak as the operator.
const TOKENS: &[&str] = &["GITHUB_TOKEN", "GH_TOKEN", "GITHUB_ENTERPRISE_TOKEN"];

/// Every file of a folder whose bytes contain the text.
fn files_with(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if fs::read(&path).is_ok_and(|bytes| {
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        }) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn an_agent_has_no_token_and_its_push_goes_nowhere() {
    let world = World::new(&Setup {
        work: "echo done > done.txt\ngit add -A\ngit commit -q -m 'Do it'\n\
               if git push origin HEAD:refs/heads/sneaked; then touch ${0%/*}/pushed; fi\n\
               if git push origin HEAD:main; then touch ${0%/*}/pushed; fi",
        ..Setup::default()
    });
    let issue = world.open_issue("Do it", &body(&world.verify_step()));
    let home = world.home("one");
    world.hold("implement");
    home.cycle();
    let (pid, _) = home.supervisor(issue, "implement");
    let env = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let env = String::from_utf8_lossy(&env).into_owned();
    assert!(
        !env.contains(&home.token),
        "an agent can read its parent's environment"
    );
    world.let_go("implement");
    home.to_done(&world, issue);
    for role in ["implement", "verify", "review"] {
        let env = world.agent_env(role);
        for name in TOKENS {
            assert!(
                !env.lines()
                    .any(|line| line.starts_with(&format!("{name}="))),
                "{role}: {env}"
            );
        }
        assert!(!env.contains(&home.token), "{role}: {env}");
    }
    assert!(!world.dir().join("pushed").exists());
    assert!(world.repo.ref_id("refs/heads/sneaked").unwrap().is_none());
    world.assert_done_once(issue);
}

#[test]
fn a_secret_that_an_agent_prints_is_posted_and_kept_nowhere() {
    const CANARY: &str = "canary-5f2c91d7e0b84a36";
    let world = World::new(&Setup {
        // It fails, so that its last words are shown to people.
        work: "echo \"the key is $MY_API_TOKEN\"; exit 3",
        extra: "    max_retries: 1\n",
        ..Setup::default()
    });
    let issue = world.open_issue("Do it", &body("[]"));
    let home = world.home("one");
    let done = home
        .ghswarm(&["-vv", "cycle", "--wait", "--json"])
        .env("MY_API_TOKEN", CANARY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    let issue = world.issue(issue);
    assert!(!issue.comments.is_empty() && issue.labels.contains(&"status: blocked".to_owned()));
    for text in issue.comments.iter().map(|c| &c.body).chain([&issue.body]) {
        assert!(
            !text.contains(CANARY) && !text.contains(&home.token),
            "{text}"
        );
    }
    assert!(
        !said.contains(CANARY) && !said.contains(&home.token),
        "{said}"
    );
    assert!(!String::from_utf8_lossy(&done.stdout).contains(CANARY));
    // The raw log of the run is the agent's own, readable by the user alone.
    let mut files = files_with(&home.dir, CANARY);
    files.retain(|name| !name.ends_with("/output.log"));
    assert!(files.is_empty(), "{files:?}");
    let files = files_with(&home.dir, &home.token);
    assert!(files.is_empty(), "the token is kept nowhere: {files:?}");
}

/// Ends a loop; answers its exit status.
fn finish_loop(mut engine: std::process::Child, with: Signal) -> Option<i32> {
    let pid = Pid::from_raw(i32::try_from(engine.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, with).unwrap();
    let mut status = None;
    until_so("the loop ends", || {
        status = engine.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap().code()
}

#[test]
fn a_second_loop_of_one_home_refuses() {
    let world = World::new(&Setup::default());
    let home = world.home("one");
    let first = home.start(&["loop"]);
    until_so("the first loop looks around", || world.asked() > 0);
    let second = home.ghswarm(&["loop"]).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(4), "{said}");
    let named = format!("is running (process {})", first.id());
    assert!(said.contains(&named) && said.contains("hint: "), "{said}");
    assert_eq!(finish_loop(first, Signal::TERM), Some(143));
}

#[test]
fn a_loop_ends_at_a_signal_while_its_run_goes_on() {
    let world = World::new(&Setup::default());
    let issue = world.open_issue("Do it", &body("[]"));
    let home = world.home("one");
    world.hold("implement");
    let engine = home.start(&["loop"]);
    world.until_begun("implement", 1);
    assert_eq!(
        finish_loop(engine, Signal::TERM),
        Some(143),
        "{}",
        home.log()
    );
    let (_, folder) = home.supervisor(issue, "implement");
    world.let_go("implement");
    until_so("the run ends by itself", || {
        folder.join("exit.json").exists()
    });
    let engine = home.start(&["loop"]);
    until_so("the loop carries it on", || !world.issue(issue).open);
    assert_eq!(
        finish_loop(engine, Signal::INT),
        Some(130),
        "{}",
        home.log()
    );
    home.cycle_wait();
    world.assert_done_once(issue);
    assert_eq!(world.agent_runs(), ["implement", "review"]);
    world.assert_nothing_runs();
}
