//! One way on trial: the checks in their order, each building on the one before, and the tidying up.

use std::collections::BTreeMap;

use crate::model::ids::{RefName, Sha, Timestamp};
use crate::model::lease::{
    LeaseCommit, LeaseMargins, LeaseReading, RefSwap, SwapOutcome, Way, read_lease,
};
use crate::ports::github::NewCommit;
use crate::ports::{PortError, PortResult, Refusal};

use super::{Check, ProbeParts, READ_EVERY, READS_MAX, Verdict};

/// What the checks made. REST compares by descent alone, so it matters whose child each is.
#[derive(Default)]
struct Commits {
    first: Option<Sha>,
    /// A child of the first.
    second: Option<Sha>,
    /// Another child of the first.
    aside: Option<Sha>,
    /// A child of the second.
    third: Option<Sha>,
}

/// A way on trial.
pub(super) struct Trial<'a> {
    parts: &'a ProbeParts<'a>,
    way: Way,
    tree: Sha,
    /// The ref that stands for an issue's lease.
    one: RefName,
    /// The ref that stands for a slot.
    two: RefName,
    made: Commits,
}

/// What the refs point at; absent: there is no such ref.
type Seen = BTreeMap<RefName, LeaseCommit>;

/// Why a check did not end well.
enum Failed {
    Wrong(String),
    Port(PortError),
}

impl From<PortError> for Failed {
    fn from(error: PortError) -> Self {
        Self::Port(error)
    }
}

impl<'a> Trial<'a> {
    /// `prefix` is `refs/<namespace>/probe-`.
    pub(super) fn new(
        parts: &'a ProbeParts<'a>,
        way: Way,
        prefix: &str,
        tree: Sha,
    ) -> PortResult<Self> {
        let random = (parts.random)();
        let name = |end: &str| {
            RefName::new(format!("{prefix}{random}{end}")).map_err(|error| {
                PortError::refused("name a ref", Refusal::Local, error.to_string())
            })
        };
        Ok(Self {
            parts,
            way,
            tree,
            one: name("")?,
            two: name("-2")?,
            made: Commits::default(),
        })
    }

    /// Every check up to the first that fails.
    pub(super) async fn run(&mut self) -> Vec<(Check, Verdict)> {
        let mut verdicts = Vec::new();
        let mut failed = false;
        for check in Check::ALL {
            let verdict = if failed {
                Verdict::NotTried
            } else {
                match self.check(check).await {
                    Ok(()) => Verdict::Good,
                    Err(Failed::Wrong(what)) => Verdict::Wrong(what),
                    Err(Failed::Port(error)) if error.refusal().is_some() => {
                        Verdict::Refused(error)
                    }
                    Err(Failed::Port(error)) => Verdict::Unanswered(error),
                }
            };
            failed |= verdict != Verdict::Good;
            verdicts.push((check, verdict));
        }
        verdicts
    }

    async fn check(&mut self, check: Check) -> Result<(), Failed> {
        match check {
            Check::Create => self.create().await,
            Check::CreateAgain => self.create_again().await,
            Check::Swap => self.swap().await,
            Check::StaleSwap => self.stale_swap().await,
            Check::Pair => self.pair().await,
            Check::StalePair => self.stale_pair().await,
            Check::StaleRelease => self.stale_release().await,
            Check::Release => self.release().await,
        }
    }

    async fn create(&mut self) -> Result<(), Failed> {
        let first = self.commit(None).await?;
        self.made.first = Some(first.clone());
        let create = [swap(&self.one, None, Some(&first))];
        self.moves(&create).await
    }

    async fn create_again(&mut self) -> Result<(), Failed> {
        let first = made(self.made.first.as_ref())?;
        let second = self.commit(Some(&first)).await?;
        self.made.second = Some(second.clone());
        let again = [swap(&self.one, None, Some(&second))];
        self.is_refused(&again, &first).await
    }

    async fn swap(&mut self) -> Result<(), Failed> {
        let first = made(self.made.first.as_ref())?;
        let second = made(self.made.second.as_ref())?;
        let moved = [swap(&self.one, Some(&first), Some(&second))];
        self.moves(&moved).await
    }

    async fn stale_swap(&mut self) -> Result<(), Failed> {
        let first = made(self.made.first.as_ref())?;
        let second = made(self.made.second.as_ref())?;
        let aside = self.commit(Some(&first)).await?;
        self.made.aside = Some(aside.clone());
        let late = [swap(&self.one, Some(&first), Some(&aside))];
        self.is_refused(&late, &second).await
    }

    async fn pair(&mut self) -> Result<(), Failed> {
        let second = made(self.made.second.as_ref())?;
        let third = self.commit(Some(&second)).await?;
        self.made.third = Some(third.clone());
        let both = [
            swap(&self.one, Some(&second), Some(&third)),
            swap(&self.two, None, Some(&third)),
        ];
        self.moves(&both).await
    }

    async fn stale_pair(&mut self) -> Result<(), Failed> {
        let third = made(self.made.third.as_ref())?;
        let first = made(self.made.first.as_ref())?;
        let aside = made(self.made.aside.as_ref())?;
        let fourth = self.commit(Some(&third)).await?;
        let before = self.read().await?;
        // The first ref would move; the second is not where the swap says.
        let both = [
            swap(&self.one, Some(&third), Some(&fourth)),
            swap(&self.two, Some(&first), Some(&aside)),
        ];
        self.answers(&both, SwapOutcome::Stale).await?;
        let after = self.read().await?;
        for name in [&self.one, &self.two] {
            let (was, is) = (before.get(name), after.get(name));
            let same = was.map(|c| &c.oid) == is.map(|c| &c.oid);
            // REST moves one after the other, and puts a copy of what was there on top of what it moved.
            let back = self.way == Way::Rest && was.map(|c| &c.message) == is.map(|c| &c.message);
            if !same && !back {
                return wrong(format!("`{name}` moved although the other ref was stale"));
            }
        }
        Ok(())
    }

    async fn stale_release(&mut self) -> Result<(), Failed> {
        let first = made(self.made.first.as_ref())?;
        let now = self.place(&self.one).await?;
        let late = [swap(&self.one, Some(&first), None)];
        self.is_refused(&late, &now).await
    }

    async fn release(&mut self) -> Result<(), Failed> {
        let now = (self.place(&self.one).await?, self.place(&self.two).await?);
        let both = [
            swap(&self.one, Some(&now.0), None),
            swap(&self.two, Some(&now.1), None),
        ];
        self.moves(&both).await
    }

    /// A commit that says whose it is, and that no other equals.
    async fn commit(&self, parent: Option<&Sha>) -> PortResult<Sha> {
        let nonce = (self.parts.random)();
        let message = serde_json::json!({ "v": 1, "probe": self.one.as_str(), "n": nonce });
        let commit = NewCommit {
            message: message.to_string(),
            tree: self.tree.clone(),
            parents: parent.into_iter().cloned().collect(),
        };
        self.parts.ways.create_commit_by(self.way, &commit).await
    }

    async fn answers(&self, swaps: &[RefSwap], wanted: SwapOutcome) -> Result<(), Failed> {
        let outcome = self.parts.ways.swap_refs_by(self.way, swaps).await?;
        match (outcome, wanted) {
            (SwapOutcome::Swapped, SwapOutcome::Stale) => {
                wrong("it moved although it was not where the swap said".to_owned())
            }
            (SwapOutcome::Stale, SwapOutcome::Swapped) => {
                wrong("it was refused as stale although nobody had moved it".to_owned())
            }
            (SwapOutcome::Swapped, SwapOutcome::Swapped)
            | (SwapOutcome::Stale, SwapOutcome::Stale) => Ok(()),
        }
    }

    /// The refs move, and are where they were moved to.
    async fn moves(&self, swaps: &[RefSwap]) -> Result<(), Failed> {
        self.answers(swaps, SwapOutcome::Swapped).await?;
        for tries in 1.. {
            let (now, seen) = self.parts.github.read_leases(&self.names()).await?;
            let is_there = |swap: &&RefSwap| shows(seen.get(&swap.name), swap, now);
            match swaps.iter().find(|swap| !is_there(swap)) {
                None => break,
                Some(swap) if tries >= READS_MAX => {
                    return wrong(format!("`{}` does not show it", swap.name));
                }
                Some(_) => self.parts.clock.sleep(READ_EVERY).await,
            }
        }
        Ok(())
    }

    /// The first ref is not moved from `at`.
    async fn is_refused(&self, swaps: &[RefSwap], at: &Sha) -> Result<(), Failed> {
        self.answers(swaps, SwapOutcome::Stale).await?;
        if self.place(&self.one).await? == *at {
            return Ok(());
        }
        wrong("it was called stale, and moved all the same".to_owned())
    }

    async fn place(&self, name: &RefName) -> Result<Sha, Failed> {
        let seen = self.read().await?;
        match seen.get(name) {
            Some(commit) => Ok(commit.oid.clone()),
            None => wrong(format!("`{name}` is gone")),
        }
    }

    async fn read(&self) -> PortResult<Seen> {
        let (_, seen) = self.parts.github.read_leases(&self.names()).await?;
        Ok(seen)
    }

    fn names(&self) -> [RefName; 2] {
        [self.one.clone(), self.two.clone()]
    }

    /// Removes what is left of the trial; answers what could not be removed.
    pub(super) async fn tidy(&self) -> Vec<RefName> {
        let mut left = Vec::new();
        for name in self.names() {
            if let Err(error) = remove(self.parts, self.way, &name).await {
                tracing::warn!(%error, "`{name}` stays");
                left.push(name);
            }
        }
        left
    }
}

/// Is the ref where the swap puts it? A release by REST leaves a tombstone.
fn shows(commit: Option<&LeaseCommit>, swap: &RefSwap, now: Timestamp) -> bool {
    match &swap.after {
        Some(after) => commit.is_some_and(|commit| commit.oid == *after),
        None => matches!(
            read_lease(commit, now, now, &LeaseMargins::default()),
            LeaseReading::Free | LeaseReading::Tombstone
        ),
    }
}

/// Removes a ref of a probe; first by the way that made it, then by the others.
pub(super) async fn remove(parts: &ProbeParts<'_>, first: Way, name: &RefName) -> PortResult<()> {
    let others = [Way::Rest, Way::GraphQl, Way::GitPush];
    let others = others.into_iter().filter(|way| *way != first);
    let mut last = None;
    for way in std::iter::once(first).chain(others) {
        let (_, seen) = parts.github.read_leases(std::slice::from_ref(name)).await?;
        let Some(commit) = seen.get(name) else {
            return Ok(());
        };
        match remove_by(parts, way, commit).await {
            Ok(()) => return Ok(()),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| PortError::unknown("remove a ref", "nothing was tried")))
}

async fn remove_by(parts: &ProbeParts<'_>, way: Way, commit: &LeaseCommit) -> PortResult<()> {
    if way == Way::Rest {
        return parts.ways.remove_ref(&commit.name, &commit.oid).await;
    }
    let gone = [swap(&commit.name, Some(&commit.oid), None)];
    match parts.ways.swap_refs_by(way, &gone).await? {
        SwapOutcome::Swapped => Ok(()),
        SwapOutcome::Stale => {
            let what = format!("remove `{}`", commit.name);
            Err(PortError::refused(what, Refusal::Stale, "it moved"))
        }
    }
}

fn swap(name: &RefName, before: Option<&Sha>, after: Option<&Sha>) -> RefSwap {
    RefSwap {
        name: name.clone(),
        before: before.cloned(),
        after: after.cloned(),
    }
}

/// What an earlier check made; checks stop at the first that fails.
fn made(commit: Option<&Sha>) -> Result<Sha, Failed> {
    match commit {
        Some(commit) => Ok(commit.clone()),
        None => wrong("an earlier check made no commit".to_owned()),
    }
}

fn wrong<T>(what: String) -> Result<T, Failed> {
    Err(Failed::Wrong(what))
}
