//! The private folder: made when needed, mended, and true to the user's own configuration.

use super::*;

impl Place {
    /// The private folder of the only clone.
    fn private(&self) -> PathBuf {
        let mut folders: Vec<PathBuf> = fs::read_dir(self.folder.path().join("home/git"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        assert_eq!(folders.len(), 1);
        folders.pop().unwrap()
    }

    /// A configuration of the user.
    fn users(&self, text: &str) -> String {
        let file = self.folder.path().join("users-config");
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_broken_private_folder_is_made_again() {
    let place = Place::new();
    place.git().fetch_base(&branch("main")).await.unwrap();
    let private = place.private();
    let garbage = |name: &str| fs::write(private.join(name), "garbage").unwrap();
    let breakages: [&dyn Fn(); 6] = [
        &|| fs::remove_file(private.join("HEAD")).unwrap(),
        &|| garbage("config"),
        &|| garbage("refs/remotes/origin/main"),
        &|| garbage("packed-refs"),
        &|| fs::remove_dir_all(private.join("refs")).unwrap(),
        &|| {
            fs::remove_dir_all(&private).unwrap();
            fs::write(&private, "").unwrap();
        },
    ];
    for (n, break_it) in breakages.iter().enumerate() {
        break_it();
        let tip = place.commit("file.txt", &format!("{n}\n"));
        git(&place.clone(), &["push", "--quiet", "origin", "main"]);
        let fetched = place.git().fetch_base(&branch("main")).await;
        assert_eq!(fetched.unwrap(), tip, "{n}");
    }
}

#[tokio::test]
async fn a_fetch_shows_in_the_clone_and_copies_nothing() {
    let place = Place::new();
    let start = place.git().fetch_base(&branch("main")).await.unwrap();
    let known = git(&place.clone(), &["rev-parse", "refs/remotes/origin/main"]);
    assert_eq!(known, start.as_str());
    let push = place.push_of_main();
    place.git().push(&push).await.unwrap();
    let known = git(&place.clone(), &["rev-parse", "origin/issue-42"]);
    assert_eq!(known, push.sha.as_str());
    let objects = fs::read_dir(place.private().join("objects")).unwrap();
    assert_eq!(objects.count(), 0);
}

#[tokio::test]
async fn a_first_fetch_does_not_bring_what_the_clone_has() {
    let place = Place::new();
    let had = git(&place.clone(), &["rev-parse", "main"]);
    let other = place.folder.path().join("other");
    let args = ["clone", "--quiet", "remote.git", "other"];
    git(place.folder.path(), &args);
    let args = ["commit", "--quiet", "--allow-empty", "-m", "more"];
    git(&other, &args);
    git(&other, &["push", "--quiet", "origin", "main"]);
    let trace = place.folder.path().join("trace");
    let git_here = place.with_env(&[("GIT_TRACE_PACKET", trace.to_str().unwrap())]);
    git_here.fetch_base(&branch("main")).await.unwrap();
    let trace = fs::read_to_string(trace).unwrap();
    assert!(trace.contains(&format!("have {had}")), "{trace}");
}

#[tokio::test]
async fn a_damaged_ref_of_the_clone_does_not_stop_a_fetch() {
    let place = Place::new();
    let tip = git(&place.clone(), &["rev-parse", "main"]);
    let orphan = git(
        &place.clone(),
        &["commit-tree", "-m", "x", "-p", &tip, "HEAD^{tree}"],
    );
    git(
        &place.clone(),
        &["update-ref", "refs/remotes/origin/main", &orphan],
    );
    let object = format!(".git/objects/{}/{}", &orphan[..2], &orphan[2..]);
    fs::remove_file(place.clone().join(object)).unwrap();
    let fetched = place.git().fetch_base(&branch("main")).await.unwrap();
    assert_eq!(fetched.as_str(), tip);
}

#[tokio::test]
async fn no_maintenance_runs_by_the_private_folders_few_refs() {
    let place = Place::new();
    let lost = place.commit("file.txt", "nobody points to it\n");
    git(&place.clone(), &["reset", "--quiet", "--hard", "HEAD~1"]);
    git(
        &place.clone(),
        &["reflog", "expire", "--expire=now", "--all"],
    );
    let users = place.users("[gc]\n\tauto = 1\n\tpruneExpire = now\n\tautoDetach = false\n");
    let git_here = place.with_env(&[("GIT_CONFIG_GLOBAL", &users)]);
    git_here.fetch_base(&branch("main")).await.unwrap();
    git_here.push(&place.push_of_main()).await.unwrap();
    git(&place.clone(), &["cat-file", "-e", lost.as_str()]);
}

#[tokio::test]
async fn what_the_user_configured_is_obeyed_also_where_it_holds_for_the_clone_only() {
    let place = Place::new();
    git(
        &place.clone(),
        &["remote", "set-url", "origin", "hub:demo/greeter"],
    );
    let rewrite = format!(
        "[url \"{}\"]\n\tinsteadOf = hub:demo/greeter\n",
        place.remote().display()
    );
    let work = place.folder.path().join("work-config");
    fs::write(&work, &rewrite).unwrap();
    let clone = place.clone().canonicalize().unwrap();
    let conditional = format!(
        "[includeIf \"gitdir:{}/\"]\n\tpath = {}\n",
        clone.display(),
        work.display()
    );
    for text in [rewrite.as_str(), conditional.as_str()] {
        let users = place.users(text);
        let git_here = place.with_env(&[("GIT_CONFIG_GLOBAL", &users)]);
        git_here.fetch_base(&branch("main")).await.unwrap();
        let pushed = git_here.push(&place.push_of_main()).await.unwrap();
        assert_eq!(pushed, PushOutcome::Pushed);
    }
}

#[tokio::test]
async fn a_password_in_the_address_is_neither_kept_beside_nor_told() {
    let place = Place::new();
    let set = |url: &str| git(&place.clone(), &["remote", "set-url", "origin", url]);
    set("http://me:hunter2@127.0.0.1:1/demo/greeter.git");
    let error = place.git().fetch_base(&branch("main")).await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
    set("http://me:hunter3@127.0.0.1:1/demo/greeter.git");
    let error = place.git().fetch_base(&branch("main")).await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
    set("http://me:hunter3@127.0.0.1:2/demo/greeter.git");
    let error = place.git().fetch_base(&branch("main")).await.unwrap_err();
    refused_with(&error, "http://***@127.0.0.1:2/demo/greeter.git");
    refused_with(&error, "`http://127.0.0.1:1/demo/greeter.git`");
    assert!(!error.to_string().contains("hunter"), "{error}");
    let known = place.private().with_extension("json");
    assert!(!fs::read_to_string(known).unwrap().contains("hunter"));
}

#[tokio::test]
async fn a_partial_clone_gets_what_it_left_out_from_the_known_remote() {
    let place = Place::new();
    git(
        &place.remote(),
        &["config", "uploadpack.allowFilter", "true"],
    );
    let narrow = place.folder.path().join("narrow");
    let url = format!("file://{}", place.remote().display());
    let args = ["clone", "--quiet", "--filter=blob:none", "--no-checkout"];
    let path = narrow.to_str().unwrap();
    git(
        place.folder.path(),
        &[&args[..], &[url.as_str(), path]].concat(),
    );
    git(&narrow, &["config", "user.name", "Ann"]);
    git(&narrow, &["config", "user.email", "ann@example.com"]);
    let settings = CliGitSettings {
        clone: narrow,
        ..place.settings()
    };
    let git_here = CliGit::new(settings, Arc::new(SystemClock));
    let start = git_here.fetch_base(&branch("main")).await.unwrap();
    let new = place.new_worktree(42, &start);
    git_here.add_worktree(&new).await.unwrap();
    fs::write(new.path.join("file.txt"), "two\n").unwrap();
    let push = Push {
        sha: git_here.commit_all(&new.path, "Two").await.unwrap(),
        to: RefName::of_branch(&new.branch),
        expected: None,
    };
    assert_eq!(git_here.push(&push).await.unwrap(), PushOutcome::Pushed);
}

#[tokio::test]
async fn a_clone_with_longer_names_of_commits_works_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    git(
        folder.path(),
        &[
            "init",
            "-q",
            "--bare",
            "--object-format=sha256",
            "remote.git",
        ],
    );
    git(
        folder.path(),
        &["init", "-q", "--object-format=sha256", "clone"],
    );
    git(
        &at("clone"),
        &["commit", "-q", "--allow-empty", "-m", "one"],
    );
    git(&at("clone"), &["remote", "add", "origin", "../remote.git"]);
    git(&at("clone"), &["push", "-q", "origin", "main"]);
    let tip = git(&at("clone"), &["rev-parse", "HEAD"]);
    let home = Home {
        path: at("home"),
        instance: "home-a".to_owned(),
    };
    let settings = CliGitSettings::of(&at("clone"), &home, RepoId(7));
    let git_here = CliGit::new(settings, Arc::new(SystemClock));
    let fetched = git_here.fetch_base(&branch("main")).await.unwrap();
    assert_eq!(fetched.as_str(), tip);
}

#[tokio::test]
async fn lfs_transfers_with_the_login_from_the_private_folder_and_fills_without() {
    let place = Place::new();
    place.commit(".gitattributes", "*.bin filter=lfs\n");
    git(&place.clone(), &["push", "--quiet", "origin", "main"]);
    let programs = place.folder.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let log = place.folder.path().join("lfs-log");
    let text = format!(
        "#!/bin/sh\necho \"$1 dir=${{GIT_DIR:-none}} token=${{GITHUB_TOKEN:-none}} \
         $(git config lfs.storage)\" >> '{}'\n",
        log.display()
    );
    fs::write(programs.join("git-lfs"), text).unwrap();
    make_executable(&programs.join("git-lfs"));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
    let git_here = place.with_env(&[("PATH", &path), ("GITHUB_TOKEN", "ghp_known")]);
    let start = git_here.fetch_base(&branch("main")).await.unwrap();
    let new = place.new_worktree(42, &start);
    git_here.add_worktree(&new).await.unwrap();
    git_here.push(&place.push_of_main()).await.unwrap();
    let storage = place.clone().canonicalize().unwrap().join(".git/lfs");
    let (private, storage) = (place.private(), storage.display().to_string());
    let with = format!("dir={} token=ghp_known {storage}", private.display());
    let lines = fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = lines.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            format!("fetch {with}").as_str(),
            "checkout dir=none token=none",
            format!("push {with}").as_str()
        ]
    );
}
