//! Issues, labels, assignees and comments: what GitHub allows and records.

use crate::model::ids::{IssueNumber, RepoSlug};
use crate::ports::Refusal;
use crate::ports::github::IssueChange;

use super::error::{Detail, SimError, SimResult};
use super::model::{Access, Comment, Edit, Event, Happened, Issue, Label};
use super::world::{Ctx, World};

/// GitHub's limit for a body, in characters.
/// <https://github.com/orgs/community/discussions/41331>, read 2025-11.
const BODY_CHARS_MAX: usize = 65_536;

/// An issue to open.
#[derive(Debug, Clone, Default)]
pub(crate) struct NewIssue {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) labels: Vec<String>,
    pub(crate) assignees: Vec<String>,
}

/// What a PATCH of an issue changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct IssuePatch {
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) open: Option<bool>,
    pub(crate) state_reason: Option<String>,
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) assignees: Option<Vec<String>>,
}

pub(crate) fn check_body(resource: &'static str, body: &str) -> SimResult<()> {
    if body.chars().count() <= BODY_CHARS_MAX {
        return Ok(());
    }
    let words = format!("body is too long (maximum is {BODY_CHARS_MAX} characters)");
    Err(SimError::custom(Refusal::Invalid, resource, words))
}

/// The key under which a repository is kept.
pub(crate) fn key_of(slug: &RepoSlug) -> String {
    slug.to_string().to_lowercase()
}

impl World {
    pub(crate) fn open_issue(&mut self, ctx: &Ctx<'_>, new: NewIssue) -> SimResult<u64> {
        let number = self.may_speak(ctx)?.next_number();
        if new.title.trim().is_empty() {
            let detail = Detail {
                resource: "Issue",
                code: "missing_field",
                field: Some("title"),
                message: None,
            };
            return Err(SimError::validation(Refusal::Invalid, detail));
        }
        check_body("Issue", &new.body)?;
        let id = self.id();
        let issue = Issue {
            id,
            number,
            title: new.title,
            body: new.body,
            open: true,
            closed: None,
            state_reason: None,
            author: ctx.login.to_owned(),
            labels: Vec::new(),
            assignees: Vec::new(),
            milestone: None,
            created_at: ctx.now,
            updated_at: ctx.now,
            edits: Vec::new(),
            timeline: Vec::new(),
            comments: Vec::new(),
            pr: None,
            blocked_by: Vec::new(),
            blocked_elsewhere: 0,
            sub_issues: Vec::new(),
        };
        self.repo_mut(ctx.key)?.issues.insert(number, issue);
        // Whoever may not label opens the issue without them, as GitHub does silently.
        if self.access(ctx.key, ctx.login) >= Access::Write {
            self.put_labels(ctx, number, &new.labels)?;
            self.assign(ctx, number, &new.assignees)?;
        }
        Ok(number)
    }

    /// Changes an issue or a pull request: its author may, and who may push.
    pub(crate) fn patch_issue(
        &mut self,
        ctx: &Ctx<'_>,
        number: u64,
        patch: &IssuePatch,
    ) -> SimResult<()> {
        self.may_speak(ctx)?;
        if !self
            .issue(ctx.key, number)?
            .author
            .eq_ignore_ascii_case(ctx.login)
        {
            self.may_manage(ctx)?;
        }
        if let Some(body) = &patch.body {
            check_body("Issue", body)?;
            self.rewrite_body(ctx, number, body)?;
        }
        if let Some(title) = &patch.title {
            self.rename(ctx, number, title)?;
        }
        if let Some(labels) = &patch.labels {
            let gone = self.issue(ctx.key, number)?.labels.clone();
            for label in gone
                .iter()
                .filter(|old| !labels.iter().any(|l| l.eq_ignore_ascii_case(old)))
            {
                self.take_label(ctx, number, label)?;
            }
            self.put_labels(ctx, number, labels)?;
        }
        if let Some(assignees) = &patch.assignees {
            self.issue_mut(ctx.key, number)?.assignees.clear();
            self.assign(ctx, number, assignees)?;
        }
        match patch.open {
            Some(true) => self.reopen(ctx, number)?,
            Some(false) => self.close(ctx, number, patch.state_reason.as_deref())?,
            None => {}
        }
        Ok(())
    }

    /// Changes an issue and a comment in one request, one after the other; one that is refused does
    /// not keep the other back. Within `Ok`: the body, or why half of it was refused.
    pub(crate) fn change_issue(
        &mut self,
        ctx: &Ctx<'_>,
        number: IssueNumber,
        change: &IssueChange,
    ) -> SimResult<SimResult<String>> {
        let patch = IssuePatch {
            body: change.body.clone(),
            open: change.close.then_some(false),
            ..IssuePatch::default()
        };
        let patched = self.patch_issue(ctx, number.0, &patch);
        let mirrored = match &change.comment {
            Some((id, text)) => self.rewrite_comment(ctx, id.0, text),
            // Nothing else was asked, so a refusal is a whole one.
            None => patched.clone(),
        };
        match (patched, mirrored) {
            (Ok(()), Ok(())) => Ok(Ok(self.issue(ctx.key, number.0)?.body.clone())),
            (Err(refused), Err(_)) => Err(refused),
            (Err(half), Ok(())) | (Ok(()), Err(half)) => Ok(Err(half)),
        }
    }

    fn rewrite_body(&mut self, ctx: &Ctx<'_>, number: u64, body: &str) -> SimResult<()> {
        let ids = (self.id(), self.id());
        let issue = self.issue_mut(ctx.key, number)?;
        if issue.body == body {
            return Ok(());
        }
        let version = |id: u64, editor: &str, at, text: &str| Edit {
            id: format!("UCE_{id}"),
            editor: editor.to_owned(),
            at,
            text: Some(text.to_owned()),
        };
        if issue.edits.is_empty() {
            // The first edit makes GitHub show the creation as a version, too.
            issue
                .edits
                .push(version(ids.0, &issue.author, issue.created_at, &issue.body));
        }
        issue.edits.push(version(ids.1, ctx.login, ctx.now, body));
        body.clone_into(&mut issue.body);
        issue.updated_at = ctx.now;
        Ok(())
    }

    fn rename(&mut self, ctx: &Ctx<'_>, number: u64, title: &str) -> SimResult<()> {
        let issue = self.issue_mut(ctx.key, number)?;
        if issue.title != title {
            title.clone_into(&mut issue.title);
            issue.happened(ctx, Happened::Renamed);
        }
        Ok(())
    }

    fn reopen(&mut self, ctx: &Ctx<'_>, number: u64) -> SimResult<()> {
        if let Some(pr) = &self.issue(ctx.key, number)?.pr
            && !matches!(pr.standing, super::model::PrStanding::Open)
        {
            return self.reopen_pr(ctx, number);
        }
        let issue = self.issue_mut(ctx.key, number)?;
        if !issue.open {
            issue.open = true;
            issue.closed = None;
            issue.state_reason = Some("reopened".to_owned());
            issue.updated_at = ctx.now;
        }
        Ok(())
    }

    fn close(&mut self, ctx: &Ctx<'_>, number: u64, reason: Option<&str>) -> SimResult<()> {
        if self.issue(ctx.key, number)?.pr.is_some() {
            return self.close_pr(ctx, number);
        }
        let issue = self.issue_mut(ctx.key, number)?;
        if issue.open {
            issue.open = false;
            issue.closed = Some((ctx.now, ctx.login.to_owned()));
            issue.state_reason = Some(reason.unwrap_or("completed").to_owned());
            issue.updated_at = ctx.now;
        }
        Ok(())
    }

    /// Puts labels on; a name that the repository does not have yet becomes a grey label of it.
    pub(crate) fn put_labels(
        &mut self,
        ctx: &Ctx<'_>,
        number: u64,
        labels: &[String],
    ) -> SimResult<()> {
        self.may_manage(ctx)?;
        self.issue(ctx.key, number)?;
        for name in labels {
            let known = self
                .find_label(ctx.key, name)?
                .map(|label| label.name.clone());
            let name = match known {
                Some(name) => name,
                None => self.new_label(ctx, name, "ededed", "")?,
            };
            let issue = self.issue_mut(ctx.key, number)?;
            if !issue.has_label(&name) {
                issue.labels.push(name.clone());
                issue.happened(ctx, Happened::Labelled(name));
            }
        }
        Ok(())
    }

    pub(crate) fn take_label(&mut self, ctx: &Ctx<'_>, number: u64, name: &str) -> SimResult<()> {
        self.may_manage(ctx)?;
        let issue = self.issue_mut(ctx.key, number)?;
        if !issue.has_label(name) {
            return Err(SimError::new(
                404,
                Refusal::NotFound,
                "Label does not exist",
            ));
        }
        issue
            .labels
            .retain(|label| !label.eq_ignore_ascii_case(name));
        issue.updated_at = ctx.now;
        Ok(())
    }

    pub(crate) fn find_label(&self, key: &str, name: &str) -> SimResult<Option<&Label>> {
        Ok(self
            .repo(key)?
            .labels
            .iter()
            .find(|label| label.name.eq_ignore_ascii_case(name)))
    }

    /// Creates a label of the repository; answers its name.
    pub(crate) fn new_label(
        &mut self,
        ctx: &Ctx<'_>,
        name: &str,
        colour: &str,
        description: &str,
    ) -> SimResult<String> {
        self.may_manage(ctx)?;
        if self.find_label(ctx.key, name)?.is_some() {
            return Err(SimError::exists("Label", "name"));
        }
        let hex = colour.len() == 6 && colour.bytes().all(|b| b.is_ascii_hexdigit());
        if name.is_empty() || name.chars().count() > 50 || !hex {
            let field = Some(if hex { "name" } else { "color" });
            let detail = Detail {
                resource: "Label",
                code: "invalid",
                field,
                message: None,
            };
            return Err(SimError::validation(Refusal::Invalid, detail));
        }
        let id = self.id();
        self.repo_mut(ctx.key)?.labels.push(Label {
            id,
            name: name.to_owned(),
            colour: colour.to_lowercase(),
            description: description.to_owned(),
        });
        Ok(name.to_owned())
    }

    /// Assigns those who can be; others are left out without a word, as GitHub does.
    pub(crate) fn assign(
        &mut self,
        ctx: &Ctx<'_>,
        number: u64,
        logins: &[String],
    ) -> SimResult<()> {
        self.may_manage(ctx)?;
        for login in logins {
            if self.access(ctx.key, login) < Access::Write || self.user(login).is_none() {
                continue;
            }
            let issue = self.issue_mut(ctx.key, number)?;
            if !issue
                .assignees
                .iter()
                .any(|known| known.eq_ignore_ascii_case(login))
            {
                issue.assignees.push(login.clone());
                issue.updated_at = ctx.now;
            }
        }
        self.issue(ctx.key, number).map(|_| ())
    }

    pub(crate) fn unassign(
        &mut self,
        ctx: &Ctx<'_>,
        number: u64,
        logins: &[String],
    ) -> SimResult<()> {
        self.may_manage(ctx)?;
        let issue = self.issue_mut(ctx.key, number)?;
        issue
            .assignees
            .retain(|known| !logins.iter().any(|l| l.eq_ignore_ascii_case(known)));
        issue.updated_at = ctx.now;
        Ok(())
    }

    pub(crate) fn new_comment(&mut self, ctx: &Ctx<'_>, number: u64, body: &str) -> SimResult<u64> {
        self.may_speak(ctx)?;
        self.issue(ctx.key, number)?;
        if body.trim().is_empty() {
            let detail = Detail {
                resource: "IssueComment",
                code: "missing_field",
                field: Some("body"),
                message: None,
            };
            return Err(SimError::validation(Refusal::Invalid, detail));
        }
        check_body("IssueComment", body)?;
        let id = self.id();
        let issue = self.issue_mut(ctx.key, number)?;
        issue.comments.push(Comment {
            id,
            author: ctx.login.to_owned(),
            body: body.to_owned(),
            created_at: ctx.now,
            edited: None,
        });
        issue.updated_at = ctx.now;
        Ok(id)
    }

    /// The issue that a comment stands on.
    pub(crate) fn comment_place(&self, key: &str, id: u64) -> SimResult<(u64, &Comment)> {
        let issues = self.repo(key)?.issues.values();
        issues
            .flat_map(|issue| issue.comments.iter().map(|comment| (issue.number, comment)))
            .find(|(_, comment)| comment.id == id)
            .ok_or_else(SimError::not_found)
    }

    pub(crate) fn rewrite_comment(&mut self, ctx: &Ctx<'_>, id: u64, body: &str) -> SimResult<()> {
        self.may_speak(ctx)?;
        let (number, comment) = self.comment_place(ctx.key, id)?;
        if !comment.author.eq_ignore_ascii_case(ctx.login) {
            self.may_manage(ctx)?;
        }
        check_body("IssueComment", body)?;
        let issue = self.issue_mut(ctx.key, number)?;
        if let Some(comment) = issue.comments.iter_mut().find(|comment| comment.id == id)
            && comment.body != body
        {
            body.clone_into(&mut comment.body);
            comment.edited = Some((ctx.now, ctx.login.to_owned()));
            issue.updated_at = ctx.now;
        }
        Ok(())
    }
}

impl Issue {
    fn happened(&mut self, ctx: &Ctx<'_>, what: Happened) {
        self.timeline.push(Event {
            actor: ctx.login.to_owned(),
            at: ctx.now,
            what,
        });
        self.updated_at = ctx.now;
    }
}
