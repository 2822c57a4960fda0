//! git's pre-push hook. One that was there before is kept beside ours, which calls it first.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::super::error::{CommandError, Kind};
use super::{Wish, failed, read, shell_word, write};

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
    let there = read(&hook)?;
    let ours = there.as_ref().is_some_and(|text| text.contains(MARK));
    match wish {
        Wish::There => install(
            (&hook, &dir.join(BEFORE)),
            there.as_ref().filter(|_| !ours),
            program,
        ),
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

fn install(
    (hook, before): (&Path, &Path),
    foreign: Option<&String>,
    program: &str,
) -> Result<Vec<String>, CommandError> {
    let text = SCRIPT.replace(
        "\nghswarm=ghswarm\n",
        &format!("\nghswarm={}\n", shell_word(program)),
    );
    let off = "it is off until: git config issueLease.enforce true".to_owned();
    if read(hook)?.as_ref() == Some(&text) {
        return Ok(vec![format!("{}: there already", hook.display()), off]);
    }
    let mut said = Vec::new();
    if foreign.is_some() {
        if before.exists() {
            let what = format!(
                "`{}` and `{}` are both there",
                hook.display(),
                before.display()
            );
            return Err(CommandError::new(Kind::Outside, what)
                .hint("make one hook of them under the first name, and remove the second"));
        }
        std::fs::rename(hook, before).map_err(|error| failed("move", hook, error))?;
        said.push(format!(
            "{}: the hook that was there, called first",
            before.display()
        ));
    }
    write(hook, &text)?;
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755))
        .map_err(|error| failed("make a program of", hook, error))?;
    said.push(format!("{}: written", hook.display()));
    said.push(off);
    Ok(said)
}

fn uninstall(hook: &Path, before: &Path) -> Result<Vec<String>, CommandError> {
    if before.exists() {
        std::fs::rename(before, hook).map_err(|error| failed("move", before, error))?;
        return Ok(vec![format!(
            "{}: the hook that was there before is back",
            hook.display()
        )]);
    }
    std::fs::remove_file(hook).map_err(|error| failed("remove", hook, error))?;
    Ok(vec![format!("{}: removed", hook.display())])
}
