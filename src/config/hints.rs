//! What to write instead, for every kind of value: no fault of the file goes without it.

use super::keys::{Key, Kind, Rule};
use super::near::nearest;
use super::tree::Node;
use super::values::{check_text, has_foreign_marks, meant_boolean};

/// What to write where a scalar is not what its key wants.
pub(super) fn scalar(node: &Node, key: &Key) -> String {
    let words = match key.kind {
        Kind::Switch => return boolean(node, "write `true` or `false`"),
        Kind::Approval => return boolean(node, "write `true`, `false` or `human`"),
        Kind::EnvClear => {
            let names = "write `true`, `false`, or names like `[PATH, HOME]`";
            return boolean(node, names);
        }
        Kind::Word(words) => {
            let near = node.text().filter(|_| node.variables.is_empty());
            let near = near.and_then(|text| nearest(text, words.iter().copied()));
            if let Some(word) = near {
                return format!("did you mean `{word}`?");
            }
            "write one of these words"
        }
        Kind::Count(..) => "write a whole number in that range",
        Kind::Number => "write a number like `20` or `2.5`",
        Kind::Time(..) => {
            "write a number of seconds, or a time like `500ms`, `30s`, `10m`, `2h`, `1d`"
        }
        Kind::Text(rule) => return self::text(node, rule),
        Kind::Texts(_)
        | Kind::Commands
        | Kind::Variables
        | Kind::Section(_)
        | Kind::Optional(_)
        | Kind::Verify(..)
        | Kind::Named(_) => "see `ghswarm.example.yaml` for what belongs here",
    };
    match key.default.filter(|default| !default.is_empty()) {
        Some(default) => format!("{words}; without the line it is `{default}`"),
        None => words.to_owned(),
    }
}

fn boolean(node: &Node, words: &str) -> String {
    match meant_boolean(node) {
        Some(flag) => format!("write `{flag}`"),
        None => words.to_owned(),
    }
}

/// What to write where a text, or one of a list, does not keep its rule.
pub(super) fn text(node: &Node, rule: Rule) -> String {
    let Some(text) = node.text() else {
        return match node.scalar() {
            Some(scalar) => format!("put it in quotes: `\"{scalar}\"`"),
            None => "write one text here".to_owned(),
        };
    };
    if rule == Rule::Slug {
        return slug_meant(text);
    }
    if rule == Rule::Glob && has_foreign_marks(text) {
        return "write one pattern for each path; `?` stands for any one character".to_owned();
    }
    of_rule(rule).to_owned()
}

fn of_rule(rule: Rule) -> &'static str {
    match rule {
        Rule::Any | Rule::Secret => "write a text here",
        Rule::Slug => "write it as in its address on GitHub, like `octo/demo`",
        Rule::Path | Rule::PathOrOff => "write the path from `/` on",
        Rule::BranchOrEmpty => {
            "write the branch as `git branch` shows it, or remove the line: GitHub is asked then"
        }
        Rule::BranchPrefix => {
            "write a beginning like `issue-` or `ghswarm/issue-`: no spaces, no `..`, no `/` in front"
        }
        Rule::Inside => "write a path like `target` or `web/node_modules`",
        Rule::QuestionFile => "write a name like `.agent_question.md`",
        Rule::Glob => "write a pattern like `.github/workflows/**`",
        Rule::BoxUser => "write `auto`, or numbers like `1000:1000`",
        Rule::Volume => "write it like `/data:/data:ro`, or `cache:/cache` for a named volume",
        Rule::Size => "write a size like `512m` or `2g`",
        Rule::Pattern => {
            "write it in the syntax of https://docs.rs/regex, in single quotes; `\\` stands before a sign \
             that is meant as itself"
        }
        Rule::Label => "write the label's name as it stands on GitHub",
        Rule::Login | Rule::LoginOrEmpty => {
            "write the login as in the profile's address, without `@`"
        }
        Rule::Association => "write one of these words; single people go into `trust.logins`",
        Rule::Namespace => "write a word like `leases`; refs are then `refs/leases/…`",
        Rule::Marker => "write a word like `claude-lock`",
        Rule::Url => {
            "write it like `https://github.example.com/api/v3`, or remove it for github.com; the token has \
             places of its own (`github.token_command`)"
        }
        Rule::Variable => "write names alone, like `[CI, LANG]`; values belong into `env`",
    }
}

/// What somebody means who writes a whole address, or a name alone.
fn slug_meant(text: &str) -> String {
    let bare = text.trim_end_matches('/');
    let mut parts = bare.strip_suffix(".git").unwrap_or(bare).rsplit(['/', ':']);
    let (name, owner, more) = (parts.next(), parts.next(), parts.next());
    let meant = owner
        .zip(name)
        .map(|(owner, name)| format!("{owner}/{name}"));
    match meant.filter(|meant| more.is_some() && check_text(Rule::Slug, meant).is_ok()) {
        Some(meant) => {
            format!("write `{meant}`; another server than github.com goes into `github.api_url`")
        }
        None => of_rule(Rule::Slug).to_owned(),
    }
}

/// What to write where a list is wanted. `one` is what stands there, where it fits into one.
pub(super) fn list(one: Option<&str>) -> String {
    match one {
        Some(one) => format!("write `[{one}]`"),
        None => "write a list: `[one, two]`, or `- one` on a line of its own for each".to_owned(),
    }
}
