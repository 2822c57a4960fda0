//! `ghswarm hooks`: puts the hooks of `ghswarm lease` where git, Claude Code and Codex look for them, and takes
//! them away again. What was there before stays, and everything that is changed is said.

mod claude;
mod codex;
mod pre_push;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;

use super::environment::Env;
use super::error::{CommandError, Kind};
use super::output;

/// Options of `hooks`.
#[derive(Debug, clap::Args)]
pub struct HooksOptions {
    /// What to do
    #[command(subcommand)]
    pub action: HooksAction,
}

/// What to do with hooks.
#[derive(Debug, Subcommand)]
pub enum HooksAction {
    /// Put hooks in place; without a flag: pre-push and Claude Code's, in this project
    Install(HookChoice),
    /// Take them away; without a flag: all of them
    Uninstall(HookChoice),
}

/// Which hooks.
#[derive(Debug, Clone, clap::Args)]
pub struct HookChoice {
    /// git's pre-push hook: refuses branches of issues that another agent holds
    #[arg(long)]
    pub pre_push: bool,
    /// Claude Code's, in `.claude/settings.json`: claims at the start, denies foreign edits
    #[arg(long)]
    pub claude: bool,
    /// Codex's `notify`, in `~/.codex/config.toml`: claims and renews after each turn
    #[arg(long)]
    pub codex: bool,
    /// The project, instead of the one around
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
}

/// Install or uninstall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    There,
    Gone,
}

/// Runs the command.
pub fn hooks(env: &Env, options: &HooksOptions) -> Result<ExitCode, CommandError> {
    let (wish, choice) = match &options.action {
        HooksAction::Install(choice) => (Wish::There, choice),
        HooksAction::Uninstall(choice) => (Wish::Gone, choice),
    };
    let unnamed = !(choice.pre_push || choice.claude || choice.codex);
    let project = project(choice.project.as_deref())?;
    let program = program(env)?;
    if choice.pre_push || unnamed {
        tell(&pre_push::apply(&project, &program, wish)?);
    }
    if choice.claude || unnamed {
        tell(&claude::apply(&project, &program, wish)?);
    }
    // A file of the user's home is changed only if it was named.
    if choice.codex || (unnamed && wish == Wish::Gone) {
        tell(&codex::apply(&codex_home(env)?, &program, wish)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(lines: &[String]) {
    for line in lines {
        output::data(line);
    }
}

/// The top of the worktree around, else the folder itself.
fn project(named: Option<&Path>) -> Result<PathBuf, CommandError> {
    let dir = match named {
        Some(dir) if !dir.is_dir() => {
            let what = format!("there is no folder `{}`", dir.display());
            return Err(CommandError::new(Kind::Usage, what));
        }
        Some(dir) => dir.to_owned(),
        None => std::env::current_dir()
            .map_err(|error| CommandError::outside("there is no working directory", error))?,
    };
    let top = git2::Repository::discover(&dir)
        .ok()
        .and_then(|repository| repository.workdir().map(Path::to_owned));
    Ok(top.unwrap_or(dir))
}

/// How a hook calls us: by name where that finds us, else by this program's place.
fn program(env: &Env) -> Result<String, CommandError> {
    let in_path = env
        .get("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join("ghswarm").is_file()));
    if in_path {
        return Ok("ghswarm".to_owned());
    }
    let exe = std::env::current_exe()
        .map_err(|error| CommandError::outside("cannot find this program's own file", error))?;
    Ok(exe.display().to_string())
}

fn codex_home(env: &Env) -> Result<PathBuf, CommandError> {
    let set = env.get("CODEX_HOME").map(PathBuf::from);
    set.or_else(|| Some(PathBuf::from(env.get("HOME")?).join(".codex")))
        .ok_or_else(|| {
            CommandError::new(
                Kind::Outside,
                "there is no HOME, where Codex keeps its file",
            )
        })
}

/// The program for a shell.
fn shell_word(program: &str) -> String {
    shlex::try_quote(program).map_or_else(|_| program.to_owned(), std::borrow::Cow::into_owned)
}

/// Reads a text that may not be there.
fn read(path: &Path) -> Result<Option<String>, CommandError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Err(failed(
            "read", path, error,
        )
        .hint("it is not UTF-8 text, and is left as it is; mend it, then run the command again")),
        Err(error) => Err(failed("read", path, error)),
    }
}

/// Replaces a file whole, or leaves it whole. One that is a link stays a link.
fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mode = match std::fs::metadata(path) {
        Ok(there) => there.permissions(),
        Err(_) => std::os::unix::fs::PermissionsExt::from_mode(0o644),
    };
    let new = beside(path, text, mode);
    let put = new.and_then(|new| new.persist(path).map_err(|error| error.error));
    put.map(drop).map_err(|error| failed("write", path, error))
}

/// The text, whole on the disk beside the path it is for.
fn beside(
    path: &Path,
    text: &str,
    mode: std::fs::Permissions,
) -> std::io::Result<tempfile::NamedTempFile> {
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.as_file().set_permissions(mode)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn failed(verb: &str, path: &Path, error: std::io::Error) -> CommandError {
    CommandError::outside(format!("cannot {verb} `{}`", path.display()), error)
}

#[cfg(test)]
mod tests;
