//! The verify block's YAML: a command, a list of commands, or a list of `{path, command}`. It must not
//! guess: what has another shape is an error with its place.

use std::fmt;
use std::path::{Component, Path};

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::{MessageFormatter, Spanned, UserMessageFormatter};

/// One command that has to succeed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct VerifyStep {
    /// Folder it runs in, relative to the worktree and without `..`; none is the worktree itself.
    pub path: Option<String>,
    /// The shell command.
    pub command: String,
}

/// What is wrong with the YAML, line and column from 1 in the YAML.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct VerifyError {
    pub(super) message: String,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Reads the YAML between the markers.
pub(super) fn parse(yaml: &str) -> Result<Vec<VerifyStep>, VerifyError> {
    let options = serde_yaml::options! { with_snippet: false, strict_booleans: true };
    let block: Block = serde_yaml::from_str_with_options(yaml, options).map_err(|e| located(&e))?;
    let place = block.verify.referenced;
    let steps = match block.verify.value {
        Shape::One(step) => vec![Spanned::new(step, place, place)],
        Shape::List(steps) => steps,
    };
    let keyed = steps.first().is_some_and(|step| step.value.path.is_some());
    for step in &steps {
        if let Some(message) = wrong(&step.value, keyed) {
            return Err(at(&step.referenced, message.to_owned()));
        }
    }
    Ok(steps.into_iter().map(|step| step.value).collect())
}

fn wrong(step: &VerifyStep, keyed: bool) -> Option<&'static str> {
    if step.path.is_some() != keyed {
        return Some(
            "commands and `{path, command}` steps do not mix: write `path: .` and `command:` for each",
        );
    }
    if step.command.trim().is_empty() {
        return Some("a step has an empty command");
    }
    if step.command.contains('\0') {
        return Some("a command holds a NUL character");
    }
    let path = Path::new(step.path.as_deref().unwrap_or("."));
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.as_os_str().is_empty() || !path.components().all(inside) {
        return Some("`path` must be relative and without `..`");
    }
    None
}

fn located(error: &serde_yaml::Error) -> VerifyError {
    let bare = error.without_snippet();
    let message = UserMessageFormatter.format_message(bare).into_owned();
    match error.location() {
        Some(location) => at(&location, message),
        None => VerifyError {
            message,
            line: 1,
            column: 1,
        },
    }
}

fn at(location: &serde_yaml::Location, message: String) -> VerifyError {
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).max(1);
    VerifyError {
        message,
        line: number(location.line()),
        column: number(location.column()),
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    verify: Spanned<Shape>,
}

/// The value of `verify`.
enum Shape {
    One(VerifyStep),
    List(Vec<Spanned<VerifyStep>>),
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shapes;
        impl<'de> Visitor<'de> for Shapes {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command, a list of commands or a list of `{path, command}`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Shape, E> {
                Ok(Shape::One(VerifyStep {
                    path: None,
                    command: text.to_owned(),
                }))
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Shape, E> {
                self.visit_str(&value.to_string())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
                let mut steps = Vec::new();
                while let Some(step) = items.next_element::<Spanned<Item>>()? {
                    steps.push(Spanned::new(step.value.0, step.referenced, step.defined));
                }
                Ok(Shape::List(steps))
            }
        }
        deserializer.deserialize_any(Shapes)
    }
}

/// One item of the list.
struct Item(VerifyStep);

/// `{path, command}`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Keyed {
    path: String,
    command: String,
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = Item;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command or `{path, command}` (a command that looks like a number needs quotes)")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Item, E> {
                Ok(Item(VerifyStep {
                    path: None,
                    command: text.to_owned(),
                }))
            }

            // `- true` is YAML's boolean, but here it is the command of that name.
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Item, E> {
                self.visit_str(&value.to_string())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Item, A::Error> {
                let keyed = Keyed::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(Item(VerifyStep {
                    path: Some(keyed.path),
                    command: keyed.command,
                }))
            }
        }
        deserializer.deserialize_any(Items)
    }
}
