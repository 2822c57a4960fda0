//! Running git: one environment, one time limit, one way to fail. Knows nothing of what the commands
//! mean.
//!
//! Hooks and fsmonitor are off, since a run may have planted one in the clone; prompts are off, since
//! nobody is there to answer. The user's credential helpers, ssh agent and signing keep working.
//! A command that stays on this machine runs without GitHub tokens: it may call a filter or a signing
//! program that a run wrote into the clone's configuration.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::patience;
use crate::adapters::own::Own;

/// What a finished git left.
#[derive(Debug)]
pub(super) struct Output {
    /// `None`: a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Output {
    /// Standard output as one text, without the last line's end.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end().to_owned()
    }

    /// NUL-separated fields (`-z`).
    pub(super) fn fields(&self) -> Vec<String> {
        let whole = String::from_utf8_lossy(&self.stdout);
        whole
            .split('\0')
            .filter(|f| !f.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

/// Why a git command gave no good answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error("`{program}` could not be started: {source}")]
    NotStarted {
        program: String,
        source: std::io::Error,
    },
    #[error("`git {command}` did not end within {} s and was stopped; {guess}", limit.as_secs())]
    TimedOut {
        command: String,
        limit: Duration,
        guess: &'static str,
    },
    #[error(
        "the remote took the connection and then said nothing: `git {command}` printed nothing for {} s and \
         was stopped",
        silence.as_secs()
    )]
    Mute { command: String, silence: Duration },
    #[error("`git {command}` failed: {}", words(stderr, *code))]
    Failed {
        command: String,
        code: Option<i32>,
        stderr: String,
    },
}

impl RunError {
    /// What git itself said.
    pub(super) fn stderr(&self) -> &str {
        match self {
            Self::Failed { stderr, .. } => stderr,
            Self::NotStarted { .. } | Self::TimedOut { .. } | Self::Mute { .. } => "",
        }
    }
}

fn words(stderr: &str, code: Option<i32>) -> String {
    match (stderr.trim(), code) {
        ("", Some(code)) => format!("exit status {code}"),
        ("", None) => "ended by a signal".to_owned(),
        (text, _) => text.to_owned(),
    }
}

/// One git command to run.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    pub(super) folder: &'a Path,
    pub(super) args: Vec<OsString>,
    pub(super) stdin: Option<&'a str>,
    pub(super) env: Vec<(&'static str, OsString)>,
    pub(super) limit: Duration,
    pub(super) reach: Reach,
    /// How long the remote may move no byte; `None`: no limit but `limit`.
    pub(super) silence: Option<Duration>,
}

/// How far a command goes, and so what it may know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// It stays on this machine and needs no token.
    Machine,
    /// It talks to the remote: credential helpers (`gh`) read the token from the environment.
    Remote,
}

impl<'a> Call<'a> {
    pub(super) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(super) fn input(mut self, text: &'a str) -> Self {
        self.stdin = Some(text);
        self
    }

    pub(super) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    pub(super) fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// It prints progress (`--progress`), and is stopped when it stops doing so.
    pub(super) fn not_silent_for(mut self, silence: Duration) -> Self {
        self.silence = Some(silence);
        self
    }

    pub(super) fn reaching(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// The command as people write it.
    pub(super) fn shown(&self) -> String {
        let args: Vec<_> = self.args.iter().map(|a| a.to_string_lossy()).collect();
        args.join(" ")
    }

    /// Who probably did not answer.
    pub(super) fn guess(&self) -> &'static str {
        match self.args.first().and_then(|a| a.to_str()) {
            Some("commit") => {
                "commit signing probably waits for a passphrase: unlock the key in its agent, or \
                 switch `commit.gpgsign` off in this clone"
            }
            Some("fetch" | "push" | "submodule" | "lfs") => {
                "a credential helper or the ssh agent probably waits for an answer, or the network \
                 hangs"
            }
            _ => "the disk or a filter command (`filter.*.smudge`) probably hangs",
        }
    }
}

/// Variables by which a surrounding git (we may run inside a hook) would redirect ours.
const REDIRECTIONS: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CEILING_DIRECTORIES",
    "GIT_TRACE",
    "GIT_EDITOR",
];

/// Variables that hold the user's voice on GitHub.
const TOKENS: [&str; 5] = [
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_PAT",
];

/// A helper that outlives git (ssh's `ControlPersist` master) may hold its output open; what it
/// could still say is not waited for longer than this.
const OUTPUT_GRACE: Duration = Duration::from_secs(2);

/// How git is run.
#[derive(Debug, Clone)]
pub(super) struct Runner {
    pub(super) program: PathBuf,
    pub(super) env: BTreeMap<String, OsString>,
    /// Instead of `env`, for commands that talk to the remote.
    pub(super) remote_env: BTreeMap<String, OsString>,
}

impl Runner {
    /// Runs to the end, whatever the exit status.
    pub(super) async fn run(&self, call: &Call<'_>) -> Result<Output, RunError> {
        let not_started = |source| RunError::NotStarted {
            program: self.program.display().to_string(),
            source,
        };
        let mut child = self.command(call).spawn().map_err(not_started)?;
        let group = Group(child.id());
        let _own = Own::child(child.id());
        let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));
        let ending = feed_and_wait(&mut child, call.stdin);
        let ended = match patience::wait(call, ending, [&out, &err]).await {
            Ok(ended) => ended,
            Err(error) => {
                drop(group);
                return Err(error);
            }
        };
        group.forget();
        let status = ended.map_err(not_started)?;
        let (stdout, stderr) = (out.take().await, err.take().await);
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        let stderr = if call.silence.is_some() {
            patience::without_progress(&stderr)
        } else {
            stderr
        };
        Ok(Output {
            code: status.code(),
            stdout,
            stderr,
        })
    }

    /// Runs to the end; another exit status than 0 is an error.
    pub(super) async fn good(&self, call: &Call<'_>) -> Result<Output, RunError> {
        let output = self.run(call).await?;
        if output.code == Some(0) {
            return Ok(output);
        }
        Err(RunError::Failed {
            command: call.shown(),
            code: output.code,
            stderr: output.stderr,
        })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "git is run here and nowhere else"
    )]
    fn command(&self, call: &Call<'_>) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.fsmonitor=false",
            ])
            .args(patience::options(call))
            .args(&call.args)
            .current_dir(call.folder)
            .stdin(if call.stdin.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that a hanging helper is ended along with git, and so that a
            // helper that reads the terminal is stopped instead of asking.
            .process_group(0)
            .kill_on_drop(true);
        for name in REDIRECTIONS {
            command.env_remove(name);
        }
        match call.reach {
            Reach::Remote => {
                command.envs(&self.remote_env);
            }
            Reach::Machine => {
                command.envs(&self.env);
                for name in TOKENS {
                    command.env_remove(name);
                }
            }
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            // Empty: nobody is asked. Unset would fall back to `core.askPass`.
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS", "")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .envs(call.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

async fn feed_and_wait(
    child: &mut Child,
    input: Option<&str>,
) -> std::io::Result<std::process::ExitStatus> {
    if let (Some(mut stdin), Some(text)) = (child.stdin.take(), input) {
        // A git that ended early closed the pipe; its exit status says more than this error.
        let _ = stdin.write_all(text.as_bytes()).await;
    }
    child.wait().await
}

/// Ends the process group when dropped before `forget`: also when the future is given up.
struct Group(Option<u32>);

impl Group {
    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self
            .0
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // Fails only if nothing of the group is left.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// What was read so far of an output pipe.
pub(super) struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// How much that is.
    count: Arc<AtomicUsize>,
    reader: JoinHandle<()>,
}

fn collect(pipe: Option<impl AsyncRead + Unpin + Send + 'static>) -> Collected {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let count = Arc::new(AtomicUsize::new(0));
    let (sink, counted) = (Arc::clone(&bytes), Arc::clone(&count));
    let reader = tokio::spawn(async move {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read) = pipe.read(&mut buffer).await {
            if read == 0 {
                return;
            }
            sink.lock().await.extend_from_slice(&buffer[..read]);
            counted.fetch_add(read, Ordering::Relaxed);
        }
    });
    Collected {
        bytes,
        count,
        reader,
    }
}

impl Collected {
    /// Bytes that came so far.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    async fn take(mut self) -> Vec<u8> {
        if tokio::time::timeout(OUTPUT_GRACE, &mut self.reader)
            .await
            .is_err()
        {
            self.reader.abort();
        }
        std::mem::take(&mut *self.bytes.lock().await)
    }
}
