//! The files a command may leave in the worktree for ghswarm: a question, a review. They are written
//! by an agent, so only a regular file that really lies in the worktree is read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::adapters::processes::folder::{remove, write_whole};
use crate::model::limits::{LEFT_FILE_BYTES_MAX, LOG_OVERLAP_BYTES};
use crate::model::secrets::Secrets;
use crate::ports::processes::LeftFiles;

/// Deletes them, so that an earlier command's question is not taken for the next one's.
pub(super) fn clear(worktree: &Path, files: &[PathBuf]) {
    for file in files {
        if let Some(path) = inside(worktree, file)
            && let Err(error) = remove(&path)
        {
            tracing::warn!("cannot delete `{}`: {error}", path.display());
        }
    }
}

/// Moves files to targets, in the same order and without secrets; set aside they get the prefix `failed-`.
pub(super) fn take(
    worktree: &Path,
    (files, targets): (&[PathBuf], &[PathBuf]),
    left: LeftFiles,
    secrets: &Secrets,
) -> io::Result<()> {
    for (file, target) in files.iter().zip(targets) {
        let Some(path) = inside(worktree, file) else {
            continue;
        };
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        // A link could name any file of the operator, which would then be posted.
        if meta.is_file() {
            write_whole(&named(target, left), &read(&path, secrets)?)?;
        }
        if !meta.is_dir() {
            remove(&path)?;
        }
    }
    Ok(())
}

/// What it says, cut after its secrets are out: half of one would be none that is known.
fn read(path: &Path, secrets: &Secrets) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?
        .take(LEFT_FILE_BYTES_MAX + LOG_OVERLAP_BYTES as u64)
        .read_to_end(&mut text)?;
    let mut text = secrets.redact_bytes(&text);
    text.truncate(usize::try_from(LEFT_FILE_BYTES_MAX).unwrap_or(usize::MAX));
    Ok(text)
}

fn named(target: &Path, left: LeftFiles) -> PathBuf {
    match left {
        LeftFiles::Keep => target.to_owned(),
        LeftFiles::SetAside => {
            let name = target.file_name().unwrap_or_default().to_string_lossy();
            target.with_file_name(format!("failed-{name}"))
        }
    }
}

/// The file's path if its folder, links followed, lies in the worktree.
fn inside(worktree: &Path, file: &Path) -> Option<PathBuf> {
    let worktree = worktree.canonicalize().ok()?;
    let path = worktree.join(file);
    let folder = path.parent()?.canonicalize().ok()?;
    folder
        .starts_with(&worktree)
        .then(|| folder.join(path.file_name().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_question_moves_out_of_the_worktree() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, run) = (dir.path().join("tree"), dir.path().join("run"));
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir_all(&run).unwrap();
        fs::write(tree.join("Q.md"), "which one?").unwrap();
        let files = [PathBuf::from("Q.md")];
        let targets = [run.join("question.md")];
        let secrets = Secrets::new([]);
        take(&tree, (&files, &targets), LeftFiles::Keep, &secrets).unwrap();
        assert_eq!(
            fs::read_to_string(run.join("question.md")).unwrap(),
            "which one?"
        );
        assert!(!tree.join("Q.md").exists());
    }

    #[test]
    fn the_copies_hold_no_secret_even_where_they_are_cut() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir_all(&tree).unwrap();
        let secrets = Secrets::new(["canary-7f3a9b".to_owned()]);
        let files = [PathBuf::from("Q.md"), PathBuf::from("R.md")];
        let targets = [dir.path().join("question.md"), dir.path().join("review.md")];
        let cut = usize::try_from(LEFT_FILE_BYTES_MAX).unwrap();
        for left in [LeftFiles::Keep, LeftFiles::SetAside] {
            fs::write(tree.join("Q.md"), "is canary-7f3a9b the key?").unwrap();
            fs::write(
                tree.join("R.md"),
                format!("{}canary-7f3a9b", ".".repeat(cut - 4)),
            )
            .unwrap();
            take(&tree, (&files, &targets), left, &secrets).unwrap();
            let question = fs::read_to_string(named(&targets[0], left)).unwrap();
            assert_eq!(question, "is [redacted] the key?");
            let review = fs::read_to_string(named(&targets[1], left)).unwrap();
            assert!(review.len() == cut && !review.contains("cana"));
        }
    }

    #[test]
    fn a_link_to_a_secret_is_no_question() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir_all(&tree).unwrap();
        fs::write(dir.path().join("secret"), "key").unwrap();
        symlink(dir.path().join("secret"), tree.join("Q.md")).unwrap();
        symlink(dir.path(), tree.join("sub")).unwrap();
        let files = [PathBuf::from("Q.md"), PathBuf::from("sub/secret")];
        let targets = [dir.path().join("question.md"), dir.path().join("review.md")];
        let secrets = Secrets::new([]);
        take(&tree, (&files, &targets), LeftFiles::Keep, &secrets).unwrap();
        assert!(!targets[0].exists() && !targets[1].exists());
        assert_eq!(
            fs::read_to_string(dir.path().join("secret")).unwrap(),
            "key"
        );
    }
}
