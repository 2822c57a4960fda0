use super::*;

fn odd() -> Loop {
    Loop {
        words: [
            "/opt/my tools/ghswarm",
            "loop",
            "--config",
            "/etc/a $HOME 100%/\"b\"<c>&.yaml",
        ]
        .map(str::to_owned)
        .to_vec(),
        env: vec![
            ("PATH".to_owned(), "/a b:/usr/bin".to_owned()),
            ("GHSWARM_HOME".to_owned(), "/home/x/50%".to_owned()),
        ],
        env_file: "/home/x/50%/service.env".into(),
        log: "/home/x/50%/service.log".into(),
    }
}

#[test]
fn a_systemd_unit_quotes_what_systemd_would_read_otherwise() {
    insta::assert_snapshot!(systemd::render(&odd()).unwrap());
}

#[test]
fn a_launchd_agent_is_well_formed_and_leaves_the_supervisors_alone() {
    insta::assert_snapshot!(launchd::render(&odd()));
}

/// systemd's own reader, where it is installed, says what is wrong with a unit.
#[test]
fn systemd_has_nothing_to_say_against_the_unit() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(systemd::UNIT);
    let mut wanted = odd();
    wanted.words = ["/bin/true", "loop", "--config", "/a $b 100%.yaml"]
        .map(str::to_owned)
        .to_vec();
    std::fs::write(&file, systemd::render(&wanted).unwrap()).unwrap();
    // It ends well whatever it says, and wants a folder of a session that a container has not.
    let line = format!(
        "command -v systemd-analyze >/dev/null || exit 0; \
         XDG_RUNTIME_DIR={0} HOME={0} systemd-analyze --user verify {1} 2>&1",
        dir.path().display(),
        file.display()
    );
    let said = ask(&["sh".to_owned(), "-c".to_owned(), line]);
    assert_eq!(said, Ok(String::new()));
}

#[test]
fn a_program_whose_path_has_a_dollar_is_refused() {
    let mut wanted = odd();
    wanted.words[0] = "/opt/$x/ghswarm".to_owned();
    let error = systemd::render(&wanted).unwrap_err();
    assert!(error.to_string().contains("`$`"), "{error}");
}

#[test]
fn a_value_with_a_line_break_is_refused() {
    let mut wanted = odd();
    wanted
        .env
        .push(("DOCKER_HOST".to_owned(), "a\nExecStart=b".to_owned()));
    assert!(wanted.check().is_err());
}

#[test]
fn the_keepers_answers_are_read() {
    let running = Ok("ActiveState=active\nSubState=running\nResult=success\n".to_owned());
    assert_eq!(
        systemd::state(&running),
        (true, "active, running".to_owned())
    );
    let failed = Ok("ActiveState=failed\nSubState=failed\nResult=exit-code\n".to_owned());
    assert_eq!(
        systemd::state(&failed),
        (false, "failed, failed, exit-code".to_owned())
    );
    let running = Ok("ghswarm.loop = {\n\tactive count = 1\n\tstate = running\n}".to_owned());
    assert_eq!(launchd::state(&running), (true, "running".to_owned()));
    let none = Err("could not find service".to_owned());
    assert_eq!(launchd::state(&none), (false, "not loaded".to_owned()));
}
