//! What a container is made of: the engine's words for a job. It asks nothing.

use std::collections::HashMap;

use bollard::models::{ContainerCreateBody, HostConfig, HostConfigLogConfig};
use bollard::query_parameters::{CreateContainerOptions, CreateContainerOptionsBuilder};

use super::mounts::Place;
use super::{
    Engine, LABEL_FOLDER, LABEL_INSTANCE, LABEL_ISSUE, LABEL_REPOSITORY, LABEL_RUN, LABEL_WORKTREE,
};
use crate::model::limits::RUN_LOG_BYTES_MAX;
use crate::model::sandbox::{Network, PROMPT_IN_BOX, User, WORKSPACE};
use crate::ports::containers::ContainerJob;

/// Runs the text with both outputs in one: two streams would come back in another order than they
/// were written in.
const SHELL: [&str; 3] = ["-c", "exec /bin/sh -c \"$1\" 2>&1", "sh"];

/// The same with the prompt on standard input.
const SHELL_ON_PROMPT: [&str; 3] = [
    "-c",
    "exec /bin/sh -c \"$1\" 2>&1 <\"$GHSWARM_PROMPT_FILE\"",
    "sh",
];

/// The name by which the next supervisor finds the container.
pub(super) fn name(job: &ContainerJob) -> String {
    let (owner, issue, run) = (&job.owner, job.key.issue, job.key.folder());
    format!("ghswarm-{owner}-{issue}-{run}-{}", job.index)
}

pub(super) fn options(name: &str) -> CreateContainerOptions {
    CreateContainerOptionsBuilder::default().name(name).build()
}

pub(super) fn labels(job: &ContainerJob) -> HashMap<String, String> {
    HashMap::from([
        (LABEL_INSTANCE.to_owned(), job.owner.instance.clone()),
        (
            LABEL_REPOSITORY.to_owned(),
            job.owner.repository.to_string(),
        ),
        (LABEL_ISSUE.to_owned(), job.key.issue.to_string()),
        (LABEL_RUN.to_owned(), job.key.to_string()),
        (LABEL_FOLDER.to_owned(), job.folder.display().to_string()),
        (
            LABEL_WORKTREE.to_owned(),
            job.worktree.display().to_string(),
        ),
    ])
}

/// `uid:gid` for the engine; `None`: the image's own.
pub(super) fn user(job: &ContainerJob, engine: &Engine) -> Option<(u32, u32)> {
    match job.sandbox.user {
        // Root of a rootless engine is the user who runs it.
        User::Auto if engine.rootless => Some((0, 0)),
        User::Auto => Some((
            rustix::process::getuid().as_raw(),
            rustix::process::getgid().as_raw(),
        )),
        User::OfImage => None,
        User::Fixed { uid, gid } => Some((uid, gid)),
    }
}

/// The whole body of the request.
pub(super) fn body(
    job: &ContainerJob,
    engine: &Engine,
    place: &Place,
    passed: &[(String, String)],
) -> ContainerCreateBody {
    let dir = if job.dir.as_os_str().is_empty() {
        WORKSPACE.to_owned()
    } else {
        format!("{WORKSPACE}/{}", job.dir.display())
    };
    let on_stdin = job.agent.as_ref().is_some_and(|agent| agent.on_stdin);
    let shell = if on_stdin { SHELL_ON_PROMPT } else { SHELL };
    let shell = shell.iter().map(|part| (*part).to_owned());
    ContainerCreateBody {
        image: Some(job.sandbox.image.clone()),
        entrypoint: Some(vec!["/bin/sh".to_owned()]),
        cmd: Some(shell.chain([job.shell.clone()]).collect()),
        working_dir: Some(dir),
        user: user(job, engine).map(|(uid, gid)| format!("{uid}:{gid}")),
        env: Some(environment(job, passed)),
        labels: Some(labels(job)),
        host_config: Some(host_config(job, place)),
        ..ContainerCreateBody::default()
    }
}

fn host_config(job: &ContainerJob, place: &Place) -> HostConfig {
    let caps = job.sandbox.caps;
    let memory = caps.memory.and_then(|bytes| i64::try_from(bytes).ok());
    let network = match job.sandbox.network {
        Network::Default => None,
        Network::None => Some("none".to_owned()),
    };
    // Whatever the engine's own default is: the log is what the output is read from.
    let log = HostConfigLogConfig {
        typ: Some("json-file".to_owned()),
        config: Some(HashMap::from([
            ("max-size".to_owned(), RUN_LOG_BYTES_MAX.to_string()),
            ("max-file".to_owned(), "2".to_owned()),
        ])),
    };
    HostConfig {
        binds: Some(job.sandbox.volumes.clone()),
        mounts: Some(place.mounts.clone()),
        network_mode: network,
        memory,
        // The same number: no swap besides, or the limit would only slow things down.
        memory_swap: memory,
        nano_cpus: caps.nano_cpus.and_then(|cpus| i64::try_from(cpus).ok()),
        pids_limit: caps.pids.map(i64::from),
        cap_drop: Some(vec!["ALL".to_owned()]),
        security_opt: Some(vec!["no-new-privileges".to_owned()]),
        // Reaps what a step leaves behind, and passes TERM on.
        init: Some(true),
        log_config: Some(log),
        ..HostConfig::default()
    }
}

/// Nothing of the host's environment but what the configuration names.
fn environment(job: &ContainerJob, passed: &[(String, String)]) -> Vec<String> {
    let mut env: std::collections::BTreeMap<&str, &str> = [
        // The user of the host has no home in there.
        ("HOME", "/tmp"),
        ("GHSWARM_SANDBOX", "docker"),
    ]
    .into();
    if job.agent.is_some() {
        env.insert("GHSWARM_PROMPT_FILE", PROMPT_IN_BOX);
    } else {
        // The index cannot be written, and need not.
        env.insert("GIT_OPTIONAL_LOCKS", "0");
    }
    env.extend(
        job.env
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    // The worktree may belong to another user than the container's.
    let number: usize = env
        .get("GIT_CONFIG_COUNT")
        .and_then(|count| count.parse().ok())
        .unwrap_or_default();
    let (count, key, value) = (
        (number + 1).to_string(),
        format!("GIT_CONFIG_KEY_{number}"),
        format!("GIT_CONFIG_VALUE_{number}"),
    );
    env.insert("GIT_CONFIG_COUNT", &count);
    env.insert(&key, "safe.directory");
    env.insert(&value, "*");
    env.extend(
        passed
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    let own = &job.sandbox.env;
    env.extend(
        own.iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    env.iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}
