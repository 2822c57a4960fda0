//! What a demo leaves behind: nothing. Its runs are ended, then its folder is removed.

use std::path::{Path, PathBuf};

use super::super::output;
use crate::adapters::clock::SystemClock;
use crate::adapters::processes::ProcessRuns;
use crate::model::ids::IssueNumber;
use crate::model::limits::{STOP_LOOK_EVERY, STOP_WAIT_MAX};
use crate::model::run::RunStatus;
use crate::ports::clock::Clock as _;
use crate::ports::runs::Runs as _;

/// Ends what still runs in a demo's home, and removes the folder.
pub async fn away(dir: &Path) {
    let until = SystemClock.boot_time() + STOP_WAIT_MAX;
    while end_runs(dir) && SystemClock.boot_time() < until {
        SystemClock.sleep(STOP_LOOK_EVERY).await;
    }
    // A supervisor that just ends writes its last word into the folder that is being removed.
    while std::fs::remove_dir_all(dir).is_err() && dir.exists() {
        if SystemClock.boot_time() >= until {
            output::say(&format!("remove this yourself: {}", dir.display()));
            return;
        }
        SystemClock.sleep(STOP_LOOK_EVERY).await;
    }
}

/// Asks every run to end; is any still alive?
fn end_runs(dir: &Path) -> bool {
    let mut alive = false;
    for (repository, issue) in issues(&dir.join("home/runs")) {
        let runs = ProcessRuns::new(repository, PathBuf::new(), Vec::new());
        for run in runs.facts(issue).unwrap_or_default() {
            if matches!(run.status, RunStatus::Running { .. }) {
                alive = true;
                let _ = runs.stop(&run.key);
            }
        }
        if !alive {
            let _ = runs.sweep(issue);
        }
    }
    alive
}

/// The issues that have run folders, each with its repository's.
fn issues(root: &Path) -> Vec<(PathBuf, IssueNumber)> {
    let within = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .collect::<Vec<_>>()
    };
    let issue = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_prefix("issue-")?;
        Some((path.parent()?.to_owned(), IssueNumber(name.parse().ok()?)))
    };
    within(root)
        .iter()
        .flat_map(|repository| within(repository))
        .filter_map(issue)
        .collect()
}
