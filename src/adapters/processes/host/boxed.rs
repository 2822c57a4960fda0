//! A command of the run that runs in a container. What a container is, a door knows; here it is
//! started where the run's command is wanted, and its output goes to the run's log.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::RunHost;
use crate::adapters::processes::log::{self, Listener};
use crate::adapters::processes::scrub::Scrubber;
use crate::model::agent_stream::Channel;
use crate::model::run::{Boxed, RunCommand};
use crate::ports::containers::{AgentJob, Container, ContainerJob, Containers, Sink};

/// The engine, if this supervisor was given one.
pub(super) type Door = Option<Arc<dyn Containers>>;

/// What a container's output goes through; `None`: the command runs in none.
pub(super) type Output = Option<Arc<Mutex<Scrubber>>>;

/// A container at work, and what its output goes through.
pub(super) type Begun = (Box<dyn Container>, Arc<Mutex<Scrubber>>);

impl RunHost {
    /// The same with the engine that has the containers.
    #[must_use]
    pub fn with_containers(mut self, containers: Arc<dyn Containers>) -> Self {
        self.containers = Some(containers);
        self
    }

    /// Starts the command's container, or goes on with it.
    pub(super) fn begin_boxed(
        &self,
        index: usize,
        command: &RunCommand,
        (boxed, listener): (&Boxed, Option<Listener>),
    ) -> Option<Begun> {
        let containers = self.containers.as_ref()?;
        let job = ContainerJob {
            key: self.spec.key.clone(),
            index,
            folder: self.folder.path().to_owned(),
            worktree: self.spec.worktree.clone(),
            agent: self.spec.agent_box.as_ref().map(|_| AgentJob {
                tree: self.spec.ground(),
                prompt: self.folder.prompt(),
                on_stdin: command.prompt_on_stdin,
            }),
            dir: Path::new(&command.dir).to_owned(),
            shell: command.shell.clone(),
            env: self.spec.env.clone(),
            sandbox: boxed.sandbox.clone(),
            owner: boxed.owner.clone(),
        };
        let scrubber = Arc::new(Mutex::new(Scrubber::new(Arc::clone(&self.secrets))));
        let (shared, on_the_way) = (Arc::clone(&self.log), Arc::clone(&scrubber));
        let output: Sink = Arc::new(move |bytes| {
            let mut scrubber = on_the_way.lock().unwrap_or_else(PoisonError::into_inner);
            log::append(&shared, &scrubber.pass(bytes));
            if let Some(listener) = &listener {
                let mut listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
                // An engine tells both channels in one.
                listener.feed(Channel::Out, bytes);
            }
        });
        Some((containers.start(job, output), scrubber))
    }

    /// Writes what was kept back of a container's output: nothing more comes.
    pub(super) fn write_rest(&self, scrubber: Option<&Arc<Mutex<Scrubber>>>) {
        if let Some(scrubber) = scrubber {
            let mut scrubber = scrubber.lock().unwrap_or_else(PoisonError::into_inner);
            log::append(&self.log, &scrubber.finish());
        }
    }
}
