//! What `ghswarm config show` says: every key, its value and where that came from. No secret
//! leaves this file: variables stay as they were written, and values that may be secret are masked.

use std::fmt::{self, Write};

use serde::Serialize;

use super::keys::{Key, Kind, Rule};
use super::settings::Config;
use super::tree::{Map, Node, Origin};

/// Stands for a secret.
const MASK: &str = "********";

/// One key of the configuration as it is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Dotted, from the top: `repositories.demo.poll_interval`.
    pub key: String,
    /// As it would be written, secrets masked.
    pub value: String,
    /// Where it was written.
    pub origin: Origin,
    /// The line it stands at; `None` for defaults.
    pub line: Option<u64>,
    /// The variables of the environment in it.
    pub variables: Vec<String>,
    /// What is to be known of it besides: `no effect yet: …`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Defaults => "defaults:",
            Self::File => "file",
        })
    }
}

impl Shown {
    /// Where the value came from, in words: `defaults:, line 4, from $TOKEN`.
    pub fn provenance(&self) -> String {
        let mut words = self.origin.to_string();
        if let Some(line) = self.line {
            let _ = write!(words, ", line {line}");
        }
        for name in &self.variables {
            let _ = write!(words, ", from ${name}");
        }
        if let Some(note) = &self.note {
            let _ = write!(words, "; {note}");
        }
        words
    }
}

/// Every key that is in force, in the order of the documentation, repositories by alias.
pub fn show(config: &Config) -> &[Shown] {
    &config.shown
}

/// Adds the keys below `node`.
pub(super) fn collect(node: &Node, keys: &[Key], prefix: &str, shown: &mut Vec<Shown>) {
    let Some(map) = node.map() else { return };
    for key in keys {
        let Some(value) = map.get(key.name) else {
            continue;
        };
        let name = format!("{prefix}{}", key.name);
        let before = shown.len();
        match key.kind {
            Kind::Section(inner) | Kind::Optional(inner) => {
                collect(value, inner, &format!("{name}."), shown);
            }
            Kind::Verify(inner, _) if value.map().is_some() => {
                collect(value, inner, &format!("{name}."), shown);
            }
            Kind::Verify(_, entry) => {
                for (index, item) in value.list().unwrap_or_default().iter().enumerate() {
                    collect(item, entry, &format!("{name}[{index}]."), shown);
                }
            }
            Kind::Variables if value.map().is_some_and(|map| map.iter().next().is_some()) => {
                for (variable, _, node) in value.map().into_iter().flat_map(Map::iter) {
                    let value = MASK.to_owned();
                    shown.push(entry(&format!("{name}.{variable}"), value, node));
                }
            }
            Kind::Text(Rule::Secret) if value.text() != Some("") => {
                shown.push(entry(&name, MASK.to_owned(), value));
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
            | Kind::Variables => shown.push(entry(&name, written(value), value)),
            Kind::Named(_) => {}
        }
        if let Some(today) = key.not_yet {
            for shown in &mut shown[before..] {
                shown.note = Some(format!("no effect yet: {today}"));
            }
        }
    }
}

fn entry(key: &str, value: String, node: &Node) -> Shown {
    let line = (node.origin != Origin::Default).then_some(node.at.line);
    let mut variables = node.variables.clone();
    for item in node.list().unwrap_or_default() {
        variables.extend(item.variables.iter().cloned());
    }
    Shown {
        key: key.to_owned(),
        value,
        origin: node.origin,
        line,
        variables,
        note: None,
    }
}

/// The value as one line of YAML.
fn written(node: &Node) -> String {
    if let Some(list) = node.list() {
        let items: Vec<_> = list.iter().map(written).collect();
        return format!("[{}]", items.join(", "));
    }
    if node.map().is_some() {
        return "{}".to_owned();
    }
    let quoted = node.text().is_some_and(|text| {
        text.is_empty() || text.contains([':', '#', '\n', '"', '\\', '[', ']', '{', '}', ','])
    });
    if !node.variables.is_empty() {
        node.source.clone()
    } else if quoted {
        serde_json::to_string(&node.shown()).unwrap_or_default()
    } else {
        node.shown()
    }
}
