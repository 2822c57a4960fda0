//! A container, made but not started: image, mounts, the owner of its volumes.

use bollard::body_full;
use bollard::query_parameters::{RemoveContainerOptionsBuilder, UploadToContainerOptionsBuilder};

use super::mounts::Place;
use super::{Engine, Shared, away, create, fine_if_gone, status, words};
use crate::model::sandbox::WORKSPACE;
use crate::ports::containers::ContainerJob;
use crate::ports::{PortError, PortResult};

/// Makes the container under `name`; answers its id. `None`: there is one of that name by now. The engine
/// goes on with a request whose asker was killed.
pub(super) async fn create_container(
    shared: &Shared,
    engine: &Engine,
    (job, name): (&ContainerJob, &str),
    place: &Place,
) -> PortResult<Option<String>> {
    let passed: Vec<(String, String)> = job
        .sandbox
        .env_passthrough
        .iter()
        .filter_map(|name| Some((name.clone(), shared.env.get(name)?.clone())))
        .collect();
    let body = create::body(job, engine, place, &passed);
    let created = engine
        .docker
        .create_container(Some(create::options(name)), body)
        .await;
    let id = match created {
        Ok(created) => created.id,
        Err(error) if status(&error) == Some(409) => return Ok(None),
        Err(error) => return Err(cannot(job, "make the container", &error)),
    };
    if let Err(error) = own_volumes(engine, job, &id).await {
        // Half of a container would be taken for a whole one next time.
        let _ = remove(engine, &id).await;
        return Err(error);
    }
    Ok(Some(id))
}

/// What the engine refuses at this point, the configuration asked for.
pub(super) fn cannot(job: &ContainerJob, what: &str, error: &bollard::errors::Error) -> PortError {
    match status(error) {
        Some(400..=500) => {
            let message = format!(
                "the engine refuses `{}`: {}",
                job.sandbox.config,
                words(error)
            );
            PortError::unavailable(what, message, None)
        }
        _ => away(what, error),
    }
}

pub(super) async fn remove(engine: &Engine, id: &str) -> Result<(), bollard::errors::Error> {
    let options = RemoveContainerOptionsBuilder::default().force(true).build();
    fine_if_gone(engine.docker.remove_container(id, Some(options)).await)
}

/// Removes a container that was made and not started. `false`: it was started meanwhile, and stays.
pub(super) async fn remove_unstarted(engine: &Engine, id: &str) -> PortResult<bool> {
    let removed = engine.docker.remove_container(id, None).await;
    match removed {
        Err(error) if status(&error) == Some(409) => Ok(false),
        removed => fine_if_gone(removed)
            .map(|()| true)
            .map_err(|error| away("remove a container that was not started", &error)),
    }
}

/// A new volume belongs to root. The engine itself gives it to the container's user, by unpacking an
/// archive that holds nothing but the directory.
async fn own_volumes(engine: &Engine, job: &ContainerJob, id: &str) -> PortResult<()> {
    let user = create::user(job, engine);
    for dir in &job.sandbox.isolate_dirs {
        let above = dir.parent().map(|above| above.display().to_string());
        let above = above.filter(|above| !above.is_empty());
        let path = above.map_or_else(
            || WORKSPACE.to_owned(),
            |above| format!("{WORKSPACE}/{above}"),
        );
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let options = UploadToContainerOptionsBuilder::default()
            .path(&path)
            .build();
        let archive = archive_of_dir(&name, user);
        engine
            .docker
            .upload_to_container(id, Some(options), body_full(archive.into()))
            .await
            .map_err(|error| cannot(job, "prepare a volume", &error))?;
    }
    Ok(())
}

/// A tar archive with one directory. Of an unknown user's container everybody may write to it.
fn archive_of_dir(name: &str, user: Option<(u32, u32)>) -> Vec<u8> {
    let (mode, (uid, gid)) = match user {
        Some(user) => (0o755, user),
        None => (0o1777, (0, 0)),
    };
    let mut head = vec![0_u8; 512];
    let mut put =
        |at: usize, text: &str| head[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, &format!("{name}/"));
    put(100, &format!("{mode:07o}"));
    put(108, &format!("{uid:07o}"));
    put(116, &format!("{gid:07o}"));
    put(124, "00000000000");
    put(136, "00000000000");
    // The checksum is taken with spaces in its own place.
    put(148, "        ");
    put(156, "5");
    put(257, "ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    head.resize(512 * 3, 0);
    head
}
