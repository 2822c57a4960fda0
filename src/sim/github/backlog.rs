//! The backlog's door, in process: the whole repository at once.

use async_trait::async_trait;

use crate::model::ids::{BranchName, IssueNumber, RefName};
use crate::model::issue::OpenIssue;
use crate::ports::PortResult;
use crate::ports::backlog::{AllLeases, Backlog};

use super::error::{SimError, SimResult};
use super::faults::Op;
use super::look::open_issue;
use super::port::SimGitHub;

#[async_trait]
impl Backlog for SimGitHub {
    async fn leases(&self, namespace: &str) -> PortResult<AllLeases> {
        let prefix = format!("refs/{namespace}/");
        self.ask(Op::Leases, "list leases".to_owned(), |world, ctx| {
            let repo = world.may_read(ctx)?;
            let default: BranchName = repo
                .default_branch
                .parse()
                .map_err(|_| SimError::not_found())?;
            let names: Vec<RefName> = world
                .refs(ctx.key)?
                .keys()
                .filter(|name| name.starts_with(&prefix))
                .filter_map(|name| RefName::new(name.as_str()).ok())
                .collect();
            let leases = world.lease_commits(ctx, &names)?;
            Ok(AllLeases {
                at: ctx.now,
                base: world.base_tip(ctx, &default)?,
                leases: leases.into_values().collect(),
            })
        })
        .await
    }

    async fn open_issues(&self) -> PortResult<Vec<OpenIssue>> {
        let what = "list open issues".to_owned();
        self.ask(Op::ListIssues, what, |world, ctx| {
            let repo = world.may_read(ctx)?;
            let open = repo.issues.values();
            let mut issues = open
                .filter(|issue| issue.open && issue.pr.is_none())
                .map(|issue| open_issue(repo, issue))
                .collect::<SimResult<Vec<_>>>()?;
            issues.sort_by_key(|issue| (issue.listed.created_at, issue.listed.number));
            Ok(issues)
        })
        .await
    }

    async fn blockers(&self, issue: IssueNumber) -> PortResult<Vec<IssueNumber>> {
        let what = format!("list what blocks issue #{issue}");
        self.ask(Op::Read, what, |world, ctx| {
            let repo = world.may_read(ctx)?;
            let named = repo
                .issues
                .get(&issue.0)
                .map(|issue| issue.blocked_by.as_slice())
                .unwrap_or_default();
            let open = repo.still_open(named);
            Ok(open.map(|issue| IssueNumber(issue.number)).collect())
        })
        .await
    }

    async fn is_open(&self, issue: IssueNumber) -> PortResult<Option<bool>> {
        let what = format!("read issue #{issue}");
        self.ask(Op::Read, what, |world, ctx| {
            let found = world.may_read(ctx)?.issues.get(&issue.0);
            Ok(found.map(|issue| issue.open))
        })
        .await
    }
}
