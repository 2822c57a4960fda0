//! Can the container's user work in the worktree, and do the files it makes belong to whom they
//! should? Tried once an engine, image, user and place, before the first command: what a step would
//! print about it, nobody would understand, and an agent would be paid to mend it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bollard::query_parameters::WaitContainerOptionsBuilder;
use futures_util::StreamExt as _;

use super::mounts::Place;
use super::{Engine, Shared, away, create, prepare};
use crate::model::sandbox::{User, WORKSPACE};
use crate::model::trust::text_hash;
use crate::ports::containers::{AgentJob, ContainerJob};
use crate::ports::{PortError, PortResult};

const WHAT: &str = "try the container";

/// Proves it, or says what to do.
pub(super) async fn probe(
    shared: &Shared,
    engine: &Engine,
    (job, image): (&ContainerJob, &str),
    place: &Place,
) -> PortResult<()> {
    let proof = proof(job, engine, image);
    if proof.as_ref().is_some_and(|proof| proof.exists()) {
        return Ok(());
    }
    // Always the same: what a killed supervisor left is taken away by the next one.
    let file = ".ghswarm-probe";
    let in_container = format!("{WORKSPACE}/{file}");
    let tried = ContainerJob {
        dir: PathBuf::new(),
        agent: job.agent.clone().map(|agent| AgentJob {
            on_stdin: false,
            ..agent
        }),
        shell: format!("f='{in_container}'; : > \"$f\" && rm \"$f\" && : > \"$f\""),
        ..job.clone()
    };
    let name = format!("{}-probe", create::name(job));
    // Of a supervisor that died while it tried.
    let _ = prepare::remove(engine, &name).await;
    let id = prepare::create_container(shared, engine, (&tried, &name), place).await?;
    let id = id.ok_or_else(|| {
        let message = "the container of an earlier try is still being made; it is tried again";
        PortError::unavailable(WHAT, message, None)
    })?;
    let ended = run(engine, job, &id).await;
    let _ = prepare::remove(engine, &id).await;
    let path = job.ground().join(file);
    let verdict = match ended? {
        0 => judge(job, engine, &path),
        code => Err(refused(job, engine, code)),
    };
    let removed = fs::remove_file(&path);
    verdict?;
    if let Err(error) = removed
        && error.kind() != io::ErrorKind::NotFound
    {
        let message = format!("what a container writes cannot be removed: {error}");
        return Err(PortError::unavailable(WHAT, message, None));
    }
    if let Some(proof) = proof {
        keep(&proof);
    }
    Ok(())
}

/// The file that says that it was proved, valid for this boot: engines and security modules are set
/// up anew with the machine.
fn proof(job: &ContainerJob, engine: &Engine, image: &str) -> Option<PathBuf> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    // Each run of an agent has a folder of its own, in the same place.
    let above = match &job.agent {
        Some(_) => job.folder.parent()?.parent()?,
        None => job.worktree.parent()?,
    };
    let above = above.display();
    let user = create::user(job, engine);
    let all = format!("{} {image} {user:?} {above} {}", engine.id, boot.trim());
    let runs = job.folder.parent()?.parent()?;
    Some(
        runs.join("containers-proved")
            .join(&text_hash("proof", &all)[..16]),
    )
}

fn keep(proof: &Path) {
    let made = proof.parent().map_or(Ok(()), fs::create_dir_all);
    if let Err(error) = made.and_then(|()| fs::write(proof, "")) {
        // It is only tried again.
        tracing::warn!("cannot write `{}`: {error}", proof.display());
    }
}

async fn run(engine: &Engine, job: &ContainerJob, id: &str) -> PortResult<i64> {
    let started = engine.docker.start_container(id, None).await;
    started.map_err(|error| prepare::cannot(job, "start the container", &error))?;
    let options = WaitContainerOptionsBuilder::default().build();
    let stream = engine.patient.wait_container(id, Some(options));
    // The status comes from the look below: a status other than 0 is an error here.
    let _ = std::pin::pin!(stream).next().await;
    let seen = engine.docker.inspect_container(id, None).await;
    let seen = seen.map_err(|error| away(WHAT, &error))?;
    Ok(seen.state.and_then(|state| state.exit_code).unwrap_or(-1))
}

/// Whose is the file that the container made?
fn judge(job: &ContainerJob, engine: &Engine, path: &Path) -> PortResult<()> {
    let Ok(meta) = fs::symlink_metadata(path) else {
        let message = format!(
            "what a container writes to `{}` does not appear there: the engine does not share this \
             folder with its containers. Allow it in the engine's settings (file sharing)",
            job.ground().display()
        );
        return Err(PortError::unavailable(WHAT, message, None));
    };
    let me = rustix::process::getuid().as_raw();
    let wanted = match job.sandbox.user {
        User::Auto => me,
        // Somebody chose it: the files are whose they are.
        User::OfImage | User::Fixed { .. } => return Ok(()),
    };
    if meta.uid() == wanted {
        return Ok(());
    }
    let remedy = if engine.rootless {
        "run ghswarm as the user who runs the rootless engine"
    } else {
        "the engine maps users: switch its `userns-remap` off, or use a rootless engine"
    };
    let message = format!(
        "files that `{}` makes in the worktree belong to user {} and not to you ({wanted}): {remedy}",
        job.sandbox.config,
        meta.uid()
    );
    Err(PortError::unavailable(WHAT, message, None))
}

/// Why the container could not write, as far as one can see from here.
fn refused(job: &ContainerJob, engine: &Engine, code: i64) -> PortError {
    let (config, worktree) = (&job.sandbox.config, job.ground().display());
    let above = job.ground().parent().unwrap_or(job.ground()).display();
    let owner = fs::metadata(job.ground()).map(|meta| (meta.uid(), meta.gid()));
    let user = create::user(job, engine);
    let enforcing = fs::read_to_string("/sys/fs/selinux/enforce").is_ok_and(|on| on.trim() == "1");
    let remedy = match owner {
        Ok((uid, gid)) if user.is_some_and(|user| user.0 != uid) && !engine.rootless => format!(
            "the worktree belongs to user {uid}: set `{config}.user` to \"{uid}:{gid}\", or to `auto` \
             and run ghswarm as that user"
        ),
        Ok((uid, gid)) if user.is_none() => format!(
            "the image's own user may not: set `{config}.user` to `auto` or to \"{uid}:{gid}\""
        ),
        _ if enforcing => {
            format!("SELinux may refuse it; allow it: chcon -R -t container_file_t {above}")
        }
        _ if engine.rootless => {
            format!("the engine is rootless: set `{config}.user` to `auto` or to \"0:0\"")
        }
        _ => format!(
            "try it: docker run --rm -v {worktree}:{WORKSPACE} {} ls -la {WORKSPACE}",
            job.sandbox.image
        ),
    };
    let message = format!(
        "the container's user cannot write to the worktree `{worktree}` (status {code}): {remedy}"
    );
    PortError::unavailable(WHAT, message, None)
}
