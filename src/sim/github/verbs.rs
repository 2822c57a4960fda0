//! What people, CI and the rest of the world do to a repository, as verbs by actor for tests and the
//! demo. None of these is a request: they are not counted and meet no faults.

use crate::model::ids::Sha;
use crate::ports::github::MergeMethod;

use super::error::{SimError, SimResult};
use super::issues::{IssuePatch, NewIssue};
use super::merge::MergeOrder;
use super::model::{ACTIONS, Access, Check, Status};
use super::prs::PrDraft;
use super::repo::SimRepo;
use super::repo_git::{self, Before, Move, Stamp};

impl SimRepo {
    /// Opens an issue.
    pub fn open_issue(
        &self,
        author: &str,
        title: &str,
        body: &str,
        labels: &[&str],
    ) -> SimResult<u64> {
        self.sim().add_user(author);
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let owner = self
            .sim()
            .read(|world| Ok(world.repo(self.key())?.slug.owner.clone()))?;
        let (title, body) = (title.to_owned(), body.to_owned());
        let new = NewIssue {
            title,
            body,
            ..NewIssue::default()
        };
        let number = self.act(author, |world, ctx| world.open_issue(ctx, new))?;
        // Whoever may not label has somebody do it.
        let may = self
            .sim()
            .read(|world| Ok(world.access(self.key(), author) >= Access::Write))?;
        let labeller = if may { author } else { &owner };
        self.act(labeller, |world, ctx| {
            world.put_labels(ctx, number, &labels)
        })?;
        Ok(number)
    }

    /// Rewrites the body of an issue or pull request.
    pub fn edit_body(&self, user: &str, number: u64, body: &str) -> SimResult<()> {
        let patch = IssuePatch {
            body: Some(body.to_owned()),
            ..IssuePatch::default()
        };
        self.act(user, |world, ctx| world.patch_issue(ctx, number, &patch))
    }

    /// Rewrites the title.
    pub fn edit_title(&self, user: &str, number: u64, title: &str) -> SimResult<()> {
        let patch = IssuePatch {
            title: Some(title.to_owned()),
            ..IssuePatch::default()
        };
        self.act(user, |world, ctx| world.patch_issue(ctx, number, &patch))
    }

    /// Deletes the text of a version of the body, as one may in the history menu.
    pub fn delete_revision(&self, number: u64, id: &str) {
        self.set(|repo| {
            let edits = repo.issues.get_mut(&number).map(|issue| &mut issue.edits);
            for edit in edits.into_iter().flatten().filter(|edit| edit.id == id) {
                edit.text = None;
            }
        });
    }

    /// Writes a comment.
    pub fn comment(&self, user: &str, number: u64, body: &str) -> SimResult<u64> {
        self.sim().add_user(user);
        self.act(user, |world, ctx| world.new_comment(ctx, number, body))
    }

    /// Rewrites a comment.
    pub fn edit_comment(&self, user: &str, id: u64, body: &str) -> SimResult<()> {
        self.act(user, |world, ctx| world.rewrite_comment(ctx, id, body))
    }

    /// Puts a label on.
    pub fn add_label(&self, user: &str, number: u64, label: &str) -> SimResult<()> {
        self.act(user, |world, ctx| {
            world.put_labels(ctx, number, &[label.to_owned()])
        })
    }

    /// Takes a label off.
    pub fn remove_label(&self, user: &str, number: u64, label: &str) -> SimResult<()> {
        self.act(user, |world, ctx| world.take_label(ctx, number, label))
    }

    /// Sets the milestone's title.
    pub fn set_milestone(&self, number: u64, title: Option<&str>) {
        let now = self.sim().clock.now();
        self.set(|repo| {
            if let Some(title) = title.filter(|title| repo.milestone_number(title).is_none()) {
                repo.milestones.push(title.to_owned());
            }
            if let Some(issue) = repo.issues.get_mut(&number) {
                issue.milestone = title.map(ToOwned::to_owned);
                issue.updated_at = now;
            }
        });
    }

    /// Says that an issue is blocked by another one.
    pub fn block_by(&self, number: u64, blocker: u64) {
        self.set(|repo| {
            if let Some(issue) = repo.issues.get_mut(&number) {
                issue.blocked_by.push(blocker);
            }
        });
    }

    /// Says that an issue is blocked by so many open issues of other repositories.
    pub fn block_elsewhere(&self, number: u64, count: u64) {
        self.set(|repo| {
            if let Some(issue) = repo.issues.get_mut(&number) {
                issue.blocked_elsewhere = count;
            }
        });
    }

    /// Makes an issue a sub-issue of another one.
    pub fn add_sub_issue(&self, parent: u64, child: u64) {
        self.set(|repo| {
            if let Some(issue) = repo.issues.get_mut(&parent) {
                issue.sub_issues.push(child);
            }
        });
    }

    /// Closes an issue.
    pub fn close_issue(&self, user: &str, number: u64) -> SimResult<()> {
        let patch = IssuePatch {
            open: Some(false),
            ..IssuePatch::default()
        };
        self.act(user, |world, ctx| world.patch_issue(ctx, number, &patch))
    }

    /// Closes an issue that nobody will work on.
    pub fn close_as_not_planned(&self, user: &str, number: u64) -> SimResult<()> {
        let patch = IssuePatch {
            open: Some(false),
            state_reason: Some("not_planned".to_owned()),
            ..IssuePatch::default()
        };
        self.act(user, |world, ctx| world.patch_issue(ctx, number, &patch))
    }

    /// Somebody assigns.
    pub fn assign(&self, user: &str, number: u64, login: &str) -> SimResult<()> {
        self.act(user, |world, ctx| {
            world.assign(ctx, number, &[login.to_owned()])
        })
    }

    /// Takes somebody off.
    pub fn unassign(&self, user: &str, number: u64, login: &str) -> SimResult<()> {
        self.act(user, |world, ctx| {
            world.unassign(ctx, number, &[login.to_owned()])
        })
    }

    /// Opens it again.
    pub fn reopen_issue(&self, user: &str, number: u64) -> SimResult<()> {
        let patch = IssuePatch {
            open: Some(true),
            ..IssuePatch::default()
        };
        self.act(user, |world, ctx| world.patch_issue(ctx, number, &patch))
    }

    /// Deletes an issue, or transfers it away.
    pub fn delete_issue(&self, number: u64) {
        self.set(|repo| {
            repo.issues.remove(&number);
            repo.gone.insert(number);
        });
    }

    /// Opens a pull request; `head` may be `owner:branch` of a fork.
    pub fn open_pr(&self, user: &str, title: &str, head: &str, base: &str) -> SimResult<u64> {
        let draft = PrDraft {
            title: title.to_owned(),
            head: head.to_owned(),
            base: base.to_owned(),
            ..PrDraft::default()
        };
        self.act(user, |world, ctx| world.open_pr(ctx, draft))
    }

    /// Makes a pull request a draft, or ready.
    pub fn set_draft(&self, number: u64, draft: Draft) {
        self.set(|repo| {
            if let Some(pr) = repo
                .issues
                .get_mut(&number)
                .and_then(|issue| issue.pr.as_mut())
            {
                pr.draft = draft == Draft::Yes;
            }
        });
    }

    /// Lets GitHub be still at work on whether it merges, or done with that.
    pub fn set_mergeability(&self, number: u64, known: Mergeability) {
        self.set(|repo| {
            if let Some(pr) = repo
                .issues
                .get_mut(&number)
                .and_then(|issue| issue.pr.as_mut())
            {
                pr.merges_unknown = known == Mergeability::Pending;
            }
        });
    }

    /// Closes a pull request without a merge.
    pub fn close_pr(&self, user: &str, number: u64) -> SimResult<()> {
        self.close_issue(user, number)
    }

    /// Merges in the browser, with whatever head it has.
    pub fn merge_pr_as(&self, user: &str, number: u64, method: MergeMethod) -> SimResult<String> {
        let order = MergeOrder {
            method,
            expected_head: None,
            title: None,
            message: None,
        };
        self.act(user, |world, ctx| world.merge_pr(ctx, number, &order))
    }

    /// Reviews: `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`.
    pub fn review(&self, user: &str, number: u64, state: &str, body: &str) -> SimResult<u64> {
        self.sim().add_user(user);
        self.act(user, |world, ctx| world.review(ctx, number, state, body))
    }

    /// Takes a review back.
    pub fn dismiss_review(&self, number: u64, id: u64) {
        self.set(|repo| {
            let pr = repo
                .issues
                .get_mut(&number)
                .and_then(|issue| issue.pr.as_mut());
            for review in pr
                .into_iter()
                .flat_map(|pr| &mut pr.reviews)
                .filter(|r| r.id == id)
            {
                "DISMISSED".clone_into(&mut review.state);
            }
        });
    }

    /// Sets a check run; one of the same name at the same commit is replaced.
    pub fn set_check(
        &self,
        sha: &str,
        name: &str,
        status: &str,
        conclusion: Option<&str>,
    ) -> SimResult<()> {
        self.report_check(sha, name, (status, conclusion), "")
    }

    /// A commit whose check of this name is to run.
    pub(super) fn to_run(&self, name: &str) -> SimResult<Option<String>> {
        let checks = self.snapshot()?.checks;
        let waits = |check: &&Check| check.name == name && check.status == "queued";
        Ok(checks.iter().find(waits).map(|check| check.sha.clone()))
    }

    /// The same, with what its job printed.
    pub fn report_check(
        &self,
        sha: &str,
        name: &str,
        (status, conclusion): (&str, Option<&str>),
        output: &str,
    ) -> SimResult<()> {
        self.sim().write(|world, now| {
            let id = world.id();
            let checks = &mut world.repo_mut(self.key())?.checks;
            let old = checks
                .iter()
                .position(|check| check.sha == sha && check.name == name);
            let old = old.map(|place| checks.remove(place));
            checks.push(Check {
                id: old.as_ref().map_or(id, |old| old.id),
                sha: sha.to_owned(),
                name: name.to_owned(),
                status: status.to_owned(),
                conclusion: conclusion.map(ToOwned::to_owned),
                started_at: old.as_ref().map_or(now, |old| old.started_at),
                completed_at: conclusion.map(|_| now),
                output: output.to_owned(),
                app: old.as_ref().map_or(ACTIONS, |old| old.app),
                again: old.as_ref().map_or(0, |old| old.again),
            });
            Ok(())
        })
    }

    /// Sets a commit status.
    pub fn set_status(
        &self,
        sha: &str,
        context: &str,
        state: &str,
        description: Option<&str>,
    ) -> SimResult<()> {
        self.sim().write(|world, at| {
            let id = world.id();
            let statuses = &mut world.repo_mut(self.key())?.statuses;
            statuses.retain(|status| status.sha != sha || status.context != context);
            statuses.push(Status {
                id,
                sha: sha.to_owned(),
                context: context.to_owned(),
                state: state.to_owned(),
                description: description.map(ToOwned::to_owned),
                at,
            });
            Ok(())
        })
    }

    /// Commits files to a branch, which is cut from the default branch if it does not exist.
    pub fn push_commit(&self, user: &str, branch: &str, files: &[(&str, &str)]) -> SimResult<Sha> {
        self.push_message(user, branch, files, "Change files")
    }

    /// The same, with a message.
    pub fn push_message(
        &self,
        user: &str,
        branch: &str,
        files: &[(&str, &str)],
        message: &str,
    ) -> SimResult<Sha> {
        self.sim().add_user(user);
        let sha = self.act(user, |world, ctx| {
            let path = world.repo(ctx.key)?.path.clone();
            let name = format!("refs/heads/{branch}");
            let tip = world.ref_id(ctx.key, &name)?;
            let parent = match &tip {
                Some(tip) => Some(tip.clone()),
                None => world.tip(ctx.key)?,
            };
            let files: Vec<(&str, Option<&str>)> = files
                .iter()
                .map(|(name, text)| (*name, Some(*text)))
                .collect();
            let tree = repo_git::tree_with(&path, parent.as_deref(), &files)?;
            let parents: Vec<String> = parent.into_iter().collect();
            let stamp = Stamp::of(user, ctx.now);
            let sha = repo_git::write_commit(&path, message, &tree, &parents, (&stamp, &stamp))?;
            let step = Move {
                name,
                before: tip.into(),
                after: Some(sha.clone()),
                force: true,
            };
            repo_git::move_refs(&path, &[step])?;
            Ok(sha)
        })?;
        Sha::new(sha).map_err(|error| SimError::invalid(error.to_string()))
    }

    /// Points a ref somewhere, forced; `None` deletes it.
    pub fn force_ref(&self, name: &str, target: Option<&str>) -> SimResult<()> {
        let after = target.map(ToOwned::to_owned);
        let step = Move {
            name: name.to_owned(),
            before: Before::Whatever,
            after,
            force: true,
        };
        self.sim()
            .write(|world, _| repo_git::move_refs(&world.repo(self.key())?.path, &[step]))
    }

    /// Deletes a ref.
    pub fn delete_ref(&self, name: &str) -> SimResult<()> {
        self.force_ref(name, None)
    }
}

/// Has GitHub worked out whether a pull request merges?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mergeability {
    /// Not yet.
    Pending,
    /// It tells what is so at each look.
    Known,
}

/// Is a pull request a draft?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draft {
    /// Yes.
    Yes,
    /// No: it is ready.
    No,
}
