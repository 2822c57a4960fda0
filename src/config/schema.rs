//! The JSON Schema of the file, for editors. Made from the same table as the checks; stricter rules
//! than a schema can say are left to `load`.

use serde_json::{Map, Value, json};

use super::keys::{Key, Kind, Rule, TOP};

/// JSON Schema, draft 2020-12.
pub fn schema() -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ghswarm configuration",
    });
    let mapping = mapping(TOP);
    if let (Some(schema), Value::Object(mapping)) = (schema.as_object_mut(), mapping) {
        schema.extend(mapping);
        schema.insert("required".to_owned(), json!(["repositories"]));
    }
    schema
}

fn mapping(keys: &[Key]) -> Value {
    let properties: Map<_, _> = keys
        .iter()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    // `key:` with nothing behind it counts as not written.
    json!({ "type": ["object", "null"], "additionalProperties": false, "properties": properties })
}

fn property(key: &Key) -> Value {
    let mut schema = of_kind(key.kind);
    if let Some(schema) = schema.as_object_mut() {
        let about = match key.not_yet {
            Some(today) => format!("{} (not supported yet: {today})", key.about),
            None => key.about.to_owned(),
        };
        schema.insert("description".to_owned(), json!(about));
        if let Some(default) = key
            .default
            .and_then(|text| serde_yaml::from_str::<Value>(text).ok())
        {
            schema.insert("default".to_owned(), default);
        }
    }
    schema
}

fn of_kind(kind: Kind) -> Value {
    match kind {
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::Count(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Number => json!({ "type": "number", "minimum": 0 }),
        Kind::Time(..) => json!({
            "type": ["number", "string"],
            "minimum": 0,
            "pattern": "^ *[0-9.]+ *(ms|s|m|h|d)? *$|\\$\\{"
        }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Approval => json!({ "enum": [true, false, "human"] }),
        Kind::EnvClear => json!({ "type": ["boolean", "array"], "items": { "type": "string" } }),
        Kind::Text(rule) => text(rule),
        Kind::Texts(rule) => json!({ "type": "array", "items": text(rule) }),
        Kind::Commands => json!({
            "type": ["string", "array"],
            "minItems": 1,
            "items": { "type": "string", "minLength": 1 },
        }),
        Kind::Variables => json!({
            "type": ["object", "null"],
            "additionalProperties": { "type": ["string", "number", "boolean", "null"] },
        }),
        Kind::Section(keys) | Kind::Optional(keys) => mapping(keys),
        Kind::Verify(one, entry) => {
            let mut entry = mapping(entry);
            entry["required"] = json!(["path"]);
            json!({ "anyOf": [mapping(one), { "type": "array", "items": entry }] })
        }
        Kind::Named(keys) => json!({
            "type": "object",
            "minProperties": 1,
            "propertyNames": { "pattern": "^[A-Za-z0-9._-]+$" },
            "additionalProperties": mapping(keys),
        }),
    }
}

fn text(rule: Rule) -> Value {
    match rule {
        Rule::Slug => json!({ "type": "string", "pattern": "^[^/]+/[^/]+$" }),
        Rule::Association => json!({
            "enum": ["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "FIRST_TIME_CONTRIBUTOR", "FIRST_TIMER"]
        }),
        Rule::Size => json!({ "type": "string", "pattern": "^([0-9]+[kKmMgG]?[bB]?)?$|\\$\\{" }),
        Rule::Volume => json!({ "type": "string", "pattern": "^[^:]+:/" }),
        Rule::Label | Rule::Login | Rule::Namespace | Rule::Marker => {
            json!({ "type": "string", "minLength": 1 })
        }
        Rule::Any
        | Rule::Secret
        | Rule::Path
        | Rule::PathOrOff
        | Rule::BranchOrEmpty
        | Rule::BranchPrefix
        | Rule::Inside
        | Rule::Glob
        | Rule::Pattern
        | Rule::LoginOrEmpty
        | Rule::Url
        | Rule::BoxUser
        | Rule::Variable
        | Rule::QuestionFile => json!({ "type": "string" }),
    }
}
