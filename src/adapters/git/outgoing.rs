//! What a push would bring to the remote: the branch's commits that the base lacks, with their messages
//! and what each changes. Changes nothing, and judges nothing.
//!
//! One walk of libgit2; where that cannot open the repository, a few commands of git itself, however
//! many commits there are.

use std::collections::{BTreeMap, BTreeSet};

use git2::{Commit, Diff, Oid, Repository, Sort, Tree};

use crate::model::ids::Sha;
use crate::model::limits::{PUSHED_FILE_BYTES_MAX, SECRETS_NAMED_MAX};
use crate::model::outgoing::{
    OutgoingChange, OutgoingCommit, OutgoingSecret, SecretPlace, add_unexplained, secrets_in,
    secrets_in_name,
};
use crate::model::secrets::Secrets;

use super::added::{self, Search};
use super::command::{Call, Runner};
use super::look::{LookError, Target, merge_base, merge_base_with_cli, off_thread};

/// Commits between the merge base with the base and the head, oldest first.
pub(super) async fn outgoing(
    runner: &Runner,
    call: Call<'_>,
    at: &Target,
    secrets: &Secrets,
) -> Result<Vec<OutgoingCommit>, LookError> {
    let (copy, wanted) = (at.clone(), secrets.clone());
    let mut commits = match off_thread(move || with_git2(&copy, &wanted)).await {
        Some(Ok(commits)) => commits,
        Some(Err(_)) | None => with_cli(runner, &call, at, secrets).await?,
    };
    let in_names = new_names(runner, &call, at, (&commits, secrets)).await?;
    for commit in &mut commits {
        let message = (1, commit.message.as_bytes());
        let message = secrets_in(secrets, || SecretPlace::Message, message);
        commit.secrets.extend(message);
        let of_names = commit
            .changes
            .iter()
            .filter_map(|change| in_names.get(&change.path));
        commit.secrets.extend(of_names.flatten().cloned());
        commit.secrets.sort();
        commit.secrets.dedup();
        commit.secrets.truncate(SECRETS_NAMED_MAX);
    }
    Ok(commits)
}

/// Names with secrets in them, of files that the base does not have: what it has is no secret any more.
async fn new_names(
    runner: &Runner,
    call: &Call<'_>,
    at: &Target,
    (commits, secrets): (&[OutgoingCommit], &Secrets),
) -> Result<BTreeMap<String, Vec<OutgoingSecret>>, LookError> {
    let changes = commits.iter().flat_map(|commit| &commit.changes);
    let mut named: BTreeMap<String, Vec<OutgoingSecret>> = changes
        .map(|change| (change.path.clone(), secrets_in_name(secrets, &change.path)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    if named.is_empty() {
        return Ok(named);
    }
    if let Some(base) = merge_base_with_cli(runner, call, at).await? {
        let list = call.clone().arg("ls-tree").arg("-r").arg("--name-only");
        let list = list.arg("--full-tree").arg("-z").arg(base);
        for path in runner.good(&list).await?.fields() {
            named.remove(&path);
        }
    }
    Ok(named)
}

fn with_git2(at: &Target, secrets: &Secrets) -> Result<Vec<OutgoingCommit>, LookError> {
    let repo = Repository::open(&at.path)?;
    let head = repo.head()?.peel_to_commit()?;
    let base = merge_base(&repo, at, head.id())?;
    let mut walk = repo.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    walk.push(head.id())?;
    if let Some(base) = base {
        walk.hide(base)?;
    }
    let mut commits = Vec::new();
    let mut search = Search::new(secrets);
    for id in walk {
        let commit = repo.find_commit(id?)?;
        commits.push(OutgoingCommit {
            sha: Sha::new(commit.id().to_string())?,
            message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
            changes: listed(changes_of(&repo, &commit)?),
            secrets: [
                in_header(secrets, commit.raw_header_bytes()),
                search.commit(&repo, &commit)?,
            ]
            .concat(),
        });
    }
    let old = base.map(|id| repo.find_commit(id)?.tree()).transpose()?;
    let differing = changes_between(&repo, old.as_ref(), &head.tree()?)?;
    add_unexplained(&mut commits, listed(differing));
    Ok(commits)
}

/// Names and addresses of people, a signature, whatever else a program put there.
fn in_header(secrets: &Secrets, header: &[u8]) -> Vec<OutgoingSecret> {
    secrets_in(secrets, || SecretPlace::Header, (1, header)).collect()
}

/// Against its parent; of a merge only what differs from every parent, since the rest is another commit's.
fn changes_of(repo: &Repository, commit: &Commit<'_>) -> Result<BTreeMap<String, u64>, LookError> {
    let tree = commit.tree()?;
    let mut parents = commit.parents();
    let Some(first) = parents.next() else {
        return changes_between(repo, None, &tree);
    };
    let mut changes = changes_between(repo, Some(&first.tree()?), &tree)?;
    for parent in parents {
        let others = changes_between(repo, Some(&parent.tree()?), &tree)?;
        changes.retain(|path, _| others.contains_key(path));
    }
    Ok(changes)
}

/// Differing paths, and how large each file is in `new`.
fn changes_between(
    repo: &Repository,
    old: Option<&Tree<'_>>,
    new: &Tree<'_>,
) -> Result<BTreeMap<String, u64>, LookError> {
    let diff: Diff<'_> = repo.diff_tree_to_tree(old, Some(new), None)?;
    let objects = repo.odb()?;
    // What is not here (a submodule's commit, a partial clone's old file) is not pushed from here.
    let size = |id: Oid| objects.read_header(id).map_or(0, |(size, _)| size as u64);
    let mut changes = BTreeMap::new();
    for delta in diff.deltas() {
        let bytes = size(delta.new_file().id());
        for file in [delta.old_file(), delta.new_file()] {
            if let Some(path) = file.path_bytes() {
                changes.insert(String::from_utf8_lossy(path).into_owned(), bytes);
            }
        }
    }
    Ok(changes)
}

fn listed(changes: BTreeMap<String, u64>) -> Vec<OutgoingChange> {
    let change = |(path, bytes)| OutgoingChange { path, bytes };
    changes.into_iter().map(change).collect()
}

async fn with_cli(
    runner: &Runner,
    call: &Call<'_>,
    at: &Target,
    secrets: &Secrets,
) -> Result<Vec<OutgoingCommit>, LookError> {
    let base = merge_base_with_cli(runner, call, at).await?;
    let base = base.as_deref();
    let ids = rev_list(runner, call, &["--reverse", "--topo-order"], base).await?;
    let mut commits = messages_with_cli(runner, call, &ids, secrets).await?;
    let known: BTreeSet<String> = commits.iter().map(|c| c.sha.to_string()).collect();
    // A merge is listed with what differs from every parent (`-c`), like the walk above.
    let trees = call.clone().arg("diff-tree").arg("--stdin").arg("-z");
    let trees = trees.arg("-c").arg("-r").arg("--root").arg("--no-renames");
    let trees = trees.arg("--name-only").input(&ids);
    let mut place = 0;
    for field in runner.good(&trees).await?.fields() {
        // A file may be named like a commit: it is a path then of the commit before, and neither lost
        // nor more than misplaced.
        if known.contains(&field) {
            let found = commits.iter().position(|c| c.sha.as_str() == field);
            place = found.unwrap_or(place);
        } else if let Some(commit) = commits.get_mut(place) {
            let (path, bytes) = (field, 0);
            commit.changes.push(OutgoingChange { path, bytes });
        }
    }
    added::search_with_cli(runner, call, (&ids, &mut commits), secrets).await?;
    let mut differing = differing_with_cli(runner, call, base).await?;
    differing.extend(large_with_cli(runner, call, base).await?);
    add_unexplained(&mut commits, differing);
    Ok(commits)
}

async fn rev_list(
    runner: &Runner,
    call: &Call<'_>,
    options: &[&str],
    base: Option<&str>,
) -> Result<String, LookError> {
    let mut call = call.clone().arg("rev-list");
    for option in options {
        call = call.arg(*option);
    }
    if let Some(base) = base {
        call = call.arg(format!("^{base}"));
    }
    let mut ids = runner.good(&call.arg("HEAD").arg("--")).await?.text();
    ids.push('\n');
    Ok(ids)
}

/// The commits without their changes. `cat-file` says how long each object is, so no message can look
/// like the beginning of another.
async fn messages_with_cli(
    runner: &Runner,
    call: &Call<'_>,
    ids: &str,
    secrets: &Secrets,
) -> Result<Vec<OutgoingCommit>, LookError> {
    let call = call.clone().arg("cat-file").arg("--batch").input(ids);
    let answer = runner.good(&call).await?.stdout;
    let mut rest = answer.as_slice();
    let mut commits = Vec::new();
    while !rest.is_empty() {
        let (commit, after) =
            one_object(rest, secrets).ok_or(LookError::Odd("cat-file --batch"))?;
        commits.push(commit?);
        rest = after;
    }
    Ok(commits)
}

/// `ID commit SIZE`, then so many bytes and a line's end: headers, an empty line, the message.
fn one_object<'a>(
    answer: &'a [u8],
    secrets: &Secrets,
) -> Option<(Result<OutgoingCommit, LookError>, &'a [u8])> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let mut words = head.split(' ');
    let (id, kind, size) = (words.next()?, words.next()?, words.next()?);
    let size: usize = size.parse().ok().filter(|_| kind == "commit")?;
    let object = answer.get(end + 1..end + 1 + size)?;
    let object = String::from_utf8_lossy(object);
    let (header, message) = object.split_once("\n\n").unwrap_or((&object, ""));
    let commit = Sha::new(id).map(|sha| OutgoingCommit {
        sha,
        message: message.to_owned(),
        changes: Vec::new(),
        secrets: in_header(secrets, header.as_bytes()),
    });
    Some((
        commit.map_err(LookError::from),
        answer.get(end + 2 + size..)?,
    ))
}

async fn differing_with_cli(
    runner: &Runner,
    call: &Call<'_>,
    base: Option<&str>,
) -> Result<Vec<OutgoingChange>, LookError> {
    let call = call.clone();
    let call = if let Some(base) = base {
        let call = call.arg("diff-tree").arg("-r").arg("--no-renames");
        call.arg("--name-only").arg("-z").arg(base).arg("HEAD")
    } else {
        let call = call.arg("ls-tree").arg("-r").arg("--name-only");
        call.arg("-z").arg("HEAD")
    };
    let paths = runner.good(&call).await?.fields();
    let change = |path| OutgoingChange { path, bytes: 0 };
    Ok(paths.into_iter().map(change).collect())
}

/// New files that are too large for GitHub, whichever commit has them.
async fn large_with_cli(
    runner: &Runner,
    call: &Call<'_>,
    base: Option<&str>,
) -> Result<Vec<OutgoingChange>, LookError> {
    let objects = rev_list(runner, call, &["--objects", "--no-object-names"], base).await?;
    let call = call.clone().arg("cat-file");
    let call = call.arg("--batch-check=%(objecttype) %(objectsize) %(objectname)");
    let answer = runner.good(&call.input(&objects)).await?.text();
    let large = answer.lines().filter_map(|line| {
        let (size, name) = line.strip_prefix("blob ")?.split_once(' ')?;
        let bytes = size.parse().ok().filter(|s| *s > PUSHED_FILE_BYTES_MAX)?;
        let path = format!("object {name}");
        Some(OutgoingChange { path, bytes })
    });
    Ok(large.collect())
}
