//! Addresses of clones, judged.

use std::path::Path;

use super::{belongs, slug_of, ssh_alias, without_login};
use crate::config::{self, RepoConfig};

fn with_api(api_url: &str) -> RepoConfig {
    let file = format!(
        "repositories:\n  one:\n    repo: demo/greeter\n    path: /src/greeter\n    github: {{api_url: \"{api_url}\"}}\n    \
         agents: {{implement: {{command: \"true\"}}, review: {{command: \"true\"}}}}\n"
    );
    let home = |name: &str| (name == "HOME").then(|| "/home/me".to_owned());
    let config = config::load(&file, Path::new("ghswarm.yaml"), &home).unwrap();
    config.repositories.into_values().next().unwrap()
}

/// The error's words and hints; empty where the address is right.
fn judged(api_url: &str, origin: &str) -> String {
    let config = with_api(api_url);
    match belongs(&config, origin, &config.repo) {
        Ok(()) => String::new(),
        Err(error) => format!("{error}\n{}", error.hints().join("\n")),
    }
}

const DOT_COM: &str = "https://api.github.com";

#[test]
fn an_origin_on_the_server_that_the_api_belongs_to_is_right() {
    for (api_url, origin) in [
        (DOT_COM, "https://github.com/demo/greeter.git"),
        (DOT_COM, "https://me:secret@www.github.com:443/demo/greeter"),
        (DOT_COM, "git@github.com:demo/greeter.git"),
        (DOT_COM, "git@github-work:demo/greeter.git"),
        (DOT_COM, "/srv/mirrors/demo/greeter"),
        (DOT_COM, "file:///srv/mirrors/demo/greeter"),
        (
            "https://api.acme.ghe.com",
            "https://acme.ghe.com/demo/greeter.git",
        ),
        (
            "https://ghe.example.com/api/v3",
            "https://GHE.example.com/demo/greeter.git",
        ),
        (
            "https://ghe.example.com:8443/api/v3",
            "https://ghe.example.com:8443/demo/greeter.git",
        ),
        (
            "http://localhost:4040",
            "http://127.0.0.1:4040/demo/greeter.git",
        ),
        (
            "https://cache.example.com/github",
            "https://github.com/demo/greeter.git",
        ),
    ] {
        assert_eq!(judged(api_url, origin), "", "{api_url} {origin}");
    }
}

#[test]
fn an_origin_on_another_server_or_port_is_refused_with_the_command_that_mends_it() {
    for (api_url, origin) in [
        (DOT_COM, "https://gitlab.com/demo/greeter.git"),
        (DOT_COM, "https://github.com:8443/demo/greeter.git"),
        (DOT_COM, "https://github.com.example.com/demo/greeter.git"),
        (
            "https://ghe.example.com/api/v3",
            "https://github.com/demo/greeter.git",
        ),
        (
            "http://127.0.0.1:4040",
            "http://127.0.0.1:4041/demo/greeter.git",
        ),
    ] {
        let said = judged(api_url, origin);
        assert!(
            said.contains("git -C /src/greeter remote set-url origin http"),
            "{api_url} {origin}: {said}"
        );
    }
    let said = judged(DOT_COM, "https://me:secret@gitlab.com/demo/greeter.git");
    assert!(
        said.contains("its `origin` is on `gitlab.com`")
            && said.contains("means `github.com`")
            && said.contains("set-url origin https://github.com/demo/greeter.git")
            && !said.contains("secret"),
        "{said}"
    );
}

#[test]
fn an_ssh_name_that_is_not_the_servers_is_noted_as_an_alias() {
    let config = with_api(DOT_COM);
    let alias = |url| ssh_alias(&config, url).map(|(alias, _)| alias);
    assert_eq!(
        alias("git@github-work:demo/greeter.git").as_deref(),
        Some("github-work")
    );
    assert_eq!(alias("git@github.com:demo/greeter.git"), None);
    assert_eq!(alias("ssh://git@ssh.github.com:443/demo/greeter.git"), None);
    assert_eq!(alias("https://github.com/demo/greeter.git"), None);
}

#[test]
fn every_form_of_address_names_its_repository() {
    for url in [
        "https://github.com/demo/greeter.git",
        "https://github.com/demo/greeter/",
        "ssh://git@github.com:22/demo/greeter.git",
        "git@work-alias:demo/greeter.git",
        "http://127.0.0.1:4040/demo/greeter.git",
    ] {
        assert_eq!(slug_of(url).as_deref(), Some("demo/greeter"), "{url}");
    }
    assert_eq!(slug_of("greeter"), None);
}

#[test]
fn an_address_is_shown_without_its_password() {
    assert_eq!(
        without_login("https://me:secret@example.com/a/b"),
        "https://example.com/a/b"
    );
    assert_eq!(without_login("git@host:a/b"), "git@host:a/b");
}
