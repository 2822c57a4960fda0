//! What `doctor` says about containers: is there an engine, are the images there, and what reaches the
//! host. It pulls nothing.

use std::collections::BTreeMap;

use super::super::environment::Env;
use super::super::wiring;
use super::Finding;
use crate::adapters::docker::DockerContainers;
use crate::config::RepoConfig;
use crate::model::sandbox::{Pull, Sandbox};
use crate::ports::{PortError, PortResult};

/// All of it, for one repository.
pub fn look(env: &Env, config: &RepoConfig) -> Vec<Finding> {
    let mut found = vec![match &config.agents.sandbox {
        None => Finding::skipped("agents", ON_HOST),
        Some(sandbox) => Finding::good("agents", format!("run {}", sandbox.agent_reaches())),
    }];
    if config.places.iter().all(|place| place.sandbox.is_none()) {
        let what = "run on this host: `verify.sandbox` puts them into containers";
        found.push(Finding::skipped("verify steps", what));
    }
    let sandboxes: BTreeMap<&str, &Sandbox> = wiring::sandboxes(config)
        .map(|sandbox| (sandbox.image.as_str(), sandbox))
        .collect();
    if sandboxes.is_empty() {
        return found;
    }
    let engine = match wiring::containers(env) {
        Ok(engine) => engine,
        Err(error) => {
            found.push(Finding::bad("docker", error.to_string(), "try again"));
            return found;
        }
    };
    match engine.described() {
        Ok(what) => found.push(Finding::good("docker", what)),
        Err(error) => {
            let what = match &error {
                PortError::Unavailable { message, .. } => message.clone(),
                PortError::Refused { .. } | PortError::Unknown { .. } => error.to_string(),
            };
            found.push(Finding::bad("docker", what, "issues wait until it answers"));
            return found;
        }
    }
    found.extend(sandboxes.values().map(|sandbox| image(&engine, sandbox)));
    found
}

const ON_HOST: &str = "run on this host: they reach what you reach (files, keys, programs, network); \
     `agents.sandbox` puts them into containers";

fn image(engine: &DockerContainers, sandbox: &Sandbox) -> Finding {
    let Sandbox { image, config, .. } = sandbox;
    let there: PortResult<bool> = engine.has(image);
    match (there, sandbox.pull) {
        (Err(error), _) => Finding::skipped("image", format!("{image}: {error}")),
        (Ok(true), _) => Finding::good("image", image),
        (Ok(false), Pull::Never) => Finding::bad(
            "image",
            format!("`{image}` of `{config}` is not there, and `pull: never` does not get it"),
            format!("docker pull {image}"),
        ),
        (Ok(false), Pull::Missing | Pull::Always) => Finding::skipped(
            "image",
            format!("`{image}` of `{config}` is not there: the first one that needs it pulls it"),
        ),
    }
}
