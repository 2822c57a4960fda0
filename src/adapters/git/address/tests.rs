//! Lines of git's configuration in, addresses out.

use super::*;

fn listing(lines: &[(&str, &str, &str)]) -> Listing {
    let fields: Vec<String> = lines
        .iter()
        .flat_map(|(scope, key, value)| {
            [
                (*scope).to_owned(),
                format!("file:/{scope}"),
                format!("{key}\n{value}"),
            ]
        })
        .collect();
    Listing::parse(&fields)
}

fn addresses(lines: &[(&str, &str, &str)]) -> Addresses {
    let clone = Path::new("/clone");
    listing(lines).addresses("origin", clone).unwrap()
}

const URL: (&str, &str, &str) = ("local", "remote.origin.url", "https://github.com/a/b");

#[test]
fn pushes_go_where_the_clone_says() {
    assert_eq!(addresses(&[URL]).push, Vec::<String>::new());
    let pushed = |more| addresses(&[URL, more]).push;
    assert_eq!(pushed(("local", "remote.origin.pushurl", "x:y")), ["x:y"]);
    assert_eq!(
        pushed(("worktree", "url.x:.pushinsteadof", "https://github.com/")),
        ["x:a/b"]
    );
    assert_eq!(
        pushed(("local", "remote.origin.url", "x:y")),
        ["https://github.com/a/b", "x:y"]
    );
}

#[test]
fn the_longest_rewrite_of_the_repository_wins_and_the_users_are_left_to_git() {
    let moved = addresses(&[
        URL,
        ("local", "url.short:.insteadof", "https://"),
        ("local", "url.long:.insteadof", "https://github.com/"),
        ("global", "url.user:.insteadof", "https://github.com/a/"),
    ]);
    assert_eq!(moved.fetch, "long:a/b");
    assert_eq!(moved.push, Vec::<String>::new());
}

#[test]
fn an_empty_value_takes_back_those_before_it() {
    let urls = [
        ("global", "remote.origin.url", "x:old"),
        ("local", "remote.origin.url", ""),
        URL,
    ];
    assert_eq!(addresses(&urls), addresses(&[URL]));
}

#[test]
fn a_path_is_taken_from_the_clone_and_an_address_as_it_is() {
    for (url, expected) in [
        ("../remote.git", "/clone/../remote.git"),
        ("/abs/remote.git", "/abs/remote.git"),
        ("./odd:name", "/clone/./odd:name"),
        ("git@host:a/b", "git@host:a/b"),
        ("file:///abs", "file:///abs"),
    ] {
        let found = addresses(&[("local", "remote.origin.url", url)]);
        assert_eq!(found.fetch, expected);
    }
}

#[test]
fn only_the_login_may_change_and_it_is_not_shown() {
    let at = |url: &str| addresses(&[("local", "remote.origin.url", url)]);
    let known = at("https://me:old@github.com/a/b");
    assert_eq!(known.places(), at("https://me:new@github.com/a/b").places());
    assert_eq!(known.places(), at("https://github.com/a/b").places());
    assert_eq!(known.shown(), "`https://***@github.com/a/b`");
    for other in [
        "https://evil.example#@github.com/a/b",
        "https://evil.example\\@github.com/a/b",
        "https://evil.example?@github.com/a/b",
        "https://github.com@evil.example/a/b",
        "http://github.com/a/b",
        "https://github.com/a/c",
    ] {
        assert_ne!(known.places(), at(other).places(), "{other}");
    }
}

#[test]
fn what_is_not_obeyed_is_named_without_its_value() {
    let found = listing(&[
        URL,
        ("local", "http.extraheader", "secret"),
        ("local", "core.sshcommand", "ssh -i key"),
        ("global", "credential.helper", "store"),
    ]);
    let keys: Vec<&str> = found.not_obeyed().into_iter().collect();
    assert_eq!(keys, ["core.sshcommand", "http.extraheader"]);
}
