//! All records together: finding things, who may do what, and following what was pushed.

use std::collections::BTreeMap;

use crate::model::ids::{RepoSlug, Timestamp};
use crate::model::issue::Association;
use crate::ports::Refusal;

use super::error::{SimError, SimResult};
use super::merge::closing_numbers;
use super::model::{Access, Issue, Pr, PrStanding, Repo, User};
use super::repo_git::{self, Refs};

/// Everything the simulated GitHub knows but what is in the bare repositories.
#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) tokens: BTreeMap<String, String>,
    pub(crate) repos: BTreeMap<String, Repo>,
    /// Former names of repositories that were renamed, with the key of now.
    moved: BTreeMap<String, String>,
    last_id: u64,
    /// Where people's pages are; `https://github.com` unless it is served.
    web: Option<String>,
    /// In a copy that stands for an earlier state: the refs as they were.
    frozen: Option<BTreeMap<String, Refs>>,
}

/// Who acts, where and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ctx<'a> {
    pub(crate) key: &'a str,
    pub(crate) login: &'a str,
    pub(crate) now: Timestamp,
}

impl World {
    pub(crate) fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id + 1000
    }

    pub(crate) fn web(&self) -> &str {
        self.web.as_deref().unwrap_or("https://github.com")
    }

    pub(crate) fn set_web(&mut self, address: &str) {
        self.web = Some(address.to_owned());
    }

    /// The key that a name stands for, former names included: a rename redirects.
    pub(crate) fn key_now<'a>(&'a self, key: &'a str) -> &'a str {
        self.moved.get(key).map_or(key, String::as_str)
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Repo> {
        self.repos.get(self.key_now(key))
    }

    /// Gives a repository another name.
    pub(crate) fn rename_repo(&mut self, old: &str, slug: &RepoSlug) {
        let new = super::issues::key_of(slug);
        let Some(mut repo) = self.repos.remove(old) else {
            return;
        };
        repo.slug = slug.clone();
        self.repos.insert(new.clone(), repo);
        for place in self.moved.values_mut().filter(|place| *place == old) {
            place.clone_from(&new);
        }
        self.moved.remove(&new);
        self.moved.insert(old.to_owned(), new);
    }

    pub(crate) fn repo(&self, key: &str) -> SimResult<&Repo> {
        self.find(key).ok_or_else(SimError::not_found)
    }

    pub(crate) fn repo_mut(&mut self, key: &str) -> SimResult<&mut Repo> {
        let key = self.key_now(key).to_owned();
        self.repos.get_mut(&key).ok_or_else(SimError::not_found)
    }

    pub(crate) fn issue(&self, key: &str, number: u64) -> SimResult<&Issue> {
        self.repo(key)?
            .issues
            .get(&number)
            .ok_or_else(SimError::not_found)
    }

    pub(crate) fn issue_mut(&mut self, key: &str, number: u64) -> SimResult<&mut Issue> {
        self.repo_mut(key)?
            .issues
            .get_mut(&number)
            .ok_or_else(SimError::not_found)
    }

    pub(crate) fn pr(&self, key: &str, number: u64) -> SimResult<(&Issue, &Pr)> {
        let issue = self.issue(key, number)?;
        Ok((issue, issue.pr.as_ref().ok_or_else(SimError::not_found)?))
    }

    pub(crate) fn pr_mut(&mut self, key: &str, number: u64) -> SimResult<&mut Pr> {
        self.issue_mut(key, number)?
            .pr
            .as_mut()
            .ok_or_else(SimError::not_found)
    }

    /// The account, unless it was deleted.
    pub(crate) fn user(&self, login: &str) -> Option<&User> {
        self.users
            .get(&login.to_lowercase())
            .filter(|user| !user.deleted)
    }

    pub(crate) fn access(&self, key: &str, login: &str) -> Access {
        let Some(repo) = self.find(key) else {
            return Access::None;
        };
        if repo.slug.owner.eq_ignore_ascii_case(login) {
            return Access::Admin;
        }
        let rest = if repo.private {
            Access::None
        } else {
            Access::Read
        };
        repo.access
            .get(&login.to_lowercase())
            .copied()
            .unwrap_or(rest)
    }

    pub(crate) fn association(&self, key: &str, login: &str) -> Association {
        let Some(repo) = self.find(key) else {
            return Association::None;
        };
        if let Some(set) = repo.associations.get(&login.to_lowercase()) {
            return *set;
        }
        if repo.slug.owner.eq_ignore_ascii_case(login) {
            return Association::Owner;
        }
        match repo.access.get(&login.to_lowercase()) {
            Some(Access::Write | Access::Admin) => Association::Collaborator,
            Some(Access::None | Access::Read) | None => Association::None,
        }
    }

    /// Refuses who may not even look.
    pub(crate) fn may_read(&self, ctx: &Ctx<'_>) -> SimResult<&Repo> {
        match self.access(ctx.key, ctx.login) {
            Access::None => Err(SimError::not_found()),
            Access::Read | Access::Write | Access::Admin => self.repo(ctx.key),
        }
    }

    /// Refuses who may not change what others see: comments, own issues.
    pub(crate) fn may_speak(&self, ctx: &Ctx<'_>) -> SimResult<&Repo> {
        let repo = self.may_read(ctx)?;
        if repo.archived {
            let words = "Repository was archived so is read-only.";
            return Err(SimError::new(403, Refusal::RepositoryArchived, words));
        }
        Ok(repo)
    }

    /// Refuses who may not label, assign, or change others' issues.
    pub(crate) fn may_manage(&self, ctx: &Ctx<'_>) -> SimResult<&Repo> {
        self.may_act(ctx, Refusal::Forbidden)
    }

    /// Refuses who may not write contents.
    pub(crate) fn may_push(&self, ctx: &Ctx<'_>) -> SimResult<&Repo> {
        self.may_act(ctx, Refusal::NoContentsWrite)
    }

    fn may_act(&self, ctx: &Ctx<'_>, refusal: Refusal) -> SimResult<&Repo> {
        let repo = self.may_speak(ctx)?;
        match self.access(ctx.key, ctx.login) {
            Access::Write | Access::Admin => Ok(repo),
            Access::None | Access::Read => Err(SimError::new(
                403,
                refusal,
                "Resource not accessible by personal access token",
            )),
        }
    }

    pub(crate) fn ref_id(&self, key: &str, name: &str) -> SimResult<Option<String>> {
        if let Some(frozen) = &self.frozen {
            return Ok(frozen
                .get(self.key_now(key))
                .and_then(|refs| refs.get(name))
                .cloned());
        }
        repo_git::ref_id(&self.repo(key)?.path, name)
    }

    pub(crate) fn refs(&self, key: &str) -> SimResult<Refs> {
        if let Some(frozen) = &self.frozen {
            return Ok(frozen.get(self.key_now(key)).cloned().unwrap_or_default());
        }
        repo_git::refs(&self.repo(key)?.path)
    }

    /// The tip of the default branch; a repository without one is empty.
    pub(crate) fn tip(&self, key: &str) -> SimResult<Option<String>> {
        let branch = format!("refs/heads/{}", self.repo(key)?.default_branch);
        self.ref_id(key, &branch)
    }

    /// A copy that goes on showing the present, refs included.
    pub(crate) fn freeze(&self) -> Self {
        let mut copy = self.clone();
        let keys = self.repos.keys();
        copy.frozen = Some(
            keys.map(|key| (key.clone(), self.refs(key).unwrap_or_default()))
                .collect(),
        );
        copy
    }

    /// Follows what was pushed: heads of pull requests move, a pull request whose branch is gone is
    /// closed, one whose head is in the base is merged, closing words in new commits close issues.
    pub(crate) fn follow(&mut self, now: Timestamp) -> SimResult<()> {
        if self.frozen.is_some() {
            return Ok(());
        }
        let keys: Vec<String> = self.repos.keys().cloned().collect();
        for key in &keys {
            self.follow_prs(key, now)?;
            self.follow_tip(key, now)?;
        }
        Ok(())
    }

    fn follow_prs(&mut self, key: &str, now: Timestamp) -> SimResult<()> {
        let open: Vec<(u64, Pr)> = self
            .repo(key)?
            .issues
            .values()
            .filter_map(|issue| issue.pr.clone().map(|pr| (issue.number, pr)))
            .filter(|(_, pr)| pr.standing == PrStanding::Open)
            .collect();
        for (number, pr) in open {
            let head = self
                .ref_id(&pr.head_repo, &format!("refs/heads/{}", pr.head_ref))
                .ok();
            let base = self.ref_id(key, &format!("refs/heads/{}", pr.base_ref))?;
            let path = self.repo(key)?.path.clone();
            match (head.flatten(), base) {
                (Some(head), Some(base)) => {
                    if head != pr.head_sha {
                        self.move_head(key, number, &head, now)?;
                    }
                    if repo_git::contains(&path, &base, &head)? {
                        let author = self.issue(key, number)?.author.clone();
                        self.settle_pr(key, number, PrStanding::Merged(head, now, author), now)?;
                    }
                }
                (None, _) | (_, None) => self.settle_pr(key, number, PrStanding::Closed, now)?,
            }
        }
        Ok(())
    }

    /// Makes the pull request's head this commit, and keeps it under `refs/pull`.
    pub(crate) fn move_head(
        &mut self,
        key: &str,
        number: u64,
        head: &str,
        now: Timestamp,
    ) -> SimResult<()> {
        let pr = self.pr(key, number)?.1.clone();
        let path = self.repo(key)?.path.clone();
        let kept = format!("refs/pull/{number}/head");
        if self.key_now(&pr.head_repo) == self.key_now(key) {
            let step = repo_git::Move {
                name: kept,
                before: repo_git::Before::Whatever,
                after: Some(head.to_owned()),
                force: true,
            };
            repo_git::move_refs(&path, &[step])?;
        } else {
            let from = self.repo(&pr.head_repo)?.path.clone();
            let spec = format!("+refs/heads/{}:{kept}", pr.head_ref);
            repo_git::fetch(&path, &from, &[&spec])?;
        }
        let pr = self.pr_mut(key, number)?;
        head.clone_into(&mut pr.head_sha);
        // Who pushes falls out of the queue.
        pr.queued = None;
        self.issue_mut(key, number)?.updated_at = now;
        Ok(())
    }

    /// Ends a pull request.
    pub(crate) fn settle_pr(
        &mut self,
        key: &str,
        number: u64,
        standing: PrStanding,
        now: Timestamp,
    ) -> SimResult<()> {
        let pr = self.pr_mut(key, number)?;
        pr.standing = standing;
        pr.queued = None;
        let issue = self.issue_mut(key, number)?;
        issue.open = false;
        issue.closed = Some((now, issue.author.clone()));
        issue.updated_at = now;
        Ok(())
    }

    fn follow_tip(&mut self, key: &str, now: Timestamp) -> SimResult<()> {
        let tip = self.tip(key)?;
        let seen = self.repo(key)?.tip_seen.clone();
        if tip == seen {
            return Ok(());
        }
        self.repo_mut(key)?.tip_seen.clone_from(&tip);
        let (Some(tip), Some(seen)) = (tip, seen) else {
            return Ok(());
        };
        let path = self.repo(key)?.path.clone();
        let slug = self.repo(key)?.slug.clone();
        for sha in repo_git::commits_between(&path, Some(&seen), &tip)? {
            let Some(commit) = repo_git::commit(&path, &sha)? else {
                continue;
            };
            for number in closing_numbers(&commit.message, &slug) {
                self.close_by_words(key, number, now);
            }
        }
        Ok(())
    }

    /// Closes an issue that a closing word names; a pull request or nothing at all is left alone.
    pub(crate) fn close_by_words(&mut self, key: &str, number: u64, now: Timestamp) {
        let owner = self
            .repos
            .get(key)
            .map(|repo| repo.slug.owner.clone())
            .unwrap_or_default();
        if let Ok(issue) = self.issue_mut(key, number)
            && issue.pr.is_none()
            && issue.open
        {
            issue.open = false;
            issue.closed = Some((now, owner));
            issue.state_reason = Some("completed".to_owned());
            issue.updated_at = now;
        }
    }
}
