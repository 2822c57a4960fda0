//! Which file is read.

use super::super::{NotFound, locate};

#[test]
fn the_first_file_that_is_there_wins_and_a_named_one_must_be_there() {
    let home = tempfile::tempdir().unwrap();
    let first = home.path().join(".ghswarm.yaml");
    let second = home.path().join(".ghswarm.yml");
    let named = home.path().join("named.yaml");
    let flag = home.path().join("flag.yaml");
    let text = home.path().to_str().unwrap().to_owned();
    let plain = |name: &str| (name == "HOME").then(|| text.clone());
    let with_variable = |name: &str| match name {
        "HOME" => Some(text.clone()),
        "GHSWARM_CONFIG" => Some(named.to_str().unwrap().to_owned()),
        _ => None,
    };
    assert_eq!(
        locate(None, &plain),
        Err(NotFound {
            tried: vec![first.clone(), second.clone()]
        })
    );
    std::fs::write(&second, "").unwrap();
    assert_eq!(locate(None, &plain), Ok(second));
    std::fs::write(&first, "").unwrap();
    assert_eq!(locate(None, &plain), Ok(first));
    assert_eq!(
        locate(None, &with_variable),
        Err(NotFound {
            tried: vec![named.clone()]
        })
    );
    std::fs::write(&named, "").unwrap();
    assert_eq!(locate(None, &with_variable), Ok(named.clone()));
    assert_eq!(
        locate(Some(&flag), &with_variable),
        Err(NotFound {
            tried: vec![flag.clone()]
        })
    );
    std::fs::write(&flag, "").unwrap();
    assert_eq!(locate(Some(&flag), &with_variable), Ok(flag));
}
