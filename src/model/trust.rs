//! Whom we believe (protocol.md, section 8): people, comments, and the text that would be acted on.
//!
//! It must not ask anybody: what is not among the facts given is not trusted. `unknown_logins` says
//! whom to ask GitHub about before.

mod command;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

pub use command::{Command, commands};

use super::body;
use super::ids::Login;
use super::issue::{Actor, Association, BodyEdit, Comment, Issue, Rename};
use super::repo::Permission;

/// T of section 8: title, prose and verify block; our blocks out, line ends `\n`, boxes open, blank
/// lines at both ends of the body left out (GitHub's editor drops them).
pub fn acted_text(title: &str, body: &str) -> String {
    let mut text = body::without_our_blocks(body);
    for task in body::parse(&text).tasks.iter().filter(|task| task.done) {
        text.replace_range(task.box_at..=task.box_at, " ");
    }
    let text = lf(&text);
    let title = lf(title).replace('\n', " ");
    format!(
        "{}\n\n{}\n",
        title.trim(),
        text.trim_start_matches('\n').trim_end()
    )
}

/// The sha256 of T, 64 lower-case hex digits.
pub fn text_hash(title: &str, body: &str) -> String {
    use std::fmt::Write as _;
    let digest = Sha256::digest(acted_text(title, body).as_bytes());
    digest
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a `String` cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

fn lf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Whom the configuration trusts, and who we are.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TrustPolicy {
    /// Associations that are trusted: by default owner, member, collaborator.
    pub associations: Vec<Association>,
    /// `trust.logins`.
    pub logins: Vec<Login>,
    /// `trust.bots`: their comments count, their edits of an issue do not.
    pub bots: Vec<Login>,
    /// Whose token we use.
    pub operator: Login,
}

/// What GitHub says of the logins that were asked about.
pub type People = BTreeMap<Login, Permission>;

impl TrustPolicy {
    /// The default trust for this operator.
    pub fn new(operator: Login) -> Self {
        let associations = vec![
            Association::Owner,
            Association::Member,
            Association::Collaborator,
        ];
        Self {
            associations,
            logins: Vec::new(),
            bots: Vec::new(),
            operator,
        }
    }

    /// Is somebody with this association trusted? A deleted account never is.
    pub fn trusts(&self, actor: Option<&Actor>, association: Association) -> bool {
        actor.is_some_and(|actor| {
            self.associations.contains(&association) || self.names(&actor.login)
        })
    }

    /// Does a comment count? Its author must be trusted or one of `bots`, and so must whoever edited it
    /// last.
    pub fn trusts_comment(&self, comment: &Comment, people: &People) -> bool {
        self.trusts_author(comment)
            && (comment.edited_at.is_none()
                || comment.editor.as_ref().is_some_and(|editor| {
                    comment
                        .author
                        .as_ref()
                        .is_some_and(|a| a.login.is(editor.login.as_str()))
                        || self.is_bot(&editor.login)
                        || self.knows(&editor.login, people) == Some(true)
                }))
    }

    fn trusts_author(&self, comment: &Comment) -> bool {
        self.trusts(comment.author.as_ref(), comment.association)
            || comment
                .author
                .as_ref()
                .is_some_and(|author| self.is_bot(&author.login))
    }

    /// The operator, or one of `logins`?
    fn names(&self, login: &Login) -> bool {
        self.operator.is(login.as_str()) || self.logins.iter().any(|l| l.is(login.as_str()))
    }

    fn is_bot(&self, login: &Login) -> bool {
        self.bots.iter().any(|bot| bot.is(login.as_str()))
    }

    /// Is this login trusted, where no association is known? `None`: nothing says.
    pub fn knows(&self, login: &Login, people: &People) -> Option<bool> {
        if self.names(login) {
            return Some(true);
        }
        let known = people.iter().find(|(known, _)| known.is(login.as_str()));
        known.map(|(_, permission)| *permission == Permission::Write)
    }
}

/// Everything that says who wrote what an issue says.
#[derive(Debug, Clone, Copy)]
pub struct TextFacts<'a> {
    /// The issue as it is now.
    pub issue: &'a Issue,
    /// Every version of its body.
    pub edits: &'a [BodyEdit],
    /// Every change of its title.
    pub renames: &'a [Rename],
    /// Its comments, which may approve the text.
    pub comments: &'a [Comment],
}

/// May the text of an issue be acted on?
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum TextTrust {
    /// Rule (a): everybody who wrote or changed it is trusted.
    Trusted,
    /// Rule (b): a trusted person approved exactly this text. We write nothing to the body but ticks.
    Approved,
    /// Neither.
    Untrusted {
        /// The hash to approve, 64 hex digits.
        hash: String,
        /// Who is not trusted, a lower-case fragment.
        because: String,
    },
}

/// Rules (a) and (b) of section 8.
pub fn text_trust(facts: &TextFacts<'_>, policy: &TrustPolicy, people: &People) -> TextTrust {
    let Some(because) = distrust(facts, policy, people) else {
        return TextTrust::Trusted;
    };
    let hash = text_hash(&facts.issue.title, &facts.issue.body);
    let approves = |comment: &Comment| {
        // An edited comment may have said something else when its author pressed the button.
        comment.edited_at.is_none()
            && policy.trusts(comment.author.as_ref(), comment.association)
            && commands(&comment.body).iter().any(
                |command| matches!(command, Command::Approve { hex } if hash.starts_with(hex.as_str())),
            )
    };
    if facts.comments.iter().any(approves) {
        TextTrust::Approved
    } else {
        TextTrust::Untrusted { hash, because }
    }
}

/// The first person who makes rule (a) fail.
fn distrust(facts: &TextFacts<'_>, policy: &TrustPolicy, people: &People) -> Option<String> {
    let issue = facts.issue;
    let Some(author) = &issue.author else {
        return Some("opened by a deleted account".to_owned());
    };
    if !policy.trusts(Some(author), issue.association) {
        return Some(format!("opened by `{}`, who is not trusted", author.login));
    }
    for (actor, did) in changers(facts) {
        let Some(actor) = actor else {
            return Some(format!("{did} by a deleted account"));
        };
        if !author.login.is(actor.login.as_str())
            && policy.knows(&actor.login, people) != Some(true)
        {
            return Some(format!("{did} by `{}`, who is not trusted", actor.login));
        }
    }
    None
}

fn changers<'a>(facts: &TextFacts<'a>) -> impl Iterator<Item = (Option<&'a Actor>, &'static str)> {
    let edits = facts
        .edits
        .iter()
        .map(|edit| (edit.editor.as_ref(), "edited"));
    edits.chain(
        facts
            .renames
            .iter()
            .map(|rename| (rename.actor.as_ref(), "renamed")),
    )
}

/// The logins whose permission must be asked for, because nothing given says whether they are trusted:
/// those who changed the title or body of a trusted author's issue or a trusted author's comment.
pub fn unknown_logins(facts: &TextFacts<'_>, policy: &TrustPolicy, people: &People) -> Vec<Login> {
    let issue = facts.issue;
    let issue_counts = policy.trusts(issue.author.as_ref(), issue.association);
    let changed = changers(facts).filter(|_| issue_counts);
    let changed = changed.map(|(actor, _)| (issue.author.as_ref(), actor));
    let edited = facts
        .comments
        .iter()
        .filter(|comment| policy.trusts_author(comment));
    let edited = edited.map(|comment| (comment.author.as_ref(), comment.editor.as_ref()));
    let mut unknown: Vec<Login> = Vec::new();
    for (author, editor) in changed.chain(edited) {
        let Some(Actor { login, .. }) = editor else {
            continue;
        };
        let own = author.is_some_and(|author| author.login.is(login.as_str()));
        let settled = own || policy.is_bot(login) || policy.knows(login, people).is_some();
        if !settled && !unknown.iter().any(|known| known.is(login.as_str())) {
            unknown.push(login.clone());
        }
    }
    unknown
}

#[cfg(test)]
mod tests;
