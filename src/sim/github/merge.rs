//! Merging a pull request: real commits on the base, and the words that close issues.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::ids::RepoSlug;
use crate::ports::Refusal;
use crate::ports::github::MergeMethod;

use super::error::{SimError, SimResult};
use super::model::{Issue, Pr, PrStanding};
use super::repo_git::{self, Before, Move, Stamp};
use super::world::{Ctx, World};

/// What is asked of a merge.
#[derive(Debug, Clone)]
pub(crate) struct MergeOrder {
    pub(crate) method: MergeMethod,
    pub(crate) expected_head: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) message: Option<String>,
}

/// Numbers of the issues of this repository that closing words in `text` name.
/// <https://docs.github.com/en/issues/tracking-your-work-with-issues/linking-a-pull-request-to-an-issue>
pub(crate) fn closing_numbers(text: &str, slug: &RepoSlug) -> Vec<u64> {
    static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let words = r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+";
        Regex::new(&format!(
            r"{words}(?:https?://\S+?/([\w.-]+/[\w.-]+)/issues/|([\w.-]+/[\w.-]+)?#)(\d+)\b"
        ))
        .ok()
    });
    let Some(words) = WORDS.as_ref() else {
        return Vec::new();
    };
    words
        .captures_iter(text)
        .filter(|found| {
            let named = found.get(1).or(found.get(2));
            named.is_none_or(|named| named.as_str().eq_ignore_ascii_case(&slug.to_string()))
        })
        .filter_map(|found| found.get(3)?.as_str().parse().ok())
        .collect()
}

impl World {
    /// Merges; answers the commit that the base is at then.
    pub(crate) fn merge_pr(
        &mut self,
        ctx: &Ctx<'_>,
        number: u64,
        order: &MergeOrder,
    ) -> SimResult<String> {
        let path = self.may_push(ctx)?.path.clone();
        let (issue, pr) = self.pr(ctx.key, number)?;
        self.refuse_merge(ctx, issue, pr, order)?;
        let (issue, pr) = (issue.clone(), pr.clone());
        let base_ref = format!("refs/heads/{}", pr.base_ref);
        let base = self
            .ref_id(ctx.key, &base_ref)?
            .ok_or_else(SimError::not_found)?;
        let sha = match order.method {
            MergeMethod::Squash | MergeMethod::Merge => {
                self.one_commit(ctx, (&issue, &pr), &base, order)?
            }
            MergeMethod::Rebase => self.replay(ctx, &pr, &base)?,
        };
        let step = Move {
            name: base_ref,
            before: Before::At(base),
            after: Some(sha.clone()),
            force: false,
        };
        repo_git::move_refs(&path, &[step]).map_err(|_| {
            SimError::not_allowed("Base branch was modified. Review and try the merge again.")
        })?;
        let standing = PrStanding::Merged(sha.clone(), ctx.now, ctx.login.to_owned());
        self.settle_pr(ctx.key, number, standing, ctx.now)?;
        let repo = self.repo(ctx.key)?;
        if pr.base_ref == repo.default_branch {
            for closed in closing_numbers(&issue.body, &repo.slug.clone()) {
                self.close_by_words(ctx.key, closed, ctx.now);
            }
        }
        Ok(sha)
    }

    pub(crate) fn refuse_merge(
        &self,
        ctx: &Ctx<'_>,
        issue: &Issue,
        pr: &Pr,
        order: &MergeOrder,
    ) -> SimResult<()> {
        if pr.standing != PrStanding::Open {
            return Err(SimError::not_allowed("Pull Request is not mergeable"));
        }
        if order
            .expected_head
            .as_ref()
            .is_some_and(|head| *head != pr.head_sha)
        {
            return Err(SimError::stale(
                "Head branch was modified. Review and try the merge again.",
            ));
        }
        if pr.draft {
            return Err(SimError::not_allowed("Pull Request is still a draft"));
        }
        let rules = self.repo(ctx.key)?.protection_of(&pr.base_ref);
        if rules.merge_queue && !Self::is_queue(ctx.login) {
            return Err(SimError::not_allowed(
                "Changes must be made through the merge queue",
            ));
        }
        if !matches!(
            self.review_decision(ctx.key, issue, pr),
            None | Some("APPROVED")
        ) {
            return Err(SimError::not_allowed(format!(
                "At least {} approving review is required by reviewers with write access.",
                rules.approvals
            )));
        }
        if let Some((name, how)) = self.missing_check(ctx.key, pr, &rules)? {
            let words = format!("Required status check \"{name}\" is {how}.");
            return Err(SimError::not_allowed(words));
        }
        if self.is_behind(ctx.key, pr)? && !Self::is_queue(ctx.login) {
            return Err(SimError::not_allowed("Head branch is out of date"));
        }
        Ok(())
    }

    fn one_commit(
        &self,
        ctx: &Ctx<'_>,
        (issue, pr): (&Issue, &Pr),
        base: &str,
        order: &MergeOrder,
    ) -> SimResult<String> {
        let path = &self.repo(ctx.key)?.path;
        let tree = repo_git::merged_tree(path, base, &pr.head_sha)?
            .ok_or_else(|| SimError::not_allowed("Pull Request is not mergeable"))?;
        let number = issue.number;
        let owner = &self.repo(&pr.head_repo)?.slug.owner;
        let (title, by, parents) = match order.method {
            MergeMethod::Merge => (
                format!("Merge pull request #{number} from {owner}/{}", pr.head_ref),
                ctx.login,
                vec![base.to_owned(), pr.head_sha.clone()],
            ),
            MergeMethod::Squash | MergeMethod::Rebase => (
                format!("{} (#{number})", issue.title),
                issue.author.as_str(),
                vec![base.to_owned()],
            ),
        };
        let title = order
            .title
            .clone()
            .filter(|title| !title.is_empty())
            .unwrap_or(title);
        let message = match order.message.as_deref().map(str::trim) {
            Some("") | None => title,
            Some(body) => format!("{title}\n\n{body}"),
        };
        let author = Stamp::of(by, ctx.now);
        repo_git::write_commit(path, &message, &tree, &parents, (&author, &web_flow(ctx)))
    }

    fn replay(&self, ctx: &Ctx<'_>, pr: &Pr, base: &str) -> SimResult<String> {
        let path = &self.repo(ctx.key)?.path;
        let mut onto = base.to_owned();
        for sha in repo_git::commits_between(path, Some(base), &pr.head_sha)? {
            let Some(commit) = repo_git::commit(path, &sha)? else {
                continue;
            };
            if commit.parents.len() > 1 {
                return Err(SimError::not_allowed("This branch can't be rebased"));
            }
            let tree = repo_git::replayed_tree(path, &onto, &sha)?
                .ok_or_else(|| SimError::not_allowed("This branch can't be rebased"))?;
            let (name, email) = commit.author;
            let author = Stamp {
                name,
                email,
                at: commit.date,
            };
            let stamps = (&author, &web_flow(ctx));
            onto = repo_git::write_commit(path, &commit.message, &tree, &[onto], stamps)?;
        }
        Ok(onto)
    }

    /// Makes a dangling commit on the server's clock.
    pub(crate) fn new_commit(
        &self,
        ctx: &Ctx<'_>,
        message: &str,
        tree: &str,
        parents: &[String],
    ) -> SimResult<repo_git::CommitInfo> {
        let path = self.may_push(ctx)?.path.clone();
        if self.tip(ctx.key)?.is_none() {
            let words = "Git Repository is empty.";
            return Err(SimError::new(409, Refusal::RepositoryEmpty, words));
        }
        let stamp = Stamp::of(ctx.login, ctx.now);
        let sha = repo_git::write_commit(&path, message, tree, parents, (&stamp, &stamp))?;
        repo_git::commit(&path, &sha)?.ok_or_else(SimError::not_found)
    }
}

fn web_flow(ctx: &Ctx<'_>) -> Stamp {
    Stamp {
        name: "GitHub".to_owned(),
        email: "noreply@github.com".to_owned(),
        at: ctx.now,
    }
}
