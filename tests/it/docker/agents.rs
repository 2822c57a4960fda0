//! Agents in containers, with the real binary: what they see, what comes back, who may be killed.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use super::whole::{assert_cleared, waits};
use super::{docker, docker_quietly, engine_is_there, images};
use crate::e2e::rounds;
use crate::e2e::world::{Home, Setup, World, body, signal};

/// What the worktree has that git ignores.
const SECRET: &str = "    worktree_setup: 'echo KEY=1 > .env'\n";
const FILES: &[(&str, &str)] = &[("README.md", "# small\n"), (".gitignore", ".env\n")];

/// The agent tells what it sees in a file that it commits, leaves another one uncommitted, and plants what
/// git would run.
const WORK: &str = "grep -q 'make the file' \"$prompt\"\n\
     echo done > done-$GHSWARM_ISSUE.txt\n\
     { ls -a; git log --oneline --all; } > seen.txt\n\
     git add done-$GHSWARM_ISSUE.txt seen.txt\n\
     git commit -q -m 'Do it'\n\
     echo later > loose.txt\n\
     git config core.fsmonitor \"$PWD/snare.sh\"\n\
     mkdir -p .git/hooks\n\
     printf '#!/bin/sh\\ntouch /trap\\n' > .git/hooks/post-checkout\n\
     chmod +x .git/hooks/post-checkout";

fn world(work: &'static str) -> Option<World> {
    engine_is_there().then(|| {
        World::new(&Setup {
            files: FILES,
            work,
            extra: SECRET,
            ..Setup::default()
        })
    })
}

/// A home whose agents run in containers of `image`, and tell the test what they do.
fn home(world: &World, image: &str) -> Home {
    let home = world.home("one");
    let dir = world.dir().display();
    let text = fs::read_to_string(&home.config).unwrap();
    let sandbox = format!(
        "      sandbox: {{driver: docker, image: '{image}', pull: never, network: none, \
         volumes: ['{dir}/control:{dir}/control', '{dir}/agent.sh:{dir}/agent.sh:ro']}}\n"
    );
    fs::write(&home.config, text + &sandbox).unwrap();
    home
}

fn merged(world: &World, file: &str) -> String {
    let path = world.repo.path().display().to_string();
    let shown = Command::new("git")
        .args(["--git-dir", &path, "show", &format!("main:{file}")])
        .output()
        .unwrap();
    assert!(shown.status.success(), "{file}: {shown:?}");
    String::from_utf8(shown.stdout).unwrap()
}

fn assert_no_box(home: &Home, issue: u64) {
    for folder in home.run_folders(issue) {
        assert!(!folder.join("box").exists(), "{}", folder.display());
    }
}

#[test]
fn an_agent_in_a_container_sees_a_clone_and_its_work_is_merged() {
    let Some(world) = world(WORK) else { return };
    let issue = world.open_issue("Do it", &body("['test -e loose.txt']"));
    let home = home(&world, images::with_git());
    home.to_done(&world, issue);
    world.assert_done_once(issue);
    assert_eq!(merged(&world, "loose.txt"), "later\n");
    let seen = merged(&world, "seen.txt");
    let names: Vec<&str> = seen.lines().take(6).collect();
    let (git, made) = (".git", format!("done-{issue}.txt"));
    assert_eq!(
        names,
        [".", "..", git, ".gitignore", "README.md", &made],
        "{seen}"
    );
    assert_eq!(
        seen.lines().filter(|line| line.contains(' ')).count(),
        1,
        "{seen}"
    );
    for role in ["implement", "review"] {
        let env = world.agent_env(role);
        assert!(env.contains("GHSWARM_SANDBOX=docker"), "{env}");
        for absent in ["GITHUB_TOKEN", "GHSWARM_HOME", "CARGO"] {
            assert!(!env.contains(absent), "{role}: {absent} in {env}");
        }
    }
    world.assert_nothing_runs();
    assert_cleared(&home);
    assert_no_box(&home, issue);
}

#[test]
fn an_engine_and_a_supervisor_killed_while_an_agent_works_in_its_container_cost_nothing() {
    for round in 0..rounds(4) {
        let Some(world) = world(WORK) else { return };
        let issue = world.open_issue("Do it", &body("['test -e loose.txt']"));
        let home = home(&world, images::with_git());
        let role = if round % 2 == 0 {
            "implement"
        } else {
            "review"
        };
        world.hold(role);
        let mut engine = home.start(&["cycle", "--wait"]);
        world.until_begun(role, 1);
        engine.kill().unwrap();
        engine.wait().unwrap();
        signal(home.supervisor(issue, role).0, Signal::KILL);
        world.let_go(role);
        home.to_done(&world, issue);
        world.assert_done_once(issue);
        assert_eq!(
            world.agent_runs(),
            ["implement", "review"],
            "{}",
            home.log()
        );
        assert_eq!(world.state(issue).total_agent_runs, 2);
        world.assert_nothing_runs();
        assert_cleared(&home);
        assert_no_box(&home, issue);
    }
}

#[test]
fn a_missing_image_of_agents_is_waited_for_and_costs_no_run() {
    let Some(world) = world(WORK) else { return };
    let issue = world.open_issue("Do it", &body("['true']"));
    let image = "ghswarm-test/agent-that-comes:1";
    docker_quietly(&["rmi", image]);
    let home = home(&world, image);
    let said = waits(&home, "");
    assert!(said.contains("`agents.sandbox.image`"), "{said}");
    docker(&["tag", images::with_git(), image]);
    home.to_done(&world, issue);
    docker_quietly(&["rmi", image]);
    world.assert_done_once(issue);
    assert_eq!(world.state(issue).total_agent_runs, 2);
}

#[test]
fn a_question_of_an_agent_in_a_container_is_asked() {
    let Some(world) = world("echo 'which colour?' > .agent_question.md") else {
        return;
    };
    let issue = world.open_issue("Do it", &body("['true']"));
    let home = home(&world, images::with_git());
    let cycled = home.cycle_wait();
    assert_eq!(cycled.outcome(issue), "blocked", "{cycled:#?}");
    let asked = world.issue(issue).comments;
    assert!(
        asked.iter().any(|one| one.body.contains("which colour?")),
        "{asked:#?}"
    );
    assert_no_box(&home, issue);
}

/// A run that takes too long is ended in its container, and what it had done is there for the next one.
#[test]
fn work_of_an_agent_that_took_too_long_is_in_the_worktree() {
    let Some(world) = world(
        "if [ -e half.txt ]; then echo done > whole.txt; git add -A; git commit -q -m 'Do it'; \
         else echo half > half.txt; sleep 600; fi",
    ) else {
        return;
    };
    let issue = world.open_issue("Do it", &body("['test -e whole.txt']"));
    let home = home(&world, images::with_git());
    let text = fs::read_to_string(&home.config).unwrap();
    let short = text.replacen("kill_grace: 200ms", "kill_grace: 200ms, timeout: 3s", 1);
    fs::write(&home.config, short).unwrap();
    home.to_done(&world, issue);
    assert_eq!(merged(&world, "half.txt"), "half\n");
    assert_eq!(world.agent_runs(), ["implement", "implement", "review"]);
    world.assert_nothing_runs();
    assert_cleared(&home);
}
