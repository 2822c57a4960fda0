//! Making text of others fit to be posted. It must not hide what was said: a zero-width space breaks
//! what a machine would act on, and people read on as before.

use std::sync::LazyLock;

use regex::Regex;

/// Stands where a machine would otherwise see a mention, a command, a keyword or a tag.
const BREAK: char = '\u{200b}';

/// `@somebody`.
static MENTION: LazyLock<Regex> = LazyLock::new(|| rule("@([A-Za-z0-9_])"));
/// An entity, by which any of the others could be spelled (`&#64;` is `@`).
static ENTITY: LazyLock<Regex> =
    LazyLock::new(|| rule("&(#[0-9A-Za-z]{1,8}|[A-Za-z][0-9A-Za-z]{1,31});"));
static TAG: LazyLock<Regex> = LazyLock::new(|| rule("<([A-Za-z/!?])"));
/// A command at the start of a line, behind whatever quotes or lists it.
static SLASH: LazyLock<Regex> = LazyLock::new(|| rule(r"(?m)^([ \t>*+\d.)`-]*)/([A-Za-z])"));
/// GitHub's closing keywords before a reference, whatever markup stands between them. Source: "Linking
/// a pull request to an issue" in GitHub's documentation, as of 2025.
static CLOSES: LazyLock<Regex> = LazyLock::new(|| {
    let keyword = "(c|f|r)(lose[sd]?|ix(?:es|ed)?|esolve[sd]?)";
    let reference = r"[^A-Za-z0-9]{0,12}(?:#|GH-|[\w.-]+/[\w.-]+#|https?:)";
    rule(&format!(r"(?i)\b{keyword}({reference})"))
});

fn rule(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of this file are constants that its tests use")
}

/// Makes the text of others harmless: no mention, no `/command` at the start of a line, no closing
/// keyword before a reference, no HTML (comments, `<details>`), no entities that spell one of these.
/// Doing it twice is the same as doing it once.
pub fn neutralise(text: &str) -> String {
    let text = text
        .replace("-->", "--\u{200b}>")
        .replace("--!>", "--\u{200b}!>");
    let rules: [(&Regex, String); 5] = [
        (&ENTITY, format!("&{BREAK}$1;")),
        (&TAG, format!("<{BREAK}$1")),
        (&MENTION, format!("@{BREAK}$1")),
        (&SLASH, format!("$1/{BREAK}$2")),
        (&CLOSES, format!("$1{BREAK}$2$3")),
    ];
    rules.iter().fold(text, |text, (rule, with)| {
        rule.replace_all(&text, with).into_owned()
    })
}

/// A fence of backticks that this text does not contain: longer than every run in it.
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}

/// Takes terminal control out: colours and other escape sequences, and control characters but tab and
/// line ends. A sequence that never ends takes no text along.
pub fn strip_ansi(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let tail = &rest[c.len_utf8()..];
        rest = match c {
            '\u{1b}' => after_escape(tail),
            '\u{9b}' => after_csi(tail),
            '\t' | '\n' | '\r' => {
                result.push(c);
                tail
            }
            _ => {
                if !c.is_control() {
                    result.push(c);
                }
                tail
            }
        };
    }
    result
}

/// What follows the escape sequence whose ESC was just read.
fn after_escape(rest: &str) -> &str {
    match rest.chars().next() {
        Some('[') => after_csi(&rest[1..]),
        // Operating system command and its kin: up to BEL or `ESC \`, on one line.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let rest = &rest[1..];
            let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
            let bell = line.find('\u{7}').map(|at| (at, 1));
            let string_end = line.find("\u{1b}\\").map(|at| (at, 2));
            match bell.into_iter().chain(string_end).min() {
                Some((at, len)) => &rest[at + len..],
                None => rest,
            }
        }
        Some(c @ ' '..='/') => {
            let rest = &rest[c.len_utf8()..];
            rest.strip_prefix(|c| matches!(c, '0'..='~'))
                .unwrap_or(rest)
        }
        Some('0'..='~') => &rest[1..],
        Some(_) | None => rest,
    }
}

/// What follows a control sequence: parameters, intermediates, one final character.
fn after_csi(rest: &str) -> &str {
    let rest = rest.trim_start_matches(|c| matches!(c, '0'..='?'));
    let rest = rest.trim_start_matches(|c| matches!(c, ' '..='/'));
    rest.strip_prefix(|c| matches!(c, '@'..='~'))
        .unwrap_or(rest)
}

/// A text of somebody else's for one line of a terminal: no terminal control, and no line ends.
pub fn one_line(text: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    strip_ansi(text).chars().map(blank).collect()
}

/// The first `max_bytes` of a text at most, cut at a character.
pub fn head(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The last whole lines of a text, at most this many bytes; of a last line that is longer than that,
/// its end.
pub fn tail(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let mut from = text.len() - max_bytes;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    if from > 0 && text.as_bytes()[from - 1] == b'\n' {
        return &text[from..];
    }
    match text[from..].find('\n') {
        Some(newline) if from + newline + 1 < text.len() => &text[from + newline + 1..],
        _ => &text[from..],
    }
}
