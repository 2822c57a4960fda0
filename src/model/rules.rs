//! What the rules of a base branch ask of a pull request, from branch protection and rulesets together.

use serde::{Deserialize, Serialize};

use super::checks::Check;

/// The rules, as far as GitHub tells them to those who may push. How many approvals are asked for, whether
/// the branch is behind and whether there is a merge queue is told with the pull request itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BaseRules {
    /// Checks that have to succeed; empty: none is named, so all of them count.
    pub required: Vec<RequiredCheck>,
}

/// A check that has to succeed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequiredCheck {
    /// Its name or context.
    pub name: String,
    /// The App that has to report it; `None`: anybody.
    pub app: Option<u64>,
}

impl RequiredCheck {
    /// Is this check the one that is meant? Another App's of the same name is not.
    pub fn is(&self, check: &Check) -> bool {
        self.name == check.name && self.app.is_none_or(|app| check.app == Some(app))
    }
}
