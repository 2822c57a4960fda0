//! The commands about issues, against a simulated GitHub.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::Served;

/// Asks until the prompt holds the answer, then does the work of the demo's agent.
const ASKING: &str = r#"#!/bin/sh
here=$(dirname "$0")
cp "$1" "$here/prompt.md"
if grep -q 'Shout in English' "$1"; then
  exec sh "$here/real-agent.sh" "$1"
fi
echo 'In which language?' > .agent_question.md
"#;

#[test]
fn a_fresh_issue_is_explained_and_stepped() {
    let world = Served::new();
    let pages = [
        &["status"] as &[&str],
        &["explain", "1"],
        &["run", "1", "--dry-run"],
        &["run", "1", "--step"],
        &["logs", "1"],
        &["history"],
    ]
    .map(|words| world.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn an_issue_is_run_to_its_end_and_looked_at_afterwards() {
    let world = Served::new();
    world.run_to_done();
    let pages = [
        &["explain", "1"] as &[&str],
        &["logs", "1"],
        &["logs", "1", "--list"],
        &["logs", "1", "-f"],
        &["resume", "1"],
        &["status"],
    ]
    .map(|words| world.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
    let open = open_to_others(&world.dir().join("home"));
    assert!(open.is_empty(), "{open:?}");
    let history = world.run(&["history", "--issue", "1", "--since", "1h", "--limit", "1"]);
    assert!(
        history.contains("[DATE] [TIME] UTC  demo #1  done         release: done"),
        "{history}"
    );
    let none = world.run(&["history", "--issue", "7"]);
    assert!(none.contains("nothing is recorded"), "{none}");
}

/// Everything at and under this place that other users may read, write or enter.
fn open_to_others(place: &std::path::Path) -> Vec<std::path::PathBuf> {
    let facts = std::fs::symlink_metadata(place).unwrap();
    if facts.is_symlink() {
        return Vec::new();
    }
    let open = (facts.permissions().mode() & 0o077 != 0).then(|| place.to_owned());
    // Git writes into the clone's private folder as it likes: that folder itself is closed.
    let of_git = place.parent().is_some_and(|above| above.ends_with("git"));
    let entries = std::fs::read_dir(place).ok().filter(|_| !of_git);
    let entries = entries.into_iter().flatten();
    let below = entries.flat_map(|entry| open_to_others(&entry.unwrap().path()));
    open.into_iter().chain(below).collect()
}

#[test]
fn numbers_that_are_no_managed_issue_are_told_apart() {
    let world = Served::new();
    world.post(
        "issues",
        &json!({ "title": "Not handed over", "body": "Hello." }),
    );
    let pages = [
        &["run", "99"] as &[&str],
        &["explain", "99"],
        &["resume", "99"],
        &["logs", "99"],
        &["run", "2"],
        &["resume", "2"],
        &["explain", "2"],
        &["resume", "1"],
        &["logs", "1", "--run", "2/1700000000-1-implement"],
    ]
    .map(|words| world.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
    assert_eq!(world.comments(), Vec::<String>::new());
}

#[test]
fn a_held_issue_says_which_label_holds_it() {
    let world = Served::new();
    world.post("issues/1/labels", &json!({ "labels": ["do-not-dispatch"] }));
    let page = world.run(&["explain", "1"]);
    let from = page.find("  ✓ managed").unwrap();
    insta::assert_snapshot!(&page[from..]);
    let json = world.run(&["explain", "1", "--json"]);
    let value: Value = serde_json::from_str(json.lines().nth(1).unwrap()).unwrap();
    let stops: Vec<&Value> = value["guards"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|guard| guard["passes"] == false)
        .map(|guard| &guard["guard"])
        .collect();
    assert_eq!(stops, ["hold"]);
    assert_eq!(
        (&value["outcome"], &value["code"]),
        (&json!("waiting"), &json!("on_hold"))
    );
}

#[test]
fn a_cycle_tells_each_time_what_is_blocked_and_what_frees_it() {
    let world = Served::new();
    world.post("issues/1/labels", &json!({ "labels": ["do-not-dispatch"] }));
    let issue = json!({ "title": "No spec", "body": "Hello.", "labels": ["status: idle"] });
    world.post("issues", &issue);
    world.run(&["cycle"]);
    // By now it may be asleep, and is told of all the same.
    let page = world.run(&["cycle"]);
    let from = page
        .find("nothing more goes on")
        .unwrap_or_else(|| panic!("{page}"));
    insta::assert_snapshot!(&page[from..]);
    assert!(page.ends_with("--- exit status 1"), "{page}");
    let waited = world.run(&["cycle", "--wait"]);
    assert!(
        waited.contains("take the label `do-not-dispatch` off"),
        "{waited}"
    );
}

#[test]
fn an_issue_that_waits_says_for_what_and_a_cycle_is_named() {
    let world = Served::new();
    let spec = |words: &str| {
        let verify = "<!-- GHSWARM_VERIFY_START\nverify: []\nGHSWARM_VERIFY_END -->";
        format!("{verify}\n\n{words}\n\n- [ ] it\n")
    };
    let issues = [
        ("Urgent", "Depends on #1.", "priority: high"),
        ("Hen", "Blocked by #4.", "status: idle"),
        ("Egg", "Blocked by #3.", "status: idle"),
    ];
    for (number, (title, words, label)) in (2..).zip(issues) {
        world.post("issues", &json!({ "title": title, "body": spec(words) }));
        let labels = json!({ "labels": ["status: idle", label] });
        world.post(&format!("issues/{number}/labels"), &labels);
    }
    let pages = [
        &["explain", "2"] as &[&str],
        &["explain", "3"],
        &["status"],
        &["run", "2"],
        &["run", "2", "--dry-run", "--force"],
    ]
    .map(|words| world.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
    assert_eq!(world.comments(), Vec::<String>::new());
}

#[test]
fn an_answer_is_posted_once_and_reaches_the_agent() {
    let world = Served::new();
    let real = std::fs::read_to_string(world.agent_file()).unwrap();
    std::fs::write(world.dir().join("bin/real-agent.sh"), real).unwrap();
    world.agent(ASKING);
    let asked = world.run(&["run", "1", "--wait"]);
    assert!(asked.ends_with("exit status 1"), "{asked}");
    let pages = [
        asked.lines().rev().nth(1).unwrap().to_owned(),
        world.run(&["status"]),
        world.run(&["run", "1"]),
        world.run(&["explain", "1"]),
    ];
    insta::assert_snapshot!(pages.join("\n\n"));
    let resumed = world.run(&["resume", "1", "--answer", "Shout in English, please."]);
    assert!(resumed.ends_with("exit status 0"), "{resumed}");
    let said = |world: &Served| {
        let comments = world.comments();
        comments
            .iter()
            .filter(|c| c.contains("Shout in English"))
            .count()
    };
    assert_eq!(said(&world), 1);
    world.run_to_done();
    let prompt = std::fs::read_to_string(world.dir().join("bin/prompt.md")).unwrap();
    assert!(prompt.contains("Shout in English, please."), "{prompt}");
    assert!(!prompt.contains("ghswarm:key="), "{prompt}");
    assert_eq!(said(&world), 1);
}

#[test]
fn a_blocked_label_of_a_person_is_taken_back_by_resume() {
    let world = Served::new();
    world.post("issues/1/labels", &json!({ "labels": ["status: blocked"] }));
    world.ask(
        "DELETE",
        "/repos/demo/greeter/issues/1/labels/status%3A%20idle",
        &Value::Null,
    );
    let held = world.run(&["run", "1"]);
    insta::assert_snapshot!(held);
    let resumed = world.run(&["resume", "1"]);
    assert!(
        resumed.ends_with("exit status 0") && resumed.contains("running"),
        "{resumed}"
    );
}

#[test]
fn resuming_what_only_an_edit_can_mend_is_refused() {
    let world = Served::new();
    let body = json!({ "body": "- [ ] do it\n" });
    world.ask("PATCH", "/repos/demo/greeter/issues/1", &body);
    let run = world.run(&["run", "1", "--wait"]);
    assert!(run.ends_with("exit status 1"), "{run}");
    let pages = [
        world.run(&["resume", "1"]),
        world.run(&["resume", "1", "--answer", "yes"]),
    ];
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn a_log_is_followed_until_its_run_has_ended() {
    let world = Served::new();
    world.agent(
        "#!/bin/sh\necho working\nwhile ! test -e \"$(dirname \"$0\")/go\"; do sleep 0.05; done\n\
                 echo giving up\nexit 3\n",
    );
    let run = world.run(&["run", "1"]);
    assert!(run.ends_with("exit status 0"), "{run}");
    let mut command = world.machine.command(&["logs", "1", "-f"]);
    let mut following = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut page = BufReader::new(following.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("working") {
        assert!(page.read_line(&mut text).unwrap() > 0, "{text}");
    }
    std::fs::write(world.dir().join("bin/go"), "").unwrap();
    page.read_to_string(&mut text).unwrap();
    assert!(following.wait().unwrap().success());
    insta::assert_snapshot!(world.machine.anonymous(&text));
}

#[test]
fn more_runs_are_granted_by_resume_alone() {
    let world = Served::new();
    let real = std::fs::read_to_string(world.agent_file()).unwrap();
    world.agent("#!/bin/sh\nexit 3\n");
    world.configure(
        "poll_interval: 300ms",
        "poll_interval: 300ms\n    issue_max_agent_runs: 1",
    );
    let spent = world.run(&["run", "1", "--wait", "--force"]);
    assert!(spent.ends_with("exit status 1"), "{spent}");
    insta::assert_snapshot!(world.run(&["resume", "1"]));
    world.agent(&real);
    let granted = world.run(&["resume", "1", "--more-runs", "9"]);
    assert!(granted.ends_with("exit status 0"), "{granted}");
    world.run_to_done();
}

#[test]
fn a_table_fits_a_narrow_terminal() {
    let mut world = Served::new();
    world.machine.set("COLUMNS", "60");
    let page = world.run(&["status"]);
    assert!(
        page.lines().all(|line| line.chars().count() <= 60),
        "{page}"
    );
    assert!(!page.contains('\x1b'), "{page}");
}

#[test]
fn a_title_does_not_reach_the_terminals_controls() {
    let world = Served::new();
    let title = "Red \u{1b}[31mtext\u{1b}]0;x\u{7}";
    world.ask(
        "PATCH",
        "/repos/demo/greeter/issues/1",
        &json!({ "title": title }),
    );
    for words in [&["status"] as &[&str], &["explain", "1"]] {
        let page = world.run(words);
        assert!(page.contains("#1 Red text"), "{page}");
        assert!(!page.contains('\u{1b}'), "{page:?}");
    }
}
