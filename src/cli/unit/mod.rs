//! `ghswarm service`: the loop as a systemd user unit or a launchd agent. It writes one file, which says who wrote it,
//! and asks the system's own tool to take it up; a file of that name that somebody else wrote stays as it is.
//!
//! Both keep the supervisors of runs alive when the loop is stopped: a run belongs to its supervisor.

mod launchd;
mod systemd;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Subcommand;

use super::args::Args;
use super::environment::Env;
use super::error::{CommandError, Kind};
use super::{output, wiring};
use crate::adapters::locks;

/// Stands in the file, and says that it is ours to replace and to remove.
const MARK: &str = "Written by `ghswarm service install`; `ghswarm service uninstall` removes it.";

/// Variables besides `PATH` that decide where the loop finds its things.
const HANDED_ON: [&str; 4] = [
    "GHSWARM_HOME",
    "GHSWARM_CONFIG",
    "AGENT_RUN_ROOT",
    "DOCKER_HOST",
];

const AFTER: &str = "\
Exit status of status: 0 it runs, 1 it does not.

A token that only stands in this shell's environment is not there for the service. Put a line
GITHUB_TOKEN=… into `service.env` in ghswarm's home (mode 600), or set `github.token_command`, or log in with
`gh auth login`. On Linux `loginctl enable-linger` keeps it running while you are logged out.";

/// Options of `service`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct ServiceOptions {
    /// What to do
    #[command(subcommand)]
    pub action: ServiceAction,
}

/// What to do with the service.
#[derive(Debug, Subcommand)]
pub enum ServiceAction {
    /// Write the unit, start the loop, and start it again with every session
    Install {
        /// Only print the unit
        #[arg(long)]
        print: bool,
    },
    /// Stop the loop and remove the unit; agents that run go on under their supervisors
    Uninstall,
    /// Say whether it is installed and runs
    Status {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
}

/// What the service starts, and with what.
struct Loop {
    /// This program and its arguments.
    words: Vec<String>,
    /// Variables, `PATH` first: a service's own knows no `~/.cargo/bin`.
    env: Vec<(String, String)>,
    /// Further variables, if the file is there: a place for the token that only the user reads.
    env_file: PathBuf,
    /// Where launchd, which keeps no log, writes what the loop says.
    log: PathBuf,
}

/// The system's own keeper of services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeper {
    Systemd,
    Launchd,
}

/// Where the unit is, and how the keeper is told.
struct Unit {
    keeper: Keeper,
    file: PathBuf,
}

/// How a service stands.
#[derive(Debug, serde::Serialize)]
struct Standing {
    keeper: &'static str,
    file: PathBuf,
    installed: bool,
    running: bool,
    /// The keeper's own word.
    state: String,
}

/// Runs the command.
pub fn service(env: &Env, args: &Args, options: &ServiceOptions) -> Result<ExitCode, CommandError> {
    let unit = Unit::of_this_machine(env)?;
    match options.action {
        ServiceAction::Install { print } => {
            let wanted = Loop::of(env, args)?;
            let text = unit.render(&wanted)?;
            if print {
                output::data(text.trim_end());
                return Ok(ExitCode::SUCCESS);
            }
            // A service that ends at once with a wrong configuration tells it to a log that nobody reads.
            wiring::load_config(env, args.config.as_deref())?;
            // launchd makes the log's file, not its folder.
            locks::ensure_home(&home(env)?).map_err(|error| wiring::home_error(&error))?;
            unit.install(&text)?;
            advise(env, &unit, &wanted);
            Ok(ExitCode::SUCCESS)
        }
        ServiceAction::Uninstall => unit.uninstall(),
        ServiceAction::Status { json } => unit.status(json),
    }
}

impl Loop {
    fn of(env: &Env, args: &Args) -> Result<Self, CommandError> {
        let exe = std::env::current_exe()
            .map_err(|error| CommandError::outside("cannot find this program's own file", error))?;
        let mut words = vec![exe.display().to_string(), "loop".to_owned()];
        if let Some(config) = &args.config {
            words.extend(["--config".to_owned(), absolute(config)?]);
        }
        let mut set: Vec<(String, String)> = Vec::new();
        set.extend(env.get("PATH").map(|path| ("PATH".to_owned(), path)));
        for name in HANDED_ON {
            let Some(value) = env.get(name) else { continue };
            let value = match name {
                "DOCKER_HOST" => value,
                _ => absolute(Path::new(&value))?,
            };
            set.push((name.to_owned(), value));
        }
        let home = home(env)?;
        let wanted = Self {
            words,
            env: set,
            env_file: home.join("service.env"),
            log: home.join("service.log"),
        };
        wanted.check()
    }

    /// No unit can hold a line break, and what comes after it would be a line of its own.
    fn check(self) -> Result<Self, CommandError> {
        let values = self.env.iter().map(|(_, value)| value).chain(&self.words);
        for value in values {
            if value.contains(|c: char| c.is_control()) {
                let what = format!("{value:?} cannot stand in a service's unit");
                return Err(CommandError::new(Kind::Outside, what)
                    .hint("take the line break or control character out of it"));
            }
        }
        Ok(self)
    }
}

impl Unit {
    fn of_this_machine(env: &Env) -> Result<Self, CommandError> {
        if cfg!(target_os = "macos") {
            let folder = user_home(env)?.join("Library/LaunchAgents");
            return Ok(Self {
                keeper: Keeper::Launchd,
                file: folder.join(launchd::FILE),
            });
        }
        let config = match env.get("XDG_CONFIG_HOME") {
            Some(config) => PathBuf::from(config),
            None => user_home(env)?.join(".config"),
        };
        Ok(Self {
            keeper: Keeper::Systemd,
            file: config.join("systemd/user").join(systemd::UNIT),
        })
    }

    fn render(&self, wanted: &Loop) -> Result<String, CommandError> {
        match self.keeper {
            Keeper::Systemd => systemd::render(wanted),
            Keeper::Launchd => Ok(launchd::render(wanted)),
        }
    }

    fn install(&self, text: &str) -> Result<(), CommandError> {
        let there = self.read()?;
        if there.as_ref().is_some_and(|there| !there.contains(MARK)) {
            return Err(self.foreign());
        }
        write(&self.file, text)?;
        output::say(&format!("wrote `{}`", self.file.display()));
        if there.is_some() && self.keeper == Keeper::Launchd {
            // One that is not loaded refuses to be taken out, which is as well.
            let _ = ask(&launchd::stop(user_id()));
        }
        for words in self.start(there.is_some()) {
            ask(&words).map_err(|error| {
                CommandError::outside("the unit is written, but the loop is not started", error)
                    .hint(format!(
                        "try it yourself, logged in as yourself: {}",
                        words.join(" ")
                    ))
            })?;
        }
        output::say("the loop runs, and starts again with your next session");
        Ok(())
    }

    fn uninstall(&self) -> Result<ExitCode, CommandError> {
        match self.read()? {
            None => {
                output::say(&format!(
                    "not installed: there is no `{}`",
                    self.file.display()
                ));
                return Ok(ExitCode::SUCCESS);
            }
            Some(text) if !text.contains(MARK) => return Err(self.foreign()),
            Some(_) => {}
        }
        let stop = self.stop();
        // launchd refuses to end what is not loaded; systemd does not.
        let loaded = self.keeper == Keeper::Systemd || ask(&launchd::show(user_id())).is_ok();
        if loaded {
            ask(&stop).map_err(|error| {
                CommandError::outside("cannot stop the loop; its unit is still there", error)
                    .hint(format!("try it yourself: {}", stop.join(" ")))
            })?;
        }
        std::fs::remove_file(&self.file).map_err(|error| {
            CommandError::outside(format!("cannot remove `{}`", self.file.display()), error)
        })?;
        if self.keeper == Keeper::Systemd {
            // It is stopped and its file is gone; what systemd remembers of it goes with the session.
            let _ = ask(&systemd::reload());
        }
        output::say(&format!(
            "stopped the loop and removed `{}`",
            self.file.display()
        ));
        output::say("agents that run go on under their supervisors");
        Ok(ExitCode::SUCCESS)
    }

    fn status(&self, json: bool) -> Result<ExitCode, CommandError> {
        let installed = self.read()?.is_some();
        let (running, state) = match self.keeper {
            Keeper::Systemd => systemd::state(&ask(&systemd::show())),
            Keeper::Launchd => launchd::state(&ask(&launchd::show(user_id()))),
        };
        let standing = Standing {
            keeper: match self.keeper {
                Keeper::Systemd => "systemd",
                Keeper::Launchd => "launchd",
            },
            file: self.file.clone(),
            installed,
            running,
            state,
        };
        if json {
            output::json(&standing)?;
        } else {
            tell(&standing);
        }
        Ok(ExitCode::from(u8::from(!standing.running)))
    }

    fn start(&self, replaced: bool) -> Vec<Vec<String>> {
        match self.keeper {
            Keeper::Systemd => systemd::start(replaced),
            Keeper::Launchd => vec![launchd::start(user_id(), &self.file)],
        }
    }

    fn stop(&self) -> Vec<String> {
        match self.keeper {
            Keeper::Systemd => systemd::stop(),
            Keeper::Launchd => launchd::stop(user_id()),
        }
    }

    fn read(&self) -> Result<Option<String>, CommandError> {
        match std::fs::read_to_string(&self.file) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CommandError::outside(
                format!("cannot read `{}`", self.file.display()),
                error,
            )),
        }
    }

    fn foreign(&self) -> CommandError {
        let what = format!("`{}` was not written by ghswarm", self.file.display());
        CommandError::new(Kind::Outside, what).hint("move it away first, if it is not needed")
    }
}

fn tell(standing: &Standing) {
    let installed = if standing.installed {
        standing.file.display().to_string()
    } else {
        format!("no ({} is not there)", standing.file.display())
    };
    output::data(&format!("installed  {installed}"));
    let running = if standing.running { "yes" } else { "no" };
    output::data(&format!(
        "running    {running} ({}: {})",
        standing.keeper, standing.state
    ));
    if !standing.installed {
        output::say("install it: ghswarm service install");
    }
}

/// What an installed service still needs of a person.
fn advise(env: &Env, unit: &Unit, wanted: &Loop) {
    let shell_only = ["GITHUB_TOKEN", "GH_TOKEN"]
        .iter()
        .any(|name| env.get(name).is_some());
    if shell_only && !wanted.env_file.exists() {
        output::say(&format!(
            "note: this shell's token is not there for the service; put a line GITHUB_TOKEN=… into `{}` \
             (mode 600), or set `github.token_command`",
            wanted.env_file.display()
        ));
    }
    match unit.keeper {
        Keeper::Systemd => {
            output::say("its log: journalctl --user -u ghswarm.service -f");
            output::say("to keep it running while you are logged out: loginctl enable-linger");
        }
        Keeper::Launchd => output::say(&format!("its log: {}", wanted.log.display())),
    }
}

fn user_home(env: &Env) -> Result<PathBuf, CommandError> {
    let home = env.get("HOME").map(PathBuf::from);
    home.ok_or_else(|| CommandError::new(Kind::Usage, "HOME is not set"))
}

fn home(env: &Env) -> Result<PathBuf, CommandError> {
    match env.get("GHSWARM_HOME") {
        Some(home) => Ok(PathBuf::from(absolute(Path::new(&home))?)),
        None => Ok(user_home(env)?.join(".ghswarm")),
    }
}

/// A service has another working directory.
fn absolute(path: &Path) -> Result<String, CommandError> {
    std::path::absolute(path)
        .map(|path| path.display().to_string())
        .map_err(|error| {
            CommandError::outside(format!("cannot tell where `{}` is", path.display()), error)
        })
}

fn user_id() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Whole or not at all.
fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let replace = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        std::io::Result::Ok(())
    };
    replace()
        .map_err(|error| CommandError::outside(format!("cannot write `{}`", path.display()), error))
}

/// What the keeper's tool prints, or why it failed.
#[expect(
    clippy::disallowed_methods,
    reason = "the keeper's tool is neither git nor a run"
)]
fn ask(words: &[String]) -> Result<String, String> {
    let (program, arguments) = words.split_first().ok_or("no command")?;
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run `{program}`: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!(
        "`{}` failed ({}): {said}",
        words.join(" "),
        output.status
    ))
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
