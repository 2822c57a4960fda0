//! Fetch and push.

use super::*;

/// Somebody else's commit on a branch of the remote.
fn elsewhere(place: &Place, name: &str, force: &str) -> Sha {
    let other = place.folder.path().join("other");
    if !other.exists() {
        git(
            place.folder.path(),
            &["clone", "--quiet", "remote.git", "other"],
        );
    }
    git(
        &other,
        &["commit", "--quiet", "--allow-empty", "-m", "elsewhere"],
    );
    git(
        &other,
        &[
            "push",
            "--quiet",
            force,
            "origin",
            &format!("HEAD:refs/heads/{name}"),
        ],
    );
    sha(&git(&other, &["rev-parse", "HEAD"]))
}

#[tokio::test]
async fn the_base_is_fetched_into_a_single_branch_clone_too() {
    let place = Place::new();
    let release = elsewhere(&place, "release/1", "--quiet");
    let narrow = place.folder.path().join("narrow");
    let url = format!("file://{}", place.remote().display());
    let path = narrow.to_str().unwrap();
    let args = [
        "clone",
        "--quiet",
        "--single-branch",
        "--branch",
        "main",
        "--depth=1",
        &url,
        path,
    ];
    git(place.folder.path(), &args);
    let settings = CliGitSettings {
        clone: narrow,
        ..place.settings()
    };
    let git_here = CliGit::new(settings, Arc::new(SystemClock));
    assert_eq!(
        git_here.fetch_base(&branch("release/1")).await.unwrap(),
        release
    );
    git_here
        .add_worktree(&place.new_worktree(42, &release))
        .await
        .unwrap();
    let base = branch("release/1");
    let seen = git_here
        .worktree(&place.at("issue-42"), &base)
        .await
        .unwrap()
        .unwrap();
    assert!(!seen.differs_from_base);
}

#[tokio::test]
async fn a_rewritten_base_is_followed() {
    let place = Place::new();
    git(
        &place.clone(),
        &["push", "--quiet", "origin", "main:refs/heads/dev"],
    );
    let before = place.git().fetch_base(&branch("dev")).await.unwrap();
    let other = place.folder.path().join("rewritten");
    git(place.folder.path(), &["init", "--quiet", "rewritten"]);
    git(
        &other,
        &["commit", "--quiet", "--allow-empty", "-m", "anew"],
    );
    let remote = place.remote();
    let to = remote.to_str().unwrap();
    git(
        &other,
        &["push", "--quiet", "--force", to, "HEAD:refs/heads/dev"],
    );
    let after = place.git().fetch_base(&branch("dev")).await.unwrap();
    assert_ne!(before, after);
    assert_eq!(after.as_str(), git(&other, &["rev-parse", "HEAD"]));
}

#[tokio::test]
async fn a_base_that_exists_only_here_is_used_as_it_is() {
    let place = Place::new();
    git(&place.clone(), &["branch", "local-base"]);
    let tip = git(&place.clone(), &["rev-parse", "local-base"]);
    let base = branch("local-base");
    assert_eq!(place.git().fetch_base(&base).await.unwrap().as_str(), tip);
    let error = place
        .git()
        .fetch_base(&branch("nowhere"))
        .await
        .unwrap_err();
    assert_eq!(error.refusal(), Some(Refusal::NotFound));
    assert!(error.to_string().contains("`nowhere`"), "{error}");
}

#[tokio::test]
async fn a_ref_is_fetched_or_known_to_be_missing() {
    let place = Place::new();
    let work = elsewhere(&place, "issue-42", "--quiet");
    let name = RefName::of_branch(&branch("issue-42"));
    assert_eq!(
        place.git().fetch_ref(&name).await.unwrap(),
        Some(work.clone())
    );
    git(
        &place.remote(),
        &["update-ref", "refs/leases/wip/issue-42", work.as_str()],
    );
    let name = RefName::new("refs/leases/wip/issue-42").unwrap();
    assert_eq!(place.git().fetch_ref(&name).await.unwrap(), Some(work));
    let none = RefName::new("refs/leases/none").unwrap();
    assert_eq!(place.git().fetch_ref(&none).await.unwrap(), None);
}

#[tokio::test]
async fn a_push_happens_once_and_only_from_where_the_remote_was_seen() {
    let place = Place::new();
    let first = sha(&git(&place.clone(), &["rev-parse", "main"]));
    let to = RefName::of_branch(&branch("issue-42"));
    let push = Push {
        sha: first.clone(),
        to,
        expected: None,
    };
    assert_eq!(place.git().push(&push).await.unwrap(), PushOutcome::Pushed);
    assert_eq!(
        place.git().push(&push).await.unwrap(),
        PushOutcome::Pushed,
        "it is there already"
    );
    let second = place.commit("file.txt", "two\n");
    let onward = Push {
        sha: second,
        expected: Some(first),
        ..push.clone()
    };
    let theirs = elsewhere(&place, "issue-42", "--force");
    assert_eq!(place.git().push(&onward).await.unwrap(), PushOutcome::Stale);
    let created = Push {
        expected: None,
        ..onward.clone()
    };
    assert_eq!(
        place.git().push(&created).await.unwrap(),
        PushOutcome::Stale
    );
    assert_eq!(
        git(&place.remote(), &["rev-parse", "issue-42"]),
        theirs.as_str()
    );
    let seen = Push {
        expected: Some(theirs),
        ..onward.clone()
    };
    assert_eq!(place.git().push(&seen).await.unwrap(), PushOutcome::Pushed);
    assert_eq!(
        git(&place.remote(), &["rev-parse", "issue-42"]),
        onward.sha.as_str()
    );
}

#[tokio::test]
async fn a_refused_push_answers_the_remotes_whole_words() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let hook = place.remote().join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(
        &hook,
        "#!/bin/sh\necho 'error: GH013: rule violations'\necho 'secret found' >&2\nexit 1\n",
    )
    .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let head = sha(&git(&place.clone(), &["rev-parse", "main"]));
    let to = RefName::of_branch(&branch("issue-42"));
    let push = Push {
        sha: head,
        to,
        expected: None,
    };
    let PushOutcome::Refused(words) = place.git().push(&push).await.unwrap() else {
        panic!("it was not refused")
    };
    for part in [
        "pre-receive hook declined",
        "GH013: rule violations",
        "secret found",
    ] {
        assert!(words.contains(part), "{words}");
    }
}

#[tokio::test]
async fn an_unreachable_remote_is_unavailable_for_reads_and_writes() {
    let place = Place::new();
    // Nobody listens on port 1.
    git(
        &place.clone(),
        &["remote", "set-url", "origin", "http://127.0.0.1:1/x.git"],
    );
    let error = place.git().fetch_base(&branch("main")).await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
    let head = sha(&git(&place.clone(), &["rev-parse", "main"]));
    let to = RefName::of_branch(&branch("issue-42"));
    let error = place
        .git()
        .push(&Push {
            sha: head,
            to,
            expected: None,
        })
        .await
        .unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn a_git_folder_that_is_gone_is_named_and_blocks_nothing() {
    let place = Place::new();
    let adapter = place.git();
    adapter.fetch_base(&branch("main")).await.unwrap();
    let away = place.folder.path().join("away");
    fs::rename(place.clone().join(".git"), &away).unwrap();
    let error = adapter.fetch_base(&branch("main")).await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
    let (words, clone) = (error.to_string(), place.clone());
    for part in [
        format!("{}` is gone", clone.join(".git").display()),
        format!("git clone ADDRESS {}", clone.display()),
    ] {
        assert!(words.contains(&part), "{words}");
    }
    fs::rename(&away, clone.join(".git")).unwrap();
    adapter.fetch_base(&branch("main")).await.unwrap();
}

#[test]
fn the_header_reaches_git_in_the_environment_and_for_its_address_only() {
    let place = Place::new();
    let settings = CliGitSettings {
        env: BTreeMap::from([("GIT_CONFIG_COUNT".to_owned(), "1".to_owned())]),
        http_header: Some(HttpHeader {
            url: "http://127.0.0.1:9/".to_owned(),
            header: "Authorization: basic eA==".to_owned().into(),
        }),
        ..place.settings()
    };
    let env = environment(&settings);
    assert_eq!(env["GIT_CONFIG_COUNT"], "2");
    assert_eq!(
        env["GIT_CONFIG_KEY_1"],
        "http.http://127.0.0.1:9/.extraHeader"
    );
    assert_eq!(env["GIT_CONFIG_VALUE_1"], "Authorization: basic eA==");
    assert!(
        !format!("{settings:?}").contains("eA=="),
        "the header does not print itself"
    );
}

/// A server that takes connections and says nothing.
fn mute_server() -> (std::net::TcpListener, u16) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[tokio::test]
async fn a_remote_that_takes_the_connection_and_says_nothing_is_given_up_soon() {
    // git's own limit over HTTP; over every other way the one from outside.
    for (scheme, words) in [("http", "too slow"), ("git", "said nothing")] {
        let (_server, port) = mute_server();
        let place = Place::new();
        let url = format!("{scheme}://127.0.0.1:{port}/o/r.git");
        git(&place.clone(), &["remote", "set-url", "origin", &url]);
        let settings = CliGitSettings {
            silence_timeout: std::time::Duration::from_secs(1),
            ..place.settings()
        };
        let git_here = CliGit::new(settings, Arc::new(SystemClock));
        let main = branch("main");
        let asked = git_here.fetch_base(&main);
        let limit = std::time::Duration::from_secs(60);
        let error = tokio::time::timeout(limit, asked)
            .await
            .unwrap()
            .unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(matches!(error, PortError::Unavailable { .. }), "{error:?}");
        let head = sha(&git(&place.clone(), &["rev-parse", "HEAD"]));
        let push = Push {
            sha: head,
            to: RefName::of_branch(&branch("issue-42")),
            expected: None,
        };
        let pushed = tokio::time::timeout(limit, git_here.push(&push)).await;
        let error = pushed.unwrap().unwrap_err();
        assert!(matches!(error, PortError::Unknown { .. }), "{error:?}");
    }
}
