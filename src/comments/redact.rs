//! Secrets do not leave: exact values first, then what looks like a token. Before cutting, so that no
//! half of a secret survives at an edge.

use regex::Regex;

/// Shapes of live tokens: GitHub's, cloud and model providers', private keys, basic credentials in URLs.
const SHAPES: &[&str] = &[
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"sk-[A-Za-z0-9_-]{20,}",
    r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    r"AKIA[0-9A-Z]{16}",
    r"AIza[0-9A-Za-z_-]{35}",
    r"glpat-[A-Za-z0-9_-]{20,}",
    r"npm_[A-Za-z0-9]{36}",
    r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)",
    r"(?i)https?://[^\s/:@]+:[^\s/@]+@",
];

const MASK: &str = "[redacted]";

/// Shorter values are words, not secrets: to blank them would blank the text.
const SECRET_BYTES_MIN: usize = 8;

/// Takes secrets out of a text.
#[derive(Clone)]
pub struct Redactor {
    values: Vec<String>,
    shapes: Vec<Regex>,
}

impl Redactor {
    /// `values` are the exact values of secret variables.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = values
            .into_iter()
            .filter(|value| value.len() >= SECRET_BYTES_MIN)
            .collect();
        // The longest first: a secret that contains another must not leave its rest behind.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        let shapes = SHAPES
            .iter()
            .filter_map(|shape| Regex::new(shape).ok())
            .collect();
        Self { values, shapes }
    }

    /// The text without secrets.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), MASK);
            }
        }
        for shape in &self.shapes {
            if shape.is_match(&text) {
                text = shape.replace_all(&text, MASK).into_owned();
            }
        }
        text
    }
}

/// Does a variable of this name hold a secret, as far as a name can tell?
pub fn names_a_secret(variable: &str) -> bool {
    let name = variable.to_ascii_uppercase();
    [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "API_KEY",
        "APIKEY",
        "PRIVATE_KEY",
        "CREDENTIAL",
    ]
    .iter()
    .any(|part| name.contains(part))
}
