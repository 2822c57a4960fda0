//! What a repository of the simulated GitHub holds now, for tests and the demo to look at. No requests.

use std::collections::BTreeMap;

use super::error::SimResult;
use super::model::{Issue, Pr};
use super::{SimRepo, repo_git};

impl SimRepo {
    /// Where a ref points.
    pub fn ref_id(&self, name: &str) -> SimResult<Option<String>> {
        self.sim.read(|world| world.ref_id(&self.key, name))
    }

    /// The branches and where they are.
    pub fn heads(&self) -> SimResult<BTreeMap<String, String>> {
        let all = self.refs()?;
        Ok(all
            .into_iter()
            .filter(|(name, _)| name.starts_with("refs/heads/"))
            .collect())
    }

    /// The tip of the default branch.
    pub fn tip(&self) -> SimResult<Option<String>> {
        self.sim.read(|world| world.tip(&self.key))
    }

    /// All refs.
    pub fn refs(&self) -> SimResult<BTreeMap<String, String>> {
        self.sim.read(|world| world.refs(&self.key))
    }

    /// A file at a commit or branch tip, as people see it in the browser.
    pub fn file(&self, name: &str, path: &str) -> SimResult<Option<String>> {
        let repo = self.path();
        let id = self.ref_id(name)?.unwrap_or_else(|| name.to_owned());
        repo_git::file(&repo, &id, path)
    }

    /// An issue or pull request as it is now.
    pub fn issue(&self, number: u64) -> SimResult<Issue> {
        self.sim
            .read(|world| world.issue(&self.key, number).cloned())
    }

    /// All pull requests, oldest first.
    pub fn prs(&self) -> SimResult<Vec<(Issue, Pr)>> {
        self.sim.read(|world| {
            let issues = world.repo(&self.key)?.issues.values();
            Ok(issues
                .filter_map(|i| i.pr.clone().map(|pr| (i.clone(), pr)))
                .collect())
        })
    }

    /// The whole record.
    pub fn snapshot(&self) -> SimResult<super::model::Repo> {
        self.sim.read(|world| world.repo(&self.key).cloned())
    }
}
