//! Moving a worktree's branch forward to what was pushed to it elsewhere. It never merges and never throws
//! anything away: where that would be needed it refuses, and a person decides.

use std::path::Path;

use crate::model::ids::{RefName, Sha};
use crate::ports::{PortError, PortResult, Refusal};

use super::{CliGit, place};

impl CliGit {
    pub(super) async fn perform_follow(&self, path: &Path, name: &RefName) -> PortResult<Sha> {
        let what = format!("bring `{}` up to `{name}`", path.display());
        let Some(sha) = self.perform_fetch_ref(name).await? else {
            let words = "the remote has no such branch";
            return Err(PortError::refused(what, Refusal::NotFound, words));
        };
        let (admin, owner) = self.our_admin(path, &what).await?;
        if let Some(operation) = place::operation(&admin) {
            let words = format!("a {operation} is under way there; finish or abort it first");
            return Err(PortError::refused(what, Refusal::Local, words));
        }
        let locks = Self::locks(&admin, self.common().await?, &owner.branch);
        let merge = self.call(
            path,
            [
                "merge",
                "--ff-only",
                "--quiet",
                "--no-autostash",
                sha.as_str(),
            ],
        );
        self.good_when_unlocked(&what, &merge, &locks).await?;
        Ok(sha)
    }
}
