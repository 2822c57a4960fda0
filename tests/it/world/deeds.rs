//! What a person does at any moment, also in the middle of a step of an engine. It needs nothing but
//! GitHub, so it can be done from inside of a request.

use std::sync::Arc;
use std::time::Duration;

use ghswarm::model::pr::MergeMethod;
use ghswarm::sim::github::SimRepo;
use ghswarm::sim::github::model::{Pr, PrStanding};
use ghswarm::sim::local::SimClock;

use super::{ANN, Laws, World};

/// One thing that a person does to an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Words are added to the text.
    Prose,
    /// A task is added.
    AddsTask,
    /// Every task is ticked.
    Ticks,
    /// A commit is pushed to the issue's branch.
    Pushes,
    /// The blocked label is put on.
    Blocks,
    /// The hold label is put on.
    Holds,
    /// The completed label is put on.
    Completes,
    /// The status labels are taken off.
    Unlabels,
    /// The issue is closed.
    Closes,
    /// Its open pull request is closed.
    ClosesPr,
    /// Its open pull request is merged.
    Merges,
}

impl Deed {
    /// All of them.
    pub(crate) const ALL: [Self; 11] = [
        Self::Prose,
        Self::AddsTask,
        Self::Ticks,
        Self::Pushes,
        Self::Blocks,
        Self::Holds,
        Self::Completes,
        Self::Unlabels,
        Self::Closes,
        Self::ClosesPr,
        Self::Merges,
    ];
}

/// The words of `Deed::Prose`.
pub(crate) const WORDS: &str = "Mind the worms.";

/// The task of `Deed::AddsTask`.
pub(crate) const TASK: &str = "- [ ] pears";

/// The file of `Deed::Pushes`.
pub(crate) const FILE: &str = "hand.txt";

/// Somebody with a browser.
#[derive(Clone)]
pub(crate) struct Person {
    repo: SimRepo,
    laws: Arc<Laws>,
    clock: SimClock,
}

impl World {
    /// Somebody who can be taken along into a request.
    pub(crate) fn person(&self) -> Person {
        Person {
            repo: self.repo.clone(),
            laws: Arc::clone(&self.laws),
            clock: self.clock.clone(),
        }
    }
}

impl Person {
    /// Does it, if it can be done now.
    pub(crate) fn does(&self, deed: Deed, issue: u64) {
        self.clock.advance(Duration::from_secs(1));
        self.laws
            .tell(format!("         a person: {deed:?} #{issue}"));
        match deed {
            Deed::Prose => self.writes(issue, |text| format!("{text}\n{WORDS}\n")),
            Deed::AddsTask => {
                self.writes(issue, |text| {
                    text.replacen("\n- [", &format!("\n{TASK}\n- ["), 1)
                });
            }
            Deed::Ticks => self.writes(issue, |text| text.replace("- [ ]", "- [x]")),
            Deed::Pushes => {
                let branch = format!("issue-{issue}");
                let files = [(FILE, "by hand\n")];
                self.repo.push_commit("bob", &branch, &files).unwrap();
            }
            Deed::Blocks => self.labels(issue, "status: blocked"),
            Deed::Holds => self.labels(issue, "do-not-dispatch"),
            Deed::Completes => self.labels(issue, "status: completed"),
            Deed::Unlabels => self.unlabels(issue),
            Deed::Closes => self.repo.close_issue(ANN, issue).unwrap(),
            Deed::ClosesPr => {
                if let Some((pr, _)) = self.open_pr(issue) {
                    self.repo.close_pr("bob", pr).unwrap();
                }
            }
            Deed::Merges => {
                if let Some((pr, _)) = self.open_pr(issue) {
                    let merged = self.repo.merge_pr_as("bob", pr, MergeMethod::Squash);
                    self.laws.tell(format!("         which gave {merged:?}"));
                }
            }
        }
    }

    fn writes(&self, issue: u64, change: impl FnOnce(&str) -> String) {
        let text = change(&self.repo.issue(issue).unwrap().body);
        self.laws.person_wrote_in_between(issue);
        self.repo.edit_body("bob", issue, &text).unwrap();
    }

    fn labels(&self, issue: u64, label: &str) {
        self.repo.add_label(ANN, issue, label).unwrap();
    }

    fn unlabels(&self, issue: u64) {
        self.laws.person_unmanaged(issue);
        for label in self.repo.issue(issue).unwrap().labels {
            if label.starts_with("status: ") {
                self.repo.remove_label(ANN, issue, &label).unwrap();
            }
        }
    }

    fn open_pr(&self, issue: u64) -> Option<(u64, Pr)> {
        let branch = format!("issue-{issue}");
        let prs = self.repo.prs().unwrap().into_iter();
        let mut open = prs.filter(|(_, pr)| {
            pr.head_ref == branch && pr.head_repo == "ann/shop" && pr.standing == PrStanding::Open
        });
        open.next().map(|(found, pr)| (found.number, pr))
    }
}
