//! The arguments. Help texts are imperative.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Carry GitHub issues with a written spec, unattended, from spec to merged.
#[derive(Debug, Parser)]
#[command(name = "ghswarm", version, about, max_term_width = 100)]
pub struct Args {
    /// Use this configuration file
    #[arg(long, global = true, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// Say more (-v: each step, -vv: each request)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Step every issue of every repository until it waits, then exit
    Cycle(CycleOptions),
    /// Run cycles for ever
    Loop(LoopOptions),
    /// Watch an issue go from spec to merged on this machine, without GitHub
    Demo(DemoOptions),
}

/// Options of `cycle`.
#[derive(Debug, clap::Args)]
pub struct CycleOptions {
    /// Go on until each issue is done, blocked or waits for people
    #[arg(long)]
    pub wait: bool,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Only this repository (its alias in the configuration)
    #[arg(long, value_name = "ALIAS")]
    pub repository: Option<String>,
}

/// Options of `loop`.
#[derive(Debug, clap::Args)]
pub struct LoopOptions {
    /// Only this repository (its alias in the configuration)
    #[arg(long, value_name = "ALIAS")]
    pub repository: Option<String>,
}

/// Options of `demo`.
#[derive(Debug, clap::Args)]
pub struct DemoOptions {
    /// Use a copy of this clone instead of the example project
    #[arg(long, value_name = "PATH", requires_all = ["issue", "agent", "review"])]
    pub repo: Option<PathBuf>,
    /// The issue: first line is the title, the rest the body
    #[arg(long, value_name = "FILE", requires = "repo")]
    pub issue: Option<PathBuf>,
    /// The implementing agent's command
    #[arg(long, value_name = "COMMAND", requires = "repo")]
    pub agent: Option<String>,
    /// The reviewing agent's command
    #[arg(long, value_name = "COMMAND", requires = "repo")]
    pub review: Option<String>,
    /// What CI runs; without it, the issue's verify steps
    #[arg(long, value_name = "COMMAND", requires = "repo")]
    pub ci: Option<String>,
    /// Keep the demo's folder
    #[arg(long)]
    pub keep: bool,
    /// Set everything up and serve it until interrupted; you run `ghswarm cycle` yourself
    #[arg(long)]
    pub serve: bool,
    /// End when standard input does, and answer questions on it
    #[arg(long, hide = true, requires = "serve")]
    pub managed: bool,
    /// End with one line of JSON on standard output
    #[arg(long)]
    pub json: bool,
}
