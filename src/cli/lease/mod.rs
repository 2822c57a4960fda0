//! `ghswarm lease`: a lock on issues for any agent, person or CI job, with the verbs, words and exit statuses
//! of gh-issue-lease, whose leases it respects and which respects ours.

mod args;
mod checkout;
pub mod early;
pub mod hooks;
mod said;
mod session;

use std::process::ExitCode;

use super::args::Args;
use super::environment::Env;
use super::error::CommandError;
use super::tool::Asked;
use crate::engine::leases::{Filter, ReleaseOutcome, Taken, Won};
use crate::model::ids::IssueNumber;
pub use args::LeaseOptions;
use args::{NextOptions, Verb};
use checkout::Checkout;
use said::Said;
use session::{Session, Trouble};

/// Another holds the lease.
const HELD: u8 = 1;
/// `AGENT_ID` is not set.
const NO_IDENTITY: u8 = 3;
/// Nothing of the queue is left.
const DRAINED: u8 = 10;

/// One call.
struct Call<'a> {
    env: &'a Env,
    args: &'a Args,
    options: &'a LeaseOptions,
}

/// Runs the command.
pub async fn lease(
    env: &Env,
    args: &Args,
    options: &LeaseOptions,
) -> Result<ExitCode, CommandError> {
    let call = Call { env, args, options };
    let said = match &options.verb {
        Verb::Claim { issue } => call.claim(*issue).await,
        Verb::Next(filter) => call.next(filter).await,
        Verb::Mine => call.mine().await,
        Verb::Release { issue } => call.release(*issue).await,
        Verb::Renew { issue } => call.renew(*issue).await,
        Verb::Status { issue } => call.status(*issue).await,
        Verb::Reap => call.reap().await,
        Verb::GuardPush { branch } => Ok(call.guard_push(branch).await),
        Verb::Hook => Ok(call.hook(&[]).await),
        Verb::CodexHook { event } => Ok(call.hook(event).await),
        Verb::ClaudeHook { block } => {
            let event = early::Event::read();
            return Ok(hooks::claude(env, Some(args), (&event, *block)).await);
        }
    };
    match said {
        Ok(said) => said.print(options.json),
        Err(Trouble::Degraded(why)) => call.degraded(&why).print(options.json),
        Err(Trouble::Failed(error)) => {
            if options.json {
                let reason = session::in_one_line(&error);
                let said = call.said().field("outcome", "refused");
                said.field("reason", reason).print(true)?;
            }
            Err(error)
        }
    }
}

impl Call<'_> {
    fn open(&self) -> Result<Session, Trouble> {
        let dir = std::env::current_dir().map_err(|error| {
            Trouble::Failed(CommandError::outside(
                "there is no working directory",
                error,
            ))
        })?;
        let asked = Asked {
            repo: self.options.repo.as_deref(),
            config: self.args.config.as_deref(),
            dir: &dir,
        };
        Session::open(self.env, asked, session::patience(self.env))
    }

    /// Without an identity nothing is asked: guessing one would merge two agents, or split one.
    fn anonymous(&self) -> Option<Said> {
        if session::identity(self.env).is_some() {
            return None;
        }
        Some(
            Said::new(self.options.verb.name())
                .exit(NO_IDENTITY)
                .field("outcome", "no_identity")
                .note(&format!("error: {}", session::no_identity(self.env))),
        )
    }

    fn said(&self) -> Said {
        Said::new(self.options.verb.name())
    }

    async fn claim(&self, issue: IssueNumber) -> Result<Said, Trouble> {
        if let Some(refusal) = self.anonymous() {
            return Ok(refusal);
        }
        let session = self.open()?;
        let taken = session.ask(async |leases| leases.claim(issue).await);
        Ok(match taken.await? {
            Taken::Won(won) => self.said().line("won").outcome("won", issue).won(&won),
            Taken::Held(holder) => {
                forget_notes(issue);
                self.said().outcome("held", issue).held(&holder).exit(HELD)
            }
        })
    }

    async fn renew(&self, issue: IssueNumber) -> Result<Said, Trouble> {
        if let Some(refusal) = self.anonymous() {
            return Ok(refusal);
        }
        let session = self.open()?;
        let taken = session.ask(async |leases| leases.renew(issue).await);
        Ok(match taken.await? {
            Taken::Won(won) => self
                .said()
                .line("renewed")
                .outcome("renewed", issue)
                .won(&won),
            Taken::Held(holder) => {
                forget_notes(issue);
                self.said()
                    .line("held")
                    .outcome("held", issue)
                    .held(&holder)
                    .exit(HELD)
            }
        })
    }

    async fn release(&self, issue: IssueNumber) -> Result<Said, Trouble> {
        if let Some(refusal) = self.anonymous() {
            return Ok(refusal);
        }
        let session = self.open()?;
        let released = session.ask(async |leases| leases.release(issue).await);
        forget_notes(issue);
        let nothing = |said: Said| said.line("no lease to release").outcome("nothing", issue);
        Ok(match released.await? {
            ReleaseOutcome::Released => self.said().line("released").outcome("released", issue),
            ReleaseOutcome::Nothing => nothing(self.said()),
            ReleaseOutcome::Theirs(holder) => nothing(self.said()).theirs(issue, &holder),
            ReleaseOutcome::Loops => nothing(self.said()).field("by", "loop").warn(&format!(
                "#{issue} is held by ghswarm's loop for a run of its own, which releases it when it ends"
            )),
        })
    }

    async fn next(&self, options: &NextOptions) -> Result<Said, Trouble> {
        if let Some(refusal) = self.anonymous() {
            return Ok(refusal);
        }
        let filter = Filter {
            labels: options.label.clone(),
            milestone: options.milestone,
            unassigned: options.unassigned,
            skip_blocked: options.skip_blocked,
        };
        let mut session = self.open()?;
        session.leases.ttl_min = options.ttl.unwrap_or(session.leases.ttl_min);
        let popped = session.ask(async |leases| leases.next(&filter).await);
        Ok(match popped.await? {
            Some(popped) => self
                .said()
                .line(&popped.issue.to_string())
                .outcome("won", popped.issue)
                .field("title", popped.title.as_str())
                .note(&format!("claimed #{}: {}", popped.issue, popped.title))
                .won(&Won::Fresh(popped.stolen_from)),
            None => self
                .said()
                .field("outcome", "drained")
                .note("the queue is drained: no issue that fits is open and free")
                .exit(DRAINED),
        })
    }

    async fn mine(&self) -> Result<Said, Trouble> {
        let Some(me) = session::identity(self.env) else {
            let none = self.said().leases(Vec::new());
            return Ok(none.note(&format!(
                "no issues held: {}",
                session::no_identity(self.env)
            )));
        };
        let session = self.open()?;
        let standings = session.ask(async |leases| leases.standings().await);
        let mut standings = standings.await?;
        standings
            .leases
            .retain(|_, stands| stands.holder.owner.as_ref() == Some(&me));
        let said = standings
            .leases
            .iter()
            .fold(self.said(), |said, (issue, stands)| {
                said.line(&said::line_of_mine(*issue, stands))
            })
            .leases(standings.leases.iter().map(said::lease).collect());
        Ok(if standings.leases.is_empty() {
            said.note("no issues held")
        } else {
            said
        })
    }

    async fn status(&self, only: Option<IssueNumber>) -> Result<Said, Trouble> {
        let session = self.open()?;
        let standings = session.ask(async |leases| leases.standings().await);
        let mut standings = standings.await?;
        standings
            .leases
            .retain(|issue, _| only.is_none_or(|only| only == *issue));
        let said = standings
            .leases
            .iter()
            .fold(self.said(), |said, (issue, stands)| {
                said.line(&said::line_of_status(*issue, stands))
            })
            .leases(standings.leases.iter().map(said::lease).collect());
        Ok(match (standings.leases.is_empty(), only) {
            (false, _) => said,
            (true, Some(issue)) => said.line(&format!("#{issue}  free")),
            (true, None) => said.line("no leases"),
        })
    }

    async fn reap(&self) -> Result<Said, Trouble> {
        let reaped = self.open()?.ask(async |leases| leases.reap().await).await?;
        let said = reaped.iter().fold(self.said(), |said, one| {
            said.line(&said::line_of_reaped(one))
        });
        let count = match reaped.len() {
            1 => "reaped 1 lease".to_owned(),
            many => format!("reaped {many} leases"),
        };
        Ok(said.line(&count).field(
            "reaped",
            reaped.iter().map(said::reaped).collect::<Vec<_>>(),
        ))
    }

    /// GitHub cannot be asked. A lock that fails must not stop the work, only tell.
    fn degraded(&self, why: &str) -> Said {
        let said = self
            .said()
            .field("outcome", "degraded")
            .field("reason", why)
            .warn(&format!("leasing is not possible now: {why}"));
        let without = "going on WITHOUT a lease; others may work on the same issue";
        match &self.options.verb {
            Verb::Mine | Verb::Status { .. } | Verb::Reap => said,
            // Standard output is for the number alone.
            Verb::Next(_) => said.warn(without),
            Verb::Release { .. } => said.line("degraded"),
            Verb::Claim { .. }
            | Verb::Renew { .. }
            | Verb::GuardPush { .. }
            | Verb::Hook
            | Verb::CodexHook { .. }
            | Verb::ClaudeHook { .. } => said.line("degraded").warn(without),
        }
    }
}

/// Nobody here holds it any more, whatever notes say.
fn forget_notes(issue: IssueNumber) {
    let here = std::env::current_dir().ok();
    if let Some(here) = here.as_deref().and_then(Checkout::around) {
        here.forget_everywhere(issue);
    }
}

impl Verb {
    fn name(&self) -> &'static str {
        match self {
            Self::Claim { .. } => "claim",
            Self::Next(_) => "next",
            Self::Mine => "mine",
            Self::Release { .. } => "release",
            Self::Renew { .. } => "renew",
            Self::Status { .. } => "status",
            Self::Reap => "reap",
            Self::GuardPush { .. } => "guard-push",
            Self::Hook => "hook",
            Self::CodexHook { .. } => "codex-hook",
            Self::ClaudeHook { .. } => "claude-hook",
        }
    }
}
