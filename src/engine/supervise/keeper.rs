//! Keeps the lease of one run: renews it, looks at it, and says how it stands. It never touches the
//! run; the course of the command asks it at each tick.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::engine::renew::{IfMissing, LeaseLook, RenewOutcome, look, renew};
use crate::model::limits::{LEASE_LOOK_EVERY, RENEW_PARTS, RENEW_RETRY_EVERY, SUPERVISE_TICK_MAX};
use crate::model::run::{RunLease, RunSpec};
use crate::ports::processes::Frozen;
use crate::ports::{PortError, Refusal};

use super::Parts;

/// How the lease stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody may take it yet (or the run needs none).
    Good,
    /// Past the deadline, or not known yet.
    Late,
    /// Somebody else has it.
    Lost(String),
    /// It was given back.
    Released,
}

/// The keeper.
pub(super) struct Keeper<'a> {
    parts: &'a Parts<'a>,
    lease: Option<&'a RunLease>,
    /// How long after `good_since` the lease is good.
    good_for: Duration,
    view: Mutex<View>,
}

#[derive(Debug, Default)]
struct View {
    /// Boot time when the last successful renewal was sent.
    good_since: Option<Duration>,
    /// Boot time when the refs were last read.
    looked: Option<Duration>,
    /// Boot time before which nothing is asked.
    not_before: Duration,
    lost: Option<String>,
    released: bool,
    trouble: Option<String>,
    shown: Option<Frozen>,
}

/// What is to be asked next.
enum Due {
    Renewal,
    Look,
    Nothing,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(parts: &'a Parts<'a>, spec: &'a RunSpec) -> Self {
        let lease = spec.lease.as_ref();
        let good_for = lease.map_or(Duration::ZERO, |lease| {
            // At the deadline there must be time to end the run, should it come to that, before
            // anybody may steal.
            lease
                .ttl
                .saturating_sub(spec.clocks.kill_grace + lease.margin)
        });
        let now = parts.clock.boot_time();
        // A time to come is of another boot.
        let good_since = lease
            .and_then(|lease| lease.good_since)
            .filter(|since| *since <= now);
        let view = Mutex::new(View {
            good_since,
            looked: good_since,
            ..View::default()
        });
        Self {
            parts,
            lease,
            good_for,
            view,
        }
    }

    pub(super) fn has_lease(&self) -> bool {
        self.lease.is_some()
    }

    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it stands at this moment.
    pub(super) fn standing(&self) -> Standing {
        if self.lease.is_none() {
            return Standing::Good;
        }
        let now = self.parts.clock.boot_time();
        let view = self.view();
        if let Some(holder) = &view.lost {
            return Standing::Lost(holder.clone());
        }
        if view.released {
            return Standing::Released;
        }
        match view.good_since {
            Some(since) if now < since + self.good_for => Standing::Good,
            Some(_) | None => Standing::Late,
        }
    }

    /// Why there is no answer.
    pub(super) fn trouble(&self) -> Option<String> {
        self.view().trouble.clone()
    }

    /// Shows in the folder that the run waits, when that changes.
    pub(super) fn show_frozen(&self, shown: Frozen) {
        let before = self.view().shown.replace(shown);
        if before.unwrap_or(Frozen::No) != shown {
            self.parts.processes.show_frozen(shown);
        }
    }

    /// Keeps the lease until dropped.
    pub(super) async fn keep(&self, missing: IfMissing) -> Infallible {
        loop {
            if let Some(lease) = self.lease {
                self.act(lease, missing).await;
            }
            // Short, since the clock that waits does not count sleep: after a closed lid the first
            // thing to do is to ask.
            self.parts.clock.sleep(SUPERVISE_TICK_MAX).await;
        }
    }

    async fn act(&self, lease: &RunLease, missing: IfMissing) {
        let sent = self.parts.clock.boot_time();
        let Some(github) = self.parts.github else {
            let message = "the starter named no GitHub";
            let error = PortError::refused("renew the lease", Refusal::Local, message);
            return self.take_trouble(lease, &error);
        };
        match self.due(lease, sent) {
            Due::Nothing => {}
            Due::Look => {
                let seen = look(github, lease).await;
                self.take_look(lease, seen, sent);
            }
            Due::Renewal => {
                let missing = || self.if_missing(lease, missing);
                let outcome = renew(github, lease, self.parts.nonce, &missing).await;
                self.take_renewal(lease, outcome, sent);
            }
        }
    }

    /// Once the lease has run out, a ref that is not there was rather given back by its next holder
    /// than deleted by a person: then the issue has gone on without us, and to take it again is a
    /// claim, which is not a supervisor's to make.
    fn if_missing(&self, lease: &RunLease, wanted: IfMissing) -> IfMissing {
        let now = self.parts.clock.boot_time();
        let ran_out = |since| now >= since + lease.ttl + lease.margin;
        if self.view().good_since.is_some_and(ran_out) {
            IfMissing::LetGo
        } else {
            wanted
        }
    }

    fn due(&self, lease: &RunLease, now: Duration) -> Due {
        let view = self.view();
        if view.lost.is_some() || view.released || now < view.not_before {
            return Due::Nothing;
        }
        let part = lease.ttl / RENEW_PARTS;
        if view.good_since.is_none_or(|since| now >= since + part) {
            return Due::Renewal;
        }
        let every = part.min(LEASE_LOOK_EVERY);
        if view.looked.is_none_or(|looked| now >= looked + every) {
            Due::Look
        } else {
            Due::Nothing
        }
    }

    fn take_renewal(&self, lease: &RunLease, outcome: RenewOutcome, sent: Duration) {
        match outcome {
            RenewOutcome::Renewed { .. } => {
                let mut view = self.view();
                view.good_since = Some(sent);
                view.looked = Some(sent);
                view.trouble = None;
            }
            RenewOutcome::Lost { holder } => self.view().lost = Some(holder),
            RenewOutcome::Released => self.view().released = true,
            RenewOutcome::Unanswered(error) => self.take_trouble(lease, &error),
        }
    }

    fn take_look(&self, lease: &RunLease, seen: LeaseLook, sent: Duration) {
        match seen {
            LeaseLook::Ours { age } => {
                let mut view = self.view();
                view.looked = Some(sent);
                // A renewal whose answer was lost shows here.
                let since = sent.checked_sub(age);
                view.good_since = view.good_since.max(since);
            }
            // The renewal sorts out what it is. How long the lease was good does not change: the
            // thief by DELETE has not claimed yet.
            LeaseLook::Shaken => {
                let mut view = self.view();
                view.looked = Some(sent);
                let part = lease.ttl / RENEW_PARTS;
                view.good_since = view
                    .good_since
                    .map(|since| since.min(sent.saturating_sub(part)));
            }
            LeaseLook::Lost { holder } => self.view().lost = Some(holder),
            LeaseLook::Unanswered(error) => self.take_trouble(lease, &error),
        }
    }

    fn take_trouble(&self, lease: &RunLease, error: &PortError) {
        tracing::warn!("the lease: {error}");
        let soon = RENEW_RETRY_EVERY.min(lease.ttl / (RENEW_PARTS * 4));
        let pause = match error {
            PortError::Unavailable {
                retry_at: Some(at), ..
            } => (*at - self.parts.clock.now())
                .to_std()
                .unwrap_or_default()
                .max(soon),
            PortError::Unavailable { .. }
            | PortError::Refused { .. }
            | PortError::Unknown { .. } => soon,
        };
        let now = self.parts.clock.boot_time();
        let mut view = self.view();
        view.trouble = Some(error.to_string());
        view.not_before = now + pause;
    }
}
