//! The demo's GitHub as a process of its own: the engine can be killed and started again beside it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::Arc;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::super::args::DemoOptions;
use super::super::environment::Env;
use super::super::error::{CommandError, Kind};
use super::super::{doctor, output, signals, wiring};
use super::clear;
use super::requests::{PhaseRequests, by_phase};
use super::world::{self, Hub};
use crate::adapters::clock::SystemClock;
use crate::ports::PortError;
use crate::ports::github::GitHub as _;
use crate::sim::github::model::PrStanding;

/// What the server says once it serves.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ready {
    /// The demo's folder.
    pub dir: PathBuf,
    /// The configuration.
    pub config: PathBuf,
    /// The clone.
    pub clone: PathBuf,
    /// The repository.
    pub repo: String,
    /// The token.
    pub token: String,
    /// GitHub's address.
    pub url: String,
    /// The issue.
    pub issue: u64,
    /// Its title.
    pub title: String,
}

/// How the world stands, as GitHub sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Summary {
    /// Is the issue open?
    pub issue_open: bool,
    /// Is a pull request merged?
    pub pr_merged: bool,
    /// `success`, `failure`, `pending` or `none`.
    pub post_merge_checks: String,
    /// `total_agent_runs` of the state block.
    pub agent_runs: u32,
    /// All API requests, git's transport left out.
    pub api_requests: u64,
    /// The same by the phase in which they came.
    pub api_requests_by_phase: Vec<PhaseRequests>,
    /// Comments on the issue.
    pub comments: usize,
}

/// The child process.
pub struct Server {
    child: Child,
    /// Closed, it says that the demo is over, however we end: then the server clears away what was made.
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Server {
    /// Starts this program as a server that ends with us.
    #[expect(
        clippy::disallowed_methods,
        reason = "the demo's server is neither git nor a run"
    )]
    pub fn start(options: &DemoOptions) -> Result<Self, CommandError> {
        let failed = |error| CommandError::outside("cannot start the demo's GitHub", error);
        let exe = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(exe);
        command.args(["demo", "--serve", "--json", "--managed"]);
        let mut pass = |flag: &str, value: Option<&std::ffi::OsStr>| {
            if let Some(value) = value {
                command.arg(flag).arg(value);
            }
        };
        pass("--repo", options.repo.as_ref().map(|path| path.as_os_str()));
        pass(
            "--issue",
            options.issue.as_ref().map(|path| path.as_os_str()),
        );
        pass("--agent", options.agent.as_ref().map(AsRef::as_ref));
        pass("--review", options.review.as_ref().map(AsRef::as_ref));
        pass("--ci", options.ci.as_ref().map(AsRef::as_ref));
        pass("--docker", options.docker.as_ref().map(AsRef::as_ref));
        if options.keep {
            command.arg("--keep");
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (asks, answers) =
            pipes.ok_or_else(|| CommandError::new(Kind::Bug, "the demo's GitHub has no pipes"))?;
        Ok(Self {
            child,
            asks: Some(asks),
            answers: BufReader::new(answers),
        })
    }

    /// Waits until it serves.
    pub fn ready(&mut self) -> Result<Ready, CommandError> {
        self.answer()
    }

    /// Asks how the world stands.
    pub fn summary(&mut self) -> Result<Summary, CommandError> {
        let gone = |error| CommandError::outside("the demo's GitHub is gone", error);
        if let Some(asks) = &mut self.asks {
            writeln!(asks, "summary").map_err(gone)?;
        }
        self.answer()
    }

    /// Ends it, and waits until it has cleared everything away.
    pub fn close(self) {
        drop(self);
    }

    fn answer<T: DeserializeOwned>(&mut self) -> Result<T, CommandError> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        match read {
            Ok(0) => {
                // It has said why on standard error, which is ours.
                let status = self.child.wait().ok();
                let code = status.and_then(|status| status.code()).unwrap_or_default();
                let kind = if code == 2 {
                    Kind::Usage
                } else {
                    Kind::Outside
                };
                Err(CommandError::told(kind))
            }
            Ok(_) => serde_json::from_str(&line)
                .map_err(|error| CommandError::bug("the demo's GitHub speaks in riddles", error)),
            Err(error) => Err(CommandError::outside("the demo's GitHub is gone", error)),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.asks.take());
        let _ = self.child.wait();
    }
}

/// `demo --serve`.
pub async fn serve(env: &Env, options: &DemoOptions) -> Result<ExitCode, CommandError> {
    let dir = super::new_dir()?;
    let served = serve_in(env, &dir, options).await;
    // What could not be set up is of use to nobody.
    if served.is_err() || (options.managed && !options.keep) {
        clear::away(&dir).await;
    }
    served
}

async fn serve_in(env: &Env, dir: &Path, options: &DemoOptions) -> Result<ExitCode, CommandError> {
    let script = world::script(options, dir)?;
    let hub = world::hub(options, dir, &script)?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .map_err(|error| CommandError::outside("cannot listen on 127.0.0.1", error))?;
    let serving = crate::sim::github::serve(&hub.sim, listener)
        .map_err(|error| CommandError::outside("cannot serve", error))?;
    let (clone, config) = world::user_side(dir, &hub, &script, &serving.url())?;
    let ready = Ready {
        dir: dir.to_owned(),
        config,
        clone,
        repo: hub.slug.to_string(),
        token: hub.sim.token_for(world::OWNER),
        url: serving.url(),
        issue: hub.issue,
        title: script.title.clone(),
    };
    if !options.managed {
        create_labels(env, &ready).await?;
    }
    announce(options, &ready)?;
    let end = if options.managed {
        // Ctrl-C reaches both of us; what the other side does then shows in its pipe.
        tokio::select! {
            end = answer_until_closed(&hub, &ready) => end,
            signal = signals::wait() => signal.map(|signal| ExitCode::from(signal.exit_code())),
        }
    } else {
        signals::wait()
            .await
            .map(|signal| ExitCode::from(signal.exit_code()))
    };
    serving.stop().await;
    hub.actors.stop();
    if !options.managed {
        output::say(&format!("its folder stays: {}", ready.dir.display()));
    }
    end
}

/// As `doctor --fix` does, so that nothing is wrong with what is served.
async fn create_labels(env: &Env, ready: &Ready) -> Result<(), CommandError> {
    let config = wiring::load_config(env, Some(&ready.config))?;
    for repository in config.repositories.values() {
        let failed = |error: PortError| wiring::refused(&error, &repository.alias);
        let clock = Arc::new(SystemClock);
        let github =
            wiring::connect(repository, ready.token.clone().into(), clock).map_err(failed)?;
        for label in doctor::labels_of(repository) {
            github.create_label(&label).await.map_err(failed)?;
        }
    }
    Ok(())
}

fn announce(options: &DemoOptions, ready: &Ready) -> Result<(), CommandError> {
    if options.json {
        output::data(&json(ready)?);
        return Ok(());
    }
    output::say(&format!("serving a simulated GitHub at {}", ready.url));
    output::say(&format!("issue #{}: {}", ready.issue, ready.title));
    output::say(
        "in another terminal, put these into the environment and run: ghswarm cycle --wait",
    );
    let home = ready.dir.join("home");
    let quoted = |path: &Path| {
        let text = path.to_string_lossy().into_owned();
        shlex::try_quote(&text).map_or_else(|_| text.clone(), std::borrow::Cow::into_owned)
    };
    // These lines are data: a script may read them.
    output::data(&format!("export GITHUB_TOKEN={}", ready.token));
    output::data(&format!("export GHSWARM_HOME={}", quoted(&home)));
    output::data(&format!("export GHSWARM_CONFIG={}", quoted(&ready.config)));
    // What works without a configuration too, from any folder: lease, claim, board.
    output::data(&format!("export GITHUB_API_URL={}", ready.url));
    output::data(&format!("export GH_REPO={}", ready.repo));
    Ok(())
}

/// Answers questions on standard input until the other side goes.
async fn answer_until_closed(hub: &Hub, ready: &Ready) -> Result<ExitCode, CommandError> {
    let (send, mut questions) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    while questions.recv().await.is_some() {
        output::data(&json(&summary(hub, ready)?)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn json<T: Serialize>(value: &T) -> Result<String, CommandError> {
    serde_json::to_string(value).map_err(|error| CommandError::bug("cannot write JSON", error))
}

fn summary(hub: &Hub, ready: &Ready) -> Result<Summary, CommandError> {
    let failed = |error: crate::sim::github::SimError| {
        CommandError::outside("the demo's GitHub", error.to_string())
    };
    let issue = hub.repo.issue(ready.issue).map_err(failed)?;
    let state = match crate::model::body::parse(&issue.body).state {
        crate::model::body::StateBlock::Found { state, .. } => *state,
        crate::model::body::StateBlock::Absent
        | crate::model::body::StateBlock::Newer { .. }
        | crate::model::body::StateBlock::Invalid { .. } => {
            crate::model::state::IssueState::default()
        }
    };
    // What people would read in the browser.
    let page = format!("# {}\n\n{}\n", issue.title, issue.body);
    let _ = std::fs::write(ready.dir.join("issue.md"), page);
    let asked = hub.sim.requests();
    let by_phase = by_phase(&issue, &asked);
    let requests: Vec<String> = asked
        .iter()
        .map(|asked| format!("{} {} {}", asked.method, asked.path, asked.status))
        .collect();
    let _ = std::fs::write(ready.dir.join("requests.txt"), requests.join("\n") + "\n");
    let (merged, checks) = merge_facts(hub).map_err(failed)?;
    Ok(Summary {
        issue_open: issue.open,
        pr_merged: merged,
        post_merge_checks: checks,
        agent_runs: state.total_agent_runs,
        api_requests: by_phase.iter().map(|phase| phase.requests).sum(),
        api_requests_by_phase: by_phase,
        comments: issue.comments.len(),
    })
}

fn merge_facts(hub: &Hub) -> Result<(bool, String), crate::sim::github::SimError> {
    let snapshot = hub.repo.snapshot()?;
    let merged = hub
        .repo
        .prs()?
        .into_iter()
        .find_map(|(_, pr)| match pr.standing {
            PrStanding::Merged(commit, ..) => Some(commit),
            PrStanding::Open | PrStanding::Closed => None,
        });
    let Some(commit) = merged else {
        return Ok((false, "none".to_owned()));
    };
    let checks: Vec<_> = snapshot
        .checks
        .iter()
        .filter(|check| check.sha == commit)
        .collect();
    let word = if checks.is_empty() {
        "none"
    } else if checks.iter().any(|check| check.conclusion.is_none()) {
        "pending"
    } else if checks
        .iter()
        .all(|check| check.conclusion.as_deref() == Some("success"))
    {
        "success"
    } else {
        "failure"
    };
    Ok((true, word.to_owned()))
}
