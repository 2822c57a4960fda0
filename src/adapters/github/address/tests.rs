//! Addresses in and out.

use super::{Address, next_link, ref_path, segment};

#[test]
fn graphql_lives_where_each_server_has_it() {
    let table = [
        ("https://api.github.com", "", "/graphql"),
        ("https://api.github.com/", "", "/graphql"),
        (
            "https://github.example.com/api/v3",
            "/api/v3",
            "/api/graphql",
        ),
        (
            "https://github.example.com/api/v3/",
            "/api/v3",
            "/api/graphql",
        ),
        ("http://127.0.0.1:8080", "", "/graphql"),
        ("http://[::1]:8080/gh", "/gh", "/gh/graphql"),
    ];
    for (text, prefix, graphql) in table {
        let address = Address::parse(text).unwrap();
        assert_eq!(
            (address.prefix.as_str(), address.graphql.as_str()),
            (prefix, graphql)
        );
    }
}

#[test]
fn an_address_that_would_leak_the_token_is_refused() {
    for text in [
        "http://github.example.com/api/v3",
        "https://user:pass@api.github.com",
        "ftp://api.github.com",
        "api.github.com",
        "/api/v3",
        "https://",
        "https://api.github.com/?x=1",
        "",
    ] {
        assert!(Address::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_next_page_on_another_host_is_asked_of_ours() {
    let plain = Address::parse("http://127.0.0.1:8080").unwrap();
    let server = Address::parse("https://github.example.com/api/v3").unwrap();
    let link = "https://elsewhere.example/api/v3/repositories/1/issues?page=2";
    assert_eq!(
        plain.relative(link).unwrap(),
        "/api/v3/repositories/1/issues?page=2"
    );
    assert_eq!(
        server.relative(link).unwrap(),
        "/api/v3/repositories/1/issues?page=2"
    );
    let short = "https://elsewhere.example/repositories/1/issues?page=2";
    assert_eq!(
        server.relative(short).unwrap(),
        "/api/v3/repositories/1/issues?page=2"
    );
}

#[test]
fn the_next_link_is_found_among_others() {
    let header = r#"<https://x/a?page=1>; rel="prev", <https://x/a?page=3>; rel="next""#;
    assert_eq!(next_link(header), Some("https://x/a?page=3"));
    assert_eq!(next_link(r#"<https://x/a?page=1>; rel="prev""#), None);
    assert_eq!(next_link("nonsense"), None);
}

#[test]
fn names_are_encoded_for_a_path() {
    assert_eq!(segment("status: idle"), "status%3A%20idle");
    assert_eq!(segment("a/b?#é"), "a%2Fb%3F%23%C3%A9");
    assert_eq!(segment("dependabot[bot]"), "dependabot%5Bbot%5D");
    assert_eq!(ref_path("leases/issue-1"), "leases/issue-1");
    assert_eq!(ref_path("heads/a#b%c"), "heads/a%23b%25c");
}
