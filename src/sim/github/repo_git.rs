//! The bare repositories on disk: refs, commits, trees, merges. Knows nothing of issues or users.
//!
//! Every function opens the repository anew, since `git http-backend` writes to it behind our back.

use std::collections::BTreeMap;
use std::path::Path;

use git2::{Oid, Repository, Signature};

use crate::model::ids::Timestamp;
use crate::ports::Refusal;

use super::error::{SimError, SimResult};

/// Refs by full name.
pub(crate) type Refs = BTreeMap<String, String>;

/// What GitHub says of a commit.
#[derive(Debug, Clone)]
pub(crate) struct CommitInfo {
    pub(crate) sha: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    pub(crate) message: String,
    pub(crate) author: (String, String),
    pub(crate) committer: (String, String),
    pub(crate) date: Timestamp,
}

/// Who a commit is by, and when.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) at: Timestamp,
}

impl Stamp {
    /// How GitHub signs what a user does in the browser.
    pub(crate) fn of(login: &str, at: Timestamp) -> Self {
        let email = format!("{login}@users.noreply.github.com");
        Self {
            name: login.to_owned(),
            email,
            at,
        }
    }

    fn signature(&self) -> SimResult<Signature<'static>> {
        let time = git2::Time::new(self.at.timestamp(), 0);
        Ok(Signature::new(&self.name, &self.email, &time)?)
    }
}

/// What a ref must be before it is moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    /// Anything.
    Whatever,
    /// Not there.
    Absent,
    /// At this commit.
    At(String),
}

impl From<Option<String>> for Before {
    fn from(read: Option<String>) -> Self {
        read.map_or(Self::Absent, Self::At)
    }
}

/// One move of a ref; without `force` only forward.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    pub(crate) name: String,
    pub(crate) before: Before,
    pub(crate) after: Option<String>,
    pub(crate) force: bool,
}

fn open(path: &Path) -> SimResult<Repository> {
    Ok(Repository::open_bare(path)?)
}

fn oid(text: &str) -> SimResult<Oid> {
    Oid::from_str(text).map_err(|_| SimError::invalid(format!("Invalid object id: {text}")))
}

/// Makes an empty bare repository that accepts pushes.
pub(crate) fn init(path: &Path, default_branch: &str) -> SimResult<()> {
    let mut options = git2::RepositoryInitOptions::new();
    options
        .bare(true)
        .mkdir(true)
        .mkpath(true)
        .initial_head(default_branch);
    let repo = Repository::init_opts(path, &options)?;
    let mut config = repo.config()?;
    config.set_bool("http.receivepack", true)?;
    config.set_bool("uploadpack.allowAnySHA1InWant", true)?;
    config.set_bool("core.logAllRefUpdates", false)?;
    // A lease commit that no ref points at yet must not be swept away.
    config.set_i32("gc.auto", 0)?;
    config.set_bool("receive.autogc", false)?;
    config.set_multivar("receive.hideRefs", "^refs/pull$", "refs/pull")?;
    Ok(())
}

/// Whether pushes may write refs outside branches and tags.
pub(crate) fn allow_other_refs(
    path: &Path,
    bans: &std::collections::BTreeSet<super::model::Ban>,
) -> SimResult<()> {
    let mut config = open(path)?.config()?;
    // The last matching entry wins, and `!` takes a name out again. A missing variable is fine.
    drop(config.remove_multivar("receive.hideRefs", ".*"));
    let hidden: &[&str] = if bans.contains(&super::model::Ban::OtherRefs) {
        &["refs", "!refs/heads", "!refs/tags"]
    } else {
        &["refs/pull"]
    };
    for name in hidden {
        config.set_multivar("receive.hideRefs", "^$", name)?;
    }
    Ok(())
}

/// Copies what another repository's refs say into this one.
pub(crate) fn fetch(into: &Path, from: &Path, refspecs: &[&str]) -> SimResult<()> {
    let repo = open(into)?;
    let url = from
        .to_str()
        .ok_or_else(|| SimError::invalid("the path is not UTF-8"))?;
    let mut remote = repo.remote_anonymous(url)?;
    remote.fetch(refspecs, None, None)?;
    Ok(())
}

/// The branch a clone or a bare repository is on.
pub(crate) fn head_branch(path: &Path) -> SimResult<String> {
    let repo = Repository::open(path)?;
    let head = repo.find_reference("HEAD")?;
    let target = head
        .symbolic_target()
        .ok()
        .flatten()
        .unwrap_or("refs/heads/main");
    Ok(target.trim_start_matches("refs/heads/").to_owned())
}

/// Where a ref points, if it exists.
pub(crate) fn ref_id(path: &Path, name: &str) -> SimResult<Option<String>> {
    match open(path)?.refname_to_id(name) {
        Ok(id) => Ok(Some(id.to_string())),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) if error.code() == git2::ErrorCode::InvalidSpec => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// All refs but `HEAD`.
pub(crate) fn refs(path: &Path) -> SimResult<Refs> {
    let repo = open(path)?;
    let mut all = Refs::new();
    for reference in repo.references()? {
        let reference = reference?;
        if let (Ok(name), Some(target)) = (reference.name(), reference.target()) {
            all.insert(name.to_owned(), target.to_string());
        }
    }
    Ok(all)
}

/// A commit, if there is one of this id.
pub(crate) fn commit(path: &Path, sha: &str) -> SimResult<Option<CommitInfo>> {
    let repo = open(path)?;
    let Ok(id) = Oid::from_str(sha) else {
        return Ok(None);
    };
    let Ok(commit) = repo.find_commit(id) else {
        return Ok(None);
    };
    let person = |s: &Signature<'_>| {
        (
            s.name().unwrap_or_default().to_owned(),
            s.email().unwrap_or_default().to_owned(),
        )
    };
    Ok(Some(CommitInfo {
        sha: sha.to_owned(),
        tree: commit.tree_id().to_string(),
        parents: commit.parent_ids().map(|id| id.to_string()).collect(),
        message: commit.message().unwrap_or_default().to_owned(),
        author: person(&commit.author()),
        committer: person(&commit.committer()),
        date: Timestamp::from_timestamp(commit.time().seconds(), 0).unwrap_or_default(),
    }))
}

/// Writes a commit that no ref points at yet.
pub(crate) fn write_commit(
    path: &Path,
    message: &str,
    tree: &str,
    parents: &[String],
    stamps: (&Stamp, &Stamp),
) -> SimResult<String> {
    let repo = open(path)?;
    let tree = repo
        .find_tree(oid(tree)?)
        .map_err(|_| SimError::invalid("Tree SHA does not exist"))?;
    let mut found = Vec::new();
    for parent in parents {
        let parent = repo.find_commit(oid(parent)?).map_err(|_| {
            SimError::invalid("Parent SHA does not exist or is not a commit object")
        })?;
        found.push(parent);
    }
    let parents: Vec<&git2::Commit<'_>> = found.iter().collect();
    let (author, committer) = (stamps.0.signature()?, stamps.1.signature()?);
    Ok(repo
        .commit(None, &author, &committer, message, &tree, &parents)?
        .to_string())
}

/// A commit's tree with files put in (`Some`) or taken out (`None`).
pub(crate) fn tree_with(
    path: &Path,
    parent: Option<&str>,
    files: &[(&str, Option<&str>)],
) -> SimResult<String> {
    let repo = open(path)?;
    let mut index = git2::Index::new()?;
    if let Some(parent) = parent {
        index.read_tree(&repo.find_commit(oid(parent)?)?.tree()?)?;
    }
    for (name, content) in files {
        let Some(content) = content else {
            index.remove(Path::new(name), 0)?;
            continue;
        };
        let mode = if content.starts_with("#!") {
            0o100_755
        } else {
            0o100_644
        };
        index.add(&git2::IndexEntry {
            ctime: git2::IndexTime::new(0, 0),
            mtime: git2::IndexTime::new(0, 0),
            dev: 0,
            ino: 0,
            mode,
            uid: 0,
            gid: 0,
            file_size: 0,
            id: repo.blob(content.as_bytes())?,
            flags: 0,
            flags_extended: 0,
            path: name.as_bytes().to_vec(),
        })?;
    }
    Ok(index.write_tree_to(&repo)?.to_string())
}

/// Is `old` in the history of `new`?
pub(crate) fn contains(path: &Path, new: &str, old: &str) -> SimResult<bool> {
    if new == old {
        return Ok(true);
    }
    Ok(open(path)?
        .graph_descendant_of(oid(new)?, oid(old)?)
        .unwrap_or(false))
}

/// Commits in `new` that are not in `old`, oldest first.
pub(crate) fn commits_between(path: &Path, old: Option<&str>, new: &str) -> SimResult<Vec<String>> {
    let repo = open(path)?;
    let mut walk = repo.revwalk()?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE)?;
    walk.push(oid(new)?)?;
    if let Some(old) = old {
        walk.hide(oid(old)?)?;
    }
    walk.map(|id| Ok(id?.to_string())).collect()
}

/// Moves refs, all or none. The refs are locked before they are compared, so that a push at the
/// same moment either comes before and is seen, or fails.
pub(crate) fn move_refs(path: &Path, moves: &[Move]) -> SimResult<()> {
    let repo = open(path)?;
    let mut transaction = repo.transaction()?;
    for step in moves {
        if !git2::Reference::is_valid_name(&step.name) || !step.name.starts_with("refs/") {
            return Err(SimError::invalid(format!(
                "{} is not a valid ref name.",
                step.name
            )));
        }
        transaction
            .lock_ref(&step.name)
            .map_err(|error| SimError::stale(format!("Reference cannot be updated: {error}")))?;
    }
    for step in moves {
        check_move(&repo, step)?;
    }
    for step in moves {
        match &step.after {
            Some(after) => transaction.set_target(&step.name, oid(after)?, None, "sim")?,
            None if repo.refname_to_id(&step.name).is_ok() => transaction.remove(&step.name)?,
            None => {}
        }
    }
    Ok(transaction.commit()?)
}

fn check_move(repo: &Repository, step: &Move) -> SimResult<()> {
    let now = repo.refname_to_id(&step.name).ok().map(|id| id.to_string());
    match &step.before {
        Before::Whatever => {}
        Before::Absent if now.is_none() => {}
        Before::Absent => {
            return Err(SimError::new(
                422,
                Refusal::Exists,
                "Reference already exists",
            ));
        }
        Before::At(before) if now.as_ref() == Some(before) => {}
        Before::At(before) => {
            let name = &step.name;
            let words = format!("Expected {name} to point to \"{before}\" but it did not.");
            return Err(SimError::stale(words));
        }
    }
    let Some(after) = &step.after else {
        return Ok(());
    };
    let target = oid(after)?;
    if repo.find_object(target, None).is_err() {
        return Err(SimError::invalid("Object does not exist"));
    }
    if step.name.starts_with("refs/heads/") && repo.find_commit(target).is_err() {
        return Err(SimError::invalid("Reference update failed: not a commit"));
    }
    let forward = now.as_deref().is_none_or(|now| {
        now == after
            || oid(now).is_ok_and(|now| repo.graph_descendant_of(target, now).unwrap_or(false))
    });
    if forward || step.force {
        return Ok(());
    }
    Err(SimError::invalid("Update is not a fast forward"))
}

/// The tree of merging `head` into `base`; `None` if they conflict.
pub(crate) fn merged_tree(path: &Path, base: &str, head: &str) -> SimResult<Option<String>> {
    let repo = open(path)?;
    let (base, head) = (repo.find_commit(oid(base)?)?, repo.find_commit(oid(head)?)?);
    let mut index = repo.merge_commits(&base, &head, None)?;
    if index.has_conflicts() {
        return Ok(None);
    }
    Ok(Some(index.write_tree_to(&repo)?.to_string()))
}

/// The tree of replaying one commit onto `base`; `None` if they conflict.
pub(crate) fn replayed_tree(path: &Path, base: &str, commit: &str) -> SimResult<Option<String>> {
    let repo = open(path)?;
    let (base, commit) = (
        repo.find_commit(oid(base)?)?,
        repo.find_commit(oid(commit)?)?,
    );
    let mut index = repo.cherrypick_commit(&commit, &base, 0, None)?;
    if index.has_conflicts() {
        return Ok(None);
    }
    Ok(Some(index.write_tree_to(&repo)?.to_string()))
}

/// Writes a commit's files into a folder.
pub(crate) fn check_out(path: &Path, sha: &str, folder: &Path) -> SimResult<()> {
    let repo = open(path)?;
    let commit = repo.find_commit(oid(sha)?)?;
    let mut options = git2::build::CheckoutBuilder::new();
    options.target_dir(folder).force().update_index(false);
    Ok(repo.checkout_tree(commit.as_object(), Some(&mut options))?)
}

/// A file's text at a commit.
pub(crate) fn file(path: &Path, sha: &str, name: &str) -> SimResult<Option<String>> {
    let repo = open(path)?;
    let tree = repo.find_commit(oid(sha)?)?.tree()?;
    let Ok(entry) = tree.get_path(Path::new(name)) else {
        return Ok(None);
    };
    let blob = repo.find_blob(entry.id())?;
    Ok(Some(String::from_utf8_lossy(blob.content()).into_owned()))
}
