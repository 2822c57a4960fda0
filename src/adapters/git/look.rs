//! Looking at a worktree: branch, head, dirt, difference from the base. Changes nothing.
//!
//! libgit2 answers in-process, without starting anything. It cannot open every repository that git
//! can (sha256, reftable, split and sparse index), so on any error of it git itself is asked.

use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid, Repository, StatusOptions};

use crate::model::ids::{BranchName, Sha};

use super::command::{Call, RunError, Runner};

/// What was seen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) branch: Option<BranchName>,
    pub(super) head: Sha,
    pub(super) dirty: bool,
    pub(super) differs_from_base: bool,
}

/// What to look at.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// Candidates for the base, best first: the remote-tracking ref, then the local branch.
    pub(super) bases: [String; 2],
}

/// Wrong answers of libgit2 and texts of git that are not what they should be, alike.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookError {
    #[error(transparent)]
    Git2(#[from] git2::Error),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("`git {0}` answered something else than was asked")]
    Odd(&'static str),
    #[error(transparent)]
    Id(#[from] crate::model::ids::IdError),
}

pub(super) async fn see(runner: &Runner, call: Call<'_>, at: &Target) -> Result<Seen, LookError> {
    let copy = at.clone();
    match off_thread(move || see_with_git2(&copy)).await {
        // libgit2 runs no external filter, so files under one (LFS) look changed to it. "Clean" can
        // be believed; "dirty" is asked again.
        Some(Ok(seen)) if seen.dirty => Ok(Seen {
            dirty: is_dirty(runner, &call).await?,
            ..seen
        }),
        Some(Ok(seen)) => Ok(seen),
        Some(Err(_)) | None => see_with_cli(runner, &call, at).await,
    }
}

/// Reading a repository blocks; `None`: the reading panicked or the runtime ends.
pub(super) async fn off_thread<T: Send + 'static>(
    read: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(read).await.ok()
}

fn see_with_git2(at: &Target) -> Result<Seen, LookError> {
    let repo = Repository::open(&at.path)?;
    let head = repo.head()?;
    let commit = head.peel_to_commit()?;
    let branch = match (head.is_branch(), head.shorthand()) {
        (true, Ok(name)) => Some(BranchName::new(name)?),
        _ => None,
    };
    let mut options = StatusOptions::new();
    options
        .include_untracked(true)
        .include_ignored(false)
        .include_unmodified(false);
    let dirty = !repo.statuses(Some(&mut options))?.is_empty();
    let differs_from_base = match merge_base(&repo, at, commit.id())? {
        Some(base) => repo.find_commit(base)?.tree_id() != commit.tree_id(),
        None => true,
    };
    Ok(Seen {
        branch,
        head: Sha::new(commit.id().to_string())?,
        dirty,
        differs_from_base,
    })
}

/// The first of the bases that is known, and where the head left it.
pub(super) fn merge_base(
    repo: &Repository,
    at: &Target,
    head: Oid,
) -> Result<Option<Oid>, git2::Error> {
    for base in &at.bases {
        match repo.refname_to_id(base) {
            Ok(base) => {
                return match repo.merge_base(base, head) {
                    Err(e) if e.code() == ErrorCode::NotFound => Ok(None),
                    other => other.map(Some),
                };
            }
            Err(e) if e.code() == ErrorCode::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}

async fn is_dirty(runner: &Runner, call: &Call<'_>) -> Result<bool, RunError> {
    let call = call.clone().arg("status").arg("--porcelain").arg("-z");
    let status = runner.good(&call.arg("--untracked-files=normal")).await?;
    Ok(!status.stdout.is_empty())
}

async fn see_with_cli(runner: &Runner, call: &Call<'_>, at: &Target) -> Result<Seen, LookError> {
    let head = runner
        .good(&call.clone().arg("rev-parse").arg("HEAD^{commit}"))
        .await?
        .text();
    let symbolic = call
        .clone()
        .arg("symbolic-ref")
        .arg("-q")
        .arg("--short")
        .arg("HEAD");
    let branch = runner.run(&symbolic).await?;
    let branch = match branch.code {
        Some(0) => Some(BranchName::new(branch.text())?),
        _ => None,
    };
    let differs_from_base = match merge_base_with_cli(runner, call, at).await? {
        Some(base) => {
            let diff = call.clone().arg("diff").arg("--quiet").arg("--no-ext-diff");
            runner
                .run(&diff.arg(base).arg("HEAD").arg("--"))
                .await?
                .code
                != Some(0)
        }
        None => true,
    };
    let dirty = is_dirty(runner, call).await?;
    Ok(Seen {
        branch,
        head: Sha::new(head)?,
        dirty,
        differs_from_base,
    })
}

pub(super) async fn merge_base_with_cli(
    runner: &Runner,
    call: &Call<'_>,
    at: &Target,
) -> Result<Option<String>, RunError> {
    for base in &at.bases {
        let known = call
            .clone()
            .arg("show-ref")
            .arg("--verify")
            .arg("--quiet")
            .arg(base);
        if runner.run(&known).await?.code == Some(0) {
            let merge_base = call.clone().arg("merge-base").arg(base).arg("HEAD");
            let found = runner.run(&merge_base).await?;
            return Ok((found.code == Some(0)).then(|| found.text()));
        }
    }
    Ok(None)
}

/// Is the commit the head or an ancestor of it? One that is not here is not.
pub(super) async fn contains(
    runner: &Runner,
    call: Call<'_>,
    commit: &Sha,
) -> Result<bool, LookError> {
    let (path, wanted) = (call.folder.to_path_buf(), commit.clone());
    if let Some(Ok(answer)) = off_thread(move || contains_with_git2(&path, &wanted)).await {
        return Ok(answer);
    }
    let call = call.arg("merge-base").arg("--is-ancestor");
    let answer = runner.run(&call.arg(commit.as_str()).arg("HEAD")).await?;
    Ok(answer.code == Some(0))
}

fn contains_with_git2(path: &Path, commit: &Sha) -> Result<bool, git2::Error> {
    let repo = Repository::open(path)?;
    let head = repo.head()?.peel_to_commit()?.id();
    let wanted = Oid::from_str(commit.as_str())?;
    if head == wanted {
        return Ok(true);
    }
    match repo.find_commit(wanted) {
        Err(e) if e.code() == ErrorCode::NotFound => Ok(false),
        Err(e) => Err(e),
        Ok(_) => repo.graph_descendant_of(head, wanted),
    }
}

/// The refs under which a base may be known.
pub(super) fn bases(remote: &str, base: &BranchName) -> [String; 2] {
    [
        format!("refs/remotes/{remote}/{base}"),
        format!("refs/heads/{base}"),
    ]
}

pub(super) fn target(path: &Path, remote: &str, base: &BranchName) -> Target {
    Target {
        path: path.to_path_buf(),
        bases: bases(remote, base),
    }
}
