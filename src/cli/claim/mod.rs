//! `claim`: an issue is taken by hand, by a person or an agent that works without the loop, and given back.
//! Needs no configuration. What a claim is and who wins is the engine's.

mod print;

use std::process::ExitCode;

use serde_json::json;

use super::args::{Args, ClaimAction, ClaimOptions, ReleaseOptions};
use super::environment::Env;
use super::error::{CommandError, Kind};
use super::output;
use super::tool::{Asked, Tool};
use super::wiring::{self, Opened};
use crate::decide::TakeOver;
use crate::engine::claims::{ClaimOutcome, DryRun, End, ReleaseOutcome, Verdict, Wish};
use crate::engine::renew::RenewOutcome;
use crate::model::claim::ClaimRecord;
use crate::model::comment::strip_ansi;
use crate::model::ids::IssueNumber;
use crate::ports::{PortError, Refusal};

/// Somebody else has it; as `claim`'s help says.
const HELD: u8 = 1;

/// Runs the command.
pub async fn claim(
    env: &Env,
    args: &Args,
    options: &ClaimOptions,
) -> Result<ExitCode, CommandError> {
    let opened = open(env, args, options.repo.as_deref()).await?;
    let Some(action) = &options.action else {
        return take(&opened, options).await;
    };
    match action {
        ClaimAction::Release(release) => give_back(&opened, release, options.json).await,
        ClaimAction::Check { issue } => check(&opened, *issue, options.json).await,
        ClaimAction::Renew { issue } => renew(&opened, *issue, options.json).await,
        ClaimAction::Sweep { dry_run } => sweep(&opened, *dry_run, options.json).await,
    }
}

/// The engine of the repository that is meant.
pub async fn open(env: &Env, args: &Args, repo: Option<&str>) -> Result<Opened, CommandError> {
    let dir = std::env::current_dir()
        .map_err(|error| CommandError::outside("there is no working directory", error))?;
    let asked = Asked {
        repo,
        config: args.config.as_deref(),
        dir: &dir,
    };
    let tool = Tool::find(env, asked)?;
    wiring::open_tool(env, tool).await
}

async fn take(opened: &Opened, options: &ClaimOptions) -> Result<ExitCode, CommandError> {
    let engine = &opened.engine;
    let take_over = if options.take_over {
        TakeOver::Ordered
    } else {
        TakeOver::No
    };
    let mut lines = Vec::new();
    let mut refused = false;
    for issue in in_order(options) {
        let lead = options.bundle.filter(|lead| *lead != issue);
        let wish = Wish { lead, take_over };
        let outcome = engine.claim_by_hand(issue, wish).await;
        let outcome = outcome.map_err(|error| trouble(opened, ("claimed", issue), &error))?;
        refused |= !matches!(outcome, ClaimOutcome::Claimed(_));
        if options.json {
            lines.push(print::outcome_json(opened, &outcome));
        } else {
            print::outcome(opened, &outcome);
        }
        // What was to go along with a lead that is somebody else's goes nowhere.
        if refused && options.bundle == Some(issue) {
            break;
        }
    }
    if options.json {
        output::json(&json!({ "issues": lines }))?;
    }
    Ok(ExitCode::from(if refused { HELD } else { 0 }))
}

/// The lead of a bundle first, if it is among them.
fn in_order(options: &ClaimOptions) -> Vec<IssueNumber> {
    let mut issues: Vec<IssueNumber> = Vec::new();
    for issue in &options.issues {
        if !issues.contains(issue) {
            issues.push(*issue);
        }
    }
    issues.sort_by_key(|issue| options.bundle != Some(*issue));
    issues
}

async fn give_back(
    opened: &Opened,
    options: &ReleaseOptions,
    json: bool,
) -> Result<ExitCode, CommandError> {
    let (issues, end) = what_to_release(opened, options).await?;
    let mut lines = Vec::new();
    let mut refused = false;
    for issue in issues {
        let outcome = opened
            .engine
            .release_by_hand(&*opened.github, issue, &end)
            .await
            .map_err(|error| trouble(opened, ("released", issue), &error))?;
        refused |= !matches!(outcome, ReleaseOutcome::Released { .. });
        if json {
            lines.push(print::release_json(issue, &outcome));
        } else {
            print::release(issue, &outcome);
        }
    }
    name_unreadable(opened);
    if json {
        output::json(&json!({ "issues": lines }))?;
    } else if options.mine && !refused {
        output::say("every other claim of this home has an open pull request, or there is none");
    }
    Ok(ExitCode::from(if refused { HELD } else { 0 }))
}

/// Which issues, and how it ends for them.
async fn what_to_release(
    opened: &Opened,
    options: &ReleaseOptions,
) -> Result<(Vec<IssueNumber>, End), CommandError> {
    if options.mine {
        let mut issues = Vec::new();
        let claims = opened.engine.claims_by_hand();
        let local = |error: &PortError| wiring::refused(error, &opened.name());
        for record in claims.map_err(|error| local(&error))? {
            let leads = record.hand.as_ref().is_none_or(|hand| hand.lead.is_none());
            let issue = record.issue;
            match opened.engine.has_open_pr(issue).await {
                Ok(has_pr) if leads && !has_pr => issues.push(issue),
                Ok(_) => {}
                // A folder that came here from elsewhere keeps no other from its end.
                Err(error) if error.refusal() == Some(Refusal::Local) => skipped(issue, &error),
                Err(error) => return Err(trouble(opened, ("released", issue), &error)),
            }
        }
        let reason = "the session's capacity is gone, and no pull request is open";
        return Ok((issues, End::Abandoned(reason.to_owned())));
    }
    let reasons = (&options.merged, &options.abandoned, &options.blocked);
    let end = match reasons {
        (Some(pr), None, None) => End::Merged(*pr),
        (None, Some(reason), None) => End::Abandoned(reason.clone()),
        (None, None, Some(reason)) => End::Blocked(reason.clone()),
        _ => {
            return Err(CommandError::new(Kind::Usage, "say how the work ended")
                .hint("one of --merged PR, --abandoned REASON, --blocked REASON"));
        }
    };
    let empty = |reason: &String| reason.trim().is_empty();
    if options.abandoned.as_ref().is_some_and(empty) || options.blocked.as_ref().is_some_and(empty)
    {
        let error = CommandError::new(Kind::Usage, "the reason is empty");
        return Err(error.hint("say it in a few words: everybody reads it on the issue"));
    }
    Ok((options.issue.into_iter().collect(), end))
}

async fn check(opened: &Opened, issue: IssueNumber, json: bool) -> Result<ExitCode, CommandError> {
    let standing = opened.engine.check_by_hand(issue).await;
    let standing = standing.map_err(|error| trouble(opened, ("looked at", issue), &error))?;
    if json {
        output::json(&print::standing_json(&standing))?;
    } else {
        print::standing(opened, &standing);
    }
    Ok(ExitCode::from(match standing.verdict {
        Verdict::Free | Verdict::Ours => 0,
        Verdict::Held | Verdict::Displaced => HELD,
    }))
}

/// The lease of a claim, and of the bundle that it leads: other tools look at leases alone.
async fn renew(opened: &Opened, issue: IssueNumber, json: bool) -> Result<ExitCode, CommandError> {
    let claims = opened.engine.claims_by_hand();
    let claims = claims.map_err(|error| wiring::refused(&error, &opened.name()))?;
    let led = |record: &ClaimRecord| {
        let lead = record.hand.as_ref().and_then(|hand| hand.lead);
        (lead == Some(issue)).then_some(record.issue)
    };
    let issues = std::iter::once(issue).chain(claims.iter().filter_map(led));
    let mut lines = Vec::new();
    let mut all = true;
    for issue in issues {
        let outcome = opened.engine.renew_by_hand(issue).await;
        let outcome = outcome.map_err(|error| trouble(opened, ("renewed", issue), &error))?;
        let (renewed, words) = match &outcome {
            Some(RenewOutcome::Renewed { .. }) => (true, "renewed".to_owned()),
            Some(RenewOutcome::Lost { holder }) => (false, format!("lost to {holder}")),
            Some(RenewOutcome::Released) => (
                false,
                format!("was given back or taken over; to have it again: ghswarm claim {issue}"),
            ),
            Some(RenewOutcome::Unanswered(_)) | None => {
                (false, "this home has no claim by hand on it".to_owned())
            }
        };
        all &= renewed;
        if !json {
            output::data(&format!("#{issue} {words}"));
        }
        lines.push(json!({ "issue": issue, "renewed": renewed, "says": words }));
    }
    name_unreadable(opened);
    if json {
        output::json(&json!({ "issues": lines }))?;
    }
    Ok(ExitCode::from(if all { 0 } else { HELD }))
}

async fn sweep(opened: &Opened, dry_run: bool, json: bool) -> Result<ExitCode, CommandError> {
    let dry = if dry_run { DryRun::Yes } else { DryRun::No };
    let swept = opened.engine.sweep_by_hand(&*opened.github, dry).await;
    let swept = swept.map_err(|error| wiring::refused(&error, &opened.name()))?;
    if json {
        let lines: Vec<_> = swept.iter().map(print::swept_json).collect();
        output::json(&json!({ "dry_run": dry_run, "claims": lines }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if swept.is_empty() {
        output::say("nobody claims an issue by hand");
    }
    for one in &swept {
        output::data(&print::swept(one, dry));
    }
    Ok(ExitCode::SUCCESS)
}

/// Claims of other issues that cannot be read: one of them may have been part of the bundle.
fn name_unreadable(opened: &Opened) {
    for (issue, error) in opened.engine.unreadable_claims().unwrap_or_default() {
        skipped(issue, &error);
    }
}

fn skipped(issue: IssueNumber, error: &PortError) {
    output::say(&format!(
        "#{issue} skipped: {}",
        strip_ansi(&error.to_string())
    ));
}

/// What GitHub, git or the home refused.
fn trouble(opened: &Opened, (done, issue): (&str, IssueNumber), error: &PortError) -> CommandError {
    let again = matches!(
        error,
        PortError::Unknown { .. } | PortError::Unavailable { .. }
    );
    let what = format!("issue #{issue} of `{}` cannot be {done}", opened.name());
    let refused = wiring::refusal(error, what);
    if again {
        return refused
            .hint("nothing is left half: the same command, or `ghswarm claim sweep`, goes on");
    }
    refused
}
