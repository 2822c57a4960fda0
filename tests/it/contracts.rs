//! Keeps the used part of GitHub's published contracts in `tests/contracts`. Ordinary runs only read
//! it; the ignored test makes it anew. Says nothing about what we send: that is the adapter's test.

mod answers;
mod recorder;
mod shape;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use apollo_compiler::ast::{self, Definition};
use apollo_compiler::executable::{Selection, SelectionSet};
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Node, Schema};
use serde_json::{Map, Value, json};

/// The REST operations we call.
const OPERATIONS: [(&str, &str); 27] = [
    ("get", "/repos/{owner}/{repo}/issues"),
    ("get", "/repos/{owner}/{repo}/issues/{issue_number}"),
    (
        "get",
        "/repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by",
    ),
    ("patch", "/repos/{owner}/{repo}/issues/{issue_number}"),
    ("post", "/repos/{owner}/{repo}/issues/{issue_number}/labels"),
    (
        "delete",
        "/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}",
    ),
    (
        "post",
        "/repos/{owner}/{repo}/issues/{issue_number}/assignees",
    ),
    (
        "delete",
        "/repos/{owner}/{repo}/issues/{issue_number}/assignees",
    ),
    (
        "post",
        "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    ),
    (
        "patch",
        "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    ),
    ("get", "/repos/{owner}/{repo}/labels"),
    ("post", "/repos/{owner}/{repo}/labels"),
    (
        "get",
        "/repos/{owner}/{repo}/collaborators/{username}/permission",
    ),
    ("post", "/repos/{owner}/{repo}/pulls"),
    ("put", "/repos/{owner}/{repo}/pulls/{pull_number}/merge"),
    (
        "put",
        "/repos/{owner}/{repo}/pulls/{pull_number}/update-branch",
    ),
    ("get", "/repos/{owner}/{repo}/branches/{branch}"),
    ("get", "/repos/{owner}/{repo}/rules/branches/{branch}"),
    (
        "post",
        "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs",
    ),
    ("get", "/repos/{owner}/{repo}/actions/jobs/{job_id}/logs"),
    ("post", "/repos/{owner}/{repo}/git/commits"),
    ("get", "/repos/{owner}/{repo}/git/commits/{commit_sha}"),
    ("get", "/repos/{owner}/{repo}/git/ref/{ref}"),
    ("post", "/repos/{owner}/{repo}/git/refs"),
    ("patch", "/repos/{owner}/{repo}/git/refs/{ref}"),
    ("delete", "/repos/{owner}/{repo}/git/refs/{ref}"),
    ("get", "/user"),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_operation_we_call_is_in_the_kept_contract() {
    let text = fs::read_to_string(root().join("tests/contracts/openapi.json")).unwrap();
    let kept: Value = serde_json::from_str(&text).unwrap();
    for (method, path) in OPERATIONS {
        let name = format!("{} {path}", method.to_uppercase());
        assert!(kept["operations"][&name]["responses"].is_object(), "{name}");
    }
}

#[test]
#[ignore = "makes tests/contracts anew from GitHub's published files"]
fn extract() {
    let from = std::env::var_os("GHSWARM_CONTRACTS").expect("GHSWARM_CONTRACTS names the folder");
    let from = PathBuf::from(from);
    let to = root().join("tests/contracts");
    let schema = fs::read_to_string(from.join("github.graphql")).unwrap();
    fs::write(to.join("github.graphql"), used_schema(&schema)).unwrap();
    let rest = fs::read_to_string(from.join("api.github.com.json")).unwrap();
    let rest = used_rest(&serde_json::from_str(&rest).unwrap());
    fs::write(
        to.join("openapi.json"),
        serde_json::to_string(&rest).unwrap() + "\n",
    )
    .unwrap();
}

/// Fields, with their arguments, by type.
#[derive(Default)]
struct Used {
    fields: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    types: BTreeSet<String>,
}

impl Used {
    fn walk(&mut self, set: &SelectionSet) {
        self.types.insert(set.ty.to_string());
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => {
                    let fields = self.fields.entry(set.ty.to_string()).or_default();
                    let arguments = fields.entry(field.name.to_string()).or_default();
                    arguments.extend(field.arguments.iter().map(|one| one.name.to_string()));
                    self.types
                        .insert(field.definition.ty.inner_named_type().to_string());
                    for argument in &field.definition.arguments {
                        if field.arguments.iter().any(|one| one.name == argument.name) {
                            self.types
                                .insert(argument.ty.inner_named_type().to_string());
                        }
                    }
                    if !field.selection_set.selections.is_empty() {
                        self.walk(&field.selection_set);
                    }
                }
                Selection::InlineFragment(fragment) => self.walk(&fragment.selection_set),
                Selection::FragmentSpread(_) => {}
            }
        }
    }

    /// A type has what its interfaces have.
    fn inherit(&mut self, document: &ast::Document) {
        for definition in &document.definitions {
            if let Definition::ObjectTypeDefinition(object) = definition
                && self.types.contains(object.name.as_str())
            {
                for interface in &object.implements_interfaces {
                    let fields = self
                        .fields
                        .get(interface.as_str())
                        .cloned()
                        .unwrap_or_default();
                    self.fields
                        .entry(object.name.to_string())
                        .or_default()
                        .extend(fields);
                }
            }
        }
    }

    /// Input objects are kept whole, so what they name is used.
    fn follow_inputs(&mut self, document: &ast::Document) {
        let mut known = 0;
        while known != self.types.len() {
            known = self.types.len();
            for definition in &document.definitions {
                if let Definition::InputObjectTypeDefinition(input) = definition
                    && self.types.contains(input.name.as_str())
                {
                    for field in &input.fields {
                        self.types.insert(field.ty.inner_named_type().to_string());
                    }
                }
            }
        }
    }

    fn fields_of(
        &self,
        ty: &str,
        fields: &[Node<ast::FieldDefinition>],
    ) -> Vec<Node<ast::FieldDefinition>> {
        let used = self.fields.get(ty).cloned().unwrap_or_default();
        let mut kept = Vec::new();
        for field in fields {
            let Some(arguments) = used.get(field.name.as_str()) else {
                continue;
            };
            let mut field = field.as_ref().clone();
            field.description = None;
            field.directives.clear();
            field
                .arguments
                .retain(|one| one.is_required() || arguments.contains(one.name.as_str()));
            for argument in &mut field.arguments {
                argument.make_mut().description = None;
            }
            kept.push(Node::new(field));
        }
        kept
    }

    /// The definition with only what is used, if it is used at all.
    fn reduce(&self, definition: &Definition) -> Option<Definition> {
        let name = definition.name()?;
        if !self.types.contains(name.as_str()) {
            return None;
        }
        let mut definition = definition.clone();
        match &mut definition {
            Definition::ObjectTypeDefinition(object) => {
                let object = object.make_mut();
                object.description = None;
                object.directives.clear();
                object
                    .implements_interfaces
                    .retain(|one| self.types.contains(one.as_str()));
                object.fields = self.fields_of(&object.name, &object.fields);
            }
            Definition::InterfaceTypeDefinition(interface) => {
                let interface = interface.make_mut();
                interface.description = None;
                interface.directives.clear();
                interface
                    .implements_interfaces
                    .retain(|one| self.types.contains(one.as_str()));
                interface.fields = self.fields_of(&interface.name, &interface.fields);
            }
            Definition::UnionTypeDefinition(union) => {
                let union = union.make_mut();
                union.description = None;
                union
                    .members
                    .retain(|one| self.types.contains(one.as_str()));
            }
            Definition::EnumTypeDefinition(words) => {
                let words = words.make_mut();
                words.description = None;
                for word in &mut words.values {
                    word.make_mut().description = None;
                    word.make_mut().directives.clear();
                }
            }
            Definition::InputObjectTypeDefinition(input) => {
                let input = input.make_mut();
                input.description = None;
                input.directives.clear();
                for field in &mut input.fields {
                    field.make_mut().description = None;
                    field.make_mut().directives.clear();
                }
            }
            Definition::ScalarTypeDefinition(scalar) => {
                let scalar = scalar.make_mut();
                scalar.description = None;
                scalar.directives.clear();
            }
            _ => return None,
        }
        Some(definition)
    }
}

fn used_schema(full: &str) -> String {
    // GitHub's published schema defines some fields twice; the first definition is kept.
    let schema = Schema::parse(full, "github.graphql").unwrap_or_else(|errors| errors.partial);
    let schema = Valid::assume_valid(schema);
    let ast = ast::Document::parse(full, "github.graphql").unwrap();
    let mut documents = String::new();
    for name in ["look", "pages", "other", "board"] {
        let path = root().join(format!("src/adapters/github/{name}.graphql"));
        documents += &fs::read_to_string(path).unwrap();
    }
    let documents = documents.replace("#VARIABLES#", "$r0: String!").replace(
        "#REFS#",
        "r0: ref(qualifiedName: $r0) { target { oid ... on Commit { message committedDate } } }",
    );
    let documents = ExecutableDocument::parse(&schema, documents, "ours.graphql").unwrap();
    let mut used = Used::default();
    for operation in documents.operations.iter() {
        used.walk(&operation.selection_set);
        for variable in &operation.variables {
            used.types
                .insert(variable.ty.inner_named_type().to_string());
        }
    }
    for fragment in documents.fragments.values() {
        used.walk(&fragment.selection_set);
    }
    used.inherit(&ast);
    used.follow_inputs(&ast);
    let kept: Vec<String> = ast
        .definitions
        .iter()
        .filter_map(|definition| used.reduce(definition))
        .map(|definition| definition.to_string())
        .collect();
    kept.join("\n")
}

/// The operations with the schemas that they reach.
fn used_rest(full: &Value) -> Value {
    let mut operations = Map::new();
    for (method, path) in OPERATIONS {
        let operation = &full["paths"][path][method];
        let mut responses = Map::new();
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolved(full, response);
            responses.insert(status.clone(), schema_in(response));
        }
        let request = schema_in(&operation["requestBody"]);
        let kept = json!({ "request": request, "responses": responses });
        operations.insert(format!("{} {path}", method.to_uppercase()), kept);
    }
    let mut operations = Value::Object(operations);
    tidy(&mut operations);
    let mut schemas = Map::new();
    let mut wanted = references(&operations);
    while let Some(name) = wanted.pop() {
        if !schemas.contains_key(&name) {
            let mut schema = full["components"]["schemas"][&name].clone();
            tidy(&mut schema);
            wanted.extend(references(&schema));
            schemas.insert(name, schema);
        }
    }
    schemas.sort_keys();
    json!({ "operations": operations, "components": { "schemas": schemas } })
}

fn resolved<'a>(full: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(to) => full.pointer(to.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

fn schema_in(body: &Value) -> Value {
    body["content"]["application/json"]["schema"].clone()
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(object) => object
            .iter()
            .flat_map(|(key, value)| match value.as_str() {
                Some(to) if key == "$ref" => to
                    .strip_prefix("#/components/schemas/")
                    .map(ToOwned::to_owned)
                    .into_iter()
                    .collect(),
                _ => references(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// Leaves out what is for readers, and turns `nullable` into plain JSON Schema.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(object) => {
            // Beside a `type`, these are words of the schema; elsewhere they may name properties.
            for word in [
                "description",
                "title",
                "example",
                "examples",
                "externalDocs",
            ] {
                if !object.get(word).is_some_and(Value::is_object) {
                    object.remove(word);
                }
            }
            for (_, inner) in object.iter_mut() {
                tidy(inner);
            }
            if object.get("nullable") == Some(&Value::Bool(true)) {
                object.remove("nullable");
                let inner = std::mem::take(object);
                *value = json!({ "anyOf": [{ "type": "null" }, inner] });
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
