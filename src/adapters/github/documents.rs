//! The GraphQL documents: picks an operation with the fragments it uses, and fills in the refs.
//! Knows nothing of the answers.

use std::fmt::Write as _;

use crate::model::ids::RefName;

const FILES: [&str; 4] = [
    include_str!("look.graphql"),
    include_str!("pages.graphql"),
    include_str!("other.graphql"),
    include_str!("board.graphql"),
];

/// The document of one operation, with exactly the fragments it uses: GitHub refuses a document
/// with a fragment that is not used. `refs` fills the marked places.
pub(super) fn document(operation: &str, refs: &[RefName]) -> String {
    let mut parts = vec![operation.to_owned()];
    let mut text = String::new();
    let mut next = 0;
    while let Some(name) = parts.get(next).cloned() {
        let keywords: &[&str] = if next == 0 {
            &["query", "mutation"]
        } else {
            &["fragment"]
        };
        let Some(definition) = definition(keywords, &name) else {
            // A missing one is a mistake in the documents, which their test finds.
            debug_assert!(false, "no definition of `{name}`");
            break;
        };
        for fragment in spreads(&definition) {
            if !parts.iter().skip(1).any(|part| *part == fragment) {
                parts.push(fragment);
            }
        }
        text.push_str(&definition);
        next += 1;
    }
    fill(&text, refs)
}

/// A definition from its keyword to the closing brace in the first column, comments left out.
fn definition(keywords: &[&str], name: &str) -> Option<String> {
    let opens = |line: &str| {
        keywords.iter().any(|keyword| {
            line.strip_prefix(keyword)
                .and_then(|rest| rest.strip_prefix(' '))
                .and_then(|rest| rest.strip_prefix(name))
                .is_some_and(|rest| rest.starts_with(['(', ' ']))
        })
    };
    FILES.iter().find_map(|file| {
        let mut lines = file.lines().skip_while(|line| !opens(line));
        let first = lines.next()?;
        let mut text = format!("{first}\n");
        if first.ends_with('}') {
            return Some(text);
        }
        for line in lines {
            text.push_str(line);
            text.push('\n');
            if line == "}" {
                break;
            }
        }
        Some(text)
    })
}

/// Names of the fragments that a definition spreads.
fn spreads(text: &str) -> Vec<String> {
    text.split("...")
        .skip(1)
        .filter_map(|rest| {
            let name: String = rest
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            (!name.is_empty()).then_some(name)
        })
        .collect()
}

/// Fills in one field and one variable a ref.
fn fill(text: &str, refs: &[RefName]) -> String {
    let mut fields = String::new();
    let mut variables = String::new();
    for index in 0..refs.len() {
        let field = format!(
            "r{index}: ref(qualifiedName: $r{index}) \
             {{ target {{ oid ... on Commit {{ message committedDate }} }} }}\n    "
        );
        fields.push_str(&field);
        // Writing to a string cannot fail.
        let _ = write!(variables, "$r{index}: String!\n  ");
    }
    text.replace("#REFS#", fields.trim_end())
        .replace("#VARIABLES#", variables.trim_end())
}

#[cfg(test)]
mod tests;
