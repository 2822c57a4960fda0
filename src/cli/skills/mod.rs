//! `ghswarm skills`: the skills that teach coding agents our commands. They are part of the program, so that they fit
//! the version that runs; a copy that somebody changed is never overwritten unasked.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;

use super::environment::Env;
use super::error::{CommandError, Kind};
use super::output;

/// Every skill: its name and its text.
pub const ALL: [(&str, &str); 5] = [
    (
        "ghswarm-requirements",
        include_str!("../../../skills/ghswarm-requirements/SKILL.md"),
    ),
    (
        "ghswarm-spec",
        include_str!("../../../skills/ghswarm-spec/SKILL.md"),
    ),
    (
        "ghswarm-check",
        include_str!("../../../skills/ghswarm-check/SKILL.md"),
    ),
    (
        "ghswarm-claim",
        include_str!("../../../skills/ghswarm-claim/SKILL.md"),
    ),
    (
        "ghswarm-events",
        include_str!("../../../skills/ghswarm-events/SKILL.md"),
    ),
];

/// The name that Claude Code reads.
const FILE: &str = "SKILL.md";

const AFTER: &str = "\
Without --project and --dir it is ~/.claude/skills, for all projects of yours.
Exit status of diff: 0 nothing differs, 1 something does.";

/// Options of `skills`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct SkillsOptions {
    /// What to do
    #[command(subcommand)]
    pub action: SkillsAction,
}

/// What to do with skills.
#[derive(Debug, Subcommand)]
pub enum SkillsAction {
    /// Write the skills; one that was changed there stays, unless forced
    Install {
        /// Where
        #[command(flatten)]
        place: Place,
        /// Replace what was changed there
        #[arg(long)]
        force: bool,
    },
    /// List the skills, and which of them are there
    List {
        /// Where
        #[command(flatten)]
        place: Place,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how the skills there differ from this program's
    Diff {
        /// Where
        #[command(flatten)]
        place: Place,
    },
}

/// Where skills are.
#[derive(Debug, Clone, clap::Args)]
pub struct Place {
    /// In `.claude/skills` of the project around
    #[arg(long, conflicts_with = "dir")]
    pub project: bool,
    /// In this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// How a skill stands in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
enum Copied {
    Installed,
    Differs,
    Missing,
}

/// A line of `list`.
#[derive(Debug, serde::Serialize)]
struct Listed {
    name: &'static str,
    standing: Copied,
    file: PathBuf,
    description: &'static str,
}

/// Runs the command.
pub fn skills(env: &Env, options: &SkillsOptions) -> Result<ExitCode, CommandError> {
    match &options.action {
        SkillsAction::Install { place, force } => install(&place.folder(env)?, *force),
        SkillsAction::List { place, json } => list(&place.folder(env)?, *json),
        SkillsAction::Diff { place } => diff(&place.folder(env)?),
    }
}

impl Place {
    fn folder(&self, env: &Env) -> Result<PathBuf, CommandError> {
        if let Some(dir) = &self.dir {
            return Ok(dir.clone());
        }
        if self.project {
            let around = git2::Repository::discover(".").ok();
            let top = around.and_then(|around| around.workdir().map(Path::to_owned));
            return top.map(|top| top.join(".claude/skills")).ok_or_else(|| {
                CommandError::new(Kind::Usage, "there is no project around: no git worktree")
                    .hint("go into one, or name a folder: --dir DIR")
            });
        }
        let home = env.get("HOME").map(PathBuf::from).ok_or_else(|| {
            CommandError::new(Kind::Usage, "HOME is not set").hint("name a folder: --dir DIR")
        })?;
        Ok(home.join(".claude/skills"))
    }
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).join(FILE)
}

/// What is there under the skill's name; bytes, since a changed one may be anything.
fn there(path: &Path) -> Result<Option<Vec<u8>>, CommandError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CommandError::outside(
            format!("cannot read `{}`", path.display()),
            error,
        )),
    }
}

fn standing(found: Option<&[u8]>, text: &str) -> Copied {
    match found {
        None => Copied::Missing,
        Some(found) if found == text.as_bytes() => Copied::Installed,
        Some(_) => Copied::Differs,
    }
}

fn install(folder: &Path, force: bool) -> Result<ExitCode, CommandError> {
    let mut kept = Vec::new();
    for (name, text) in ALL {
        let path = file(folder, name);
        let said = match standing(there(&path)?.as_deref(), text) {
            Copied::Installed => "is up to date",
            Copied::Differs if !force => {
                kept.push(name);
                "was changed there, or is another version's: kept"
            }
            Copied::Differs => {
                write(&path, text)?;
                "replaced"
            }
            Copied::Missing => {
                write(&path, text)?;
                "installed"
            }
        };
        output::data(&format!("{name:<21} {said}"));
    }
    output::say(&format!("they are in `{}`", folder.display()));
    if kept.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let what = format!("kept what differs: {}", kept.join(", "));
    Err(CommandError::new(Kind::Outside, what)
        .hint("see how, with the same --project or --dir: ghswarm skills diff")
        .hint("replace it: ghswarm skills install --force"))
}

/// Whole or not at all: an agent may read it at this moment.
fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    use std::os::unix::fs::PermissionsExt as _;
    let replace = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        // In a project others read it too.
        file.as_file()
            .set_permissions(std::fs::Permissions::from_mode(0o644))?;
        file.persist(path).map_err(|error| error.error)?;
        std::io::Result::Ok(())
    };
    replace()
        .map_err(|error| CommandError::outside(format!("cannot write `{}`", path.display()), error))
}

/// The line of the front matter that says when a skill is of use.
fn description(text: &'static str) -> &'static str {
    text.lines()
        .find_map(|line| line.strip_prefix("description: "))
        .unwrap_or_default()
}

fn list(folder: &Path, json: bool) -> Result<ExitCode, CommandError> {
    let mut all = Vec::new();
    for (name, text) in ALL {
        let file = file(folder, name);
        all.push(Listed {
            name,
            standing: standing(there(&file)?.as_deref(), text),
            file,
            description: description(text),
        });
    }
    if json {
        output::json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    for skill in &all {
        let said = match skill.standing {
            Copied::Installed => "installed",
            Copied::Differs => "differs",
            Copied::Missing => "not installed",
        };
        output::data(&format!(
            "{:<21} {said:<14} {}",
            skill.name,
            first_sentence(skill.description)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first)
}

fn diff(folder: &Path) -> Result<ExitCode, CommandError> {
    let mut differs = false;
    for (name, text) in ALL {
        let path = file(folder, name);
        let Some(found) = there(&path)? else {
            output::say(&format!("{name}: not installed"));
            continue;
        };
        let changes = changes(&found, text, &path)
            .map_err(|error| CommandError::outside(format!("cannot compare `{name}`"), error))?;
        if let Some(changes) = changes {
            differs = true;
            output::data(changes.trim_end());
        }
    }
    Ok(ExitCode::from(u8::from(differs)))
}

/// From what is there to what this program would write; `None`: they are the same.
fn changes(found: &[u8], text: &str, path: &Path) -> Result<Option<String>, git2::Error> {
    if found == text.as_bytes() {
        return Ok(None);
    }
    let mut made = git2::Patch::from_buffers(found, Some(path), text.as_bytes(), Some(path), None)?;
    let buffer = made.to_buf()?;
    Ok(Some(String::from_utf8_lossy(&buffer).into_owned()))
}
