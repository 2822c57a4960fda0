//! `init`: writes a configuration file that explains itself.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::args::{Args, InitOptions};
use super::environment::Env;
use super::error::{CommandError, Kind};
use super::output;
use crate::adapters::locks;
use crate::config;

/// Only the user reads it: tokens may come to stand in it.
const MODE: u32 = 0o600;

/// Name of the schema's file in the home.
const SCHEMA: &str = "config.schema.json";

/// Runs the command.
pub fn init(env: &Env, args: &Args, options: &InitOptions) -> Result<ExitCode, CommandError> {
    let (path, usual) = place(env, args, options)?;
    let there = [Some(path.clone()), shadowed(&path, usual)];
    if let Some(there) = there.into_iter().flatten().find(|path| path.exists())
        && !options.force
    {
        let what = format!("`{}` is there already", there.display());
        let (option, named) = match usual {
            Usual::Yes => (String::new(), String::new()),
            Usual::No => (
                format!(" --config {}", quoted(&path)),
                format!(" {}", quoted(&path)),
            ),
        };
        return Err(CommandError::new(Kind::Usage, what)
            .hint(format!("look at it: ghswarm{option} config check"))
            .hint(format!("replace it: ghswarm init{named} --force")));
    }
    if path.is_dir() {
        let what = format!("`{}` is a directory", path.display());
        return Err(CommandError::new(Kind::Usage, what).hint("name a file"));
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let what = format!("there is no folder `{}`", folder.display());
        return Err(CommandError::new(Kind::Usage, what)
            .hint(format!("make it first: mkdir -p {}", quoted(folder))));
    }
    let schema = write_schema(env)?;
    let text = format!(
        "# yaml-language-server: $schema={}\n{}",
        schema.display(),
        config::EXAMPLE
    );
    replace(&path, &text).map_err(|error| {
        CommandError::outside(format!("cannot write `{}`", path.display()), error)
    })?;
    output::say(&format!("wrote `{}`; only you can read it", path.display()));
    output::say("next: put your repository and the path of your clone into it, then run:");
    let named = if usual == Usual::Yes {
        String::new()
    } else {
        format!(" --config {}", quoted(&path))
    };
    output::say(&format!("  ghswarm{named} doctor"));
    Ok(ExitCode::SUCCESS)
}

/// Is it where `ghswarm` looks by itself?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Usual {
    Yes,
    No,
}

fn place(env: &Env, args: &Args, options: &InitOptions) -> Result<(PathBuf, Usual), CommandError> {
    if let Some(path) = options.path.clone().or_else(|| args.config.clone()) {
        return Ok((path, Usual::No));
    }
    if let Some(path) = env.get("GHSWARM_CONFIG") {
        return Ok((path.into(), Usual::Yes));
    }
    match env.get("HOME") {
        Some(home) => Ok((Path::new(&home).join(".ghswarm.yaml"), Usual::Yes)),
        None => Err(CommandError::new(Kind::Usage, "HOME is not set")
            .hint("say where to write the file: ghswarm init PATH")),
    }
}

/// `.ghswarm.yml`, which would not be read any more.
fn shadowed(path: &Path, usual: Usual) -> Option<PathBuf> {
    (usual == Usual::Yes && path.ends_with(".ghswarm.yaml")).then(|| path.with_extension("yml"))
}

/// Writes the schema for editors into the home, and answers where.
fn write_schema(env: &Env) -> Result<PathBuf, CommandError> {
    let home = match (env.get("GHSWARM_HOME"), env.get("HOME")) {
        (Some(home), _) => PathBuf::from(home),
        (None, Some(home)) => Path::new(&home).join(".ghswarm"),
        (None, None) => {
            let what = "neither GHSWARM_HOME nor HOME is set";
            return Err(CommandError::new(Kind::Usage, what).hint("set one: GHSWARM_HOME=PATH"));
        }
    };
    locks::ensure_home(&home).map_err(|error| super::wiring::home_error(&error))?;
    let path = home.join(SCHEMA);
    let text = serde_json::to_string_pretty(&config::schema())
        .map_err(|error| CommandError::bug("cannot write the schema", error))?;
    replace(&path, &text).map_err(|error| {
        CommandError::outside(format!("cannot write `{}`", path.display()), error)
    })?;
    Ok(path)
}

/// Whole or not at all, and private from its first moment.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(MODE)
        .open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    shlex::try_quote(&text).map_or_else(|_| text.clone(), std::borrow::Cow::into_owned)
}
