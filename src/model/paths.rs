//! Path patterns of `protected_paths`, and files that must never be pushed by accident.

use regex::Regex;

/// A pattern like `.github/workflows/**`: `**` crosses directories, `*` and `?` do not.
#[derive(Debug, Clone)]
pub struct PathPattern {
    text: String,
    regex: Regex,
}

impl PathPattern {
    /// Compiles the pattern; `None` if it makes no regular expression.
    pub fn new(text: &str) -> Option<Self> {
        let mut made = String::from("^");
        let mut rest = text.strip_prefix("./").unwrap_or(text);
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("**/") {
                made.push_str("(?:.*/)?");
                rest = after;
                continue;
            }
            if let Some(after) = rest.strip_prefix("**") {
                made.push_str(".*");
                rest = after;
                continue;
            }
            match c {
                '*' => made.push_str("[^/]*"),
                '?' => made.push_str("[^/]"),
                _ => made.push_str(&regex::escape(&c.to_string())),
            }
            rest = &rest[c.len_utf8()..];
        }
        // A directory protects everything in it.
        made.push_str(if text.ends_with('/') { ".*$" } else { "$" });
        Some(Self {
            text: text.to_owned(),
            regex: Regex::new(&made).ok()?,
        })
    }

    /// Does it match a path relative to the repository's top?
    pub fn matches(&self, path: &str) -> bool {
        self.regex.is_match(path)
    }
}

impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PathPattern {}

/// Files that hold secrets by habit. Examples and templates of them are fine.
pub fn holds_secrets(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let sample = ["example", "sample", "template", "dist"]
        .iter()
        .any(|word| name.contains(word));
    if sample {
        return false;
    }
    name == ".env"
        || name.starts_with(".env.")
        || matches!(
            name.as_str(),
            ".netrc" | ".npmrc" | ".pypirc" | "id_rsa" | "id_ed25519"
        )
        || ["pem", "pfx", "p12"]
            .iter()
            .any(|end| name.ends_with(&format!(".{end}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_stars_cross_directories_and_one_does_not() {
        let check = |pattern: &str, path: &str| PathPattern::new(pattern).unwrap().matches(path);
        assert!(check(".github/workflows/**", ".github/workflows/a/b.yml"));
        assert!(!check(".github/workflows/**", "x/.github/workflows/a.yml"));
        assert!(check("**/secret.txt", "secret.txt") && check("**/secret.txt", "a/b/secret.txt"));
        assert!(check("docs/*.md", "docs/a.md") && !check("docs/*.md", "docs/x/a.md"));
        assert!(check("ci/", "ci/run") && !check("a.b", "aXb"));
    }

    #[test]
    fn files_with_secrets_by_habit_are_known_and_their_examples_are_not() {
        assert!(holds_secrets(".env") && holds_secrets("web/.env.production"));
        assert!(holds_secrets("keys/server.pem") && holds_secrets("id_rsa"));
        assert!(!holds_secrets(".env.example") && !holds_secrets("src/env.rs"));
    }
}
