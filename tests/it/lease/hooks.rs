//! The hooks, as git, Claude Code and Codex run them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::Hub;

/// Answers of a hook of Claude Code: exit status, standard output and standard error.
fn claude(mut command: Command, event: &Value) -> (i32, String, String) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(event.to_string().as_bytes()).unwrap();
    drop(stdin);
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

fn event(name: &str, cwd: &Path) -> Value {
    json!({ "session_id": "s", "hook_event_name": name, "cwd": cwd, "tool_name": "Edit" })
}

fn at(mut command: Command, dir: &Path) -> Command {
    command.current_dir(dir);
    command
}

/// What `ghswarm hooks …` prints, with this machine's paths left out.
fn hooks(hub: &Hub, dir: &Path, words: &[&str]) -> (i32, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_ghswarm"));
    let mut command = at(hub.program(program, ""), dir);
    command.arg("hooks").args(words);
    let (status, out, err) = Hub::said(command);
    let shown = (out + &err).replace(
        &hub.dir.path().canonicalize().unwrap().display().to_string(),
        "[DIR]",
    );
    (
        status,
        shown.replace(&hub.dir.path().display().to_string(), "[DIR]"),
    )
}

#[test]
fn a_session_claims_its_issue_and_its_edits_ask_nobody() {
    let hub = Hub::new();
    let clone = hub.clone_on("fix/7-slow");
    let (status, out, _) = claude(
        hub.ours("a", &["claude-hook"]),
        &event("SessionStart", &clone),
    );
    let said: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (status, &said["hookSpecificOutput"]["hookEventName"]),
        (0, &json!("SessionStart"))
    );
    let told = said["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(told.contains("issue #7") && told.contains("`a`"), "{told}");
    assert_eq!(hub.owner(7).as_deref(), Some("a"));
    let requests = hub.sim.counts().requests;
    let mut edit = hub.ours("a", &["claude-hook", "--block"]);
    // No other program can be found, and GitHub is nowhere.
    edit.env("PATH", "/nowhere")
        .env("GITHUB_API_URL", "http://127.0.0.1:9");
    let quiet = (0, String::new(), String::new());
    assert_eq!(claude(edit, &event("PreToolUse", &clone)), quiet);
    assert_eq!(hub.sim.counts().requests, requests);
}

#[test]
fn an_edit_of_an_issue_that_another_holds_is_denied_or_warned_about() {
    let hub = Hub::new();
    let clone = hub.clone_on("issue-7");
    hub.plant_of(7, "other", 5);
    let edit = event("PreToolUse", &clone);
    let (status, out, _) = claude(hub.ours("a", &["claude-hook", "--block"]), &edit);
    let said: Value = serde_json::from_str(&out).unwrap();
    let answer = &said["hookSpecificOutput"];
    assert_eq!((status, &answer["permissionDecision"]), (0, &json!("deny")));
    let reason = answer["permissionDecisionReason"].as_str().unwrap();
    assert!(
        reason.contains("#7") && reason.contains("other"),
        "{reason}"
    );
    let (status, out, err) = claude(hub.ours("a", &["claude-hook"]), &edit);
    assert_eq!((status, out.as_str()), (0, ""));
    assert!(err.contains("held by other"), "{err}");
    let (status, out, _) = claude(
        hub.ours("a", &["claude-hook"]),
        &event("SessionStart", &clone),
    );
    assert!(status == 0 && out.contains("held by other"), "{out}");
}

#[test]
fn an_edit_goes_on_where_the_issue_is_free_expired_ones_own_or_there_is_none() {
    let hub = Hub::new();
    let clone = hub.clone_on("issue-7");
    let edit = event("PreToolUse", &clone);
    let quiet = (0, String::new(), String::new());
    let block = ["claude-hook", "--block"];
    assert_eq!(claude(hub.ours("a", &block), &edit), quiet, "free");
    assert_eq!(hub.oid("issue-7"), None, "an edit claims nothing");
    hub.plant_of(7, "other", 300);
    assert_eq!(claude(hub.ours("a", &block), &edit), quiet, "expired");
    hub.plant_of(7, "a", 100);
    assert_eq!(claude(hub.ours("a", &block), &edit), quiet, "one's own");
    let note = std::fs::read_to_string(clone.join(".git/gh-issue-lease-hold.json")).unwrap();
    let note: Value = serde_json::from_str(&note).unwrap();
    let age = chrono::Utc::now().timestamp_millis() - note["at"].as_i64().unwrap();
    assert!(
        age >= 100 * 60_000,
        "the note is as old as the lease: {age}"
    );
    let elsewhere = event("PreToolUse", hub.dir.path());
    assert_eq!(claude(hub.ours("", &block), &elsewhere), quiet, "no clone");
}

#[test]
fn a_hook_never_stops_the_work_for_want_of_github_or_an_identity() {
    let mut hub = Hub::new();
    let clone = hub.clone_on("issue-7");
    let (status, out, err) = claude(
        hub.ours("", &["claude-hook", "--block"]),
        &event("PreToolUse", &clone),
    );
    assert_eq!((status, out.as_str()), (0, ""));
    assert!(err.contains("AGENT_ID is not set"), "{err}");
    let (status, _, err) = Hub::said(at(hub.ours("", &["hook"]), &clone));
    assert!(status == 0 && err.contains("AGENT_ID is not set"), "{err}");
    hub.stop();
    for name in ["PreToolUse", "SessionStart"] {
        let (status, out, err) = claude(
            hub.ours("a", &["claude-hook", "--block"]),
            &event(name, &clone),
        );
        assert_eq!((status, out.as_str()), (0, ""));
        assert!(err.contains("WITHOUT a lease"), "{err}");
    }
    let (status, out, err) = Hub::said(at(hub.ours("a", &["hook"]), &clone));
    assert!(
        status == 0 && out.is_empty() && err.contains("WITHOUT a lease"),
        "{err}"
    );
    let (status, _, err) = claude(hub.ours("a", &["claude-hook"]), &json!("no event"));
    assert_eq!(status, 0, "{err}");
}

#[test]
fn a_hook_stamps_the_lease_again_when_a_third_of_its_time_is_over() {
    let hub = Hub::new();
    let clone = hub.clone_on("issue-7");
    let event = json!({ "type": "agent-turn-complete", "cwd": clone }).to_string();
    let hook = |words: &[&str]| Hub::said(at(hub.ours("a", words), hub.dir.path()));
    assert_eq!(hook(&["codex-hook", &event]).0, 0);
    let first = hub.oid("issue-7").unwrap();
    let requests = hub.sim.counts().requests;
    assert_eq!(
        hook(&["codex-hook", &event]),
        (0, String::new(), String::new())
    );
    assert_eq!(hub.sim.counts().requests, requests, "the note is fresh");
    let note = clone.join(".git/gh-issue-lease-hold.json");
    let mut old: Value = serde_json::from_str(&std::fs::read_to_string(&note).unwrap()).unwrap();
    old["at"] = json!(old["at"].as_i64().unwrap() - 81 * 60_000);
    std::fs::write(&note, old.to_string()).unwrap();
    assert_eq!(hook(&["codex-hook", &event]).0, 0);
    assert_ne!(hub.oid("issue-7"), Some(first));
    hub.plant_of(7, "other", 1);
    std::fs::remove_file(&note).unwrap();
    let (status, _, err) = hook(&["codex-hook", &event]);
    assert!(status == 0 && err.contains("held by other"), "{err}");
    assert_eq!(hub.owner(7).as_deref(), Some("other"));
}

#[test]
fn a_push_is_guarded_by_the_living_lease_of_another() {
    let mut hub = Hub::new();
    hub.plant_of(7, "other", 5);
    hub.plant_of(8, "other", 300);
    let guard = |hub: &Hub, agent: &str, branch: &str| {
        let (status, out, err) = Hub::said(hub.ours(agent, &["guard-push", branch]));
        assert_eq!(out, "");
        (status, err)
    };
    let (status, err) = guard(&hub, "a", "fix/7-slow");
    assert!(
        status == 1 && err.starts_with("push blocked: #7 is held by other\n"),
        "{err}"
    );
    let (status, err) = guard(&hub, "", "fix/7-slow");
    assert!(status == 1 && err.contains("AGENT_ID is not set"), "{err}");
    for (agent, branch) in [
        ("other", "fix/7-slow"),
        ("a", "issue-8"),
        ("a", "issue-9"),
        ("a", "main"),
    ] {
        assert_eq!(
            guard(&hub, agent, branch),
            (0, String::new()),
            "{agent} {branch}"
        );
    }
    hub.stop();
    let (status, err) = guard(&hub, "a", "fix/7-slow");
    assert!(status == 0 && err.contains("WITHOUT a lease"), "{err}");
}

/// A clone whose pushes land in a bare repository, with the program on the PATH.
struct Pusher {
    clone: PathBuf,
    bin: PathBuf,
}

impl Pusher {
    fn new(hub: &Hub) -> Self {
        let clone = hub.clone_on("fix/7-slow");
        let bin = hub.dir.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ghswarm"), bin.join("ghswarm")).unwrap();
        Self { clone, bin }
    }

    fn git(&self, hub: &Hub, agent: &str, words: &[&str]) -> (bool, String) {
        let path = format!("{}:{}", self.bin.display(), std::env::var("PATH").unwrap());
        let mut git = hub.program(Path::new("git"), agent);
        let url = hub.serving.as_ref().map(ghswarm::sim::github::Serving::url);
        git.env("PATH", path)
            .env(
                "GITHUB_API_URL",
                url.unwrap_or_else(|| "http://127.0.0.1:9".to_owned()),
            )
            .env("GITHUB_TOKEN", hub.sim.token_for("op"))
            .arg("-C")
            .arg(&self.clone)
            .args(words);
        let done = git.output().unwrap();
        (
            done.status.success(),
            String::from_utf8(done.stderr).unwrap(),
        )
    }

    fn push(&self, hub: &Hub, agent: &str) -> (bool, String) {
        let (done, _) = self.git(hub, agent, &["commit", "-q", "--allow-empty", "-m", "more"]);
        assert!(done);
        self.git(hub, agent, &["push", "-q", "origin", "HEAD"])
    }
}

#[test]
fn git_push_runs_the_hook_that_blocks_once_it_is_switched_on() {
    let mut hub = Hub::new();
    let pusher = Pusher::new(&hub);
    let mine = pusher.clone.join(".git/hooks/pre-push");
    std::fs::create_dir_all(mine.parent().unwrap()).unwrap();
    std::fs::write(&mine, "#!/bin/sh\ncat >> \"$(dirname \"$0\")/seen\"\n").unwrap();
    let executable: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&mine, executable).unwrap();
    let (status, said) = hooks(&hub, &pusher.clone, &["install", "--pre-push"]);
    assert_eq!(status, 0, "{said}");
    assert!(
        said.contains("git config issueLease.enforce true"),
        "{said}"
    );
    hub.plant_of(7, "other", 5);
    assert_eq!(pusher.push(&hub, "a"), (true, String::new()), "it is off");
    let seen = pusher.clone.join(".git/hooks/seen");
    assert!(
        std::fs::read_to_string(&seen)
            .unwrap()
            .contains("refs/heads/fix/7-slow"),
        "the old hook runs"
    );
    pusher.git(&hub, "a", &["config", "issueLease.enforce", "true"]);
    let (done, err) = pusher.push(&hub, "a");
    assert!(
        !done && err.contains("push blocked: #7 is held by other"),
        "{err}"
    );
    let (done, err) = pusher.push(&hub, "other");
    assert!(done, "{err}");
    let (done, err) = pusher.git(
        &hub,
        "a",
        &["push", "-q", "origin", "HEAD:refs/heads/unrelated"],
    );
    assert!(done, "a branch of no issue: {err}");
    std::fs::write(
        pusher.clone.join(".git/hooks/pre-push.before-ghswarm"),
        "#!/bin/sh\nexit 3\n",
    )
    .unwrap();
    assert!(!pusher.push(&hub, "other").0, "the old hook may refuse");
    std::fs::write(
        pusher.clone.join(".git/hooks/pre-push.before-ghswarm"),
        "#!/bin/sh\n",
    )
    .unwrap();
    hub.stop();
    let (done, err) = pusher.push(&hub, "a");
    assert!(done && err.contains("WITHOUT a lease"), "{err}");
    let (status, said) = hooks(&hub, &pusher.clone, &["uninstall", "--pre-push"]);
    assert!(status == 0 && said.contains("is back"), "{said}");
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "#!/bin/sh\n");
}

#[test]
fn hooks_tell_what_they_changed_and_leave_the_users_home_alone() {
    let hub = Hub::new();
    let clone = hub.clone_on("issue-7");
    let sub = clone.join("src");
    std::fs::create_dir(&sub).unwrap();
    let calls: [&[&str]; 7] = [
        &["install"],
        &["install"],
        &["install", "--codex"],
        &["uninstall"],
        &["uninstall"],
        &["install", "--claude", "--project", "nowhere"],
        &["install", "--pre-push", "--project", "../.."],
    ];
    let pages = calls.map(|words| {
        let (status, said) = hooks(&hub, &sub, words);
        format!(
            "$ ghswarm hooks {}\n{said}--- exit status {status}",
            words.join(" ")
        )
    });
    insta::assert_snapshot!(pages.join("\n\n"));
    assert!(!clone.join(".claude/settings.json").exists());
    assert!(!hub.dir.path().join("user/.codex/config.toml").exists());
}

#[test]
fn a_full_disk_leaves_the_hook_that_was_there() {
    let hub = Hub::new();
    let clone = hub.clone_on("issue-7");
    let hook = clone.join(".git/hooks/pre-push");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho mine\n").unwrap();
    let names = || {
        let dir = std::fs::read_dir(hook.parent().unwrap()).unwrap();
        let mut names: Vec<_> = dir.map(|one| one.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    // No file may grow: what a full disk answers to a write.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" hooks install --pre-push";
    let mut shell = at(hub.program(Path::new("sh"), ""), &clone);
    shell.args(["-c", script, env!("CARGO_BIN_EXE_ghswarm")]);
    let (status, _, err) = Hub::said(shell);
    assert!(
        status != 0 && err.contains("cannot write"),
        "{status} {err}"
    );
    let text = std::fs::read_to_string(&hook).unwrap();
    assert_eq!(text, "#!/bin/sh\necho mine\n");
    assert_eq!(names(), before);
}

#[test]
fn a_release_anywhere_in_a_clone_ends_the_notes_of_all_its_worktrees() {
    let hub = Hub::new();
    let clone = hub.clone_on("issue-7");
    let side = hub.dir.path().join("side");
    let mut git = hub.program(Path::new("git"), "");
    git.arg("-C").arg(&clone).args(["worktree", "add", "-qb"]);
    git.args(["issue-8"]).arg(&side);
    assert_eq!(Hub::said(git).0, 0);
    let block = ["claude-hook", "--block"];
    let start = |dir: &Path| claude(hub.ours("a", &block), &event("SessionStart", dir)).0;
    assert_eq!((start(&clone), start(&side)), (0, 0));
    let notes = [
        clone.join(".git/gh-issue-lease-hold.json"),
        clone.join(".git/worktrees/side/gh-issue-lease-hold.json"),
    ];
    assert!(notes.iter().all(|note| note.exists()));
    // Each is given back in the other one's worktree.
    assert_eq!(Hub::said(at(hub.ours("a", &["release", "8"]), &clone)).0, 0);
    assert!(notes[0].exists() && !notes[1].exists());
    // Somebody else took it: no note says otherwise once that is known.
    hub.plant_of(7, "other", 1);
    assert_eq!(Hub::said(at(hub.ours("a", &["renew", "7"]), &side)).0, 1);
    assert!(!notes[0].exists());
    let (_, out, _) = claude(hub.ours("a", &block), &event("PreToolUse", &clone));
    assert!(out.contains("deny"), "{out}");
}
