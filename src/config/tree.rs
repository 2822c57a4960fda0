//! The file as a tree in which every value knows where it stands. It knows YAML and no key.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_yaml::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_yaml::{Error, Location, Spanned};

use super::problem::{Fault, Position, Problems};

/// Aliases may repeat this many nodes in all: far above what a person writes, far below a bomb.
const ALIAS_NODES_MAX: usize = 20_000;

/// Which part of the configuration a value was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Nobody wrote it.
    Default,
    /// `defaults:`.
    Defaults,
    /// The entry of the repository, or the top level of the file.
    File,
}

/// A value of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) at: Position,
    pub(super) origin: Origin,
    /// A scalar as it was written, quotes and `${VAR}` included; empty where it is not known.
    pub(super) source: String,
    /// The variables that were put into it.
    pub(super) variables: Vec<String>,
}

/// What a value is, before a key says what it ought to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Map(Map),
}

/// A mapping in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Map {
    entries: Vec<(String, Position, Node)>,
}

impl Map {
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries
            .iter()
            .find(|(name, ..)| name == key)
            .map(|(.., node)| node)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries
            .iter_mut()
            .find(|(name, ..)| name == key)
            .map(|(.., node)| node)
    }

    pub(super) fn insert(&mut self, key: &str, at: Position, node: Node) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => self.entries.push((key.to_owned(), at, node)),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Position, &Node)> {
        self.entries
            .iter()
            .map(|(key, at, node)| (key.as_str(), *at, node))
    }

    pub(super) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.entries.iter_mut().map(|(.., node)| node)
    }
}

impl Node {
    /// A value that nobody wrote.
    pub(super) fn made(value: Value) -> Self {
        Self {
            value,
            at: Position::default(),
            origin: Origin::Default,
            source: String::new(),
            variables: Vec::new(),
        }
    }

    pub(super) fn map(&self) -> Option<&Map> {
        if let Value::Map(map) = &self.value {
            Some(map)
        } else {
            None
        }
    }

    pub(super) fn list(&self) -> Option<&[Node]> {
        if let Value::List(list) = &self.value {
            Some(list)
        } else {
            None
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value {
            Some(text)
        } else {
            None
        }
    }

    /// What it is, for a message.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Whole(_) | Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// The scalar as it was written, without quotes: numbers and booleans keep their spelling.
    pub(super) fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Bool(flag) if self.source.is_empty() => Some(flag.to_string()),
            Value::Whole(number) if self.source.is_empty() => Some(number.to_string()),
            Value::Number(number) if self.source.is_empty() => Some(number.to_string()),
            Value::Bool(_) | Value::Whole(_) | Value::Number(_) => Some(self.source.clone()),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The value for a message: as it stands in the file, never what a variable held. Quotes stay
    /// where they make the difference.
    pub(super) fn shown(&self) -> String {
        let quotes_matter = self.source.starts_with(['"', '\''])
            && self
                .text()
                .is_some_and(|text| text.parse::<bool>().is_ok() || text.parse::<f64>().is_ok());
        if !self.variables.is_empty() || quotes_matter {
            return self.source.clone();
        }
        self.scalar().unwrap_or_default()
    }

    /// Marks the whole tree as written in `origin`.
    pub(super) fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
        match &mut self.value {
            Value::List(list) => list.iter_mut().for_each(|node| node.set_origin(origin)),
            Value::Map(map) => map.nodes_mut().for_each(|node| node.set_origin(origin)),
            Value::Null | Value::Bool(_) | Value::Whole(_) | Value::Number(_) | Value::Text(_) => {}
        }
    }
}

/// Lays `over` onto `under`: mappings recursively, everything else replaced.
pub(super) fn merge(under: &Node, over: &Node) -> Node {
    let (Some(base), Some(top)) = (under.map(), over.map()) else {
        return over.clone();
    };
    let mut merged = base.clone();
    for (key, at, node) in top.iter() {
        let node = base
            .get(key)
            .map_or_else(|| node.clone(), |below| merge(below, node));
        merged.insert(key, at, node);
    }
    Node {
        value: Value::Map(merged),
        ..over.clone()
    }
}

/// Reads the text. Duplicate keys and values that say nothing are dealt with here, so that the
/// tree has neither.
pub(super) fn parse(text: &str, file: &Path) -> Result<(Node, Problems), Problems> {
    let mut problems = Problems::new(file);
    let options = serde_yaml::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        // Told by the key that does not want them, not as the end of all reading.
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        reject_unsupported_tags: true,
        strict_booleans: true,
        alias_limits: serde_yaml::alias_limits! { max_total_replayed_events: ALIAS_NODES_MAX },
        with_snippet: false,
    };
    match serde_yaml::from_str_with_options::<Spanned<Read>>(text, options) {
        Ok(read) => {
            let node = Builder {
                text,
                problems: &mut problems,
            }
            .node(read);
            Ok((node, problems))
        }
        Err(error) => {
            let at = error.location().map_or_else(Position::default, position);
            problems.add(at, fault_of(&error, text, at));
            Err(problems)
        }
    }
}

/// The library's message without its position (ours is in front) and without any of the file.
fn fault_of(error: &Error, text: &str, at: Position) -> Fault {
    let line = usize::try_from(at.line)
        .ok()
        .and_then(|line| text.lines().nth(line.max(1) - 1));
    if line.is_some_and(|line| line.trim_start_matches(' ').starts_with('\t')) {
        return Fault::new("a tab indents this line").hint("indent with spaces");
    }
    let message = error.without_snippet().to_string();
    let message = message.split(" at line ").next().unwrap_or_default().trim();
    let first = message.lines().next().unwrap_or_default();
    // The library speaks to programmers in some places; all that can happen here is reworded.
    let has = |words: &str| first.contains(words);
    if has("alias replay limit") || has("budget") {
        Fault::new("the file is too large or its aliases repeat too much").hint("write it out")
    } else if has("multiple YAML documents") {
        Fault::new("a second YAML document begins here").hint("remove the `---` line")
    } else if has("expected string scalar") || has("cannot deserialize null into string") {
        Fault::new("a key must be text").hint("write `key: value`")
    } else {
        let hint = if has("bracket") {
            "close every `[` with `]` and every `{` with `}`"
        } else if has("quote") {
            "close the quote, or put the whole value into the other kind of quotes"
        } else if has("unknown anchor") {
            "define the anchor before it with `&`, or put a value that begins with `*` in quotes"
        } else {
            "look at the indentation here and above, and put values that hold `: `, `#` or `@` in quotes"
        };
        Fault::new(format!("not valid YAML: {first}")).hint(hint)
    }
}

fn position(location: Location) -> Position {
    Position {
        line: location.line(),
        column: location.column(),
    }
}

/// The tree as it comes out of the library.
enum Read {
    Null,
    Bool(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Spanned<Read>>),
    Map(Vec<(Spanned<String>, Spanned<Read>)>),
}

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadVisitor)
    }
}

struct ReadVisitor;

impl<'de> Visitor<'de> for ReadVisitor {
    type Value = Read;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Read, E> {
        Ok(Read::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Read, E> {
        Ok(Read::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Read, E> {
        Ok(Read::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Read, E> {
        Ok(Read::Whole(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Read, E> {
        Ok(Read::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Read, E> {
        Ok(Read::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Read, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(Read::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Read, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Read::Map(entries))
    }
}

struct Builder<'a> {
    text: &'a str,
    problems: &'a mut Problems,
}

impl Builder<'_> {
    fn node(&mut self, read: Spanned<Read>) -> Node {
        let at = position(read.defined);
        let value = match read.value {
            Read::Null => Value::Null,
            Read::Bool(flag) => Value::Bool(flag),
            Read::Whole(number) => Value::Whole(number),
            Read::Number(number) => Value::Number(number),
            Read::Text(text) => Value::Text(text),
            Read::List(list) => Value::List(list.into_iter().map(|item| self.node(item)).collect()),
            Read::Map(entries) => Value::Map(self.entries(entries)),
        };
        let scalar = !matches!(value, Value::List(_) | Value::Map(_));
        let source = if scalar {
            self.source(read.defined)
        } else {
            String::new()
        };
        Node {
            value,
            at,
            origin: Origin::File,
            source,
            variables: Vec::new(),
        }
    }

    fn entries(&mut self, entries: Vec<(Spanned<String>, Spanned<Read>)>) -> Map {
        let mut map = Map::default();
        let mut seen: BTreeMap<String, Position> = BTreeMap::new();
        for (key, value) in entries {
            let at = position(key.defined);
            let node = self.node(value);
            if let Some(first) = seen.get(&key.value) {
                let fault = Fault::new(format!("`{}` stands twice", key.value))
                    .hint(format!("remove this one or the one in line {}", first.line));
                self.problems.add(at, fault);
                continue;
            }
            seen.insert(key.value.clone(), at);
            // `key:` with nothing behind it is a key whose entries are all commented out.
            if node.value != Value::Null {
                map.insert(&key.value, at, node);
            }
        }
        map
    }

    fn source(&self, location: Location) -> String {
        let span = location.span();
        let range = span
            .byte_offset()
            .zip(span.byte_len())
            .and_then(|(start, length)| {
                let start = usize::try_from(start).ok()?;
                Some(start..start + usize::try_from(length).ok()?)
            });
        range
            .and_then(|range| self.text.get(range))
            .unwrap_or_default()
            .trim()
            .to_owned()
    }
}
