//! What is posted about claims by hand: the lock comment, the short one of a bundle, and how they end.
//! The words that other tools look for are those of the protocol.

use std::fmt::Write as _;

use crate::model::claim::{ClaimRecord, Displaced, Ending};
use crate::model::comment::{
    ASSIGNED_BEFORE, FINISHED_MARKER, LockBy, LockMarker, key_marker, neutralise, render_lock,
    render_run,
};
use crate::model::ids::{IssueNumber, Login};

/// What the comments of one claim say besides its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed<'a> {
    /// The claim.
    pub record: &'a ClaimRecord,
    /// Who.
    pub operator: Login,
    /// The machine, for people.
    pub host: String,
    /// The word that opens a lock marker.
    pub marker: String,
    /// The claim label.
    pub label: String,
    /// How long the lease lives without a renewal.
    pub ttl_minutes: u64,
    /// After so many hours without an open pull request the claim is stale.
    pub stale_hours: u64,
}

/// The lock comment: the checkpoint of a claim by hand, or the short comment of a bundled issue.
pub fn placed(placed: &Placed<'_>) -> String {
    match placed.lead() {
        Some(lead) => bundled(placed, lead),
        None => lead(placed),
    }
}

/// The same comment once the claim is over. The marker stays as a record; nobody takes it for live.
pub fn over(placed: &Placed<'_>, ending: &Ending) -> String {
    let record = placed.record;
    let opens = match placed.lead() {
        Some(_) => key_marker(&bundled_key(record)),
        None => render_run(&record.repo, record.issue),
    };
    format!(
        "{opens}\n{FINISHED_MARKER}\n{}\n**Finished.** {}\n",
        render_lock(&placed.lock(), &placed.marker),
        ended(ending),
    )
}

/// What is said when a claim ends; nothing where it never came to stand.
pub fn released(record: &ClaimRecord, ending: &Ending) -> Option<String> {
    let key = key_marker(&released_key(record));
    let text = match ending {
        Ending::TakenBack => return None,
        Ending::Merged { pr, base } => format!(
            "Resolved by PR #{pr} (merged into `{base}`).\n\n{}",
            ended(ending)
        ),
        Ending::Abandoned { .. } | Ending::Blocked { .. } => ended(ending),
        Ending::Cleared {
            operator,
            merged,
            because,
        } => {
            let resolved = merged.as_ref().map_or_else(
                || format!("{}.", neutralise(because)),
                |(pr, base)| format!("PR #{pr} merged into `{base}`."),
            );
            format!(
                "Releasing stale lock held by `{operator}` — {resolved}\n\n{}",
                ended(ending)
            )
        }
    };
    Some(format!("{key}\n{text}\n"))
}

/// Key of the comment that `released` makes.
pub fn released_key(record: &ClaimRecord) -> String {
    format!("{}/{}/released", record.issue, record.epoch)
}

/// Key of the comment that `displaced` makes.
pub fn displaced_key(record: &ClaimRecord) -> String {
    format!("{}/{}/reclaim", record.issue, record.epoch)
}

/// A take-over, said before anything else is shown. It ends the old claim's marker for everybody.
pub fn displaced(record: &ClaimRecord, old: &Displaced, operator: &Login) -> String {
    let key = key_marker(&displaced_key(record));
    let time = |at: crate::model::ids::Timestamp| at.format("%Y-%m-%d %H:%M:%S UTC");
    let who = neutralise(&old.who);
    let because = neutralise(&old.because);
    if old.by_order {
        let since = old.since.map_or_else(String::new, |at| {
            format!(", which stood since {}", time(at))
        });
        return format!(
            "{key}\nTaking over the claim of {who}{since}: {because}.\n\n\
             Session lock released — taken over by `{operator}`. What the old session had on this \
             machine is kept; on another machine it is where it was.\n"
        );
    }
    let since = old.since.map_or_else(String::new, |at| {
        format!(" (last sign of life {})", time(at))
    });
    format!("{key}\nReclaiming stale lock from {who}{since}: {because}. Continuing work.\n")
}

impl Placed<'_> {
    fn lead(&self) -> Option<IssueNumber> {
        self.record.hand.as_ref().and_then(|hand| hand.lead)
    }

    fn lock(&self) -> LockMarker {
        let record = self.record;
        let lead = self.lead();
        // A bundled issue carries no worktree and branch of its own: copies of the lead's would drift.
        let hand = record.hand.as_ref();
        let before = hand.filter(|hand| !hand.assigned).map(drop);
        let own = |text: String| lead.is_none().then_some(text);
        LockMarker {
            operator: Some(self.operator.clone()),
            worktree: own(record.worktree.display().to_string()),
            branch: own(record.branch.to_string()),
            at: Some(record.at),
            by: LockBy::Manual,
            claim: Some(record.claim.clone()),
            bundled_with: lead,
            unknown: before
                .map(|()| (ASSIGNED_BEFORE.0.to_owned(), ASSIGNED_BEFORE.1.to_owned()))
                .into_iter()
                .collect(),
        }
    }
}

fn lead(placed: &Placed<'_>) -> String {
    let record = placed.record;
    let mut text = render_run(&record.repo, record.issue);
    let _ = write!(
        text,
        "\n{}\n**Agent session lock** — claimed with `ghswarm claim`; do not start on this issue.\n\n",
        render_lock(&placed.lock(), &placed.marker)
    );
    let rows = [
        ("operator", placed.operator.to_string()),
        ("machine", placed.host.clone()),
        ("worktree", record.worktree.display().to_string()),
        ("branch", record.branch.to_string()),
    ];
    for (name, value) in rows {
        let _ = writeln!(text, "- {name}: `{}`", value.replace('`', "'"));
    }
    let _ = write!(
        text,
        "- claimed at: {}\n\nThe lease behind this claim expires {} minutes after its last renewal. The \
         claim itself is stale after {} hours without an open pull request, and then anybody may reclaim \
         it: `ghswarm claim {}` does, or take the label `{}` and the assignee `{}` off, say so in a \
         comment (`Reclaiming stale lock from …`), and place your own.\n",
        record.at.format("%Y-%m-%d %H:%M:%S UTC"),
        placed.ttl_minutes,
        placed.stale_hours,
        record.issue,
        placed.label,
        placed.operator,
    );
    text
}

fn bundled(placed: &Placed<'_>, lead: IssueNumber) -> String {
    format!(
        "{}\n{}\n**Bundled with #{lead}** — claimed as part of the same session; see the lock on \
         #{lead}.\n",
        key_marker(&bundled_key(placed.record)),
        render_lock(&placed.lock(), &placed.marker),
    )
}

fn bundled_key(record: &ClaimRecord) -> String {
    format!("{}/{}/bundled", record.issue, record.epoch)
}

fn ended(ending: &Ending) -> String {
    match ending {
        Ending::Merged { pr, .. }
        | Ending::Cleared {
            merged: Some((pr, _)),
            ..
        } => format!("Session lock released — PR #{pr} merged."),
        Ending::Abandoned { reason } => format!(
            "Session lock released — given up: {}. The issue is free.",
            neutralise(reason.trim_end_matches('.'))
        ),
        Ending::Blocked { reason } => format!(
            "Session lock released — blocked: {}. Whoever goes on claims it afresh.",
            neutralise(reason.trim_end_matches('.'))
        ),
        Ending::TakenBack => "The claim never came to stand and was taken back.".to_owned(),
        Ending::Cleared { merged: None, .. } => {
            "Session lock released. The issue is free.".to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
