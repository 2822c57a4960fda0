//! What an issue waits for. What its body says: `blocked by #N`, `depends on #N`, and open tasks that
//! are issues (`- [ ] #N`), in the words of gh-issue-lease; and what GitHub's own dependencies and
//! sub-issues say. Whether those issues are still open is for others to ask.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::body::markdown;
use super::ids::IssueNumber;

/// Something that is open and has to be closed first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocker {
    /// An issue or pull request that the issue's text names.
    Named(IssueNumber),
    /// An issue of this repository that GitHub's own dependencies name.
    Dependency(IssueNumber),
    /// So many more that GitHub's own dependencies count: those of other repositories.
    Elsewhere(u64),
    /// So many sub-issues.
    SubIssues(u64),
}

impl Blocker {
    /// Its number, where it has one here.
    pub fn issue(&self) -> Option<IssueNumber> {
        match self {
            Self::Named(issue) | Self::Dependency(issue) => Some(*issue),
            Self::Elsewhere(_) | Self::SubIssues(_) => None,
        }
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(issue) => write!(f, "#{issue} (named in the text)"),
            Self::Dependency(issue) => write!(f, "#{issue} (a dependency on GitHub)"),
            Self::Elsewhere(1) => f.write_str("1 issue of another repository"),
            Self::Elsewhere(count) => write!(f, "{count} issues of other repositories"),
            Self::SubIssues(1) => f.write_str("1 open sub-issue"),
            Self::SubIssues(count) => write!(f, "{count} open sub-issues"),
        }
    }
}

/// What holds an issue back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WaitsOn {
    /// All that is open.
    pub blockers: Vec<Blocker>,
    /// Where it waits for itself: the issues of the circle, itself first, each waiting for the next.
    pub circle: Vec<IssueNumber>,
}

/// The open issues that each open issue waits for.
pub type Edges = BTreeMap<IssueNumber, BTreeSet<IssueNumber>>;

/// The shortest way from `issue` over those it waits for back to itself, itself first and not
/// repeated; empty: there is none.
pub fn circle_of(issue: IssueNumber, edges: &Edges) -> Vec<IssueNumber> {
    let mut came_from = BTreeMap::new();
    let mut to_see = VecDeque::from([issue]);
    while let Some(at) = to_see.pop_front() {
        for next in edges.get(&at).into_iter().flatten() {
            if *next == issue {
                return way_to(at, &came_from);
            }
            if !came_from.contains_key(next) {
                came_from.insert(*next, at);
                to_see.push_back(*next);
            }
        }
    }
    Vec::new()
}

fn way_to(mut at: IssueNumber, came_from: &BTreeMap<IssueNumber, IssueNumber>) -> Vec<IssueNumber> {
    let mut way = VecDeque::from([at]);
    while let Some(before) = came_from.get(&at) {
        at = *before;
        way.push_front(at);
    }
    way.into()
}

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
    fn a_circle_is_told_from_a_chain_that_leads_into_one() {
        let edges = |pairs: &[(u64, u64)]| {
            let mut edges = Edges::new();
            for (from, to) in pairs {
                let of = edges.entry(IssueNumber(*from)).or_default();
                of.insert(IssueNumber(*to));
            }
            edges
        };
        let circle = |issue: u64, pairs: &[(u64, u64)]| -> Vec<u64> {
            let found = circle_of(IssueNumber(issue), &edges(pairs));
            found.into_iter().map(|issue| issue.0).collect()
        };
        let ring = [(1, 2), (2, 3), (3, 1), (4, 1), (3, 9)];
        assert_eq!(circle(1, &ring), [1, 2, 3]);
        assert_eq!(circle(3, &ring), [3, 1, 2]);
        assert!(circle(4, &ring).is_empty(), "it only leads there");
        assert_eq!(circle(5, &[(5, 5)]), [5]);
        let short = [(1, 2), (2, 1), (2, 3), (3, 1)];
        assert_eq!(circle(1, &short), [1, 2], "the shortest one is told");
        assert!(circle(1, &[(1, 2), (2, 3), (3, 2)]).is_empty());
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
