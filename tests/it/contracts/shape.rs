//! Does an answer have exactly the shape that its document asks for, by GitHub's schema? Says
//! everything that differs, each with its place.

use apollo_compiler::executable::{Field, Selection, SelectionSet};
use apollo_compiler::schema::ExtendedType;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Node, Schema, ast};
use serde_json::{Map, Value};

use super::recorder::Asked;

/// What is wrong with an answer; empty: nothing.
pub(super) fn problems(schema: &Valid<Schema>, asked: &Asked) -> Vec<String> {
    let document = match ExecutableDocument::parse(schema, &asked.query, "asked.graphql") {
        Ok(document) => document,
        Err(error) => return vec![format!("the document: {error}")],
    };
    let operation = document.operations.iter().next().unwrap();
    let checker = Checker {
        schema,
        document: &document,
        variables: &asked.variables,
    };
    let data = &asked.answer["data"];
    // Whole fields may be missing beside errors, as GitHub leaves them out.
    if data.is_null() && asked.answer["errors"].is_array() {
        return Vec::new();
    }
    let name = operation.name.as_ref().map_or("?", |name| name.as_str());
    let root = operation.selection_set.ty.as_str();
    checker.object((root, data), &[&operation.selection_set], name)
}

struct Checker<'a> {
    schema: &'a Schema,
    document: &'a ExecutableDocument,
    variables: &'a Value,
}

/// A field's key in the answer and every selection of it.
type Wanted<'a> = Vec<(String, Vec<&'a Node<Field>>)>;

impl<'a> Checker<'a> {
    fn value(
        &self,
        (ty, value): (&ast::Type, &Value),
        sets: &[&'a SelectionSet],
        at: &str,
    ) -> Vec<String> {
        if value.is_null() {
            return if ty.is_non_null() {
                vec![format!("{at}: is null where the schema says `{ty}`")]
            } else {
                Vec::new()
            };
        }
        if ty.is_list() {
            let Some(items) = value.as_array() else {
                return vec![format!("{at}: is no list")];
            };
            let numbered = items.iter().enumerate();
            return numbered
                .flat_map(|(n, item)| {
                    self.value((ty.item_type(), item), sets, &format!("{at}[{n}]"))
                })
                .collect();
        }
        self.named((ty.inner_named_type().as_str(), value), sets, at)
    }

    fn named(
        &self,
        (ty, value): (&str, &Value),
        sets: &[&'a SelectionSet],
        at: &str,
    ) -> Vec<String> {
        match self.schema.types.get(ty) {
            Some(ExtendedType::Enum(words)) => {
                let known = value
                    .as_str()
                    .is_some_and(|word| words.values.contains_key(word));
                if known {
                    Vec::new()
                } else {
                    vec![format!("{at}: {value} is no `{ty}`")]
                }
            }
            Some(ExtendedType::Object(_)) => self.object((ty, value), sets, at),
            Some(ExtendedType::Interface(_) | ExtendedType::Union(_)) => {
                self.abstract_one((ty, value), sets, at)
            }
            Some(ExtendedType::Scalar(_)) | None => scalar((ty, value), at),
            Some(ExtendedType::InputObject(_)) => vec![format!("{at}: `{ty}` is an input")],
        }
    }

    /// The members of the type that the schema keeps, or the type itself if none fits.
    fn abstract_one(
        &self,
        (ty, value): (&str, &Value),
        sets: &[&'a SelectionSet],
        at: &str,
    ) -> Vec<String> {
        let said = value["__typename"].as_str();
        let members = self.schema.types.iter().filter_map(|(name, other)| {
            (other.is_object() && self.schema.is_subtype(ty, name)).then_some(name.as_str())
        });
        let members = members.filter(|name| said.is_none_or(|said| said == *name));
        let answers = members
            .chain([ty])
            .map(|member| self.object((member, value), sets, at));
        answers.min_by_key(Vec::len).unwrap_or_default()
    }

    fn object(
        &self,
        (ty, value): (&str, &Value),
        sets: &[&'a SelectionSet],
        at: &str,
    ) -> Vec<String> {
        let Some(object) = value.as_object() else {
            return vec![format!("{at}: is no object")];
        };
        let mut wanted = Wanted::new();
        for set in sets {
            self.collect(ty, set, &mut wanted);
        }
        let mut found = extra(object, &wanted, at);
        for (key, fields) in wanted {
            let place = format!("{at}.{key}");
            let Some(value) = object.get(&key) else {
                found.push(format!("{place}: is missing"));
                continue;
            };
            if key == "__typename" {
                continue;
            }
            let inner: Vec<_> = fields.iter().map(|field| &field.selection_set).collect();
            let ty = &fields[0].definition.ty;
            found.extend(self.value((ty, value), &inner, &place));
        }
        found
    }

    fn collect(&self, ty: &str, set: &'a SelectionSet, wanted: &mut Wanted<'a>) {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) if self.is_included(field) => {
                    let key = field.response_key().to_string();
                    match wanted.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, fields)) => fields.push(field),
                        None => wanted.push((key, vec![field])),
                    }
                }
                Selection::Field(_) => {}
                Selection::InlineFragment(fragment) => {
                    let on = fragment.type_condition.as_ref();
                    if on.is_none_or(|on| self.is_a(ty, on)) {
                        self.collect(ty, &fragment.selection_set, wanted);
                    }
                }
                Selection::FragmentSpread(spread) => {
                    let fragment = &self.document.fragments[&spread.fragment_name];
                    if self.is_a(ty, fragment.type_condition()) {
                        self.collect(ty, &fragment.selection_set, wanted);
                    }
                }
            }
        }
    }

    fn is_a(&self, ty: &str, on: &str) -> bool {
        ty == on || self.schema.is_subtype(on, ty)
    }

    fn is_included(&self, field: &Field) -> bool {
        let Some(include) = field.directives.get("include") else {
            return true;
        };
        let variable = include
            .specified_argument_by_name("if")
            .and_then(|value| value.as_variable());
        variable.is_none_or(|name| self.variables[name.as_str()] == Value::Bool(true))
    }
}

fn extra(object: &Map<String, Value>, wanted: &Wanted<'_>, at: &str) -> Vec<String> {
    let keys = object.keys();
    keys.filter(|key| !wanted.iter().any(|(name, _)| name == *key))
        .map(|key| format!("{at}.{key}: was not asked for"))
        .collect()
}

fn scalar((ty, value): (&str, &Value), at: &str) -> Vec<String> {
    let text = value.as_str();
    let fine = match ty {
        "Int" => value.is_i64() || value.is_u64(),
        "Boolean" => value.is_boolean(),
        "DateTime" => text.is_some_and(|text| {
            chrono::DateTime::parse_from_rfc3339(text).is_ok() && text.ends_with('Z')
        }),
        "GitObjectID" => {
            text.is_some_and(|text| text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit()))
        }
        "URI" => text.is_some_and(|text| text.contains("://")),
        _ => text.is_some(),
    };
    if fine {
        Vec::new()
    } else {
        vec![format!("{at}: {value} is no `{ty}`")]
    }
}
