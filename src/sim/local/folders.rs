//! Issue folders in memory.

use std::path::PathBuf;

use crate::model::claim::ClaimRecord;
use crate::model::ids::{IssueNumber, Timestamp};
use crate::ports::folders::{Folders, StepGuard};
use crate::ports::{PortError, PortResult, Refusal};

use super::faults::LocalOp;
use super::home::SimHome;

/// The issue folders of a simulated home.
#[derive(Clone)]
pub struct SimFolders {
    pub(super) home: SimHome,
}

struct Guard {
    home: SimHome,
    issue: IssueNumber,
    number: u64,
}

impl StepGuard for Guard {}

impl Drop for Guard {
    fn drop(&mut self) {
        self.home.with(|state| {
            if state.locks.get(&self.issue) == Some(&self.number) {
                state.locks.remove(&self.issue);
            }
        });
    }
}

impl Folders for SimFolders {
    fn lock(&self, issue: IssueNumber) -> PortResult<Option<Box<dyn StepGuard>>> {
        let number = self.home.read("lock the issue", |state| {
            if state.locks.contains_key(&issue) {
                return Ok(None);
            }
            state.locks_taken += 1;
            state.locks.insert(issue, state.locks_taken);
            Ok(Some(state.locks_taken))
        })?;
        Ok(number.map(|number| -> Box<dyn StepGuard> {
            Box::new(Guard {
                home: self.home.clone(),
                issue,
                number,
            })
        }))
    }

    fn claim(&self, issue: IssueNumber) -> PortResult<Option<ClaimRecord>> {
        let what = "read the claim";
        self.home.read(what, |state| {
            if state.damaged_claims.contains(&issue) {
                return Err(PortError::refused(
                    what,
                    Refusal::Local,
                    "the file is damaged",
                ));
            }
            Ok(state.claims.get(&issue).cloned())
        })
    }

    fn create_claim(&self, record: &ClaimRecord) -> PortResult<bool> {
        self.home
            .write(LocalOp::CreateClaim, "create the claim", |state| {
                if state.claims.contains_key(&record.issue) {
                    return Ok(false);
                }
                state.claims.insert(record.issue, record.clone());
                Ok(true)
            })
    }

    fn replace_claim(&self, record: &ClaimRecord) -> PortResult<()> {
        self.home
            .write(LocalOp::ReplaceClaim, "replace the claim", |state| {
                state.damaged_claims.remove(&record.issue);
                state.claims.insert(record.issue, record.clone());
                Ok(())
            })
    }

    fn remove_claim(&self, issue: IssueNumber) -> PortResult<()> {
        self.home
            .write(LocalOp::RemoveClaim, "remove the claim", |state| {
                state.damaged_claims.remove(&issue);
                state.claims.remove(&issue);
                Ok(())
            })
    }

    fn supersede(&self, issue: IssueNumber, now: Timestamp) -> PortResult<PathBuf> {
        let stamp = now.format("%Y%m%dT%H%M%S%3fZ");
        let what = "archive the claim";
        self.home.write(LocalOp::Supersede, what, |state| {
            let claim = state.claims.get(&issue).cloned();
            state.superseded.extend(claim);
            Ok(PathBuf::from(format!(
                "/sim/issue-{issue}/superseded/{stamp}"
            )))
        })
    }

    fn first_seen(&self, issue: IssueNumber, oid: &str, now: Timestamp) -> PortResult<Timestamp> {
        self.home.read("remember a lease", |state| {
            Ok(*state
                .first_seen
                .entry((issue, oid.to_owned()))
                .or_insert(now))
        })
    }

    fn claimed_issues(&self) -> PortResult<Vec<IssueNumber>> {
        self.home.read("list the claims", |state| {
            Ok(state.claims.keys().copied().collect())
        })
    }
}
