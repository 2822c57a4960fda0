//! Names and numbers that have a format. Each is checked where it enters, so that nothing further
//! in has to ask again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point in time, always UTC.
pub type Timestamp = chrono::DateTime<chrono::Utc>;

/// A text that is not what its type says it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct IdError {
    /// The text as it was given.
    pub text: String,
    /// What it should have been, with its article.
    pub wanted: &'static str,
}

impl IdError {
    fn new(text: &str, wanted: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            wanted,
        }
    }
}

/// GraphQL asks for issues and pull requests by an `Int`, which has 32 bits with a sign.
/// <https://spec.graphql.org/October2021/#sec-Int>
const NUMBER_MAX: u64 = i32::MAX as u64;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $wanted:literal, $max:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                let digits = text.strip_prefix('#').unwrap_or(text);
                match digits.parse::<u64>() {
                    Ok(n) if n > 0 && n <= $max => Ok(Self(n)),
                    _ => Err(IdError::new(text, $wanted)),
                }
            }
        }
    };
}

number_id!(
    /// An issue's number in its repository.
    IssueNumber,
    "an issue number: 1 to 2147483647, such as 42",
    NUMBER_MAX
);
number_id!(
    /// A pull request's number in its repository.
    PrNumber,
    "a pull request number: 1 to 2147483647, such as 43",
    NUMBER_MAX
);
number_id!(
    /// GitHub's database id of a comment.
    CommentId,
    "a comment id",
    u64::MAX
);
number_id!(
    /// GitHub's database id of a repository: it survives renames and transfers of the owner.
    RepoId,
    "a repository id",
    u64::MAX
);

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $wanted:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The checked text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Checks `text` and wraps it.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                let check: fn(&str) -> bool = $check;
                if check(&text) { Ok(Self(text)) } else { Err(IdError::new(&text, $wanted)) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

text_id!(
    /// A git object id: 40 (sha1) or 64 (sha256) lower-case hex digits.
    Sha,
    "a git object id",
    |t| matches!(t.len(), 40 | 64)
        && t.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
);
text_id!(
    /// A branch's short name, `refs/heads/` left off.
    BranchName,
    "a branch name",
    |t| !t.starts_with("refs/") && !t.starts_with('-') && is_ref_path(t)
);
text_id!(
    /// A full ref name, `refs/…`.
    RefName,
    "a ref name",
    |t| t.starts_with("refs/") && is_ref_path(t)
);
text_id!(
    /// A GitHub login, `[bot]` included.
    Login,
    "a GitHub login",
    |t| {
        let name = t.strip_suffix("[bot]").unwrap_or(t);
        !name.is_empty()
            && name.len() <= 100
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    }
);
text_id!(
    /// The random name of one claim. A lease is ours iff it carries the claim in our `run.json`.
    ClaimId,
    "a claim id",
    |t| !t.is_empty()
        && t.len() <= 64
        && t.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
);

/// The rules of `git check-ref-format` that matter for names which others may choose.
fn is_ref_path(text: &str) -> bool {
    let bad_char =
        |c: char| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    !text.is_empty()
        && text.len() <= 244
        && !text.contains(bad_char)
        && !text.contains("..")
        && !text.contains("@{")
        && !text.ends_with('.')
        && text != "@"
        && text.split('/').all(|part| {
            !part.is_empty()
                && !part.starts_with('.')
                && std::path::Path::new(part)
                    .extension()
                    .is_none_or(|e| e != "lock")
        })
}

impl Sha {
    /// The first seven digits, as people read them.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }

    /// The object id of nothing: in a compare-and-swap, "the ref does not exist".
    pub fn zero() -> Self {
        Self("0".repeat(40))
    }
}

impl Login {
    /// Logins compare without case, as GitHub does.
    pub fn is(&self, other: &str) -> bool {
        self.0.eq_ignore_ascii_case(other)
    }

    /// Apps and Actions write under names that end in `[bot]`.
    pub fn is_bot(&self) -> bool {
        self.0.ends_with("[bot]")
    }
}

impl RefName {
    /// `refs/heads/<branch>`.
    pub fn of_branch(branch: &BranchName) -> Self {
        Self(format!("refs/heads/{branch}"))
    }
}

/// `owner/name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoSlug {
    /// User or organisation.
    pub owner: String,
    /// The repository's name.
    pub name: String,
}

impl fmt::Display for RepoSlug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl FromStr for RepoSlug {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let wanted = "`owner/name` of a repository";
        let ok = |part: &str| {
            !part.is_empty()
                && part != "."
                && part != ".."
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        };
        match text.split_once('/') {
            Some((owner, name)) if ok(owner) && ok(name) => Ok(Self {
                owner: owner.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(IdError::new(text, wanted)),
        }
    }
}

impl TryFrom<String> for RepoSlug {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<RepoSlug> for String {
    fn from(slug: RepoSlug) -> String {
        slug.to_string()
    }
}

/// The fencing token of a claim: grows with every claim and steal, is kept by renewal.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Epoch(pub i64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
