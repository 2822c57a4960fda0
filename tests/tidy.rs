//! The source tests itself: who names whom, sizes, names, headings, and words that must not be there.
//! Reads text only; it must not need the crate to compile, and it must not judge behaviour.

#![allow(
    clippy::unwrap_used,
    reason = "a source that cannot be read shall stop the test there"
)]

#[path = "tidy/field_cases.rs"]
mod field_cases;
#[path = "tidy/reasons.rs"]
mod reasons;
#[path = "tidy/source.rs"]
mod source;

use std::fs;
use std::path::Path;

use regex::Regex;

use source::{block_length, files_under, nested_length, root, sources};

const FILE_LINES_MAX: usize = 500;
const MAIN_LINES_MAX: usize = 60;
const FUNCTION_LINES_MAX: usize = 70;
const DECIDE_FUNCTION_LINES_MAX: usize = 40;
const PARAMETERS_MAX: usize = 5;

/// Stands right above a function that may be longer, since it is one match over all variants.
const LONG_MATCH: &str = "// One exhaustive match";

/// Who may name which modules of the crate. What is not in the list may name everything.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("decide", &["model"]),
    ("ports", &["model"]),
    ("comments", &["model", "decide"]),
    ("prompts", &["model", "decide"]),
    (
        "engine",
        &["model", "decide", "ports", "comments", "prompts"],
    ),
    ("adapters", &["model", "ports"]),
    ("sim", &["model", "ports"]),
    ("config", &["model", "decide"]),
];

const MODEL_CRATES: &[&str] = &[
    "chrono",
    "pulldown_cmark",
    "regex",
    "serde",
    "serde_json",
    "serde_yaml",
    "sha2",
    "thiserror",
];

/// Which vendor crates the inner modules may name; `adapters`, `sim` and `cli` are not held to a
/// list, and tests neither.
const VENDORS: &[(&str, &[&str])] = &[
    ("model", MODEL_CRATES),
    ("decide", &["chrono", "serde", "serde_json"]),
    (
        "ports",
        &["async_trait", "chrono", "serde", "serde_json", "thiserror"],
    ),
    ("comments", &["chrono", "regex", "serde_json"]),
    ("prompts", &["minijinja", "serde", "thiserror"]),
    (
        "engine",
        &[
            "async_trait",
            "chrono",
            "rand",
            "serde",
            "serde_json",
            "shlex",
            "thiserror",
            "tokio",
            "tracing",
        ],
    ),
    (
        "config",
        &[
            "chrono",
            "regex",
            "serde",
            "serde_json",
            "serde_yaml",
            "shlex",
            "thiserror",
        ],
    ),
];

/// Names that say nothing.
const EMPTY_NAMES: &[&str] = &["utils", "helpers", "common", "manager", "service"];

#[track_caller]
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The first names of the paths that begin with `crate::`, a braced list included.
fn crate_names(code: &str) -> Vec<(usize, String)> {
    let path = Regex::new(r"(?-u)\bcrate::(?:(\w+)|(\{))").unwrap();
    let mut names = Vec::new();
    for found in path.captures_iter(code) {
        let at = found.get(0).unwrap().start();
        if let Some(name) = found.get(1) {
            names.push((at, name.as_str().to_owned()));
        } else if let Some(brace) = found.get(2) {
            let list = &code[brace.start()..];
            let list = &list[1..block_length(list) - 1];
            let mut depth = 0_i32;
            for part in list.split_inclusive(['{', '}', ',']) {
                let name: String = part
                    .trim()
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                if depth == 0 && !name.is_empty() {
                    names.push((at, name));
                }
                depth += i32::from(part.ends_with('{')) - i32::from(part.ends_with('}'));
            }
        }
    }
    names
}

#[test]
fn modules_name_only_what_they_may() {
    let supers = Regex::new(r"(?-u)\b(?:super::)+").unwrap();
    let mut wrong = Vec::new();
    for source in sources() {
        let Some(module) = source.module() else {
            continue;
        };
        let Some((_, allowed)) = MAY_NAME.iter().find(|(name, _)| *name == module) else {
            continue;
        };
        for (at, name) in crate_names(&source.code) {
            if name != module && !allowed.contains(&name.as_str()) {
                let line = source.line_of(at);
                wrong.push(format!("{}:{line}: `{module}` names `{name}`", source.path));
            }
        }
        // From the crate's root one goes on by `crate::`, which the check above can read.
        let depth =
            source.path.matches('/').count() + usize::from(!source.path.ends_with("mod.rs"));
        for found in supers.find_iter(&source.code) {
            let inline = usize::from(source.code[..found.start()].contains("#[cfg(test)]"));
            if found.as_str().matches("super").count() >= depth + inline {
                let line = source.line_of(found.start());
                wrong.push(format!("{}:{line}: too many `super::`", source.path));
            }
        }
    }
    none(&wrong);
}

#[test]
fn the_inner_modules_know_no_vendor() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let dependency = Regex::new(r"(?m)^([a-z0-9_-]+) = ").unwrap();
    let tables = manifest.split("\n[").filter(|table| {
        table.starts_with("dependencies]") || table.starts_with("dev-dependencies]")
    });
    let crates: Vec<String> = tables
        .flat_map(|table| {
            dependency
                .captures_iter(table)
                .map(|c| c[1].replace('-', "_"))
        })
        .collect();
    assert!(crates.len() > 20, "the dependencies were not found");
    let named = format!(r"(?-u)\b({})::", crates.join("|"));
    let named = Regex::new(&named).unwrap();
    let mut wrong = Vec::new();
    for source in sources() {
        let module = source.module().filter(|_| !source.is_test());
        let Some((module, allowed)) = VENDORS.iter().find(|(name, _)| Some(*name) == module) else {
            continue;
        };
        for found in named.captures_iter(&source.code) {
            let name = found.get(1).unwrap();
            // `a::http::b` and `x.http::<T>()` name something of ours.
            let inner = source.code[..name.start()].ends_with([':', '.']);
            if !inner && !allowed.contains(&name.as_str()) {
                let (line, name) = (source.line_of(name.start()), name.as_str());
                wrong.push(format!("{}:{line}: `{module}` names `{name}`", source.path));
            }
        }
    }
    none(&wrong);
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    let mut wrong = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        let max = if source.path == "src/main.rs" {
            MAIN_LINES_MAX
        } else {
            FILE_LINES_MAX
        };
        if lines > max {
            wrong.push(format!("{}: {lines} lines, {max} are allowed", source.path));
        }
        let heading = source.text.starts_with("//! ");
        let fixed = source.path.starts_with("benches/") && lines == 1;
        if !heading && !source.is_test() && !fixed {
            wrong.push(format!("{}: does not open with `//!`", source.path));
        }
    }
    none(&wrong);
}

#[test]
fn functions_are_short_and_take_few_parameters() {
    let function = Regex::new(r"(?-u)\bfn\s+(\w+)").unwrap();
    let mut wrong = Vec::new();
    for source in sources() {
        let max = if source.module() == Some("decide") && !source.is_test() {
            DECIDE_FUNCTION_LINES_MAX
        } else {
            FUNCTION_LINES_MAX
        };
        for found in function.captures_iter(&source.code) {
            let start = found.get(0).unwrap().start();
            let name = &found[1];
            let rest = &source.code[start..];
            let Some(open) = rest.find('(') else { continue };
            let list = &rest[open..open + nested_length(&rest[open..], '(', ')')];
            let line = source.line_of(start);
            let parameters = parameters(list);
            if parameters > PARAMETERS_MAX {
                wrong.push(format!(
                    "{}:{line}: `{name}` takes {parameters} parameters",
                    source.path
                ));
            }
            let after = &rest[open + list.len()..];
            let Some(body) = after.find(['{', ';']) else {
                continue;
            };
            if after[body..].starts_with(';') {
                continue;
            }
            let length = block_length(&after[body..]);
            let lines = after[body..body + length].matches('\n').count();
            if lines > max && !marked_long(&source.text, line) {
                wrong.push(format!(
                    "{}:{line}: `{name}` has {lines} lines",
                    source.path
                ));
            }
        }
    }
    none(&wrong);
}

/// Does the marker stand among the comments and attributes right above the function?
fn marked_long(text: &str, line: usize) -> bool {
    let lines: Vec<&str> = text.lines().take(line - 1).collect();
    let above = lines.iter().rev().take_while(|line| {
        let line = line.trim_start();
        line.starts_with("//") || line.starts_with('#')
    });
    above
        .into_iter()
        .any(|line| line.trim_start().starts_with(LONG_MATCH))
}

/// Parameters of a list in parentheses, the receiver left out.
fn parameters(list: &str) -> usize {
    let inner = list[1..list.len() - 1].replace("->", "  ");
    let mut depth = 0_i32;
    let mut parts = vec![String::new()];
    for c in inner.chars() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(c);
    }
    let receiver = |part: &str| {
        let name = part.split(':').next().unwrap_or_default();
        name.trim_start_matches('&').split_whitespace().next_back() == Some("self")
    };
    parts
        .iter()
        .map(|part| part.trim())
        .filter(|part| !part.is_empty() && !receiver(part))
        .count()
}

#[test]
fn names_say_something() {
    let declared = format!(r"(?-u)\bmod ({})\b", EMPTY_NAMES.join("|"));
    let declared = Regex::new(&declared).unwrap();
    let mut wrong = Vec::new();
    for source in sources() {
        for part in source.path.split('/') {
            if EMPTY_NAMES.contains(&part.strip_suffix(".rs").unwrap_or(part)) {
                wrong.push(format!("{}: `{part}` says nothing", source.path));
            }
        }
        for found in declared.captures_iter(&source.code) {
            wrong.push(format!("{}: `mod {}` says nothing", source.path, &found[1]));
        }
    }
    none(&wrong);
}

#[test]
fn nothing_is_left_undone() {
    let everywhere = [
        (r"(?-u)\b(?:todo|unimplemented|dbg)!", "is unfinished"),
        (r"#\[ignore\]", "does not say why it is left out"),
    ];
    let shipped = [
        (r"(?-u)\.unwrap\(\)", "may panic"),
        (r"(?-u)\bpanic!", "panics"),
    ];
    let printing = (r"(?-u)\be?print(?:ln)?!", "prints outside `cli`");
    let mut wrong = Vec::new();
    for source in sources() {
        let code = source.shipped();
        let mut look = |code: &str, (pattern, what): (&str, &str)| {
            for found in Regex::new(pattern).unwrap().find_iter(code) {
                let line = source.line_of(found.start());
                wrong.push(format!(
                    "{}:{line}: `{}` {what}",
                    source.path,
                    found.as_str()
                ));
            }
        };
        for rule in everywhere {
            look(&source.code, rule);
        }
        for rule in shipped {
            look(&code, rule);
        }
        if !matches!(source.module(), Some("cli" | "main")) {
            look(&code, printing);
        }
    }
    none(&wrong);
}

/// A path of the machine it was written on means nothing on the reader's.
#[test]
fn no_file_names_a_path_of_one_machine() {
    let root = root();
    let mut paths = Vec::new();
    let text = |path: &Path| {
        let known = [
            "rs", "md", "toml", "yaml", "yml", "sh", "service", "graphql",
        ];
        let extension = path.extension().and_then(|e| e.to_str());
        extension.is_some_and(|extension| known.contains(&extension))
    };
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && name != ".git" {
            files_under(&path, &text, &mut paths);
        } else if path.is_file() && text(&path) {
            paths.push(path);
        }
    }
    let folders = ["work", "root"].join("|");
    let machine = Regex::new(&format!(r#"(?:^|[\s"'`(=])/(?:{folders})/"#)).unwrap();
    let mut wrong = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            if machine.is_match(line) {
                wrong.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    none(&wrong);
}

#[test]
fn each_field_case_has_its_test() {
    assert_eq!(field_cases::offences(), Vec::<String>::new());
}

/// An index lags behind: who won a claim a moment ago is not in it yet.
#[test]
fn each_reason_stands_in_the_readme() {
    none(&reasons::amiss());
}

#[test]
fn nothing_is_asked_of_a_search_index() {
    let asks = Regex::new(r"/search/|\bsearch\s*\(\s*(type|query|first|\$)").unwrap();
    let mut found = Vec::new();
    let wanted = |path: &Path| asks.is_match(&fs::read_to_string(path).unwrap_or_default());
    files_under(&root().join("src"), &wanted, &mut found);
    assert_eq!(found, Vec::<std::path::PathBuf>::new());
}
