//! Lock markers in comments, judged: which of them still claim the issue (protocol.md, section 5). Only
//! comments that count are read. Whether a live one refuses us is the gate's question.

use crate::model::comment::{ASSIGNED_BEFORE, LockBy, LockMarker, is_finished, lock_markers};
use crate::model::ids::{ClaimId, IssueNumber, Login, Timestamp};
use crate::model::issue::Comment;
use crate::model::lease::LeaseReading;
use crate::model::pr::PrState;

use super::view::{ClaimView, View};

/// The words that end the locks before them where a line begins with them, whoever of those that count
/// writes them: a release, and the reclaim of a stale one. Other tools that follow the protocol write the
/// same.
const RELEASED: [&str; 2] = ["Session lock released", "Reclaiming stale lock"];

/// What a marker is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerStanding {
    /// Somebody works on the issue.
    Live,
    /// Too old, and no pull request is open: it may be reclaimed.
    Stale,
    /// Finished, released, or followed by a newer one of the same operator.
    Over,
}

/// A lock marker with its comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker<'a> {
    /// Where it stands.
    pub comment: &'a Comment,
    /// What it says.
    pub lock: LockMarker,
    /// Since when, as far as that can be believed.
    pub at: Timestamp,
    /// What it is worth.
    pub standing: MarkerStanding,
}

impl Marker<'_> {
    /// Does the session of this operator count as dead, so that its assignee may come off?
    pub(super) fn is_dead(&self, login: &Login) -> bool {
        self.lock.operator.as_ref() == Some(login)
            && match self.lock.by {
                // The lease was looked at: a loop's claim without one is none.
                LockBy::Loop => true,
                LockBy::Manual | LockBy::Other(_) => self.standing == MarkerStanding::Stale,
            }
    }
}

impl<'a> View<'a> {
    /// The last marker of every comment that counts, newest first.
    pub fn markers(&self) -> Vec<Marker<'a>> {
        let comments = &self.seen.look.comments;
        let mut found: Vec<Marker<'a>> = Vec::new();
        for (place, comment) in comments.iter().enumerate().rev() {
            if !self.counts(comment) {
                continue;
            }
            let markers = lock_markers(&comment.body, &self.policy.marker);
            let Some(lock) = markers.into_iter().next_back() else {
                continue;
            };
            let at = believed(&lock, comment);
            let newer = found.iter().any(|other| supersedes(&other.lock, &lock));
            let over = newer || is_finished(&comment.body) || self.is_released(place, at);
            let standing = if over {
                MarkerStanding::Over
            } else {
                self.standing_of(&lock, at)
            };
            found.push(Marker {
                comment,
                lock,
                at,
                standing,
            });
        }
        found
    }

    /// The newest marker that claims the issue for a person or another tool, and not for `ours`.
    pub fn rival(&self, ours: Option<&ClaimId>) -> Option<Marker<'a>> {
        let mut markers = self.markers().into_iter();
        markers.find(|marker| {
            let own = marker.lock.claim.is_some() && marker.lock.claim.as_ref() == ours;
            marker.standing == MarkerStanding::Live && marker.lock.by != LockBy::Loop && !own
        })
    }

    /// The newest marker of a person or another tool that is stale, and not for our claim.
    pub(super) fn stale_marker(&self) -> Option<Marker<'a>> {
        let ours = self.seen.local.claim.as_ref().map(|record| &record.claim);
        let mut markers = self.markers().into_iter();
        markers.find(|marker| {
            let own = marker.lock.claim.is_some() && marker.lock.claim.as_ref() == ours;
            marker.standing == MarkerStanding::Stale && marker.lock.by != LockBy::Loop && !own
        })
    }

    /// Did a claim by hand under our login put our operator on the issue, in this home or another one? Then
    /// whoever follows it takes that assignee off in its place.
    pub fn is_assigned_by_claim(&self) -> bool {
        let (name, before) = ASSIGNED_BEFORE;
        self.markers().iter().any(|marker| {
            let lock = &marker.lock;
            let stands = marker.standing != MarkerStanding::Over && lock.by != LockBy::Loop;
            let placed = lock.unknown.get(name).is_none_or(|word| word != before);
            stands && placed && lock.operator.as_ref() == Some(self.operator())
        })
    }

    /// Our claim's own marker, once its comment stands.
    pub fn own_marker(&self) -> Option<Marker<'a>> {
        let ours = self.seen.local.claim.as_ref().map(|record| &record.claim)?;
        self.own_marker_of(ours)
    }

    /// The marker that our login placed for this claim.
    pub fn own_marker_of(&self, ours: &ClaimId) -> Option<Marker<'a>> {
        let mut markers = self.markers().into_iter();
        markers.find(|marker| {
            let author = marker.comment.author.as_ref();
            let mine = author.is_some_and(|author| author.login == *self.operator());
            mine && marker.lock.claim.as_ref() == Some(ours)
        })
    }

    /// Is our claim lost for good: to another claim, or, where no lease is left to tell, because our own
    /// marker was ended? Without the second question a claim that was taken over would come back to life
    /// once the one that displaced it is released.
    pub fn is_displaced(&self) -> bool {
        match self.claim {
            ClaimView::Lost => true,
            ClaimView::WithoutLease => self
                .own_marker()
                .is_some_and(|marker| marker.standing == MarkerStanding::Over),
            ClaimView::None | ClaimView::Ours(_) => false,
        }
    }

    /// A rival that placed its marker before ours. Both sides work this out for themselves, so what the
    /// markers say counts here as it stands; the comment's number decides between two of one second.
    pub(super) fn earlier_rival(&self, ours: &Marker<'_>) -> Option<Marker<'a>> {
        let place = |marker: &Marker<'_>| (marker.lock.at.unwrap_or(marker.at), marker.comment.id);
        let claim = ours.lock.claim.as_ref();
        self.rival(claim).filter(|rival| place(rival) < place(ours))
    }

    /// Leads of bundles that markers here name: what they are worth depends on another issue.
    pub fn leads(&self) -> Vec<IssueNumber> {
        let open = |marker: &Marker<'_>| marker.standing != MarkerStanding::Over;
        let mut leads: Vec<IssueNumber> = self
            .markers()
            .into_iter()
            .filter(open)
            .filter_map(|marker| marker.lock.bundled_with)
            .filter(|lead| *lead != self.issue.number)
            .collect();
        leads.sort_unstable();
        leads.dedup();
        leads
    }

    /// Is the issue claimed by a lease or by a marker, whoever it is? What bundles ask about their lead.
    pub fn is_claimed(&self) -> bool {
        matches!(self.lease, LeaseReading::Held { expired: false, .. })
            || self
                .markers()
                .iter()
                .any(|marker| marker.standing == MarkerStanding::Live)
    }

    /// Two conditions make a marker stale: its age, and that no pull request is open. A lock of three
    /// days with a healthy pull request is at work.
    fn standing_of(&self, lock: &LockMarker, at: Timestamp) -> MarkerStanding {
        let live = match lock.by {
            LockBy::Loop => self.lease_carries(lock),
            LockBy::Manual | LockBy::Other(_) => {
                let young = self.now < at + self.policy.stale_window;
                let lead = lock
                    .bundled_with
                    .and_then(|lead| self.seen.leads.get(&lead));
                lead.copied()
                    .unwrap_or_else(|| young || self.has_open_pr(lock.branch.as_deref()))
            }
        };
        if live {
            MarkerStanding::Live
        } else {
            MarkerStanding::Stale
        }
    }

    fn lease_carries(&self, lock: &LockMarker) -> bool {
        match &self.lease {
            LeaseReading::Held {
                message,
                expired: false,
                ..
            } => lock.claim.is_none() || message.claim == lock.claim,
            LeaseReading::Held { .. }
            | LeaseReading::Free
            | LeaseReading::Tombstone
            | LeaseReading::Odd { .. } => false,
        }
    }

    /// Is a pull request for the issue open: one that GitHub links to it, or one of this branch? A
    /// stranger's fork that merely says "closes" keeps no lock alive.
    pub fn has_open_pr(&self, branch: Option<&str>) -> bool {
        let here = Some(self.seen.repo.id);
        let linked = self.issue.linked_prs.iter().any(|pr| {
            pr.head_repo == here || branch.is_some_and(|branch| pr.head_ref.as_str() == branch)
        });
        linked
            || self.seen.look.prs.iter().any(|pr| {
                let named = branch.is_none_or(|branch| pr.head_ref.as_str() == branch);
                pr.state == PrState::Open && pr.head_repo == here && named
            })
    }

    fn is_released(&self, place: usize, at: Timestamp) -> bool {
        let later = self.seen.look.comments.iter().skip(place + 1);
        let mut words = later.filter(|comment| ends_locks(&comment.body));
        words.any(|comment| comment.created_at >= at && self.counts(comment))
    }
}

/// Emphasis before the words is fine; a quote, or a sentence that mentions them, ends nothing.
fn ends_locks(body: &str) -> bool {
    let plain = |line: &str| line.trim_start_matches([' ', '*', '_']).to_owned();
    let begins = |line: &str| RELEASED.iter().any(|words| line.starts_with(words));
    body.lines().map(plain).any(|line| begins(&line))
}

/// A marker without a time is as old as its comment; one that says it will be placed later is not
/// believed, else it would never get stale.
fn believed(lock: &LockMarker, comment: &Comment) -> Timestamp {
    let written = comment.edited_at.unwrap_or(comment.created_at);
    lock.at.map_or(comment.created_at, |at| at.min(written))
}

/// Of several markers of one operator only the newest counts. The loop's live and die with their leases.
fn supersedes(newer: &LockMarker, older: &LockMarker) -> bool {
    let same = newer.operator.is_some() && newer.operator == older.operator;
    same && newer.by != LockBy::Loop && older.by != LockBy::Loop
}
