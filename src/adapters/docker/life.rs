//! The life of one command's container: found by its name or made, followed, ended. It outlives this
//! process; whoever comes next goes on here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bollard::models::ContainerInspectResponse;
use bollard::query_parameters::{KillContainerOptionsBuilder, LogsOptionsBuilder};
use futures_util::StreamExt as _;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::ending::{Found, KILLED, look, wait, went_with_the_engine};
use super::{Engine, Shared, ask, away, create, fine_if_gone, mounts, pause, prepare, probe, pull};
use super::{LABEL_FOLDER, status};
use crate::model::limits::{CONTAINER_AWAY_LOOK, CONTAINER_AWAY_MAX, CONTAINER_START_SETTLES};
use crate::ports::containers::{Container, ContainerJob, Sink};
use crate::ports::processes::{ChildEnd, ChildFacts, Force};
use crate::ports::{PortError, PortResult};

/// Begins, in the background.
pub(super) fn begin(
    shared: &Arc<Shared>,
    handle: Option<Handle>,
    job: ContainerJob,
    output: Sink,
) -> Boxed {
    let life = Arc::new(Life {
        shared: Arc::clone(shared),
        job,
        output,
        seen: Mutex::new(Seen::default()),
        may: watch::Sender::new(May::Go),
    });
    if let Some(handle) = &handle {
        handle.spawn(Arc::clone(&life).live());
    }
    Boxed { life, handle }
}

/// The container as its supervisor has it.
pub(super) struct Boxed {
    life: Arc<Life>,
    handle: Option<Handle>,
}

struct Life {
    shared: Arc<Shared>,
    job: ContainerJob,
    output: Sink,
    seen: Mutex<Seen>,
    /// What the command may do that has not begun.
    may: watch::Sender<May>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum May {
    Go,
    Wait,
    Never,
}

#[derive(Default)]
struct Seen {
    stage: Stage,
    bytes: u64,
    /// Was all of its output taken?
    closed: bool,
    id: Option<String>,
    paused: bool,
    /// The last of its output.
    tail: Vec<u8>,
}

#[derive(Default, Clone, PartialEq)]
enum Stage {
    #[default]
    Preparing,
    Running,
    Ended(ChildEnd),
    Failed(PortError),
}

/// What became of a try to make it.
enum Made {
    /// It is made; `None`: the run was ended before.
    Yes(Option<String>),
    /// Somebody's earlier request made it meanwhile.
    IsThere,
}

/// So often it is looked for and made in turns.
const CREATE_TRIES: u32 = 20;

impl Container for Boxed {
    fn facts(&self) -> PortResult<ChildFacts> {
        let seen = self.life.seen();
        let (end, preparing) = match &seen.stage {
            Stage::Preparing => (None, true),
            Stage::Running => (None, false),
            Stage::Ended(end) => (Some(*end), false),
            Stage::Failed(error) => return Err(error.clone()),
        };
        Ok(ChildFacts {
            end,
            output_bytes: seen.bytes,
            output_open: !seen.closed,
            preparing,
        })
    }

    fn alive(&self) -> bool {
        matches!(self.life.seen().stage, Stage::Preparing | Stage::Running)
    }

    fn force(&self, force: Force) -> PortResult<()> {
        self.life.may.send_replace(match force {
            Force::Freeze => May::Wait,
            Force::Thaw => May::Go,
            Force::Terminate | Force::Kill => May::Never,
        });
        let Some(handle) = &self.handle else {
            return Ok(());
        };
        let (id, due) = {
            let seen = self.life.seen();
            let due = match force {
                Force::Freeze => !seen.paused,
                Force::Thaw => seen.paused,
                Force::Terminate | Force::Kill => true,
            };
            (seen.id.clone(), due && seen.stage == Stage::Running)
        };
        let Some(id) = id.filter(|_| due) else {
            return Ok(());
        };
        let life = Arc::clone(&self.life);
        ask(handle, "signal a container", async move {
            life.signal(&id, force).await
        })
    }

    fn remove(&self) {
        let Some(handle) = &self.handle else { return };
        let life = Arc::clone(&self.life);
        let removed = ask(
            handle,
            "remove a container",
            async move { life.remove().await },
        );
        if let Err(error) = removed {
            // The next start of this home finds it by its labels.
            tracing::warn!("{error}");
        }
    }
}

impl Life {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, line: &str) {
        (self.output)(format!("── {line}\n").as_bytes());
    }

    async fn live(self: Arc<Self>) {
        let lived = Self::to_the_end(&self).await;
        if matches!(lived, Ok(ChildEnd::Code(code)) if code != 0) {
            self.hint_at_pids();
        }
        let mut seen = self.seen();
        seen.stage = match lived {
            Ok(end) => Stage::Ended(end),
            Err(error) => Stage::Failed(error),
        };
        seen.closed = true;
    }

    /// No engine tells that a container wanted more processes than it may have; its programs do.
    fn hint_at_pids(&self) {
        let Some(pids) = self.job.sandbox.caps.pids else {
            return;
        };
        let tail = String::from_utf8_lossy(&self.seen().tail).to_lowercase();
        if NO_PROCESS.iter().any(|words| tail.contains(words)) {
            let config = &self.job.sandbox.config;
            self.say(&format!(
                "it may have reached `{config}.pids`, its limit of processes, {pids} now"
            ));
        }
    }

    async fn to_the_end(this: &Arc<Self>) -> PortResult<ChildEnd> {
        let engine = this.shared.engine().await?;
        let name = create::name(&this.job);
        let Some(id) = this.find_or_make(&engine, &name).await? else {
            return Ok(KILLED);
        };
        this.seen().id = Some(id.clone());
        let mut may = this.may.subscribe();
        let allowed = may.wait_for(|may| *may != May::Wait).await;
        if allowed.is_ok_and(|may| *may == May::Never) {
            return Ok(KILLED);
        }
        if let Found::Ended(end) = look(&engine, &id, &this.job.sandbox.caps).await? {
            this.follow(&engine, &id).await;
            return Ok(end);
        }
        // One that runs already is as good as started; one that is stopped goes on.
        let started = fine_if_gone(engine.docker.start_container(&id, None).await);
        if let Err(error) = started {
            let _ = prepare::remove(&engine, &id).await;
            return Err(prepare::cannot(&this.job, "start the container", &error));
        }
        let resumed = fine_if_gone(engine.docker.unpause_container(&id).await);
        // Most often it was not paused, for which engines have different words.
        drop(resumed);
        this.seen().stage = Stage::Running;
        let follower = tokio::spawn({
            let (this, engine, id) = (Arc::clone(this), engine.clone(), id.clone());
            async move { this.follow(&engine, &id).await }
        });
        let (end, company) = wait(&engine, &id, &this.job.sandbox.caps).await?;
        let _ = follower.await;
        // An agent's try is paid for, and counts as failed.
        let step = this.job.agent.is_none() && *this.may.borrow() != May::Never;
        if step && went_with_the_engine(&engine, end, company).await {
            let message = "the engine was shut down while the command ran, and ended it";
            return Err(PortError::unavailable("run the container", message, None));
        }
        Ok(end)
    }

    /// `None`: the run was ended meanwhile.
    async fn find_or_make(&self, engine: &Engine, name: &str) -> PortResult<Option<String>> {
        for _ in 0..CREATE_TRIES {
            if let Some(id) = self.find(engine, name).await? {
                return Ok(Some(id));
            }
            if let Made::Yes(id) = self.make(engine, name).await? {
                return Ok(id);
            }
            // It may have a name before it can be found by it.
            pause(CONTAINER_AWAY_LOOK).await;
        }
        let message = format!("the container `{name}` is neither there nor can it be made");
        Err(PortError::unavailable("make the container", message, None))
    }

    /// The container of this very command, if an earlier supervisor made it.
    async fn find(&self, engine: &Engine, name: &str) -> PortResult<Option<String>> {
        match engine.docker.inspect_container(name, None).await {
            Ok(found) if is_ours(&found, &self.job) => {
                let id = found.id.unwrap_or_else(|| name.to_owned());
                let state = found.state.and_then(|state| state.status);
                // A dead supervisor's request to start it may still be on the way: started by both, it
                // would run twice. What is removed is started by nobody.
                let begun = state.is_none_or(|state| state.to_string() != "created");
                if !begun && never_begins(engine, &id).await? {
                    return Ok(None);
                }
                self.say("going on with the container that is there; its output from the start:");
                Ok(Some(id))
            }
            Ok(_) => {
                let message = format!(
                    "the container `{name}` is there and not of this run; remove it: docker rm -f {name}"
                );
                Err(PortError::unavailable("make the container", message, None))
            }
            Err(error) if status(&error) == Some(404) => Ok(None),
            Err(error) => Err(away("look for the container", &error)),
        }
    }

    async fn make(&self, engine: &Engine, name: &str) -> PortResult<Made> {
        let mut may = self.may.subscribe();
        let say = |line: &str| self.say(line);
        let image = tokio::select! {
            _ = may.wait_for(|may| *may == May::Never) => return Ok(Made::Yes(None)),
            image = pull::ensure(engine, &self.job.sandbox, &say) => image?,
        };
        let place = mounts::place(&self.job)?;
        self.shared
            .made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(place.made.iter().cloned());
        for name in &self.job.sandbox.env_passthrough {
            if !self.shared.env.contains_key(name) {
                self.say(&format!("`{name}` of `env_passthrough` is not set here"));
            }
        }
        probe::probe(&self.shared, engine, (&self.job, &image), &place).await?;
        let created =
            prepare::create_container(&self.shared, engine, (&self.job, name), &place).await?;
        Ok(created.map_or(Made::IsThere, |id| Made::Yes(Some(id))))
    }

    /// Takes the output until the container has closed it.
    async fn follow(&self, engine: &Engine, id: &str) {
        let mut taken = 0;
        let mut tries = CONTAINER_AWAY_MAX.as_millis() / CONTAINER_AWAY_LOOK.as_millis();
        while tries > 0 {
            match self.follow_from(engine, id, &mut taken).await {
                Ok(()) => break,
                Err(error) if status(&error).is_some() => {
                    self.say(&format!("its output cannot be read: {error}"));
                    break;
                }
                Err(_) => tries -= 1,
            }
            pause(CONTAINER_AWAY_LOOK).await;
        }
        self.seen().closed = true;
    }

    /// Reads the log from its start, without the bytes that were taken before.
    async fn follow_from(
        &self,
        engine: &Engine,
        id: &str,
        taken: &mut usize,
    ) -> Result<(), bollard::errors::Error> {
        let options = LogsOptionsBuilder::default()
            .follow(true)
            .stdout(true)
            .stderr(true);
        let mut stream = std::pin::pin!(engine.patient.logs(id, Some(options.build())));
        let mut skip = *taken;
        while let Some(part) = stream.next().await {
            let bytes = part?.into_bytes();
            let known = skip.min(bytes.len());
            skip -= known;
            let new = &bytes[known..];
            if !new.is_empty() {
                (self.output)(new);
                *taken += new.len();
                let mut seen = self.seen();
                seen.tail.extend(new);
                let over = seen.tail.len().saturating_sub(TAIL_BYTES);
                seen.tail.drain(..over);
                seen.bytes += u64::try_from(new.len()).unwrap_or_default();
            }
        }
        Ok(())
    }

    async fn signal(&self, id: &str, force: Force) -> PortResult<()> {
        let engine = self.shared.engine().await?;
        let kill = async |signal: &str| {
            let options = KillContainerOptionsBuilder::default()
                .signal(signal)
                .build();
            engine.docker.kill_container(id, Some(options)).await
        };
        let done = match force {
            Force::Freeze => engine.docker.pause_container(id).await,
            Force::Thaw => engine.docker.unpause_container(id).await,
            Force::Terminate => kill("TERM").await,
            Force::Kill => kill("KILL").await,
        };
        fine_if_gone(done).map_err(|error| away("signal a container", &error))?;
        match force {
            Force::Freeze => self.seen().paused = true,
            Force::Thaw => self.seen().paused = false,
            Force::Terminate | Force::Kill => {}
        }
        Ok(())
    }

    async fn remove(&self) -> PortResult<()> {
        let id = self.seen().id.take();
        if let Some(id) = id {
            let engine = self.shared.engine().await?;
            let removed = prepare::remove(&engine, &id).await;
            removed.map_err(|error| away("remove a container", &error))?;
        }
        Ok(())
    }
}

/// What programs say that may start no other one.
const NO_PROCESS: [&str; 3] = [
    "can't fork",
    "cannot fork",
    "resource temporarily unavailable",
];

/// As much output is kept to look for that.
const TAIL_BYTES: usize = 4096;

/// Removes a container that was made and not started. Time first for a request that is on its way: a short
/// command it starts may have ended before the removal, which takes such a container, too.
async fn never_begins(engine: &Engine, id: &str) -> PortResult<bool> {
    pause(CONTAINER_START_SETTLES).await;
    let found = engine.docker.inspect_container(id, None).await;
    let state = found.ok().and_then(|found| found.state?.status);
    let still = state.is_some_and(|state| state.to_string() == "created");
    Ok(still && prepare::remove_unstarted(engine, id).await?)
}

fn is_ours(found: &ContainerInspectResponse, job: &ContainerJob) -> bool {
    let labels = found
        .config
        .as_ref()
        .and_then(|config| config.labels.as_ref());
    let folder = labels.and_then(|labels| labels.get(LABEL_FOLDER));
    folder.is_some_and(|folder| *folder == job.folder.display().to_string())
}
