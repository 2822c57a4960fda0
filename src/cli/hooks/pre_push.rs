//! git's pre-push hook. One that was there before is kept beside ours, which calls it first.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::super::error::{CommandError, Kind};
use super::{Wish, beside, failed, shell_word};

const SCRIPT: &str = include_str!("../../../examples/hooks/pre-push");

/// A line of ours that nobody else's hook has.
const MARK: &str = "# Made by: ghswarm hooks install --pre-push";

/// Where the hook that was there before waits.
const BEFORE: &str = "pre-push.before-ghswarm";

pub(super) fn apply(
    project: &Path,
    program: &str,
    wish: Wish,
) -> Result<Vec<String>, CommandError> {
    let dir = match (hooks_dir(project), wish) {
        (Ok(dir), _) => dir,
        (Err(_), Wish::Gone) => return Ok(Vec::new()),
        (Err(error), Wish::There) => return Err(error),
    };
    let hook = dir.join("pre-push");
    let there = Found::at(&hook)?;
    let ours = matches!(&there, Found::Ours(_));
    match wish {
        Wish::There => install((&hook, &dir.join(BEFORE)), &there, program),
        Wish::Gone if ours => uninstall(&hook, &dir.join(BEFORE)),
        Wish::Gone => Ok(vec![format!("{}: nothing of ghswarm's", hook.display())]),
    }
}

/// Where git looks for hooks in this project.
fn hooks_dir(project: &Path) -> Result<PathBuf, CommandError> {
    let repository = git2::Repository::discover(project).map_err(|_| {
        let what = format!("`{}` is not inside a git clone", project.display());
        CommandError::new(Kind::Usage, what).hint("name a project: --project DIR")
    })?;
    let set = repository
        .config()
        .and_then(|config| config.get_path("core.hooksPath"));
    let top = repository.workdir().unwrap_or_else(|| repository.path());
    Ok(set.map_or_else(
        |_| repository.commondir().join("hooks"),
        |path| top.join(path),
    ))
}

/// What is there under the hook's name.
enum Found {
    Nothing,
    /// With its text.
    Ours(String),
    /// A script, a program, or a link, even one that leads nowhere.
    Foreign,
}

impl Found {
    fn at(hook: &Path) -> Result<Self, CommandError> {
        if !is_there(hook) {
            return Ok(Self::Nothing);
        }
        let bytes = match std::fs::read(hook) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::Foreign),
            Err(error) => return Err(failed("read", hook, error)),
        };
        let text = String::from_utf8(bytes).ok();
        Ok(match text.filter(|text| text.contains(MARK)) {
            Some(text) => Self::Ours(text),
            None => Self::Foreign,
        })
    }
}

/// A link that leads nowhere is there too.
fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

/// Ours is whole on the disk before anything is moved, so that a full one leaves the hook that was there.
fn install(
    (hook, before): (&Path, &Path),
    there: &Found,
    program: &str,
) -> Result<Vec<String>, CommandError> {
    let text = SCRIPT.replace(
        "\nghswarm=ghswarm\n",
        &format!("\nghswarm={}\n", shell_word(program)),
    );
    let off = "it is off until: git config issueLease.enforce true".to_owned();
    if matches!(there, Found::Ours(old) if *old == text) {
        return Ok(vec![format!("{}: there already", hook.display()), off]);
    }
    let mut said = Vec::new();
    let foreign = matches!(there, Found::Foreign);
    if foreign && is_there(before) {
        let what = format!(
            "`{}` and `{}` are both there",
            hook.display(),
            before.display()
        );
        return Err(CommandError::new(Kind::Outside, what)
            .hint("make one hook of them under the first name, and remove the second"));
    }
    let mode = std::fs::Permissions::from_mode(0o755);
    let new = beside(hook, &text, mode).map_err(|error| failed("write", hook, error))?;
    if foreign {
        // A second name: the first one is never without a hook.
        std::fs::hard_link(hook, before)
            .or_else(|_| std::fs::rename(hook, before))
            .map_err(|error| failed("move", hook, error))?;
        said.push(format!(
            "{}: the hook that was there, called first",
            before.display()
        ));
    }
    // One of ours that is a link stays a link; another's link is kept under its second name.
    let place = match there {
        Found::Ours(_) => hook.canonicalize().unwrap_or_else(|_| hook.to_owned()),
        Found::Nothing | Found::Foreign => hook.to_owned(),
    };
    if let Err(error) = new.persist(place) {
        if foreign {
            let _ = if is_there(hook) {
                std::fs::remove_file(before)
            } else {
                std::fs::rename(before, hook)
            };
        }
        return Err(failed("write", hook, error.error));
    }
    said.push(format!("{}: written", hook.display()));
    said.push(off);
    Ok(said)
}

fn uninstall(hook: &Path, before: &Path) -> Result<Vec<String>, CommandError> {
    if is_there(before) {
        std::fs::rename(before, hook).map_err(|error| failed("move", before, error))?;
        return Ok(vec![format!(
            "{}: the hook that was there before is back",
            hook.display()
        )]);
    }
    std::fs::remove_file(hook).map_err(|error| failed("remove", hook, error))?;
    Ok(vec![format!("{}: removed", hook.display())])
}
