//! Faults between a client and the simulated GitHub: asked once a request, by its place in the row
//! of all requests, in the row of writes, or by what it does.

use std::time::Duration;

/// What a request does, the same word on both faces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// The one big look.
    Look,
    /// A further page of it.
    Page,
    /// Repository and viewer.
    Facts,
    /// The listing of issues.
    ListIssues,
    /// Lease refs, alone.
    Leases,
    /// What a login may do.
    Permission,
    /// What a base branch asks of pull requests.
    Rules,
    /// Checks of a branch's tip, alone.
    Checks,
    /// The log of a job.
    Log,
    /// Labels of the repository.
    Labels,
    /// Another read over REST.
    Read,
    /// A dangling commit.
    CreateCommit,
    /// A compare-and-swap, or one of REST's verbs on refs.
    SwapRefs,
    /// An issue's text or state.
    UpdateIssue,
    /// A new issue.
    OpenIssue,
    /// Labels put on.
    AddLabels,
    /// A label taken off.
    RemoveLabel,
    /// An assignee more.
    AddAssignee,
    /// An assignee less.
    RemoveAssignee,
    /// A new comment.
    CreateComment,
    /// A comment rewritten.
    UpdateComment,
    /// A new pull request.
    OpenPr,
    /// A pull request changed or closed.
    UpdatePr,
    /// A merge.
    MergePr,
    /// The base merged into a pull request's branch.
    UpdateBranch,
    /// Failed jobs run again.
    Rerun,
    /// A new label of the repository.
    CreateLabel,
    /// A check run or status set.
    Report,
    /// A review.
    Review,
    /// git fetches.
    GitFetch,
    /// git pushes.
    GitPush,
    /// Nothing we know.
    Other,
}

impl Op {
    /// Does it change anything?
    pub fn is_write(self) -> bool {
        !matches!(
            self,
            Self::Look
                | Self::Page
                | Self::Facts
                | Self::ListIssues
                | Self::Leases
                | Self::Permission
                | Self::Rules
                | Self::Checks
                | Self::Log
                | Self::Labels
                | Self::Read
                | Self::GitFetch
                | Self::Other
        )
    }
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Answered with this status (5xx, or 403 for a token that may not), nothing done.
    RefuseBefore(u16),
    /// The hourly limit is used up; free again so much later. Nothing done.
    PrimaryLimit(Duration),
    /// Too fast: 403 with `Retry-After`. Nothing done.
    SecondaryLimit(Duration),
    /// Too fast: 429 with `Retry-After`. Nothing done.
    TooMany(Duration),
    /// The connection is closed, nothing done.
    CutBefore,
    /// Done, then the connection is closed.
    CutAfter,
    /// Done, then half an answer.
    TruncatedJson,
    /// A read answers the state before the last write; a write is not touched.
    StaleRead,
    /// Answered so much later.
    Delay(Duration),
    /// Done, then an answer that comes byte by byte, with so much time in between.
    Drip(Duration),
    /// Done, then an answer that does not end.
    Endless,
}

/// A request, as a plan sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// What it does.
    pub op: Op,
    /// Its place among all requests, from 1.
    pub index: u64,
    /// Its place among the writes, from 1.
    pub write: Option<u64>,
}

type Hook = Box<dyn FnMut(&Asked) -> Option<Fault> + Send>;

/// Which requests meet which fault.
#[derive(Default)]
pub struct FaultPlan {
    hook: Option<Hook>,
}

impl FaultPlan {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// Asks for each request.
    pub fn ask(hook: impl FnMut(&Asked) -> Option<Fault> + Send + 'static) -> Self {
        Self {
            hook: Some(Box::new(hook)),
        }
    }

    /// The `n`th request of all time.
    pub fn at_request(n: u64, fault: Fault) -> Self {
        Self::ask(move |asked| (asked.index == n).then(|| fault.clone()))
    }

    /// The `n`th write of all time.
    pub fn at_write(n: u64, fault: Fault) -> Self {
        Self::from_write(n, 1, fault)
    }

    /// `count` writes from the `n`th on.
    pub fn from_write(n: u64, count: u64, fault: Fault) -> Self {
        Self::ask(move |asked| {
            let hit = asked
                .write
                .is_some_and(|write| (n..n + count).contains(&write));
            hit.then(|| fault.clone())
        })
    }

    /// The next `count` requests that do this.
    pub fn next(op: Op, mut count: u64, fault: Fault) -> Self {
        Self::ask(move |asked| {
            let hit = asked.op == op && count > 0;
            count -= u64::from(hit);
            hit.then(|| fault.clone())
        })
    }

    /// The `count` reads that follow the `n`th write see the state before the last write.
    pub fn stale_after_write(n: u64, mut count: u64) -> Self {
        let mut written = false;
        Self::ask(move |asked| {
            written |= asked.write == Some(n);
            let hit = written && asked.write.is_none() && count > 0;
            count -= u64::from(hit);
            hit.then_some(Fault::StaleRead)
        })
    }

    /// What this request meets.
    pub(crate) fn meet(&mut self, asked: &Asked) -> Option<Fault> {
        self.hook.as_mut().and_then(|hook| hook(asked))
    }

    /// Is there any plan? Without one no copy of the state is kept.
    pub(crate) fn is_set(&self) -> bool {
        self.hook.is_some()
    }
}
