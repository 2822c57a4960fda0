//! The real Claude Code as the agent, against a stand-in for the model's API: no account is needed, and it
//! calls real tools. `GHSWARM_CLAUDE=PATH` names the program; without it each test says that it was skipped.

use std::path::PathBuf;

use chrono::Utc;
use ghswarm::model::money::Usd;
use ghswarm::model::state::BlockedReason;

use super::model_api::{LIMIT_FOR, ModelApi};
use super::until_so;
use super::world::{Home, Setup, World, body};

/// The program, if the test is wanted.
fn claude() -> Option<PathBuf> {
    let found = std::env::var_os("GHSWARM_CLAUDE").map(PathBuf::from);
    if found.is_none() {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        eprintln!("skipped: {name}: `GHSWARM_CLAUDE` names no program (just claude)");
    }
    found
}

/// Lets Claude Code implement and review, each with an API that behaves so.
fn hire(home: &Home, program: &std::path::Path, (work, look): (&str, &str), key: &str) {
    let user = home.dir.join("agent-home");
    std::fs::create_dir_all(&user).unwrap();
    let mut text = std::fs::read_to_string(&home.config).unwrap();
    for (role, url) in [("implement", work), ("review", look)] {
        let begins = text.find(&format!("      {role}: {{")).unwrap();
        let ends = begins + text[begins..].find('\n').unwrap();
        let agent = format!(
            "      {role}:\n        command: '{} {{resume}} -p {{prompt}} --output-format stream-json \
             --verbose --dangerously-skip-permissions'\n        output: claude-json\n        \
             kill_grace: 200ms\n        env: {{ANTHROPIC_BASE_URL: \"{url}\", HOME: \"{}\", \
             IS_SANDBOX: \"1\", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: \"1\", \
             CLAUDE_CODE_MAX_RETRIES: \"1\"{key}}}",
            program.display(),
            user.display(),
        );
        text.replace_range(begins..ends, &agent);
    }
    std::fs::write(&home.config, text).unwrap();
}

const KEY: &str = ", ANTHROPIC_API_KEY: sk-ant-stand-in";
const ACCOUNT: &str = ", CLAUDE_CODE_OAUTH_TOKEN: sk-ant-oat01-stand-in";

fn worktree(home: &Home, issue: u64) -> PathBuf {
    home.dir
        .join("small-worktrees")
        .join(format!("issue-{issue}"))
}

fn told(world: &World, issue: u64) -> String {
    let comments = world.issue(issue).comments;
    let bodies: Vec<_> = comments.iter().map(|one| one.body.clone()).collect();
    bodies.join("\n")
}

#[test]
fn the_real_claude_carries_an_issue_to_merged_and_says_what_it_cost() {
    let Some(program) = claude() else { return };
    let world = World::new(&Setup::default());
    let issue = world.open_issue("Say hello", &body("test -s hello.txt"));
    let home = world.home("one");
    let api = ModelApi::new(worktree(&home, issue));
    hire(&home, &program, (&api.url("work"), &api.url("look")), KEY);
    home.to_done(&world, issue);
    world.assert_done_once(issue);
    assert_eq!((api.asked("work"), api.asked("look")), (3, 1));
    let state = world.state(issue);
    assert_eq!(state.tokens, 4 * (1200 + 300 + 9000 + 150));
    assert!(state.cost_usd > Usd::from_dollars(0.01), "{state:?}");
    let told = told(&world, issue);
    assert!(told.contains("agent runs: 2, 42,600 tokens, $"), "{told}");
    let history = home.ghswarm(&["history"]).output().unwrap();
    let history = String::from_utf8_lossy(&history.stdout).into_owned();
    let receipt = "implement `claude` cost 31,950 tokens, $";
    assert!(history.contains(receipt), "{history}");
    println!("{told}\n{history}");
}

#[test]
fn the_real_claude_at_its_limit_is_left_alone_until_it_is_over() {
    let Some(program) = claude() else { return };
    let world = World::new(&Setup::default());
    let issue = world.open_issue("Say hello", &body("[]"));
    let home = world.home("one");
    let api = ModelApi::new(worktree(&home, issue));
    let limit = api.url("limit");
    hire(&home, &program, (&limit, &limit), ACCOUNT);
    until_so("it waits for the limit", || {
        home.cycle();
        world.state(issue).wait_until.is_some()
    });
    let state = world.state(issue);
    let left = (state.wait_until.unwrap() - Utc::now()).num_seconds();
    assert!(left > LIMIT_FOR - 120 && left <= LIMIT_FOR, "{left} s");
    assert_eq!((state.iteration, state.limited_runs), (0, 1));
    let asked = api.asked("limit");
    home.cycle();
    home.cycle();
    assert_eq!(api.asked("limit"), asked, "nobody asks before it is over");
}

#[test]
fn the_real_claude_without_an_account_blocks_with_the_remedy() {
    let Some(program) = claude() else { return };
    let world = World::new(&Setup::default());
    let issue = world.open_issue("Say hello", &body("[]"));
    let home = world.home("one");
    let api = ModelApi::new(worktree(&home, issue));
    hire(&home, &program, (&api.url("work"), &api.url("look")), "");
    until_so("it is blocked", || {
        home.cycle();
        world.state(issue).is_blocked()
    });
    home.cycle();
    let state = world.state(issue);
    assert_eq!(state.blocked_reason, Some(BlockedReason::AgentAuth));
    assert_eq!(state.total_agent_runs, 1);
    let told = told(&world, issue);
    assert!(
        told.contains("/login") && told.contains("Log the agent in"),
        "{told}"
    );
}
