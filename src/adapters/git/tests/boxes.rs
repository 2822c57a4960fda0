//! Boxes of agents: what goes in, what comes back, and that nothing in a hostile one is run or obeyed.

use std::os::unix::fs::symlink;

use super::*;
use crate::ports::git::{BoxWork, NewBox};

/// A worktree with its box, in which an agent is at work.
struct Case {
    place: Place,
    worktree: PathBuf,
    folder: PathBuf,
}

impl Case {
    /// The worktree has an ignored secret and what an earlier attempt left uncommitted.
    async fn new() -> Self {
        let place = Place::new();
        let worktree = place.add(42).await.path;
        fs::write(worktree.join("secret.ignored"), "key").unwrap();
        fs::write(worktree.join("earlier.txt"), "half done").unwrap();
        let folder = place.folder.path().join("runs/box");
        let case = Self {
            place,
            worktree,
            folder,
        };
        case.make().await;
        case
    }

    async fn make(&self) {
        let new = NewBox {
            folder: self.folder.clone(),
            worktree: self.worktree.clone(),
            base: branch("main"),
        };
        self.place.git().make_box(&new).await.unwrap();
    }

    fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    fn work(&self) -> BoxWork {
        BoxWork {
            folder: self.folder.clone(),
            worktree: self.worktree.clone(),
            skip: vec![PathBuf::from("QUESTION.md")],
        }
    }

    async fn take(&self) -> PortResult<()> {
        self.place.git().take_box(&self.work()).await
    }

    /// The agent makes a commit in its box.
    fn commit(&self, file: &str, text: &str) -> Sha {
        fs::write(self.tree().join(file), text).unwrap();
        git(&self.tree(), &["add", file]);
        git(&self.tree(), &["commit", "--quiet", "-m", file]);
        self.head()
    }

    fn head(&self) -> Sha {
        sha(&git(&self.tree(), &["rev-parse", "HEAD"]))
    }

    /// A place on the host where traps leave a mark.
    fn trap(&self) -> PathBuf {
        self.place.folder.path().join("trap")
    }
}

fn text(path: PathBuf) -> String {
    fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn a_box_is_a_clone_of_its_own_with_the_work_of_the_issue_alone() {
    let case = Case::new().await;
    let tree = case.tree();
    assert_eq!(text(tree.join("file.txt")), "one\n");
    assert_eq!(text(tree.join("earlier.txt")), "half done");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "?? earlier.txt");
    assert!(!tree.join("secret.ignored").exists());
    assert!(!tree.join(".git/objects/info/alternates").exists());
    let refs = git(&tree, &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/issue-42\nrefs/remotes/origin/main");
    assert_eq!(git(&tree, &["config", "user.email"]), "ann@example.com");
    shell(&format!(
        "test -z \"$(find '{}' -type f -links +1)\"",
        tree.display()
    ));
}

#[tokio::test]
async fn commits_and_uncommitted_changes_come_back() {
    let case = Case::new().await;
    let head = case.commit("new.txt", "work");
    let tree = case.tree();
    fs::write(tree.join("file.txt"), "changed\n").unwrap();
    fs::remove_file(tree.join("earlier.txt")).unwrap();
    fs::write(tree.join("loose.txt"), "not committed").unwrap();
    fs::write(tree.join("QUESTION.md"), "which one?").unwrap();
    fs::write(tree.join("built.ignored"), "of the box").unwrap();
    make_executable(&tree.join("loose.txt"));
    symlink("new.txt", tree.join("link")).unwrap();
    case.take().await.unwrap();
    let at = &case.worktree;
    assert_eq!(git(at, &["rev-parse", "issue-42"]), head.to_string());
    let status = git(at, &["status", "--porcelain"]);
    assert_eq!(status, "M file.txt\n?? link\n?? loose.txt");
    assert_eq!(text(at.join("secret.ignored")), "key");
    assert!(!at.join("built.ignored").exists());
    assert_eq!(
        fs::read_link(at.join("link")).unwrap(),
        Path::new("new.txt")
    );
    assert!(!case.folder.exists());
    case.take().await.unwrap();
}

#[tokio::test]
async fn packed_objects_a_packed_ref_and_another_branch_come_back() {
    let case = Case::new().await;
    let tree = case.tree();
    git(&tree, &["checkout", "--quiet", "-b", "mine"]);
    let head = case.commit("new.txt", "work");
    git(&tree, &["repack", "-a", "-d", "--quiet"]);
    git(&tree, &["pack-refs", "--all"]);
    case.take().await.unwrap();
    let seen = case.place.see(&case.worktree).await.unwrap();
    assert_eq!((seen.head, seen.branch), (head, Some(branch("issue-42"))));
}

#[tokio::test]
async fn a_box_is_made_again_only_of_something_else() {
    let case = Case::new().await;
    let head = case.commit("new.txt", "work");
    case.make().await;
    assert_eq!(case.head(), head, "an agent worked in it");
    fs::write(case.worktree.join("earlier.txt"), "done").unwrap();
    case.make().await;
    assert_ne!(case.head(), head);
    assert_eq!(text(case.tree().join("earlier.txt")), "done");
}

#[tokio::test]
async fn a_take_over_that_was_cut_off_is_done_again() {
    let case = Case::new().await;
    let head = case.commit("new.txt", "work");
    let copy = case.place.folder.path().join("copy");
    shell(&format!(
        "cp -a '{}' '{}'",
        case.folder.display(),
        copy.display()
    ));
    case.take().await.unwrap();
    // As if the box had stayed, and half of the files had been written.
    fs::rename(&copy, &case.folder).unwrap();
    fs::write(case.worktree.join("new.txt"), "half").unwrap();
    let mut meta: serde_json::Value =
        serde_json::from_str(&text(case.folder.join("box.json"))).unwrap();
    let files = git(&case.worktree, &["rev-parse", "HEAD"]);
    meta["taking"] = serde_json::json!([head, files]);
    fs::write(case.folder.join("box.json"), meta.to_string()).unwrap();
    case.take().await.unwrap();
    assert_eq!(text(case.worktree.join("new.txt")), "work");
    assert_eq!(
        git(&case.worktree, &["status", "--porcelain"]),
        "?? earlier.txt"
    );
}

#[tokio::test]
async fn a_worktree_that_a_person_changed_is_left_alone_and_the_work_is_kept() {
    let case = Case::new().await;
    case.commit("new.txt", "work");
    fs::write(case.worktree.join("mine.txt"), "a person's").unwrap();
    let error = case.take().await.unwrap_err();
    refused_with(&error, "was changed while the agent worked");
    case.take().await.unwrap_err();
    let kept = salvaged(&case.place.clone());
    assert_eq!(kept.len(), 1, "kept once");
    let named = git(
        &case.place.clone(),
        &["show", &format!("{}:new.txt", kept[0])],
    );
    assert_eq!(named, "work");
    assert!(!case.worktree.join("new.txt").exists());
}

#[tokio::test]
async fn an_ignored_file_of_the_host_is_not_replaced() {
    let case = Case::new().await;
    fs::write(case.tree().join("secret.ignored"), "mine").unwrap();
    git(&case.tree(), &["add", "-f", "secret.ignored"]);
    git(&case.tree(), &["commit", "--quiet", "-m", "secret"]);
    let error = case.take().await.unwrap_err();
    refused_with(&error, "something that git ignores lies there");
    assert_eq!(text(case.worktree.join("secret.ignored")), "key");
}

#[tokio::test]
async fn work_of_a_lost_run_is_kept_under_a_ref() {
    let case = Case::new().await;
    case.commit("new.txt", "work");
    let git_of = case.place.git();
    let kept = git_of.keep_box(&case.work()).await.unwrap().unwrap();
    let file = git(&case.place.clone(), &["show", &format!("{kept}:new.txt")]);
    assert_eq!(file, "work");
    assert!(!case.folder.exists() && !case.worktree.join("new.txt").exists());
    case.make().await;
    assert_eq!(
        git_of.keep_box(&case.work()).await.unwrap(),
        None,
        "no news"
    );
}

#[tokio::test]
async fn a_shallow_clone_has_boxes() {
    let place = Place::new();
    for text in ["two", "three"] {
        place.commit("file.txt", text);
    }
    git(&place.clone(), &["push", "--quiet", "origin", "main"]);
    let url = format!("file://{}", place.remote().display());
    git(
        &place.clone(),
        &["fetch", "--quiet", "--depth=1", &url, "main"],
    );
    let worktree = place.add(42).await.path;
    let folder = place.folder.path().join("runs/box");
    let case = Case {
        place,
        worktree,
        folder,
    };
    assert!(case.place.clone().join(".git/shallow").exists());
    case.make().await;
    let head = case.commit("new.txt", "work");
    case.take().await.unwrap();
    assert_eq!(
        git(&case.worktree, &["rev-parse", "HEAD"]),
        head.to_string()
    );
}

#[tokio::test]
async fn a_folder_of_the_host_that_git_ignores_is_not_replaced_by_a_link() {
    let case = Case::new().await;
    let away = case.place.folder.path().join("away");
    fs::create_dir(&away).unwrap();
    symlink(&away, case.worktree.join("cache.ignored")).unwrap();
    fs::create_dir(case.tree().join("cache.ignored")).unwrap();
    fs::write(case.tree().join("cache.ignored/file"), "x").unwrap();
    git(&case.tree(), &["add", "-f", "cache.ignored/file"]);
    git(&case.tree(), &["commit", "--quiet", "-m", "cache"]);
    let error = case.take().await.unwrap_err();
    refused_with(&error, "something that git ignores lies there");
    assert!(!away.join("file").exists());
}

/// Everything by which a repository makes git run something, or read something that is elsewhere.
#[tokio::test]
async fn nothing_that_is_planted_in_a_box_is_run() {
    let case = Case::new().await;
    let (tree, trap) = (case.tree(), case.trap());
    let head = case.commit("new.txt", "work");
    let script = case.place.folder.path().join("snare.sh");
    fs::write(
        &script,
        format!("#!/bin/sh\ntouch '{}'\ncat\n", trap.display()),
    )
    .unwrap();
    make_executable(&script);
    let snare = script.display();
    let config = format!(
        "[core]\n\tfsmonitor = {snare}\n\thooksPath = {0}\n\tsshCommand = {snare}\n\tworktree = /\n\
         [uploadpack]\n\tpackObjectsHook = {snare}\n[filter \"x\"]\n\tclean = {snare}\n\tsmudge = {snare}\n\
         [extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = ext::sh {snare}\n\
         \tpromisor = true\n\tuploadpack = {snare}\n[diff]\n\texternal = {snare}\n",
        case.place.folder.path().display()
    );
    fs::write(tree.join(".git/config"), config).unwrap();
    fs::create_dir_all(tree.join(".git/hooks")).unwrap();
    for hook in [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-commit",
    ] {
        fs::copy(&script, tree.join(".git/hooks").join(hook)).unwrap();
        fs::copy(&script, case.place.folder.path().join(hook)).unwrap();
    }
    fs::write(tree.join(".git/info"), "").unwrap_or_default();
    fs::write(tree.join(".gitattributes"), "* filter=x diff=x\n").unwrap();
    // A repository in the repository, with the same configuration.
    shell(&format!(
        "cp -a '{0}/.git' '{0}/.GIT'; mkdir '{0}/sub'; cp -a '{0}/.git' '{0}/sub/.git'",
        tree.display()
    ));
    fs::write(tree.join("sub/file"), "kept").unwrap();
    case.take().await.unwrap();
    assert!(!trap.exists(), "something was run");
    let at = &case.worktree;
    assert_eq!(git(at, &["rev-parse", "HEAD"]), head.to_string());
    assert_eq!(text(at.join("sub/file")), "kept");
    assert!(!at.join("sub/.git").exists() && !at.join(".GIT").exists());
    let seen = case.place.see(at).await.unwrap();
    assert!(seen.ours && seen.dirty);
}

/// Pipes, links and folders in the place of what git leaves: refused with the path, or no work of anybody.
#[tokio::test]
async fn links_and_pipes_in_a_box_lead_nowhere() {
    let host = |case: &Case| {
        let other = case.place.folder.path().join("other");
        git(
            case.place.folder.path(),
            &["clone", "--quiet", "clone", "other"],
        );
        fs::write(other.join("private.txt"), "of another project").unwrap();
        git(&other, &["add", "-A"]);
        git(&other, &["commit", "--quiet", "-m", "private"]);
        other
    };
    for (what, plant) in [
        ("folder", "rm -rf .git && ln -s \"$OTHER/.git\" .git"),
        (
            "folder",
            "rm -rf .git && echo \"gitdir: $OTHER/.git\" > .git",
        ),
        (
            "folder",
            "rm -rf .git/objects && ln -s \"$OTHER/.git/objects\" .git/objects",
        ),
        (
            "file",
            "rm .git/HEAD && ln -s \"$OTHER/.git/HEAD\" .git/HEAD",
        ),
        ("file", "rm .git/HEAD && mkfifo .git/HEAD"),
        (
            "file",
            "rm -f .git/refs/heads/issue-42; ln -s \"$OTHER/.git/refs/heads/main\" .git/refs/heads/issue-42",
        ),
        (
            "names no commit",
            "echo 'ref: refs/heads/../../x' > .git/HEAD",
        ),
        (
            "object not found",
            "mkdir -p .git/objects/info; echo \"$OTHER/.git/objects\" > .git/objects/info/alternates; \
             cat \"$OTHER/.git/refs/heads/main\" > .git/HEAD",
        ),
    ] {
        let case = Case::new().await;
        let other = host(&case);
        shell(&format!(
            "cd '{}' && OTHER='{}' && {plant}",
            case.tree().display(),
            other.display()
        ));
        let error = case.take().await.unwrap_err();
        assert!(error.to_string().contains(what), "{plant}: {error}");
        assert!(!case.worktree.join("private.txt").exists(), "{plant}");
        assert!(case.folder.exists(), "{plant}: the box stays");
    }
}

#[tokio::test]
async fn odd_files_are_no_work_and_a_link_is_only_a_link() {
    let case = Case::new().await;
    let tree = case.tree();
    shell(&format!(
        "cd '{}' && mkfifo pipe .gitattributes && rm -f .gitignore && ln -s /dev/zero .gitignore && \
         ln -s /etc/passwd passwd && ln -s / root",
        tree.display()
    ));
    case.take().await.unwrap();
    let at = &case.worktree;
    assert!(!at.join("pipe").exists() && !at.join(".gitattributes").exists());
    assert_eq!(
        fs::read_link(at.join("passwd")).unwrap(),
        Path::new("/etc/passwd")
    );
    assert_eq!(
        fs::read_link(at.join(".gitignore")).unwrap(),
        Path::new("/dev/zero")
    );
}

/// Trees that no git makes: a file of git's own, a way out.
#[tokio::test]
async fn a_commit_with_a_forged_tree_is_refused() {
    for name in [".git", ".GIT", "..", ".git\u{200c}"] {
        let case = Case::new().await;
        let tree = case.tree();
        let blob = git(&tree, &["hash-object", "-w", "file.txt"]);
        let repo = git2::Repository::open(&tree).unwrap();
        let mut raw = format!("100644 {name}\0").into_bytes();
        raw.extend(git2::Oid::from_str(&blob).unwrap().as_bytes());
        let odb = repo.odb().unwrap();
        let forged = odb.write(git2::ObjectType::Tree, &raw).unwrap().to_string();
        let head = case.head().to_string();
        let commit = git(&tree, &["commit-tree", &forged, "-p", &head, "-m", "x"]);
        git(&tree, &["update-ref", "HEAD", &commit]);
        let error = case.take().await.unwrap_err();
        assert_eq!(error.refusal(), Some(Refusal::Local), "{name}: {error}");
        let now = git(&case.worktree, &["rev-parse", "HEAD"]);
        assert_ne!(now, commit, "{name}");
    }
}
