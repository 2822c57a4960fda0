//! `claim` and `board`, as people and agents type them.

use std::process::Command;

use base64::Engine as _;
use serde_json::{Value, json};

use super::Served;

/// A served repository whose clone is the working directory, without any configuration.
pub(super) struct Bare {
    pub(super) served: Served,
}

impl Bare {
    pub(super) fn new() -> Self {
        let mut served = Served::new();
        let machine = &mut served.machine;
        machine.env.retain(|(name, _)| name != "GHSWARM_CONFIG");
        machine.set("GITHUB_API_URL", served.ready["url"].as_str().unwrap());
        machine.set("COLUMNS", "100");
        let clone = served.dir().join("clone");
        assert!(clone.join(".git").exists(), "no clone");
        served.machine.dir = Some(clone);
        let more = json!({ "title": "Wave as well", "body": "Blocked by #1" });
        served.post("issues", &more);
        served.post("issues", &json!({ "title": "Bow", "body": "" }));
        Self { served }
    }

    pub(super) fn run(&self, words: &[&str]) -> String {
        let page = self.served.run(words);
        let patterns = [
            (r"`[0-9a-f]{8,}`", "`[HOME-ID]`"),
            (r" on `[^`]+`\)", " on `[HOST]`)"),
            (r"(?m)^(  machine +)\S+", "$1[HOST]"),
            (r"\d\d-\d\d \d\d:\d\d\b", "[DAY] [TIME]"),
            (r"c-[0-9a-f]{16}", "[CLAIM]"),
            (r"issuecomment-\d+", "issuecomment-[ID]"),
            (r"\d\d:\d\d UTC", "[TIME] UTC"),
        ];
        patterns.into_iter().fold(page, |page, (pattern, with)| {
            let pattern = regex::Regex::new(pattern).unwrap();
            pattern.replace_all(&page, with).into_owned()
        })
    }

    /// A merged pull request from this branch; answers its number.
    #[expect(clippy::disallowed_methods, reason = "git pushes as an agent's would")]
    pub(super) fn merged_pr(&self, branch: &str) -> u64 {
        let dir = self.served.machine.dir.clone().unwrap();
        let script = format!(
            "git fetch -q origin && git checkout -q -B {branch} origin/HEAD && echo x >> x && \
             git add x && git -c user.name=a -c user.email=a@b commit -qm x && \
             git push -qf origin {branch} && git checkout -q -"
        );
        let token = self.served.ready["token"].as_str().unwrap();
        let code =
            base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{token}"));
        let done = Command::new("sh")
            .args(["-ec", &script])
            .current_dir(&dir)
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "http.extraHeader")
            .env("GIT_CONFIG_VALUE_0", format!("Authorization: basic {code}"))
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        let pr = json!({ "title": "x", "head": branch, "base": "main", "body": "" });
        let pr = self.served.post("pulls", &pr)["number"].as_u64().unwrap();
        let path = format!("/repos/demo/greeter/pulls/{pr}/merge");
        self.served.ask("PUT", &path, &json!({}));
        pr
    }
}

#[test]
fn an_issue_is_claimed_shown_and_given_back() {
    let bare = Bare::new();
    let pages = [
        &["board"] as &[&str],
        &["claim", "check", "1"],
        &["claim", "1"],
        &["claim", "1"],
        &["claim", "check", "1"],
        &["claim", "renew", "1"],
        &["claim", "sweep"],
        &["claim", "release", "1", "--abandoned", "it is too hard"],
        &["claim", "release", "1", "--abandoned", "it is too hard"],
        &["claim", "renew", "1"],
        &["claim", "sweep", "--dry-run"],
    ]
    .map(|words| bare.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn a_board_shows_a_claim_of_this_home() {
    let bare = Bare::new();
    bare.run(&["claim", "1"]);
    // Its width depends on the machine's name.
    let board = bare
        .run(&["board"])
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let held = "Greet loudly claimed by @demo (`[HOME-ID]` on `[HOST]`) since [DAY] [TIME],";
    assert!(board.contains(held), "{board}");
    assert!(
        board.contains("here") && board.contains("ghswarm claim 3"),
        "{board}"
    );
}

#[test]
fn a_bundle_is_released_by_its_merged_pull_request() {
    let bare = Bare::new();
    let claim = bare.run(&["claim", "3", "2", "--bundle", "2"]);
    let open = bare.run(&["claim", "release", "2", "--merged", "99"]);
    let pr = bare.merged_pr("issue-2").to_string();
    let pages = [
        claim,
        open,
        bare.run(&["claim", "release", "2", "--merged", &pr]),
        bare.run(&["claim", "check", "3"]),
    ];
    insta::assert_snapshot!(pages.join("\n\n"));
    let path = "/repos/demo/greeter/issues/3";
    let issue = bare.served.ask("GET", path, &Value::Null);
    assert_eq!(issue["state"], "closed");
}

#[test]
fn a_take_over_says_what_it_displaced_and_where_that_is() {
    let bare = Bare::new();
    bare.run(&["claim", "1"]);
    let page = bare.run(&["claim", "1", "--take-over"]);
    let archive = regex::Regex::new(r"superseded/\S+").unwrap();
    insta::assert_snapshot!(archive.replace(&page, "superseded/[TIME]"));
}

#[test]
fn what_is_typed_wrongly_is_said() {
    let bare = Bare::new();
    let pages = [
        &["claim"] as &[&str],
        &["claim", "x"],
        &["claim", "release", "1"],
        &["claim", "release", "--abandoned", "x"],
        &["claim", "release", "--mine"],
        &["claim", "release", "1", "--blocked", " "],
        &["claim", "2", "--bundle", "1"],
        &["claim", "99"],
        &["claim", "1", "-R", "nobody/nothing"],
    ]
    .map(|words| bare.run(words));
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn everything_is_one_json_object_too() {
    let bare = Bare::new();
    let ask = |words: &[&str]| -> Value {
        let page = bare.served.run(words);
        let line = page.lines().nth(1).unwrap();
        serde_json::from_str(line).unwrap_or_else(|_| panic!("{page}"))
    };
    let board = ask(&["board", "--json"]);
    assert_eq!(board["issues"][1]["run"], "blocked_by", "{board}");
    assert_eq!(board["issues"][2]["run"], "free");
    let claimed = ask(&["claim", "--json", "1"]);
    assert_eq!(claimed["issues"][0]["claimed"], true);
    assert!(
        claimed["issues"][0]["begin"][0]
            .as_str()
            .unwrap()
            .contains("+main:refs/remotes/origin/main")
    );
    let again = ask(&["claim", "1", "--json"]);
    assert_eq!(again["issues"][0]["code"], "claimed_by_hand");
    assert_eq!(again["issues"][0]["holding"]["ours"], true);
    assert_eq!(ask(&["claim", "check", "1", "--json"])["verdict"], "ours");
    assert_eq!(
        ask(&["claim", "renew", "1", "--json"])["issues"][0]["renewed"],
        true
    );
    assert_eq!(
        ask(&["claim", "sweep", "--json"])["claims"][0]["how"],
        "active"
    );
    let wrong = ask(&["claim", "release", "1", "--merged", "2", "--json"]);
    assert_eq!(wrong["issues"][0]["code"], "wrong_pr");
    let mine = ask(&["claim", "release", "--mine", "--without-pr", "--json"]);
    assert_eq!(mine["issues"][0]["released"], true);
    let none = ask(&["claim", "release", "1", "--abandoned", "x", "--json"]);
    assert_eq!(none["issues"][0]["code"], "not_claimed");
}

#[test]
fn a_watched_board_goes_on_until_it_is_interrupted() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;
    let bare = Bare::new();
    let mut command = bare.served.machine.command(&["board", "--watch"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("Wave as well")));
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
