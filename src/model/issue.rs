//! What GitHub says of an issue: its text, its comments, and who wrote and changed what.

use serde::{Deserialize, Serialize};

use super::ids::{BranchName, CommentId, IssueNumber, Login, PrNumber, RepoId, Timestamp};

/// GitHub's `author_association`: what the writer is to the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Association {
    /// Owns the repository.
    Owner,
    /// Member of the organisation that owns it.
    Member,
    /// Invited to collaborate.
    Collaborator,
    /// Has committed before.
    Contributor,
    /// Has committed for the first time.
    FirstTimeContributor,
    /// Has never committed to anything on GitHub.
    FirstTimer,
    /// A placeholder for an unclaimed user.
    Mannequin,
    /// Nothing of these, or a word we do not know.
    #[serde(other)]
    None,
}

/// Somebody who acts on GitHub. A deleted account (`ghost`) is no actor: the field is `None` there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Actor {
    /// Login; Apps end in `[bot]`.
    pub login: Login,
    /// `type == "Bot"`.
    pub is_bot: bool,
}

/// An issue as GitHub shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Its number.
    pub number: IssueNumber,
    /// GraphQL node id.
    pub node_id: String,
    /// Title.
    pub title: String,
    /// Body; GitHub gives no body as an empty one.
    pub body: String,
    /// Is it open?
    pub open: bool,
    /// Labels by name, as GitHub spells them.
    pub labels: Vec<String>,
    /// Assignees.
    pub assignees: Vec<Login>,
    /// Title of the milestone.
    pub milestone: Option<String>,
    /// Who opened it; `None` for a deleted account.
    pub author: Option<Actor>,
    /// What that one is to the repository.
    pub association: Association,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When anything of it changed last.
    pub updated_at: Timestamp,
    /// Web address.
    pub url: String,
    /// Open pull requests that GitHub links to the issue (closing keywords, or linked by hand).
    pub linked_prs: Vec<LinkedPr>,
}

/// An open pull request that says it is for the issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedPr {
    /// Its number in its repository.
    pub number: PrNumber,
    /// The repository its head branch lives in; `None` if that was deleted.
    pub head_repo: Option<RepoId>,
    /// The head branch's name.
    pub head_ref: BranchName,
    /// Web address.
    pub url: String,
}

/// One version of a body, GitHub's `UserContentEdit`. The first one of an edited body is its creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyEdit {
    /// Node id.
    pub id: String,
    /// Who; `None` for a deleted account.
    pub editor: Option<Actor>,
    /// When.
    pub edited_at: Timestamp,
    /// GitHub's `diff`: the text after the edit, or nothing where GitHub keeps none.
    pub text: Option<String>,
}

/// Somebody changed the title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rename {
    /// Who; `None` for a deleted account.
    pub actor: Option<Actor>,
    /// When.
    pub at: Timestamp,
}

/// A label was put on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labelled {
    /// Which.
    pub label: String,
    /// Who; `None` for a deleted account.
    pub actor: Option<Actor>,
    /// When.
    pub at: Timestamp,
}

/// A comment on the issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// GitHub's id.
    pub id: CommentId,
    /// Who; `None` for a deleted account.
    pub author: Option<Actor>,
    /// What that one is to the repository.
    pub association: Association,
    /// The text.
    pub body: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was edited last, if ever.
    pub edited_at: Option<Timestamp>,
    /// Who edited it last, if it was edited and the account still exists.
    pub editor: Option<Actor>,
    /// Web address.
    pub url: String,
}

/// An open issue of the backlog, with what holds it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenIssue {
    /// The line of the listing.
    pub listed: ListedIssue,
    /// Body; GitHub gives no body as an empty one.
    pub body: String,
    /// Number of the milestone.
    pub milestone: Option<u64>,
}

/// A line of the listing of a repository's issues: enough to decide whether to look closer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedIssue {
    /// Its number.
    pub number: IssueNumber,
    /// Title.
    pub title: String,
    /// Is it open?
    pub open: bool,
    /// Labels by name.
    pub labels: Vec<String>,
    /// Assignees.
    pub assignees: Vec<Login>,
    /// Title of the milestone.
    pub milestone: Option<String>,
    /// When anything of it changed last.
    pub updated_at: Timestamp,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Open issues that GitHub's own dependencies name as blocking it, wherever they are. GitHub does
    /// not count it as a change of this issue when one of them is closed.
    pub open_dependencies: u64,
    /// Sub-issues that are not closed; the same holds.
    pub open_sub_issues: u64,
}
