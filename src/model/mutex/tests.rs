use super::*;

#[test]
fn the_file_is_named_by_the_hash_of_the_raw_bytes() {
    // `printf foo | sha256sum`, `printf '\377' | sha256sum`
    let file = |bytes: &[u8]| MutexName::parse(bytes).unwrap().file_name();
    assert_eq!(
        file(b"foo"),
        "local-mutex-2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae.lock"
    );
    assert_eq!(
        file(b"\xff"),
        "local-mutex-a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89.lock"
    );
}

#[test]
fn blank_names_are_refused_in_every_script() {
    for name in ["", " ", "   ", "\u{a0}", "\u{3000}\u{2003}", "\u{2028}"] {
        let parsed = MutexName::parse(name.as_bytes());
        assert_eq!(parsed, Err(MutexNameError::Blank), "{name:?}");
    }
}

#[test]
fn control_characters_are_refused_wherever_they_stand() {
    for control in ['\n', '\r', '\t', '\u{1b}', '\u{7f}', '\u{80}', '\u{9f}'] {
        for name in [
            format!("{control}"),
            format!("a{control}"),
            format!("{control}b"),
            format!("a{control}b"),
        ] {
            let parsed = MutexName::parse(name.as_bytes());
            assert_eq!(parsed, Err(MutexNameError::Control(control)), "{name:?}");
        }
    }
    let after_a_wrong_byte = MutexName::parse(b"\xff\n");
    assert_eq!(after_a_wrong_byte, Err(MutexNameError::Control('\n')));
}

#[test]
fn any_other_bytes_of_any_length_are_a_name() {
    let long = vec![b'x'; 100_000];
    let names: [&[u8]; 7] = [
        b"a",
        b" a ",
        b"--help",
        "größer ☃".as_bytes(),
        b"\xff\xfe",
        b"\x9f",
        &long,
    ];
    for name in names {
        let parsed = MutexName::parse(name).unwrap();
        assert_eq!(parsed.as_bytes(), name);
        assert_eq!(parsed.file_name().len(), "local-mutex-.lock".len() + 64);
    }
}
