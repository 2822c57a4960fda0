//! Holds a tree against the table of keys: unknown keys, wrong kinds, keys whose feature is not
//! there. It changes nothing and finds everything.

use super::hints;
use super::keys::{Key, Kind, REMOVED, REPOSITORY, Rule, TEST_MARGINS, TOP};
use super::near::nearest;
use super::problem::{Fault, Position, Problems, Told};
use super::tree::{Map, Node, Value};
use super::values::{
    check_command, check_placeholders, check_text, is_variable, parse_number, parse_switch,
    parse_time, parse_whole,
};

/// Checks a mapping against its keys. `path` is where it stands, for messages.
pub(super) fn check_map(node: &Node, keys: &[Key], path: &Path<'_>, problems: &mut Problems) {
    let Some(map) = node.map() else {
        let first = keys.first().map_or("KEY", |key| key.name);
        let fault = wrong_kind(&path.name(), "a mapping", node);
        problems.add(node.at, fault.hint(format!("write `{first}: …` below it")));
        return;
    };
    for (name, at, value) in map.iter() {
        if let Some(key) = keys.iter().find(|key| key.name == name) {
            check_key(value, key, &path.child(name), problems);
        } else if name == TEST_MARGINS.name && path.ends_with("lease") {
            check_key(value, &TEST_MARGINS, &path.child(name), problems);
        } else {
            problems.add(at, unknown(name, keys, path));
        }
    }
}

/// Where a value stands: the keys that lead to it.
#[derive(Debug, Clone)]
pub(super) struct Path<'a> {
    above: Option<&'a Path<'a>>,
    key: &'a str,
    /// Below `defaults` or a repository the way there says nothing: the line does.
    prefix: bool,
}

impl<'a> Path<'a> {
    /// The top of the file.
    pub(super) const TOP: Path<'static> = Path {
        above: None,
        key: "",
        prefix: true,
    };

    fn child(&'a self, key: &'a str) -> Path<'a> {
        Path {
            above: Some(self),
            key,
            prefix: false,
        }
    }

    fn part(&'a self, key: &'a str) -> Path<'a> {
        Path {
            above: Some(self),
            key,
            prefix: true,
        }
    }

    fn ends_with(&self, key: &str) -> bool {
        self.key == key
    }

    /// The dotted name below the repository.
    pub(super) fn name(&self) -> String {
        let above = self
            .above
            .filter(|above| !above.prefix && !above.key.is_empty());
        match above {
            Some(above) => format!("{}.{}", above.name(), self.key),
            None => self.key.to_owned(),
        }
    }
}

/// Longer values are not repeated in a message.
const ECHO_CHARS_MAX: usize = 60;

/// For a value that has a small vocabulary: it may be repeated.
fn wrong(name: &str, wanted: &str, node: &Node) -> Told {
    let shown = node.shown();
    let found = if node.text() == Some("") {
        "empty".to_owned()
    } else if shown.is_empty() || shown.contains('\n') || shown.chars().count() > ECHO_CHARS_MAX {
        node.kind().to_owned()
    } else {
        format!("`{shown}`")
    };
    Fault::new(format!("`{name}` must be {wanted}, not {found}"))
}

/// For a value of the wrong kind: it may be a secret that slipped to the wrong place.
fn wrong_kind(name: &str, wanted: &str, node: &Node) -> Told {
    let name = if name.is_empty() {
        "the file".to_owned()
    } else {
        format!("`{name}`")
    };
    Fault::new(format!("{name} must be {wanted}, not {}", node.kind()))
}

fn check_key(node: &Node, key: &Key, path: &Path<'_>, problems: &mut Problems) {
    let name = path.name();
    let before = problems.count();
    match key.kind {
        Kind::Section(keys) | Kind::Optional(keys) => {
            if key.name == "defaults" {
                let part = Path::TOP;
                check_map(node, keys, &part.part("defaults"), problems);
            } else {
                check_map(node, keys, path, problems);
            }
        }
        Kind::Named(keys) => check_named(node, keys, path, problems),
        Kind::Verify(one, entry) => check_verify(node, (one, entry), path, problems),
        Kind::Texts(rule) => check_texts(node, rule, &name, problems),
        Kind::Commands => check_commands(node, &name, problems),
        Kind::Variables => check_variables(node, &name, problems),
        Kind::EnvClear if node.list().is_some() => {
            check_texts(node, Rule::Variable, &name, problems);
        }
        Kind::Switch
        | Kind::Count(..)
        | Kind::Number
        | Kind::Time(..)
        | Kind::Word(_)
        | Kind::Approval
        | Kind::EnvClear
        | Kind::Text(_) => {
            if let Err(told) = check_scalar(node, key.kind, &name) {
                problems.add(node.at, told.hint(hints::scalar(node, key)));
                return;
            }
        }
    }
    // Of a value that is wrong anyway, only that is said.
    if problems.count() == before {
        check_not_yet(node, key, &name, problems);
    }
}

/// A key whose feature is not there may say what holds anyway, and nothing else.
fn check_not_yet(node: &Node, key: &Key, name: &str, problems: &mut Problems) {
    let Some(today) = key.not_yet else { return };
    let same = match &node.value {
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.iter().next().is_none(),
        Value::Null => true,
        Value::Bool(_) | Value::Whole(_) | Value::Number(_) | Value::Text(_) => {
            let written = node.scalar().unwrap_or_default();
            let default = key.default.unwrap_or_default().trim_matches('"');
            written == default
                || (matches!(key.kind, Kind::Number) && parse_number(node) == Some(0.0))
        }
    };
    if same {
        return;
    }
    let shown = if matches!(key.kind, Kind::Word(_)) {
        format!("{name}: {}", node.shown())
    } else {
        name.to_owned()
    };
    let fault = Fault::new(format!("`{shown}` is not supported yet: {today}"));
    problems.add(node.at, fault.hint("remove it"));
}

fn check_scalar(node: &Node, kind: Kind, name: &str) -> Result<(), Told> {
    let wanted = match kind {
        Kind::Switch if parse_switch(node).is_none() => "`true` or `false`".to_owned(),
        Kind::Approval if parse_switch(node).is_none() && node.text() != Some("human") => {
            "`true`, `false` or `human`".to_owned()
        }
        Kind::EnvClear if parse_switch(node).is_none() => {
            "`true`, `false` or a list of names".to_owned()
        }
        Kind::Count(min, max) => match parse_whole(node) {
            Some(number) if (min..=max).contains(&number) => return Ok(()),
            _ => format!("a whole number from {min} to {max}"),
        },
        Kind::Number if parse_number(node).is_none() => "a number of 0 or more".to_owned(),
        Kind::Time(min_ms, max_ms) => match parse_time(node) {
            Some(time) if time.as_millis() < u128::from(min_ms) => format!("{min_ms} ms or longer"),
            Some(time) if time.as_millis() > u128::from(max_ms) => {
                format!("{} or shorter", in_units(max_ms))
            }
            Some(_) => return Ok(()),
            None => "a time".to_owned(),
        },
        Kind::Word(words) if !node.text().is_some_and(|text| words.contains(&text)) => {
            let wanted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
            format!("one of {}", wanted.join(", "))
        }
        Kind::Text(rule) => return check_one_text(node, rule, name),
        Kind::Switch
        | Kind::Approval
        | Kind::EnvClear
        | Kind::Number
        | Kind::Word(_)
        | Kind::Texts(_)
        | Kind::Commands
        | Kind::Variables
        | Kind::Section(_)
        | Kind::Optional(_)
        | Kind::Verify(..)
        | Kind::Named(_) => return Ok(()),
    };
    Err(wrong(name, &wanted, node))
}

/// A limit as it would be written.
fn in_units(millis: u64) -> String {
    match millis / 3_600_000 {
        hours if hours % 24 == 0 => format!("{}d", hours / 24),
        hours => format!("{hours}h"),
    }
}

fn check_one_text(node: &Node, rule: Rule, name: &str) -> Result<(), Told> {
    let Some(text) = node.text() else {
        return Err(wrong_kind(name, "text", node));
    };
    check_text(rule, text).map_err(|wanted| {
        // What stands behind `=`, or before `@` in an address, is more often than not a secret.
        let secret = (rule == Rule::Variable && text.contains('='))
            || (rule == Rule::Url && text.contains('@'));
        if secret {
            Told::new(format!("`{name}` must be {wanted}"))
        } else {
            wrong(name, &wanted, node)
        }
    })
}

fn check_texts(node: &Node, rule: Rule, name: &str, problems: &mut Problems) {
    let Some(list) = node.list() else {
        let fault = wrong_kind(name, "a list", node);
        let fits = |one: &String| node.variables.is_empty() && check_text(rule, one).is_ok();
        let one = node
            .scalar()
            .filter(|one| fits(one) && rule != Rule::Pattern);
        problems.add(node.at, fault.hint(hints::list(one.as_deref())));
        return;
    };
    for (index, item) in list.iter().enumerate() {
        if let Err(told) = check_one_text(item, rule, &format!("{name}[{index}]")) {
            problems.add(item.at, told.hint(hints::text(item, rule)));
        }
    }
}

fn check_commands(node: &Node, name: &str, problems: &mut Problems) {
    let items = node.list().unwrap_or(std::slice::from_ref(node));
    if items.is_empty() {
        problems.add(
            node.at,
            Fault::new(format!("`{name}` is empty")).hint("write a command line"),
        );
    }
    for item in items {
        let fault =
            match item.text() {
                None => {
                    let told = wrong_kind(name, "a command line or a list of them", item);
                    Some(told.hint(
                        "write the command line as one text, in quotes if it holds `: ` or `#`",
                    ))
                }
                Some(text) => check_command(text)
                    .and_then(|()| check_placeholders(item, text))
                    .err()
                    .map(|fault| Fault {
                        message: format!("`{name}` {}", fault.message),
                        ..fault
                    }),
            };
        if let Some(fault) = fault {
            problems.add(item.at, fault);
        }
    }
}

/// The values may be secrets: no message repeats one.
fn check_variables(node: &Node, name: &str, problems: &mut Problems) {
    let Some(map) = node.map() else {
        let fault = Fault::new(format!("`{name}` must be a mapping, not {}", node.kind()));
        problems.add(node.at, fault.hint("write `NAME: value` below it"));
        return;
    };
    for (variable, at, value) in map.iter() {
        if !is_variable(variable) {
            let fault = wrong_variable(name, variable);
            problems.add(at, fault);
        }
        if value.scalar().is_none_or(|text| text.contains('\0')) {
            let found = value.kind();
            let fault = Fault::new(format!("`{name}.{variable}` must be text, not {found}"));
            problems.add(value.at, fault.hint("write one text as its value"));
        }
    }
}

fn wrong_variable(name: &str, variable: &str) -> Fault {
    let variable = variable.split('=').next().unwrap_or_default();
    Fault::new(format!(
        "`{variable}` in `{name}` is not the name of a variable"
    ))
    .hint("write `NAME: value`")
}

fn check_named(node: &Node, keys: &[Key], path: &Path<'_>, problems: &mut Problems) {
    let Some(map) = node.map() else {
        let fault = wrong_kind(&path.name(), "a mapping", node);
        problems.add(
            node.at,
            fault.hint("write `NAME:` below it, and `repo:`, `path:` below that"),
        );
        return;
    };
    for (alias, at, repository) in map.iter() {
        let fine = !alias.is_empty()
            && alias
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if !fine {
            let message = format!("`{alias}` is not a name of letters, digits, `-`, `_` and `.`");
            problems.add(
                at,
                Fault::new(message).hint("it names the repository in commands and logs"),
            );
        }
        check_map(repository, keys, &Path::TOP.part(alias), problems);
    }
}

fn check_verify(
    node: &Node,
    (one, entry): (&[Key], &[Key]),
    path: &Path<'_>,
    problems: &mut Problems,
) {
    let Some(list) = node.list() else {
        if node.text().is_some() {
            let fault = wrong_kind(&path.name(), "a mapping or a list", node);
            let hint = "commands belong into each issue's `GHSWARM_VERIFY` block";
            return problems.add(node.at, fault.hint(hint));
        }
        return check_map(node, one, path, problems);
    };
    let mut seen = Map::default();
    for item in list {
        check_map(item, entry, path, problems);
        let Some(map) = item.map() else { continue };
        let Some(at) = map.get("path") else {
            let fault = Fault::new("an entry of `verify` has no `path`");
            problems.add(
                item.at,
                fault.hint("add `path: .` or the path that its steps name"),
            );
            continue;
        };
        let Some(text) = at.text() else { continue };
        if seen.get(text).is_some() {
            problems.add(
                at.at,
                Fault::new(format!("the path `{text}` stands twice in `verify`"))
                    .hint("keep one entry for each path"),
            );
        }
        seen.insert(text, at.at, item.clone());
    }
}

fn unknown(name: &str, keys: &[Key], path: &Path<'_>) -> Fault {
    let full = path.child(name).name();
    let in_repository = path.prefix && path.above.is_some();
    let removed = REMOVED
        .iter()
        .find(|removed| removed.name == name && path.prefix);
    if let Some(removed) = removed {
        return Fault::new(format!("`{name}` is gone")).hint(removed.instead);
    }
    let fault = Fault::new(format!("unknown key `{full}`"));
    let known = |keys: &[Key]| keys.iter().any(|key| key.name == name);
    if !in_repository && path.above.is_none() && known(REPOSITORY) {
        return fault.hint(format!(
            "move `{name}` into `defaults` or into a repository"
        ));
    }
    if in_repository && known(TOP) {
        return fault.hint(format!("move `{name}` to the top level of the file"));
    }
    match nearest(name, keys.iter().map(|key| key.name)) {
        Some(near) => fault.hint(format!("did you mean `{near}`?")),
        None => fault.hint("`ghswarm config schema` lists the keys"),
    }
}

/// Says which required keys a repository lacks. `at` is where its name stands.
pub(super) fn check_required(node: &Node, alias: &str, at: Position, problems: &mut Problems) {
    let text = |path: &[&str]| {
        let found = path.iter().try_fold(node, |node, key| node.map()?.get(key));
        found.is_some()
    };
    let missing = |key: &str| {
        Fault::new(format!("`{key}` of `{alias}` is missing")).hint(format!(
            "write it in `repositories.{alias}` or in `defaults`"
        ))
    };
    for key in ["repo", "path"] {
        if !text(&[key]) {
            problems.add(at, missing(key));
        }
    }
    for phase in ["implement", "review"] {
        if !text(&["agents", phase, "command"]) {
            problems.add(at, missing(&format!("agents.{phase}.command")));
        }
    }
    if text(&["agents", "simplify"]) && !text(&["agents", "simplify", "command"]) {
        problems.add(at, missing("agents.simplify.command"));
    }
    for key in ["grace", "max_ahead", "odd_ttl"] {
        if text(&["lease", "test_margins"]) && !text(&["lease", "test_margins", key]) {
            problems.add(at, missing(&format!("lease.test_margins.{key}")));
        }
    }
}
