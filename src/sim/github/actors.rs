//! Those who act on a repository by themselves: CI, which really runs a command on what was pushed,
//! and a reviewer who approves what is green.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::SimRepo;
use super::error::{SimError, SimResult};
use super::model::{Access, PrStanding};
use super::repo_git;

/// How often the actors look around.
const PACE: Duration = Duration::from_millis(50);

/// How much of what CI printed is kept: enough for the end of a test log.
const OUTPUT_BYTES_MAX: usize = 4_000;

/// Who acts, and how.
#[derive(Debug, Clone, Default)]
pub struct ActorsConfig {
    /// The shell command that CI runs in a checkout; none: no CI.
    pub ci_command: Option<String>,
    /// Name of CI's check run; empty: `ci`.
    pub check_name: String,
    /// Who approves; none: nobody. Gets write access.
    pub reviewer: Option<String>,
}

/// The actors at work. They stop when this is dropped.
pub struct Actors {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Actors {
    /// Starts them. The base's present tip counts as tested.
    pub fn start(repo: &SimRepo, config: &ActorsConfig) -> SimResult<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        if let Some(command) = &config.ci_command {
            let name = if config.check_name.is_empty() {
                "ci"
            } else {
                config.check_name.as_str()
            };
            let mut ci = Ci {
                repo: repo.clone(),
                command: command.clone(),
                name: name.to_owned(),
                seen: repo.tip()?.into_iter().collect(),
                stop: Arc::clone(&stop),
            };
            threads.push(at_pace(&stop, move || ci.turn()));
        }
        if let Some(login) = &config.reviewer {
            repo.set_access(login, Access::Write);
            let reviewer = Reviewer {
                repo: repo.clone(),
                login: login.clone(),
                wants_checks: config.ci_command.is_some(),
            };
            threads.push(at_pace(&stop, move || reviewer.turn()));
        }
        Ok(Self { stop, threads })
    }

    /// Stops them; a command that CI is running is killed.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Actors {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic of theirs was printed where it happened.
            drop(thread.join());
        }
    }
}

fn at_pace(
    stop: &Arc<AtomicBool>,
    mut turn: impl FnMut() -> SimResult<()> + Send + 'static,
) -> JoinHandle<()> {
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            if let Err(error) = turn() {
                tracing::debug!(%error, "an actor's turn failed");
            }
            pause();
        }
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the actors live by real time, beside all clocks"
)]
fn pause() {
    std::thread::sleep(PACE);
}

struct Ci {
    repo: SimRepo,
    command: String,
    name: String,
    seen: BTreeSet<String>,
    stop: Arc<AtomicBool>,
}

impl Ci {
    /// Tests one commit that was not tested yet, or whose job was asked to run again.
    fn turn(&mut self) -> SimResult<()> {
        let open = self
            .repo
            .prs()?
            .into_iter()
            .filter(|(_, pr)| pr.standing == PrStanding::Open);
        let heads = open.map(|(_, pr)| pr.head_sha);
        let wanted = heads
            .chain(self.repo.tip()?)
            .find(|sha| !self.seen.contains(sha))
            .or(self.repo.to_run(&self.name)?);
        let Some(sha) = wanted else { return Ok(()) };
        self.seen.insert(sha.clone());
        self.repo.set_check(&sha, &self.name, "in_progress", None)?;
        let (conclusion, output) = match self.run(&sha) {
            Ok((true, output)) => ("success", output),
            Ok((false, output)) => ("failure", output),
            Err(error) => ("startup_failure", error.to_string()),
        };
        if self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.repo
            .report_check(&sha, &self.name, ("completed", Some(conclusion)), &output)
    }

    fn run(&self, sha: &str) -> SimResult<(bool, String)> {
        let io = |error: std::io::Error| SimError::invalid(error.to_string());
        let folder = tempfile::tempdir().map_err(io)?;
        let (tree, log) = (folder.path().join("checkout"), folder.path().join("log"));
        std::fs::create_dir(&tree).map_err(io)?;
        repo_git::check_out(&self.repo.path(), sha, &tree)?;
        let child = spawn(&self.command, &tree, &log).map_err(io)?;
        let passed = self.wait(child).map_err(io)?;
        let text = std::fs::read(&log).map_err(io)?;
        let tail = &text[text.len().saturating_sub(OUTPUT_BYTES_MAX)..];
        Ok((passed, String::from_utf8_lossy(tail).into_owned()))
    }

    fn wait(&self, mut child: Child) -> std::io::Result<bool> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status.success());
            }
            if self.stop.load(Ordering::Relaxed) {
                kill_group(&child);
                child.wait()?;
                return Ok(false);
            }
            pause();
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the simulated CI's own process, not one of ours"
)]
fn spawn(command: &str, tree: &Path, log: &Path) -> std::io::Result<Child> {
    let log = File::create(log)?;
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(command)
        .current_dir(tree)
        .env("CI", "true")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0);
    // Neither our tokens nor a caller's repository concern CI.
    for name in [
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
    ] {
        shell.env_remove(name);
    }
    shell.spawn()
}

fn kill_group(child: &Child) {
    if let Ok(id) = i32::try_from(child.id())
        && let Some(group) = rustix::process::Pid::from_raw(id)
    {
        // It may have ended by itself.
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
    }
}

struct Reviewer {
    repo: SimRepo,
    login: String,
    wants_checks: bool,
}

impl Reviewer {
    /// Approves every open pull request whose head is green and not approved yet.
    fn turn(&self) -> SimResult<()> {
        let checks = self.repo.snapshot()?.checks;
        for (issue, pr) in self.repo.prs()? {
            let mut of_head = checks
                .iter()
                .filter(|check| check.sha == pr.head_sha)
                .peekable();
            let ready = of_head.peek().is_some() || !self.wants_checks;
            let green = of_head.all(|check| check.conclusion.as_deref() == Some("success"));
            let done = pr.reviews.iter().any(|review| {
                review.commit == pr.head_sha && review.author.eq_ignore_ascii_case(&self.login)
            });
            if pr.standing == PrStanding::Open && !pr.draft && ready && green && !done {
                self.repo
                    .review(&self.login, issue.number, "APPROVED", "")?;
            }
        }
        Ok(())
    }
}
