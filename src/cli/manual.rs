//! `ghswarm man`: man pages, made from the arguments, so that they say what `--help` says.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory as _;

use super::args::Args;
use super::error::{CommandError, Kind};
use super::output;

const AFTER: &str = "\
Read one without putting it anywhere: ghswarm man run | man -l -
Put them where `man` looks: ghswarm man --dir ~/.local/share/man/man1";

/// Options of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct ManOptions {
    /// The command, such as `claim release`; without one: ghswarm itself
    #[arg(value_name = "COMMAND")]
    pub words: Vec<String>,
    /// Write every page into this folder instead, which is made if it is not there
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    pub dir: Option<PathBuf>,
}

/// Runs the command.
pub fn man(options: &ManOptions) -> Result<ExitCode, CommandError> {
    if let Some(dir) = &options.dir {
        let pages = write_all(dir).map_err(|error| {
            CommandError::outside(
                format!("cannot write man pages into `{}`", dir.display()),
                error,
            )
        })?;
        output::say(&format!("wrote {pages} man pages into `{}`", dir.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let page = page(&find(&options.words)?)
        .map_err(|error| CommandError::bug("cannot write a man page", error))?;
    output::data(page.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// The whole tree, with every command's full name and the options that hold everywhere.
fn tree() -> clap::Command {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    command
}

fn find(words: &[String]) -> Result<clap::Command, CommandError> {
    let mut command = tree();
    for word in words {
        let Some(found) = command.find_subcommand(word).filter(|c| !c.is_hide_set()) else {
            let name = command.get_display_name().unwrap_or(command.get_name());
            let what = format!("`{}` has no command `{word}`", name.replace('-', " "));
            return Err(CommandError::new(Kind::Usage, what).hint("see them: ghswarm --help"));
        };
        command = found.clone();
    }
    Ok(command)
}

fn page(command: &clap::Command) -> io::Result<String> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// Answers how many there are.
fn write_all(dir: &Path) -> io::Result<usize> {
    std::fs::create_dir_all(dir)?;
    let mut left = vec![tree()];
    let mut pages = 0;
    while let Some(command) = left.pop() {
        let name = command.get_display_name().unwrap_or(command.get_name());
        std::fs::write(dir.join(format!("{name}.1")), page(&command)?)?;
        pages += 1;
        left.extend(
            command
                .get_subcommands()
                .filter(|c| !c.is_hide_set())
                .cloned(),
        );
    }
    Ok(pages)
}

#[cfg(test)]
mod tests;
