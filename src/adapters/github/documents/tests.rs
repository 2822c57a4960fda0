//! Our documents against GitHub's schema, and what they are put together from.

use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};

use super::document;
use crate::model::ids::RefName;

const OPERATIONS: [&str; 17] = [
    "Board",
    "BoardIssuesPage",
    "BoardPrsPage",
    "PrSummary",
    "Look",
    "Facts",
    "SwapRefs",
    "WriteState",
    "WriteAndClose",
    "EditsPage",
    "TimelinePage",
    "CommentsPage",
    "LinkedPage",
    "ReviewsPage",
    "ChecksPage",
    "PrsPage",
    "Leases",
];

fn schema() -> Valid<Schema> {
    let text = include_str!("../../../../tests/contracts/github.graphql");
    // GitHub's published schema breaks rules that do not matter to our documents.
    Valid::assume_valid(Schema::parse(text, "github.graphql").unwrap())
}

fn refs() -> Vec<RefName> {
    [
        "refs/leases/issue-1",
        "refs/leases/slot-1",
        "refs/heads/issue-1",
    ]
    .map(|name| RefName::new(name).unwrap())
    .to_vec()
}

#[test]
fn every_document_is_valid_against_githubs_schema() {
    let schema = schema();
    for operation in OPERATIONS {
        let text = document(operation, &refs());
        if let Err(errors) = ExecutableDocument::parse_and_validate(&schema, &text, operation) {
            panic!("{operation}: {}\n{text}", errors.errors);
        }
    }
}

#[test]
fn a_document_without_refs_is_valid_too() {
    let schema = schema();
    for operation in OPERATIONS {
        let text = document(operation, &[]);
        if let Err(errors) = ExecutableDocument::parse_and_validate(&schema, &text, operation) {
            panic!("{operation}: {}\n{text}", errors.errors);
        }
    }
}

#[test]
fn a_document_holds_one_operation_and_only_the_fragments_it_uses() {
    let text = document("CommentsPage", &[]);
    assert_eq!(
        text.matches("\nfragment ").count() + text.matches("query ").count(),
        3,
        "{text}"
    );
    assert!(text.contains("fragment CommentPage on"));
    assert!(text.contains("fragment ActorFields on"));
}

#[test]
fn each_ref_has_an_alias_and_a_variable() {
    let text = document("Leases", &refs());
    for index in 0..3 {
        assert!(text.contains(&format!("$r{index}: String!")));
        assert!(text.contains(&format!("r{index}: ref(qualifiedName: $r{index})")));
    }
}
