//! Claude Code's settings of a project. Other entries, their order and the indentation stay.

use std::path::Path;

use serde::Serialize as _;
use serde_json::{Map, Value, json};

use super::super::error::{CommandError, Kind};
use super::{Wish, read, shell_word, write};

/// Event, matcher and arguments of each hook.
const HOOKS: [(&str, Option<&str>, &str); 2] = [
    ("SessionStart", None, "lease claude-hook"),
    (
        "PreToolUse",
        Some("Edit|Write|MultiEdit|NotebookEdit"),
        "lease claude-hook --block",
    ),
];

pub(super) fn apply(
    project: &Path,
    program: &str,
    wish: Wish,
) -> Result<Vec<String>, CommandError> {
    let path = project.join(".claude/settings.json");
    let shown = path.display();
    let text = read(&path)?;
    let (mut settings, numbers, empty) = match &text {
        Some(text) if !text.trim().is_empty() => {
            // Said with the places of the file itself.
            parse(&path, text)?;
            let numbers = Numbers::of(text);
            (parse(&path, &numbers.hidden)?, numbers, false)
        }
        Some(_) | None => (Map::new(), Numbers::of(""), true),
    };
    let changed = match wish {
        Wish::There => {
            install(&mut settings, program).map_err(|wrong| not_ours_to_change(&path, &wrong))?
        }
        Wish::Gone => uninstall(&mut settings),
    };
    if changed.is_empty() {
        let words = match wish {
            Wish::There => "there already",
            Wish::Gone => "nothing of ghswarm's",
        };
        return Ok(vec![format!("{shown}: {words}")]);
    }
    let events = changed.join(", ");
    match wish {
        Wish::Gone if settings.is_empty() && !empty => {
            std::fs::remove_file(&path).map_err(|error| super::failed("remove", &path, error))?;
            Ok(vec![format!(
                "{shown}: removed, since nothing else was in it"
            )])
        }
        Wish::There | Wish::Gone => {
            let shaped = render(&settings, text.as_deref().unwrap_or_default())?;
            write(&path, &numbers.put_back(&shaped))?;
            let words = match wish {
                Wish::There => "added",
                Wish::Gone => "taken out",
            };
            Ok(vec![format!("{shown}: {words}: {events}")])
        }
    }
}

/// The numbers of a JSON text as they are written: read and written again, `1e3` or twenty digits would be
/// others.
struct Numbers {
    /// The text with a word in each one's place.
    hidden: String,
    mark: String,
    written: Vec<String>,
}

impl Numbers {
    fn of(text: &str) -> Self {
        let mut mark = "number-".to_owned();
        while text.contains(&mark) {
            mark.push('-');
        }
        let (mut hidden, mut written) = (String::new(), Vec::new());
        let (mut in_string, mut escaped) = (false, false);
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            if in_string {
                in_string = escaped || c != '"';
                escaped = !escaped && c == '\\';
                hidden.push(c);
                continue;
            }
            in_string = c == '"';
            if c != '-' && !c.is_ascii_digit() {
                hidden.push(c);
                continue;
            }
            let mut number = c.to_string();
            let goes_on = |c: &char| c.is_ascii_digit() || "+-.eE".contains(*c);
            while let Some(c) = rest.next_if(goes_on) {
                number.push(c);
            }
            hidden += &Self::word(&mark, written.len());
            written.push(number);
        }
        Self {
            hidden,
            mark,
            written,
        }
    }

    fn put_back(&self, text: &str) -> String {
        let all = self.written.iter().enumerate();
        all.fold(text.to_owned(), |text, (at, number)| {
            text.replace(&Self::word(&self.mark, at), number)
        })
    }

    fn word(mark: &str, at: usize) -> String {
        format!("\"{mark}{at}.\"")
    }
}

fn parse(path: &Path, text: &str) -> Result<Map<String, Value>, CommandError> {
    match serde_json::from_str(text) {
        Ok(Value::Object(settings)) => Ok(settings),
        Ok(_) => Err(not_ours_to_change(path, "it is not an object")),
        Err(error) => Err(not_ours_to_change(path, &error.to_string())),
    }
}

fn not_ours_to_change(path: &Path, why: &str) -> CommandError {
    let what = format!(
        "`{}` is not as Claude Code's settings are: {why}",
        path.display()
    );
    CommandError::new(Kind::Outside, what)
        .hint("the file is as it was; mend it, then: ghswarm hooks install --claude (or add the hooks yourself: examples/hooks/claude-settings.json)")
}

/// Adds what is missing; answers the events that got something.
fn install(settings: &mut Map<String, Value>, program: &str) -> Result<Vec<&'static str>, String> {
    let mut changed = Vec::new();
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or("`hooks` is not an object")?;
    for (event, matcher, arguments) in HOOKS {
        let groups = hooks.entry(event).or_insert_with(|| json!([]));
        let groups = groups
            .as_array_mut()
            .ok_or(format!("`hooks.{event}` is not a list"))?;
        if groups.iter().any(|group| hooks_of(group).any(is_ours)) {
            continue;
        }
        let command = format!("{} {arguments}", shell_word(program));
        let mut group = Map::new();
        group.extend(matcher.map(|matcher| ("matcher".to_owned(), json!(matcher))));
        group.insert(
            "hooks".to_owned(),
            json!([{ "type": "command", "command": command }]),
        );
        groups.push(Value::Object(group));
        changed.push(event);
    }
    Ok(changed)
}

/// Takes out what is ours, and what is empty without it; answers the events that lost something.
fn uninstall(settings: &mut Map<String, Value>) -> Vec<&'static str> {
    let mut changed = Vec::new();
    let Some(hooks) = settings.get_mut("hooks").and_then(Value::as_object_mut) else {
        return changed;
    };
    for (event, ..) in HOOKS {
        let Some(groups) = hooks.get_mut(event).and_then(Value::as_array_mut) else {
            continue;
        };
        let had: usize = groups
            .iter()
            .map(|group| hooks_of(group).filter(|hook| is_ours(hook)).count())
            .sum();
        groups.retain_mut(|group| {
            let list = group.get_mut("hooks").and_then(Value::as_array_mut);
            let Some(list) = list.filter(|list| list.iter().any(is_ours)) else {
                return true;
            };
            list.retain(|hook| !is_ours(hook));
            !list.is_empty()
        });
        if groups.is_empty() && had > 0 {
            hooks.shift_remove(event);
        }
        if had > 0 {
            changed.push(event);
        }
    }
    if hooks.is_empty() && !changed.is_empty() {
        settings.shift_remove("hooks");
    }
    changed
}

fn hooks_of(group: &Value) -> impl Iterator<Item = &Value> {
    group
        .get("hooks")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn is_ours(hook: &Value) -> bool {
    let command = hook
        .get("command")
        .and_then(Value::as_str)
        .unwrap_or_default();
    command.contains("ghswarm") && command.contains(" lease claude-hook")
}

/// With the indentation and the end of the text that was there.
fn render(settings: &Map<String, Value>, before: &str) -> Result<String, CommandError> {
    let indented = before.lines().find(|line| line.starts_with([' ', '\t']));
    let indent = indented.map_or("  ", |line| &line[..line.len() - line.trim_start().len()]);
    let mut bytes = Vec::new();
    let pretty = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, pretty);
    settings
        .serialize(&mut writer)
        .map_err(|error| CommandError::bug("cannot write JSON", error))?;
    if before.is_empty() || before.ends_with('\n') {
        bytes.push(b'\n');
    }
    String::from_utf8(bytes).map_err(|error| CommandError::bug("cannot write JSON", error))
}
