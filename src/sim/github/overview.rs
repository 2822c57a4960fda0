//! The overview's door, in process: the board, and one pull request by its number.

use async_trait::async_trait;

use crate::model::board::{Board, BoardIssue, PrSummary};
use crate::model::ids::{BranchName, IssueNumber, PrNumber, RepoId};
use crate::model::issue::LinkedPr;
use crate::model::pr::PrState;
use crate::ports::PortResult;
use crate::ports::backlog::Backlog as _;
use crate::ports::overview::Overview;

use super::error::{SimError, SimResult};
use super::faults::Op;
use super::merge::closing_numbers;
use super::model::{self, PrStanding};
use super::port::SimGitHub;
use super::world::{Ctx, World};

fn branch(text: &str) -> SimResult<BranchName> {
    BranchName::new(text).map_err(|error| SimError::invalid(error.to_string()))
}

#[async_trait]
impl Overview for SimGitHub {
    async fn board(&self, namespace: &str) -> PortResult<Board> {
        let what = "read the board".to_owned();
        let (issues, prs) = self
            .ask(Op::Read, what, |world, ctx| {
                let repo = world.may_read(ctx)?;
                let mut open: Vec<&model::Issue> = repo
                    .issues
                    .values()
                    .filter(|issue| issue.open && issue.pr.is_none())
                    .collect();
                open.sort_by_key(|issue| (issue.created_at, issue.number));
                let issues = open
                    .into_iter()
                    .map(|issue| board_issue(world, ctx, issue))
                    .collect::<SimResult<Vec<_>>>()?;
                Ok((issues, open_prs(world, ctx)?))
            })
            .await?;
        let leases = self.leases(namespace).await?;
        Ok(Board {
            at: leases.at,
            base: leases.base,
            issues,
            prs,
            leases: leases.leases,
        })
    }

    async fn pull_request(&self, pr: PrNumber) -> PortResult<Option<PrSummary>> {
        let what = format!("read pull request #{pr}");
        self.ask(Op::Read, what, |world, ctx| {
            let repo = world.may_read(ctx)?;
            let found = repo.issues.get(&pr.0);
            let Some((issue, found)) = found.and_then(|issue| Some((issue, issue.pr.as_ref()?)))
            else {
                return Ok(None);
            };
            let state = match &found.standing {
                PrStanding::Open => PrState::Open,
                PrStanding::Closed => PrState::Closed,
                PrStanding::Merged(commit, at, _) => PrState::Merged {
                    commit: super::look::sha(commit)?,
                    at: *at,
                },
            };
            let closes = closing_numbers(&issue.body, &repo.slug);
            Ok(Some(PrSummary {
                number: pr,
                state,
                head_repo: world.find(&found.head_repo).map(|repo| RepoId(repo.id)),
                head_ref: branch(&found.head_ref)?,
                base_ref: branch(&found.base_ref)?,
                closes: closes.into_iter().map(IssueNumber).collect(),
            }))
        })
        .await
    }
}

fn board_issue(world: &World, ctx: &Ctx<'_>, issue: &model::Issue) -> SimResult<BoardIssue> {
    let repo = world.repo(ctx.key)?;
    let comments = issue.comments.iter();
    Ok(BoardIssue {
        issue: world.issue_noun(ctx, issue)?,
        comments: comments
            .map(|comment| world.comment_noun(ctx, issue, comment))
            .collect::<SimResult<_>>()?,
        open_sub_issues: repo.still_open(&issue.sub_issues).count() as u64,
    })
}

fn open_prs(world: &World, ctx: &Ctx<'_>) -> SimResult<Vec<LinkedPr>> {
    let issues = world.repo(ctx.key)?.issues.values();
    let open = issues.filter_map(|issue| Some((issue, issue.pr.as_ref()?)));
    open.filter(|(_, pr)| pr.standing == PrStanding::Open)
        .map(|(issue, pr)| {
            Ok(LinkedPr {
                number: PrNumber(issue.number),
                head_repo: world.find(&pr.head_repo).map(|repo| RepoId(repo.id)),
                head_ref: branch(&pr.head_ref)?,
                url: world.web_url(ctx.key, issue),
            })
        })
        .collect()
}
