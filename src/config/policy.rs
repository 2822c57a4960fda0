//! The part of a repository's configuration on which decisions depend.

use super::settings::{AgentConfig, IssueOrder, RepoConfig};
use crate::decide::policy::{AgentNames, Policy, UNNAMED, command_name};
use crate::model::paths::PathPattern;

impl RepoConfig {
    /// The rules that the decider goes by.
    pub fn policy(&self) -> Policy {
        Policy {
            labels: self.labels.clone(),
            marker: self.claims.marker.clone(),
            namespace: self.lease.namespace.clone(),
            lease_ttl: self.lease.ttl,
            lease_margins: self.lease.margins,
            priorities: match self.order {
                IssueOrder::Priority => self.priorities.clone(),
                IssueOrder::Oldest => Vec::new(),
            },
            depends: self.depends,
            slots: self.max_parallel_issues,
            stale_window: self.claims.stale_window,
            lock_ttl: self.lock_ttl,
            trusted_associations: self.trust.associations.clone(),
            trusted_logins: self.trust.logins.clone(),
            trusted_bots: self.trust.bots.clone(),
            target_assignee: self.target.assignee.clone(),
            branch_prefix: self.branch_prefix.clone(),
            max_retries: self.max_retries,
            max_agent_runs: self.issue_max_agent_runs.unwrap_or(0),
            max_transient: self.transient_max_retries,
            budget: self.budget,
            simplify: self.agents.simplify.is_some(),
            setup: self.worktree_setup.is_some(),
            approval: self.require_approval,
            merge_method: self.merge_method,
            post_merge_ci: self.post_merge_ci,
            post_merge_grace: self.post_merge_ci_grace,
            ci_start_grace: self.ci_start_grace,
            answers_resume: self.clarification_auto_resume,
            ci_fixes_max: if self.auto_fix_ci {
                self.ci_fix_max_retries
            } else {
                0
            },
            delete_branch: self.delete_branch_on_merge,
            protected_paths: self
                .protected_paths
                .iter()
                .filter_map(|text| PathPattern::new(text))
                .collect(),
            agent_names: AgentNames {
                implement: self.agents.implement.name(),
                simplify: self
                    .agents
                    .simplify
                    .as_ref()
                    .map(AgentConfig::name)
                    .unwrap_or_default(),
                review: self.agents.review.name(),
            },
        }
    }
}

impl AgentConfig {
    /// The agent's name, for the busy label and for people: the program of its first command.
    pub fn name(&self) -> String {
        self.commands
            .first()
            .map_or_else(|| UNNAMED.to_owned(), |command| command_name(command))
    }
}
