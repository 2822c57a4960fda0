//! `ghswarm mutex`: one command at a time over all processes of this machine. It reads no
//! configuration and starts no log, since it stands in front of short commands.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use chrono::SecondsFormat;
use clap::Parser;

use super::args::MutexOptions;
use super::error::{CommandError, Kind};
use super::output;
use crate::adapters::clock::SystemClock;
use crate::adapters::mutex::{
    Ending, LockFile, MutexError, NestedCall, StartError, Work, in_github_actions, usual_folder,
};
use crate::model::ids::Timestamp;
use crate::model::mutex::{MutexName, is_blank};
use crate::ports::clock::Clock as _;

/// What shells answer for a command that is not there, and for one that does not start.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
/// What shells add to the number of the signal that ended a command.
const SIGNAL_BASE: i32 = 128;

#[derive(Debug, Parser)]
#[command(name = "mutex", no_binary_name = true, disable_help_flag = true)]
struct Alone {
    #[command(flatten)]
    options: MutexOptions,
}

/// Reads the arguments after `mutex` without building the parser of all other commands; `None`: they
/// ask for help, have options of all commands or are wrong, which that parser knows better.
pub fn quick_options(arguments: &[OsString]) -> Option<MutexOptions> {
    Alone::try_parse_from(arguments)
        .ok()
        .map(|alone| alone.options)
}

/// Waits for the lock, runs the command, and answers as it did.
pub fn mutex(options: &MutexOptions) -> Result<ExitCode, CommandError> {
    let name = name(options)?;
    let work = work(options)?;
    let folder = options.lock_dir.clone().unwrap_or_else(usual_folder);
    let file = LockFile::open(&folder, &name).map_err(no_lock)?;
    let nested = NestedCall::prepare().map_err(|error| {
        CommandError::outside("cannot write the script for nested locks", error)
            .hint("set GHSWARM_HOME to a folder that only you may write to")
    })?;
    let actions = in_github_actions();
    announce(&line("waiting for lock", &name, SystemClock.now(), actions));
    let held = file.take().map_err(no_lock)?;
    let ran = held.run(&work, &nested);
    drop(held);
    announce(&line("released", &name, SystemClock.now(), actions));
    match ran {
        Ok(ending) => Ok(ExitCode::from(status(ending))),
        Err(error) => not_run(error),
    }
}

fn name(options: &MutexOptions) -> Result<MutexName, CommandError> {
    let given = options.name.as_ref().or(options.any_name.as_ref());
    let given = given.map(|name| name.as_bytes()).unwrap_or_default();
    MutexName::parse(given).map_err(|error| {
        let shown = String::from_utf8_lossy(given);
        CommandError::new(Kind::Usage, format!("the name {shown:?} {error}"))
            .hint("name what is protected, as in `ghswarm mutex cocoapods -- pod install`")
    })
}

fn work(options: &MutexOptions) -> Result<Work, CommandError> {
    match &options.script {
        Some(script) if is_blank(script.as_bytes()) => {
            Err(CommandError::new(Kind::Usage, "the script is blank")
                .hint("give the text of a shell script, or a command after `--`"))
        }
        Some(script) => Ok(Work::Script(script.clone())),
        None if options.command.is_empty() => {
            Err(CommandError::new(Kind::Usage, "there is no command to run")
                .hint("put it after `--`, or give a shell text with `--script`"))
        }
        None => Ok(Work::Command(options.command.clone())),
    }
}

fn no_lock(error: MutexError) -> CommandError {
    let what = error.to_string();
    match error {
        MutexError::RelativeFolder(_)
        | MutexError::NoFolder(_)
        | MutexError::ReadOnlyFolder(_) => CommandError::new(Kind::Usage, what).hint(
            "give `--lock-dir`, or LOCAL_MUTEX_LOCK_DIR, the full path of a folder that you may \
             write to",
        ),
        MutexError::Nested { .. } => CommandError::new(Kind::Usage, what)
            .hint("it would wait for itself: give the inner lock another name, or leave it out"),
        MutexError::NotAFile(_) => CommandError::new(Kind::Outside, what)
            .hint("find out who put it there, or use another `--lock-dir`"),
        MutexError::Io { source, .. } => CommandError::outside(what, source)
            .hint("if it is another user's, they may let you read it, or use another `--lock-dir`"),
    }
}

fn not_run(error: StartError) -> Result<ExitCode, CommandError> {
    let what = error.to_string();
    let (error, status) = match error {
        StartError::NotFound { .. } => (
            CommandError::new(Kind::Outside, what)
                .hint("`--` runs a program without a shell; for a shell text use `--script`"),
            NOT_FOUND,
        ),
        StartError::NotExecutable { source, .. } => {
            (CommandError::outside(what, source), NOT_EXECUTABLE)
        }
        StartError::Watch(source) => return Err(CommandError::outside(what, source)),
    };
    output::complain(&error);
    Ok(ExitCode::from(status))
}

/// The exit status that says how the command ended.
fn status(ending: Ending) -> u8 {
    let number = match ending {
        Ending::Exited(code) => code,
        Ending::Killed(signal) => SIGNAL_BASE + signal,
    };
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// The line that says what happens to a lock: raw, since a name may be no UTF-8.
fn line(what: &str, name: &MutexName, at: Timestamp, actions: bool) -> Vec<u8> {
    let time = at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let mut text = format!("{what} ").into_bytes();
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(format!(" at {time}").as_bytes());
    let mut line = if actions {
        let mut notice = b"::notice::local-mutex: ".to_vec();
        notice.extend(escaped(&text));
        notice
    } else {
        text
    };
    line.push(b'\n');
    line
}

/// The data of a workflow command (actions/toolkit, `packages/core/src/command.ts`, `escapeData`).
fn escaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'%' => out.extend_from_slice(b"%25"),
            b'\r' => out.extend_from_slice(b"%0D"),
            b'\n' => out.extend_from_slice(b"%0A"),
            other => out.push(*other),
        }
    }
    out
}

/// In one write, so that the lines of several callers do not mix.
fn announce(line: &[u8]) {
    // Whoever closed standard error does not want to read it.
    let _ = std::io::stderr().write_all(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Timestamp {
        "2026-01-02T03:04:05.678Z".parse().unwrap()
    }

    fn name(bytes: &[u8]) -> MutexName {
        MutexName::parse(bytes).unwrap()
    }

    #[test]
    fn a_line_names_lock_and_time() {
        let plain = line("waiting for lock", &name(b"50% \xff"), at(), false);
        assert_eq!(
            plain,
            b"waiting for lock 50% \xff at 2026-01-02T03:04:05Z\n"
        );
    }

    #[test]
    fn a_notice_is_one_workflow_command_whatever_the_name() {
        let notice = line("released", &name(b"a%0Ab::error::"), at(), true);
        let expected = "::notice::local-mutex: released a%250Ab::error:: at 2026-01-02T03:04:05Z\n";
        assert_eq!(String::from_utf8(notice).unwrap(), expected);
        assert_eq!(escaped(b"a%b\r\nc"), b"a%25b%0D%0Ac");
    }

    #[test]
    fn a_signal_is_told_as_shells_tell_it() {
        assert_eq!(status(Ending::Exited(7)), 7);
        assert_eq!(status(Ending::Killed(9)), 137);
        assert_eq!(status(Ending::Killed(15)), 143);
    }

    fn quick(words: &[&str]) -> Option<MutexOptions> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        quick_options(&words)
    }

    #[test]
    fn the_quick_parser_takes_what_needs_no_other() {
        let options = quick(&["a", "--lock-dir", "/x", "--", "sh", "-c", "--help"]).unwrap();
        assert_eq!(options.command, ["sh", "-c", "--help"]);
        let options = quick(&["--name=--help", "--script=-x"]).unwrap();
        assert_eq!(options.any_name, Some("--help".into()));
        assert_eq!(options.script, Some("-x".into()));
        for left_to_the_other in [&["--help"][..], &[], &["a", "-v", "--", "b"], &["a", "b"]] {
            assert!(quick(left_to_the_other).is_none(), "{left_to_the_other:?}");
        }
    }
}
