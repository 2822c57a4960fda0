//! What the user's configuration says, as far as decisions depend on it.

use std::path::Path;
use std::time::Duration;

use crate::model::ids::{BranchName, IssueNumber, Login, RefName};
use crate::model::issue::Association;
use crate::model::labels::LabelNames;
use crate::model::lease::LeaseMargins;
use crate::model::money::Budget;
use crate::model::paths::PathPattern;
use crate::model::pr::MergeMethod;

/// Stands for an agent whose command line begins with no plain program.
pub const UNNAMED: &str = "agent";

/// GitHub allows 50 characters for a label; the prefix needs room as well.
const NAME_CHARS_MAX: usize = 20;

/// Whose approval a merge needs, besides green checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalRule {
    /// Nobody's.
    None,
    /// GitHub's decision, or where it gives none an approval of a trusted person.
    GitHub,
    /// Besides that, an approval by somebody who is not a bot.
    Human,
}

/// The rules for one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own in the configuration"
)]
pub struct Policy {
    /// Label names.
    pub labels: LabelNames,
    /// The word that opens a lock marker, `claude-lock`.
    pub marker: String,
    /// Namespace of lease refs.
    pub namespace: String,
    /// Time to live of our leases.
    pub lease_ttl: Duration,
    /// Margins of the lease arithmetic.
    pub lease_margins: LeaseMargins,
    /// Labels that say how urgent an issue is, the most urgent first; none: the oldest comes first.
    pub priorities: Vec<String>,
    /// Does an issue wait for those that it depends on?
    pub depends: bool,
    /// Issues of this repository that may run an agent at once, over all machines.
    pub slots: u32,
    /// A manual or foreign marker younger than this is live.
    pub stale_window: Duration,
    /// A busy label without a lease ref is stale after this.
    pub lock_ttl: Duration,
    /// Trusted associations.
    pub trusted_associations: Vec<Association>,
    /// Trusted logins.
    pub trusted_logins: Vec<Login>,
    /// Bots whose comments count.
    pub trusted_bots: Vec<Login>,
    /// An assignee that does not stop us, besides the operator.
    pub target_assignee: Option<Login>,
    /// The branch of issue 42 is `<prefix>42`.
    pub branch_prefix: String,
    /// Failed tries in one phase before it blocks.
    pub max_retries: u32,
    /// Agent runs an issue may use in all; 0 = no cap.
    pub max_agent_runs: u32,
    /// Tries again after failures of the agent's server or network, in a row.
    pub max_transient: u32,
    /// What agents may cost.
    pub budget: Budget,
    /// Is a `simplify` agent configured?
    pub simplify: bool,
    /// Is `worktree_setup` configured?
    pub setup: bool,
    /// Approval.
    pub approval: ApprovalRule,
    /// Merge method.
    pub merge_method: MergeMethod,
    /// Are the merge commit's checks awaited?
    pub post_merge_ci: bool,
    /// How long a merge commit may stand without any check.
    pub post_merge_grace: Duration,
    /// How long a head may stand without any check.
    pub ci_start_grace: Duration,
    /// Fixes of red checks by an agent, an issue; 0: none, a person mends them.
    pub ci_fixes_max: u32,
    /// Does an answer of somebody who counts resume an issue that asked? Else it takes an order.
    pub answers_resume: bool,
    /// Is the branch deleted after the merge?
    pub delete_branch: bool,
    /// Paths that no diff may touch.
    pub protected_paths: Vec<PathPattern>,
    /// Names of the agents, for the busy label: first word of the first command.
    pub agent_names: AgentNames,
}

/// First word of each phase's first command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentNames {
    /// Implement.
    pub implement: String,
    /// Simplify.
    pub simplify: String,
    /// Review.
    pub review: String,
}

impl Policy {
    /// The priority label that counts: the most urgent one that stands.
    pub fn priority(&self, labels: &[String]) -> Option<&str> {
        let stands = |name: &&String| labels.iter().any(|label| label.eq_ignore_ascii_case(name));
        self.priorities.iter().find(stands).map(String::as_str)
    }

    /// How late it is an issue's turn, by its labels. One without such a label stands in the middle,
    /// beside `medium` of three, and behind the label where there is but one.
    pub fn rank(&self, labels: &[String]) -> usize {
        let middle = match self.priorities.len() {
            0 => 0,
            count => count.max(2) - 1,
        };
        let counts = self.priority(labels);
        let place = self
            .priorities
            .iter()
            .position(|name| Some(name.as_str()) == counts);
        place.map_or(middle, |place| 2 * place)
    }

    /// The branch of an issue's work.
    pub fn branch(&self, issue: IssueNumber) -> Option<BranchName> {
        BranchName::new(format!("{}{issue}", self.branch_prefix)).ok()
    }

    /// The lease ref of an issue.
    pub fn issue_ref(&self, issue: IssueNumber) -> Option<RefName> {
        RefName::new(format!("refs/{}/issue-{issue}", self.namespace)).ok()
    }

    /// The lease refs of the slots, lowest first.
    pub fn slot_refs(&self) -> Vec<RefName> {
        (1..=self.slots)
            .filter_map(|slot| RefName::new(format!("refs/{}/slot-{slot}", self.namespace)).ok())
            .collect()
    }

    /// Where an issue's unfinished work is kept for the next holder.
    pub fn wip_ref(&self, issue: IssueNumber) -> Option<RefName> {
        RefName::new(format!("refs/{}/wip/issue-{issue}", self.namespace)).ok()
    }
}

/// The program that a command line runs, without its path: `claude` of `A=b env /bin/claude -p`.
pub fn command_name(command: &str) -> String {
    let mut words = command.split_whitespace();
    let program = words.find(|word| !word.contains('=') && *word != "env");
    let name = program
        .and_then(|word| Path::new(word).file_name()?.to_str())
        .unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fine = !name.is_empty() && name.chars().all(plain);
    if fine {
        name.chars().take(NAME_CHARS_MAX).collect()
    } else {
        UNNAMED.to_owned()
    }
}
