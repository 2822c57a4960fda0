//! `ghswarm completions`: what a shell needs to complete our arguments, made from the arguments themselves.

use std::process::ExitCode;

use clap::{CommandFactory as _, ValueEnum};
use clap_complete::Shell;

use super::args::Args;
use super::error::CommandError;
use super::output;

const AFTER: &str = "\
Put it where your shell looks, for example:
  ghswarm completions bash > ~/.local/share/bash-completion/completions/ghswarm
  ghswarm completions zsh > ~/.zfunc/_ghswarm        (with `fpath+=~/.zfunc` before compinit)
  ghswarm completions fish > ~/.config/fish/completions/ghswarm.fish";

/// Options of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct CompletionsOptions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: KnownShell,
}

/// Shells that the completions are tried with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KnownShell {
    /// GNU bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

/// Runs the command.
pub fn completions(options: &CompletionsOptions) -> Result<ExitCode, CommandError> {
    let text = render(options.shell)?;
    output::data(text.trim_end());
    Ok(ExitCode::SUCCESS)
}

fn render(shell: KnownShell) -> Result<String, CommandError> {
    let shell = match shell {
        KnownShell::Bash => Shell::Bash,
        KnownShell::Zsh => Shell::Zsh,
        KnownShell::Fish => Shell::Fish,
    };
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "ghswarm", &mut bytes);
    String::from_utf8(bytes).map_err(|error| CommandError::bug("cannot write completions", error))
}

#[cfg(test)]
mod tests;
