//! Reads the project's Rust files as text, with comments and literals blanked. Judges nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// One Rust file.
pub(crate) struct Source {
    /// Path from the project's root.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text with comments and the contents of literals blanked; every line and column stays.
    pub(crate) code: String,
}

impl Source {
    /// The module of the crate it belongs to; `None` outside `src`, and for `lib.rs`.
    pub(crate) fn module(&self) -> Option<&str> {
        let inner = self.path.strip_prefix("src/")?;
        let first = inner.split('/').next()?;
        let name = first.strip_suffix(".rs").unwrap_or(first);
        (name != "lib").then_some(name)
    }

    /// Only compiled for tests.
    pub(crate) fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.starts_with("benches/")
            || self.path.ends_with("/tests.rs")
            || self.path.contains("/tests/")
    }

    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.code[..at].matches('\n').count() + 1
    }

    /// The code without its inline test modules; nothing of tests and benchmarks.
    pub(crate) fn shipped(&self) -> String {
        if self.is_test() || self.path.starts_with("benches/") {
            return String::new();
        }
        let mut code = self.code.clone();
        while let Some(at) = code.find("#[cfg(test)]") {
            let rest = &code[at..];
            let end = match (rest.find('{'), rest.find(';')) {
                (Some(open), semi) if semi.is_none_or(|semi| open < semi) => {
                    at + open + block_length(&rest[open..])
                }
                (_, Some(semi)) => at + semi + 1,
                (_, None) => code.len(),
            };
            let blank = blanked(&code[at..end]);
            code.replace_range(at..end, &blank);
        }
        code
    }
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn files_under(folder: &Path, wanted: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_under(&path, wanted, found);
        } else if wanted(&path) {
            found.push(path);
        }
    }
    found.sort();
}

/// Every Rust file of the project, read once.
pub(crate) fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(read_all)
}

fn read_all() -> Vec<Source> {
    let root = root();
    let mut paths = Vec::new();
    for folder in ["src", "tests", "benches"] {
        let rust = |path: &Path| path.extension().is_some_and(|e| e == "rs");
        files_under(&root.join(folder), &rust, &mut paths);
    }
    assert!(paths.len() > 50, "the source was not found");
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let code = code_of(&text);
        let path = path.strip_prefix(&root).unwrap().display().to_string();
        Source { path, text, code }
    };
    paths.iter().map(read).collect()
}

fn blanked(text: &str) -> String {
    let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
    text.chars().map(blank).collect()
}

/// Length of the block that `code` begins with, braces included.
pub(crate) fn block_length(code: &str) -> usize {
    nested_length(code, '{', '}')
}

pub(crate) fn nested_length(code: &str, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return at + 1;
            }
        }
    }
    code.len()
}

/// Blanks comments and the contents of string and character literals; other than ASCII becomes `_`,
/// so that bytes are columns.
fn code_of(text: &str) -> String {
    let ascii = |c: char| if c.is_ascii() { c } else { '_' };
    let text: String = text.chars().map(ascii).collect();
    let mut code = String::with_capacity(text.len());
    while code.len() < text.len() {
        let rest = &text[code.len()..];
        let word = code.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        match literal_length(rest, word) {
            0 => code.push_str(&rest[..1]),
            length => code.push_str(&blanked(&rest[..length.min(rest.len())])),
        }
    }
    code
}

/// Length of the comment or literal that `rest` begins with; 0 if it begins with neither.
fn literal_length(rest: &str, after_word: bool) -> usize {
    let until = |from: usize, end: &str| {
        rest[from..]
            .find(end)
            .map_or(rest.len(), |at| from + at + end.len())
    };
    if rest.starts_with("//") {
        return until(0, "\n") - 1;
    }
    if rest.starts_with("/*") {
        return until(2, "*/");
    }
    if !after_word && let Some(raw) = rest.strip_prefix("br").or(rest.strip_prefix('r')) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let from = rest.len() - raw.len() + hashes + 1;
            return until(from, &format!("\"{}", "#".repeat(hashes)));
        }
    }
    if rest.starts_with('"') {
        return quoted_length(rest, b'"');
    }
    // `'a'` and `'\n'` are characters, `'a` is a lifetime.
    let bytes = rest.as_bytes();
    let character = bytes.first() == Some(&b'\'')
        && (bytes.get(1) == Some(&b'\\') || bytes.get(2) == Some(&b'\''));
    if character {
        quoted_length(rest, b'\'')
    } else {
        0
    }
}

fn quoted_length(rest: &str, quote: u8) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[test]
fn comments_and_literals_are_no_code() {
    let text = "a /* { */ \"x\\\"{\" r#\"}\"\"#; '{' b'\\'' &'a T // é\nfor b";
    let code = code_of(text);
    assert_eq!(
        code.split_whitespace().collect::<Vec<_>>().join(" "),
        "a ; b &'a T for b"
    );
    assert!(code.contains("\nfor"));
}
