//! The records as the port's nouns.

use std::collections::BTreeMap;

use crate::model::checks::{Check, CheckOutcome, CommitChecks, Job};
use crate::model::ids::{
    BranchName, CommentId, IssueNumber, Login, PrNumber, RefName, RepoId, Sha,
};
use crate::model::issue::{
    Actor, BodyEdit, Comment, Issue, Labelled, LinkedPr, ListedIssue, OpenIssue, Rename,
};
use crate::model::lease::LeaseCommit;
use crate::model::pr::{Mergeable, PrState, PullRequest, Review, ReviewDecision, ReviewState};
use crate::ports::github::{BaseTip, Look, LookAt};

use super::error::{SimError, SimResult};
use super::model::{self, Happened, PrStanding};
use super::prs::Merges;
use super::repo_git;
use super::world::{Ctx, World};

fn bad(error: &crate::model::ids::IdError) -> SimError {
    SimError::invalid(error.to_string())
}

pub(crate) fn sha(text: &str) -> SimResult<Sha> {
    Sha::new(text).map_err(|error| bad(&error))
}

pub(crate) fn login(text: &str) -> SimResult<Login> {
    Login::new(text).map_err(|error| bad(&error))
}

pub(crate) fn logins(texts: &[String]) -> SimResult<Vec<Login>> {
    texts.iter().map(|text| login(text)).collect()
}

impl World {
    /// Somebody who acts; `None` once the account is deleted.
    fn actor(&self, text: &str) -> SimResult<Option<Actor>> {
        let Some(user) = self.user(text) else {
            return Ok(None);
        };
        let login = login(&user.login)?;
        let is_bot = login.is_bot();
        Ok(Some(Actor { login, is_bot }))
    }

    pub(crate) fn look(&self, ctx: &Ctx<'_>, at: &LookAt) -> SimResult<Look> {
        let repo = self.may_read(ctx)?;
        let issue = repo
            .issues
            .get(&at.issue.0)
            .filter(|issue| issue.pr.is_none());
        let mut look = Look {
            at: ctx.now,
            issue: None,
            edits: Vec::new(),
            renames: Vec::new(),
            labelled: Vec::new(),
            comments: Vec::new(),
            prs: Vec::new(),
            leases: self.lease_commits(ctx, &at.leases)?,
            refs: self.refs_at(ctx, at)?,
            base: self.base_tip(ctx, &at.base)?,
            merge_checks: None,
        };
        if let Some(issue) = issue {
            look.issue = Some(self.issue_noun(ctx, issue)?);
            self.fill_history(issue, &mut look)?;
            let comments = issue.comments.iter();
            look.comments = comments
                .map(|comment| self.comment_noun(ctx, issue, comment))
                .collect::<SimResult<_>>()?;
        }
        for issue in repo.issues.values() {
            if let Some(pr) = &issue.pr
                && pr.head_ref == at.branch.as_str()
            {
                look.prs.push(self.pr_noun(ctx, issue, pr)?);
            }
        }
        if let Some(commit) = &at.merge_commit
            && repo_git::commit(&repo.path, commit.as_str())?.is_some()
        {
            look.merge_checks = Some(checks_of(self, repo, commit.as_str())?);
        }
        Ok(look)
    }

    pub(crate) fn tip_checks(&self, ctx: &Ctx<'_>, base: &BranchName) -> SimResult<CommitChecks> {
        let repo = self.may_read(ctx)?;
        let tip = self.ref_id(ctx.key, &format!("refs/heads/{base}"))?;
        checks_of(self, repo, &tip.ok_or_else(SimError::not_found)?)
    }

    fn refs_at(&self, ctx: &Ctx<'_>, at: &LookAt) -> SimResult<BTreeMap<RefName, Sha>> {
        let mut found = BTreeMap::new();
        let branch = RefName::of_branch(&at.branch);
        for name in at.refs.iter().chain([&branch]) {
            if let Some(id) = self.ref_id(ctx.key, name.as_str())? {
                found.insert(name.clone(), sha(&id)?);
            }
        }
        Ok(found)
    }

    pub(crate) fn base_tip(&self, ctx: &Ctx<'_>, base: &BranchName) -> SimResult<Option<BaseTip>> {
        let Some(tip) = self.ref_id(ctx.key, &format!("refs/heads/{base}"))? else {
            return Ok(None);
        };
        let commit = repo_git::commit(&self.repo(ctx.key)?.path, &tip)?;
        let commit = commit.ok_or_else(SimError::not_found)?;
        Ok(Some(BaseTip {
            sha: sha(&tip)?,
            tree: sha(&commit.tree)?,
        }))
    }

    pub(crate) fn lease_commits(
        &self,
        ctx: &Ctx<'_>,
        names: &[RefName],
    ) -> SimResult<BTreeMap<RefName, LeaseCommit>> {
        let path = &self.may_read(ctx)?.path;
        let mut found = BTreeMap::new();
        for name in names {
            let Some(id) = self.ref_id(ctx.key, name.as_str())? else {
                continue;
            };
            let Some(commit) = repo_git::commit(path, &id)? else {
                continue;
            };
            let (oid, date, message) = (sha(&id)?, commit.date, commit.message);
            found.insert(
                name.clone(),
                LeaseCommit {
                    name: name.clone(),
                    oid,
                    date,
                    message,
                },
            );
        }
        Ok(found)
    }

    pub(crate) fn issue_noun(&self, ctx: &Ctx<'_>, issue: &model::Issue) -> SimResult<Issue> {
        Ok(Issue {
            number: IssueNumber(issue.number),
            node_id: issue.node_id(),
            title: issue.title.clone(),
            body: issue.body.clone(),
            open: issue.open,
            labels: issue.labels.clone(),
            assignees: logins(&issue.assignees)?,
            milestone: issue.milestone.clone(),
            author: self.actor(&issue.author)?,
            association: self.association(ctx.key, &issue.author),
            created_at: issue.created_at,
            updated_at: issue.updated_at,
            url: self.web_url(ctx.key, issue),
            linked_prs: self.linked_nouns(ctx, issue)?,
        })
    }

    fn linked_nouns(&self, ctx: &Ctx<'_>, issue: &model::Issue) -> SimResult<Vec<LinkedPr>> {
        let linked = self.linked_prs(ctx.key, issue.number)?.into_iter();
        linked
            .map(|(found, pr)| {
                Ok(LinkedPr {
                    number: PrNumber(found.number),
                    head_repo: self.find(&pr.head_repo).map(|repo| RepoId(repo.id)),
                    head_ref: BranchName::new(&*pr.head_ref).map_err(|error| bad(&error))?,
                    url: self.web_url(ctx.key, found),
                })
            })
            .collect()
    }

    pub(crate) fn web_url(&self, key: &str, issue: &model::Issue) -> String {
        let slug = self
            .find(key)
            .map(|repo| repo.slug.to_string())
            .unwrap_or_default();
        let kind = if issue.pr.is_some() { "pull" } else { "issues" };
        format!("{}/{slug}/{kind}/{}", self.web(), issue.number)
    }

    fn fill_history(&self, issue: &model::Issue, look: &mut Look) -> SimResult<()> {
        for edit in &issue.edits {
            look.edits.push(BodyEdit {
                id: edit.id.clone(),
                editor: self.actor(&edit.editor)?,
                edited_at: edit.at,
                text: edit.text.clone(),
            });
        }
        for event in &issue.timeline {
            let (actor, at) = (self.actor(&event.actor)?, event.at);
            match &event.what {
                Happened::Renamed => look.renames.push(Rename { actor, at }),
                Happened::Labelled(label) => {
                    look.labelled.push(Labelled {
                        label: label.clone(),
                        actor,
                        at,
                    });
                }
            }
        }
        Ok(())
    }

    pub(crate) fn comment_noun(
        &self,
        ctx: &Ctx<'_>,
        issue: &model::Issue,
        comment: &model::Comment,
    ) -> SimResult<Comment> {
        let editor = match &comment.edited {
            Some((_, editor)) => self.actor(editor)?,
            None => None,
        };
        Ok(Comment {
            id: CommentId(comment.id),
            author: self.actor(&comment.author)?,
            association: self.association(ctx.key, &comment.author),
            body: comment.body.clone(),
            created_at: comment.created_at,
            edited_at: comment.edited.as_ref().map(|(at, _)| *at),
            editor,
            url: format!(
                "{}#issuecomment-{}",
                self.web_url(ctx.key, issue),
                comment.id
            ),
        })
    }

    fn pr_noun(
        &self,
        ctx: &Ctx<'_>,
        issue: &model::Issue,
        pr: &model::Pr,
    ) -> SimResult<PullRequest> {
        let repo = self.repo(ctx.key)?;
        let state = match &pr.standing {
            PrStanding::Open => PrState::Open,
            PrStanding::Merged(commit, at, _) => PrState::Merged {
                commit: sha(commit)?,
                at: *at,
            },
            PrStanding::Closed => PrState::Closed,
        };
        let branch = |text: &str| BranchName::new(text).map_err(|error| bad(&error));
        let reviews = pr
            .reviews
            .iter()
            .map(|review| self.review_noun(ctx, review));
        Ok(PullRequest {
            number: PrNumber(issue.number),
            node_id: issue.node_id(),
            state,
            draft: pr.draft,
            head_repo: self.find(&pr.head_repo).map(|repo| RepoId(repo.id)),
            head_ref: branch(&pr.head_ref)?,
            head_sha: sha(&pr.head_sha)?,
            base_ref: branch(&pr.base_ref)?,
            author: self.actor(&issue.author)?,
            mergeable: match self.merges(ctx.key, pr)? {
                Merges::Cleanly => Mergeable::Yes,
                Merges::WithConflicts => Mergeable::Conflicting,
                Merges::NotAsked => Mergeable::Unknown,
            },
            review_decision: self
                .review_decision(ctx.key, issue, pr)
                .map(|word| match word {
                    "APPROVED" => ReviewDecision::Approved,
                    "CHANGES_REQUESTED" => ReviewDecision::ChangesRequested,
                    _ => ReviewDecision::ReviewRequired,
                }),
            reviews: reviews.collect::<SimResult<_>>()?,
            checks: checks_of(self, repo, &pr.head_sha)?,
            behind: self.merge_state(ctx.key, issue, pr)? == "BEHIND",
            merge_queue: repo.protection_of(&pr.base_ref).merge_queue,
            queued: self.place_in_queue(ctx.key, issue.number)?,
            assignees: logins(&issue.assignees)?,
            created_at: issue.created_at,
            url: self.web_url(ctx.key, issue),
        })
    }

    fn review_noun(&self, ctx: &Ctx<'_>, review: &model::Review) -> SimResult<Review> {
        Ok(Review {
            author: self.actor(&review.author)?,
            association: self.association(ctx.key, &review.author),
            state: match review.state.as_str() {
                "APPROVED" => ReviewState::Approved,
                "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
                "DISMISSED" => ReviewState::Dismissed,
                "PENDING" => ReviewState::Pending,
                _ => ReviewState::Commented,
            },
            commit: Some(sha(&review.commit)?),
            submitted_at: Some(review.at),
            body: review.body.clone(),
        })
    }
}

/// An issue as a line of the listing.
pub(crate) fn listed(repo: &model::Repo, issue: &model::Issue) -> SimResult<ListedIssue> {
    Ok(ListedIssue {
        number: IssueNumber(issue.number),
        title: issue.title.clone(),
        open: issue.open,
        labels: issue.labels.clone(),
        assignees: logins(&issue.assignees)?,
        milestone: issue.milestone.clone(),
        updated_at: issue.updated_at,
        created_at: issue.created_at,
        open_dependencies: repo.open_blockers(issue),
        open_sub_issues: repo.still_open(&issue.sub_issues).count() as u64,
    })
}

/// An open issue of the backlog.
pub(crate) fn open_issue(repo: &model::Repo, issue: &model::Issue) -> SimResult<OpenIssue> {
    Ok(OpenIssue {
        listed: listed(repo, issue)?,
        body: issue.body.clone(),
        milestone: issue
            .milestone
            .as_ref()
            .and_then(|title| repo.milestone_number(title)),
    })
}

fn checks_of(world: &World, repo: &model::Repo, commit: &str) -> SimResult<CommitChecks> {
    let runs = repo
        .checks
        .iter()
        .filter(|check| check.sha == commit)
        .map(|check| Check {
            url: Some(check_url(world, repo, check)),
            app: Some(check.app),
            job: check.run().map(|run| Job { id: check.id, run }),
            ended_at: check.completed_at,
            ..Check::new(&*check.name, outcome(check.conclusion.as_deref()))
        });
    let statuses = repo
        .statuses
        .iter()
        .filter(|status| status.sha == commit)
        .map(|status| {
            let outcome = match status.state.as_str() {
                "success" => CheckOutcome::Success,
                "failure" | "error" => CheckOutcome::Failure,
                _ => CheckOutcome::Pending,
            };
            Check {
                description: status.description.clone(),
                ..Check::new(&*status.context, outcome)
            }
        });
    Ok(CommitChecks {
        sha: sha(commit)?,
        checks: runs.chain(statuses).collect(),
    })
}

pub(crate) fn check_url(world: &World, repo: &model::Repo, check: &model::Check) -> String {
    format!("{}/{}/runs/{}", world.web(), repo.slug, check.id)
}

fn outcome(conclusion: Option<&str>) -> CheckOutcome {
    match conclusion {
        None => CheckOutcome::Pending,
        Some("success") => CheckOutcome::Success,
        Some("neutral") => CheckOutcome::Neutral,
        Some("skipped") => CheckOutcome::Skipped,
        Some("failure" | "startup_failure") => CheckOutcome::Failure,
        Some("timed_out") => CheckOutcome::TimedOut,
        Some("cancelled") => CheckOutcome::Cancelled,
        Some("action_required") => CheckOutcome::ActionRequired,
        Some("stale") => CheckOutcome::Stale,
        Some(_) => CheckOutcome::Unknown,
    }
}
