//! One value at a time: does it say what its key wants, and what is it then? It knows no key.

use std::path::{Component, Path};
use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use super::keys::Rule;
use super::near::nearest;
use super::problem::Fault;
use super::tree::{Node, Value};
use crate::model::ids::{BranchName, Login, RefName, RepoSlug};
use crate::model::issue::Association;
use crate::model::sandbox::{User, parse_bytes};

/// GitHub's limit for the name of a label, characters.
const LABEL_CHARS_MAX: usize = 50;

/// What the Docker engine accepts at least, bytes.
const MEMORY_MIN: u64 = 6 << 20;

/// A longer time is a slip of the pen: ten years, in seconds.
const SECS_MAX: f64 = 10.0 * 365.0 * 86_400.0;

/// A time: `500ms`, `30s`, `10m`, `2h`, `1d`, or a number of seconds that need not be whole.
pub(super) fn parse_time(node: &Node) -> Option<Duration> {
    let text = match &node.value {
        Value::Whole(_) | Value::Number(_) => node.scalar()?,
        Value::Text(text) => text.trim().to_owned(),
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => return None,
    };
    let unit_at = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit_secs = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    let secs = number.trim().parse::<f64>().ok()? * unit_secs;
    // Rounded to milliseconds: nothing here is finer, and `0.2` is then exactly that.
    (0.0..=SECS_MAX).contains(&secs).then(|| {
        let exact = Duration::from_secs_f64(secs);
        let millis = (exact.as_micros() + 500) / 1000;
        u64::try_from(millis).map_or(exact, Duration::from_millis)
    })
}

/// A boolean, also one that a variable gave.
pub(super) fn parse_switch(node: &Node) -> Option<bool> {
    match &node.value {
        Value::Bool(flag) => Some(*flag),
        Value::Text(text) if !node.variables.is_empty() => text.trim().parse().ok(),
        Value::Null
        | Value::Whole(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_) => None,
    }
}

/// A whole number, also one that a variable gave.
pub(super) fn parse_whole(node: &Node) -> Option<i64> {
    match &node.value {
        Value::Whole(number) => Some(*number),
        Value::Text(text) if !node.variables.is_empty() => text.trim().parse().ok(),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_) => None,
    }
}

/// A number of 0 or more.
pub(super) fn parse_number(node: &Node) -> Option<f64> {
    let number = match &node.value {
        Value::Number(number) => *number,
        Value::Whole(_) => node.scalar()?.parse().ok()?,
        Value::Text(text) if !node.variables.is_empty() => text.trim().parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            return None;
        }
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// What somebody who writes `yes` means, as YAML 1.2 spells it.
pub(super) fn meant_boolean(node: &Node) -> Option<bool> {
    match node.scalar()?.to_ascii_lowercase().as_str() {
        "yes" | "on" | "y" | "1" | "true" => Some(true),
        "no" | "off" | "n" | "0" | "false" => Some(false),
        _ => None,
    }
}

/// Does the text keep the rule? The error says what it should have been, with its article.
pub(super) fn check_text(rule: Rule, text: &str) -> Result<(), String> {
    let fine = match rule {
        Rule::Any | Rule::Secret => true,
        Rule::Slug => text.parse::<RepoSlug>().is_ok(),
        Rule::Path => is_full_path(text),
        Rule::PathOrOff => text.is_empty() || is_full_path(text),
        Rule::BranchOrEmpty => text.is_empty() || BranchName::new(text).is_ok(),
        // Without one, every branch whose name is a number would be ours.
        Rule::BranchPrefix => !text.is_empty() && BranchName::new(format!("{text}1")).is_ok(),
        Rule::QuestionFile => is_file_inside(text),
        Rule::Glob if has_foreign_marks(text) => {
            return Err("a pattern of `*`, `**` and `?` alone".to_owned());
        }
        Rule::Inside | Rule::Glob => is_inside(text),
        Rule::BoxUser => parse_box_user(text).is_some(),
        Rule::Volume => is_volume(text),
        Rule::Size => text.is_empty() || parse_bytes(text).is_some_and(|n| n >= MEMORY_MIN),
        Rule::Pattern => return check_pattern(text),
        Rule::Label => {
            !text.trim().is_empty()
                && text.chars().count() <= LABEL_CHARS_MAX
                && !text.contains([',', '\n'])
        }
        Rule::Login => Login::new(text).is_ok(),
        Rule::LoginOrEmpty => text.is_empty() || Login::new(text).is_ok(),
        Rule::Association => parse_association(text).is_some(),
        Rule::Namespace => return check_namespace(text),
        Rule::Marker => {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        }
        Rule::Url => return check_url(text),
        Rule::Variable => is_variable(text),
    };
    if fine {
        Ok(())
    } else {
        Err(wanted(rule).to_owned())
    }
}

fn wanted(rule: Rule) -> &'static str {
    match rule {
        Rule::Any | Rule::Secret => "text",
        Rule::Slug => "`owner/name` of a repository",
        Rule::Path => "an absolute path or one that begins with `~/`",
        Rule::PathOrOff => "an absolute path, one that begins with `~/`, or empty",
        Rule::BranchOrEmpty => "a branch name or empty",
        Rule::BranchPrefix => "the beginning of a branch name",
        Rule::Inside => "a relative path without `..`",
        Rule::QuestionFile => "a file in the worktree, without `..` and outside `.git`",
        Rule::Glob => "a pattern of relative paths without `..`",
        Rule::BoxUser => "`auto`, `uid:gid` in numbers, or empty",
        Rule::Volume => "`source:target` or `source:target:ro`, with full paths",
        Rule::Size => "a size of 6m or more, like `512m` or `2g`, or empty",
        Rule::Pattern => "a regular expression",
        Rule::Label => "the name of a label: 1 to 50 characters, no comma",
        Rule::Login => "a GitHub login",
        Rule::LoginOrEmpty => "a GitHub login or empty",
        Rule::Association => {
            "one of `OWNER`, `MEMBER`, `COLLABORATOR`, `CONTRIBUTOR`, `FIRST_TIME_CONTRIBUTOR`, \
             `FIRST_TIMER`"
        }
        Rule::Namespace => "a part of a ref name",
        Rule::Marker => "a word of letters, digits, `-` and `_`",
        Rule::Url => "an `https://` address",
        Rule::Variable => "the name of a variable",
    }
}

/// The association of this name. `NONE` and `MANNEQUIN` are nobody one could trust.
pub(super) fn parse_association(text: &str) -> Option<Association> {
    match text {
        "OWNER" => Some(Association::Owner),
        "MEMBER" => Some(Association::Member),
        "COLLABORATOR" => Some(Association::Collaborator),
        "CONTRIBUTOR" => Some(Association::Contributor),
        "FIRST_TIME_CONTRIBUTOR" => Some(Association::FirstTimeContributor),
        "FIRST_TIMER" => Some(Association::FirstTimer),
        _ => None,
    }
}

fn is_full_path(text: &str) -> bool {
    text == "~" || text.starts_with("~/") || (Path::new(text).is_absolute() && !text.contains('\0'))
}

fn is_inside(text: &str) -> bool {
    let path = Path::new(text);
    !text.is_empty()
        && !text.contains('\0')
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Who a container's command is.
pub(super) fn parse_box_user(text: &str) -> Option<User> {
    match text {
        "auto" => Some(User::Auto),
        "" => Some(User::OfImage),
        _ => {
            let (uid, gid) = text.split_once(':')?;
            Some(User::Fixed {
                uid: uid.parse().ok()?,
                gid: gid.parse().ok()?,
            })
        }
    }
}

/// A mount as the Docker CLI writes it: a folder or a volume's name, a place, maybe options.
fn is_volume(text: &str) -> bool {
    let mut parts = text.split(':');
    let (source, target) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let options = parts.next();
    let named = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
    };
    let source_fine = source.starts_with('/') || (source.len() > 1 && named(source));
    let options_fine = options.is_none_or(|text| {
        text.split(',').all(|option| {
            ["ro", "rw", "z", "Z", "delegated", "cached", "consistent"].contains(&option)
        })
    });
    source_fine && target.starts_with('/') && options_fine && parts.next().is_none()
}

/// A file that an agent can write and git would not take for its own.
fn is_file_inside(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    is_inside(text)
        && !text.ends_with('/')
        && parts
            .clone()
            .any(|part| matches!(part, Component::Normal(_)))
        && !parts.any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

/// Marks that mean something in other pattern languages and are plain letters in ours: who writes
/// them would believe a path protected that is not.
pub(super) fn has_foreign_marks(pattern: &str) -> bool {
    pattern.starts_with('!') || pattern.contains(['[', ']', '{', '}', '\\'])
}

/// The name of an environment variable.
pub(super) fn is_variable(text: &str) -> bool {
    !text.is_empty() && !text.contains(['=', '\0', ' ', '\n'])
}

fn check_pattern(text: &str) -> Result<(), String> {
    // A pattern that matches nothing at all would call every failure transient.
    match Regex::new(text) {
        Ok(pattern) if pattern.is_match("") => {
            Err("a regular expression that does not match the empty text".to_owned())
        }
        Ok(_) => Ok(()),
        Err(error) => {
            let last = error.to_string();
            let why = last
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            Err(format!("a regular expression ({why})"))
        }
    }
}

fn check_namespace(text: &str) -> Result<(), String> {
    // These have meanings of their own, for git or for GitHub.
    const TAKEN: [&str; 9] = [
        "heads", "tags", "remotes", "pull", "notes", "stash", "bisect", "replace", "worktree",
    ];
    let first = text.split('/').next().unwrap_or_default();
    if TAKEN.contains(&first) {
        return Err(format!(
            "free for leases; `refs/{first}/` is git's or GitHub's own"
        ));
    }
    let made = RefName::new(format!("refs/{text}/issue-1"));
    made.map(|_| ())
        .map_err(|_| wanted(Rule::Namespace).to_owned())
}

fn check_url(text: &str) -> Result<(), String> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let host = rest.split('/').next().unwrap_or_default();
    let plain = !host.is_empty() && !text.contains([' ', '\n', '?', '#']) && !host.contains('@');
    if host.contains('@') {
        return Err("an `https://` address without a name or password in it".to_owned());
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let local = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
    match scheme {
        "https" if plain => Ok(()),
        "http" if plain && local => Ok(()),
        "http" if plain => {
            Err("an `https://` address, so that the token is not sent in the clear".to_owned())
        }
        _ => Err(wanted(Rule::Url).to_owned()),
    }
}

/// The fault of an agent command that `sh` would not even read, or that names no program.
pub(super) fn check_command(text: &str) -> Result<(), Fault> {
    if text.trim().is_empty() {
        return Err(Fault::new("is empty").hint("write the command line of your agent"));
    }
    let marks = ["{prompt}", "{prompt_file}", "{stdin}"];
    let used = marks.iter().filter(|mark| text.contains(*mark)).count();
    if used > 1 {
        return Err(
            Fault::new("has more than one of `{prompt}`, `{prompt_file}` and `{stdin}`")
                .hint("keep one"),
        );
    }
    if quotes_are_closed(text) {
        Ok(())
    } else {
        Err(Fault::new("has a quote that is never closed")
            .hint("close it; inside a YAML string in single quotes `'` is written `''`"))
    }
}

/// What stands for the prompt in an agent's command, and for the session it goes on with.
const PLACEHOLDERS: [&str; 4] = ["prompt", "prompt_file", "stdin", "resume"];

/// A word in braces, but for those of the shell (`${X}`) and of git (`@{upstream}`).
static BRACED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:^|[^$@])\{([A-Za-z_][A-Za-z0-9_]*)\}").ok());

fn unknown_placeholder(text: &str) -> Option<&str> {
    let mut found = BRACED.as_ref()?.captures_iter(text);
    found.find_map(|captures| {
        let word = captures.get(1)?.as_str();
        (!PLACEHOLDERS.contains(&word)).then_some(word)
    })
}

/// The fault of a command with `{promt}` in it: the agent would be given these letters.
pub(super) fn check_placeholders(node: &Node, text: &str) -> Result<(), Fault> {
    let Some(word) = unknown_placeholder(text) else {
        return Ok(());
    };
    let word = if node.variables.is_empty() {
        word
    } else if let Some(word) = unknown_placeholder(&node.source) {
        word
    } else {
        let message = "gets a word in braces from a variable, which is no placeholder";
        return Err(Fault::new(message)
            .hint("`{prompt}`, `{prompt_file}` and `{stdin}` are the placeholders"));
    };
    let fault = Fault::new(format!("has `{{{word}}}`, which is no placeholder"));
    Err(match nearest(word, PLACEHOLDERS.into_iter()) {
        Some(near) => fault.hint(format!("did you mean `{{{near}}}`?")),
        None => fault.hint(format!(
            "write `{{prompt}}`, `{{prompt_file}}` or `{{stdin}}`, or `{{ {word} }}` where braces are meant"
        )),
    })
}

/// Are quotes closed, as `sh` reads them? Comments and here-documents are not looked into.
fn quotes_are_closed(text: &str) -> bool {
    let mut open: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (open, c) {
            // A backslash takes the next character along; at the very end there is none.
            (None | Some('"'), '\\') if chars.next().is_none() => return false,
            (None | Some('"'), '\\') => {}
            (None, '\'' | '"') => open = Some(c),
            (Some(quote), _) if quote == c => open = None,
            _ => {}
        }
    }
    open.is_none()
}
