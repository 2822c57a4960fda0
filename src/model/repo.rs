//! What GitHub says of the repository, and of us in it.

use serde::{Deserialize, Serialize};

use super::ids::{BranchName, Login, RepoId, RepoSlug};

/// Facts about a repository that change rarely; cached for an hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// GitHub's id.
    pub id: RepoId,
    /// GraphQL node id, needed by `updateRefs`.
    pub node_id: String,
    /// Its present name (a rename redirects, the id stays).
    pub slug: RepoSlug,
    /// The default branch; `None` while the repository is empty.
    pub default_branch: Option<BranchName>,
    /// Read-only?
    pub archived: bool,
    /// May the operator write contents?
    pub can_push: bool,
    /// The operator: whose token it is. For an App its bot's login.
    pub operator: Login,
}

/// What a login may do in the repository, where its association is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// `admin`, `maintain` or `write`.
    Write,
    /// Less, or none.
    Less,
}
