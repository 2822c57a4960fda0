//! The configuration: every problem at once with its place, status 3; and what `init` writes.

use std::os::unix::fs::PermissionsExt as _;

use super::Machine;

const BROKEN: &str = "repositories:\n  demo:\n    repo: not-a-slug\n    pth: /tmp/x\n    \
                      poll_interval: soon\n    merge_method: fast\n";

#[test]
fn without_a_configuration_the_error_says_how_to_get_one() {
    let machine = Machine::new();
    for command in [
        &["cycle"] as &[&str],
        &["loop"],
        &["status"],
        &["run", "1"],
        &["explain", "1"],
        &["resume", "1"],
        &["logs", "1"],
        &["history"],
        &["doctor"],
        &["config", "show"],
    ] {
        let page = machine.run(command);
        assert!(page.ends_with("exit status 3"), "{page}");
    }
    insta::assert_snapshot!(machine.run(&["cycle"]));
    let left: Vec<_> = std::fs::read_dir(machine.home.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn all_problems_of_a_configuration_are_told_at_once() {
    let machine = Machine::new();
    machine.write(".ghswarm.yaml", BROKEN);
    insta::assert_snapshot!(machine.run(&["cycle"]));
    insta::assert_snapshot!(
        "problems_as_json",
        machine.run(&["config", "check", "--json"])
    );
}

#[test]
fn the_examples_with_containers_are_valid() {
    let machine = Machine::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/monorepo.yaml");
    let check = || machine.run(&["--config", example, "config", "check"]);
    let json = machine.run(&["--config", example, "config", "check", "--json"]);
    // All that is wrong with it is that nobody has cloned the repository here.
    let page = check();
    assert!(
        page.contains(
            "hint: or make it: git clone https://github.com/acme/shop.git [HOME]/src/shop"
        ) && page.ends_with("exit status 3"),
        "{page}"
    );
    assert!(
        json.contains("\"ok\":false") && json.contains("is not there"),
        "{json}"
    );
    let clone = page.split("the clone `[HOME]/").nth(1).unwrap();
    let clone = clone.split('`').next().unwrap();
    std::fs::create_dir_all(machine.path(clone)).unwrap();
    let page = check();
    assert!(page.ends_with("exit status 0"), "{page}");
    // The other one is of the same repository.
    let boxed = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/boxed-agents.yaml");
    let page = machine.run(&["--config", boxed, "config", "check"]);
    assert!(page.ends_with("exit status 0"), "{page}");
}

#[test]
fn what_is_typed_wrong_is_answered_with_what_to_type() {
    let machine = Machine::new();
    machine.write("binary", "title\n\0\n");
    std::fs::write(machine.path("latin"), [b'a', 0xff]).unwrap();
    machine.write(
        "slug.yaml",
        "repositories:\n  demo:\n    repo: https://github.com/a/b.git\n    path: /tmp\n",
    );
    machine.write("broken.yaml", "repositories:\n  demo:\n    repo: [a/b\n");
    let at = |name: &str| machine.path(name).display().to_string();
    let demo = |issue: &str| {
        let issue = at(issue);
        let words = ["demo", "--repo", ".", "--agent", "true", "--review", "true"];
        machine.run(&[&words as &[&str], &["--issue", &issue]].concat())
    };
    let pages = [
        demo("nope"),
        demo("binary"),
        demo("latin"),
        machine.run(&["init", &at("no/such/folder.yaml")]),
        machine.run(&["--config", &at("slug.yaml"), "config", "check"]),
        machine.run(&["--config", &at("broken.yaml"), "config", "check"]),
        machine.run(&["run", "0"]),
        machine.run(&["run", "4294967296"]),
        machine.run(&["explain", "99999999999999999999999"]),
    ];
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn a_configuration_that_is_no_file_is_named() {
    let machine = Machine::new();
    std::fs::create_dir(machine.path("folder")).unwrap();
    let folder = machine.path("folder").display().to_string();
    let missing = machine.path("missing.yaml").display().to_string();
    std::fs::write(machine.path("binary.yaml"), [0xff, 0xfe, 0x00]).unwrap();
    let binary = machine.path("binary.yaml").display().to_string();
    let pages = [folder, missing, binary].map(|path| machine.run(&["--config", &path, "status"]));
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn what_init_says_about_a_file_of_another_name_is_about_that_file() {
    let machine = Machine::new();
    let named = machine.path("other.yaml");
    let named = named.to_str().unwrap();
    machine.run(&["init", named]);
    let again = machine.run(&["init", named]);
    assert!(again.contains("other.yaml --force"), "{again}");
    assert!(again.contains("other.yaml config check"), "{again}");
}

#[test]
fn init_writes_a_private_file_that_is_valid_and_never_overwrites() {
    let machine = Machine::new();
    let first = machine.run(&["init"]);
    let file = machine.path(".ghswarm.yaml");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    let schema = machine.path(".ghswarm/config.schema.json");
    assert!(
        text.starts_with(&format!(
            "# yaml-language-server: $schema={}\n",
            schema.display()
        )),
        "{text}"
    );
    serde_json::from_str::<serde_json::Value>(&std::fs::read_to_string(schema).unwrap()).unwrap();
    std::fs::write(&file, "mine").unwrap();
    let second = machine.run(&["init"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let third = machine.run(&["init", "--force"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let check = machine.run(&["config", "check"]);
    insta::assert_snapshot!([first, second, third, check].join("\n\n"));
}

#[test]
fn init_writes_where_it_is_told_to() {
    let machine = Machine::new();
    let path = machine.path("my config.yaml").display().to_string();
    insta::assert_snapshot!(machine.run(&["init", &path]));
    assert!(!machine.path(".ghswarm.yaml").exists());
}

#[test]
fn init_does_not_hide_the_file_that_is_read_now() {
    let machine = Machine::new();
    machine.write(".ghswarm.yml", "mine");
    insta::assert_snapshot!(machine.run(&["init"]));
    assert!(!machine.path(".ghswarm.yaml").exists());
}

#[test]
fn show_says_where_each_value_comes_from_and_masks_secrets() {
    let mut machine = Machine::new();
    machine.set("CLONES", "/somewhere");
    machine.write(
        ".ghswarm.yaml",
        "defaults:\n  poll_interval: 90\n  env: {MY_TOKEN: canary-in-the-file}\n  agents:\n    implement: \
         {command: do}\n    review: {command: look}\nrepositories:\n  demo:\n    repo: a/b\n    path: \
         ${CLONES}/b\n",
    );
    let page = machine.run(&["config", "show"]);
    assert!(!page.contains("canary"), "{page}");
    let wanted = [
        "poll_interval",
        "path",
        "env",
        "merge_method",
        "agents.implement.command",
    ];
    let lines: Vec<&str> = page
        .lines()
        .filter(|line| {
            wanted
                .iter()
                .any(|key| line.starts_with(&format!("repositories.demo.{key}")))
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    let json = machine.run(&["config", "show", "--json"]);
    assert!(
        !json.contains("canary") && json.contains("\"origin\""),
        "{json}"
    );
}

#[test]
fn the_schema_needs_no_configuration() {
    let page = Machine::new().run(&["config", "schema"]);
    assert!(
        page.contains("\"$schema\"") && page.ends_with("exit status 0"),
        "{page}"
    );
}
