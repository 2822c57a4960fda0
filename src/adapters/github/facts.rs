//! Facts about the repository and about people in it.

use serde::Deserialize;
use serde_json::json;

use crate::model::ids::{BranchName, Login, RepoId, Timestamp};
use crate::model::repo::{Permission, Repository};
use crate::ports::{PortError, PortResult, Refusal};

use super::GitHubAdapter;
use super::address::segment;
use super::send::{Kind, Query};
use super::wire::{FactsData, WireFacts};

#[derive(Deserialize)]
struct RestPermission {
    permission: String,
}

impl GitHubAdapter {
    pub(super) async fn facts(&self) -> PortResult<Repository> {
        let what = format!("read `{}`", self.slug);
        let variables = json!({ "owner": self.slug.owner, "name": self.slug.name });
        let query = Query {
            what: &what,
            kind: Kind::Read,
            operation: "Facts",
            refs: &[],
            variables,
        };
        let (_, data): (Timestamp, FactsData) = self.sender.graphql(&query).await?;
        let Some(found) = data.repository else {
            return Err(self.no_repository(&what));
        };
        self.remember_node_id(&found.id);
        repository(found, data.viewer.login)
            .map_err(|message| PortError::unavailable(what, message, None))
    }

    pub(super) async fn permission_of(&self, login: &Login) -> PortResult<Permission> {
        let what = format!("read what `{login}` may do");
        let path = format!(
            "/repos/{}/collaborators/{}/permission",
            self.slug,
            segment(login.as_str())
        );
        let found: PortResult<RestPermission> = self.sender.json(&self.read(&what, &path)).await;
        match found {
            // `maintain` is told as `write` here.
            Ok(found) => Ok(match found.permission.as_str() {
                "admin" | "maintain" | "write" => Permission::Write,
                _ => Permission::Less,
            }),
            Err(error) if error.refusal() == Some(Refusal::NotFound) => Ok(Permission::Less),
            Err(error) => Err(error),
        }
    }
}

fn repository(found: WireFacts, viewer: String) -> Result<Repository, String> {
    let branch = found
        .default_branch_ref
        .map(|branch| BranchName::new(branch.name))
        .transpose();
    Ok(Repository {
        id: RepoId(found.database_id),
        node_id: found.id,
        slug: found
            .name_with_owner
            .parse()
            .map_err(|error| format!("{error}"))?,
        default_branch: branch
            .map_err(|error| error.to_string())?
            .filter(|_| !found.is_empty),
        archived: found.is_archived,
        // GitHub tells Apps nothing here; of them the first write tells.
        can_push: matches!(
            found.viewer_permission.as_deref(),
            None | Some("ADMIN" | "MAINTAIN" | "WRITE")
        ),
        operator: Login::new(viewer).map_err(|error| error.to_string())?,
    })
}
