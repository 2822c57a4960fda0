//! `${VAR}` and `~` in values. The environment is a parameter; nothing is read here.

use std::path::{Path, PathBuf};

use super::keys::{Key, Kind, Rule};
use super::problem::{Fault, Problems};
use super::tree::{Node, Value};
use super::values::is_variable;

/// The environment, as the caller sees it.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Puts variables into every text of the tree.
pub(super) fn expand_variables(node: &mut Node, env: Environment<'_>, problems: &mut Problems) {
    match &mut node.value {
        Value::Text(text) if text.contains("${") => match expand_text(text, env) {
            Ok((expanded, variables)) => {
                *text = expanded;
                node.variables = variables;
            }
            Err(faults) => {
                for fault in faults {
                    problems.add(node.at, fault);
                }
                problems.mute(node.at);
            }
        },
        Value::List(list) => {
            for item in list {
                expand_variables(item, env, problems);
            }
        }
        Value::Map(map) => map
            .nodes_mut()
            .for_each(|item| expand_variables(item, env, problems)),
        Value::Null | Value::Bool(_) | Value::Whole(_) | Value::Number(_) | Value::Text(_) => {}
    }
}

/// The text with its variables, and their names. `$${` is a literal `${`.
fn expand_text(text: &str, env: Environment<'_>) -> Result<(String, Vec<String>), Vec<Fault>> {
    let mut done = String::with_capacity(text.len());
    let (mut names, mut faults) = (Vec::new(), Vec::new());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        if let Some(kept) = before.strip_suffix('$') {
            done.push_str(kept);
            done.push_str("${");
            rest = &from[2..];
            continue;
        }
        done.push_str(before);
        let Some(end) = from.find('}') else {
            faults.push(malformed("${", "has no `}`"));
            rest = "";
            break;
        };
        match variable(&from[2..end], env) {
            Ok((name, value)) => {
                done.push_str(&value);
                names.push(name);
            }
            Err(fault) => faults.push(fault),
        }
        rest = &from[end + 1..];
    }
    done.push_str(rest);
    if faults.is_empty() {
        Ok((done, names))
    } else {
        Err(faults)
    }
}

/// Name and value of what stands between the braces.
fn variable(inside: &str, env: Environment<'_>) -> Result<(String, String), Fault> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let named = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if !named || !is_variable(name) {
        return Err(malformed(
            &format!("${{{inside}}}"),
            "is no `${VAR}` or `${VAR:-default}`",
        ));
    }
    let value = match (env(name), default) {
        // As in a shell, `:-` also stands in for an empty value.
        (Some(value), Some(default)) if value.is_empty() => default.to_owned(),
        (Some(value), _) => value,
        (None, Some(default)) => default.to_owned(),
        (None, None) => {
            return Err(Fault::new(format!("the variable `{name}` is not set")).hint(format!(
                "export {name}, or write `${{{name}:-default}}`; `$${{{name}}}` leaves it to the shell"
            )));
        }
    };
    Ok((name.to_owned(), value))
}

fn malformed(what: &str, why: &str) -> Fault {
    Fault::new(format!("`{what}` {why}")).hint("write `$${` where a literal `${` is meant")
}

/// What `~` means.
#[derive(Debug, Clone)]
pub(super) struct Homes {
    /// `$HOME`.
    user: Option<PathBuf>,
    /// `$GHSWARM_HOME`, which stands in for `~/.ghswarm`.
    ghswarm: Option<PathBuf>,
}

impl Homes {
    pub(super) fn of(env: Environment<'_>) -> Self {
        let path = |name: &str| {
            env(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        Self {
            user: path("HOME"),
            ghswarm: path("GHSWARM_HOME"),
        }
    }

    /// ghswarm's own home.
    pub(super) fn ghswarm(&self) -> Result<PathBuf, Fault> {
        match &self.ghswarm {
            Some(home) if home.is_absolute() => Ok(home.clone()),
            Some(_) => Err(Fault::new("`GHSWARM_HOME` is not an absolute path")
                .hint("export it as one, or unset it for `~/.ghswarm`")),
            None => Ok(self.user()?.join(".ghswarm")),
        }
    }

    fn user(&self) -> Result<PathBuf, Fault> {
        let home = self.user.clone().filter(|home| home.is_absolute());
        home.ok_or_else(|| {
            Fault::new("`~` is not known: `HOME` is not set to an absolute path")
                .hint("export HOME, or GHSWARM_HOME and write full paths")
        })
    }

    fn expand(&self, text: &str) -> Result<PathBuf, Fault> {
        let path = Path::new(text);
        if let Ok(rest) = path.strip_prefix("~/.ghswarm") {
            return Ok(self.ghswarm()?.join(rest));
        }
        match path.strip_prefix("~") {
            Ok(rest) => Ok(self.user()?.join(rest)),
            Err(_) => Ok(path.to_owned()),
        }
    }
}

/// Replaces `~` in the values of those keys that are paths.
pub(super) fn expand_homes(node: &mut Node, keys: &[Key], homes: &Homes, problems: &mut Problems) {
    let Value::Map(map) = &mut node.value else {
        return;
    };
    for key in keys {
        let Some(value) = map.get_mut(key.name) else {
            continue;
        };
        match key.kind {
            Kind::Text(Rule::Path | Rule::PathOrOff) => expand_home(value, homes, problems),
            Kind::Section(inner) | Kind::Optional(inner) => {
                expand_homes(value, inner, homes, problems);
            }
            Kind::Switch
            | Kind::Count(..)
            | Kind::Number
            | Kind::Time(..)
            | Kind::Word(_)
            | Kind::Approval
            | Kind::EnvClear
            | Kind::Text(_)
            | Kind::Texts(_)
            | Kind::Commands
            | Kind::Variables
            | Kind::Verify(..)
            | Kind::Named(_) => {}
        }
    }
}

fn expand_home(node: &mut Node, homes: &Homes, problems: &mut Problems) {
    let Value::Text(text) = &mut node.value else {
        return;
    };
    match homes.expand(text) {
        Ok(path) => *text = path.to_string_lossy().into_owned(),
        Err(fault) => problems.add(node.at, fault),
    }
}
