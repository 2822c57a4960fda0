//! The records of the simulated GitHub. Data only: the rules are in the sibling modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::model::ids::{RepoSlug, Timestamp};
use crate::model::issue::Association;

/// What a user may do in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Nothing: a private repository does not exist for them.
    None,
    /// Look, comment, open issues and pull requests from forks.
    Read,
    /// Push, label, merge.
    Write,
    /// Everything.
    Admin,
}

/// An account.
#[derive(Debug, Clone)]
pub struct User {
    /// Database id.
    pub id: u64,
    /// Login; bots end in `[bot]`.
    pub login: String,
    /// Was the account deleted? Its texts stay, without an author.
    pub deleted: bool,
}

/// A label of a repository.
#[derive(Debug, Clone)]
pub struct Label {
    /// Database id.
    pub id: u64,
    /// Name.
    pub name: String,
    /// Six hex digits.
    pub colour: String,
    /// What it means.
    pub description: String,
}

/// A version of a body.
#[derive(Debug, Clone)]
pub struct Edit {
    /// Node id.
    pub id: String,
    /// Who wrote it.
    pub editor: String,
    /// When.
    pub at: Timestamp,
    /// The whole text after it; `None` once somebody deleted that revision.
    pub text: Option<String>,
}

/// What the timeline tells that matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// The title changed.
    Renamed,
    /// This label was put on.
    Labelled(String),
}

/// An entry of the timeline.
#[derive(Debug, Clone)]
pub struct Event {
    /// Who.
    pub actor: String,
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: Happened,
}

/// A comment.
#[derive(Debug, Clone)]
pub struct Comment {
    /// Database id.
    pub id: u64,
    /// Who wrote it.
    pub author: String,
    /// The text now.
    pub body: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was edited last, and by whom.
    pub edited: Option<(Timestamp, String)>,
}

/// Where a pull request stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrStanding {
    /// Open.
    Open,
    /// Merged as this commit, then, by.
    Merged(String, Timestamp, String),
    /// Closed without a merge.
    Closed,
}

/// What a pull request has beyond an issue.
#[derive(Debug, Clone)]
pub struct Pr {
    /// Where it stands.
    pub standing: PrStanding,
    /// Is it a draft?
    pub draft: bool,
    /// Has GitHub not worked out yet whether it merges?
    pub merges_unknown: bool,
    /// Key of the repository the head lives in.
    pub head_repo: String,
    /// The head's branch.
    pub head_ref: String,
    /// The head, as of the last look at the repository; the last one if the branch is gone.
    pub head_sha: String,
    /// The base's branch.
    pub base_ref: String,
    /// The reviews, oldest first.
    pub reviews: Vec<Review>,
    /// Since when it is in the merge queue.
    pub queued: Option<Timestamp>,
}

/// A review.
#[derive(Debug, Clone)]
pub struct Review {
    /// Database id.
    pub id: u64,
    /// Who.
    pub author: String,
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`, `DISMISSED`.
    pub state: String,
    /// The head it was given for.
    pub commit: String,
    /// When.
    pub at: Timestamp,
    /// Its text.
    pub body: String,
}

/// An issue, or a pull request: GitHub keeps both in one row of numbers.
#[derive(Debug, Clone)]
pub struct Issue {
    /// Database id.
    pub id: u64,
    /// Number.
    pub number: u64,
    /// Title.
    pub title: String,
    /// Body.
    pub body: String,
    /// Is it open?
    pub open: bool,
    /// When and by whom it was closed.
    pub closed: Option<(Timestamp, String)>,
    /// `completed`, `not_planned`, `reopened`.
    pub state_reason: Option<String>,
    /// Who opened it.
    pub author: String,
    /// Labels by name.
    pub labels: Vec<String>,
    /// Assignees.
    pub assignees: Vec<String>,
    /// Title of the milestone.
    pub milestone: Option<String>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When anything of it changed last.
    pub updated_at: Timestamp,
    /// Versions of the body, oldest first; none if it was never edited.
    pub edits: Vec<Edit>,
    /// Renames and labels, oldest first.
    pub timeline: Vec<Event>,
    /// Comments, oldest first.
    pub comments: Vec<Comment>,
    /// What makes it a pull request.
    pub pr: Option<Pr>,
    /// Issues of this repository that its dependencies name as blocking it.
    pub blocked_by: Vec<u64>,
    /// How many open issues of other repositories they name, too.
    pub blocked_elsewhere: u64,
    /// Its sub-issues, of this repository.
    pub sub_issues: Vec<u64>,
}

/// A check run.
#[derive(Debug, Clone)]
pub struct Check {
    /// Database id.
    pub id: u64,
    /// The commit.
    pub sha: String,
    /// Name.
    pub name: String,
    /// `queued`, `in_progress`, `completed`.
    pub status: String,
    /// Conclusion, once completed.
    pub conclusion: Option<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it was completed.
    pub completed_at: Option<Timestamp>,
    /// The end of what it printed.
    pub output: String,
    /// The App that reports it.
    pub app: u64,
    /// How often the job was run again.
    pub again: u32,
}

/// GitHub Actions' own App.
pub const ACTIONS: u64 = 15_368;

impl Check {
    /// The workflow run of its job: one for each commit, as of a repository with one workflow. Other Apps have
    /// none.
    pub fn run(&self) -> Option<u64> {
        let number = u64::from_str_radix(self.sha.get(..10)?, 16).ok()?;
        (self.app == ACTIONS).then_some(number)
    }
}

/// A commit status.
#[derive(Debug, Clone)]
pub struct Status {
    /// Database id.
    pub id: u64,
    /// The commit.
    pub sha: String,
    /// Context.
    pub context: String,
    /// `pending`, `success`, `failure`, `error`.
    pub state: String,
    /// Description.
    pub description: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Protection of a base branch, by itself or by rulesets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Protection {
    /// How many approvals are asked for; zero: none, and GitHub gives no verdict.
    pub approvals: u32,
    /// Must pull requests go through a merge queue?
    pub merge_queue: bool,
    /// Checks that must pass, and the App that has to report each, where one is bound.
    pub required: Vec<(String, Option<u64>)>,
    /// Must a branch contain its base before it is merged?
    pub strict: bool,
}

impl Protection {
    /// These checks must pass, whoever reports them.
    pub fn requiring(checks: &[&str]) -> Self {
        Self {
            required: checks
                .iter()
                .map(|name| ((*name).to_owned(), None))
                .collect(),
            ..Self::default()
        }
    }
}

/// What the server refuses altogether.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ban {
    /// GraphQL `updateRefs` is answered as a mutation this server does not have.
    UpdateRefs,
    /// Refs outside `refs/heads` and `refs/tags` may not be written.
    OtherRefs,
    /// git's transport takes no pushes; GitHub's API still writes.
    Pushes,
    /// REST may not write refs and commits; GraphQL and git may.
    RestRefs,
    /// GraphQL may not change issues and comments; REST may.
    IssueMutations,
}

/// A repository.
#[derive(Debug, Clone)]
pub struct Repo {
    /// Database id.
    pub id: u64,
    /// Its name.
    pub slug: RepoSlug,
    /// The bare repository.
    pub path: PathBuf,
    /// The default branch's name.
    pub default_branch: String,
    /// Read-only?
    pub archived: bool,
    /// Not for everybody?
    pub private: bool,
    /// Key of the repository it was forked from.
    pub fork_of: Option<String>,
    /// Who may do what; everybody else may read, unless it is private.
    pub access: BTreeMap<String, Access>,
    /// Associations that do not follow from access.
    pub associations: BTreeMap<String, Association>,
    /// Its labels.
    pub labels: Vec<Label>,
    /// Titles of the milestones; the first one has the number 1.
    pub milestones: Vec<String>,
    /// Issues and pull requests.
    pub issues: BTreeMap<u64, Issue>,
    /// Numbers that were taken and are gone.
    pub gone: BTreeSet<u64>,
    /// Check runs.
    pub checks: Vec<Check>,
    /// Commit statuses.
    pub statuses: Vec<Status>,
    /// Protection by branch.
    pub protection: BTreeMap<String, Protection>,
    /// What rulesets ask for, by branch.
    pub rulesets: BTreeMap<String, Protection>,
    /// What it refuses.
    pub bans: BTreeSet<Ban>,
    /// The default branch's tip as of the last look, by which new commits are found.
    pub tip_seen: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
}

impl Repo {
    /// GraphQL node id.
    pub fn node_id(&self) -> String {
        format!("R_{}", self.id)
    }

    /// The number of the next issue or pull request.
    pub(crate) fn next_number(&self) -> u64 {
        let used = self.issues.keys().next_back().copied().unwrap_or(0);
        used.max(self.gone.iter().next_back().copied().unwrap_or(0)) + 1
    }

    /// The number of a milestone.
    pub(crate) fn milestone_number(&self, title: &str) -> Option<u64> {
        let at = self.milestones.iter().position(|one| one == title)?;
        Some(at as u64 + 1)
    }

    /// Those of these issues that are open.
    pub(crate) fn still_open<'a>(
        &'a self,
        numbers: &'a [u64],
    ) -> impl Iterator<Item = &'a Issue> + 'a {
        let found = numbers.iter().filter_map(|number| self.issues.get(number));
        found.filter(|issue| issue.open)
    }

    /// How many open issues its dependencies name, here and elsewhere.
    pub(crate) fn open_blockers(&self, issue: &Issue) -> u64 {
        self.still_open(&issue.blocked_by).count() as u64 + issue.blocked_elsewhere
    }

    /// Protection of a branch, whoever asks for it.
    pub fn protection_of(&self, branch: &str) -> Protection {
        let mut all = self.protection.get(branch).cloned().unwrap_or_default();
        if let Some(rules) = self.rulesets.get(branch) {
            all.approvals = all.approvals.max(rules.approvals);
            all.merge_queue |= rules.merge_queue;
            all.required.extend(rules.required.iter().cloned());
            all.strict |= rules.strict;
        }
        all
    }
}

impl Comment {
    /// GraphQL id.
    pub fn node_id(&self) -> String {
        format!("IC_{}", self.id)
    }
}

impl Issue {
    /// GraphQL node id.
    pub fn node_id(&self) -> String {
        format!("{}_{}", if self.pr.is_some() { "PR" } else { "I" }, self.id)
    }

    /// Is this label on, whatever its case?
    pub fn has_label(&self, name: &str) -> bool {
        self.labels
            .iter()
            .any(|label| label.eq_ignore_ascii_case(name))
    }
}
