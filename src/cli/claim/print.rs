//! What `claim` prints: where to work, who has it, what was swept. Decides nothing.

use std::path::Path;

use serde_json::{Value, json};

use super::super::output;
use super::super::wiring::Opened;
use crate::comments::freeing;
use crate::decide::Holding;
use crate::engine::claims::{
    ClaimOutcome, Claimed, DryRun, HandStanding, Place, Refused, ReleaseOutcome, Swept, SweptHow,
    Verdict,
};
use crate::model::claim::Ending;
use crate::model::comment::strip_ansi;
use crate::model::ids::{IssueNumber, Timestamp};

pub(super) fn outcome(opened: &Opened, outcome: &ClaimOutcome) {
    match outcome {
        ClaimOutcome::Claimed(claimed) => won(opened, claimed),
        ClaimOutcome::Refused(refused) => lost(opened, refused),
        ClaimOutcome::NoLead { issue, because } => {
            output::say(&format!("#{issue} not claimed: {because}"));
        }
    }
}

fn won(opened: &Opened, claimed: &Claimed) {
    let issue = claimed.issue;
    output::data(&format!("#{issue} claimed: {}", strip_ansi(&claimed.title)));
    let mut rows = vec![("branch", claimed.branch.to_string())];
    rows.push(("worktree", claimed.worktree.display().to_string()));
    rows.extend(
        claimed
            .expires
            .map(|at| ("lease", format!("until {}", time(at)))),
    );
    rows.extend(
        claimed
            .lead
            .map(|lead| ("bundle", format!("goes along with #{lead}"))),
    );
    let old = claimed.displaced.as_ref();
    rows.extend(old.map(|old| ("instead", format!("of {}", old.who))));
    let archived = claimed.archived.as_ref();
    rows.extend(archived.map(|path| ("archive", path.display().to_string())));
    for name in &claimed.salvaged {
        rows.push(("saved", format!("{name}")));
    }
    for (name, value) in rows {
        output::data(&format!("  {name:<9} {value}"));
    }
    if claimed.lead.is_some() {
        return;
    }
    let place = match &opened.clone {
        Some(_) => String::new(),
        None => format!(", in a clone of `{}`", opened.name()),
    };
    output::data(&format!("  begin{place}:"));
    for command in begin(opened, &place_of(claimed)) {
        output::data(&format!("    {command}"));
    }
    output::data(&format!(
        "  end:      ghswarm claim release {issue} --merged PR | --abandoned REASON | --blocked REASON"
    ));
}

fn place_of(claimed: &Claimed) -> Place {
    Place {
        branch: claimed.branch.clone(),
        base: claimed.base.clone(),
        pushed: claimed.pushed,
        worktree: claimed.worktree.clone(),
        lead: claimed.lead,
    }
}

/// The commands that make the worktree: the base fetched by name, since a clone of one branch would not
/// otherwise, and only then the cut.
fn begin(opened: &Opened, place: &Place) -> Vec<String> {
    let path = quoted(&place.worktree);
    if place.worktree.exists() {
        return vec![format!("cd {path}")];
    }
    let git = match &opened.clone {
        Some(clone) => format!("git -C {}", quoted(clone)),
        None => "git".to_owned(),
    };
    let branch = &place.branch;
    // Work that is there already is gone on from, never cut anew.
    let from = if place.pushed {
        Some(branch)
    } else {
        place.base.as_ref()
    };
    let Some(from) = from else {
        return vec![format!("{git} worktree add {path} {branch}")];
    };
    let fetch = format!("{git} fetch origin +{from}:refs/remotes/origin/{from}");
    let add = if opened.has_branch(branch) {
        format!("{git} worktree add {path} {branch}")
    } else {
        format!("{git} worktree add -b {branch} {path} origin/{from}")
    };
    vec![fetch, add]
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    shlex::try_quote(&text).map_or_else(|_| text.clone(), std::borrow::Cow::into_owned)
}

fn lost(opened: &Opened, refused: &Refused) {
    let issue = refused.issue;
    output::say(&format!("#{issue} not claimed: {}", refused.why));
    let Some(holding) = &refused.holding else {
        let labels = &opened.engine.policy.labels;
        if let Some(frees) = freeing::frees(&refused.why, issue, labels) {
            output::say(&format!("  to free it: {frees}"));
        }
        return;
    };
    for line in holding.lines() {
        output::say(&strip_ansi(&line));
    }
    for line in resume(opened, refused, holding) {
        output::say(&format!("  resume:    {line}"));
    }
    let by_hand = refused.place.is_some() && holding.by != "loop";
    if by_hand {
        output::say(&format!(
            "  give back: ghswarm claim release {issue} --merged PR | --abandoned REASON | --blocked REASON"
        ));
    }
    if let Some(stop) = &refused.stops {
        let frees = freeing::frees(stop, issue, &opened.engine.policy.labels);
        let frees = frees.map_or_else(String::new, |frees| format!(" ({frees})"));
        output::say(&format!("  no order takes it over: {stop}{frees}"));
        return;
    }
    output::say(&format!(
        "  or take it over, once you have read the comment: ghswarm claim {issue} --take-over"
    ));
}

/// Where the work goes on: commands that work as they stand, where it is this home's.
fn resume(opened: &Opened, refused: &Refused, holding: &Holding) -> Vec<String> {
    let issue = refused.issue;
    match &refused.place {
        Some(_) if holding.by == "loop" => vec![format!("ghswarm logs {issue} -f")],
        Some(place) => match place.lead {
            Some(lead) if !place.worktree.exists() => vec![format!("ghswarm claim check {lead}")],
            Some(_) | None => begin(opened, place),
        },
        None if holding.worktree.is_some() => {
            vec!["on that machine, in that worktree; or ask them on the issue".to_owned()]
        }
        None => vec!["only where it was claimed; ask them on the issue".to_owned()],
    }
}

pub(super) fn outcome_json(opened: &Opened, outcome: &ClaimOutcome) -> Value {
    match outcome {
        ClaimOutcome::Claimed(claimed) => json!({
            "issue": claimed.issue,
            "claimed": true,
            "title": claimed.title,
            "url": claimed.url,
            "claim": claimed.claim,
            "branch": claimed.branch,
            "worktree": claimed.worktree,
            "base": claimed.base,
            "expires": claimed.expires,
            "bundled_with": claimed.lead,
            "displaced": claimed.displaced,
            "archive": claimed.archived,
            "saved": claimed.salvaged,
            "begin": if claimed.lead.is_some() { Vec::new() } else { begin(opened, &place_of(claimed)) },
        }),
        ClaimOutcome::Refused(refused) => json!({
            "issue": refused.issue,
            "claimed": false,
            "code": refused.why.code(),
            "why": refused.why.to_string(),
            "holding": refused.holding,
            "resume": refused.holding.as_ref().map(|held| resume(opened, refused, held)),
        }),
        ClaimOutcome::NoLead { issue, because } => json!({
            "issue": issue, "claimed": false, "code": "no_lead", "why": because,
        }),
    }
}

pub(super) fn release(issue: IssueNumber, outcome: &ReleaseOutcome) {
    match outcome {
        ReleaseOutcome::Released { ending, issues } => {
            for one in issues {
                output::data(&format!("#{one} released: {}", ended(ending)));
            }
        }
        ReleaseOutcome::Lost { holding } | ReleaseOutcome::NotClaimed { holding } => {
            let words = match (outcome, holding) {
                (ReleaseOutcome::Lost { .. }, Some(_)) => {
                    "lost: somebody else holds the lease by now; nothing was written"
                }
                (ReleaseOutcome::Lost { .. }, None) => {
                    "lost: it was taken over and given back meanwhile, or given back already; nothing was written"
                }
                _ => "not released: this home has no claim by hand on it",
            };
            output::say(&format!("#{issue} {words}"));
            for line in holding.iter().flat_map(crate::decide::Holding::lines) {
                output::say(&strip_ansi(&line));
            }
        }
        ReleaseOutcome::WrongPr { because, .. } => {
            output::say(&format!("#{issue} not released: {because}"));
            let how =
                format!("ghswarm claim release {issue} --abandoned REASON (or --blocked REASON)");
            output::say(&format!("  if it ended otherwise: {how}"));
        }
    }
}

fn ended(ending: &Ending) -> String {
    match ending {
        Ending::Merged { pr, base } => format!("PR #{pr} merged into `{base}`"),
        Ending::Abandoned { .. } => "given up, the issue is free".to_owned(),
        Ending::Blocked { .. } => "blocked, the assignee stays".to_owned(),
        Ending::TakenBack => "taken back".to_owned(),
        Ending::Cleared { operator, .. } => format!("the claim of @{operator} was cleared"),
    }
}

pub(super) fn release_json(issue: IssueNumber, outcome: &ReleaseOutcome) -> Value {
    match outcome {
        ReleaseOutcome::Released { ending, issues } => json!({
            "issue": issue, "released": true, "ending": ending, "issues": issues,
        }),
        ReleaseOutcome::Lost { holding } => json!({
            "issue": issue, "released": false, "code": "lost", "holding": holding,
        }),
        ReleaseOutcome::NotClaimed { holding } => json!({
            "issue": issue, "released": false, "code": "not_claimed", "holding": holding,
        }),
        ReleaseOutcome::WrongPr { pr, because } => json!({
            "issue": issue, "released": false, "code": "wrong_pr", "pr": pr, "why": because,
        }),
    }
}

pub(super) fn standing(opened: &Opened, standing: &HandStanding) {
    let issue = standing.issue;
    let word = word(standing.verdict);
    let why = standing.why.as_ref();
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    output::data(&format!("#{issue} {word}{why}"));
    for line in standing
        .holding
        .iter()
        .flat_map(crate::decide::Holding::lines)
    {
        output::data(&strip_ansi(&line));
    }
    if standing.unfinished {
        let how = format!("ghswarm claim {issue}, or ghswarm claim sweep");
        output::say(&format!("  a call was cut off; to finish it: {how}"));
    }
    let ours = standing.verdict == Verdict::Ours;
    if ours && standing.expires.is_none() {
        output::say(&format!(
            "  its lease ran out; renew it: ghswarm claim renew {issue}"
        ));
    }
    if standing.verdict == Verdict::Displaced {
        output::say(&format!(
            "  your claim was given back or taken over; to have it again: ghswarm claim {issue}"
        ));
    }
    let nobody = standing.holding.is_none();
    let labels = &opened.engine.policy.labels;
    let frees = standing.why.as_ref().filter(|_| nobody);
    if let Some(frees) = frees.and_then(|why| freeing::frees(why, issue, labels)) {
        output::say(&format!("  to free it: {frees}"));
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Free => "free",
        Verdict::Ours => "ours",
        Verdict::Held => "held",
        Verdict::Displaced => "displaced",
    }
}

pub(super) fn standing_json(standing: &HandStanding) -> Value {
    json!({
        "issue": standing.issue,
        "verdict": word(standing.verdict),
        "code": standing.why.as_ref().map(crate::decide::Why::code),
        "why": standing.why.as_ref().map(ToString::to_string),
        "holding": standing.holding,
        "expires": standing.expires,
        "unfinished": standing.unfinished,
    })
}

pub(super) fn swept(one: &Swept, dry: DryRun) -> String {
    let would = |done: &str, plan: &str| match dry {
        DryRun::No => done.to_owned(),
        DryRun::Yes => plan.to_owned(),
    };
    let words = match &one.how {
        SweptHow::Finished => would(
            "what was cut off is finished",
            "a call was cut off: would finish it",
        ),
        SweptHow::Merged { pr } => {
            let done = would("released and closed", "would release and close it");
            format!("PR #{pr} is merged: {done}")
        }
        SweptHow::Dead { because } => {
            let done = would("released", "would release it");
            format!("{because}: {done}")
        }
        SweptHow::Displaced => {
            let done = would("its record is archived", "would archive its record");
            format!("the claim was given back or taken over: {done}")
        }
        SweptHow::Skipped { because } => format!("skipped: {because}"),
        SweptHow::Active => "active: left alone".to_owned(),
        SweptHow::Stale => "stale, without a pull request: the next claim takes it over".to_owned(),
    };
    format!("#{} {}: {words}", one.issue, one.whose)
}

pub(super) fn swept_json(one: &Swept) -> Value {
    let (how, pr, because) = match &one.how {
        SweptHow::Finished => ("finished", None, None),
        SweptHow::Merged { pr } => ("merged", Some(pr), None),
        SweptHow::Dead { because } => ("dead", None, Some(because)),
        SweptHow::Displaced => ("displaced", None, None),
        SweptHow::Skipped { because } => ("skipped", None, Some(because)),
        SweptHow::Active => ("active", None, None),
        SweptHow::Stale => ("stale", None, None),
    };
    json!({ "issue": one.issue, "whose": one.whose, "how": how, "pr": pr, "because": because })
}

fn time(at: Timestamp) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}
