use std::path::Path;

use super::super::environment::Env;
use super::{Asked, Tool, api_of_host, api_of_remote, namespace};

/// A clone whose `origin` is this.
fn clone_of(url: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let repository = git2::Repository::init(dir.path().join("clone")).unwrap();
    repository.remote("origin", url).unwrap();
    std::fs::create_dir_all(dir.path().join("clone/src")).unwrap();
    dir
}

fn env(dir: &Path) -> Env {
    Env::default().with("HOME", &dir.display().to_string())
}

fn find(env: &Env, dir: &Path, repo: Option<&str>) -> Result<Tool, String> {
    let asked = Asked {
        repo,
        config: None,
        dir,
    };
    Tool::find(env, asked).map_err(|error| error.to_string())
}

#[test]
fn without_a_configuration_the_clone_around_says_it_all() {
    let dir = clone_of("git@github.com:demo/greeter.git");
    let tool = find(&env(dir.path()), &dir.path().join("clone/src"), None).unwrap();
    assert_eq!(tool.slug().to_string(), "demo/greeter");
    assert_eq!(tool.config.github.api_url, "https://api.github.com");
    assert_eq!(tool.config.lease.namespace, "leases");
    assert!(tool.config.github.write_spacing.is_zero() && !tool.configured);
    let top = dir.path().join("clone").canonicalize().unwrap();
    assert_eq!(tool.clone.unwrap().canonicalize().unwrap(), top);
}

#[test]
fn the_flag_beats_the_variable_and_the_variable_beats_the_clone() {
    let dir = clone_of("https://github.com/demo/greeter");
    let env = env(dir.path()).with("GH_REPO", "ghe.example.com/a/b");
    let clone = dir.path().join("clone");
    let tool = find(&env, &clone, None).unwrap();
    assert_eq!(tool.slug().to_string(), "a/b");
    assert_eq!(tool.config.github.api_url, "https://ghe.example.com/api/v3");
    assert!(tool.clone.is_none(), "the clone is another repository's");
    let tool = find(&env, &clone, Some("c/d")).unwrap();
    assert_eq!(tool.slug().to_string(), "c/d");
    let wrong = find(&env, &clone, Some("nothing")).err().unwrap();
    assert!(wrong.contains("`nothing` is no repository"), "{wrong}");
}

#[test]
fn a_configuration_that_has_the_repository_holds_but_for_the_namespace_of_the_environment() {
    let dir = clone_of("https://github.com/Demo/Greeter");
    let text = "repositories:\n  g:\n    repo: demo/greeter\n    path: /src/greeter\n    lease: {namespace: locks}\n    \
                github: {api_url: https://git.example.com/api/v3}\n    agents: {implement: {command: a}, review: {command: b}}\n";
    std::fs::write(dir.path().join(".ghswarm.yaml"), text).unwrap();
    let clone = dir.path().join("clone");
    let tool = find(&env(dir.path()), &clone, None).unwrap();
    assert!(tool.configured);
    assert_eq!(tool.config.github.api_url, "https://git.example.com/api/v3");
    assert_eq!(tool.config.lease.namespace, "locks");
    let named = env(dir.path()).with("ISSUE_LEASE_NAMESPACE", "/mine/");
    assert_eq!(
        find(&named, &clone, None).unwrap().config.lease.namespace,
        "mine"
    );
    let elsewhere = find(&env(dir.path()), &clone, Some("github.com/demo/greeter")).unwrap();
    assert_eq!(elsewhere.config.github.api_url, "https://api.github.com");
    std::fs::write(dir.path().join(".ghswarm.yaml"), "repositories: 3\n").unwrap();
    assert!(
        find(&env(dir.path()), &clone, None).is_err(),
        "never passed over"
    );
}

#[test]
fn a_worktree_belongs_to_its_clone() {
    let dir = clone_of("https://github.com/demo/greeter");
    let repository = git2::Repository::open(dir.path().join("clone")).unwrap();
    let tree = repository.index().unwrap().write_tree().unwrap();
    let who = git2::Signature::now("a", "a@example.com").unwrap();
    let tree = repository.find_tree(tree).unwrap();
    repository
        .commit(Some("HEAD"), &who, &who, "first", &tree, &[])
        .unwrap();
    let worktree = dir.path().join("worktree");
    repository.worktree("one", &worktree, None).unwrap();
    let tool = find(&env(dir.path()), &worktree, None).unwrap();
    assert_eq!(tool.slug().to_string(), "demo/greeter");
    assert!(tool.clone.unwrap().ends_with("clone"));
}

#[test]
fn outside_a_clone_the_error_says_how_to_name_the_repository() {
    let dir = tempfile::tempdir().unwrap();
    let wrong = find(&env(dir.path()), dir.path(), None).err().unwrap();
    assert_eq!(wrong, "this is not inside a git clone");
}

#[test]
fn every_server_has_its_api() {
    assert_eq!(api_of_host("GitHub.com"), "https://api.github.com");
    assert_eq!(api_of_host("acme.ghe.com"), "https://api.acme.ghe.com");
    assert_eq!(
        api_of_host("git.example.com"),
        "https://git.example.com/api/v3"
    );
    let of = |url: &str| api_of_remote(url).unwrap_or_default();
    assert_eq!(
        of("https://me:pw@github.com/a/b.git"),
        "https://api.github.com"
    );
    assert_eq!(
        of("ssh://git@ssh.github.com:443/a/b.git"),
        "https://api.github.com"
    );
    assert_eq!(
        of("git@git.example.com:a/b"),
        "https://git.example.com/api/v3"
    );
    assert_eq!(
        of("http://127.0.0.1:40/a/b.git"),
        "http://127.0.0.1:40/api/v3"
    );
    for told_nothing in ["git@work:a/b", "/srv/git/a/b.git", "file:///srv/a/b"] {
        assert_eq!(of(told_nothing), "", "{told_nothing}");
    }
}

#[test]
fn a_namespace_makes_names_of_refs_that_are_no_branches() {
    assert_eq!(namespace("/a/b/").ok().as_deref(), Some("a/b"));
    for wrong in ["/", "a b", "heads", "a..b"] {
        assert!(namespace(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_token_goes_to_no_server_that_only_the_clone_names() {
    for remote in [
        "https://evil.example.com/a/b",
        "http://127.0.0.1:9/a/b",
        "git@ghe.com.evil.example:a/b",
    ] {
        let dir = clone_of(remote);
        let clone = dir.path().join("clone");
        let refused = find(&env(dir.path()), &clone, None).err().unwrap();
        assert!(refused.contains("which nobody else has named"), "{refused}");
        let named = env(dir.path()).with("GH_HOST", "git.example.com");
        let api = find(&named, &clone, None).unwrap().config.github.api_url;
        assert_eq!(
            api, "https://git.example.com/api/v3",
            "the user's word, not the clone's"
        );
    }
    let dir = clone_of("git@acme.ghe.com:a/b");
    let tool = find(&env(dir.path()), &dir.path().join("clone"), None).unwrap();
    assert_eq!(tool.config.github.api_url, "https://api.acme.ghe.com");
}
