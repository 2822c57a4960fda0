//! What people do to an issue besides writing its text: comments, labels, assignees, open or closed.

use super::super::error::SimResult;
use super::super::issues::IssuePatch;
use super::SimRepo;

impl SimRepo {
    /// Writes a comment.
    pub fn comment(&self, user: &str, number: u64, body: &str) -> SimResult<u64> {
        self.sim.add_user(user);
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
        self.set(|repo| {
            if let Some(issue) = repo.issues.get_mut(&number) {
                issue.milestone = title.map(ToOwned::to_owned);
            }
        });
    }

    /// Closes an issue.
    pub fn close_issue(&self, user: &str, number: u64) -> SimResult<()> {
        let patch = IssuePatch {
            open: Some(false),
            ..IssuePatch::default()
        };
        self.act(user, |world, ctx| world.patch_issue(ctx, number, patch))
    }

    /// Opens it again.
    pub fn reopen_issue(&self, user: &str, number: u64) -> SimResult<()> {
        let patch = IssuePatch {
            open: Some(true),
            ..IssuePatch::default()
        };
        self.act(user, |world, ctx| world.patch_issue(ctx, number, patch))
    }

    /// Deletes an issue, or transfers it away.
    pub fn delete_issue(&self, number: u64) {
        self.set(|repo| {
            repo.issues.remove(&number);
            repo.gone.insert(number);
        });
    }

    /// Assigns somebody.
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
}
