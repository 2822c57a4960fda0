//! An agent's box: a clone that is made for one run in a container, and what comes back of it.
//!
//! It shares nothing with the user's clone: objects are copied, not linked, and only the worktree's branch
//! and the base are in it. What a container leaves in it is hostile, all of its `.git` included. So git is
//! never run in it again, not even to fetch from it: `upload-pack` reads the configuration of where it
//! serves from. Instead its objects are copied, as plain files, into a repository of ours (`read.rs`), its
//! files are read one by one (`files.rs`), and git fetches from that, checking each object.

mod files;
mod read;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::adapters::files as disk;
use crate::model::ids::{BranchName, RefName, Sha};
use crate::model::run::{BOX_META, BOX_TREE};
use crate::ports::git::{BoxWork, NewBox};
use crate::ports::{PortError, PortResult, Refusal};

use super::command::RunError;
use super::door::{in_quotes, quoted};
use super::{CliGit, local, look, place};

/// A push from the box goes nowhere, and a fetch neither.
const NOWHERE: &str = "disabled://ghswarm-boxes";

/// What a box was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Meta {
    /// The head of the worktree, and of the box at its start.
    start: Sha,
    /// The tree of the worktree with what was not committed in it.
    seed: String,
    /// The packs that git made of it: nothing that is not in the clone.
    packs: BTreeSet<String>,
    /// What the worktree is being brought to: the head, and the commit with its files. A crash in between
    /// leaves half of them, which no person wrote.
    taking: Option<(Sha, Sha)>,
}

/// What was brought over from a box: its head, and a commit with its files, the same one where all of
/// them were committed.
struct Brought {
    tip: Sha,
    files: Sha,
}

impl CliGit {
    pub(super) async fn perform_make_box(&self, new: &NewBox) -> PortResult<()> {
        let what = format!("make the box `{}`", new.folder.display());
        let failed = |e: RunError| local(&what, &e);
        let wrong = |e: io::Error| local(&what, &e);
        let (admin, owner) = self.our_admin(&new.worktree, &what).await?;
        if let Some(operation) = place::operation(&admin) {
            let words =
                format!("a {operation} is under way in the worktree; finish or abort it first");
            return Err(PortError::refused(what, Refusal::Local, words));
        }
        let start = self
            .commit_of(&new.worktree, "HEAD")
            .await
            .map_err(failed)?;
        let start = start.ok_or_else(|| local(&what, &"the worktree has no commit"))?;
        let seed = self
            .seed_of(&new.worktree, &admin, &start)
            .await
            .map_err(failed)?;
        let tree = self.tree_of(&seed).await.map_err(failed)?;
        if read_meta(&new.folder).is_some_and(|meta| meta.start == start && meta.seed == tree) {
            return Ok(());
        }
        forget(&new.folder).map_err(wrong)?;
        private_dir(&new.folder).map_err(wrong)?;
        let from = self.common().await?;
        let filled = self.fill_box((new, from), &owner.branch, (&start, &seed));
        filled.await.map_err(failed)?;
        let config = self.configuration(&new.worktree).await.map_err(failed)?;
        let file = new.folder.join(BOX_TREE).join(".git/config");
        let old = fs::read_to_string(&file).map_err(wrong)?;
        fs::write(&file, old + &config).map_err(wrong)?;
        let meta = Meta {
            start,
            seed: tree,
            packs: read::packs(&new.folder.join(BOX_TREE)).map_err(wrong)?,
            taking: None,
        };
        write_meta(&new.folder, &meta).map_err(wrong)
    }

    /// A commit of the worktree as it is: an earlier attempt may have left what is not committed.
    async fn seed_of(&self, worktree: &Path, admin: &Path, head: &Sha) -> Result<Sha, RunError> {
        let status = self.call(
            worktree,
            ["status", "--porcelain", "-z", "--untracked-files=all"],
        );
        if self.runner.good(&status).await?.stdout.is_empty() {
            return Ok(head.clone());
        }
        self.commit_dirt(worktree, admin, Some(head)).await
    }

    async fn tree_of(&self, commit: &Sha) -> Result<String, RunError> {
        let call = self.in_clone(["rev-parse", "--verify"]);
        let call = call.arg(format!("{commit}^{{tree}}"));
        Ok(self.runner.good(&call).await?.text())
    }

    async fn fill_box(
        &self,
        (new, from): (&NewBox, &Path),
        branch: &BranchName,
        (start, seed): (&Sha, &Sha),
    ) -> Result<(), RunError> {
        let tree = new.folder.join(BOX_TREE);
        let init = self.call(&new.folder, ["init", "--quiet", "--template="]);
        let init = init.arg("-b").arg(branch.as_str()).arg(BOX_TREE);
        self.runner.good(&init).await?;
        let fetch = self
            .call(&tree, FETCH)
            .within(self.settings.network_timeout);
        let fetch = fetch.arg("--update-head-ok").arg("--update-shallow");
        let mut fetch = fetch
            .arg(from)
            .arg(format!("+{start}:refs/heads/{branch}"))
            .arg(format!("+{seed}:refs/ghswarm/seed"));
        let remote = &self.settings.remote;
        for name in look::target(&new.worktree, remote, &new.base).bases {
            if let Some(base) = self.commit_of(&new.worktree, &name).await? {
                fetch = fetch.arg(format!("+{base}:refs/remotes/origin/{}", new.base));
                break;
            }
        }
        self.runner.good(&fetch).await?;
        // No filter of the host: what LFS or git-crypt keep stays as it is kept.
        let inside = |args: [&str; 3]| {
            let call = self.call(&tree, args);
            let call = call.within(self.settings.network_timeout);
            call.env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
        };
        for args in [
            ["read-tree", "--reset", "-u"],
            ["reset", "--quiet", "--mixed"],
        ] {
            let to = if args[0] == "read-tree" { seed } else { start };
            self.runner.good(&inside(args).arg(to.as_str())).await?;
        }
        let forget = inside(["update-ref", "-d", "refs/ghswarm/seed"]);
        self.runner.good(&forget).await.map(drop)
    }

    /// The box's own configuration: an agent in it commits under the user's name and nothing more of
    /// theirs, and its objects are not packed anew behind its back.
    async fn configuration(&self, worktree: &Path) -> Result<String, RunError> {
        let mut text = String::from("[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n");
        let nowhere = in_quotes(NOWHERE);
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "[remote \"origin\"]\n\turl = {nowhere}\n[user]");
        for key in ["user.name", "user.email"] {
            let ask = self.call(worktree, ["config", "--get", key]);
            let answer = self.runner.run(&ask).await?;
            if answer.code == Some(0) {
                let (key, value) = (&key["user.".len()..], in_quotes(&answer.text()));
                let _ = writeln!(text, "\t{key} = {value}");
            }
        }
        Ok(text)
    }

    /// Brings the worktree to where the box is.
    pub(super) async fn perform_take_box(&self, work: &BoxWork) -> PortResult<()> {
        let what = format!("take over the work in the box `{}`", work.folder.display());
        let Some(mut meta) = read_meta(&work.folder) else {
            return Ok(());
        };
        let failed = |e: RunError| local(&what, &e);
        let wrong = |e: io::Error| local(&what, &e);
        let (admin, owner) = self.our_admin(&work.worktree, &what).await?;
        let brought = self.bring(&what, work, &meta).await?;
        let taking = (brought.tip.clone(), brought.files.clone());
        if meta.taking.as_ref().is_none_or(|(tip, _)| *tip != taking.0) {
            let free = self.is_free(work, &admin, &meta).await.map_err(failed)?;
            if !free {
                if self
                    .is_unsaved(&brought.files, None)
                    .await
                    .map_err(failed)?
                {
                    self.keep(&what, &work.worktree, &brought.files).await?;
                }
                let words = moved(work, &brought.files);
                return Err(PortError::refused(what, Refusal::Local, words));
            }
            self.refuse_overwriting(&what, work, (&meta, &brought))
                .await?;
            meta.taking = Some(taking);
            write_meta(&work.folder, &meta).map_err(wrong)?;
        }
        let locks = Self::locks(&admin, self.common().await?, &owner.branch);
        let to = |args: [&str; 3], commit: &str| {
            let call = self.call(&work.worktree, args).arg(commit);
            call.within(self.settings.network_timeout)
                .env("GIT_LFS_SKIP_SMUDGE", "1")
        };
        // What was not committed was not in the index: else a file that is gone now would stay.
        let known = to(
            ["read-tree", "--no-recurse-submodules", "--reset"],
            &meta.seed,
        );
        let files = to(["read-tree", "--reset", "-u"], brought.files.as_str());
        let head = to(["reset", "--quiet", "--mixed"], brought.tip.as_str());
        for call in [known, files, head] {
            self.good_when_unlocked(&what, &call, &locks).await?;
        }
        done(&work.folder).map_err(wrong)
    }

    /// Is the worktree as it was when the box was made? Or a person took the work over already.
    async fn is_free(&self, work: &BoxWork, admin: &Path, meta: &Meta) -> Result<bool, RunError> {
        let head = self.commit_of(&work.worktree, "HEAD").await?;
        let Some(head) = head.filter(|head| *head == meta.start) else {
            return Ok(false);
        };
        let seed = self.seed_of(&work.worktree, admin, &head).await?;
        Ok(self.tree_of(&seed).await? == meta.seed)
    }

    /// Files of the worktree that git ignores were not in the box: a new file of the same name must not
    /// take their place.
    async fn refuse_overwriting(
        &self,
        what: &str,
        work: &BoxWork,
        (meta, brought): (&Meta, &Brought),
    ) -> PortResult<()> {
        let mut changed = Vec::new();
        for filter in ["--diff-filter=A", "--diff-filter=D"] {
            let call = self.in_clone(["diff-tree", "-r", "-z", "--name-only", "--no-renames"]);
            let call = call.arg(filter).arg(&meta.seed).arg(brought.files.as_str());
            let answer = self.runner.good(&call).await.map_err(|e| local(what, &e))?;
            changed.push(answer.fields());
        }
        let (added, removed) = (&changed[0], &changed[1]);
        let in_the_way = |name: &&String| in_the_way(&work.worktree, Path::new(*name), removed);
        let Some(name) = added.iter().find(in_the_way) else {
            return Ok(());
        };
        let path = work.worktree.join(name);
        let words = format!(
            "the agent made `{name}`, and something that git ignores lies there in the worktree: move it \
             away, see {}",
            quoted(&path)
        );
        Err(PortError::refused(what, Refusal::Local, words))
    }

    /// Keeps what only the box has under a ref, and removes it.
    pub(super) async fn perform_keep_box(&self, work: &BoxWork) -> PortResult<Option<RefName>> {
        let what = format!("keep the work in the box `{}`", work.folder.display());
        let wrong = |e: io::Error| local(&what, &e);
        let Some(meta) = read_meta(&work.folder) else {
            forget(&work.folder).map_err(wrong)?;
            return Ok(None);
        };
        let brought = self.bring(&what, work, &meta).await?;
        let tree = self
            .tree_of(&brought.files)
            .await
            .map_err(|e| local(&what, &e))?;
        let news = brought.tip != meta.start || tree != meta.seed;
        let kept = if news {
            Some(self.keep(&what, &work.worktree, &brought.files).await?)
        } else {
            None
        };
        done(&work.folder).map_err(wrong)?;
        Ok(kept)
    }

    /// Copies what is new in the box into the clone. Moves and changes nothing there.
    async fn bring(&self, what: &str, work: &BoxWork, meta: &Meta) -> PortResult<Brought> {
        let common = self.common().await?;
        let import = read::Import {
            tree: work.folder.join(BOX_TREE),
            to: work.folder.join("import"),
            objects: common.join("objects"),
        };
        let odd = |e: read::Odd| local(what, &format!("{e}; look at it: {}", quoted(&import.tree)));
        let (copy, packs) = (import.clone(), meta.packs.clone());
        let copied = look::off_thread(move || copy.copy(&packs)).await;
        let (tip, packs) = copied
            .ok_or_else(|| local(what, &"it was cut off"))?
            .map_err(odd)?;
        for pack in packs {
            let index = self
                .call(&import.to, ["index-pack"])
                .env("GIT_DIR", &*import.to);
            let index = index.within(self.settings.network_timeout).arg(pack);
            self.runner
                .good(&index)
                .await
                .map_err(|e| local(what, &e))?;
        }
        let (files, skip, head) = (import.clone(), work.skip.clone(), tip.clone());
        let made =
            look::off_thread(move || files::commit(&files.to, &files.tree, &head, &skip)).await;
        let files = made.ok_or_else(|| local(what, &"it was cut off"))?;
        let files = files.map_err(|e| local(what, &e))?;
        import.name(&tip, &files).map_err(|e| local(what, &e))?;
        // Like from a stranger: each object is read, named anew by its content, and checked.
        let fetch = self.call(&self.settings.clone, CHECKED_FETCH);
        let fetch = fetch.within(self.settings.network_timeout).arg(&import.to);
        let fetch = fetch.arg("refs/heads/tip").arg("refs/heads/files");
        self.runner
            .good(&fetch)
            .await
            .map_err(|e| local(what, &e))?;
        Ok(Brought { tip, files })
    }
}

/// `protocol.version=2` answers for any commit, not only for those that a ref names.
const FETCH: [&str; 11] = [
    "-c",
    "protocol.version=2",
    "-c",
    "protocol.file.allow=always",
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-auto-maintenance",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
    "--refmap=",
];

const CHECKED_FETCH: [&str; 13] = {
    let mut args = ["fetch.fsckObjects=true"; 13];
    args[0] = "-c";
    let mut at = 0;
    while at < FETCH.len() {
        args[at + 2] = FETCH[at];
        at += 1;
    }
    args
};

/// Does something lie where a new file goes, or where a folder of it goes, that is not of the work?
fn in_the_way(worktree: &Path, name: &Path, removed: &[String]) -> bool {
    let there = |path: &Path| fs::symlink_metadata(worktree.join(path)).ok();
    let folders = name.ancestors().skip(1);
    let mut folders = folders.filter(|path| !path.as_os_str().is_empty());
    there(name).is_some()
        || folders.any(|path| {
            let known = removed.iter().any(|name| Path::new(name) == path);
            !known && there(path).is_some_and(|meta| !meta.is_dir())
        })
}

fn moved(work: &BoxWork, kept: &Sha) -> String {
    format!(
        "the worktree `{}` was changed while the agent worked in its box, whose work is kept as {}. \
         Commit in the worktree what you want of both, and remove the box: rm -r {}",
        work.worktree.display(),
        kept.short(),
        quoted(&work.folder)
    )
}

fn read_meta(folder: &Path) -> Option<Meta> {
    let text = disk::read_if_there(&folder.join(BOX_META)).ok()??;
    serde_json::from_str(&text).ok()
}

fn write_meta(folder: &Path, meta: &Meta) -> io::Result<()> {
    disk::replace(&folder.join(BOX_META), &serde_json::to_vec_pretty(meta)?)
}

/// Its work is in the worktree, or under a ref.
fn done(folder: &Path) -> io::Result<()> {
    disk::remove_if_there(&folder.join(BOX_META))?;
    if let Err(error) = forget(folder) {
        // Files of another user's container, say.
        tracing::warn!("cannot remove the box `{}`: {error}", folder.display());
    }
    Ok(())
}

fn forget(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
