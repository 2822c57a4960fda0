//! What an issue's body says it waits for: `blocked by #N`, `depends on #N`, and open tasks that are
//! issues (`- [ ] #N`). The words are those of gh-issue-lease. Whether those issues are still open is
//! for others to ask.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::body::markdown;
use super::ids::IssueNumber;

static SAID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:blocked|depends)[ -](?:by|on)\s*:?\s*((?:#\d+)(?:\s*(?:,|and|&)\s*#\d+)*)",
    )
    .ok()
});
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"#(\d+)").ok());

/// The issues that `body` names as blockers, in the order of their numbers. Code, quotes, comments and
/// folded parts say nothing.
pub fn named_in(body: &str) -> Vec<IssueNumber> {
    let (Some(said), Some(number)) = (SAID.as_ref(), NUMBER.as_ref()) else {
        return Vec::new();
    };
    let reading = markdown::read(body);
    let mut found = BTreeSet::new();
    for words in said.captures_iter(body) {
        if let Some(list) = words.get(1).filter(|list| !reading.is_hidden(list.start())) {
            found.extend(
                number
                    .captures_iter(list.as_str())
                    .filter_map(|n| issue(&n[1])),
            );
        }
    }
    for task in reading.tasks.iter().filter(|task| !task.done) {
        // A task that is an issue begins with it; one that merely mentions an issue is work like any.
        let text = body[task.text.clone()].trim_start();
        let first = number.captures(text).filter(|_| text.starts_with('#'));
        found.extend(first.and_then(|n| issue(&n[1])));
    }
    found.into_iter().collect()
}

fn issue(digits: &str) -> Option<IssueNumber> {
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(body: &str) -> Vec<u64> {
        named_in(body).into_iter().map(|issue| issue.0).collect()
    }

    #[test]
    fn every_way_to_name_a_blocker_is_read() {
        assert_eq!(named("Blocked by #3"), [3]);
        assert_eq!(named("blocked-by: #3, #4 and #5"), [3, 4, 5]);
        assert_eq!(named("This depends on #7.\r\nDepends-On #8"), [7, 8]);
        assert_eq!(named("- [ ] #9 the parser\n* [ ] #10"), [9, 10]);
    }

    #[test]
    fn what_is_done_quoted_or_merely_mentioned_is_no_blocker() {
        assert!(named("- [x] #9\n- [ ] fix what #10 broke\nsee #11").is_empty());
        assert!(named("```\nblocked by #3\n```\n> depends on #4\n\n`blocked by #5`").is_empty());
        assert!(named("<details>\n\nblocked by #6\n\n</details>").is_empty());
        assert!(named("unblocked by #3").is_empty());
        assert!(named("blocked by #99999999999999999999999999").is_empty());
    }
}
