//! Fills in what nobody wrote, from the table of keys.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use super::keys::{Key, Kind, REPOSITORY, TOP};
use super::tree::{Map, Node, Origin, Value, parse};

/// The defaults by their text, read once.
static DEFAULTS: LazyLock<BTreeMap<&'static str, Node>> = LazyLock::new(|| {
    let mut read = BTreeMap::new();
    for keys in [TOP, REPOSITORY] {
        read_all(keys, &mut read);
    }
    read
});

fn read_all(keys: &'static [Key], read: &mut BTreeMap<&'static str, Node>) {
    for key in keys {
        if let Some(text) = key.default {
            read.entry(text).or_insert_with(|| read_default(text));
        }
        match key.kind {
            Kind::Section(inner) | Kind::Optional(inner) => read_all(inner, read),
            Kind::Verify(one, entry) => {
                read_all(one, read);
                read_all(entry, read);
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
            | Kind::Named(_) => {}
        }
    }
}

/// A default is a constant of ours; a test reads every one of them.
fn read_default(text: &str) -> Node {
    let mut node = parse(text, Path::new("default"))
        .map_or_else(|_| Node::made(Value::Null), |(node, _)| node);
    node.set_origin(Origin::Default);
    node
}

/// Puts defaults where the mapping has nothing. Mappings that mean something by being there stay
/// away if they are.
pub(super) fn fill(node: &mut Node, keys: &[Key]) {
    let Value::Map(map) = &mut node.value else {
        return;
    };
    for key in keys {
        match key.kind {
            Kind::Section(inner) if key.name != "defaults" => fill_section(map, key.name, inner),
            Kind::Verify(one, _) if map.get(key.name).is_none_or(|node| node.map().is_some()) => {
                fill_section(map, key.name, one);
            }
            Kind::Verify(_, entry) => {
                if let Some(Value::List(list)) = map.get_mut(key.name).map(|node| &mut node.value) {
                    for item in list {
                        fill(item, entry);
                    }
                }
            }
            Kind::Optional(inner) => {
                if let Some(present) = map.get_mut(key.name) {
                    fill(present, inner);
                }
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
            | Kind::Section(_)
            | Kind::Named(_) => {
                let default = key.default.and_then(|text| DEFAULTS.get(text));
                if let Some(default) = default.filter(|_| map.get(key.name).is_none()) {
                    map.insert(key.name, default.at, default.clone());
                }
            }
        }
    }
}

fn fill_section(map: &mut Map, name: &str, inner: &[Key]) {
    if map.get(name).is_none() {
        let empty = Node::made(Value::Map(Map::default()));
        map.insert(name, empty.at, empty);
    }
    if let Some(present) = map.get_mut(name) {
        fill(present, inner);
    }
}

/// The default list of removed variables takes GitHub's tokens away, which is what `github: inherit`
/// is written against: there it is empty.
pub(super) fn keep_tokens(node: &mut Node) {
    let agents = child(node, "agents");
    for agent in agents.into_iter().flat_map(Map::nodes_mut) {
        let inherits = agent
            .map()
            .and_then(|map| map.get("github"))
            .and_then(Node::text);
        if inherits != Some("inherit") {
            continue;
        }
        if let Value::Map(map) = &mut agent.value
            && let Some(removed) = map.get_mut("env_remove")
            && removed.origin == Origin::Default
        {
            removed.value = Value::List(Vec::new());
        }
    }
}

fn child<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Map> {
    let Value::Map(map) = &mut node.value else {
        return None;
    };
    let Value::Map(inner) = &mut map.get_mut(key)?.value else {
        return None;
    };
    Some(inner)
}
