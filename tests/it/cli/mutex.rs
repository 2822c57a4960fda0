//! What `ghswarm mutex` refuses, word for word.

use super::Machine;

#[test]
fn mutex_tells_how_it_is_used() {
    insta::assert_snapshot!(Machine::new().run(&["mutex", "--help"]));
}

#[test]
fn mutex_refuses_what_would_not_be_one_lock_for_all() {
    let machine = Machine::new();
    let file = machine.write("file", "").display().to_string();
    let home = machine.path("").display().to_string();
    let missing = machine.path("missing").display().to_string();
    let name = ghswarm::model::mutex::MutexName::parse(b"folder").unwrap();
    std::fs::create_dir(machine.path(&name.file_name())).unwrap();
    let refused: [(&[&str], u8); 15] = [
        (&["mutex"], 2),
        (&["mutex", "a"], 2),
        (&["mutex", "a", "--"], 2),
        (&["mutex", "a", "true"], 2),
        (&["mutex", "a", "--script", "true", "--", "true"], 2),
        (&["mutex", "a", "--name=b", "--script", "true"], 2),
        (&["mutex", "", "--", "true"], 2),
        (&["mutex", " \u{3000}", "--", "true"], 2),
        (&["mutex", "a\tb", "--", "true"], 2),
        (&["mutex", "a\u{85}b", "--", "true"], 2),
        (&["mutex", "a", "--script", " \n"], 2),
        (&["mutex", "a", "--lock-dir", "locks", "--", "true"], 2),
        (&["mutex", "a", "--lock-dir", &missing, "--", "true"], 2),
        (&["mutex", "a", "--lock-dir", &file, "--", "true"], 2),
        (&["mutex", "folder", "--lock-dir", &home, "--", "true"], 4),
    ];
    let pages: Vec<String> = refused
        .iter()
        .map(|(words, status)| {
            let page = machine.run(words);
            assert!(page.ends_with(&format!("exit status {status}")), "{page}");
            page
        })
        .collect();
    insta::assert_snapshot!(pages.join("\n\n"));
}

#[test]
fn mutex_needs_no_configuration_and_takes_the_options_of_all_commands() {
    let mut machine = Machine::new();
    let home = machine.path("").display().to_string();
    machine.set("LOCAL_MUTEX_LOCK_DIR", &home);
    machine.set("GHSWARM_CONFIG", "/dev/null/none");
    let page = machine.run(&["-v", "mutex", "a", "--", "echo", "in"]);
    assert!(
        page.contains("\nin\n") && page.ends_with("exit status 0"),
        "{page}"
    );
}
