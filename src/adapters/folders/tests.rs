//! The folders, on a real file system.

use std::sync::Barrier;

use super::*;

fn at(seconds: i64) -> Timestamp {
    chrono::DateTime::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
}

fn record(claim: &str) -> ClaimRecord {
    ClaimRecord {
        repo: "acme/widget".parse().unwrap(),
        issue: IssueNumber(42),
        claim: claim.parse().unwrap(),
        epoch: crate::model::ids::Epoch(3),
        branch: "issue-42".parse().unwrap(),
        worktree: PathBuf::from("/w/issue-42"),
        at: at(0),
        lease_oid: None,
        hand: None,
    }
}

fn folders() -> (tempfile::TempDir, LocalFolders) {
    let home = tempfile::tempdir().unwrap();
    let folders = LocalFolders::new(home.path(), None, RepoId(7));
    (home, folders)
}

#[test]
fn of_eight_exclusive_creates_at_once_one_wins() {
    let (_home, folders) = folders();
    for round in 0..20 {
        let start = Barrier::new(8);
        let winners: Vec<String> = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..8)
                .map(|n| {
                    let (folders, start) = (&folders, &start);
                    scope.spawn(move || {
                        let claim = format!("c{round}-{n}");
                        start.wait();
                        folders
                            .create_claim(&record(&claim))
                            .unwrap()
                            .then_some(claim)
                    })
                })
                .collect();
            tries
                .into_iter()
                .filter_map(|t| t.join().unwrap())
                .collect()
        });
        assert_eq!(winners.len(), 1);
        let kept = folders.claim(IssueNumber(42)).unwrap().unwrap();
        assert_eq!(kept.claim.as_str(), winners[0]);
        folders.remove_claim(IssueNumber(42)).unwrap();
    }
    let left = fs::read_dir(folders.folder(IssueNumber(42)))
        .unwrap()
        .count();
    assert_eq!(left, 0, "no temporary file stays behind");
}

#[test]
fn a_damaged_run_json_is_an_error_and_not_an_absence() {
    let (_home, folders) = folders();
    folders.create_claim(&record("a")).unwrap();
    for damage in ["", "{", "{\"repo\":\"acme/widget\"}"] {
        fs::write(folders.claim_path(IssueNumber(42)), damage).unwrap();
        let error = folders.claim(IssueNumber(42)).unwrap_err();
        assert_eq!(error.refusal(), Some(Refusal::Local));
        assert!(error.to_string().contains("damaged"), "{error}");
        assert!(!folders.create_claim(&record("b")).unwrap());
    }
}

#[test]
fn a_folder_that_names_another_issue_is_refused() {
    let (_home, folders) = folders();
    folders
        .create_claim(&ClaimRecord {
            issue: IssueNumber(41),
            ..record("a")
        })
        .unwrap();
    fs::rename(
        folders.folder(IssueNumber(41)),
        folders.folder(IssueNumber(42)),
    )
    .unwrap();
    let error = folders.claim(IssueNumber(42)).unwrap_err();
    assert!(error.to_string().contains("names issue #41"), "{error}");
}

#[test]
fn a_claim_is_replaced_and_removed_and_listed() {
    let (_home, folders) = folders();
    assert_eq!(folders.claimed_issues().unwrap(), []);
    assert_eq!(folders.claim(IssueNumber(42)).unwrap(), None);
    folders.create_claim(&record("a")).unwrap();
    folders
        .create_claim(&ClaimRecord {
            issue: IssueNumber(7),
            ..record("a")
        })
        .unwrap();
    folders.replace_claim(&record("b")).unwrap();
    assert_eq!(folders.claim(IssueNumber(42)).unwrap(), Some(record("b")));
    assert_eq!(
        folders.claimed_issues().unwrap(),
        [IssueNumber(7), IssueNumber(42)]
    );
    folders.remove_claim(IssueNumber(42)).unwrap();
    folders.remove_claim(IssueNumber(42)).unwrap();
    assert_eq!(folders.claimed_issues().unwrap(), [IssueNumber(7)]);
}

#[test]
fn a_locked_issue_is_free_again_when_the_guard_is_dropped() {
    let (_home, folders) = folders();
    let guard = folders.lock(IssueNumber(42)).unwrap();
    assert!(guard.is_some());
    assert!(folders.clone().lock(IssueNumber(42)).unwrap().is_none());
    assert!(folders.lock(IssueNumber(43)).unwrap().is_some());
    drop(guard);
    assert!(folders.lock(IssueNumber(42)).unwrap().is_some());
}

#[test]
fn the_first_sight_of_a_lease_is_remembered_and_survives_damage() {
    let (_home, folders) = folders();
    let issue = IssueNumber(42);
    assert_eq!(folders.first_seen(issue, "aa", at(1)).unwrap(), at(1));
    assert_eq!(folders.first_seen(issue, "aa", at(9)).unwrap(), at(1));
    for n in 0..100 {
        folders
            .first_seen(issue, &format!("{n}"), at(10 + n))
            .unwrap();
    }
    assert_eq!(folders.first_seen(issue, "99", at(500)).unwrap(), at(109));
    fs::write(folders.folder(issue).join("first-seen.json"), "{{").unwrap();
    assert_eq!(folders.first_seen(issue, "99", at(500)).unwrap(), at(500));
}

#[test]
fn the_run_root_of_the_user_takes_the_place_of_the_home() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folders = LocalFolders::new(home.path(), Some(other.path()), RepoId(7));
    folders.create_claim(&record("a")).unwrap();
    assert!(other.path().join("7/issue-42/run.json").exists());
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn an_archive_takes_everything_but_the_lock_and_loses_nothing() {
    let home = tempfile::tempdir().unwrap();
    let folders = LocalFolders::new(home.path(), None, RepoId(1));
    let issue = IssueNumber(7);
    let _lock = folders.lock(issue).unwrap().unwrap();
    let now: Timestamp = "2026-03-02T09:00:00Z".parse().unwrap();
    let mut places = Vec::new();
    for claim in ["c-1", "c-2"] {
        let mine = ClaimRecord {
            issue,
            ..record(claim)
        };
        assert!(folders.create_claim(&mine).unwrap());
        let run = folders.folder(issue).join("200-1-implement");
        std::fs::create_dir_all(&run).unwrap();
        std::fs::write(run.join("output.log"), claim).unwrap();
        let archive = folders.supersede(issue, now).unwrap();
        // Until it is replaced: whoever comes next finds this claim or the next one, never none.
        assert_eq!(folders.claim(issue).unwrap(), Some(mine));
        folders.remove_claim(issue).unwrap();
        assert!(folders.folder(issue).join("lock").exists());
        assert!(!run.exists());
        let log = std::fs::read_to_string(archive.join("200-1-implement/output.log")).unwrap();
        assert_eq!(log, claim);
        assert!(
            std::fs::read_to_string(archive.join("run.json"))
                .unwrap()
                .contains(claim)
        );
        places.push(archive);
    }
    // Twice in one second: two archives.
    assert_ne!(places[0], places[1]);
}
