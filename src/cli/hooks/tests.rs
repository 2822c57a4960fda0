use serde_json::Value;

use super::{Wish, claude, codex, pre_push};

const EXAMPLE: &str = include_str!("../../../examples/hooks/claude-settings.json");

#[test]
fn the_examples_are_what_is_installed() {
    let dir = tempfile::tempdir().unwrap();
    claude::apply(dir.path(), "ghswarm", Wish::There).unwrap();
    let settings = std::fs::read_to_string(dir.path().join(".claude/settings.json")).unwrap();
    assert_eq!(settings, EXAMPLE);
    codex::apply(dir.path(), "ghswarm", Wish::There).unwrap();
    let config = std::fs::read_to_string(dir.path().join("config.toml")).unwrap();
    assert_eq!(
        config,
        include_str!("../../../examples/hooks/codex-config.toml")
    );
}

#[test]
fn settings_keep_their_other_hooks_their_order_and_their_indentation() {
    let before = "{\n\t\"model\": \"x\",\n\t\"hooks\": {\n\t\t\"Stop\": [],\n\t\t\"PreToolUse\": [\n\t\t\t{\n\t\t\t\t\
                  \"matcher\": \"Bash\",\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"type\": \"command\",\n\t\t\t\t\t\t\
                  \"command\": \"look\"\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t},\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t}\n}";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".claude/settings.json");
    std::fs::create_dir(dir.path().join(".claude")).unwrap();
    std::fs::write(&path, before).unwrap();
    let apply = |wish| {
        claude::apply(dir.path(), "/a b/ghswarm", wish)
            .unwrap()
            .join("\n")
    };
    assert!(apply(Wish::There).ends_with("added: SessionStart, PreToolUse"));
    let once = std::fs::read_to_string(&path).unwrap();
    assert!(apply(Wish::There).ends_with("there already"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), once);
    let settings: Value = serde_json::from_str(&once).unwrap();
    assert_eq!(
        settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"],
        "look"
    );
    let ours = &settings["hooks"]["PreToolUse"][1]["hooks"][0]["command"];
    assert_eq!(ours, "'/a b/ghswarm' lease claude-hook --block");
    apply(Wish::Gone);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    assert!(apply(Wish::Gone).ends_with("nothing of ghswarm's"));
}

#[test]
fn settings_that_cannot_be_read_are_not_touched() {
    for text in [
        "{ // mine\n}",
        "[]",
        "{\"hooks\": 3}",
        "{\"hooks\": {\"PreToolUse\": {}}}",
    ] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".claude")).unwrap();
        let path = dir.path().join(".claude/settings.json");
        std::fs::write(&path, text).unwrap();
        assert!(
            claude::apply(dir.path(), "ghswarm", Wish::There).is_err(),
            "{text}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn codex_keeps_its_file_and_another_notify_program() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    let before = "model = \"x\"\n\n[tools]\nnotify = 1\n";
    std::fs::write(&path, before).unwrap();
    let apply = |wish| codex::apply(dir.path(), "ghswarm", wish);
    for _ in 0..2 {
        apply(Wish::There).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            format!("notify = [\"ghswarm\", \"lease\", \"codex-hook\"]\n{before}")
        );
    }
    apply(Wish::Gone).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    let other = "notify = [\"say\"]\n";
    std::fs::write(&path, other).unwrap();
    assert!(apply(Wish::There).is_err());
    apply(Wish::Gone).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
}

#[test]
fn codex_loses_its_line_however_that_line_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    let line = "notify = [\"ghswarm\", \"lease\", \"codex-hook\"]";
    for (before, after) in [
        (format!("a = 1\n{line}"), Some("a = 1\n")),
        (format!("{line}\r\na = 1\r\n"), Some("a = 1\r\n")),
        (format!("a = 1\r\n{line}\r\nb = 2"), Some("a = 1\r\nb = 2")),
        (line.to_owned(), None),
    ] {
        std::fs::write(&path, &before).unwrap();
        codex::apply(dir.path(), "ghswarm", Wish::Gone).unwrap();
        let left = std::fs::read_to_string(&path).ok();
        assert_eq!(left.as_deref(), after, "{before:?}");
    }
}

#[test]
fn a_pre_push_hook_that_was_there_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    git2::Repository::init(dir.path()).unwrap();
    let hook = dir.path().join(".git/hooks/pre-push");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let apply = |wish| pre_push::apply(dir.path(), "ghswarm", wish).unwrap();
    apply(Wish::There);
    apply(Wish::Gone);
    assert!(!hook.exists());
    std::fs::write(&hook, "#!/bin/sh\necho mine\n").unwrap();
    apply(Wish::There);
    let ours = std::fs::read_to_string(&hook).unwrap();
    assert_eq!(ours, include_str!("../../../examples/hooks/pre-push"));
    apply(Wish::There);
    assert_eq!(
        std::fs::read_to_string(&hook).unwrap(),
        ours,
        "twice is once"
    );
    apply(Wish::Gone);
    assert_eq!(
        std::fs::read_to_string(&hook).unwrap(),
        "#!/bin/sh\necho mine\n"
    );
    let said = apply(Wish::Gone);
    assert!(said[0].ends_with("nothing of ghswarm's"), "{said:?}");
}

#[test]
fn a_pre_push_that_is_no_text_or_leads_nowhere_is_kept_and_comes_back() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let program: &[u8] = b"\x7fELF\x00\xff\xfe";
    for is_link in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        git2::Repository::init(dir.path()).unwrap();
        let hook = dir.path().join(".git/hooks/pre-push");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        if is_link {
            symlink("../../not-made-yet", &hook).unwrap();
        } else {
            std::fs::write(&hook, program).unwrap();
        }
        let apply = |wish| pre_push::apply(dir.path(), "ghswarm", wish).unwrap();
        let said = apply(Wish::There);
        assert!(said[0].ends_with("called first"), "{said:?}");
        let ours = std::fs::symlink_metadata(&hook).unwrap();
        assert!(ours.is_file() && ours.permissions().mode() & 0o777 == 0o755);
        assert!(apply(Wish::There)[0].ends_with("there already"));
        apply(Wish::Gone);
        if is_link {
            let to = std::fs::read_link(&hook).unwrap();
            assert_eq!(to.to_str(), Some("../../not-made-yet"));
        } else {
            assert_eq!(std::fs::read(&hook).unwrap(), program);
        }
        let left = std::fs::read_dir(hook.parent().unwrap()).unwrap();
        let ours = |name: &std::ffi::OsString| name.to_string_lossy().contains("ghswarm");
        assert!(
            !left
                .map(|one| one.unwrap().file_name())
                .any(|name| ours(&name))
        );
    }
}

#[test]
fn the_numbers_of_settings_stay_as_they_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".claude/settings.json");
    std::fs::create_dir(dir.path().join(".claude")).unwrap();
    let before = "{\n  \"a\": 1e3,\n  \"b\": -0.10,\n  \"c\": 123456789012345678901234567890,\n  \
                  \"d\": \"no number-0. \\\" 1e3\",\n  \"e\": [\n    1,\n    1E+2\n  ]\n}\n";
    std::fs::write(&path, before).unwrap();
    claude::apply(dir.path(), "ghswarm", Wish::There).unwrap();
    let with = std::fs::read_to_string(&path).unwrap();
    let opens = before.strip_suffix("\n}\n").unwrap();
    assert!(with.starts_with(opens), "{with}");
    claude::apply(dir.path(), "ghswarm", Wish::Gone).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn settings_that_are_damaged_say_where_and_what_to_do() {
    use std::error::Error as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".claude/settings.json");
    std::fs::create_dir(dir.path().join(".claude")).unwrap();
    for (bytes, words) in [
        (&b"{\n  \"a\": 1.2.3\n}"[..], "line 2"),
        (b"{\"a\": \xff}", "UTF-8"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = claude::apply(dir.path(), "ghswarm", Wish::There).unwrap_err();
        let cause = error.source().map(ToString::to_string);
        let shown = format!("{error} {} {error:?}", cause.unwrap_or_default());
        assert!(
            shown.contains(words) && shown.contains("mend it"),
            "{shown}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}
