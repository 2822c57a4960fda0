//! The face in process: the port, for one user in one repository. Faults map to the port's three
//! kinds of failure.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::model::checks::CommitChecks;
use crate::model::ids::{
    BranchName, CommentId, IssueNumber, Login, PrNumber, RefName, RepoId, Sha, Timestamp,
};
use crate::model::lease::{ClaimProof, LeaseCommit, RefSwap, SwapOutcome};
use crate::model::repo::{Permission, Repository};
use crate::model::rules::{BaseRules, RequiredCheck};
use crate::ports::github::{
    GitHub, IssueChange, ListCursor, Listed, Look, LookAt, MergePr, NewCommit, NewLabel, NewPr,
};
use crate::ports::{PortError, PortResult, Refusal};

use super::error::{SimError, SimResult};
use super::faults::{Fault, Op};
use super::merge::MergeOrder;
use super::model::Access;
use super::world::{Ctx, World};
use super::{Sim, SimRepo, list::list, look::login, prs::PrDraft, repo_git::Move};

/// The port, for one user in one repository.
#[derive(Clone)]
pub struct SimGitHub {
    sim: Arc<Sim>,
    key: String,
    login: String,
}

impl SimRepo {
    /// The port as this user has it.
    pub fn port(&self, login: &str) -> SimGitHub {
        SimGitHub {
            sim: Arc::clone(self.sim()),
            key: self.key().to_owned(),
            login: login.to_owned(),
        }
    }
}

impl SimGitHub {
    fn ctx(&self, now: Timestamp) -> Ctx<'_> {
        Ctx {
            key: &self.key,
            login: &self.login,
            now,
        }
    }

    pub(super) async fn ask<T: Send>(
        &self,
        op: Op,
        what: String,
        look: impl FnOnce(&World, &Ctx<'_>) -> SimResult<T> + Send,
    ) -> PortResult<T> {
        let fault = self.before(op, &what).await?;
        let ctx = self.ctx(self.sim.clock.now());
        let answer = if fault == Some(Fault::StaleRead) {
            self.sim.read_stale(|world| look(world, &ctx))
        } else {
            self.sim.read(|world| look(world, &ctx))
        };
        self.after((op, status_of(&answer)), what, fault.as_ref(), answer)
    }

    pub(super) async fn tell<T: Send>(
        &self,
        op: Op,
        what: String,
        change: impl FnOnce(&mut World, &Ctx<'_>) -> SimResult<T> + Send,
    ) -> PortResult<T> {
        let fault = self.before(op, &what).await?;
        let answer = self.sim.write(|world, now| change(world, &self.ctx(now)));
        self.after((op, status_of(&answer)), what, fault.as_ref(), answer)
    }

    /// Meets the faults that come before anything is done.
    async fn before(&self, op: Op, what: &str) -> PortResult<Option<Fault>> {
        let fault = self.sim.meet(op);
        let wait = |by: std::time::Duration| Some(self.sim.clock.now() + by);
        let error = match &fault {
            None
            | Some(
                Fault::CutAfter
                | Fault::TruncatedJson
                | Fault::StaleRead
                | Fault::Drip(_)
                | Fault::Endless,
            ) => None,
            Some(Fault::Delay(by)) => {
                pause(*by).await;
                None
            }
            Some(Fault::RefuseBefore(status @ (401 | 403))) => {
                let refusal = if *status == 401 {
                    Refusal::Unauthorised
                } else {
                    Refusal::Forbidden
                };
                Some(PortError::refused(what, refusal, "refused by plan"))
            }
            Some(Fault::RefuseBefore(status)) => Some(PortError::unavailable(
                what,
                format!("status {status}"),
                None,
            )),
            Some(Fault::PrimaryLimit(by) | Fault::SecondaryLimit(by) | Fault::TooMany(by)) => Some(
                PortError::unavailable(what, "rate limit exceeded", wait(*by)),
            ),
            Some(Fault::CutBefore) => Some(lost(op, what)),
        };
        match error {
            None => Ok(fault),
            Some(error) => {
                self.sim.record(op, "PORT", what, 0);
                Err(error)
            }
        }
    }

    fn after<T>(
        &self,
        (op, status): (Op, u16),
        what: String,
        fault: Option<&Fault>,
        answer: SimResult<T>,
    ) -> PortResult<T> {
        self.sim.record(op, "PORT", &what, status);
        if matches!(
            fault,
            Some(Fault::CutAfter | Fault::TruncatedJson | Fault::Drip(_) | Fault::Endless)
        ) {
            return Err(lost(op, &what));
        }
        answer.map_err(|error| PortError::refused(what, error.refusal, error.words()))
    }
}

fn status_of<T>(answer: &SimResult<T>) -> u16 {
    answer.as_ref().err().map_or(200, |error| error.status)
}

fn lost(op: Op, what: &str) -> PortError {
    if op.is_write() {
        PortError::unknown(what, "connection closed")
    } else {
        PortError::unavailable(what, "connection closed", None)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the simulated network is slow by real time"
)]
async fn pause(by: std::time::Duration) {
    tokio::time::sleep(by).await;
}

#[async_trait]
impl GitHub for SimGitHub {
    async fn repository(&self) -> PortResult<Repository> {
        self.ask(Op::Facts, "read the repository".to_owned(), |world, ctx| {
            let repo = world.may_read(ctx)?;
            let branch = world.tip(ctx.key)?.map(|_| repo.default_branch.clone());
            Ok(Repository {
                id: RepoId(repo.id),
                node_id: repo.node_id(),
                slug: repo.slug.clone(),
                default_branch: branch.and_then(|name| name.parse().ok()),
                archived: repo.archived,
                can_push: world.access(ctx.key, ctx.login) >= Access::Write,
                operator: login(ctx.login)?,
            })
        })
        .await
    }

    async fn list_issues(&self, cursor: &ListCursor) -> PortResult<Listed> {
        let what = "list issues".to_owned();
        let fault = self.before(Op::ListIssues, &what).await?;
        let ctx = self.ctx(self.sim.clock.now());
        let look = |world: &World| list(world, &ctx, cursor);
        let stale = fault == Some(Fault::StaleRead);
        let answer = if stale {
            self.sim.read_stale(look)
        } else {
            self.sim.read(look)
        };
        let status = match &answer {
            Ok(Listed::Unchanged) => 304,
            Ok(Listed::Issues { .. }) => 200,
            Err(error) => error.status,
        };
        self.after((Op::ListIssues, status), what, fault.as_ref(), answer)
    }

    async fn look(&self, at: &LookAt) -> PortResult<Look> {
        let what = format!("look at issue #{}", at.issue);
        self.ask(Op::Look, what, |world, ctx| world.look(ctx, at))
            .await
    }

    async fn read_leases(
        &self,
        names: &[RefName],
    ) -> PortResult<(Timestamp, BTreeMap<RefName, LeaseCommit>)> {
        self.ask(Op::Leases, "read leases".to_owned(), |world, ctx| {
            Ok((ctx.now, world.lease_commits(ctx, names)?))
        })
        .await
    }

    async fn permission(&self, login: &Login) -> PortResult<Permission> {
        let what = format!("read the permission of `{login}`");
        self.ask(Op::Permission, what, |world, ctx| {
            world.may_read(ctx)?;
            Ok(if world.access(ctx.key, login.as_str()) >= Access::Write {
                Permission::Write
            } else {
                Permission::Less
            })
        })
        .await
    }

    async fn base_rules(&self, base: &BranchName) -> PortResult<BaseRules> {
        let what = format!("read the rules of `{base}`");
        self.ask(Op::Rules, what, |world, ctx| {
            let rules = world.may_read(ctx)?.protection_of(base.as_str());
            let required = rules.required.into_iter();
            let mut required: Vec<RequiredCheck> = required
                .map(|(name, app)| RequiredCheck { name, app })
                .collect();
            required.sort();
            required.dedup();
            Ok(BaseRules { required })
        })
        .await
    }

    async fn tip_checks(&self, base: &BranchName) -> PortResult<CommitChecks> {
        let what = format!("read the checks of `{base}`");
        self.ask(Op::Checks, what, |world, ctx| world.tip_checks(ctx, base))
            .await
    }

    async fn labels(&self) -> PortResult<Vec<String>> {
        self.ask(Op::Labels, "list labels".to_owned(), |world, ctx| {
            let labels = world.may_read(ctx)?.labels.iter();
            Ok(labels.map(|label| label.name.clone()).collect())
        })
        .await
    }

    async fn create_commit(&self, commit: &NewCommit) -> PortResult<(Sha, Timestamp)> {
        self.tell(
            Op::CreateCommit,
            "create a commit".to_owned(),
            |world, ctx| {
                let parents: Vec<String> = commit.parents.iter().map(ToString::to_string).collect();
                let made =
                    world.new_commit(ctx, &commit.message, commit.tree.as_str(), &parents)?;
                let sha =
                    Sha::new(made.sha).map_err(|error| SimError::invalid(error.to_string()))?;
                Ok((sha, made.date))
            },
        )
        .await
    }

    async fn swap_refs(&self, swaps: &[RefSwap]) -> PortResult<SwapOutcome> {
        let moves: Vec<Move> = swaps
            .iter()
            .map(|swap| Move {
                name: swap.name.to_string(),
                before: swap.before.as_ref().map(ToString::to_string).into(),
                after: swap.after.as_ref().map(ToString::to_string),
                force: true,
            })
            .collect();
        self.tell(
            Op::SwapRefs,
            "move refs".to_owned(),
            |world, ctx| match world.swap(ctx, &moves) {
                Ok(()) => Ok(SwapOutcome::Swapped),
                Err(error) if matches!(error.refusal, Refusal::Stale | Refusal::Exists) => {
                    Ok(SwapOutcome::Stale)
                }
                Err(error) => Err(error),
            },
        )
        .await
    }

    async fn update_issue(
        &self,
        proof: &ClaimProof,
        issue: IssueNumber,
        change: &IssueChange,
    ) -> PortResult<String> {
        let what = format!("update issue #{issue}");
        if change.body.is_none() && !change.close {
            let look =
                |world: &World, ctx: &Ctx<'_>| Ok(world.issue(ctx.key, issue.0)?.body.clone());
            let body = self.ask(Op::Read, what, look).await?;
            if let Some((id, text)) = &change.comment {
                self.update_comment(proof, *id, text).await?;
            }
            return Ok(body);
        }
        self.tell(Op::UpdateIssue, what.clone(), |world, ctx| {
            world.change_issue(ctx, issue, change)
        })
        .await?
        // Half a change is no refusal: it has to be looked at.
        .map_err(|half| PortError::unknown(what, half.words()))
    }

    async fn add_labels(
        &self,
        _proof: &ClaimProof,
        issue: IssueNumber,
        labels: &[String],
    ) -> PortResult<Vec<String>> {
        let what = format!("label issue #{issue}");
        self.tell(Op::AddLabels, what, |world, ctx| {
            world.put_labels(ctx, issue.0, labels)?;
            Ok(world.issue(ctx.key, issue.0)?.labels.clone())
        })
        .await
    }

    async fn remove_label(
        &self,
        _proof: &ClaimProof,
        issue: IssueNumber,
        label: &str,
    ) -> PortResult<()> {
        let what = format!("take label `{label}` off issue #{issue}");
        self.tell(Op::RemoveLabel, what, |world, ctx| {
            let absent = !world.issue(ctx.key, issue.0)?.has_label(label);
            if absent {
                Ok(())
            } else {
                world.take_label(ctx, issue.0, label)
            }
        })
        .await
    }

    async fn add_assignee(
        &self,
        _proof: &ClaimProof,
        number: u64,
        login: &Login,
    ) -> PortResult<()> {
        let (what, logins) = (
            format!("assign `{login}` to #{number}"),
            [login.to_string()],
        );
        self.tell(Op::AddAssignee, what, |world, ctx| {
            world.assign(ctx, number, &logins)?;
            // GitHub drops who cannot be assigned without a word; whoever asks finds out.
            let assigned = &world.issue(ctx.key, number)?.assignees;
            if assigned.iter().any(|one| login.is(one)) {
                return Ok(());
            }
            Err(SimError::invalid(format!(
                "`{login}` cannot be assigned here"
            )))
        })
        .await
    }

    async fn remove_assignee(
        &self,
        _proof: &ClaimProof,
        number: u64,
        login: &Login,
    ) -> PortResult<()> {
        let (what, logins) = (format!("take `{login}` off #{number}"), [login.to_string()]);
        self.tell(Op::RemoveAssignee, what, |world, ctx| {
            world.unassign(ctx, number, &logins)
        })
        .await
    }

    async fn create_comment(
        &self,
        _proof: &ClaimProof,
        number: u64,
        body: &str,
    ) -> PortResult<CommentId> {
        let what = format!("comment on #{number}");
        self.tell(Op::CreateComment, what, |world, ctx| {
            world.new_comment(ctx, number, body).map(CommentId)
        })
        .await
    }

    async fn update_comment(
        &self,
        _proof: &ClaimProof,
        id: CommentId,
        body: &str,
    ) -> PortResult<()> {
        let what = format!("rewrite comment {id}");
        self.tell(Op::UpdateComment, what, |world, ctx| {
            world.rewrite_comment(ctx, id.0, body)
        })
        .await
    }

    async fn open_pr(&self, _proof: &ClaimProof, pr: &NewPr) -> PortResult<(PrNumber, String)> {
        let draft = PrDraft {
            title: pr.title.clone(),
            body: pr.body.clone(),
            head: pr.head.to_string(),
            base: pr.base.to_string(),
            draft: false,
        };
        self.tell(
            Op::OpenPr,
            format!("open a pull request from `{}`", pr.head),
            |world, ctx| {
                let number = world.open_pr(ctx, draft)?;
                let url = world.web_url(ctx.key, world.issue(ctx.key, number)?);
                Ok((PrNumber(number), url))
            },
        )
        .await
    }

    async fn merge_pr(&self, _proof: &ClaimProof, merge: &MergePr) -> PortResult<Sha> {
        let order = MergeOrder {
            method: merge.method,
            expected_head: Some(merge.head.to_string()),
            title: Some(merge.title.clone()),
            message: Some(merge.message.clone()),
        };
        self.tell(
            Op::MergePr,
            format!("merge pull request #{}", merge.pr),
            |world, ctx| {
                let sha = world.merge_pr(ctx, merge.pr.0, &order)?;
                Sha::new(sha).map_err(|error| SimError::invalid(error.to_string()))
            },
        )
        .await
    }

    async fn enqueue_pr(&self, _proof: &ClaimProof, node_id: &str, head: &Sha) -> PortResult<u64> {
        let what = "put the pull request into the merge queue".to_owned();
        self.tell(Op::MergePr, what, |world, ctx| {
            let mut issues = world.repo(ctx.key)?.issues.values();
            let found = issues.find(|issue| issue.node_id() == node_id);
            let number = found.ok_or_else(SimError::not_found)?.number;
            world.enqueue(ctx, number, Some(head.as_str()))
        })
        .await
    }

    async fn update_branch(&self, _proof: &ClaimProof, pr: PrNumber, head: &Sha) -> PortResult<()> {
        let what = format!("update the branch of pull request #{pr}");
        self.tell(Op::UpdateBranch, what, |world, ctx| {
            world.update_branch(ctx, pr.0, Some(head.as_str()))
        })
        .await
    }

    async fn rerun_failed(&self, _proof: &ClaimProof, run: u64) -> PortResult<()> {
        let what = format!("run the failed jobs of workflow run {run} again");
        self.tell(Op::Rerun, what, |world, ctx| world.rerun_failed(ctx, run))
            .await
    }

    async fn job_log(&self, job: u64) -> PortResult<String> {
        let what = format!("read the log of job {job}");
        self.ask(Op::Log, what, |world, ctx| world.job_log(ctx, job))
            .await
    }

    async fn create_label(&self, label: &NewLabel) -> PortResult<()> {
        let what = format!("create label `{}`", label.name);
        self.tell(Op::CreateLabel, what, |world, ctx| {
            match world.new_label(ctx, &label.name, &label.colour, &label.description) {
                Err(error) if error.refusal == Refusal::Exists => Ok(()),
                other => other.map(|_| ()),
            }
        })
        .await
    }
}
