//! Containers by the Docker engine's API (Docker, Docker Desktop, rootless Docker, Podman's socket).
//! What is run, when and for how long is decided elsewhere; here is how it is asked for.
//!
//! The doors are synchronous and the client is not, so it lives in a runtime of its own.

mod create;
mod ending;
mod find;
mod life;
mod mounts;
mod prepare;
mod probe;
mod pull;
mod tidy;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, mpsc};
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Mutex;

use crate::model::ids::IssueNumber;
use crate::model::limits::{CONTAINER_ANSWER_MAX, CONTAINER_RUN_MAX};
use crate::model::sandbox::{Pull, Sandbox, SandboxOwner};
use crate::ports::containers::{Container, ContainerJob, Containers, Sink};
use crate::ports::{PortError, PortResult};

pub use find::Places;

/// What says whose a container is.
const LABEL_INSTANCE: &str = "ghswarm.instance";
const LABEL_REPOSITORY: &str = "ghswarm.repository";
const LABEL_ISSUE: &str = "ghswarm.issue";
const LABEL_RUN: &str = "ghswarm.run";
const LABEL_FOLDER: &str = "ghswarm.folder";
const LABEL_WORKTREE: &str = "ghswarm.worktree";

/// The engine of this machine, found and asked when it is needed.
pub struct DockerContainers {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
}

/// What the container's tasks share.
struct Shared {
    places: Places,
    /// Variables of this process, for `env_passthrough`.
    env: BTreeMap<String, String>,
    engine: Mutex<Option<Engine>>,
    /// Mount points that were made in the worktree.
    made: std::sync::Mutex<Vec<PathBuf>>,
}

/// A client that was answered once.
#[derive(Clone)]
struct Engine {
    /// For requests that are answered soon.
    docker: Docker,
    /// For those that last as long as a command.
    patient: Docker,
    /// The engine's own id.
    id: String,
    /// Does its root stand for the user who runs it?
    rootless: bool,
}

impl DockerContainers {
    /// `places` says where an engine may be; nothing is asked yet.
    pub fn new(places: Places, env: BTreeMap<String, String>) -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("containers")
            .enable_all()
            .build()?;
        Ok(Self {
            runtime: Some(runtime),
            shared: Arc::new(Shared {
                places,
                env,
                engine: Mutex::default(),
                made: std::sync::Mutex::default(),
            }),
        })
    }

    /// The engine in a line for people, or why there is none.
    pub fn described(&self) -> PortResult<String> {
        self.ask("ask the Docker engine", |shared| async move {
            let engine = shared.engine().await?;
            let version = engine.docker.version().await;
            let version = version.map_err(|error| away("ask the Docker engine", &error))?;
            let name = version.platform.map(|platform| platform.name);
            let name = name.filter(|name| !name.is_empty());
            Ok(format!(
                "{} {}{}",
                name.unwrap_or_else(|| "Docker".to_owned()),
                version.version.unwrap_or_default(),
                if engine.rootless { ", rootless" } else { "" }
            ))
        })
    }

    /// Is the image there?
    pub fn has(&self, image: &str) -> PortResult<bool> {
        let image = image.to_owned();
        self.ask("look for the image", |shared| async move {
            let engine = shared.engine().await?;
            Ok(pull::local(&engine, &image).await?.is_some())
        })
    }

    fn handle(&self) -> Option<&Handle> {
        self.runtime.as_ref().map(Runtime::handle)
    }

    fn ask<T, F>(&self, what: &str, question: impl FnOnce(Arc<Shared>) -> F) -> PortResult<T>
    where
        T: Send + 'static,
        F: Future<Output = PortResult<T>> + Send + 'static,
    {
        let Some(handle) = self.handle() else {
            return Err(PortError::unavailable(what, "this process ends", None));
        };
        ask(handle, what, question(Arc::clone(&self.shared)))
    }
}

impl Drop for DockerContainers {
    /// Not the runtime's own drop, which waits and must not happen inside another runtime.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Asks from outside the runtime, and waits for the answer.
fn ask<T, F>(handle: &Handle, what: &str, question: F) -> PortResult<T>
where
    T: Send + 'static,
    F: Future<Output = PortResult<T>> + Send + 'static,
{
    let (answer, answered) = mpsc::channel();
    handle.spawn(async move {
        let _ = answer.send(question.await);
    });
    answered
        .recv_timeout(CONTAINER_ANSWER_MAX)
        .unwrap_or_else(|_| {
            let message = format!("no answer within {} s", CONTAINER_ANSWER_MAX.as_secs());
            Err(PortError::unavailable(what, message, None))
        })
}

impl Containers for DockerContainers {
    fn start(&self, job: ContainerJob, output: Sink) -> Box<dyn Container> {
        let handle = self.handle().cloned();
        Box::new(life::begin(&self.shared, handle, job, output))
    }

    fn clear(&self) {
        let mut made = self
            .shared
            .made
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        mounts::unmake(&std::mem::take(&mut *made));
    }

    fn standing(&self, sandboxes: &[&Sandbox]) -> PortResult<()> {
        let never = |sandbox: &&&Sandbox| sandbox.pull == Pull::Never;
        let images: Vec<Sandbox> = sandboxes
            .iter()
            .filter(never)
            .map(|s| (*s).clone())
            .collect();
        self.ask("look for the Docker engine", |shared| async move {
            let engine = shared.engine().await?;
            for sandbox in &images {
                pull::needed(&engine, sandbox).await?;
            }
            Ok(())
        })
    }

    fn tidy(&self, owner: &SandboxOwner, keep: &dyn Fn(&Path) -> bool) -> PortResult<()> {
        let of = owner.clone();
        let found = self.ask("list containers", |shared| async move {
            tidy::containers(&shared.engine().await?, &of).await
        })?;
        let gone: Vec<String> = found
            .into_iter()
            .filter(|(_, folder)| !keep(folder))
            .map(|(id, _)| id)
            .collect();
        let of = owner.clone();
        self.ask("remove containers", |shared| async move {
            let engine = shared.engine().await?;
            tidy::remove_containers(&engine, &gone).await?;
            tidy::remove_volumes(&engine, &of, None).await
        })
    }

    fn forget(&self, owner: &SandboxOwner, issue: IssueNumber) -> PortResult<()> {
        let owner = owner.clone();
        self.ask("remove volumes", |shared| async move {
            let engine = shared.engine().await?;
            tidy::remove_volumes(&engine, &owner, Some(issue)).await
        })
    }
}

impl Shared {
    /// The engine; asked for until it answers once.
    async fn engine(&self) -> PortResult<Engine> {
        let mut known = self.engine.lock().await;
        if let Some(engine) = &*known {
            return Ok(engine.clone());
        }
        let engine = self.places.connect().await?;
        *known = Some(engine.clone());
        Ok(engine)
    }
}

/// A client that was not answered yet; both kinds of patience.
fn clients(docker: Docker) -> (Docker, Docker) {
    let patient = docker.clone().with_timeout(CONTAINER_RUN_MAX);
    (docker, patient)
}

/// An answer that is none, or a refusal: the command never began.
fn away(what: &str, error: &Error) -> PortError {
    PortError::unavailable(what, words(error), None)
}

/// The engine's words, without the client's.
fn words(error: &Error) -> String {
    if let Error::DockerResponseServerError { message, .. } = error {
        return message.trim().to_owned();
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}

/// The engine's status code.
fn status(error: &Error) -> Option<u16> {
    if let Error::DockerResponseServerError { status_code, .. } = error {
        Some(*status_code)
    } else {
        None
    }
}

/// An answer that says that there is nothing any more, or that it is so already.
fn fine_if_gone(done: Result<(), Error>) -> Result<(), Error> {
    match done {
        // 304: it is so; 404: there is none; 409: it does not run, or is being removed already.
        Err(error) if matches!(status(&error), Some(304 | 404 | 409)) => Ok(()),
        other => other,
    }
}

/// Waits a moment for the engine.
#[expect(
    clippy::disallowed_methods,
    reason = "it waits for another process, inside the adapter that owns the connection to it"
)]
async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
