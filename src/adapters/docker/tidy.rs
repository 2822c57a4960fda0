//! What is left of this home's containers and volumes, found by their labels. Nothing without our own
//! instance in its label is ever touched.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListVolumesOptionsBuilder, RemoveVolumeOptionsBuilder,
};

use super::{
    Engine, LABEL_FOLDER, LABEL_INSTANCE, LABEL_ISSUE, LABEL_REPOSITORY, LABEL_WORKTREE, away,
    fine_if_gone, prepare,
};
use crate::model::ids::IssueNumber;
use crate::model::sandbox::SandboxOwner;
use crate::ports::PortResult;

fn filters(owner: &SandboxOwner, issue: Option<IssueNumber>) -> HashMap<String, Vec<String>> {
    let mut labels = vec![
        format!("{LABEL_INSTANCE}={}", owner.instance),
        format!("{LABEL_REPOSITORY}={}", owner.repository),
    ];
    labels.extend(issue.map(|issue| format!("{LABEL_ISSUE}={issue}")));
    HashMap::from([("label".to_owned(), labels)])
}

/// Ids of this owner's containers, with the run folder of each.
pub(super) async fn containers(
    engine: &Engine,
    owner: &SandboxOwner,
) -> PortResult<Vec<(String, PathBuf)>> {
    let options = ListContainersOptionsBuilder::default()
        .all(true)
        .filters(&filters(owner, None))
        .build();
    let found = engine.docker.list_containers(Some(options)).await;
    let found = found.map_err(|error| away("list containers", &error))?;
    let one = |summary: bollard::models::ContainerSummary| {
        let folder = summary.labels?.remove(LABEL_FOLDER)?;
        Some((summary.id?, PathBuf::from(folder)))
    };
    Ok(found.into_iter().filter_map(one).collect())
}

pub(super) async fn remove_containers(engine: &Engine, ids: &[String]) -> PortResult<()> {
    for id in ids {
        prepare::remove(engine, id)
            .await
            .map_err(|error| away("remove a container", &error))?;
    }
    Ok(())
}

/// The volumes of one issue, or of all worktrees that are gone.
pub(super) async fn remove_volumes(
    engine: &Engine,
    owner: &SandboxOwner,
    issue: Option<IssueNumber>,
) -> PortResult<()> {
    let options = ListVolumesOptionsBuilder::default()
        .filters(&filters(owner, issue))
        .build();
    let found = engine.docker.list_volumes(Some(options)).await;
    let found = found.map_err(|error| away("list volumes", &error))?;
    for volume in found.volumes.unwrap_or_default() {
        let worktree = volume.labels.get(LABEL_WORKTREE);
        let gone = worktree.is_some_and(|path| !Path::new(path).exists());
        if issue.is_none() && !gone {
            continue;
        }
        let options = RemoveVolumeOptionsBuilder::default().build();
        let removed = engine
            .docker
            .remove_volume(&volume.name, Some(options))
            .await;
        fine_if_gone(removed).map_err(|error| away("remove a volume", &error))?;
    }
    Ok(())
}
