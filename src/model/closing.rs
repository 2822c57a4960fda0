//! Words in a commit message by which GitHub closes an issue once the commit is on the default branch.

use std::sync::LazyLock;

use regex::Regex;

use super::ids::{IssueNumber, RepoSlug};

/// GitHub's keywords before a reference: `#9`, `GH-9`, `owner/repo#9` or an address. Source: "Linking a
/// pull request to an issue" in GitHub's documentation, as of 2025, which shows one space and an optional
/// colon. More of both, and none before `#`, are taken for the same: to ask once too often costs a
/// person a minute, a stranger's issue is closed for everybody.
static CLOSES: LazyLock<Regex> = LazyLock::new(|| {
    let keyword = r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)";
    let slug = r"[\w.-]+/[\w.-]+";
    let named = format!(r"(?:({slug})#|gh-|https?://[^\s/]+/({slug})/(?:issues|pull)/)");
    Regex::new(&format!(
        r"(?i){keyword}(?:[\s:]{{0,12}}#|[\s:]{{1,12}}{named})(\d+)"
    ))
    .expect("the pattern is a constant that the tests use")
});

/// A reference that closes what it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// The line of the message, from 1, on which the words begin.
    pub line: usize,
    /// The words, on one line.
    pub words: String,
    /// The repository, where it is named.
    pub repo: Option<String>,
    /// The number; `None`: larger than any issue's.
    pub number: Option<u64>,
}

/// Every such reference in a message.
pub fn closings(message: &str) -> Vec<Closing> {
    let found = CLOSES.captures_iter(message).map(|found| {
        let whole = found.get_match();
        let before = &message[..whole.start()];
        Closing {
            line: before.matches('\n').count() + 1,
            words: whole
                .as_str()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
            repo: found
                .get(1)
                .or(found.get(2))
                .map(|repo| repo.as_str().to_owned()),
            number: found.get(3).and_then(|number| number.as_str().parse().ok()),
        }
    });
    found.collect()
}

impl Closing {
    /// Does it name this issue?
    pub fn is_of(&self, repo: &RepoSlug, issue: IssueNumber) -> bool {
        let here = |named: &String| named.eq_ignore_ascii_case(&repo.to_string());
        self.number == Some(issue.0) && self.repo.as_ref().is_none_or(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(message: &str) -> Vec<Option<u64>> {
        closings(message).iter().map(|found| found.number).collect()
    }

    #[test]
    fn every_keyword_closes_what_every_form_of_reference_names() {
        let keywords = [
            "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "Resolved",
        ];
        let references = [
            " #9",
            ": #9",
            "\n#9",
            "#9",
            " GH-9",
            " o/r#9",
            ": https://github.com/o/r/issues/9",
            " https://github.com/o/r/pull/9",
        ];
        for keyword in keywords {
            for reference in references {
                let message = format!("Work\n\n{keyword}{reference}.");
                let found = closings(&message);
                assert_eq!(found.len(), 1, "{message}");
                assert_eq!((found[0].line, found[0].number), (3, Some(9)), "{message}");
            }
        }
        assert_eq!(numbers("fixes #1, closes #2, #3"), [Some(1), Some(2)]);
        assert_eq!(numbers("fixes #99999999999999999999"), [None]);
    }

    #[test]
    fn words_that_name_or_close_nothing_are_no_reference() {
        for message in [
            "Fix the shop",
            "Prefixes #9",
            "See #9",
            "Fixing #9",
            "fixed-by/us#9",
            "fix(#9): apples",
            "For issue 9.",
        ] {
            assert_eq!(closings(message), [], "{message}");
        }
    }

    #[test]
    fn our_issue_is_ours_with_and_without_the_repositorys_name() {
        let (repo, issue) = ("octo/demo".parse().unwrap(), IssueNumber(42));
        let ours = |message: &str| closings(message)[0].is_of(&repo, issue);
        assert!(ours("Fixes #42") && ours("Fixes Octo/Demo#42"));
        assert!(ours("Fixes https://github.com/octo/demo/issues/42"));
        assert!(!ours("Fixes #4") && !ours("Fixes octo/other#42"));
    }
}
