//! How an issue ends, and how people let it go on.

use ghswarm::model::body::{self, StateBlock};
use ghswarm::model::comment::parse_checkpoint;
use ghswarm::model::state::BlockedReason;

use super::{ANN, TASK, World};

/// How an issue stands when the world is at rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Merged, closed, completed.
    Done,
    /// Blocked, and a comment says why.
    Blocked(BlockedReason),
    /// A person's order stands; the reason's code.
    Stopped(String),
    /// None of these: what each home says about it.
    Waits(Vec<String>),
}

impl World {
    /// Until nothing moves, not even by the hourly look.
    pub(crate) fn comes_to_rest(&self) {
        self.settle();
        self.minutes(61).settle();
    }

    /// How the issue ended, by what can be seen on GitHub.
    pub(crate) fn ending(&self, issue: u64) -> Ending {
        let now = self.issue(issue);
        let status = self.status(issue);
        let stopped = |code: &str| Ending::Stopped(code.to_owned());
        let completed = status.contains(&"status: completed".to_owned());
        if !now.open && completed && self.is_merged(issue) {
            return Ending::Done;
        }
        if !now.open {
            let blocked = status == ["status: blocked"];
            let reason = blocked.then(|| self.blocked_for(issue)).flatten();
            return reason.map_or(stopped("issue_closed"), Ending::Blocked);
        }
        if now.has_label("do-not-dispatch") {
            return stopped("on_hold");
        }
        if status.is_empty() {
            return stopped("not_managed");
        }
        if completed {
            return stopped("completed_by_person");
        }
        if !now.has_label("status: blocked") {
            let codes = self.hosts.iter().map(|host| host.why(issue));
            return Ending::Waits(codes.collect());
        }
        let Some(reason) = self.blocked_for(issue) else {
            return stopped("blocked_by_person");
        };
        let code = reason.code();
        let said = now.comments.iter().any(|c| c.body.contains(&code));
        assert!(said, "nobody said `{code}` in #{issue}");
        Ending::Blocked(reason)
    }

    fn blocked_for(&self, issue: u64) -> Option<BlockedReason> {
        let state = body::parse(&self.issue(issue).body).state;
        if let StateBlock::Found { state, .. } = state {
            return state.blocked_reason;
        }
        let comments = self.issue(issue).comments.into_iter().rev();
        let mut states = comments.filter_map(|c| parse_checkpoint(&c.body, "claude-lock"));
        states.next()?.state?.blocked_reason
    }

    /// Nothing of it is held: no run, no claim.
    pub(crate) fn expect_released(&self, issue: u64) {
        let name = format!("refs/leases/issue-{issue}");
        assert!(
            !self.leases().contains(&name),
            "a lease is left\n{}",
            self.trace()
        );
        for host in &self.hosts {
            let mut runs = host.home.live_runs().into_iter();
            assert!(!runs.any(|key| key.issue.0 == issue), "a run is left");
        }
    }

    /// A person lets it go on, if that is theirs to say.
    pub(crate) fn is_let_go_on(&self, issue: u64, ending: &Ending) {
        match ending {
            // On hold nothing is cleared away either.
            Ending::Done if self.issue(issue).has_label("do-not-dispatch") => {
                self.unlabels(ANN, issue, "do-not-dispatch");
            }
            Ending::Done | Ending::Waits(_) => {}
            Ending::Blocked(reason) => {
                if *reason == BlockedReason::NoTasks {
                    self.edits(ANN, issue, |text| format!("{text}\n{TASK}\n"));
                }
                self.resumes(issue);
            }
            Ending::Stopped(code) => match code.as_str() {
                "on_hold" => drop(self.unlabels(ANN, issue, "do-not-dispatch")),
                "not_managed" => drop(self.labels(ANN, issue, "status: idle")),
                "blocked_by_person" => drop(self.resumes(issue)),
                _ => {}
            },
        }
    }
}
