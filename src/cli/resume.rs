//! `resume N`: a person's order that a blocked issue goes on.

use std::process::ExitCode;

use super::args::{Args, ResumeOptions};
use super::environment::Env;
use super::error::{CommandError, Kind};
use super::run::finish;
use super::select;
use super::wiring::refused;
use crate::comments::freeing;
use crate::decide::answers::since_question;
use crate::decide::view::View;
use crate::decide::{Decision, Order, Why};
use crate::engine::step::HowFar;
use crate::engine::{Explained, RepoEngine};
use crate::model::state::BlockedReason;

/// Runs the command.
pub async fn resume(
    env: &Env,
    args: &Args,
    options: &ResumeOptions,
) -> Result<ExitCode, CommandError> {
    let answer = options.answer.as_deref().map(str::trim);
    if answer == Some("") {
        return Err(CommandError::new(Kind::Usage, "the answer is empty")
            .hint("write it behind --answer, in quotes"));
    }
    let only = options.repository.as_deref();
    let (engine, config) = select::open_one(env, args.config.as_deref(), only).await?;
    let explained = engine
        .explain(options.issue, &Order::default())
        .await
        .map_err(|error| refused(&error, &config.alias))?;
    helps(&engine, options, &explained)?;
    let order = Order {
        resume: true,
        more_runs: options.more_runs,
        answer: answer.map(str::to_owned),
        ..Order::default()
    };
    let advanced = engine
        .advance(options.issue, &order, HowFar::UntilItWaits)
        .await;
    let report = engine.report(options.issue, None, &advanced);
    finish(&engine, &advanced, &report, options.json.into())
}

/// An order that changes nothing, or that blocks again at once, is refused before anything is written.
fn helps(
    engine: &RepoEngine,
    options: &ResumeOptions,
    explained: &Explained,
) -> Result<(), CommandError> {
    let issue = options.issue;
    let seen = &explained.seen;
    let Ok(view) = View::of(seen, &engine.policy, seen.look.at) else {
        return Err(select::no_issue(engine, issue));
    };
    let why = explained.decision.why();
    if *why == Why::NotManaged {
        return Err(select::not_managed(engine, issue));
    }
    let wrong = |what: String| CommandError::new(Kind::Usage, what);
    let asked = view.state.blocked_reason == Some(BlockedReason::Clarification);
    if options.answer.is_some() && !asked {
        return Err(
            wrong(format!("the agent of issue #{issue} has no open question"))
                .hint("write what it should know into the issue's text or a comment"),
        );
    }
    if asked && options.answer.is_none() && since_question(&view).is_empty() {
        return Err(wrong(format!(
            "the agent's question on issue #{issue} has no answer yet"
        ))
        .hint(format!(
            "answer in a comment, or run: ghswarm resume {issue} --answer TEXT"
        )));
    }
    let waits = matches!(explained.decision, Decision::Wait { .. });
    if let (true, Why::Blocked { reason, .. }) = (waits, why) {
        let itself = matches!(
            reason,
            BlockedReason::SpecMissing
                | BlockedReason::VerifyInvalid
                | BlockedReason::StateInvalid
                | BlockedReason::UntrustedText
        );
        let spent = *reason == BlockedReason::BudgetExhausted && options.more_runs == 0;
        if itself || spent {
            let error = wrong(format!("resuming issue #{issue} would not help: {why}"));
            let frees = freeing::frees(why, issue, &engine.policy.labels);
            return Err(frees.into_iter().fold(error, CommandError::hint));
        }
    }
    if !view.state.is_blocked() && *why != Why::BlockedByPerson {
        let phase = view.phase();
        return Err(wrong(format!(
            "issue #{issue} is not blocked: its phase is `{phase}`"
        ))
        .hint(format!("see what it waits for: ghswarm explain {issue}")));
    }
    Ok(())
}
