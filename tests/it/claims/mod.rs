//! Claims by hand on the simulated world: who gets an issue, what everybody sees of it, how it ends, and
//! that nothing is ever left half.

mod board;
mod bundles;
mod crashes;
mod damaged;
mod ends;
mod races;
mod sweeping;
mod taking;
mod taking_over;
mod with_the_loop;

use std::sync::Arc;

use ghswarm::decide::TakeOver;
use ghswarm::engine::claims::{ClaimOutcome, Claimed, End, Refused, ReleaseOutcome, Wish};
use ghswarm::model::claim::{ClaimRecord, HandStage};
use ghswarm::model::comment::{is_finished, lock_markers};
use ghswarm::model::ids::{IssueNumber, PrNumber};
use ghswarm::ports::PortResult;
use ghswarm::ports::folders::Folders as _;
use ghswarm::sim::github::model::{Comment, Issue};

use crate::world::{ANN, Host, World, body};

const PLAIN: Wish = Wish {
    lead: None,
    take_over: TakeOver::No,
};

const ORDERED: Wish = Wish {
    lead: None,
    take_over: TakeOver::Ordered,
};

/// Ann's home `a`, Bob's home `b`, and an issue without any label.
fn two_homes() -> (World, Arc<Host>, Arc<Host>, u64) {
    let mut world = World::new();
    world.reads_everything();
    let b = world.add_host("b", "bob");
    let a = world.a();
    let issue = plain_issue(&world);
    (world, a, b, issue)
}

/// An issue that no loop looks at.
fn plain_issue(world: &World) -> u64 {
    world.opens_labelled(ANN, ("Sell apples", &body(&["apples"])), &["bug"])
}

impl World {
    /// `ghswarm claim N`.
    fn claim(&self, host: &Host, issue: u64, wish: Wish) -> PortResult<ClaimOutcome> {
        let engine = host.engine();
        self.wait(engine.claim_by_hand(IssueNumber(issue), wish))
    }

    /// A claim that is won.
    #[track_caller]
    fn wins(&self, host: &Host, issue: u64, wish: Wish) -> Claimed {
        match self.claim(host, issue, wish).unwrap() {
            ClaimOutcome::Claimed(claimed) => {
                self.expect_claimed(host, issue);
                *claimed
            }
            other => panic!("refused: {other:?}\n{}", self.trace()),
        }
    }

    /// A claim that is refused; nothing is written for it.
    #[track_caller]
    fn loses(&self, host: &Host, issue: u64, wish: Wish) -> Refused {
        let before = self.sim().counts().writes;
        match self.claim(host, issue, wish).unwrap() {
            ClaimOutcome::Refused(refused) => {
                assert_eq!(self.sim().counts().writes, before, "a loser wrote");
                *refused
            }
            other => panic!("{other:?}"),
        }
    }

    fn release(&self, host: &Host, issue: u64, end: &End) -> PortResult<ReleaseOutcome> {
        let engine = host.engine();
        self.wait(engine.release_by_hand(host.port(), IssueNumber(issue), end))
    }

    /// Gives it back; answers the issues that were released.
    #[track_caller]
    fn gives_back(&self, host: &Host, issue: u64, end: &End) -> Vec<u64> {
        match self.release(host, issue, end).unwrap() {
            ReleaseOutcome::Released { issues, .. } => {
                issues.into_iter().map(|issue| issue.0).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    /// All signals, the lease and `run.json` stand.
    #[track_caller]
    fn expect_claimed(&self, host: &Host, issue: u64) {
        let record = record(host, issue).expect("a record");
        assert_eq!(record.stage(), Some(&HandStage::Held));
        let now = self.issue(issue);
        assert!(now.has_label("agent-claimed"), "{now:#?}");
        assert!(
            now.assignees.contains(&host.operator().to_owned()),
            "{now:#?}"
        );
        let open = open_marks(&now);
        let ours = |mark: &&&Comment| mark.body.contains(record.claim.as_str());
        assert_eq!(open.iter().filter(ours).count(), 1, "{now:#?}");
        let lease = self.lease_text(issue).expect("a lease");
        assert!(lease.contains(record.claim.as_str()), "{lease}");
        self.laws.check();
    }

    /// Nothing of a claim stands: no lease, no record, no label, no marker that is not over.
    #[track_caller]
    fn expect_free(&self, issue: u64) {
        let now = self.issue(issue);
        assert!(!now.has_label("agent-claimed"), "{now:#?}");
        assert_eq!(self.lease_text(issue), None);
        for host in self.hosts() {
            assert_eq!(record(&host, issue), None, "a record is left");
        }
        let released = now
            .comments
            .iter()
            .rposition(|comment| comment.body.contains("Session lock released"));
        let open = open_marks(&now);
        let after = |mark: &&&Comment| {
            let at = now
                .comments
                .iter()
                .position(|comment| comment.id == mark.id);
            released.is_none_or(|released| at > Some(released))
        };
        assert_eq!(open.iter().filter(after).count(), 0, "{now:#?}");
        self.laws.check();
    }

    /// The message of the issue's lease.
    fn lease_text(&self, issue: u64) -> Option<String> {
        let name = format!("refs/leases/issue-{issue}");
        let oid = self.repo.ref_id(&name).unwrap()?;
        let git = git2::Repository::open_bare(self.repo.path()).unwrap();
        let commit = git.find_commit(git2::Oid::from_str(&oid).unwrap()).unwrap();
        Some(commit.message().unwrap().to_owned())
    }

    /// A pull request for the issue from this branch, closing keyword and all.
    fn opens_pr(&self, who: &str, issue: u64, branch: &str) -> u64 {
        self.pushes(who, branch, "a.txt");
        let pr = self.repo.open_pr(who, "Apples", branch, "main").unwrap();
        self.edits_pr(who, pr, &format!("Closes #{issue}"));
        pr
    }

    fn edits_pr(&self, who: &str, pr: u64, text: &str) {
        self.repo.edit_body(who, pr, text).unwrap();
    }

    fn merges(&self, who: &str, pr: u64) {
        self.clock.advance(std::time::Duration::from_secs(1));
        let method = ghswarm::model::pr::MergeMethod::Squash;
        self.repo.merge_pr_as(who, pr, method).unwrap();
    }
}

fn record(host: &Host, issue: u64) -> Option<ClaimRecord> {
    host.home.folders().claim(IssueNumber(issue)).unwrap()
}

/// Comments with a marker of a person's or another tool's that is not finished.
fn open_marks(issue: &Issue) -> Vec<&Comment> {
    let open = |comment: &&Comment| {
        let markers = lock_markers(&comment.body, "claude-lock");
        let by_hand = markers.iter().any(|m| m.by.word() != "loop");
        by_hand && !is_finished(&comment.body)
    };
    issue.comments.iter().filter(open).collect()
}

fn merged(pr: u64) -> End {
    End::Merged(PrNumber(pr))
}

fn abandoned() -> End {
    End::Abandoned("it does not work".to_owned())
}

fn blocked() -> End {
    End::Blocked("the apples are missing".to_owned())
}

/// Lets a future of the simulated world run while another one stands still.
fn alone<T: Send>(what: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let run = || {
            tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap()
                .block_on(what)
        };
        scope.spawn(run).join().unwrap()
    })
}
