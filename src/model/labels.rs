//! The status labels: the lock people see. The lease decides it.

use serde::{Deserialize, Serialize};

/// What the status label says.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Managed, and nobody works on it.
    Idle,
    /// Waits for a person.
    Blocked,
    /// Finished.
    Completed,
    /// An agent of this name works on it.
    Busy(String),
}

/// The configured names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelNames {
    /// `status: idle`.
    pub idle: String,
    /// `status: blocked`.
    pub blocked: String,
    /// `status: completed`.
    pub completed: String,
    /// `status: busy-`; the agent's name follows.
    pub busy_prefix: String,
    /// The claim label, `agent-claimed`.
    pub claim: String,
    /// The hold label, `do-not-dispatch`.
    pub hold: String,
}

impl Default for LabelNames {
    fn default() -> Self {
        Self {
            idle: "status: idle".to_owned(),
            blocked: "status: blocked".to_owned(),
            completed: "status: completed".to_owned(),
            busy_prefix: "status: busy-".to_owned(),
            claim: "agent-claimed".to_owned(),
            hold: "do-not-dispatch".to_owned(),
        }
    }
}

impl LabelNames {
    /// The label for a status.
    pub fn of(&self, status: &Status) -> String {
        match status {
            Status::Idle => self.idle.clone(),
            Status::Blocked => self.blocked.clone(),
            Status::Completed => self.completed.clone(),
            Status::Busy(agent) => format!("{}{agent}", self.busy_prefix),
        }
    }

    /// What a label says, if it is a status label. GitHub compares label names without case.
    pub fn status_of(&self, label: &str) -> Option<Status> {
        let is = |name: &str| label.eq_ignore_ascii_case(name);
        if is(&self.idle) {
            Some(Status::Idle)
        } else if is(&self.blocked) {
            Some(Status::Blocked)
        } else if is(&self.completed) {
            Some(Status::Completed)
        } else {
            let head = label.get(..self.busy_prefix.len())?;
            let agent = label.get(self.busy_prefix.len()..)?;
            head.eq_ignore_ascii_case(&self.busy_prefix)
                .then(|| Status::Busy(agent.to_owned()))
        }
    }

    /// Every status that the labels say, in their order.
    pub fn statuses(&self, labels: &[String]) -> Vec<Status> {
        labels
            .iter()
            .filter_map(|label| self.status_of(label))
            .collect()
    }

    /// Does the hold label stand?
    pub fn held(&self, labels: &[String]) -> bool {
        labels
            .iter()
            .any(|label| label.eq_ignore_ascii_case(&self.hold))
    }

    /// Does the claim label stand?
    pub fn claimed(&self, labels: &[String]) -> bool {
        labels
            .iter()
            .any(|label| label.eq_ignore_ascii_case(&self.claim))
    }
}
