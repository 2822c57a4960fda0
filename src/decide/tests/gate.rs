//! The merge gate as a small world: what a check says × what is required × whose word there is × what else
//! stands in the way. It merges exactly where the rules allow it, which are written down here once more.

use super::given::*;
use super::told;
use crate::decide::policy::ApprovalRule;
use crate::model::checks::{Check, CheckOutcome, CommitChecks};
use crate::model::issue::{Actor, Association};
use crate::model::phase::Phase;
use crate::model::pr::{Mergeable, Review, ReviewDecision, ReviewState};
use crate::model::rules::{BaseRules, RequiredCheck};

const OUTCOMES: [Option<CheckOutcome>; 11] = [
    None,
    Some(CheckOutcome::Pending),
    Some(CheckOutcome::Success),
    Some(CheckOutcome::Neutral),
    Some(CheckOutcome::Skipped),
    Some(CheckOutcome::Failure),
    Some(CheckOutcome::TimedOut),
    Some(CheckOutcome::Cancelled),
    Some(CheckOutcome::ActionRequired),
    Some(CheckOutcome::Stale),
    Some(CheckOutcome::Unknown),
];

/// What the base's rules name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Required {
    Nothing,
    /// The check whose outcome varies.
    This,
    /// The same, of another App than the one that reports it.
    ThisOfAnotherApp,
    /// The other one.
    Other,
}

/// Whose word there is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Word {
    Nobodys,
    Members,
    MembersAtAnOlderHead,
    Bots,
    Outsiders,
    OwnAuthors,
    GitHubs,
    GitHubWants,
    ObjectionAfterApproval,
    OutsidersObjection,
    Command,
    CommandOfOlderHead,
}

#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and all of them are combined"
)]
struct World {
    this: Option<CheckOutcome>,
    other: Option<CheckOutcome>,
    required: Required,
    rule: ApprovalRule,
    word: Word,
    moved: bool,
    draft: bool,
    mergeable: Mergeable,
    behind: bool,
    queue: bool,
    base_red: bool,
}

const PLAIN: World = World {
    this: Some(CheckOutcome::Success),
    other: Some(CheckOutcome::Success),
    required: Required::Nothing,
    rule: ApprovalRule::None,
    word: Word::Nobodys,
    moved: false,
    draft: false,
    mergeable: Mergeable::Yes,
    behind: false,
    queue: false,
    base_red: false,
};

const ACTIONS: u64 = 15_368;

fn check(name: &str, outcome: CheckOutcome) -> Check {
    Check {
        app: Some(ACTIONS),
        ..Check::new(name, outcome)
    }
}

fn review(by: &str, state: ReviewState, at: char) -> Review {
    let outside = matches!(by, "zoe");
    Review {
        author: Some(Actor {
            login: login(by),
            is_bot: by.ends_with("[bot]"),
        }),
        association: if outside {
            Association::None
        } else {
            Association::Member
        },
        state,
        commit: Some(sha(at)),
        submitted_at: Some(start_time()),
        body: String::new(),
    }
}

impl World {
    fn given(self) -> Given {
        let mut all = Vec::new();
        all.extend(self.this.map(|outcome| check("this", outcome)));
        all.extend(self.other.map(|outcome| check("other", outcome)));
        let mut given = in_phase(Phase::WaitCi).pr(|pr| {
            pr.checks = CommitChecks {
                sha: sha(HEAD),
                checks: all,
            };
            if self.moved {
                pr.head_sha = sha('d');
                pr.checks.sha = sha('d');
            }
            pr.draft = self.draft;
            pr.mergeable = self.mergeable;
            pr.behind = self.behind;
            pr.merge_queue = self.queue;
            self.speak(pr);
        });
        given.policy.approval = self.rule;
        let required = match self.required {
            Required::Nothing => Vec::new(),
            Required::This => vec![("this", None)],
            Required::ThisOfAnotherApp => vec![("this", Some(1))],
            Required::Other => vec![("other", Some(ACTIONS))],
        };
        let named = |(name, app): (&str, Option<u64>)| RequiredCheck {
            name: name.to_owned(),
            app,
        };
        given.seen.rules = Some(BaseRules {
            required: required.into_iter().map(named).collect(),
        });
        if self.base_red {
            let red = [
                check("this", CheckOutcome::Failure),
                check("other", CheckOutcome::Failure),
            ];
            given.seen.base_checks = Some(CommitChecks {
                sha: sha('b'),
                checks: red.to_vec(),
            });
        }
        // The grace is over: what did not begin does not any more.
        given.seen.look.at += std::time::Duration::from_secs(3600);
        if self.word == Word::Command {
            given = given.comment("ann", "/ghswarm merge aaaaaaa");
        }
        if self.word == Word::CommandOfOlderHead {
            given = given.comment("ann", "/ghswarm merge ccccccc");
        }
        given.claimed()
    }

    fn speak(self, pr: &mut crate::model::pr::PullRequest) {
        use ReviewState::{Approved, ChangesRequested};
        pr.reviews = match self.word {
            Word::Members => vec![review("ann", Approved, HEAD)],
            Word::MembersAtAnOlderHead => vec![review("ann", Approved, 'c')],
            Word::Bots => vec![review("x[bot]", Approved, HEAD)],
            Word::Outsiders => vec![review("zoe", Approved, HEAD)],
            Word::OwnAuthors => vec![review("op", Approved, HEAD)],
            Word::ObjectionAfterApproval => vec![
                review("ann", Approved, HEAD),
                review("ann", ChangesRequested, HEAD),
            ],
            Word::OutsidersObjection => vec![review("zoe", ChangesRequested, HEAD)],
            Word::Nobodys
            | Word::GitHubs
            | Word::GitHubWants
            | Word::Command
            | Word::CommandOfOlderHead => Vec::new(),
        };
        if self.word == Word::GitHubs {
            pr.review_decision = Some(ReviewDecision::Approved);
        }
        if self.word == Word::GitHubWants {
            pr.review_decision = Some(ReviewDecision::ReviewRequired);
        }
    }

    /// The rules, in the words of the protocol.
    fn may_be_merged(self) -> bool {
        let success = Some(CheckOutcome::Success);
        let silent = [
            None,
            Some(CheckOutcome::Skipped),
            Some(CheckOutcome::Neutral),
        ];
        let green = match self.required {
            Required::This => self.this == success,
            Required::Other => self.other == success,
            Required::ThisOfAnotherApp => false,
            Required::Nothing => {
                let fine = |one| one == success || silent.contains(&one);
                let some = self.this == success || self.other == success;
                fine(self.this) && fine(self.other) && some
            }
        };
        let objected = self.word == Word::ObjectionAfterApproval;
        let approved = match self.rule {
            ApprovalRule::None => self.word != Word::GitHubWants,
            ApprovalRule::GitHub => matches!(
                self.word,
                Word::Members | Word::Bots | Word::GitHubs | Word::Command
            ),
            ApprovalRule::Human => matches!(self.word, Word::Members | Word::Command),
        };
        let base = !self.base_red || self.word == Word::Command;
        let ready = !self.draft && !self.moved && self.mergeable == Mergeable::Yes;
        green && approved && !objected && base && ready && !self.behind && !self.queue
    }

    #[track_caller]
    fn holds(self) {
        let told = told(&self.given().decide());
        let merges = told == "merge: green and approved";
        assert_eq!(merges, self.may_be_merged(), "{self:?}: {told}");
    }
}

const REQUIRED: [Required; 4] = [
    Required::Nothing,
    Required::This,
    Required::ThisOfAnotherApp,
    Required::Other,
];

const WORDS: [Word; 12] = [
    Word::Nobodys,
    Word::Members,
    Word::MembersAtAnOlderHead,
    Word::Bots,
    Word::Outsiders,
    Word::OwnAuthors,
    Word::GitHubs,
    Word::GitHubWants,
    Word::ObjectionAfterApproval,
    Word::OutsidersObjection,
    Word::Command,
    Word::CommandOfOlderHead,
];

const RULES: [ApprovalRule; 3] = [
    ApprovalRule::None,
    ApprovalRule::GitHub,
    ApprovalRule::Human,
];

#[test]
fn it_merges_exactly_where_the_checks_that_count_allow_it() {
    for this in OUTCOMES {
        for other in OUTCOMES {
            for required in REQUIRED {
                let world = World {
                    this,
                    other,
                    required,
                    ..PLAIN
                };
                world.holds();
            }
        }
    }
}

#[test]
fn it_merges_exactly_where_those_whose_word_counts_allow_it() {
    let outcomes = [CheckOutcome::Success, CheckOutcome::Failure];
    for rule in RULES {
        for word in WORDS {
            for this in outcomes {
                for (base_red, moved) in [(false, false), (true, false), (false, true)] {
                    let world = World {
                        this: Some(this),
                        required: Required::This,
                        rule,
                        word,
                        moved,
                        base_red,
                        ..PLAIN
                    };
                    world.holds();
                }
            }
        }
    }
}

#[test]
fn nothing_else_that_stands_in_the_way_is_overlooked() {
    let mergeable = [Mergeable::Yes, Mergeable::Conflicting, Mergeable::Unknown];
    for this in OUTCOMES {
        for flags in 0..32 {
            let flag = |bit: u32| flags & (1 << bit) != 0;
            for mergeable in mergeable {
                let world = World {
                    this,
                    required: Required::This,
                    moved: flag(0),
                    draft: flag(1),
                    behind: flag(2),
                    queue: flag(3),
                    base_red: flag(4),
                    mergeable,
                    ..PLAIN
                };
                world.holds();
            }
        }
    }
}

impl Given {
    /// The base asks for these checks.
    pub(super) fn requiring(mut self, names: &[&str]) -> Self {
        let check = |name: &&str| RequiredCheck {
            name: (*name).to_owned(),
            app: None,
        };
        self.seen.rules = Some(BaseRules {
            required: names.iter().map(check).collect(),
        });
        self
    }
}
