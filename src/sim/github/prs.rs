//! Pull requests: opening, closing, reviews, and what GitHub works out about them.

use crate::ports::Refusal;

use super::error::{Detail, SimError, SimResult};
use super::issues::{NewIssue, check_body, key_of};
use super::merge::closing_numbers;
use super::model::{Access, Issue, Pr, PrStanding, Protection, Review};
use super::repo_git::{self, Before, Move, Stamp};
use super::world::{Ctx, World};

/// A pull request to open.
#[derive(Debug, Clone, Default)]
pub(crate) struct PrDraft {
    pub(crate) title: String,
    pub(crate) body: String,
    /// `branch`, or `owner:branch` of a fork.
    pub(crate) head: String,
    pub(crate) base: String,
    pub(crate) draft: bool,
}

/// What GitHub works out about whether it merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merges {
    Cleanly,
    WithConflicts,
    /// Not open any more, or not worked out yet: GitHub does not say.
    NotAsked,
}

impl World {
    pub(crate) fn open_pr(&mut self, ctx: &Ctx<'_>, new: PrDraft) -> SimResult<u64> {
        self.may_speak(ctx)?;
        check_body("PullRequest", &new.body)?;
        let (head_repo, head_ref) = self.head_place(ctx, &new.head)?;
        if self.access(&head_repo, ctx.login) < Access::Write {
            return Err(SimError::new(
                403,
                Refusal::Forbidden,
                "Must have push access to the head",
            ));
        }
        let invalid = |field| {
            let detail = Detail {
                resource: "PullRequest",
                code: "invalid",
                field: Some(field),
                message: None,
            };
            SimError::validation(Refusal::Invalid, detail)
        };
        let base = self
            .ref_id(ctx.key, &format!("refs/heads/{}", new.base))?
            .ok_or_else(|| invalid("base"))?;
        let head = self
            .ref_id(&head_repo, &format!("refs/heads/{head_ref}"))?
            .ok_or_else(|| invalid("head"))?;
        self.refuse_second_pr(ctx, (&head_repo, &head_ref), &new)?;
        if repo_git::contains(&self.repo(&head_repo)?.path, &base, &head).unwrap_or(false) {
            let words = format!("No commits between {} and {}", new.base, new.head);
            return Err(SimError::custom(Refusal::Invalid, "PullRequest", words));
        }
        let text = NewIssue {
            title: new.title,
            body: new.body,
            ..NewIssue::default()
        };
        let number = self.open_issue(ctx, text)?;
        self.issue_mut(ctx.key, number)?.pr = Some(Pr {
            standing: PrStanding::Open,
            draft: new.draft,
            merges_unknown: false,
            head_repo,
            head_ref,
            head_sha: head.clone(),
            base_ref: new.base,
            reviews: Vec::new(),
            queued: None,
        });
        self.move_head(ctx.key, number, &head, ctx.now)?;
        Ok(number)
    }

    fn refuse_second_pr(&self, ctx: &Ctx<'_>, head: (&str, &str), new: &PrDraft) -> SimResult<()> {
        let same = |pr: &&Pr| {
            pr.standing == PrStanding::Open
                && self.key_now(&pr.head_repo) == self.key_now(head.0)
                && pr.head_ref == head.1
                && pr.base_ref == new.base
        };
        let repo = self.repo(ctx.key)?;
        if repo
            .issues
            .values()
            .filter_map(|issue| issue.pr.as_ref())
            .find(same)
            .is_none()
        {
            return Ok(());
        }
        let owner = &self.repo(head.0)?.slug.owner;
        let words = format!("A pull request already exists for {owner}:{}.", head.1);
        Err(SimError::custom(Refusal::Exists, "PullRequest", words))
    }

    /// The repository and branch that `branch` or `owner:branch` means.
    fn head_place(&self, ctx: &Ctx<'_>, head: &str) -> SimResult<(String, String)> {
        let Some((owner, branch)) = head.split_once(':') else {
            return Ok((ctx.key.to_owned(), head.to_owned()));
        };
        if self.repo(ctx.key)?.slug.owner.eq_ignore_ascii_case(owner) {
            return Ok((ctx.key.to_owned(), branch.to_owned()));
        }
        let fork = self.repos.values().find(|repo| {
            repo.slug.owner.eq_ignore_ascii_case(owner)
                && repo.fork_of.as_deref().map(|key| self.key_now(key))
                    == Some(self.key_now(ctx.key))
        });
        let fork = fork.ok_or_else(SimError::not_found)?;
        Ok((key_of(&fork.slug), branch.to_owned()))
    }

    pub(crate) fn close_pr(&mut self, ctx: &Ctx<'_>, number: u64) -> SimResult<()> {
        if self.pr(ctx.key, number)?.1.standing == PrStanding::Open {
            self.settle_pr(ctx.key, number, PrStanding::Closed, ctx.now)?;
        }
        Ok(())
    }

    pub(crate) fn reopen_pr(&mut self, ctx: &Ctx<'_>, number: u64) -> SimResult<()> {
        let pr = self.pr(ctx.key, number)?.1.clone();
        let branch = self.ref_id(&pr.head_repo, &format!("refs/heads/{}", pr.head_ref))?;
        if pr.standing != PrStanding::Closed || branch.is_none() {
            let words = "state cannot be changed. The pull request cannot be reopened.";
            return Err(SimError::custom(Refusal::Invalid, "PullRequest", words));
        }
        self.pr_mut(ctx.key, number)?.standing = PrStanding::Open;
        let issue = self.issue_mut(ctx.key, number)?;
        issue.open = true;
        issue.closed = None;
        issue.updated_at = ctx.now;
        Ok(())
    }

    /// A review for the present head. Nobody approves their own pull request.
    pub(crate) fn review(
        &mut self,
        ctx: &Ctx<'_>,
        number: u64,
        state: &str,
        body: &str,
    ) -> SimResult<u64> {
        self.may_speak(ctx)?;
        let (issue, pr) = self.pr(ctx.key, number)?;
        if state != "COMMENTED" && issue.author.eq_ignore_ascii_case(ctx.login) {
            let words = "Can not approve your own pull request";
            return Err(SimError::custom(
                Refusal::Invalid,
                "PullRequestReview",
                words,
            ));
        }
        let commit = pr.head_sha.clone();
        let id = self.id();
        self.pr_mut(ctx.key, number)?.reviews.push(Review {
            id,
            author: ctx.login.to_owned(),
            state: state.to_owned(),
            commit,
            at: ctx.now,
            body: body.to_owned(),
        });
        self.issue_mut(ctx.key, number)?.updated_at = ctx.now;
        Ok(id)
    }

    /// Open pull requests whose body closes this issue, oldest first. GitHub links only those that go
    /// to the default branch.
    pub(crate) fn linked_prs(&self, key: &str, number: u64) -> SimResult<Vec<(&Issue, &Pr)>> {
        let repo = self.repo(key)?;
        let open = repo
            .issues
            .values()
            .filter_map(|issue| Some((issue, issue.pr.as_ref()?)));
        let linked = open.filter(|(issue, pr)| {
            pr.standing == PrStanding::Open
                && pr.base_ref == repo.default_branch
                && closing_numbers(&issue.body, &repo.slug).contains(&number)
        });
        Ok(linked.collect())
    }

    /// Does it merge? Worked out anew each time.
    pub(crate) fn merges(&self, key: &str, pr: &Pr) -> SimResult<Merges> {
        let base = self.ref_id(key, &format!("refs/heads/{}", pr.base_ref))?;
        let (PrStanding::Open, Some(base)) = (&pr.standing, base) else {
            return Ok(Merges::NotAsked);
        };
        if pr.merges_unknown {
            return Ok(Merges::NotAsked);
        }
        let tree = repo_git::merged_tree(&self.repo(key)?.path, &base, &pr.head_sha)?;
        Ok(if tree.is_some() {
            Merges::Cleanly
        } else {
            Merges::WithConflicts
        })
    }

    /// Do the base's rules ask for a branch that contains it, and this one does not?
    pub(crate) fn is_behind(&self, key: &str, pr: &Pr) -> SimResult<bool> {
        let repo = self.repo(key)?;
        let base = self.ref_id(key, &format!("refs/heads/{}", pr.base_ref))?;
        let (PrStanding::Open, Some(base), true) =
            (&pr.standing, base, repo.protection_of(&pr.base_ref).strict)
        else {
            return Ok(false);
        };
        Ok(!repo_git::contains(&repo.path, &pr.head_sha, &base)?)
    }

    /// GitHub's `mergeStateStatus`.
    pub(crate) fn merge_state(&self, key: &str, issue: &Issue, pr: &Pr) -> SimResult<&'static str> {
        let rules = self.repo(key)?.protection_of(&pr.base_ref);
        Ok(match self.merges(key, pr)? {
            Merges::NotAsked => "UNKNOWN",
            Merges::WithConflicts => "DIRTY",
            Merges::Cleanly if pr.draft => "DRAFT",
            Merges::Cleanly if self.missing_check(key, pr, &rules)?.is_some() => "BLOCKED",
            Merges::Cleanly
                if !matches!(
                    self.review_decision(key, issue, pr),
                    None | Some("APPROVED")
                ) =>
            {
                "BLOCKED"
            }
            Merges::Cleanly if self.is_behind(key, pr)? => "BEHIND",
            Merges::Cleanly => "CLEAN",
        })
    }

    /// The first check that the rules ask for and that does not let the head pass, with what is the matter.
    /// To GitHub skipped and neutral pass.
    pub(crate) fn missing_check(
        &self,
        key: &str,
        pr: &Pr,
        rules: &Protection,
    ) -> SimResult<Option<(String, &'static str)>> {
        let repo = self.repo(key)?;
        let standing = |(name, app): &(String, Option<u64>)| {
            let run = repo.checks.iter().find(|check| {
                check.sha == pr.head_sha
                    && check.name == *name
                    && app.is_none_or(|app| app == check.app)
            });
            let status = repo.statuses.iter().find(|status| {
                status.sha == pr.head_sha && status.context == *name && app.is_none()
            });
            match (run.map(|run| run.conclusion.as_deref()), status) {
                (Some(Some("success" | "skipped" | "neutral")), _) => None,
                (None, Some(status)) if status.state == "success" => None,
                (None, Some(status)) if status.state != "pending" => Some("failing"),
                (Some(None) | None, _) => Some("expected"),
                (Some(Some(_)), _) => Some("failing"),
            }
        };
        let mut missing = rules.required.iter();
        Ok(missing.find_map(|check| Some((check.0.clone(), standing(check)?))))
    }

    /// Merges the base into the pull request's branch; the head moves.
    pub(crate) fn update_branch(
        &mut self,
        ctx: &Ctx<'_>,
        number: u64,
        expected: Option<&str>,
    ) -> SimResult<()> {
        self.may_push(ctx)?;
        let pr = self.pr(ctx.key, number)?.1.clone();
        if expected.is_some_and(|head| head != pr.head_sha) {
            let words = "expected head sha didn’t match current head ref.";
            return Err(SimError::new(422, Refusal::Stale, words));
        }
        let path = self.repo(&pr.head_repo)?.path.clone();
        let base = self
            .ref_id(ctx.key, &format!("refs/heads/{}", pr.base_ref))?
            .ok_or_else(SimError::not_found)?;
        if repo_git::contains(&path, &pr.head_sha, &base)? {
            let words = "There are no new commits on the base branch.";
            return Err(SimError::new(422, Refusal::Stale, words));
        }
        let tree = repo_git::merged_tree(&path, &base, &pr.head_sha)?
            .ok_or_else(|| SimError::invalid("merge conflict between base and head"))?;
        let message = format!("Merge branch '{}' into {}", pr.base_ref, pr.head_ref);
        let stamp = Stamp::of(ctx.login, ctx.now);
        let parents = [pr.head_sha.clone(), base];
        let sha = repo_git::write_commit(&path, &message, &tree, &parents, (&stamp, &stamp))?;
        let step = Move {
            name: format!("refs/heads/{}", pr.head_ref),
            before: Before::At(pr.head_sha),
            after: Some(sha.clone()),
            force: false,
        };
        repo_git::move_refs(&path, &[step])?;
        self.move_head(ctx.key, number, &sha, ctx.now)
    }

    /// GitHub's verdict over the reviews: only where the base asks for approvals.
    pub(crate) fn review_decision(
        &self,
        key: &str,
        issue: &Issue,
        pr: &Pr,
    ) -> Option<&'static str> {
        let wanted = self.find(key)?.protection_of(&pr.base_ref).approvals;
        if wanted == 0 {
            return None;
        }
        let mut latest = std::collections::BTreeMap::new();
        for review in pr
            .reviews
            .iter()
            .filter(|review| review.state != "COMMENTED")
        {
            let counts = self.access(key, &review.author) >= Access::Write
                && !review.author.eq_ignore_ascii_case(&issue.author);
            if counts {
                latest.insert(review.author.to_lowercase(), review.state.as_str());
            }
        }
        let approvals = latest
            .values()
            .filter(|state| **state == "APPROVED")
            .count();
        Some(
            if latest.values().any(|state| *state == "CHANGES_REQUESTED") {
                "CHANGES_REQUESTED"
            } else if approvals >= wanted as usize {
                "APPROVED"
            } else {
                "REVIEW_REQUIRED"
            },
        )
    }
}
