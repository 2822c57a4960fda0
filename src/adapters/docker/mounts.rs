//! What of the host a container sees: the worktree, the repository's `.git` to read, the directories
//! that are the container's alone.
//!
//! A worktree's `.git` is a file that names a folder in the repository's own `.git`. Both are mounted
//! read-only: what a step could write there, the host's git would run. An agent's clone is its own, with its
//! `.git`: the host's git never runs in it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use bollard::models::{Mount, MountType, MountVolumeOptions};

use super::create::labels;
use crate::model::sandbox::{PROMPT_IN_BOX, WORKSPACE};
use crate::ports::containers::{AgentJob, ContainerJob};
use crate::ports::{PortError, PortResult, Refusal};

/// The mounts of one container.
pub(super) struct Place {
    pub mounts: Vec<Mount>,
    /// Directories that were made on the host as mount points.
    pub made: Vec<PathBuf>,
}

/// Looks at the worktree, and makes the mount points in it.
pub(super) fn place(job: &ContainerJob) -> PortResult<Place> {
    let local = |error: io::Error| {
        PortError::refused(
            format!("prepare `{}` for a container", job.ground().display()),
            Refusal::Local,
            error.to_string(),
        )
    };
    let worktree = job.ground().canonicalize().map_err(local)?;
    let dir = worktree.join(&job.dir).canonicalize().map_err(|error| {
        let dir = job.dir.display();
        local(io::Error::new(error.kind(), format!("`{dir}`: {error}")))
    })?;
    if !dir.starts_with(&worktree) || !dir.is_dir() {
        let message = format!("`{}` is no directory of the worktree", job.dir.display());
        return Err(local(io::Error::other(message)));
    }
    let mut mounts = vec![bind(&worktree, WORKSPACE, Access::Write)];
    match &job.agent {
        Some(agent) => mounts.push(prompt(job, agent).map_err(local)?),
        None => mounts.extend(git_mounts(job, &worktree).map_err(local)?),
    }
    let mut made = Vec::new();
    for dir in &job.sandbox.isolate_dirs {
        made.extend(mount_point(&worktree, dir).map_err(local)?);
        mounts.push(volume(job, dir));
    }
    Ok(Place { mounts, made })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

fn bind(source: &Path, target: &str, access: Access) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(source.display().to_string()),
        target: Some(target.to_owned()),
        read_only: Some(access == Access::Read),
        ..Mount::default()
    }
}

fn git_mounts(job: &ContainerJob, worktree: &Path) -> io::Result<Vec<Mount>> {
    let inside = format!("{WORKSPACE}/.git");
    let own = worktree.join(".git");
    let Ok(meta) = fs::symlink_metadata(&own) else {
        return Ok(Vec::new());
    };
    if meta.is_dir() {
        return Ok(vec![bind(&own, &inside, Access::Read)]);
    }
    let text = fs::read_to_string(&own)?;
    let Some(named) = text.trim().strip_prefix("gitdir:") else {
        return Ok(Vec::new());
    };
    let folder = worktree.join(named.trim()).canonicalize()?;
    let common = match fs::read_to_string(folder.join("commondir")) {
        Ok(text) => folder.join(text.trim()).canonicalize()?,
        Err(_) => folder.clone(),
    };
    // The name may be relative to a place that is another one in the container.
    let file = job.folder.join("container.git");
    fs::write(&file, format!("gitdir: {}\n", folder.display()))?;
    let mut mounts = vec![
        bind(&file, &inside, Access::Read),
        bind(&common, &common.display().to_string(), Access::Read),
    ];
    // A clone by reference has its objects elsewhere.
    let others = fs::read_to_string(common.join("objects/info/alternates")).unwrap_or_default();
    for other in others.lines().map(|line| common.join("objects").join(line)) {
        if let Ok(other) = other.canonicalize() {
            mounts.push(bind(&other, &other.display().to_string(), Access::Read));
        }
    }
    Ok(mounts)
}

/// The prompt in a copy that any user of a container may read; only the owner reaches the folder it is in.
fn prompt(job: &ContainerJob, agent: &AgentJob) -> io::Result<Mount> {
    let copy = job.folder.join("container.prompt");
    let text = match fs::read(&agent.prompt) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    fs::write(&copy, text)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o644))?;
    Ok(bind(&copy, PROMPT_IN_BOX, Access::Read))
}

/// Makes the directory on the host, so that it belongs to the user and not to the engine; answers
/// what had to be made. A link in its way could name any place of the host.
fn mount_point(worktree: &Path, dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut path = worktree.to_owned();
    let mut made = Vec::new();
    for part in dir.components() {
        let Component::Normal(part) = part else {
            continue;
        };
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => {
                let message = format!("`{}` of `isolate_dirs` is no directory", dir.display());
                return Err(io::Error::other(message));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(&path)?;
                made.push(path.clone());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(made)
}

/// Takes the mount points away again that nothing was put into.
pub(super) fn unmake(made: &[PathBuf]) {
    for dir in made.iter().rev() {
        // One that is not empty is somebody's.
        let _ = fs::remove_dir(dir);
    }
}

/// The volume of a directory, shared by set-up and steps of one issue.
pub(super) fn volume_name(job: &ContainerJob, dir: &Path) -> String {
    let plain: String = dir
        .display()
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    // Two directories may look the same in the engine's alphabet.
    let hash = crate::model::trust::text_hash("dir", &dir.display().to_string());
    format!(
        "ghswarm-{}-{}-{plain}-{}",
        job.owner,
        job.key.issue,
        &hash[..8]
    )
}

fn volume(job: &ContainerJob, dir: &Path) -> Mount {
    Mount {
        typ: Some(MountType::VOLUME),
        source: Some(volume_name(job, dir)),
        target: Some(format!("{WORKSPACE}/{}", dir.display())),
        read_only: Some(false),
        volume_options: Some(MountVolumeOptions {
            // What the image has at that place is not the worktree's.
            no_copy: Some(true),
            labels: Some(labels(job)),
            ..MountVolumeOptions::default()
        }),
        ..Mount::default()
    }
}
