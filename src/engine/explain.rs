//! Looks without acting: what stops an issue, and which issues there are. It takes no lock and writes
//! nothing on GitHub.

use crate::decide::{Decision, GuardReport, Order, Snapshot, Trouble, explain};
use crate::model::ids::IssueNumber;
use crate::model::issue::ListedIssue;
use crate::ports::PortResult;

use super::settings::RepoEngine;
use super::trouble::Remembered;

/// An issue as it was seen, and what is decided about it.
#[derive(Debug, Clone)]
pub struct Explained {
    /// Every guard in order; none where the issue could not be read.
    pub guards: Vec<GuardReport>,
    /// What would be done now.
    pub decision: Decision,
    /// What it was decided on.
    pub seen: Snapshot,
    /// What failed here when it was tried last.
    pub trouble: Option<Remembered>,
}

/// While a failure is waited out nothing is done, whatever would be decided.
fn rested(decision: Decision, seen: &Snapshot) -> Decision {
    let rest = seen.trouble.as_ref().and_then(Trouble::rest);
    match (&decision, rest) {
        (Decision::Do(..), Some(rest)) => rest,
        (Decision::Do(..) | Decision::Wait { .. } | Decision::Finished(_), _) => decision,
    }
}

impl RepoEngine {
    /// Looks at an issue and says what would be done.
    pub async fn explain(&self, issue: IssueNumber, order: &Order) -> PortResult<Explained> {
        let mut seen = self.observe(issue, order, None).await?;
        // With all slots taken the owners tell whether one was left by a crash.
        let decision = self.decide(&mut seen).await?;
        self.ask_all_about_base(&mut seen).await?;
        let (guards, _) = explain(&seen, &self.policy, seen.look.at);
        Ok(Explained {
            guards,
            decision: rested(decision, &seen),
            seen,
            trouble: self.trouble(issue),
        })
    }

    /// Every issue that the configuration wants worked on, sleeping ones included, by number.
    pub async fn managed(&self) -> PortResult<Vec<ListedIssue>> {
        let listing = self.list().await?;
        Ok(self.wanted(&listing))
    }
}
